"""Measuring layers: named sets of shapes, ours against installed peers and against the machine's limits.

`layers` and `layer_sets/` say what is measured, `measure` how, `subject` is our side and `peers/` the
others, each in a process of its own (`worker`); `limits` measures the peak and the bandwidths, `report`
and `roofline` show the result. The command is `inarch bench`.
"""
