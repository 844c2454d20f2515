"""The bytes of the weights, as every `loop.constant` has its place in them."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch._xdsl import store_of
from inarch.backends.c._program import offset_of, planned_weights_bytes
from inarch.dialects._constants import constant_array
from inarch.dialects.loop.buffer import ConstantOp
from inarch.lazy import np


def weights_image(ctx: Context, module: ModuleOp) -> bytearray:
    """The weights of a planned module: every constant at its offset, zeros between."""
    image = bytearray(planned_weights_bytes(module))
    store = store_of(ctx)
    for op in module.walk():
        if isinstance(op, ConstantOp):
            array = np.ascontiguousarray(constant_array(op.value, store))
            start = offset_of(op)
            image[start : start + array.nbytes] = array.tobytes()
    return image
