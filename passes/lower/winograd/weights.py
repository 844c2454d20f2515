"""The weights of Winograd's convolutions, U = G w G^T: by the compiler, or at run time by a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DenseResourceAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from inarch.core.lazy import Array, np
from inarch.dialects.loop.memory import buffer_shape
from inarch.dialects.scalar import Scalar
from inarch.ir.payload.constants import ConstantAttr, constant_array
from inarch.ir.types import f32
from inarch.passes.lower.builder import LoopBuilder
from inarch.passes.lower.winograd.points import WINDOW, Winograd
from inarch.passes.lower.winograd.transforms import Grid, both

_PANEL = 2
"""Vectors of outputs of most kernels' tiles: a panel that is written so needs no copy."""


def panel_of(blocks: int) -> int:
    """How many blocks of channels a panel has, of `blocks` of outputs, where U is written in panels."""
    return _PANEL if blocks % _PANEL == 0 else 1


def constant_weights(
    winograd: Winograd, value: ConstantAttr, builder: LoopBuilder, inputs: int, outputs: int
) -> SSAValue:
    """U as one panel, which is packed by the compiler as its kernel wants it: [places, 1, inputs, outputs].

    In float64, rounded once; 0 after the last channel of w.
    """
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


def transform(
    winograd: Winograd, w: SSAValue, u: SSAValue, panels: range, lanes: int, builder: LoopBuilder
) -> None:
    """Writes these panels of U from the first panel of `u` on, [places, panels, inputs, outputs]: in f32."""
    places, _, inputs, outputs = buffer_shape(u)
    panel, c, k, lane = (AffineExpr.dimension(at) for at in range(4))
    taps = [(a, b) for a in range(WINDOW) for b in range(WINDOW)]

    def body(given: Sequence[Scalar]) -> list[Scalar]:
        grid = [list(given[at : at + WINDOW]) for at in range(0, len(taps), WINDOW)]
        found = both(winograd.weights, cast("Grid", grid))
        return [one for row in found for one in row if one is not None]

    builder.map(
        [("panel", len(panels)), ("c", inputs), ("k", outputs // lanes), ("l", lanes)],
        [(w, ((panel + panels.start) * outputs + k * lanes + lane, c, a, b)) for a, b in taps],
        [(u, (at, panel, c, k * lanes + lane)) for at in range(places)],
        body,
    )
