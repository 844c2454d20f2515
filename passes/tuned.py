"""Decisions that somebody has measured: passes take them in the place of their own (`inarch tune`).

`tensorize` takes ways to do nests. Any other pass that chooses by cost asks for each choice that it makes:

    if choose(ctx, op, self.name, group.nests, "blocks", ["whole"]) == "blocks": ...
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from inarch.core.cache import key_of
from inarch.core.errors import InarchWarning
from inarch.ir.location import location_text
from inarch.ir.report.facts import facts_of
from inarch.ir.report.remarks import remarks_of
from inarch.ir.report.structure import structure_of, structure_text
from inarch.ir.target import target_of
from inarch.machine.target import Target


@dataclass(frozen=True)
class TunedWay:
    """A way to do a nest, as text has it, and whose code was measured; or what a pass chose."""

    way: Mapping[str, Any]
    """What `inarch.passes.tensorize.keep.record.way_of` makes of a candidate; of a pass, its `choice`."""
    identity: str = ""
    """Of the kernel's code (`inarch.microkernel.identity`), or of what a pass chose (`choose`)."""
    then: TunedWay | None = None
    """The next best, where this one cannot be had."""

    @property
    def kernel(self) -> str:
        """The kernel's name, or the pass's."""
        return self.way["kernel"]

    @property
    def choice(self) -> str | None:
        """What a pass chose; None for the way of a nest."""
        return self.way.get("choice")

    @property
    def chain(self) -> Iterator[TunedWay]:
        """This one, and those that come after it."""
        way: TunedWay | None = self
        while way is not None:
            yield way
            way = way.then


@dataclass(frozen=True)
class Point:
    """A choice that a pass makes at one place of a program."""

    by: str
    """The pass."""
    address: str
    usual: str
    """What the pass would choose by itself."""
    others: tuple[str, ...]
    places: tuple[str, ...]
    """The ops of the model whose time depends on it, as far as they are known."""
    taken: str
    identities: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the code of choices that have any."""

    def way(self, choice: str) -> TunedWay:
        """The record of a choice."""
        identity = self.identities.get(choice, "")
        return TunedWay({"kernel": self.by, "choice": choice}, identity)


@dataclass(frozen=True)
class Tuned:
    """A fact: the ways of nests and the choices of passes, by address, and what came of them."""

    ways: Mapping[str, TunedWay]
    source: str = ""
    """Where they come from, for people."""
    refused: dict[str, str] = field(default_factory=dict[str, str])
    """Address -> why the way of a nest of this program was not taken."""
    points: dict[str, Point] = field(default_factory=dict[str, Point])
    """Address -> a choice that was asked for, in the order of the passes."""

    @property
    def choices(self) -> list[Point]:
        """Those that records decide."""
        return [one for one in self.points.values() if one.address in self.ways]


def warn_of_refused(ctx: Context) -> None:
    """Of records that are there for a program, and could not be used, when all passes have run."""
    tuned = facts_of(ctx).get(Tuned)
    refused = tuned.refused if tuned is not None else {}
    for reason, count in Counter(refused.values()).items():
        text = (
            f"{count} of its records {'is' if count == 1 else 'are'} not used: {reason}; tune again"
        )
        assert tuned is not None, "something was refused"
        warnings.warn(InarchWarning(text, where=tuned.source), stacklevel=2)


def is_tuned(ctx: Context) -> bool:
    """Whether there are records, or somebody makes them: then more is worth a question."""
    return facts_of(ctx).get(Tuned) is not None


def choose(
    ctx: Context,
    module: ModuleOp,
    by: str,
    ops: Sequence[Operation],
    usual: str,
    others: Sequence[str],
    near: Sequence[Operation] = (),
    identity: Callable[[str], str] = lambda _: "",
) -> str:
    """What a pass is to do with `ops`: `usual`, or what was measured to be faster, one of `others`.

    `ops` are all that the choice is about, in order: where the same ops come again the answer is the same.
    Others whose time it may change are `near`. `identity` of a choice changes where its code does: a record
    of another state of it is not taken. Costs nothing where nothing was measured.
    """
    tuned = facts_of(ctx).get(Tuned)
    if tuned is None or not ops:
        return usual
    operands = dict.fromkeys(value for op in ops for value in op.operands)
    address = _address(by, ops, list(operands), target_of(module))
    way = tuned.ways.get(address)
    identities = {one: code for one in (usual, *others) if (code := identity(one))}
    taken = usual
    for one in way.chain if way is not None else ():
        said = str(one.choice)
        if said not in (usual, *others):
            why = f"pass '{by}' has no choice '{said}' there"
        elif one.identity != identities.get(said, ""):
            why = f"choice '{said}' of pass '{by}' has changed since"
        else:
            taken = said
            break
        tuned.refused.setdefault(address, why)
    if taken != usual:
        remarks_of(ctx).done(ops[0], f"{taken}, as records say; without them {usual}")
    places = dict.fromkeys(text for op in (*ops, *near) if (text := location_text(op)) is not None)
    before = tuned.points.get(address)
    if before is not None:
        places = dict.fromkeys((*before.places, *places))
    tuned.points[address] = Point(
        by, address, usual, tuple(others), tuple(places), taken, identities
    )
    return taken


def _address(
    by: str, ops: Sequence[Operation], operands: Sequence[SSAValue], target: Target
) -> str:
    structure = structure_of(ops[-1], operands, ops[:-1])
    return key_of("choice", by, structure_text(structure), str(target))[:32]


def address_of(nest: str, target: Target) -> str:
    """The name of a nest for a target, the same on every machine; `nest` is its `nest_text`."""
    return key_of("nest", nest, str(target))[:32]
