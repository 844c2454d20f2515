"""GridSample: elements at positions that are computed at run time, interpolated between neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

from xdsl.ir import SSAValue

from inarch.dialects._types import i64
from inarch.dialects.graph._base import GraphOp
from inarch.dialects.graph.arithmetic import AddOp, ModOp, MulOp, SubOp
from inarch.dialects.graph.cast import CastOp
from inarch.dialects.graph.clip import ClipOp
from inarch.dialects.graph.gather import GatherOp
from inarch.dialects.graph.logic import EqualOp, LessEqualOp
from inarch.dialects.graph.select import SelectOp
from inarch.dialects.graph.shape import SliceOp, TransposeOp
from inarch.dialects.graph.unary import AbsOp, FloorOp, RoundOp
from inarch.errors import InarchError
from inarch.frontends.onnx._node import Converter, Node
from inarch.frontends.onnx._report import NotSupportedError
from inarch.lazy import np

_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""What opset 16 calls the modes of opset 20."""

_CUBIC = -0.75
"""The coefficient of Keys' kernel that ONNX fixes."""


@dataclass(frozen=True)
class _Sampler:
    """What all dimensions share; values are of the shape of the grid without its last dimension."""

    node: Node
    mode: str
    padding: str
    corners: bool

    def emit(self, kind: type[GraphOp], x: SSAValue, number: SSAValue | float) -> SSAValue:
        """`kind(x, number)`."""
        other = number if isinstance(number, SSAValue) else self.node.like(number, x)
        return self.node.emit(kind, x, other)

    def position(self, coordinate: SSAValue, size: int) -> SSAValue:
        """From -1 ... 1 to 0 ... size - 1, the corners or the edges of elements; then padded."""
        scale = (size - 1) / 2 if self.corners else size / 2
        x = self.emit(AddOp, self.emit(MulOp, coordinate, scale), (size - 1) / 2)
        x = self.node.emit(RoundOp, x) if self.mode == "nearest" else x
        return self.padded(x, size)

    def padded(self, x: SSAValue, size: int) -> SSAValue:
        """`x` clamped or reflected; as it is where zeros are beyond the border."""
        if self.padding == "border":
            return self.node.emit(ClipOp, x, low=0.0, high=float(size - 1))
        if self.padding != "reflection":
            return x
        low, span = (0.0, size - 1.0) if self.corners else (-0.5, float(size))
        if not span:
            return self.emit(MulOp, x, 0.0)
        # A triangle wave of period 2 * span; |x - low| starts it alike on both sides.
        distance = self.node.emit(AbsOp, self.emit(SubOp, x, low))
        phase = self.node.emit(ModOp, distance, self.node.like(2 * span, x), fmod=True)
        back = self.emit(SubOp, self.node.like(2 * span, x), phase)
        wave = self.node.emit(SelectOp, self.emit(LessEqualOp, phase, span), phase, back)
        return self.emit(AddOp, wave, low)

    def taps(self, x: SSAValue, size: int) -> list[tuple[SSAValue, SSAValue | None]]:
        """Index (i64, within the dimension) and weight of each neighbour; no weight is 1."""
        if self.mode == "nearest":
            index, inside = self.index(x, size)
            return [(index, inside)]
        first = self.node.emit(FloorOp, x)
        rest = self.emit(SubOp, x, first)
        found: list[tuple[SSAValue, SSAValue | None]] = []
        for offset in (0, 1) if self.mode == "linear" else (-1, 0, 1, 2):
            index, inside = self.index(self.emit(AddOp, first, float(offset)), size)
            weight = self.weight(rest, offset)
            found.append((index, weight if inside is None else self.emit(MulOp, weight, inside)))
        return found

    def index(self, x: SSAValue, size: int) -> tuple[SSAValue, SSAValue | None]:
        """A whole position as an index, and 1 where it is within the dimension, else 0."""
        x = self.node.emit(RoundOp, self.padded(x, size)) if self.padding == "reflection" else x
        clamped = self.node.emit(ClipOp, x, low=0.0, high=float(size - 1))
        index = self.node.emit(CastOp, clamped, to=i64)
        if self.padding != "zeros":
            return index, None
        inside = self.node.emit(EqualOp, clamped, x)
        return index, self.node.emit(SelectOp, inside, self.node.like(1, x), self.node.like(0, x))

    def weight(self, rest: SSAValue, offset: int) -> SSAValue:
        """The kernel at the distance from a neighbour; `rest` is the distance from the first."""
        distance = self.node.emit(AbsOp, self.emit(SubOp, rest, float(offset)))
        if self.mode == "linear":
            return self.emit(SubOp, self.node.like(1, rest), distance)
        a = _CUBIC
        near = offset in (0, 1)
        factors = (a + 2, -(a + 3), 0.0, 1.0) if near else (a, -5 * a, 8 * a, -4 * a)
        result: SSAValue = self.node.like(factors[0], rest)
        for factor in factors[1:]:
            result = self.emit(AddOp, self.emit(MulOp, result, distance), factor)
        return result


def _grid_sample(node: Node) -> SSAValue:
    x, grid = node.shape(0), node.shape(1)
    rank = len(x) - 2
    if rank < 1 or len(grid) != len(x) or grid[0] != x[0] or grid[-1] != rank:
        raise InarchError(
            f"expected shapes [N, C, ...] and [N, ..., {max(rank, 1)}], found {x} and {grid}"
        )
    if not node.dtype(0).is_float or node.dtype(0) != node.dtype(1):
        raise NotSupportedError(f"{node.dtype(0).name} at positions of {node.dtype(1).name}")
    if 0 in x:
        raise InarchError(f"expected elements to sample, found shape {x}")
    mode = node.text("mode", "bilinear" if node.opset < 20 else "linear")
    sampler = _Sampler(
        node,
        _MODES.get(mode, mode),
        node.text("padding_mode", "zeros"),
        node.flag("align_corners", default=False),
    )
    if sampler.mode not in ("nearest", "linear", "cubic"):
        raise InarchError(f"expected mode nearest, linear or cubic, found '{mode}'")
    if sampler.padding not in ("zeros", "border", "reflection"):
        raise InarchError(
            f"expected padding_mode zeros, border or reflection, found '{sampler.padding}'"
        )
    return _sample(sampler, x, grid)


def _sample(sampler: _Sampler, x: tuple[int, ...], grid: tuple[int, ...]) -> SSAValue:
    """The weighted sum over all combinations of neighbours; channels are last meanwhile."""
    node, sizes, points = sampler.node, x[2:], grid[:-1]
    rank = len(sizes)
    taps: list[list[tuple[SSAValue, SSAValue | None]]] = []
    for d, size in enumerate(sizes):
        part = node.emit(
            SliceOp,
            node.x(1),
            starts=[*(0 for _ in points), rank - 1 - d],  # the grid has the last dimension first
            sizes=[*points, 1],
            steps=[1] * len(grid),
        )
        taps.append(sampler.taps(sampler.position(node.reshape(part, points), size), size))
    last = node.emit(TransposeOp, node.x(0), perm=[0, *range(2, rank + 2), 1])
    data = node.reshape(last, (x[0] * math.prod(sizes), x[1]))
    node.room(x[0])
    node.builder.expect(math.prod(map(len, taps)))  # the combinations, which are all written out
    batches = np.arange(x[0], dtype=np.int64).reshape([-1, *(1,) * (len(points) - 1)])
    base = node.constant(batches * math.prod(sizes))
    total: SSAValue | None = None
    for combination in product(*taps):
        flat = base
        weight: SSAValue | None = None
        for d, (index, factor) in enumerate(combination):
            flat = sampler.emit(AddOp, flat, sampler.emit(MulOp, index, math.prod(sizes[d + 1 :])))
            if factor is not None:
                weight = factor if weight is None else sampler.emit(MulOp, weight, factor)
        part = node.emit(GatherOp, data, flat, axis=0)
        if weight is not None:
            part = sampler.emit(MulOp, part, node.reshape(weight, (*points, 1)))
        total = part if total is None else sampler.emit(AddOp, total, part)
    assert total is not None  # every dimension has a neighbour
    return node.emit(TransposeOp, total, perm=[0, rank + 1, *range(1, rank + 1)])


CONVERTERS: dict[str, Converter] = {"GridSample": _grid_sample}
