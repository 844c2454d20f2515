"""The matcher: whether an op is the root of a match of a pattern, and if not, what is in the way.

A depth-first search over goals `(pattern, value)` with backtracking, so that alternatives and the
operand orders of commutative ops are tried in the order of preference (see `inarch.passes.pattern`).
A failure is kept only when the attempt got further than those before, and put into words later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.ir import Block, Operation, OpResult, SSAValue

from inarch.dialects.graph.constant import ConstantOp
from inarch.passes.partition.common import error_at
from inarch.passes.partition.match.names import (
    Names,
    Words,
    maker_text,
    op_text,
    python_value,
    value_text,
)
from inarch.passes.pattern import (
    Alternative,
    Any,
    Constant,
    Match,
    NamedPattern,
    Op,
    Pattern,
)

Goal: TypeAlias = "tuple[Pattern, SSAValue, Operation, int, Goal] | None"
"""A pattern, the value to match, its user and operand index (for messages), and the other goals."""

Refusal = Callable[[Operation], Words | None]
"""Why an op is not to be had (it has an owner, or is kept from the backend), or None."""


@dataclass
class Nearest:
    """The attempt that got furthest at an op: how many ops it matched, and what stopped it."""

    depth: int
    pattern: str
    words: Words

    def text(self, names: Names) -> str:
        """The reason for a report."""
        prefix = f"pattern {self.pattern}: " if self.pattern else ""
        return prefix + self.words(names)


@dataclass
class Matcher:
    """Matches the patterns of one backend, in one block; remembers the nearest miss at each op."""

    backend: str
    accepts: Callable[[Operation], str | None]
    refusal: Refusal
    nearest: dict[Operation, Nearest] = field(default_factory=dict[Operation, Nearest])
    _accepted: dict[Operation, str | None] = field(default_factory=dict[Operation, "str | None"])
    _named: NamedPattern | None = None
    _bound: dict[Pattern, SSAValue] = field(default_factory=dict[Pattern, SSAValue])
    _ops: list[Operation] = field(default_factory=list[Operation])
    _orders: dict[Operation, Sequence[SSAValue]] = field(
        default_factory=dict[Operation, "Sequence[SSAValue]"]
    )
    _block: Block | None = None
    _found: Match | None = None

    def match(self, named: NamedPattern, pattern: Op, root: Operation) -> Match | None:
        """The match of `pattern`, a root of `named`, that ends in `root`, if there is one."""
        self._named, self._block, self._found = named, root.parent, None
        self._bound.clear()
        self._ops.clear()
        self._orders.clear()
        self._bound[pattern] = root.results[0]
        self._match_op(pattern, root, None)
        return self._found

    def accept_single(self, op: Operation) -> bool:
        """Whether the backend takes `op` from its list of ops, by itself."""
        words = self.refusal(op)
        if words is None and (reason := self._ask(op)) is not None:
            words = _constantly(f"accepts: {reason}")
        if words is not None:
            self._note(op, 1, "", words)
        return words is None

    # ------------------------------------------------------------------------------- the search

    def _solve(self, goal: Goal) -> bool:
        if goal is None:
            return self._finish()
        pattern, value, user, index, rest = goal
        known = self._bound.get(pattern)
        if known is not None:
            if known is value:
                return self._solve(rest)
            return self._fail(lambda names: _other_value(names, user, index, known, value))
        self._bound[pattern] = value
        if self._solve_new(pattern, value, user, index, rest):
            return True
        del self._bound[pattern]
        return False

    def _solve_new(
        self, pattern: Pattern, value: SSAValue, user: Operation, index: int, rest: Goal
    ) -> bool:
        kind = type(pattern)
        if kind is Any:
            return self._solve(rest)
        if isinstance(pattern, Op):
            if isinstance(value, OpResult) and value.index == 0:
                op = value.op
                if op.name == pattern.name and op.parent is self._block:
                    return self._match_op(pattern, op, rest)
            return self._fail(
                lambda _: (
                    f"operand {index} of {user.name} is not {pattern.name}, but {maker_text(value)}"
                )
            )
        if isinstance(pattern, Constant):
            return self._match_constant(pattern, value, user, index, rest)
        assert isinstance(pattern, Alternative)
        return any(self._solve((choice, value, user, index, rest)) for choice in pattern.choices)

    def _match_op(self, pattern: Op, op: Operation, rest: Goal) -> bool:
        if (words := self.refusal(op)) is not None:
            return self._fail(words, op)
        for name, expected in pattern.attributes.items():
            found = op.properties.get(name)
            if found != expected and python_value(found) != expected:
                return self._fail(
                    lambda _, name=name, expected=expected: _wrong_attribute(op, name, expected), op
                )
        if pattern.where is not None:
            reason = self._call(pattern.where, op, op)
            if reason is not None:
                return self._fail(_constantly(f"where: {reason}"), op)
        operands = tuple(op.operands)
        if len(pattern.operands) > len(operands):
            return self._fail(lambda _: _too_few(op, len(pattern.operands)), op)
        again = op in self._orders  # another part of the pattern is the same op
        if not again:
            self._ops.append(op)
        for order in _orders(operands) if pattern.commutative else (operands,):
            self._orders[op] = order
            goal = rest
            for index in range(len(pattern.operands) - 1, -1, -1):
                goal = (pattern.operands[index], order[index], op, index, goal)
            if self._solve(goal):
                return True
        if not again:
            self._ops.pop()
            del self._orders[op]
        return False

    def _match_constant(
        self, pattern: Constant, value: SSAValue, user: Operation, index: int, rest: Goal
    ) -> bool:
        owner = value.owner
        if not isinstance(owner, ConstantOp):
            return self._fail(lambda _: f"operand {index} of {user.name} is not a constant")
        if pattern.where is not None:
            reason = self._call(pattern.where, owner, user)
            if reason is not None:
                return self._fail(_constantly(f"where: {reason}"))
        return self._solve(rest)

    def _finish(self) -> bool:
        """All parts fit: now what holds of the match as a whole."""
        root, *interior = self._ops
        for op in interior:
            for result in op.results:
                for use in result.uses:
                    if use.operation not in self._orders:
                        user = use.operation
                        return self._fail(
                            lambda names, result=result, user=user: (
                                f"interior value {names.value(result)} has a user outside of "
                                f"the match: {op_text(user)}"
                            )
                        )
        for op in self._ops:
            reason = self._ask(op)
            if reason is not None:
                return self._fail(_constantly(f"accepts: {op_text(op)}: {reason}"))
        named = self._named
        assert named is not None
        ops, inputs = self._walk(root)
        found = Match(root, ops, inputs, dict(self._bound))
        if named.where is not None:
            reason = self._call(named.where, found, root)
            if reason is not None:
                return self._fail(_constantly(f"where: {reason}"))
        self._found = found
        return True

    def _walk(self, root: Operation) -> tuple[tuple[Operation, ...], tuple[SSAValue, ...]]:
        """The ops of the match, operands first, and the values from outside in the pattern's order."""
        ops: dict[Operation, None] = {}
        inputs: dict[SSAValue, None] = {}

        def visit(op: Operation) -> None:
            for value in self._orders[op]:
                maker = value.op if isinstance(value, OpResult) else None
                if maker is None or maker not in self._orders:
                    inputs.setdefault(value)
                elif maker not in ops:
                    visit(maker)
            ops.setdefault(op)

        visit(root)
        return tuple(ops), tuple(inputs)

    # ------------------------------------------------------------------------------- reasons

    def _fail(self, words: Words, op: Operation | None = None) -> bool:
        """Notes what stopped the attempt, at each op that it had matched and at `op`; False."""
        named = self._named
        assert named is not None
        depth = len(self._ops)
        for matched in self._ops:
            self._note(matched, depth, named.name, words)
        if op is not None and depth == 0:
            self._note(op, 0, named.name, words)
        return False

    def _note(self, op: Operation, depth: int, pattern: str, words: Words) -> None:
        before = self.nearest.get(op)
        if before is None or depth > before.depth:
            self.nearest[op] = Nearest(depth, pattern, words)

    def _ask(self, op: Operation) -> str | None:
        if op not in self._accepted:
            self._accepted[op] = call_user(
                self.accepts, op, f"backend '{self.backend}': accepts", op
            )
        return self._accepted[op]

    def _call(
        self, function: Callable[..., str | None], about: object, op: Operation
    ) -> str | None:
        assert self._named is not None
        where = f"backend '{self.backend}', pattern {self._named.name}: where"
        return call_user(function, about, where, op)


def call_user(
    function: Callable[..., str | None], about: object, what: str, op: Operation
) -> str | None:
    """What a backend's function answers. Raises at `op` when it raises, or answers something else."""
    try:
        answer = cast("object", function(about))
    except Exception as error:
        # A backend's code may fail in any way; the person who wrote it needs the place, not ours.
        message = f"{what} failed on '{op.name}': {type(error).__name__}: {error}"
        raise error_at(op, message) from error
    if answer is None or isinstance(answer, str):
        return answer
    raise error_at(
        op, f"{what} expected None or a reason (a string) for '{op.name}', found {answer!r}"
    )


def _orders(operands: tuple[SSAValue, ...]) -> Sequence[Sequence[SSAValue]]:
    """The orders to try of a commutative op's operands: as they stand, and exchanged."""
    if len(operands) != 2 or operands[0] is operands[1]:
        return (operands,)
    return (operands, operands[::-1])


def _constantly(text: str) -> Words:
    return lambda _: text


def _too_few(op: Operation, count: int) -> str:
    return f"{op.name} has {len(op.operands)} operands, expected {count} or more"


def _wrong_attribute(op: Operation, name: str, expected: object) -> str:
    if name not in op.properties:
        known = ", ".join(sorted(op.properties)) or "none"
        return f"{op.name} has no {name}, expected {value_text(expected)}; it has {known}"
    found = value_text(python_value(op.properties[name]))
    return f"{op.name} {name} = {found}, expected {value_text(expected)}"


def _other_value(
    names: Names, user: Operation, index: int, known: SSAValue, value: SSAValue
) -> str:
    return (
        f"operand {index} of {user.name} is {names.value(value)}, "
        f"expected the same value as before, {names.value(known)}"
    )


def unmatched_text(op: Operation, patterns: Mapping[str, Sequence[NamedPattern]]) -> str:
    """Why no attempt was made at `op`: `patterns` are those that have an op, by its name."""
    inside = patterns.get(op.name)
    if not inside:
        return f"no pattern or op list has {op.name}"
    first = inside[0]
    return f"pattern {first.name} has {op.name} only inside, and no match of it reaches this one"
