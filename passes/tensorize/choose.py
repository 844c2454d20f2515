"""Which kernel does a nest, and what nests take so: asked by `tensorize`, and by passes before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.core.errors import InarchError
from inarch.dialects.loop.nest import NestOp
from inarch.ir.report.facts import facts_of
from inarch.ir.target import demanded_kernels, machine_of, target_of
from inarch.microkernel import Instance, is_foreign
from inarch.microkernel.table import MICROKERNELS, TEMPLATES
from inarch.passes.tensorize.families import families_of
from inarch.passes.tensorize.keep.memo import Decision, key_of_nest
from inarch.passes.tensorize.keep.record import Store, decision_of, text_of
from inarch.passes.tensorize.report import Choice
from inarch.passes.tensorize.unify.match import Miss
from inarch.passes.tensorize.unify.strided import StridedNest, strided_nest
from inarch.passes.tensorize.unsuitable import unsuitable
from inarch.passes.tensorize.weigh.candidates import Candidate, kernel_cycles, streams_of
from inarch.passes.tensorize.weigh.family import Family
from inarch.passes.tensorize.weigh.made import Maker
from inarch.passes.tensorize.weigh.nest import nest_cycles
from inarch.passes.tensorize.weigh.plain import plain_cycles
from inarch.passes.tensorize.weigh.search import candidates
from inarch.passes.tensorize.weigh.traffic import brought

Usable = Callable[[Instance], str | None]
"""An instance -> None, or why it cannot be built."""


@dataclass(frozen=True)
class KernelTrial:
    """A fact: how it is found out whether an instance can be used, and what was found."""

    why_not: Usable
    reasons: Mapping[str, str]
    """Kernel -> the first reason."""
    kept: Store | None = None
    """Decisions of other compilations, where no kernel of others has a part in them."""


OUTSIDE = "the nest is inside a loop or a branch, functions of libraries are called outside of them"


@dataclass
class Chooser:
    """Who decides which kernel does a nest: for nests that are alike once."""

    families: Sequence[Family]
    maker: Maker
    demanded: Sequence[str]
    usable: Usable | None
    kept: Store | None
    context: str
    """What decisions depend on beside the nest and the code of kernels and of Inarch."""
    names: Sequence[str]
    """The kernels that were asked for."""
    unusable: Mapping[str, str]
    """Kernel -> why it is none."""
    _known: dict[object, Decision] = field(default_factory=dict[object, Decision])

    def decide(self, nest: StridedNest) -> tuple[Decision, Candidate | None]:
        """What was found for the nest, or for one like it, and the candidate taken for this one."""
        key = key_of_nest(nest)
        known = self._known.get(key)
        if known is not None:
            taken = known.of(nest)
            if taken is not None or known.taken is None:
                return known, taken
        self._known[key] = decision = self._restored(key, nest) or self._searched(key, nest)
        return decision, decision.taken

    def _restored(self, key: object, nest: StridedNest) -> Decision | None:
        record = self.kept.get(f"{self.context} {key}") if self.kept is not None else None
        if record is None:
            return None
        return decision_of(record, nest, lambda name: self._family(name, nest))

    def _family(self, name: str, nest: StridedNest) -> Family | None:
        of_table = next((one for one in self.families if one.pattern.name == name), None)
        if of_table is not None:
            return of_table
        return next((one for one in self.maker.families(nest) if one.pattern.name == name), None)

    def _searched(self, key: object, nest: StridedNest) -> Decision:
        decision = _decide(nest, self.families, self.maker, self.demanded, self.usable)
        if self.kept is not None:
            self.kept.put(f"{self.context} {key}", text_of(decision))
        return decision


def chooser_of(
    module: ModuleOp,
    kernels: Sequence[str] | None = None,
    usable: Usable | None = None,
    kept: Store | None = None,
) -> Chooser:
    """For the module's target and machine; `kernels` are the only ones besides those demanded (None: all)."""
    demanded = demanded_kernels(module)
    asked = [*MICROKERNELS, *TEMPLATES] if kernels is None else kernels
    named = dict.fromkeys([*demanded, *asked])
    names = [name for name in named if name in MICROKERNELS or name not in TEMPLATES]
    templates = dict(TEMPLATES.working("compiled without it"))
    target, machine = target_of(module), machine_of(module)
    own = {name: one for name, one in templates.items() if name in asked}
    families, unusable = families_of(names, demanded, target, machine)
    context = repr((names, sorted(own), demanded, str(target), machine))
    maker = Maker(own, target, machine)
    return Chooser(families, maker, demanded, usable, kept, context, names, unusable)


@dataclass(frozen=True)
class Prices:
    """What nests take, with the kernels that `tensorize` will give them: what passes before it ask."""

    chooser: Chooser

    @staticmethod
    def of(context: Context, module: ModuleOp) -> Prices:
        """For the module's target and machine; decisions of other compilations are not searched for again."""
        facts = facts_of(context)
        trial, known = facts.get(KernelTrial), facts.get(Prices)
        asked = chooser_of(module, kept=trial.kept if trial is not None else None)
        if known is not None and known.chooser.context == asked.context:
            return known
        facts.put(found := Prices(asked))
        return found

    @property
    def stored_again(self) -> float:
        """Multiply-adds of a nest that take as long as loading and storing its output once more."""
        width, machine = self.chooser.maker.target.vector_bytes, self.chooser.maker.machine
        return (machine.loads.cycles(width) + machine.stores.cycles(width)) * machine.fma.of(width)

    def cycles(self, nests: Iterable[NestOp]) -> float:
        """Of one turn of each, in cycles of one core; they need not be part of a program."""
        return sum(map(self._cycles, nests))

    def _cycles(self, nest: NestOp) -> float:
        if unsuitable(nest) is None:
            _, taken = self.chooser.decide(strided_nest(nest))
            if taken is not None:
                return taken.cost
        return nest_cycles(nest, self.chooser.maker.target, self.chooser.maker.machine)


def _decide(
    nest: StridedNest,
    families: Sequence[Family],
    maker: Maker,
    demanded: Sequence[str],
    usable: Usable | None,
) -> Decision:
    """The candidates of every family, weighed; where there are none, those of kernels made for the nest."""
    results: dict[str, list[Candidate] | Miss] = {}
    known = math.inf
    # Those that may be cheapest come first: what is far from them need not be looked into.
    for family in sorted(families, key=lambda one: one.best_cycles_a_point if one.members else 0):
        name, has_cost = family.pattern.name, family.pattern.kernel.cost is not None
        result: list[Candidate] | Miss = Miss(OUTSIDE, 0)
        if not (nest.is_in_loop and is_foreign(family.pattern.kernel)):
            most = known if has_cost and name not in demanded else math.inf
            result = candidates(nest, family, most)
        results[name] = result
        if has_cost and not isinstance(result, Miss):
            known = min(known, result[0].cost)
    misses: dict[str, Miss] = {}
    found: list[Candidate] = []
    for family in families:
        result = results[family.pattern.name]
        if isinstance(result, Miss):
            misses[family.pattern.name] = result
        else:
            found += result
    found = [one for one in found if not _is_dear(one, demanded, misses)]
    if not found:
        found = [one for one in maker.candidates(nest) if not _is_dear(one, demanded, misses)]
    found.sort(key=lambda one: preference(one, demanded))
    reason = None
    if found and usable is not None:
        reason = usable(found[0].family.instance(found[0].params))
    if reason is None:
        return Decision(found[0] if found else None, tuple(choice_of(one) for one in found), misses)
    name = found[0].family.pattern.name
    if name in demanded:
        raise InarchError(reason)
    others = [family for family in families if family.pattern.name != name]
    maker.refused.add(name)
    decision = _decide(nest, others, maker, demanded, usable)
    return replace(decision, misses={**decision.misses, name: Miss(reason, 5)})


def _is_dear(candidate: Candidate, demanded: Sequence[str], misses: dict[str, Miss]) -> bool:
    """Whether the nest is better off without a kernel, however badly it is compiled; noted in `misses`."""
    name, family, nest = candidate.family.pattern.name, candidate.family, candidate.matched.nest
    sizes = [axis.size for axis in nest.axes]
    most = plain_cycles(nest, family.target)
    most += brought(streams_of(candidate.matched), sizes, family.costs)
    if family.pattern.kernel.cost is None or name in demanded or candidate.cost <= most:
        return False
    reason = f"it would take {candidate.cost:.0f} cycles, the nest as it is at most {most:.0f}"
    misses.setdefault(name, Miss(reason, 5))
    return True


def preference(candidate: Candidate, demanded: Sequence[str]) -> tuple[int, int, float, int, int]:
    """Demanded kernels first, then those of unknown cost, then by cost."""
    name = candidate.family.pattern.name
    rank = demanded.index(name) if name in demanded else len(demanded)
    return (
        rank,
        candidate.family.pattern.kernel.cost is not None,
        candidate.cost,
        candidate.scattered,
        candidate.idle,
    )


def choice_of(candidate: Candidate) -> Choice:
    """What the report says of a candidate."""
    pattern, nest = candidate.matched.pattern, candidate.matched.nest
    own = sum(
        kernel_cycles(candidate.family, call.piece, candidate.init) for call in candidate.calls
    )
    copies = {
        f"{name}: {operand.reason}": None
        for call in candidate.calls
        for name, operand in call.plan.operands.items()
        if operand.reason is not None
    }
    packed = {
        name: None
        for call in candidate.calls
        for name, operand in call.plan.operands.items()
        if name != pattern.output and operand.access.is_constant
    }
    taken = [
        f"{', '.join(names)} <- {axis.name}"
        for axis, names in zip(nest.axes, candidate.matched.assignment.taken, strict=True)
        if names
    ]
    return Choice(
        pattern.name,
        dict(candidate.params),
        None if pattern.kernel.cost is None else candidate.cost,
        max(0.0, candidate.cost - own),
        sum(math.prod(cut.count for cut in call.piece.cuts) for call in candidate.calls),
        tuple(copies),
        "; ".join(taken),
        candidate.scattered,
        candidate.idle,
        tuple(packed),
    )
