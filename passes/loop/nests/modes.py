"""Which modes of a nest's iterators can be obeyed: a tile of registers is what runs inside of all else.

    (m, n, k reduction, mi unroll, ni vector)      copies, and lanes, of what accumulates
    (n, ni vector)                                 lanes of what does not
    (i, k scan, ii unroll)                         chains side by side

A mode that the C cannot obey is an error that names the iterator: nobody's word is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from inarch.core.errors import UnsupportedError
from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.indirect import scatters
from inarch.dialects.loop.nest import NestOp
from inarch.ir.location import location_text
from inarch.passes.loop.nests.arg_reduce import match_arg_reduction

MOST_CHAINS = 32
"""Copies of the body of a scan: more accumulators than there are registers gain nothing."""
MOST_COPIES = 1024
"""Of the body in unrolled text; a register tile has at most some thirty accumulators."""
MOST_ACCUMULATORS = 4096
"""Of an output in a local array: 32 KiB of f64."""
_TILED = ("unroll", "vector")


def check_modes(nest: NestOp) -> None:
    """Raises UnsupportedError for an iterator whose mode would be ignored.

    One of a single point is no loop, and has nothing to obey.
    """
    iterators = [each for each in nest.iterators if each.size.data != 1]
    if not any(each.mode.data in _TILED for each in iterators):
        return
    carried = [i for i, each in enumerate(iterators) if each.is_reduction or each.is_scan]
    first = carried[0] if carried else _first_of_tile(iterators)
    for each in iterators[:first]:
        if each.mode.data in _TILED:
            raise _ignored(nest, each, f"it stands outside of {iterators[first].label.data}")
    inside = iterators[first:]
    if scatters(nest):
        odd = next(each for each in inside if each.mode.data in _TILED)
        raise _ignored(nest, odd, "the nest writes at indices that it reads, point by point")
    if any(each.is_scan for each in inside):
        _check_chains(nest, [each for each in inside if not each.is_scan])
        return
    _check_lanes(nest, inside)
    _check_tile(nest, inside)
    _check_copies(nest, inside)


def check_accumulators(nest: NestOp) -> None:
    """Raises UnsupportedError where too many points stand inside of what a nest sums up."""
    carried = [i for i, each in enumerate(nest.iterators) if each.is_reduction or each.is_scan]
    if not carried or scatters(nest):
        return
    inside = [each for each in list(nest.iterators)[carried[0] :] if each.kind.data == "parallel"]
    points = math.prod(each.size.data for each in inside)
    if points > MOST_ACCUMULATORS:
        names = ", ".join(each.label.data for each in inside)
        raise UnsupportedError(
            f"'loop.nest' has {points} accumulators inside its outermost reduction (at most "
            f"{MOST_ACCUMULATORS}); order some of {names} outside it",
            where=location_text(nest),
        )


def _first_of_tile(iterators: Sequence[IteratorAttr]) -> int:
    """Of a nest that carries nothing: the first of the last ones, which all have a mode of a tile."""
    first = len(iterators)
    while first and iterators[first - 1].mode.data in _TILED:
        first -= 1
    return min(first, len(iterators) - 1)


def _check_chains(nest: NestOp, inside: Sequence[IteratorAttr]) -> None:
    named = [each for each in inside if each.mode.data in _TILED]
    if not named:
        return
    for each in inside:
        if each.mode.data != "unroll":
            odd = each if each.mode.data == "vector" else named[0]
            what = f"expected all that is inside of a scan to be unroll, found {_text(each)}"
            raise _ignored(nest, odd, what)
    copies = math.prod(each.size.data for each in inside)
    if copies > MOST_CHAINS:
        what = f"expected at most {MOST_CHAINS} copies inside of a scan, found {copies}"
        raise _ignored(nest, named[0], what)


def _check_lanes(nest: NestOp, inside: Sequence[IteratorAttr]) -> None:
    """A reduction is a vector where the nest looks for the best value, as the innermost of its loops."""
    lanes = [each for each in inside if each.is_reduction and each.mode.data == "vector"]
    if not lanes:
        return
    is_alone = len(inside) == 1 and match_arg_reduction(nest) is not None
    if not is_alone:
        raise _ignored(nest, lanes[0], "it is a sum, whose terms have an order")


def _check_tile(nest: NestOp, inside: Sequence[IteratorAttr]) -> None:
    parallel = [each for each in inside if not each.is_reduction]
    named = [each for each in inside if each.mode.data in _TILED]
    for each in parallel:
        if named and each.mode.data not in _TILED:
            what = f"expected unroll or vector for all that is inside with it, found {_text(each)}"
            raise _ignored(nest, named[0], what)
    vectors = [each for each in parallel if each.mode.data == "vector"]
    if len(vectors) > 1:
        names = ", ".join(each.label.data for each in vectors)
        message = f"'loop.nest' expected at most one vector iterator, found {names}"
        raise UnsupportedError(message, where=location_text(nest))


def _check_copies(nest: NestOp, inside: Sequence[IteratorAttr]) -> None:
    """Reductions become copies from the innermost one on; and all of that is text that somebody compiles."""
    copies = math.prod(each.size.data for each in inside if each.mode.data == "unroll")
    if copies > MOST_COPIES:
        message = f"'loop.nest' expected at most {MOST_COPIES} copies of the body, found {copies}"
        raise UnsupportedError(message, where=location_text(nest))
    reductions = [each for each in inside if each.is_reduction]
    for outer, inner in pairwise(reductions):
        if outer.mode.data == "unroll" and inner.mode.data != "unroll":
            raise _ignored(nest, outer, f"the reduction {_text(inner)} stands inside of it")


def _text(iterator: IteratorAttr) -> str:
    return f"{iterator.label.data} = {iterator.size.data} {iterator.mode.data}"


def _ignored(nest: NestOp, iterator: IteratorAttr, why: str) -> UnsupportedError:
    name, mode = iterator.label.data, iterator.mode.data
    return UnsupportedError(
        f"'loop.nest' cannot obey '{name} = {iterator.size.data} {mode}': {why}; order the iterators "
        "otherwise, or make it serial",
        where=location_text(nest),
    )
