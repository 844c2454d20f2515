"""GridSample: elements at positions that are computed at run time, interpolated between neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.building import Graph
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError
from inarch.ir.types import i64

_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""What opset 16 calls the modes of opset 20."""

_CUBIC = -0.75
"""The coefficient of Keys' kernel that ONNX fixes."""


@dataclass(frozen=True)
class _Tap:
    """A neighbour along one dimension, at each point."""

    index: SSAValue
    """i64, within the dimension."""
    weight: SSAValue | None
    """None for 1."""
    inside: SSAValue | None
    """Whether it is an element (i1); None where it always is, else others are zeros."""


@dataclass(frozen=True)
class Sampler:
    """What all dimensions share; values are of the shape of the grid without its last dimension."""

    node: Node
    mode: str
    padding: str
    corners: bool

    @property
    def graph(self) -> Graph:
        """The ops of the node."""
        return self.node.graph

    def position(self, coordinate: SSAValue, size: int) -> SSAValue:
        """From -1 ... 1 to 0 ... size - 1, the corners or the edges of elements; then padded.

        In the order of ONNX's definition: halves are rounded for `nearest`.
        """
        x = self.graph.add(coordinate, 1.0)
        if self.corners:
            x = self.graph.mul(self.graph.div(x, 2.0), size - 1.0)
        else:
            x = self.graph.div(self.graph.sub(self.graph.mul(x, float(size)), 1.0), 2.0)
        x = self.graph.round(x) if self.mode == "nearest" else x
        match self.padding:
            case "border":
                return self.clamped(x, size)
            case "reflection":
                return self.reflected(x, size)
            case _:
                return x

    def clamped(self, x: SSAValue, size: int) -> SSAValue:
        """`x` no further outside than makes a difference: of cubic, each neighbour is clamped by itself.

        So do onnxruntime and PyTorch; ONNX's reference (1.23) clamps the point, which is another value.
        """
        reach = 2.0 if self.mode == "cubic" else 0.0
        return self.graph.clip(x, low=-reach, high=size - 1 + reach)

    def reflected(self, x: SSAValue, size: int) -> SSAValue:
        """`x` reflected at the borders until it is between them."""
        low, span = (0.0, size - 1.0) if self.corners else (-0.5, float(size))
        if not span:
            return self.graph.mul(x, 0.0)
        # A triangle wave of period 2 * span; |x - low| starts it alike on both sides.
        distance = self.graph.abs(self.graph.sub(x, low))
        phase = self.graph.mod(distance, 2 * span, fmod=True)
        back = self.graph.sub(2 * span, phase)
        wave = self.graph.select(self.graph.less_equal(phase, span), phase, back)
        return self.graph.add(wave, low)

    def taps(self, x: SSAValue, size: int) -> list[_Tap]:
        """The neighbours of each position."""
        if self.mode == "nearest":
            return [self.tap(x, size, None)]
        first = self.graph.floor(x)
        rest = self.graph.sub(x, first)
        return [
            self.tap(self.graph.add(first, float(offset)), size, self.weight(rest, offset))
            for offset in ((0, 1) if self.mode == "linear" else (-1, 0, 1, 2))
        ]

    def tap(self, x: SSAValue, size: int, weight: SSAValue | None) -> _Tap:
        """The neighbour at a whole position, which may be outside."""
        if self.padding == "reflection":
            x = self.graph.round(self.reflected(x, size))
        within = self.graph.clip(x, low=0.0, high=float(size - 1))
        index = self.graph.cast(within, to=i64)
        inside = self.graph.equal(within, x) if self.padding == "zeros" else None
        return _Tap(index, weight, inside)

    def weight(self, rest: SSAValue, offset: int) -> SSAValue:
        """The kernel at the distance from a neighbour; `rest` is the distance from the first."""
        distance = self.graph.abs(self.graph.sub(rest, float(offset)))
        if self.mode == "linear":
            return self.graph.sub(1, distance)
        a = _CUBIC
        near = offset in (0, 1)
        factors = (a + 2, -(a + 3), 0.0, 1.0) if near else (a, -5 * a, 8 * a, -4 * a)
        result: SSAValue = self.node.like(factors[0], rest)
        for factor in factors[1:]:
            result = self.graph.add(self.graph.mul(result, distance), factor)
        return result


def _grid_sample(node: Node) -> SSAValue:
    x, grid = node.shape(0), node.shape(1)
    rank = len(x) - 2
    if rank < 1 or len(grid) != len(x) or grid[0] != x[0] or grid[-1] != rank:
        raise InarchError(
            f"expected shapes [N, C, ...] and [N, ..., {max(rank, 1)}], found {x} and {grid}"
        )
    if not (node.dtype(0).is_float and node.dtype(1).is_float):
        raise NotSupportedError(f"{node.dtype(0).name} at positions of {node.dtype(1).name}")
    if 0 in x:
        raise InarchError(f"expected elements to sample, found shape {x}")
    mode = node.text("mode", "bilinear" if node.opset < 20 else "linear")
    sampler = Sampler(
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


def _sample(sampler: Sampler, x: tuple[int, ...], grid: tuple[int, ...]) -> SSAValue:
    """The images at the points of the grid; channels are last meanwhile."""
    node, sizes, points = sampler.node, x[2:], grid[:-1]
    rank = len(sizes)
    positions: list[SSAValue] = []
    for d, size in enumerate(sizes):
        part = node.part(node.x(1), -1, rank - 1 - d, 1)  # the grid has the last dimension first
        positions.append(sampler.position(node.reshape(part, points), size))
    last = node.graph.transpose(node.x(0), perm=[0, *range(2, rank + 2), 1])
    data = node.reshape(last, (x[0] * math.prod(sizes), x[1]))
    total = interpolated(sampler, data, positions, sizes)
    return node.graph.transpose(total, perm=[0, rank + 1, *range(1, rank + 1)])


def interpolated(
    sampler: Sampler, data: SSAValue, positions: Sequence[SSAValue], sizes: Sequence[int]
) -> SSAValue:
    """[images, points.., channels]: the weighted sum over all combinations of neighbours.

    data: [images * prod(sizes), channels]; positions: of each dimension, [images, points..].
    """
    node, points = sampler.node, shape_of(positions[0])
    taps = [sampler.taps(x, size) for x, size in zip(positions, sizes, strict=True)]
    node.room(points[0])
    node.builder.expect(math.prod(map(len, taps)))  # the combinations, which are all written out
    images = np.arange(points[0], dtype=np.int64).reshape([-1, *(1,) * (len(points) - 1)])
    base = node.constant(images * math.prod(sizes))
    total: SSAValue | None = None
    for combination in product(*taps):
        flat = base
        for d, tap in enumerate(combination):
            step = math.prod(sizes[d + 1 :])
            flat = sampler.graph.add(flat, sampler.graph.mul(tap.index, step))
        part = node.graph.gather(data, flat, axis=0)
        column = (*points, 1)
        if inside := [tap.inside for tap in combination if tap.inside is not None]:
            # Not a weight of 0: infinity times 0 is no number.
            all_inside = reduce(node.graph.logical_and, inside)
            mask = node.reshape(all_inside, column)
            part = node.graph.select(mask, part, 0)
        if weights := [tap.weight for tap in combination if tap.weight is not None]:
            weight = node.reshape(reduce(node.graph.mul, weights), column)
            part = node.graph.mul(part, node.cast_like(weight, part))
        total = part if total is None else node.graph.add(total, part)
    assert total is not None  # every dimension has a neighbour
    return total


CONVERTERS: dict[str, Converter] = {"GridSample": _grid_sample}
