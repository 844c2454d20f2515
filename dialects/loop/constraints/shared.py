"""Iterators whose iterations threads share: at most one of an op, and none within what one thread sums up."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import dropwhile, islice

from xdsl.utils.exceptions import VerifyException

from inarch.dialects.loop.access import IteratorAttr


def shared_twice(iterators: Iterable[IteratorAttr]) -> str | None:
    """The name of a second iterator whose iterations threads share."""
    return next(islice((each.label.data for each in iterators if each.is_shared), 1, None), None)


def check_shared(iterators: Iterable[IteratorAttr]) -> None:
    """C10 of a nest: threads share one loop, of no sum nor of what one thread sums up together."""
    if (name := shared_twice(iterators)) is not None:
        raise VerifyException(f"C10: expected one parallel iterator at most, found also {name}")
    inside = dropwhile(lambda one: not (one.is_reduction or one.is_scan), iterators)
    for iterator in inside:
        if iterator.is_shared:
            raise VerifyException(
                f"C10: expected the parallel iterator {iterator.label.data} outside what is carried"
            )
