"""MXNet: compiled functions in its asynchronous engine.

from inarch.bridges.mxnet import to_mxnet_func

scale = to_mxnet_func(f, const_loc=[0, 1])  # f of x, y, z, scale
scale(x, y, z, 10.0)                        # returns at once; z.wait_to_read() waits
"""

from __future__ import annotations

from inarch.bridges.mxnet.function import to_mxnet_func

__all__ = ["to_mxnet_func"]
