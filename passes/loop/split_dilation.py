"""Dilated depthwise convolutions become undilated ones, of every second (third ...) pixel each.

    for p in 9, r in 3: y[p] += x[p + 2 * r] * w[r]
    -->
    for p in 5, r in 3: y[2 * p] += x[2 * (p + r)] * w[r]
    for p in 4, r in 3: y[2 * p + 1] += x[2 * (p + r) + 1] * w[r]

The windows of neighbouring points of such a part overlap, which is what depthwise kernels live on.
Other convolutions reuse along channels, and are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import gcd

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.dialects.loop.keep import free_nests
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import replace_op
from inarch.ir.index.linear import linear_map
from inarch.ir.passes import OptionalPass
from inarch.passes.loop.nests.contraction import match_contraction
from inarch.passes.loop.nests.transform import at_points, strides_along


@dataclass(frozen=True)
class SplitDilationPass(OptionalPass):
    """Splits the points of depthwise convolutions by their remainder modulo the dilation (by the stride)."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nest in free_nests(op):
            steps = _steps(nest)
            if any(step > 1 for step in steps):
                _split(nest, steps)


def _steps(nest: NestOp) -> list[int]:
    """By iterator: how many points apart windows share taps; 1 where nothing is to be done."""
    steps = [1] * len(nest.iterators)
    contraction = match_contraction(nest)
    if contraction is None or 0 in nest.sizes:
        return steps
    lanes = [i for i in contraction.batch if nest.sizes[i] > 1]
    shared = [i for i in (*contraction.rows, *contraction.columns) if nest.sizes[i] > 1]
    image = next((at for at in (contraction.a, contraction.b) if _uses(nest, at, shared)), None)
    if not lanes or not shared or image is None:
        return steps
    along = strides_along(nest, nest.ins[image], nest.read_map(image))
    if not any(along[i] == 1 for i in lanes):
        return steps  # vectors run over the pixels
    for form in linear_map(nest.read_map(image)):
        used = [i for i, by in enumerate(form.coefficients) if by and nest.sizes[i] > 1]
        taps = [i for i in used if nest.iterators.data[i].is_reduction]
        points = [i for i in used if i not in taps]
        if len(taps) == len(points) == 1:
            stride, dilation = form.coefficients[points[0]], form.coefficients[taps[0]]
            step = abs(dilation) // gcd(stride, dilation)
            steps[points[0]] = step if step < nest.sizes[points[0]] else 1
    return steps


def _uses(nest: NestOp, position: int, iterators: list[int]) -> bool:
    """Whether an operand is read at all of these iterators."""
    used = nest.read_map(position).used_dims()
    return all(i in used for i in iterators)


def _split(nest: NestOp, steps: list[int]) -> None:
    replace_op(nest, *_parts(nest, steps))


def _parts(nest: NestOp, steps: list[int]) -> Iterator[NestOp]:
    for starts in product(*(range(step) for step in steps)):
        yield at_points(nest, [*map(range, starts, nest.sizes, steps)])
