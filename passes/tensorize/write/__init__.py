"""The chosen way as IR: instances, calls, packs, and what is left before and after."""
