"""The fewest steps of a program that are wrong as a program of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.ir import Block, Operation

from inarch.diagnosis.slices import entering
from inarch.dialects.graph.constant import ConstantOp

MOST_TRIES = 48
"""Programs that are compiled to leave out one step or another."""


def failing_part(count: int, is_wrong: Callable[[int, int], bool]) -> tuple[int, int]:
    """The first and last (excluded) of the fewest steps that are wrong, where all `count` of them are.

    The shortest wrong beginning, then the shortest wrong end of it: log2(count) programs each. The answer
    is wrong itself, whatever lies between.
    """
    good, last = 0, count
    while last - good > 1:
        middle = (good + last) // 2
        if is_wrong(0, middle):
            last = middle
        else:
            good = middle
    first, good = 0, last
    while good - first > 1:
        middle = (good + first) // 2
        if is_wrong(middle, last):
            first = middle
        else:
            good = middle
    return first, last


def fewest(
    wrong: Sequence[Operation], is_wrong: Callable[[Sequence[Operation]], bool]
) -> list[Operation]:
    """Steps of `wrong`, which are wrong together, without those that it does not take.

    Halves, then smaller shares, are left out, at most `MOST_TRIES` times (A. Zeller and R. Hildebrandt,
    Simplifying and Isolating Failure-Inducing Input, 2002).
    """
    left, tries = list(wrong), MOST_TRIES
    share = len(left) // 2
    while share and len(left) > 1:
        start = 0
        while start < len(left) and len(left) > 1:
            if not (tries := tries - 1):
                return left
            others = [*left[:start], *left[start + share :]]
            if others and is_wrong(others):
                left = others
            else:
                start += share
        share //= 2
    return left


def widened(step: Operation, every: Sequence[Operation]) -> Iterator[list[Operation]]:
    """Steps around one that is wrong among `every`, each time more: what it is computed from first.

    Then also what else is computed from that, and at last all.
    """
    known, seen = set(every), 0
    for reach in (0, 1, 2, 4, 8, 16):
        back = _reached({step}, reach, known, producers)
        both = _reached(back, reach, known, users)
        for chosen in (back, both):
            if len(chosen) > seen:
                seen = len(chosen)
                yield [op for op in every if op in chosen]
        if seen == len(every):
            return
    yield list(every)


def _reached(
    begin: set[Operation],
    reach: int,
    known: set[Operation],
    following: Callable[[Operation], list[Operation]],
) -> set[Operation]:
    """Those of `known` that are at most `reach` steps away."""
    found, edge = set(begin), set(begin)
    for _ in range(reach):
        edge = {op for each in edge for op in following(each) if op in known} - found
        found |= edge
    return found


def producers(op: Operation) -> list[Operation]:
    """The steps that compute what enters an op."""
    found = [value.owner for value in entering(op)]
    return [each for each in found if not isinstance(each, Block | ConstantOp)]


def users(op: Operation) -> list[Operation]:
    """The steps that read what an op computes, in themselves or in a body."""
    return [_step(use.operation, op.parent) for result in op.results for use in result.uses]


def _step(op: Operation, block: Block | None) -> Operation:
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None, "it reads a value of the block"
        op = parent
    return op
