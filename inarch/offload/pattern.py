"""Patterns over graph ops, as Python values: what a backend takes as one unit.

    conv = op("conv", any_(), constant())
    pattern = optional(optional(conv, lambda x: op("add", x, constant())), lambda x: op("relu", x))
    named("conv_bias_relu", pattern, where=lambda m: None if ... else "strides are [3, 3]; takes 1 or 2")

A pattern is a DAG: a value used twice in it (one Python object) must be one value in the program. The
root is the op whose result leaves the match (`named(..., others=)`: those of others, too). Interior values
have no users outside of the match, but those of cheap ops (dequantize, reshape, broadcast_to, transpose),
of which the match takes a copy.

Order of preference. Of the matches of one backend: those of earlier patterns first; of one pattern,
those whose root comes later in the program; of one root, alternatives in the order in which they are
written, the outermost first, and for a commutative op its operands as they stand before exchanged.
So an optional part that is there is taken. Printing a pattern (`str`) shows it as one writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeAlias, cast

from xdsl.ir import Operation, SSAValue

if TYPE_CHECKING:
    from inarch.offload.backend import Request

Where: TypeAlias = "Callable[[Operation], str | None] | Callable[[Operation, Request], str | None]"
"""None to accept the op, or the reason to refuse it, with the values that decided.

With a second parameter it also gets the `Request` (`inarch.offload.backend`): options, target ..."""
WhereMatch: TypeAlias = "Callable[[Match], str | None] | Callable[[Match, Request], str | None]"
"""The same of a whole match."""


class Pattern:
    """A value pattern; see the functions of this module for how to make one."""

    def __str__(self) -> str:
        return _Printer().text(self)

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
    """Of the op, or a glob: `graph.reduce_*`, `graph.*`."""
    operands: tuple[Pattern, ...]
    attributes: Mapping[str, object] = field(default_factory=dict[str, object])
    """Property name -> the Python value it must have (ints, floats, bools, strings, tuples of ints).

    A set is one of several."""
    where: Where | None = None
    commutative: bool = False
    """Two operands may be exchanged."""

    def fits(self, name: str) -> bool:
        """Whether an op of this name may be it."""
        return name == self.name or ("*" in self.name and fnmatchcase(name, self.name))


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
    values: Mapping[Pattern, SSAValue] = field(default_factory=dict["Pattern", SSAValue])
    """The value that each part of the pattern was found to be; parts not taken are not in it."""
    copied: tuple[Operation, ...] = ()
    """Those of `ops` that are cheap and have other users, too: the match takes copies of them."""

    def __getitem__(self, part: Pattern) -> SSAValue:
        """The value that `part` of the pattern was found to be."""
        return self.values[part]

    def op(self, name: str) -> Operation:
        """The first op called `name` (`conv` is `graph.conv`) of the match. Raises KeyError."""
        for found in self.ops:
            if found.name == full_name(name):
                return found
        raise KeyError(f"no {full_name(name)} in the match")


@dataclass(frozen=True)
class NamedPattern:
    """A pattern that a backend lists; `where` sees the whole match and may refuse it with a reason."""

    name: str
    pattern: Pattern
    where: WhereMatch | None = None
    others: tuple[Op, ...] = ()
    """Further roots: parts of `pattern`, or ops that share parts with it; their results leave, too."""

    def __str__(self) -> str:
        return f"{self.name}: {', '.join(map(str, (self.pattern, *self.others)))}"


def full_name(name: str) -> str:
    """The name of an op with its dialect: `conv` is `graph.conv`."""
    return name if "." in name else f"graph.{name}"


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
    """The op `name` (`conv` is `graph.conv`) on operands; missing trailing operands match anything.

    A name may be a glob: `reduce_*`, `*`. `groups=1` is what a property must be, `groups={1, 2}` one of
    several.
    """
    expected = {key: _frozen(value) for key, value in attributes.items()}
    return Op(full_name(name), operands, expected, where, commutative)


def optional(inner: Pattern, outer: Callable[[Pattern], Pattern]) -> Pattern:
    """`outer(inner)` where it is there, else `inner`: the larger one is preferred."""
    return Alternative((outer(inner), inner))


def named(
    name: str, pattern: Pattern, where: WhereMatch | None = None, *, others: Sequence[Op] = ()
) -> NamedPattern:
    """A pattern with the name that composites and reports show.

    `others` are further roots, each of which must be there: a part of `pattern` whose value others use, too,
    or an op that shares a part with `pattern`. No path may leave such a match and enter it again.
    """
    return NamedPattern(name, pattern, where, tuple(others))


def _frozen(value: object) -> object:
    """An expected value as it is compared: a list is a tuple, a set is one of several."""
    if isinstance(value, set | frozenset):
        return frozenset(_frozen(one) for one in cast("set[object]", value))
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def roots_of(pattern: Pattern) -> list[Op] | None:
    """The ops that a match of `pattern` may end in, in order; None when it may end in no op."""
    if isinstance(pattern, Op):
        return [pattern]
    if not isinstance(pattern, Alternative):
        return None
    found: list[Op] = []
    for choice in pattern.choices:
        roots = roots_of(choice)
        if roots is None:
            return None
        found += roots
    return found


def op_names(*patterns: Pattern) -> set[str]:
    """The names of all ops in `patterns`."""
    return {part.name for part in parts_of(*patterns) if isinstance(part, Op)}


def parts_of(*patterns: Pattern) -> set[Pattern]:
    """All parts of `patterns`, themselves included."""
    seen: set[Pattern] = set()
    todo = list(patterns)
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        if isinstance(current, Op):
            todo += current.operands
        elif isinstance(current, Alternative):
            todo += current.choices
    return seen


class _Printer:
    """Writes a pattern as one would call for it; a part with several users is `$1=...`, then `$1`."""

    def __init__(self) -> None:
        self._uses: dict[Pattern, int] = {}
        self._numbers: dict[Pattern, int] = {}

    def text(self, pattern: Pattern) -> str:
        self._count(pattern)
        return self._text(pattern)

    def _count(self, pattern: Pattern) -> None:
        self._uses[pattern] = self._uses.get(pattern, 0) + 1
        if self._uses[pattern] > 1:
            return
        if isinstance(pattern, Op):
            for operand in pattern.operands:
                self._count(operand)
        elif isinstance(pattern, Alternative):
            for choice in pattern.choices:
                self._count(choice)

    def _text(self, pattern: Pattern) -> str:
        if pattern in self._numbers:
            return f"${self._numbers[pattern]}"
        if self._uses[pattern] < 2:
            return self._body(pattern)
        number = self._numbers[pattern] = len(self._numbers) + 1
        return f"${number}={self._body(pattern)}"

    def _body(self, pattern: Pattern) -> str:
        match pattern:
            case Any():
                return pattern.label
            case Constant():
                return "constant where ..." if pattern.where else "constant"
            case Alternative():
                return f"({' | '.join(self._text(choice) for choice in pattern.choices)})"
            case Op():
                parts = [self._text(operand) for operand in pattern.operands]
                parts += [f"{key}={value!r}" for key, value in pattern.attributes.items()]
                parts += ["commutative"] * pattern.commutative
                where = " where ..." if pattern.where else ""
                return f"{pattern.name.removeprefix('graph.')}({', '.join(parts)}){where}"
            case _:
                return repr(pattern)
