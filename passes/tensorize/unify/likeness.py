"""How much a nest looks like what a kernel computes, though it is not: which nest a kernel is meant for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from inarch.core.scalars.functions import operations
from inarch.meaning import Expression, applied
from inarch.passes.tensorize.unify.body import named, yielded
from inarch.passes.tensorize.unify.match import names_of
from inarch.passes.tensorize.unify.pattern import KernelPattern
from inarch.passes.tensorize.unify.strided import StridedNest


def likeness(nest: StridedNest, pattern: KernelPattern) -> float:
    """From 0 to 4: functions that both apply count twice, then sizes of windows, iterators of each kind."""
    op, shape = nest.nest, pattern.normal
    names = names_of(op)
    regions = [op.body, *([op.finish] if op.finish is not None else [])]
    ours = Counter(
        name for region in regions for name in _functions(named(yielded(op, region), names))
    )
    theirs = Counter(_functions(shape.update))
    theirs.update(_functions(shape.finish))
    if shape.operator is not None:
        theirs[shape.operator] += 1
    wanted = [each.size for each in shape.reductions if isinstance(each.size, int)]
    pairs = zip(op.sizes, op.iterators, strict=True)
    sizes = [size for size, iterator in pairs if iterator.is_reduction]
    sums = sum(axis.is_reduction for axis in nest.axes)
    kinds = min(sums, len(shape.reductions)) + min(len(nest.axes) - sums, len(shape.parallel))
    every = max(sums, len(shape.reductions)) + max(len(nest.axes) - sums, len(shape.parallel))
    return 2 * _shared(ours, theirs) + _found(wanted, sizes) + kinds / max(1, every)


def _shared(ours: Counter[str], theirs: Counter[str]) -> float:
    """Of the functions of both, those that both have; by what they take, which tells an erf from a sum."""

    def work(counts: Counter[str]) -> int:
        return sum(count * operations(name) for name, count in counts.items())

    every = work(ours | theirs)
    return work(ours & theirs) / every if every else 1.0


def _found(wanted: Sequence[int], sizes: Sequence[int]) -> float:
    """How near sizes of windows come to those that are fixed, each to one of its own."""
    left, total = [*sizes], 0.0
    for size in sorted(wanted, reverse=True):
        if left:
            nearest = max(left, key=lambda one: min(one, size) / max(one, size, 1))
            total += min(nearest, size) / max(nearest, size, 1)
            left.remove(nearest)
    return total / len(wanted) if wanted else 0.0


def _functions(expression: Expression | None) -> list[str]:
    return [] if expression is None else applied(expression)
