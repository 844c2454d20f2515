"""C4 of `loop.for`: the iterations of a parallel loop touch no element that another one of them writes.

`accesses.py` finds what an iteration touches, through views (`views.py`), nests, kernels and calls;
`check.py` makes of each pair of accesses the equations that a common element would solve, and
`equations.py` solves them.
"""
