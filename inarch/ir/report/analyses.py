"""What more than one pass wants to know of an op: computed once, as long as the op stays as it is.

    uses = analyses_of(context).get(BufferUses, function)

An analysis is a class with `of(op)`, which computes it from the op and what is nested in it. No pass says
what it preserves, and nothing is stale: an op that has changed since is seen by its `Fingerprint`. That is a
walk of the op: ask once for a function, not once for each op in it.
"""

from __future__ import annotations

from typing import Protocol, Self, TypeVar, cast

from xdsl.context import Context
from xdsl.ir import Operation

from inarch.ir.report.fingerprint import Fingerprint


class Analysis(Protocol):
    """What is known of an op. Whoever gets one leaves it as it is: others get the same."""

    @classmethod
    def of(cls, op: Operation) -> Self:
        """Computes it."""
        ...


A = TypeVar("A", bound=Analysis)


class Analyses:
    """The analyses of one context's ops."""

    def __init__(self) -> None:
        self._held: dict[tuple[type[Analysis], Operation], tuple[Fingerprint, Analysis]] = {}
        self.computed = 0
        self.reused = 0

    def get(self, kind: type[A], op: Operation) -> A:
        """`kind.of(op)`, or what that gave when `op` was as it is now."""
        now = Fingerprint(op)
        held = self._held.get((kind, op))
        if held is not None and held[0].is_same(now):
            self.reused += 1
            return cast("A", held[1])
        self.computed += 1
        found = kind.of(op)
        self._held[kind, op] = now, found
        return found

    def forget_gone(self, module: Operation) -> None:
        """Forgets ops that are no longer in `module`; the pass manager does it after each pass."""
        for kind, op in list(self._held):
            if not module.is_ancestor(op):
                del self._held[kind, op]


def analyses_of(context: Context) -> Analyses:
    """The analyses of `context`, which are the same each time."""
    return context.__dict__.setdefault("_inarch_analyses", Analyses())
