"""Solving for the strides of an operand, so that its addresses in the meaning are those in the nest.

The meaning reads `A[p * SH + r, c]` at `s0 * (p * SH + r) + s1 * c`; the nest moves by a known number of
elements along `p`, `r` and `c`. Unknown are the strides, and the sizes like SH that the call gives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inarch.meaning import Index, Term


@dataclass(frozen=True)
class Solution:
    """Strides in elements by dimension (None: no point moves along it) and the sizes found."""

    strides: tuple[int | None, ...]
    given: Mapping[str, int]


def solve(
    indices: tuple[Index, ...], moves: Mapping[str, int], given: Mapping[str, int]
) -> Solution | None:
    """The strides for which each iterator moves the element's address by `moves[iterator]`.

    `moves` has the iterators of more than one point. `given` are the parameters and sizes known so
    far, 1 or more each, as those found. None: there are no such strides (that are integers), or they are
    not determined one by one.
    """
    known = dict(given)
    strides: list[int | None] = [None] * len(indices)
    terms = {
        iterator: [
            (dimension, term)
            for dimension, index in enumerate(indices)
            for term in index
            if term.iterator == iterator
        ]
        for iterator in moves
    }
    if any(not found and moves[iterator] for iterator, found in terms.items()):
        return None
    while _step(terms, moves, strides, known) or _guess(indices, moves, strides, known):
        pass
    for iterator, found in terms.items():
        total = 0
        for dimension, term in found:
            stride, factor = strides[dimension], _factor(term, known)
            if stride is None or factor is None:
                return None
            total += stride * factor
        if total != moves[iterator]:
            return None
    return Solution(tuple(strides), known)


def _factor(term: Term, known: Mapping[str, int]) -> int | None:
    """The number that the iterator is multiplied by; None while a size in it is unknown."""
    factor = 1
    for each in term.factors:
        value = known.get(each) if isinstance(each, str) else each
        if value is None:
            return None
        factor *= value
    return factor


def _step(
    terms: Mapping[str, Sequence[tuple[int, Term]]],
    moves: Mapping[str, int],
    strides: list[int | None],
    known: dict[str, int],
) -> bool:
    """Finds one more unknown from an iterator whose equation has only that one; False: there is none."""
    for iterator, found in terms.items():
        rest = moves[iterator]
        open_terms: list[tuple[int, Term]] = []
        for dimension, term in found:
            stride, factor = strides[dimension], _factor(term, known)
            if stride is None or factor is None:
                open_terms.append((dimension, term))
            else:
                rest -= stride * factor
        if len(open_terms) != 1:
            continue
        dimension, term = open_terms[0]
        factor, stride = _factor(term, known), strides[dimension]
        if factor is not None:
            if factor and rest % factor == 0:
                strides[dimension] = rest // factor
                return True
            continue
        unknown = [each for each in term.factors if isinstance(each, str) and each not in known]
        if stride and len(unknown) == 1:
            others = math.prod(
                known[each] if isinstance(each, str) else each
                for each in term.factors
                if each != unknown[0]
            )
            step = stride * others
            if step and rest % step == 0 and rest // step >= 1:
                known[unknown[0]] = rest // step
                return True
    return False


def _guess(
    indices: tuple[Index, ...],
    moves: Mapping[str, int],
    strides: list[int | None],
    known: Mapping[str, int],
) -> bool:
    """Where every factor of an index is unknown, its stride is what the moves have in common.

    It is negative where all run backwards: factors are not.
    """
    for dimension, index in enumerate(indices):
        if strides[dimension] is not None:
            continue
        active = [
            (moves[term.iterator], term)
            for term in index
            if term.iterator is not None and term.iterator in moves
        ]
        along = [move for move, _ in active]
        if along and all(_factor(term, known) is None for _, term in active):
            strides[dimension] = math.gcd(*along) * (-1 if max(along) < 0 else 1)
            return True
    return False
