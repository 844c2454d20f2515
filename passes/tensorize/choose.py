"""Which kernel does a nest, and what nests take so: asked by `tensorize`, and by passes before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.core.errors import UsageError, unknown
from inarch.dialects.loop.nest import NestOp
from inarch.ir.report.facts import facts_of
from inarch.ir.target import (
    DEMANDED,
    MACHINE,
    PRECISION,
    TARGET,
    WITHOUT,
    demanded_kernels,
    excluded_kernels,
    machine_of,
    precision_of,
    target_of,
)
from inarch.machine.machine_file import machine_text
from inarch.microkernel.demanded import demanded_of
from inarch.microkernel.identity import identity_of
from inarch.microkernel.table import MICROKERNELS, TEMPLATES
from inarch.passes.tensorize.decide import Deciding, Meter, Usable, choice_of
from inarch.passes.tensorize.families import families_of
from inarch.passes.tensorize.keep.memo import Decision, key_of_nest, nest_text
from inarch.passes.tensorize.keep.record import Store, checked_candidate_of, decision_of, text_of
from inarch.passes.tensorize.unify.strided import StridedNest, strided_nest
from inarch.passes.tensorize.unsuitable import unsuitable
from inarch.passes.tensorize.weigh.candidates import Candidate
from inarch.passes.tensorize.weigh.family import FLUSHES, Family
from inarch.passes.tensorize.weigh.made import Maker
from inarch.passes.tensorize.weigh.nest import multiply_adds_in, nest_cycles
from inarch.passes.tuned import Tuned, TunedWay, address_of


@dataclass(frozen=True)
class KernelTrial:
    """A fact: how it is found out whether an instance can be used, and what was found."""

    why_not: Usable
    reasons: Mapping[str, str]
    """Kernel -> the first reason."""
    kept: Store | None = None
    """Decisions of other compilations, where no kernel of others has a part in them."""
    measure: Meter | None = None
    """What calls take of kernels that do not say; None: they are estimated by their meaning."""


@dataclass
class Chooser:
    """Who decides which kernel does a nest: for nests that are alike once."""

    families: Sequence[Family]
    maker: Maker
    demanded: Sequence[str]
    usable: Usable | None
    kept: Store | None
    measure: Meter | None
    context: str
    """What decisions depend on beside the nest and the code of kernels and of Inarch."""
    names: Sequence[str]
    """The kernels that were asked for."""
    unusable: Mapping[str, str]
    """Kernel -> why it is none."""
    guests: frozenset[str] = frozenset()
    """The kernels that are demanded, and those of others that may be taken."""
    tuned: Tuned | None = None
    """Decisions that somebody has measured."""
    _known: dict[str, Decision] = field(default_factory=dict[str, Decision])

    def decide(self, nest: StridedNest) -> tuple[Decision, Candidate | None]:
        """What was found for the nest, or for one like it, and the candidate taken for this one."""
        key = key_of_nest(nest)
        known = self._known.get(key)
        if known is not None:
            taken = known.of(nest)
            if taken is not None or known.taken is None:
                return known, taken
        decision = self._restored(key, nest) or self._searched(key, nest)
        self._known[key] = decision = self._with_records(nest, decision)
        return decision, decision.taken

    def _with_records(self, nest: StridedNest, decision: Decision) -> Decision:
        """The way that somebody has measured, where there is one that can be had as it was."""
        if self.tuned is None:
            return decision
        address = address_of(nest_text(nest), self.maker.target)
        tuned = self.tuned.ways.get(address)
        if tuned is None:
            return decision
        for one in tuned.chain:
            taken = self._recorded(one, nest)
            if isinstance(taken, str):
                self.tuned.refused.setdefault(address, taken)
                continue
            own = choice_of(taken)
            others = [choice for choice in decision.choices if choice != own]
            return replace(decision, taken=taken, choices=(own, *others), is_tuned=True)
        return decision

    def _recorded(self, tuned: TunedWay, nest: StridedNest) -> Candidate | str:
        """The candidate of a way that was measured, or why it is not taken."""
        if self.demanded and tuned.kernel not in self.demanded:
            return f"microkernel '{self.demanded[0]}' is demanded"
        taken = checked_candidate_of(tuned.way, nest, self._family(tuned.kernel, nest))
        if taken is None:
            return f"microkernel '{tuned.kernel}' has no such way"
        instance = taken.family.instance(taken.params)
        if identity_of(instance) != tuned.identity:
            return f"microkernel '{tuned.kernel}' has changed since"
        return (self.usable(instance) if self.usable is not None else None) or taken

    def _restored(self, key: str, nest: StridedNest) -> Decision | None:
        record = self.kept.get(f"{self.context} {key}") if self.kept is not None else None
        if record is None:
            return None
        decision = decision_of(record, nest, lambda name: self._family(name, nest))
        if decision is None or decision.taken is None or self.usable is None:
            return decision
        taken = decision.taken
        is_guest = taken.family.pattern.name in self.guests
        if is_guest and self.usable(taken.family.instance(taken.params)) is not None:
            return None  # it cannot be built any more, or is wrong: who is next is searched for
        return decision

    def _family(self, name: str, nest: StridedNest) -> Family | None:
        of_table = next((one for one in self.families if one.pattern.name == name), None)
        if of_table is not None:
            return of_table
        return next((one for one in self.maker.families(nest) if one.pattern.name == name), None)

    def _searched(self, key: str, nest: StridedNest) -> Decision:
        deciding = Deciding(nest, self.maker, self.demanded, self.usable, self.measure)
        decision = deciding.decide(self.families)
        if self.kept is not None and self.guests.isdisjoint(self.maker.refused):
            self.kept.put(f"{self.context} {key}", text_of(decision))
        return decision


def chooser_of(
    module: ModuleOp,
    kernels: Sequence[str] | None = None,
    usable: Usable | None = None,
    kept: Store | None = None,
    measure: Meter | None = None,
    tuned: Tuned | None = None,
) -> Chooser:
    """For the module's target and machine; `kernels` are the only ones besides those demanded (None: all)."""
    wanted = [demanded_of(text) for text in demanded_kernels(module)]
    demanded = [one.name for one in wanted]
    left_out = _left_out(module, demanded)
    every = [*MICROKERNELS, *TEMPLATES] if kernels is None else kernels
    asked = [name for name in every if name not in left_out]
    named = dict.fromkeys([*demanded, *asked])
    names = [name for name in named if name in MICROKERNELS or name not in TEMPLATES]
    templates = dict(TEMPLATES.working("compiled without it"))
    target, machine = target_of(module), machine_of(module)
    own = {name: one for name, one in templates.items() if name in asked}
    families, unusable = families_of(names, wanted, target, machine)
    precision = precision_of(module)
    if precision == "f32":
        families = _keeping_denormals(families, demanded)
    wishes = [str(one) for one in wanted]
    context = repr((names, sorted(own), wishes, str(target), machine_text(machine), precision))
    maker = Maker(own, target, machine)
    others = {name for name, _ in MICROKERNELS.foreign()}
    guests = frozenset(one.pattern.name for one in families if one.members) & {*demanded, *others}
    return Chooser(
        families, maker, demanded, usable, kept, measure, context, names, unusable, guests, tuned
    )


def _keeping_denormals(families: Sequence[Family], demanded: Sequence[str]) -> list[Family]:
    """Those to which denormals are 0 have no members. Raises UsageError where one is demanded."""
    for one in families:
        if one.pattern.kernel.flushes and one.pattern.name in demanded:
            raise UsageError(f"microkernel '{one.pattern.name}': {FLUSHES}")
    return [one.having([], "none") if one.pattern.kernel.flushes else one for one in families]


def _left_out(module: ModuleOp, demanded: Sequence[str]) -> list[str]:
    """The kernels that nothing may use. Raises UsageError for one that is unknown, or demanded too."""
    found = excluded_kernels(module)
    for name in found:
        if name not in MICROKERNELS and name not in TEMPLATES:
            raise unknown("microkernel", name, [*MICROKERNELS, *TEMPLATES], within=WITHOUT)
        if name in demanded:
            raise UsageError(
                f"microkernel '{name}' is demanded and excluded; take one of them back"
            )
    return found


@dataclass(frozen=True, order=True)
class Price:
    """What nests take: of two, the lesser is better."""

    undone: float
    """The part of the multiply-adds that no kernel does that is demanded, where one is."""
    guessed: int
    """Calls of demanded kernels of which nothing is known but the meaning: few large ones are better."""
    cycles: float


@dataclass(frozen=True)
class Prices:
    """What nests take, with the kernels that `tensorize` will give them: what passes before it ask."""

    chooser: Chooser
    asked: object
    """What they depend on of a program, and of what is loaded."""

    @staticmethod
    def of(context: Context, module: ModuleOp) -> Prices:
        """For the module's target and machine; decisions of other compilations are not searched for again."""
        facts = facts_of(context)
        said = [
            module.attributes.get(name) for name in (TARGET, MACHINE, DEMANDED, WITHOUT, PRECISION)
        ]
        asked, known = (*said, *MICROKERNELS, *TEMPLATES), facts.get(Prices)
        if known is not None and known.asked == asked:
            return known
        trial = facts.get(KernelTrial)
        kept, measure = (trial.kept, trial.measure) if trial is not None else (None, None)
        chooser = chooser_of(module, kept=kept, measure=measure, tuned=facts.get(Tuned))
        facts.put(found := Prices(chooser, asked))
        return found

    @property
    def stored_again(self) -> float:
        """Multiply-adds of a nest that take as long as loading and storing its output once more."""
        width, machine = self.chooser.maker.target.vector_bytes, self.chooser.maker.machine
        return (machine.loads.cycles(width) + machine.stores.cycles(width)) * machine.fma.of(width)

    def cycles(self, nests: Iterable[NestOp]) -> float:
        """Of one iteration of each, in cycles of one core; they need not be part of a program."""
        return sum(map(self._cycles, nests))

    def price(self, nests: Iterable[NestOp]) -> Price:
        """Of one execution of each, in the order that `tensorize` prefers: what is demanded comes first."""
        every = list(nests)
        whole, undone, guessed = 0, 0, 0
        works = [multiply_adds_in(nest) for nest in every]
        if not any(works):  # of integers, or no products: each nest counts
            works = [1] * len(every)
        for nest, work in zip(every, works, strict=True) if self.chooser.demanded else ():
            taken = self._taken(nest)
            whole += work
            if taken is None or taken.family.pattern.name not in self.chooser.demanded:
                undone += work
            elif taken.basis == "estimated":
                guessed += sum(call.piece.calls for call in taken.calls)
        return Price(undone / max(1, whole), guessed, self.cycles(every))

    def is_by_guests(self, nests: Iterable[NestOp]) -> bool:
        """Whether kernels that are demanded, or of others, do some of it."""
        found = [taken for nest in nests if (taken := self._taken(nest)) is not None]
        return any(one.family.pattern.name in self.chooser.guests for one in found)

    def is_by_kernel(self, nest: NestOp) -> bool:
        """Whether a kernel does it."""
        return self._taken(nest) is not None

    def _taken(self, nest: NestOp) -> Candidate | None:
        return self.chooser.decide(strided_nest(nest))[1] if unsuitable(nest) is None else None

    def _cycles(self, nest: NestOp) -> float:
        taken = self._taken(nest)
        if taken is not None:
            return taken.cost
        return nest_cycles(nest, self.chooser.maker.target, self.chooser.maker.machine)
