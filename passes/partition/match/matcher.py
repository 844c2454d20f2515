"""The matcher: whether an op is the root of a match of a pattern, and if not, what is in the way.

A depth-first search over goals `(pattern, value)` with backtracking, so that alternatives and the
operand orders of commutative ops are tried in the order of preference (see `inarch.offload.pattern`).
A failure is kept only when the attempt got further than those before, and put into words later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.ir import Block, Operation, OpResult, SSAValue

from inarch.dialects.graph.constant import ConstantOp
from inarch.offload.backend import Accepts, Request
from inarch.offload.instance import wants_request
from inarch.offload.pattern import (
    Alternative,
    Any,
    Constant,
    Match,
    NamedPattern,
    Op,
    Pattern,
    parts_of,
)
from inarch.passes.partition.common import error_at, is_claimable
from inarch.passes.partition.match.convex import way_around
from inarch.passes.partition.match.names import (
    Names,
    Words,
    constantly,
    maker_text,
    op_text,
    other_value,
    python_value,
    shared_value,
    too_few,
    wrong_attribute,
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
    accepts: Accepts
    refusal: Refusal
    request: Request
    """What functions of the backend get besides that want it."""
    may_copy: Callable[[Operation], bool]
    """Whether a match may take a copy of an op that others use, too."""
    whole: Callable[[Operation], Collection[Operation]]
    """The ops of the match that an op is in already; of any other itself."""
    must_be_convex: Callable[[], bool]
    """Whether there is a match of several roots, around which a path may lead into a later one."""
    nearest: dict[Operation, Nearest] = field(default_factory=dict[Operation, Nearest])
    _accepted: dict[Operation, str | None] = field(default_factory=dict[Operation, "str | None"])
    _wants: dict[int, bool] = field(default_factory=dict[int, bool])
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
            words = constantly(f"accepts: {reason}")
        if words is not None:
            self._note(op, 1, "", words)
        return words is None

    # ------------------------------------------------------------------------------- the search

    def _solve(self, goal: Goal) -> bool:
        if goal is None:
            return self._further()
        pattern, value, user, index, rest = goal
        known = self._bound.get(pattern)
        if known is not None:
            if known is value:
                return self._solve(rest)
            return self._fail(lambda names: other_value(names, user, index, known, value))
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
                if pattern.fits(op.name) and op.parent is self._block and is_claimable(op):
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
            if found != expected and not _fits(python_value(found), expected):
                return self._fail(
                    lambda _, name=name, expected=expected: wrong_attribute(op, name, expected), op
                )
        if pattern.where is not None:
            reason = self._call(pattern.where, op, op)
            if reason is not None:
                return self._fail(constantly(f"where: {reason}"), op)
        operands = tuple(op.operands)
        if len(pattern.operands) > len(operands):
            return self._fail(lambda _: too_few(op, len(pattern.operands)), op)
        again = op in self._orders  # another part of the pattern is the same op
        if not again:
            self._ops.append(op)
        for order in _orders(operands) if pattern.commutative else (operands,):
            self._orders[op] = order
            goal: Goal = rest
            # pyrefly: ignore[non-convergent-recursion] - a goal holds the next one
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
                return self._fail(constantly(f"where: {reason}"))
        return self._solve(rest)

    def _further(self) -> bool:
        """The roots that are not matched yet: each is looked for among the users of what it shares."""
        named = self._named
        assert named is not None
        for part in named.others:
            if part not in self._bound:
                return any(self._try_root(part, op) for op in self._users(part))
        return self._finish()

    def _try_root(self, part: Op, op: Operation) -> bool:
        self._bound[part] = op.results[0]
        if self._match_op(part, op, None):
            return True
        del self._bound[part]
        return False

    def _users(self, part: Op) -> list[Operation]:
        """Ops that may be `part`: that use, directly or not, a value that a part of it was found to be."""
        parts = parts_of(part)
        todo = [self._bound[each] for each in parts if each in self._bound]
        seen: dict[Operation, None] = {}
        for _ in range(len(parts)):
            users = [use.operation for value in todo for use in value.uses]
            new = [op for op in dict.fromkeys(users) if op not in seen and op.parent is self._block]
            seen |= dict.fromkeys(new)
            todo = [result for op in new for result in op.results]
        found = [
            op for op in seen if part.fits(op.name) and op not in self._orders and is_claimable(op)
        ]
        if not found:
            self._fail(constantly(f"{part.name}, a further root, is not there"))
        return found

    def _roots(self) -> list[Operation]:
        """The ops whose results may leave the match, the first one first."""
        assert self._named is not None
        owners = [self._bound[part].owner for part in self._named.others]
        roots = (self._ops[0], *(op for op in owners if isinstance(op, Operation)))
        return list(dict.fromkeys(roots))

    def _finish(self) -> bool:
        """All parts fit: now what holds of the match as a whole."""
        roots = self._roots()
        interior = [op for op in self._ops if op not in roots]
        copied: dict[Operation, None] = {}
        while (shared := self._shared(interior, copied)) is not None:
            result, user = shared
            if not self.may_copy(result.op):
                return self._fail(shared_value(result, user), fits=True)
            copied[result.op] = None
        if len(roots) > 1 or self.must_be_convex():
            taken = {op for op in self._ops if op not in copied}
            if (way := way_around(taken, self.whole)) is not None:
                text = f"a path through {op_text(way)} leaves the match and enters it again"
                return self._fail(constantly(text), fits=True)
        for op in self._ops:
            reason = self._ask(op)
            if reason is not None:
                return self._fail(constantly(f"accepts: {op_text(op)}: {reason}"), fits=True)
        named = self._named
        assert named is not None
        root = roots[0]
        ops, inputs = self._walk(roots)
        found = Match(root, ops, inputs, dict(self._bound), tuple(op for op in ops if op in copied))
        if named.where is not None:
            reason = self._call(named.where, found, root)
            if reason is not None:
                return self._fail(constantly(f"where: {reason}"), fits=True)
        self._found = found
        return True

    def _shared(
        self, interior: Sequence[Operation], copied: Collection[Operation]
    ) -> tuple[OpResult, Operation] | None:
        """A value that is used outside of the match, where what was copied stays, and who uses it."""
        for op in interior:
            if op in copied:
                continue
            for result in op.results:
                for use in result.uses:
                    if use.operation not in self._orders or use.operation in copied:
                        return result, use.operation
        return None

    def _walk(
        self, roots: Sequence[Operation]
    ) -> tuple[tuple[Operation, ...], tuple[SSAValue, ...]]:
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

        for root in roots:
            if root not in ops:
                visit(root)
        return tuple(ops), tuple(inputs)

    # ------------------------------------------------------------------------------- reasons

    def _fail(self, words: Words, op: Operation | None = None, *, fits: bool = False) -> bool:
        """Notes what stopped the attempt, at each op that it had matched and at `op`; False.

        With `fits` all parts did, which is further than an attempt on as many ops that did not end.
        """
        named = self._named
        assert named is not None
        depth = len(self._ops) + fits
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
                self.accepts,
                self._about(self.accepts, op),
                f"backend '{self.backend}': accepts",
                op,
            )
        return self._accepted[op]

    def _call(
        self, function: Callable[..., str | None], about: object, op: Operation
    ) -> str | None:
        assert self._named is not None
        where = f"backend '{self.backend}', pattern {self._named.name}: where"
        return call_user(function, self._about(function, about), where, op)

    def _about(self, function: Callable[..., str | None], about: object) -> tuple[object, ...]:
        """What `function` is called with; looked up once, as looking takes longer than most calls."""
        wants = self._wants.get(id(function))  # which lives as long as the backend
        if wants is None:
            wants = self._wants[id(function)] = wants_request(function)
        return (about, self.request) if wants else (about,)


def call_user(
    function: Callable[..., str | None], about: tuple[object, ...], what: str, op: Operation
) -> str | None:
    """What a backend's function answers. Raises at `op` when it raises, or answers something else."""
    try:
        answer = cast("object", function(*about))
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


def _fits(value: object, expected: object) -> bool:
    """Whether a property is what a pattern expects: a value, or one of a set."""
    if isinstance(expected, frozenset):
        return value in cast("frozenset[object]", expected)
    return value == expected


def unmatched_text(op: Operation, patterns: Mapping[str, Sequence[NamedPattern]]) -> str:
    """Why no attempt was made at `op`: `patterns` are those that have an op, by its name."""
    inside = patterns.get(op.name)
    if not inside:
        inner = sum(1 for region in op.regions for each in region.walk() if each.results)
        bodies = f"; backends are not asked for the {inner} ops of its bodies" if op.regions else ""
        return f"no pattern or op list has {op.name}{bodies}"
    first = inside[0]
    return f"pattern {first.name} has {op.name} only inside, and no match of it reaches this one"
