"""Nests become calls of microkernels that compute the same.

For each nest of a public function and each kernel of the table, the nest is unified with the kernel's
meaning (`unify/match.py`: bodies, then iterators), cut into calls (`weigh/tiles.py`), its operands solved for
(`weigh/operands.py`), and the candidates weighed (`weigh/candidates.py`, `weigh/cost.py`). The best one
is written (`write/build.py`): `kernel.def`s, `kernel.pack`s, `kernel.call`s. Nothing is silent: `report.py`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from inarch.core.errors import InarchError, InarchWarning
from inarch.dialects.loop.control import CallOp
from inarch.dialects.loop.nest import NestOp
from inarch.ir.functions import entry_blocks, is_layer
from inarch.ir.location import location_text, moved_by, text_of_location
from inarch.ir.passes import OptionalPass
from inarch.ir.report.facts import facts_of
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.ir.target import machine_of, target_of
from inarch.microkernel import is_foreign
from inarch.microkernel.demanded import demanded_of
from inarch.microkernel.table import MICROKERNELS, TEMPLATES
from inarch.passes.tensorize.by_hand import calls_of, is_by_hand, note, told
from inarch.passes.tensorize.choose import Chooser, KernelTrial, Prices, chooser_of
from inarch.passes.tensorize.decide import OUTSIDE, Meter, Usable, choice_of, preference
from inarch.passes.tensorize.families import families_of
from inarch.passes.tensorize.keep.memo import nest_text
from inarch.passes.tensorize.keep.record import Store
from inarch.passes.tensorize.report import KernelReport, NestReport
from inarch.passes.tensorize.unify.body import named, text_of, yielded
from inarch.passes.tensorize.unify.match import Miss, axes_text, names_of
from inarch.passes.tensorize.unify.strided import StridedNest, strided_nest
from inarch.passes.tensorize.unsuitable import left_alone, unsuitable
from inarch.passes.tensorize.weigh.candidates import Candidate
from inarch.passes.tensorize.weigh.nest import TripCounts, multiply_adds_in, nest_cycles
from inarch.passes.tensorize.weigh.search import candidates
from inarch.passes.tensorize.write.build import build
from inarch.passes.tensorize.write.definitions import Definitions
from inarch.passes.tuned import Tuned, address_of

Pick = Callable[[StridedNest, Candidate], Candidate]
"""A nest and the candidate chosen for it -> the one that is built."""


@dataclass(frozen=True)
class TensorizePass(OptionalPass):
    """Replaces nests by calls of the cheapest kernel that computes the same.

    A kernel without a cost is measured where that is possible, else estimated by its meaning; those that the
    module's attribute `inarch.microkernels` names come first, and raise InarchError when they match nothing;
    those of `inarch.without` are left out. `kernels`: only these (and the demanded ones); without it, all
    that there are.
    """

    kernels: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chooser = Prices.of(ctx, op).chooser
        trial, tuned = facts_of(ctx).take(KernelTrial), facts_of(ctx).get(Tuned)
        why_not, kept, measure = (
            (trial.why_not, trial.kept, trial.measure) if trial else (None,) * 3
        )
        if self.kernels or chooser.guests or any(TEMPLATES.foreign()):
            # Else all can be used, and what was asked before holds.
            chooser = chooser_of(op, self.kernels or None, why_not, kept, measure, tuned)
        report = tensorize_by(chooser, op)
        if trial is not None:
            report = replace(report, unusable={**report.unusable, **trial.reasons})
            _warn(report)
        facts_of(ctx).put(report)
        _remark(report, remarks_of(ctx))


def _warn(report: KernelReport) -> None:
    """Of kernels that cannot be used, and of those that were loaded and do nothing."""
    for reason in dict.fromkeys(report.unusable.values()):
        warnings.warn(f"{reason}; compiled without this kernel", stacklevel=2)
    for name in MICROKERNELS.loaded:
        if name in report.kernels and name not in report.unusable and not report.taken_by(name):
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


class IdleKernelError(InarchError):
    """A kernel that was demanded fits nothing of the program."""

    def __init__(
        self, message: str, *, where: str | None, kernel: str, report: KernelReport
    ) -> None:
        super().__init__(message, where=where)
        self.kernel = kernel
        self.report = report


def tensorize(
    module: ModuleOp,
    kernels: Sequence[str] | None = None,
    usable: Usable | None = None,
    pick: Pick | None = None,
    kept: Store | None = None,
    measure: Meter | None = None,
    tuned: Tuned | None = None,
) -> KernelReport:
    """The pass; `kernels` are the only ones besides those demanded (None: all).

    `usable` says why an instance cannot be built, None when it can: the next best takes its place, and
    where the kernel was demanded InarchError is raised. What is in `kept` is not searched for again.
    `measure` says what calls take of kernels that do not; without it they are estimated. What is `tuned` is
    taken as it was measured. `pick`: as of `tensorize_by`.
    """
    return tensorize_by(chooser_of(module, kernels, usable, kept, measure, tuned), module, pick)


def tensorize_by(chooser: Chooser, module: ModuleOp, pick: Pick | None = None) -> KernelReport:
    """The pass, by the decisions of `chooser`; `pick` may put another candidate in the place of one chosen.

    That is for measuring: the report does not know.
    """
    families, maker, demanded = chooser.families, chooser.maker, chooser.demanded
    target, machine = target_of(module), machine_of(module)
    definitions, running = Definitions(module), TripCounts(module)

    def tensorized(op: Operation, symbol: str) -> NestReport:
        iterations = running.of(op)
        if not isinstance(op, NestOp):
            return replace(told(op, symbol), iterations=iterations)
        of_nest = {
            "iterations": iterations,
            "multiply_adds": multiply_adds_in(op),
            "plain": nest_cycles(op, target, machine),
        }
        if (reason := unsuitable(op)) is None:
            report = _tensorize_nest(op, symbol, chooser, definitions, pick)
        else:
            report = left_alone(op, symbol, families, reason)
        return replace(report, **of_nest)

    layers: dict[str, _Layer] = {}
    reports: list[NestReport] = []
    # Layers first: a call of one is reported as its nests.
    for function, block in sorted(entry_blocks(module), key=lambda one: not is_layer(one[0])):
        symbol = function.sym_name.data
        found: list[tuple[LocationAttr, NestReport]] = []
        for op in list(block.walk()):
            if isinstance(op, NestOp) or is_by_hand(op):
                found.append((op.location, tensorized(op, symbol)))
            elif isinstance(op, CallOp) and (layer := layers.get(op.callee.string_value())):
                found += [(op.location, report) for report in layer.reports(op, symbol)]
        if is_layer(function):
            layers[symbol] = _Layer(function, found)
        else:
            reports += [report for _, report in found]
    unusable = {f.pattern.name: f.failure for f in families if f.failure is not None}
    unusable = {**chooser.unusable, **unusable, **maker.failures}
    report = KernelReport(tuple(chooser.names), tuple(reports), unusable, tuple(demanded))
    for name in demanded:
        if not report.taken_by(name):
            raise _unused(module, name, report)
    return report


@dataclass(frozen=True)
class _Layer:
    """A function that is called for each of several layers, and what was done with its nests."""

    function: FuncOp
    nests: Sequence[tuple[LocationAttr, NestReport]]

    def reports(self, call: CallOp, caller: str) -> Iterator[NestReport]:
        """Those of one layer, which is in the caller."""
        moved = moved_by(call, self.function)
        for location, report in self.nests:
            own = text_of_location(moved(location)) or location_text(call)
            yield replace(report, function=caller, location=own)


def tensorize_one(module: ModuleOp, op: NestOp, kernel: str) -> str | None:
    """Lets `kernel`, or some of its members (`name{MR=6}`), do a nest, whatever others would cost.

    None, or why it cannot.

    Raises InarchError for a kernel that is broken, or needs another target.
    """
    reason = unsuitable(op)
    if reason is not None:
        return reason
    wanted = demanded_of(kernel)
    families, _ = families_of([wanted.name], [wanted], target_of(module), machine_of(module))
    nest = strided_nest(op)
    (family,) = families
    if nest.is_in_loop and is_foreign(family.pattern.kernel):
        return OUTSIDE
    found = candidates(nest, family, math.inf)
    if isinstance(found, Miss):
        return found.reason
    taken = min(found, key=lambda one: preference(one, [wanted.name]))
    before, iterators = calls_of(module), axes_text(nest)
    build(taken, Definitions(module))
    note(module, before, choice_of(taken), iterators)
    return None


def _tensorize_nest(
    op: NestOp, function: str, chooser: Chooser, definitions: Definitions, pick: Pick | None
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
        likeness={name: round(miss.likeness, 3) for name, miss in decision.misses.items()},
        address=address_of(nest_text(nest), chooser.maker.target),
        is_tuned=decision.is_tuned,
    )


def _computes(op: NestOp) -> str:
    """The body as a statement; empty for one that is longer than any kernel's."""
    names = names_of(op)
    value = named(yielded(op, op.body), names)
    return f"{names[-1]} = {text_of(value)}" if value is not None else ""


def _unused(module: ModuleOp, name: str, report: KernelReport) -> InarchError:
    """A kernel that was asked for by name does nothing: the difference to the nest it comes nearest to."""
    where, reason = report.idle_reason(name)
    return IdleKernelError(
        f"expected a nest that microkernel '{name}' does, found none; {reason}",
        where=where or location_text(module),
        kernel=name,
        report=report,
    )
