"""Whether a path leaves some ops and enters them again: then they cannot be one op."""

from __future__ import annotations

from collections.abc import Callable, Collection

from xdsl.ir import Operation


def way_around(
    ops: Collection[Operation], whole: Callable[[Operation], Collection[Operation]]
) -> Operation | None:
    """The first op of a path that leaves `ops` and enters them again; None where there is none.

    `whole` gives the ops of the match that an op is in, which are as one op.
    """
    came: dict[Operation, Operation] = {}
    for use in [use for op in ops for value in op.results for use in value.uses]:
        if use.operation not in ops:
            came[use.operation] = use.operation
    stack = list(came)
    while stack:
        op = stack.pop()
        for mine in whole(op):
            for use in [use for value in mine.results for use in value.uses]:
                if use.operation in ops:
                    return came[op]
                if use.operation not in came:
                    came[use.operation] = came[op]
                    stack.append(use.operation)
    return None
