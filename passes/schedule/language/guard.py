"""Points behind the last one of an iterator that a split has made: they read pads, and write nothing."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, StringAttr

from inarch.dialects.loop.access import ReadAttr, WriteAttr, typed
from inarch.dialects.loop.indirect import is_indirect
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.index.linear import linear_map
from inarch.passes.schedule.language.places import error_of

_DIVISIONS = (
    arith.DivSIOp,
    arith.DivUIOp,
    arith.RemSIOp,
    arith.RemUIOp,
    arith.FloorDivSIOp,
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
)


def guard_behind(nest: NestOp, position: int, factor: int) -> None:
    """Guards the points that come behind the last one where an iterator is split by `factor`, before it is.

    Raises InarchError where there is no guard: it is only where an index leaves its dimension.
    """
    iterator = nest.iterators.data[position]
    size = iterator.size.data
    wanted = f"expected a factor that divides the {size} points of {iterator.label.data}"
    divisor = _divisor(size, factor)
    found = f"found {factor}; {f'take {divisor}' if divisor > 1 else 'none but 1 does up to it'}"
    if iterator.is_reduction:
        raise error_of(nest, f"{wanted}, a reduction, which takes no guard, {found}")
    if nest.has_scan:
        raise error_of(nest, f"{wanted}, as a scan writes at each step and does not clip, {found}")
    if is_indirect(nest):
        raise error_of(nest, f"{wanted}, as an index is read, {found}")
    regions = [nest.body, *([nest.finish] if nest.finish is not None else [])]
    for region in regions:
        for op in region.block.ops:
            if isinstance(op, _DIVISIONS):
                why = f"as '{op.name}' may divide by what is behind the last one"
                raise error_of(nest, f"{wanted}, {why}, {found}")
    for at in range(len(nest.outs)):
        if not _leaves(nest, at, position) or not _is_apart(nest, at, position, factor):
            why = f"as points behind the last one would write others of output {at}"
            raise error_of(nest, f"{wanted}, {why}, {found}")
    sizes = [max(n, 1) for n in nest.sizes]
    sizes[position] = -(-size // factor) * factor
    clip = StringAttr("clip")
    nest.writes = ArrayAttr([WriteAttr(each.map, each.init, clip) for each in nest.writes])
    nest.reads = ArrayAttr(
        [
            each if each.is_padded or _is_inside(nest, at, sizes) else _padded(nest, at)
            for at, each in enumerate(nest.reads)
        ]
    )


def _divisor(size: int, factor: int) -> int:
    return next(each for each in range(min(size, factor), 0, -1) if size % each == 0)


def _leaves(nest: NestOp, at: int, position: int) -> bool:
    """Whether an index of an output is outside of its dimension at every point behind the last one."""
    size = nest.sizes[position]
    others = [1 if i == position else max(n, 1) for i, n in enumerate(nest.sizes)]
    forms = linear_map(nest.write_map(at))
    for form, length in zip(forms, buffer_shape(nest.outs[at]), strict=True):
        step = form.coefficients[position]
        low, high = form.bounds(others)
        if (step > 0 and low + step * size >= length) or (step < 0 and high + step * size < 0):
            return True
    return False


def _is_apart(nest: NestOp, at: int, position: int, factor: int) -> bool:
    """Whether C4 holds with the points behind the last one: each index is written once, by its factors."""
    iterations = -(-nest.sizes[position] // factor)
    for form in linear_map(nest.write_map(at)):
        pairs = list(zip(form.coefficients, nest.sizes, strict=True))
        step = pairs.pop(position)[0]
        terms = [*pairs, (step * factor, iterations), (step, factor)]
        reached = 0
        for coefficient, size in sorted((abs(c), n) for c, n in terms if c and n > 1):
            if coefficient <= reached:
                return False
            reached += coefficient * (size - 1)
    return True


def _is_inside(nest: NestOp, at: int, sizes: Sequence[int]) -> bool:
    """Whether a read of so many points stays in its operand."""
    bounds = [form.bounds(sizes) for form in linear_map(nest.read_map(at))]
    pairs = zip(bounds, buffer_shape(nest.ins[at]), strict=True)
    return all(low >= 0 and high < length for (low, high), length in pairs)


def _padded(nest: NestOp, at: int) -> ReadAttr:
    return ReadAttr.get(nest.read_map(at), typed(0, memref_of(nest.ins[at]).element_type))
