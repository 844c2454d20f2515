"""Algorithms of ops beside the nest that each states: `<op>_<name>.py` with an `ALGORITHM`."""
