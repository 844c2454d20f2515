"""The weights of Winograd's convolutions, U = G w G^T: by the compiler, or at run time by a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DenseResourceAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from inarch.core.lazy import Array, np
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import shape_of
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.scalar import Scalar
from inarch.ir.payload.constants import ConstantAttr, constant_array
from inarch.ir.types import f32
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.winograd.points import WINDOW, Winograd
from inarch.passes.lower.winograd.transforms import Grid, both


def weights_of(
    winograd: Winograd, op: ConvOp, builder: LoopBuilder, sizes: tuple[int, int, int]
) -> SSAValue:
    """U, in panels of outputs: [places, panels, channels, outputs of a panel].

    `sizes`: blocks of input channels, blocks of outputs, channels of a block. A constant is one panel, which
    is packed by the compiler as its kernel wants it; 0 after the last channel of w.
    """
    blocks_in, blocks_out, lanes = sizes
    inputs, outputs = blocks_in * lanes, blocks_out * lanes
    if isinstance(op.w.owner, ConstantOp):
        return _constant(winograd, op.w.owner.value, builder, inputs, outputs)
    assert shape_of(op.w)[:2] == (outputs, inputs), "others are constants where blocks are filled"
    blocks = _PANEL if blocks_out % _PANEL == 0 else 1
    return _at_run_time(winograd, builder.buffers[op.w], builder, blocks * lanes, lanes)


_PANEL = 2
"""Vectors of outputs of most kernels' tiles: a panel that is written so needs no copy."""


def _constant(
    winograd: Winograd, value: ConstantAttr, builder: LoopBuilder, inputs: int, outputs: int
) -> SSAValue:
    """In float64, rounded once."""
    store = builder.store
    has_data = not isinstance(value, DenseResourceAttr) or value.resource_handle.data in store
    weights = constant_array(value, store) if has_data else None

    def make() -> Array:
        given = constant_array(value, store) if weights is None else weights
        full = np.zeros((outputs, inputs, WINDOW, WINDOW))
        full[: given.shape[0], : given.shape[1]] = given
        g = np.array(winograd.weights, np.float64)
        half = np.tensordot(full, g, (2, 1))  # [k, c, b, i]
        u = np.tensordot(half, g, (2, 1)).astype(np.float32)  # [k, c, i, j]
        u = u.transpose(2, 3, 1, 0).reshape(winograd.n**2, 1, inputs, outputs)
        return np.ascontiguousarray(u)

    kind = TensorType(f32, (winograd.n**2, 1, inputs, outputs))
    made = None if weights is None else (weights, ("winograd", winograd, inputs, outputs))
    return builder.later(make, kind, "winograd", made)


def _at_run_time(
    winograd: Winograd, w: SSAValue, builder: LoopBuilder, outputs: int, lanes: int
) -> SSAValue:
    """In f32, in panels of `outputs`; a call computes them anew."""
    every, inputs, *_ = buffer_shape(w)
    places = winograd.n**2
    u = builder.alloc(memref_of(w).element_type, (places, every // outputs, inputs, outputs))
    panel, c, k, lane = (AffineExpr.dimension(at) for at in range(4))
    taps = [(a, b) for a in range(WINDOW) for b in range(WINDOW)]

    def body(given: Sequence[Scalar]) -> list[Scalar]:
        grid = [list(given[at : at + WINDOW]) for at in range(0, len(taps), WINDOW)]
        found = both(winograd.weights, cast("Grid", grid))
        return [one for row in found for one in row if one is not None]

    builder.map(
        [("panel", every // outputs), ("c", inputs), ("k", outputs // lanes), ("l", lanes)],
        [(w, (panel * outputs + k * lanes + lane, c, a, b)) for a, b in taps],
        [(u, (at, panel, c, k * lanes + lane)) for at in range(places)],
        body,
    )
    return u
