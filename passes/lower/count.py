"""How much a graph means: each op is milliseconds of what lowers it and of all behind."""

from __future__ import annotations

from collections import Counter

from xdsl.dialects.builtin import ModuleOp

from inarch.core.limits import OPS
from inarch.dialects.graph.weight import weight
from inarch.ir.location import location_text
from inarch.ir.report.walk import ops_within


def check_count(module: ModuleOp) -> None:
    """Raises InarchError, at the node that means most, for more ops than a model of people has.

    One of many operands counts as many. A few bytes of a file can mean any number, by what its nodes are made
    of: it is asked of a model that was read, and of what the passes on graphs have made of it.
    """
    counts = [(count, op) for op in ops_within(module) if (count := weight(op))]
    total = sum(count for count, _ in counts)
    if total <= OPS.value:
        return
    found: Counter[str | None] = Counter()
    for count, op in counts:
        found[location_text(op)] += count
    OPS.check(total, where=found.most_common(1)[0][0])
