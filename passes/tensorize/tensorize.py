"""Nests become calls of microkernels that compute the same.

For each nest of a public function and each kernel of the table, the nest is unified with the kernel's
meaning (`unify/match.py`: bodies, then iterators), cut into calls (`weigh/tiles.py`), its operands solved for
(`weigh/operands.py`), and the candidates weighed (`weigh/candidates.py`, `weigh/cost.py`). The best one
is written (`write/build.py`): `kernel.def`s, `kernel.pack`s, `kernel.call`s. Nothing is silent: `report.py`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from inarch.core.errors import InarchError, InarchWarning
from inarch.dialects.loop.nest import NestOp
from inarch.ir.functions import entry_blocks
from inarch.ir.location import location_text
from inarch.ir.report.facts import facts_of
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.ir.target import demanded_kernels, machine_of, target_of
from inarch.microkernel import Instance, is_foreign
from inarch.microkernel.table import MICROKERNELS, TEMPLATES
from inarch.passes.tensorize.by_hand import calls_of, is_by_hand, note, told
from inarch.passes.tensorize.families import families_of
from inarch.passes.tensorize.keep.memo import Decision, key_of_nest
from inarch.passes.tensorize.keep.record import Store, decision_of, text_of
from inarch.passes.tensorize.report import Choice, KernelReport, NestReport
from inarch.passes.tensorize.unify.body import expression_of, tree_text
from inarch.passes.tensorize.unify.match import Miss, axes_text, names_of
from inarch.passes.tensorize.unify.strided import StridedNest, strided_nest
from inarch.passes.tensorize.unsuitable import left_alone, unsuitable
from inarch.passes.tensorize.weigh.candidates import Candidate, kernel_cycles, streams_of
from inarch.passes.tensorize.weigh.family import Family
from inarch.passes.tensorize.weigh.made import Maker
from inarch.passes.tensorize.weigh.nest import multiply_adds_in, nest_cycles, turns_of
from inarch.passes.tensorize.weigh.plain import plain_cycles
from inarch.passes.tensorize.weigh.search import candidates
from inarch.passes.tensorize.weigh.traffic import brought
from inarch.passes.tensorize.write.build import build
from inarch.passes.tensorize.write.definitions import Definitions

Usable = Callable[[Instance], str | None]
"""An instance -> None, or why it cannot be built."""

Pick = Callable[[StridedNest, Candidate], Candidate]
"""A nest and the candidate chosen for it -> the one that is built."""

"""Module attribute: the kernels that must be used, by name, the first one preferred."""


@dataclass(frozen=True)
class TensorizePass(ModulePass):
    """Replaces nests by calls of the cheapest kernel that computes the same.

    A kernel without a cost is somebody's own and is preferred; those that the module's attribute
    `inarch.microkernels` names come first, and raise InarchError when they match nothing. `kernels`: only
    these (and the demanded ones); without it, all that there are.
    """

    name = "tensorize"
    is_optional: ClassVar = True
    kernels: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        trial = facts_of(ctx).take(KernelTrial)
        if trial is None:
            report = tensorize(op, self.kernels or None)
        else:
            report = tensorize(op, self.kernels or None, trial.why_not, kept=trial.kept)
            report = replace(report, unusable={**report.unusable, **trial.reasons})
            _warn(report)
        facts_of(ctx).put(report)
        _remark(report, remarks_of(ctx))


PASS = TensorizePass


@dataclass(frozen=True)
class KernelTrial:
    """A fact: how it is found out whether an instance can be used, and what was found."""

    why_not: Usable
    reasons: Mapping[str, str]
    """Kernel -> the first reason."""
    kept: Store | None = None
    """Decisions of other compilations, where no kernel of others has a part in them."""


def _warn(report: KernelReport) -> None:
    """Of kernels that cannot be used, and of those that were loaded and do nothing."""
    for reason in dict.fromkeys(report.unusable.values()):
        warnings.warn(f"{reason}; compiled without this kernel", stacklevel=2)
    for name in MICROKERNELS.loaded:
        if name not in report.unusable and not report.taken_by(name):
            where, reason = report.idle_reason(name)
            text = f"microkernel '{name}' was loaded and is used nowhere; {reason}"
            warnings.warn(InarchWarning(text, where=where), stacklevel=2)


def _remark(report: KernelReport, remarks: Remarks) -> None:
    """Which kernel does which nest, and why there is none for others that one could be meant for."""
    if not remarks.is_wanted:
        return
    for nest in filter(lambda nest: nest.is_work_of_kernels, report.nests):
        if nest.taken is not None:
            runner = f"; next best {nest.runner_up}" if nest.runner_up is not None else ""
            calls = f"{nest.taken.calls} call{'s' * (nest.taken.calls != 1)}"
            remarks.done(nest.location, f"nest ({nest.iterators}): {nest.taken} in {calls}{runner}")
        else:
            name = nest.nearest
            why = f"; nearest is {name}: {nest.misses[name]}" if name is not None else ""
            remarks.missed(nest.location, f"nest ({nest.iterators}): no kernel{why}")


def tensorize(
    module: ModuleOp,
    kernels: Sequence[str] | None = None,
    usable: Usable | None = None,
    pick: Pick | None = None,
    kept: Store | None = None,
) -> KernelReport:
    """The pass; `kernels` are the only ones besides those demanded (None: all).

    `usable` says why an instance cannot be built, None when it can: the next best takes its place, and
    where the kernel was demanded InarchError is raised. `pick` may put another candidate in the place of
    the one chosen, for measuring; the report does not know. What is in `kept` is not searched for again.
    """
    demanded = demanded_kernels(module)
    asked = [*MICROKERNELS, *TEMPLATES] if kernels is None else kernels
    named = dict.fromkeys([*demanded, *asked])
    names = [name for name in named if name in MICROKERNELS or name not in TEMPLATES]
    templates = dict(TEMPLATES.working("compiled without it"))
    target = target_of(module)
    machine = machine_of(module)
    own = {name: one for name, one in templates.items() if name in asked}
    maker = Maker(own, target, machine)
    families, unusable = families_of(names, demanded, target, machine)
    definitions = Definitions(module)
    context = repr((names, sorted(own), demanded, str(target), machine))
    chooser = _Chooser(families, maker, demanded, usable, kept, context)
    reports: list[NestReport] = []
    for function, block in entry_blocks(module):
        symbol = function.sym_name.data
        for op in [op for op in block.walk() if isinstance(op, NestOp) or is_by_hand(op)]:
            turns = turns_of(op)
            if not isinstance(op, NestOp):
                reports.append(replace(told(op, symbol), turns=turns))
                continue
            of_nest = {
                "turns": turns,
                "multiply_adds": multiply_adds_in(op),
                "plain": nest_cycles(op, target, machine),
            }
            if (reason := unsuitable(op)) is None:
                report = _tensorize_nest(op, symbol, chooser, definitions, pick)
            else:
                report = left_alone(op, symbol, families, reason)
            reports.append(replace(report, **of_nest))
    unusable |= {f.pattern.name: f.failure for f in families if f.failure is not None}
    unusable |= maker.failures
    report = KernelReport(tuple(names), tuple(reports), unusable, tuple(demanded))
    for name in demanded:
        if not report.taken_by(name):
            raise _unused(module, name, report)
    return report


def tensorize_one(module: ModuleOp, op: NestOp, kernel: str) -> str | None:
    """Lets `kernel` do a nest, whatever others would cost; None, or why it cannot.

    Raises InarchError for a kernel that is broken, or needs another target.
    """
    reason = unsuitable(op)
    if reason is not None:
        return reason
    families, _ = families_of([kernel], [kernel], target_of(module), machine_of(module))
    nest = strided_nest(op)
    (family,) = families
    if nest.is_in_loop and is_foreign(family.pattern.kernel):
        return _OUTSIDE
    found = candidates(nest, family, math.inf)
    if isinstance(found, Miss):
        return found.reason
    taken = min(found, key=lambda one: _preference(one, [kernel]))
    before, iterators = calls_of(module), axes_text(nest)
    build(taken, Definitions(module))
    note(module, before, _choice(taken), iterators)
    return None


_OUTSIDE = (
    "the nest is inside a loop or a branch, functions of libraries are called outside of them"
)


@dataclass
class _Chooser:
    """Who decides which kernel does a nest: for nests that are alike once."""

    families: Sequence[Family]
    maker: Maker
    demanded: Sequence[str]
    usable: Usable | None
    kept: Store | None
    context: str
    """What decisions depend on beside the nest and the code of kernels and of Inarch."""
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


def _tensorize_nest(
    op: NestOp, function: str, chooser: _Chooser, definitions: Definitions, pick: Pick | None
) -> NestReport:
    nest = strided_nest(op)
    decision, taken = chooser.decide(nest)
    location, axes = location_text(op), axes_text(nest)
    if taken is not None:
        build(taken if pick is None else pick(nest, taken), definitions)
    first = decision.choices[0] if taken is not None else None
    return NestReport(
        location,
        function,
        axes,
        first,
        decision.choices,
        {name: miss.reason for name, miss in decision.misses.items()},
        {name: miss.progress for name, miss in decision.misses.items()},
        op.has_reduction,
        _computes(op),
    )


def _computes(op: NestOp) -> str:
    """The body as a statement; empty for one that is longer than any kernel's."""
    tree, names = expression_of(op, op.body), names_of(op)
    return f"{names[-1]} = {tree_text(tree, names)}" if tree is not None else ""


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
        result: list[Candidate] | Miss = Miss(_OUTSIDE, 0)
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
    found.sort(key=lambda one: _preference(one, demanded))
    reason = None
    if found and usable is not None:
        reason = usable(found[0].family.instance(found[0].params))
    if reason is None:
        return Decision(found[0] if found else None, tuple(_choice(one) for one in found), misses)
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


def _preference(candidate: Candidate, demanded: Sequence[str]) -> tuple[int, int, float, int, int]:
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


def _choice(candidate: Candidate) -> Choice:
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


def _unused(module: ModuleOp, name: str, report: KernelReport) -> InarchError:
    """A kernel that was asked for by name does nothing: the difference to the nest it comes nearest to."""
    where, reason = report.idle_reason(name)
    return InarchError(
        f"expected a nest that microkernel '{name}' does, found none; {reason}",
        where=where or location_text(module),
    )
