"""A backend decides of its regions; what it decides is looked at, and carried out, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.ir import Operation

from inarch.core.blame import raised
from inarch.core.errors import InarchError
from inarch.ir.location import location_text
from inarch.offload.backend import BACKENDS
from inarch.offload.instance import Asked, wants_request
from inarch.offload.region import Decision, Merge, Region, Shrink, Split, Veto
from inarch.passes.partition.common import GIVE
from inarch.passes.partition.decide.draft import Draft, sorted_ops
from inarch.passes.partition.decide.release import count_of
from inarch.passes.partition.match.names import op_text

SHOWN_PLACES = 3


@dataclass(frozen=True)
class Decided:
    """What became of a region, for reports."""

    owner: str
    """The instance that had it."""
    what: str
    """`veto`, `shrink`, `split`, `merge`: the backend's decisions; `cost`, `min_ops`, `max_regions`; `kept`:
    one that was not carried out, for what was given by hand."""
    ops: int
    """How many it was about, of matches one by one."""
    places: tuple[str, ...]
    """Where some of them are from."""
    reason: str


@dataclass
class Outcome:
    """What was decided, and what goes back."""

    decided: list[Decided] = field(default_factory=list[Decided])
    released: dict[Operation, tuple[str, str]] = field(
        default_factory=dict[Operation, tuple[str, str]]
    )
    """Op -> who had it, and why no more."""
    only: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """Of those: who alone is asked for it next."""
    why: dict[Region, str] = field(default_factory=dict[Region, str])
    """Why a region is as it is, where that was decided."""

    def note(self, region: Region, what: str, reason: str, ops: Sequence[Operation] = ()) -> None:
        """Says what became of `ops`, or of all that are in the region."""
        ops = ops or region.ops
        places = [text for op in ops if (text := location_text(op)) is not None]
        self.decided.append(
            Decided(region.owner, what, count_of(ops), tuple(places[:SHOWN_PLACES]), reason)
        )

    def release(self, owner: str, ops: Sequence[Operation], reason: str) -> None:
        """The ops go back."""
        self.released.update(dict.fromkeys(ops, (owner, reason)))


def ask_to_decide(draft: Draft, asked: Asked, outcome: Outcome) -> None:
    """Lets the backend decide of its regions in `draft`. Raises InarchError, located, for what is illegal."""
    decide = asked.backend.decide
    regions = draft.of(asked.name)
    if decide is None or not regions:
        return
    whole = cast("Callable[..., Any]", decide)
    arguments = (tuple(regions), asked.request) if wants_request(decide) else (tuple(regions),)
    for decision in _decisions(asked, regions[0], lambda: whole(*arguments)):
        _Step(draft, asked, outcome, regions[0]).carry_out(decision)


def _decisions(asked: Asked, first: Region, ask: Callable[[], object]) -> Iterator[object]:
    """What the backend's code gives, each before it goes on: it is somebody's, who wants the place."""
    origin = BACKENDS.origin(asked.instance.backend.name)
    label = f"backend '{asked.name}' [{origin.source}]: decide"
    where = location_text(first.ops[0])
    try:
        found = ask()
        each = iter(cast("Any", found if found is not None else ()))
    except InarchError:
        raise
    except Exception as error:
        raise InarchError(f"{label} {raised(error, origin)}", where=where) from error
    while True:
        try:
            decision = next(each)
        except StopIteration:
            return
        except InarchError:
            raise
        except Exception as error:
            raise InarchError(f"{label} {raised(error, origin)}", where=where) from error
        yield decision


@dataclass
class _Step:
    """One decision."""

    draft: Draft
    asked: Asked
    outcome: Outcome
    first: Region

    def carry_out(self, decision: object) -> None:
        match decision:
            case Veto():
                self._veto(decision)
            case Shrink():
                self._shrink(decision)
            case Split():
                self._split(decision)
            case Merge():
                self._merge(decision)
            case _:
                found = type(decision).__name__
                raise self._error("expected Veto, Shrink, Split or Merge", f"found {found}")

    def _veto(self, decision: Veto) -> None:
        region = self._checked(decision, decision.region)
        if region.is_given:
            self._overrule("vetoed", decision, region, region.ops)
            return
        self.draft.replace([region], [])
        self._done(decision, region, region.ops)
        self.outcome.release(region.owner, region.ops, f"vetoed: {decision.reason}")

    def _shrink(self, decision: Shrink) -> None:
        region = self._checked(decision, decision.region)
        kept = self._ops_of(decision, region, [decision.ops], "ops")[0]
        left = [op for op in region.ops if op not in set(kept)]
        if not left:
            raise self._error(
                "Shrink: expected some of the region's ops", "found all of them", region
            )
        if any(GIVE in op.attributes for op in left):
            self._overrule("shrunk", decision, region, left)
            return
        self._put(decision, [region], [kept])
        self._done(decision, region, left)
        self.outcome.release(region.owner, left, f"shrunk: {decision.reason}")

    def _split(self, decision: Split) -> None:
        region = self._checked(decision, decision.region)
        parts = self._ops_of(decision, region, decision.parts, "parts")
        missing = set(region.ops) - {op for part in parts for op in part}
        if missing:
            op = next(op for op in region.ops if op in missing)
            raise self._error(
                "Split: expected parts that have all ops of the region",
                f"found none with {op_text(op)}; to drop it, write Shrink",
                region,
            )
        self._put(decision, [region], parts)
        self._done(decision, region, region.ops)

    def _merge(self, decision: Merge) -> None:
        regions = list(dict.fromkeys(decision.regions))
        if len(regions) < 2:
            raise self._error("Merge: expected two regions or more", f"found {len(regions)}")
        for region in regions:
            self._checked(decision, region)
        blocks = {region.ops[0].parent_block() for region in regions}
        block = blocks.pop()
        if blocks or block is None:
            raise self._error(
                "Merge: expected regions of one function", "found some of two", regions[0]
            )
        every = sorted_ops(block, [op for region in regions for op in region.ops])
        self._put(decision, regions, [every])
        self._done(decision, regions[0], every)

    def _put(
        self,
        decision: Shrink | Split | Merge,
        old: Sequence[Region],
        new: Sequence[Sequence[Operation]],
    ) -> None:
        """Replaces the regions. Raises where a new one is not convex."""
        made = [self.draft.region(self.asked.name, ops) for ops in new]
        self.draft.replace(old, made)
        word = {Shrink: "shrunk", Split: "split", Merge: "merged"}[type(decision)]
        self.outcome.why.update(dict.fromkeys(made, f"{word}: {decision.reason}"))
        for number, region in enumerate(made):
            if (op := self.draft.between(region)) is not None:
                which = f"part {number}" if len(made) > 1 else "a region"
                raise self._error(
                    f"{type(decision).__name__}: expected what no path leaves and enters again",
                    f"found {which} that {op_text(op)} needs and is needed by",
                    region,
                )

    def _checked(self, decision: Decision, region: Region) -> Region:
        name = type(decision).__name__
        reason: object = decision.reason
        if not isinstance(reason, str) or not reason.strip() or not reason.isprintable():  # pyright: ignore[reportUnnecessaryIsInstance] - a plugin's
            raise self._error(f"{name}: expected a reason in one line", f"found {reason!r}")
        if not isinstance(region, Region):  # pyright: ignore[reportUnnecessaryIsInstance] - a plugin's
            raise self._error(f"{name}: expected a Region", f"found {type(region).__name__}")
        if region.owner != self.asked.name:
            raise self._error(
                f"{name}: expected regions of backend '{self.asked.name}'",
                f"found one of backend '{region.owner}'",
                region,
            )
        if region not in self.draft.regions:
            raise self._error(
                f"{name}: expected a region of this call of decide that no decision has replaced",
                "found another one",
                region,
            )
        return region

    def _ops_of(
        self,
        decision: Decision,
        region: Region,
        groups: Sequence[Sequence[Operation]],
        what: str,
    ) -> list[list[Operation]]:
        """The ops of each group in program order: each one of the region's, in one group."""
        name, own, found = type(decision).__name__, set(region.ops), list(map(list, groups))
        seen: set[Operation] = set()
        for ops in found:
            if not ops:
                raise self._error(f"{name}: expected ops in {what}", "found none", region)
            for op in ops:
                if op not in own:
                    text = op_text(op) if isinstance(op, Operation) else type(op).__name__  # pyright: ignore[reportUnnecessaryIsInstance] - a plugin's
                    raise self._error(
                        f"{name}: expected ops of the region", f"found {text}", region
                    )
                if op in seen:
                    raise self._error(
                        f"{name}: expected each op once", f"found {op_text(op)} again", region
                    )
                seen.add(op)
        order = {op: index for index, op in enumerate(region.ops)}
        return [sorted(ops, key=order.__getitem__) for ops in found]

    def _done(self, decision: Decision, region: Region, ops: Sequence[Operation]) -> None:
        self.outcome.note(region, type(decision).__name__.lower(), decision.reason, ops)

    def _overrule(
        self, word: str, decision: Decision, region: Region, ops: Sequence[Operation]
    ) -> None:
        """What was given by hand stays."""
        given = next(op for op in ops if GIVE in op.attributes)
        reason = f"not {word}, {op_text(given)} is given by hand: {decision.reason}"
        self.outcome.note(region, "kept", reason)
        self.outcome.why[region] = reason

    def _error(self, expected: str, found: str, region: Region | None = None) -> InarchError:
        origin = BACKENDS.origin(self.asked.instance.backend.name)
        region = region if region is not None else self.first
        return InarchError(
            f"backend '{self.asked.name}' [{origin.source}]: decide: {expected}, {found}",
            where=location_text(region.ops[0]),
        )
