"""Who gets which op: backends in order of priority, patterns in order, then single ops."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from inarch.core.once import cached_property
from inarch.dialects.graph.layout import layout_of
from inarch.dialects.graph.op import GraphOp
from inarch.offload.instance import Asked
from inarch.offload.pattern import Match, NamedPattern, Op, op_names, roots_of
from inarch.passes.partition.by_hand import ByHand
from inarch.passes.partition.common import (
    BACKEND,
    PATTERN,
    error_at,
    is_claimable,
    tensor_blocks,
    text_of,
)
from inarch.passes.partition.match.matcher import Matcher, unmatched_text
from inarch.passes.partition.match.names import Names, Words, op_text
from inarch.passes.partition.report import Recorder


@dataclass(frozen=True)
class Claim:
    """An op's owner; `match` is None for a single op."""

    backend: str
    pattern: str | None = None
    match: Match | None = None
    ops: tuple[Operation, ...] = ()
    """Those of the match, copies in the place of what they are copies of."""


@dataclass
class Claims:
    """The owners of ops, of those that are annotated already to begin with."""

    module: ModuleOp
    by_hand: ByHand
    names: Names
    owners: dict[Operation, Claim] = field(default_factory=dict[Operation, Claim])
    ops: list[Operation] = field(default_factory=list[Operation])
    by_name: dict[str, list[Operation]] = field(default_factory=dict[str, list[Operation]])
    """Claimable ops, the last of the program first: the order in which roots are tried."""
    position: dict[Operation, int] = field(default_factory=dict[Operation, int])
    copies: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    """The copies that matches took of cheap ops, with what they are copies of, which is still to be had."""
    has_several_roots: bool = False
    """Whether a match of several roots was taken."""
    copied: dict[Operation, dict[str, str | None]] = field(
        default_factory=dict[Operation, "dict[str, str | None]"]
    )
    """What copies were taken of, with the backends and their patterns that have them."""

    def __post_init__(self) -> None:
        for _, block in tensor_blocks(self.module):
            for op in block.ops:
                if (owner := text_of(op, BACKEND)) is not None:
                    self.owners[op] = Claim(owner, text_of(op, PATTERN))
                if is_claimable(op):
                    self.ops.append(op)
        for index, op in enumerate(self.ops):
            self.position[op] = index
        for op in reversed(self.ops):
            self.by_name.setdefault(op.name, []).append(op)

    def names_of(self, globs: Iterable[str]) -> Collection[str]:
        """The names that ops of the program have, of those that `globs` mean."""
        known = self.by_name
        return dict.fromkeys(
            name
            for glob in globs
            for name in (known if "*" in glob else (glob,))
            if name in known and fnmatchcase(name, glob)
        )

    def whole(self, op: Operation) -> Collection[Operation]:
        """The ops of the match that `op` is in; of any other itself."""
        claim = self.owners.get(op)
        return (op,) if claim is None or claim.match is None else claim.ops

    def take(self, claim: Claim, match: Match) -> None:
        """Gives the ops of a match their owner; of those that others use, too, copies."""
        made: dict[Operation, Operation] = {}
        values: dict[SSAValue, SSAValue] = {}
        for op in match.copied:
            copy = made[op] = op.clone()
            assert op.parent is not None, "it is in a function"
            op.parent.insert_op_after(copy, op)
            for old, new in zip(op.results, copy.results, strict=True):
                new.name_hint = old.name_hint
                values[old] = new
        ops = tuple(made.get(op, op) for op in match.ops)
        claim = replace(claim, ops=ops)
        for op in ops:
            for index, value in enumerate(op.operands):
                if value in values:
                    op.operands[index] = values[value]
        self.copies |= {copy: op for op, copy in made.items()}
        for op in made:
            self.copied.setdefault(op, {})[claim.backend] = claim.pattern
        self.owners |= dict.fromkeys(ops, claim)

    def refusal(self, op: Operation, backend: str) -> str | None:
        """Why `op` is not to be had by a match of `backend`, or None."""
        owner = self.owners.get(op)
        if owner is not None:
            if (by_hand := self.by_hand.refusal(op, backend)) is not None:
                return by_hand
            if owner.backend != backend:
                return f"already taken by backend {owner.backend}"
            return f"already taken by pattern {owner.pattern}" if owner.pattern else "already taken"
        if not any(result.first_use for result in op.results):
            return "nothing uses its results"
        if any(layout_of(value) is not None for value in (*op.operands, *op.results)):
            return "in a layout of the host's: offload before channels are blocked"
        return self.by_hand.refusal(op, backend)


@dataclass
class Turn:
    """One backend is asked."""

    claims: Claims
    asked: Asked
    refused: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """Ops that were not to be had to begin with."""

    def __post_init__(self) -> None:
        self.backend = self.asked.backend
        name = self.backend.name
        self.matcher = Matcher(
            name,
            self.backend.accepts,
            self._words,
            self.asked.request,
            self._may_copy,
            self.claims.whole,
            lambda: self.claims.has_several_roots,
        )
        for op in self.claims.ops:
            if (reason := self.claims.refusal(op, name)) is not None:
                self.refused[op] = reason

    def _words(self, op: Operation) -> Words | None:
        if op not in self.claims.owners and op not in self.refused:
            return None
        reason = self.claims.refusal(op, self.backend.name)
        return lambda _: f"{op_text(op)} is {reason}"

    def _may_copy(self, op: Operation) -> bool:
        """What was given by hand is taken itself."""
        is_cheap = isinstance(op, GraphOp) and op.IS_CHEAP
        return is_cheap and op not in self.claims.by_hand.given

    def run(self, wanted: set[Operation] | None = None) -> None:
        """Claims what fits; with `wanted`, only matches that have one of these ops."""
        for named in self.backend.patterns:
            roots = roots_of(named.pattern) or []
            for root in self._roots([pattern.name for pattern in roots]):
                match = self._first_match(named, roots, root)
                if match is not None and (wanted is None or not wanted.isdisjoint(match.ops)):
                    self.claims.take(Claim(self.backend.name, named.name, match), match)
                    self.claims.has_several_roots |= bool(named.others)
        singles = set(self.claims.names_of(self.backend.op_names()))
        for op in self.claims.ops:
            is_asked = op.name in singles and (wanted is None or op in wanted)
            if is_asked and op not in self.claims.owners and self.matcher.accept_single(op):
                self.claims.owners[op] = Claim(self.backend.name)

    def _roots(self, names: Iterable[str]) -> Iterator[Operation]:
        """Ops with one of the names that are not taken, later ones first."""
        lists = [self.claims.by_name[name] for name in self.claims.names_of(names)]
        ops = (
            lists[0]
            if len(lists) == 1
            else sorted(
                (op for ops in lists for op in ops), key=lambda op: -self.claims.position[op]
            )
        )
        return (op for op in ops if op not in self.claims.owners and op not in self.refused)

    def _first_match(
        self, named: NamedPattern, roots: Sequence[Op], root: Operation
    ) -> Match | None:
        for pattern in roots:
            if (
                pattern.fits(root.name)
                and (match := self.matcher.match(named, pattern, root)) is not None
            ):
                return match
        return None

    def reason(self, op: Operation) -> str:
        """Why the backend did not get `op`."""
        if op in self.refused:
            return self.refused[op]
        if (pattern := self.claims.copied.get(op, {}).get(self.backend.name)) is not None:
            return f"pattern {pattern} took a copy, as others use it, too"
        nearest = self.matcher.nearest.get(op)
        if nearest is not None:
            return nearest.text(self.claims.names)
        return unmatched_text(op, self._patterns_by_op)

    @cached_property
    def _patterns_by_op(self) -> dict[str, list[NamedPattern]]:
        found: dict[str, list[NamedPattern]] = {}
        for named in self.backend.patterns:
            for name in self.claims.names_of(op_names(named.pattern, *named.others)):
                found.setdefault(name, []).append(named)
        return found


def claim_ops(
    module: ModuleOp,
    asked: Sequence[Asked],
    by_hand: ByHand,
    given_to: Sequence[Asked],
    names: Names,
    recorder: Recorder | None,
) -> Claims:
    """Asks each backend for the ops it is given by hand, then those of `asked` for the rest.

    Raises at the first op that was given to a backend that cannot take it.
    """
    claims = Claims(module, by_hand, names)
    for backend in given_to:
        wanted = {op for op, name in by_hand.given.items() if name == backend.name}
        wanted -= set(claims.owners)
        turn = Turn(claims, backend)
        turn.run(wanted)
        for op in claims.ops:
            if op in wanted and op not in claims.owners:
                raise error_at(
                    op,
                    f"'{op.name}' is given to backend '{backend.name}', "
                    f"which cannot take it: {turn.reason(op)}",
                )
    for backend in asked:
        turn = Turn(claims, backend)
        turn.run()
        if recorder is not None:
            _record(recorder, turn)
    return claims


def _record(recorder: Recorder, turn: Turn) -> None:
    for op in turn.claims.ops:
        owner = turn.claims.owners.get(op)
        if owner is None or owner.backend != turn.backend.name:
            recorder.refuse(op, turn.backend.name, turn.reason(op))
