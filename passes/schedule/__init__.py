"""Transformations of loop programs by name: each a function, a step of a schedule file, and a pass.

`passes/schedule/<name>.py` that defines `STEP` is a word of schedules, and with a class `<Name>Pass` a pass.
`language/` has how places are named, and how a schedule is read; `apply_schedule.py` runs one.
"""
