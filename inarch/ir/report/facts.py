"""What passes find out about a program, for passes that come later and for who runs them.

    facts_of(context).put(report)              # a pass
    report = facts_of(context).get(KernelReport)     # another one, or the driver

A fact is an object of a class of its own; there is one a class. Facts are of a context, as constants are.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.context import Context

T = TypeVar("T")


class Facts:
    """The facts of one context, by class."""

    def __init__(self) -> None:
        self._facts: dict[type[object], object] = {}

    def put(self, fact: object) -> None:
        """Keeps `fact` in the place of another one of its class."""
        self._facts[type(fact)] = fact

    def get(self, kind: type[T]) -> T | None:
        """The fact of class `kind`, if there is one."""
        found = self._facts.get(kind)
        assert found is None or isinstance(found, kind)
        return found

    def take(self, kind: type[T]) -> T | None:
        """As `get`; it is forgotten."""
        found = self.get(kind)
        self._facts.pop(kind, None)
        return found


def facts_of(context: Context) -> Facts:
    """The facts of `context`, which are the same each time."""
    return context.__dict__.setdefault("_inarch_facts", Facts())
