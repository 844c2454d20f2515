"""Patterns over graph ops, as Python values: what a backend takes as one unit.

    conv = op("conv", any_(), constant())
    pattern = optional(optional(conv, lambda x: op("add", x, constant())), lambda x: op("relu", x))
    named("conv_bias_relu", pattern, where=lambda m: None if ... else "strides are [3, 3]; takes 1 or 2")

A pattern is a DAG: a value used twice in it must be one value in the program. The root is the op whose
result leaves the match. Interior values have no users outside of the match.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

Where = Callable[[Operation], str | None]
"""None to accept the op, or the reason to refuse it, with the values that decided."""


class Pattern:
    """A value pattern; see the functions of this module for how to make one."""

    def __or__(self, other: Pattern) -> Pattern:
        return Alternative((self, other))


@dataclass(frozen=True, eq=False)
class Any(Pattern):
    """Any value: an input of the match."""

    label: str = "any"


@dataclass(frozen=True, eq=False)
class Constant(Pattern):
    """A compile-time constant; `where` sees its `graph.constant`."""

    where: Where | None = None


@dataclass(frozen=True, eq=False)
class Op(Pattern):
    """The (first) result of one op: its name, operand patterns, and what must hold of it."""

    name: str
    operands: tuple[Pattern, ...]
    attributes: Mapping[str, object] = field(default_factory=dict[str, object])
    """Property name -> the Python value it must have (ints, floats, bools, strings, tuples of ints)."""
    where: Where | None = None
    commutative: bool = False
    """Two operands may be exchanged."""


@dataclass(frozen=True, eq=False)
class Alternative(Pattern):
    """One of several, tried in order."""

    choices: tuple[Pattern, ...]


@dataclass(frozen=True)
class Match:
    """Where a pattern was found."""

    root: Operation
    ops: tuple[Operation, ...]
    """The ops it takes, operands before users; constants are not among them."""
    inputs: tuple[SSAValue, ...]
    """Values from outside, constants included, in the order in which the pattern meets them."""


@dataclass(frozen=True)
class NamedPattern:
    """A pattern that a backend lists; `where` sees the whole match and may refuse it with a reason."""

    name: str
    pattern: Pattern
    where: Callable[[Match], str | None] | None = None


def any_(label: str = "any") -> Any:
    """Any value."""
    return Any(label)


def constant(where: Where | None = None) -> Constant:
    """A constant."""
    return Constant(where)


def op(
    name: str,
    *operands: Pattern,
    where: Where | None = None,
    commutative: bool = False,
    **attributes: object,
) -> Op:
    """The op `name` (`conv` is `graph.conv`) on operands; missing trailing operands match anything."""
    full = name if "." in name else f"graph.{name}"
    return Op(full, operands, attributes, where, commutative)


def optional(inner: Pattern, outer: Callable[[Pattern], Pattern]) -> Pattern:
    """`outer(inner)` where it is there, else `inner`: the larger one is preferred."""
    return Alternative((outer(inner), inner))


def named(
    name: str, pattern: Pattern, where: Callable[[Match], str | None] | None = None
) -> NamedPattern:
    """A pattern with the name that composites and reports show."""
    return NamedPattern(name, pattern, where)


__all__ = [
    "Alternative",
    "Any",
    "Constant",
    "Match",
    "NamedPattern",
    "Op",
    "Pattern",
    "any_",
    "constant",
    "named",
    "op",
    "optional",
]
