"""Leaves out the terms of a contraction that multiply padding: each tap of a window runs where its image is.

    for p in 7, r in 3: y[p] += x[p + r] * w[r]         x[0] and x[8] are 0
    -->
    for p in 7: y[p] = 0
    for p in 6: y[p + 1] += x[p + 1] * w[0]
    for p in 6: y[p] += x[p + 2] * w[2]
    for p in 7: y[p] += x[p + 1] * w[1]                 and what follows the sum

Neighbouring taps that meet padding at the same points stay together. Of the terms of a 3x3 window at stride 1
on 7x7 pixels 18 % are on padding, on 14x14 9 %. Each part loads and stores its output.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr

from inarch.core.lazy import Array, np
from inarch.dialects.loop.access import WriteAttr, number_of
from inarch.dialects.loop.buffer import ConstantOp, root
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.edit import replace_op
from inarch.ir.functions import entry_blocks
from inarch.ir.index.linear import Linear, linear_map
from inarch.ir.passes import OptionalPass
from inarch.ir.payload.constants import constant_array
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.passes.loop.nests.contraction import match_contraction
from inarch.passes.loop.nests.transform import at_points, strides_along
from inarch.passes.padding.known_zeros import Margins, zero_margins
from inarch.passes.tensorize.choose import Prices
from inarch.passes.tensorize.weigh.cost import PIECE


@dataclass(frozen=True)
class DropPaddingTapsPass(OptionalPass):
    """Splits contractions by constant, finite weights whose windows reach into known zeros, where it pays.

    It pays where the parts take less than the whole, each with the kernel that it will get; that is asked
    where the terms on padding take as long as loading and storing an element for each part that is added.
    With `least` an element of the output must instead have so many of them, on average, for each such part.
    Row-major images are left alone: vectors run over their pixels. The sum is formed in another order.
    """

    least: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = store_of(ctx)
        asked = Prices.of(ctx, op) if self.least is None else self.least
        for _, block in entry_blocks(op):
            nests = [each for each in block.ops if isinstance(each, NestOp)]
            # Of what reads a buffer, and of what a part writes, its margins do not depend.
            margins = cache(zero_margins)
            for nest in [each for each in nests if not is_kept(each)]:
                _drop(nest, margins, store, asked, remarks_of(ctx))


MOST_PARTS = 256
"""Nests that one becomes: each is lowered, priced and written by itself. A 7x7 window has 49."""

_Margins = Callable[[SSAValue], Margins]
"""The known zeros of a buffer."""

_Range = tuple[int, int]
"""The first one, and the one behind the last."""


@dataclass(frozen=True)
class _Group:
    """Taps of a window, and the points at which they meet no padding."""

    taps: _Range
    points: _Range

    @property
    def size(self) -> int:
        return (self.taps[1] - self.taps[0]) * (self.points[1] - self.points[0])


@dataclass(frozen=True)
class _Window:
    """A dimension that is read at `a * point + b * tap + c`; it may have no point. With its groups."""

    point: int | None
    tap: int
    points: int
    taps: int
    groups: tuple[_Group, ...]

    def is_full(self, group: _Group) -> bool:
        """Whether a group has all points."""
        return group.points == (0, self.points)


_Part = tuple[_Group, ...]
"""One group of each window."""


def _drop(
    nest: NestOp, margins: _Margins, store: ConstantStore, asked: Prices | int, remarks: Remarks
) -> None:
    contraction = match_contraction(nest)
    if contraction is None or 0 in nest.sizes:
        return
    for image, weights in ((contraction.a, contraction.b), (contraction.b, contraction.a)):
        windows = _windows(nest, image, margins)
        if not windows:
            continue
        if (reason := _unsuitable(nest, image, windows)) is not None:
            remarks.missed(nest, f"its windows meet padding, but {reason}")
            return
        if not all(any(map(window.is_full, window.groups)) for window in windows):
            remarks.missed(nest, "no tap of its windows is inside the image at every point")
            continue
        dropped, count = _dropped(nest, windows), prod(len(window.groups) for window in windows)
        terms = f"on average {dropped:.1f} terms of an output"
        if not _is_finite(nest, weights, store):
            remarks.missed(nest, f"{terms} are on padding, by weights that may not be finite")
            continue
        worth = (asked if isinstance(asked, int) else asked.stored_again) * (count - 1)
        if dropped < worth:
            remarks.missed(nest, f"{terms} are on padding: {count} parts pay from {worth:g} on")
            continue
        if count > MOST_PARTS:
            remarks.missed(nest, f"{terms} are on padding: {count} parts are above {MOST_PARTS}")
            continue
        parts: list[_Part] = list(product(*(window.groups for window in windows)))
        full = next(part for part in parts if all(map(_Window.is_full, windows, part)))
        made = _parts(nest, windows, [*(part for part in parts if part is not full), full])
        if not isinstance(asked, int) and (reason := _too_dear(nest, made, asked)) is not None:
            remarks.missed(nest, f"{terms} are on padding: {reason}")
            for each in made:
                each.erase()
            continue
        remarks.done(nest, f"{terms} left out, parts: {count}")
        replace_op(nest, *made)
        return


def _too_dear(nest: NestOp, parts: Sequence[NestOp], asked: Prices) -> str | None:
    """Why the parts, the first of which begins the sums of several, are not worth it."""
    added = max(0, len(parts) - 2)
    # Parts of one size differ in where they read and write alone: one of them is looked at.
    alike: defaultdict[tuple[int, ...], list[NestOp]] = defaultdict(list)
    for part in parts:
        alike[part.sizes].append(part)
    taken = asked.price(first for first, *rest in alike.values() for _ in (first, *rest))
    taken = replace(taken, cycles=taken.cycles * (1 + PIECE * added))
    whole = asked.price([nest])
    if taken < whole:
        return None
    if taken.undone > whole.undone:
        return "the whole is done by a kernel that is demanded, parts are not"
    return f"{added + 1} parts take {taken.cycles:.0f} cycles, the whole {whole.cycles:.0f}"


def _unsuitable(nest: NestOp, image: int, windows: Sequence[_Window]) -> str | None:
    """Why no nest with such an output, or such an image, is split."""
    if str(number_of(nest.writes.data[0].init)) == "-0.0":
        return "the sum begins at -0.0, which a term of +0 changes"
    if root(nest.outs[0]) in [root(operand) for operand in nest.ins]:
        return "it reads what the first part would write over"
    if not _is_in_order(nest):
        return (
            "its output is not in order: a kernel writes it by way of a copy, each part once more"
        )
    if any(_is_row(nest, image, window) for window in windows):
        return "vectors run over its rows, and shorter rows fill them worse"
    return None


def _dropped(nest: NestOp, windows: Sequence[_Window]) -> float:
    """Terms on padding, for each element of the output on average."""
    pairs = zip(nest.sizes, nest.iterators, strict=True)
    terms = prod(size for size, iterator in pairs if iterator.is_reduction)
    whole = prod(window.points * window.taps for window in windows)
    kept = prod(sum(group.size for group in window.groups) for window in windows)
    return terms * (1 - kept / whole)


def _is_row(nest: NestOp, position: int, window: _Window) -> bool:
    """Whether the points of a window are neighbours in the operand."""
    if window.point is None:
        return False
    return abs(strides_along(nest, nest.ins[position], nest.read_map(position))[window.point]) == 1


def _is_finite(nest: NestOp, position: int, store: ConstantStore) -> bool:
    """Whether an operand's elements are known and finite: only then is 0 times each of them 0."""
    owner = nest.ins[position].owner
    is_inside = not nest.reads.data[position].is_padded
    if not isinstance(owner, ConstantOp) or not is_inside:
        return False
    return bool(np.isfinite(constant_array(owner.value, store)).all())


def _windows(nest: NestOp, position: int, margins: _Margins) -> list[_Window]:
    """The dimensions of an operand whose known zeros some taps meet at some points."""
    if nest.reads.data[position].is_padded:
        return []
    buffer = nest.ins[position]
    forms = linear_map(nest.read_map(position))
    found: list[_Window] = []
    for form, (before, behind), size in zip(
        forms, margins(buffer), buffer_shape(buffer), strict=True
    ):
        used = [i for i, by in enumerate(form.coefficients) if by]
        taps = [i for i in used if nest.iterators.data[i].is_reduction]
        points = [i for i in used if i not in taps]
        alone = sum(any(other.coefficients[i] for i in used) for other in forms) == 1
        if len(taps) == 1 and len(points) <= 1 and alone and before + behind:
            window = _window(nest, form, points, taps[0], (before, size - behind))
            if sum(group.size for group in window.groups) < window.points * window.taps:
                found.append(window)
    return found


def _window(nest: NestOp, form: Linear, points: Sequence[int], tap: int, inside: _Range) -> _Window:
    """Groups of taps by the points at which they read `inside`; taps that never do are in no group."""
    point = points[0] if points else None
    count = nest.sizes[point] if point is not None else 1
    step = form.coefficients[point] if point is not None else 0
    taps = nest.sizes[tap]
    first, after = _met(
        form.constant + form.coefficients[tap] * np.arange(taps), step, count, inside
    )
    changes = np.flatnonzero((np.diff(first) != 0) | (np.diff(after) != 0)) + 1
    begins = [0, *changes.tolist()]
    groups = tuple(
        _Group((begin, end), (low, high))
        for begin, end, low, high in zip(
            begins,
            [*begins[1:], taps],
            first[begins].tolist(),
            after[begins].tolist(),
            strict=True,
        )
        if low < high
    )
    return _Window(point, tap, count, taps, groups)


def _met(starts: Array, step: int, count: int, inside: _Range) -> tuple[Array, Array]:
    """The range of points p below `count` with `start + step * p` inside: the first, and the last plus 1."""
    low, high = inside
    if step < 0:
        starts, step, low, high = -starts, -step, 1 - high, 1 - low
    if step == 0:
        return np.zeros_like(starts), np.where((low <= starts) & (starts < high), count, 0)
    return np.maximum(0, -((starts - low) // step)), np.minimum(count, -((starts - high) // step))


def _parts(nest: NestOp, windows: Sequence[_Window], parts: Sequence[_Part]) -> list[NestOp]:
    """What begins the sum, the parts that are added, and the last one, which is full and finishes it."""
    made = [_begin(nest)] if len(parts) > 1 else []
    for part in parts:
        added = _restricted(nest, windows, part)
        if len(parts) > 1:
            (write,) = added.writes
            added.writes = ArrayAttr([WriteAttr.get(write.map.data, clip=write.clips)])
        made.append(added if part is parts[-1] else _without_finish(added))
    return made


def _is_in_order(nest: NestOp) -> bool:
    """Whether the output's elements lie as the innermost loop makes them."""
    strides = strides_along(nest, nest.outs[0], nest.write_map(0))
    pairs = zip(nest.sizes, nest.iterators, strict=True)
    parallel = [at for at, (size, it) in enumerate(pairs) if size > 1 and not it.is_reduction]
    return not parallel or strides[parallel[-1]] == 1


def _begin(nest: NestOp) -> NestOp:
    """The output gets the number at which the sum begins."""
    parallel = [i for i, each in enumerate(nest.iterators) if not each.is_reduction]
    places = {old: AffineExpr.dimension(new) for new, old in enumerate(parallel)}
    substitution = [places.get(i, AffineExpr.constant(0)) for i in range(len(nest.iterators))]
    (write,) = nest.writes
    index = write.map.data.replace_dims_and_symbols(substitution, [], len(parallel), 0)
    block = Block(arg_types=[memref_of(nest.outs[0]).element_type])
    number = arith.ConstantOp(write.init)  # pyright: ignore[reportArgumentType] - a typed number
    block.add_ops([number, YieldOp(number.result)])
    iterators = [nest.iterators.data[i] for i in parallel]
    writes = [WriteAttr.get(index, clip=write.clips)]
    begin = NestOp(iterators, [], [], list(nest.outs), writes, Region(block))
    begin.location = nest.location
    return begin


def _restricted(nest: NestOp, windows: Sequence[_Window], part: _Part) -> NestOp:
    """The nest over the taps and points of a part."""
    points = [range(size) for size in nest.sizes]
    for window, group in zip(windows, part, strict=True):
        points[window.tap] = range(*group.taps)
        if window.point is not None:
            points[window.point] = range(*group.points)
    return at_points(nest, points)


def _without_finish(nest: NestOp) -> NestOp:
    """The nest, which is in no block, without `finish` and the operands that only it reads."""
    body = nest.body.clone()
    arguments = body.block.args[: len(nest.ins)]
    kept = [at for at, argument in enumerate(arguments) if argument.first_use is not None]
    for argument in [each for at, each in enumerate(arguments) if at not in kept]:
        body.block.erase_arg(argument)
    ins, reads = [nest.ins[at] for at in kept], [nest.reads.data[at] for at in kept]
    copy = NestOp(list(nest.iterators), ins, reads, list(nest.outs), list(nest.writes), body)
    copy.location = nest.location
    nest.erase()
    return copy
