"""Going through an op and what is nested in it."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation


def ops_within(op: Operation) -> Iterator[Operation]:
    """`op` and every op nested in it, in program order, as `op.walk()`, at any depth for the same price.

    What is nested in an op is read when the op has been looked at: nobody may move or erase the others.
    """
    todo = [op]
    while todo:
        one = todo.pop()
        yield one
        for region in reversed(one.regions):
            for block in reversed(region.blocks):
                inner = block.last_op
                while inner is not None:
                    todo.append(inner)
                    inner = inner.prev_op
