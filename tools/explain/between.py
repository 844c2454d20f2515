"""Which passes stand between a kernel that is used nowhere and the ops that look most like it.

Such an op, with what it was fused with, is lowered alone without any optional pass. Where the kernel fits
then, passes come back one by one, as far as it still does: those that stay out stand between. Layouts are
forced as the whole model has them, since an op alone may not be worth them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from inarch.core.errors import InarchError
from inarch.definitions.expected import kept_constants
from inarch.dialects import new_context
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import GraphOp
from inarch.ir.context import store_of
from inarch.ir.location import location_text, parts_of
from inarch.ir.report.facts import facts_of
from inarch.ir.target import ESTIMATED, machine_of, set_machine
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.graph.choose_layout import ChooseLayoutPass
from inarch.passes.partition.cut.alone import alone
from inarch.passes.tensorize.report import KernelReport
from inarch.passes.tensorize.tensorize import IdleKernelError
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import run_pipeline
from inarch.pipeline.places import placed
from inarch.tools.explain.kernels import cycles_text

_FIRST, _LAST = "graph", "tensorize"
MOST_TRIED = 8
"""Ops that are tried for a kernel, those that look most like it first."""
_LEFT_OUT = ("try-kernels", "outline-bodies", "outline-layers")
"""They change nothing that a kernel could fit, or take long."""


def with_between(
    context: Context, module: ModuleOp, choose: Callable[[], KernelReport]
) -> KernelReport:
    """What `choose` finds, and for each kernel of others that is used nowhere the passes that stand between.

    `module` is the program as after `prepare`. Takes some ms a kernel and pass. Raises what `choose` raises;
    of a kernel that was demanded and does nothing, with the passes.
    """
    try:
        with kept_constants(context):
            report = choose()
    except IdleKernelError as error:
        text = between(context, module, error.report, error.kernel)
        if text is None:
            raise
        raise InarchError(f"{error.message}; {text}", where=error.where) from error
    idle = [
        name
        for name, _ in MICROKERNELS.foreign()
        if name in report.kernels and name not in report.unusable and not report.taken_by(name)
    ]
    found = {name: text for name in idle if (text := between(context, module, report, name))}
    return replace(report, between=found)


def between(context: Context, module: ModuleOp, report: KernelReport, kernel: str) -> str | None:
    """What stands between, in words; None where the ops compute something else, or no pass is to blame."""
    tried: set[object] = set()
    for nest in report.missed_by(kernel):
        ops = _ops_at(module, nest.location or "")
        key = tuple((op.name, str(op.properties), *map(str, _types(op))) for op in ops)
        if not ops or key in tried:
            continue
        tried.add(key)
        if (text := _between(_Part(context, module, ops, kernel))) is not None:
            return f"{nest.location}: {text}"
        if len(tried) == MOST_TRIED:
            break
    return None


def _types(op: Operation) -> list[Attribute]:
    return [value.type for value in (*op.operands, *op.results)]


def _between(part: _Part) -> str | None:
    passes = part.passes()
    needed = [
        one for one in passes if one.name == _LAST or not getattr(type(one), "is_optional", False)
    ]
    if not part.lowered([one for one in passes if one in needed]).is_done:
        return None
    usual = part.lowered(passes)
    if usual.is_done:
        return None  # alone it is done: what is around it decides
    out = [one for one in passes if one not in needed]
    for one in list(out):
        fewer = [each for each in out if each is not one]
        if part.lowered([each for each in passes if each not in fewer]).is_done:
            out = fewer
    without = part.lowered([each for each in passes if each not in out])
    names = [one.name for one in out]
    listed = f"pass {names[0]} stands" if len(names) == 1 else f"passes {', '.join(names)} stand"
    pronoun = "it" if len(names) == 1 else "them"
    return (
        f"{listed} between; without {pronoun} {part.kernel} would do the op in "
        f"{cycles_text(without.cycles)} cycles, now it takes {cycles_text(usual.cycles)}"
    )


@dataclass(frozen=True)
class _Done:
    """A lowering of the part."""

    is_done: bool
    """Whether the kernel does a nest of it, or could."""
    cycles: float
    """Of all its nests; where the kernel could do one, with that."""


@dataclass
class _Part:
    """Ops as a program of their own, lowered in several ways."""

    context: Context
    module: ModuleOp
    ops: Sequence[Operation]
    kernel: str

    def passes(self) -> list[ModulePass]:
        """What the compilation does to it."""
        whole = placed(default_pipeline()).since(_FIRST).until(_LAST)
        found = [one for one in whole if one.name not in _LEFT_OUT]
        return [
            ChooseLayoutPass(always=True) if one.name == "choose-layout" else one for one in found
        ]

    def lowered(self, passes: Sequence[ModulePass]) -> _Done:
        """By these passes; not done where they cannot lower it."""
        module, context = self._alone()
        try:
            run_pipeline(context, module, passes)
        except InarchError:
            return _Done(is_done=False, cycles=0.0)
        report = facts_of(context).get(KernelReport)
        assert report is not None, "tensorize is one of the passes"
        total, is_done = 0.0, False
        for nest in report.nests:
            own = [one.cost for one in nest.candidates if one.kernel == self.kernel]
            is_done = is_done or bool(own)
            total += nest.iterations * min(own) if own else nest.cycles
        return _Done(is_done, total)

    def _alone(self) -> tuple[ModuleOp, Context]:
        module, context = alone(self.module, self.ops), new_context()
        module.attributes[ESTIMATED] = UnitAttr()  # nothing is measured for this
        set_machine(module, machine_of(self.module))
        store, own = store_of(self.context), store_of(context)
        for each in module.walk():
            if isinstance(each, ConstantOp) and isinstance(each.value, DenseResourceAttr):
                key = each.value.resource_handle.data
                own.set(key, store.get(key))
        return module, context


def _ops_at(module: ModuleOp, where: str) -> list[Operation]:
    """The ops of one function from places that were fused, in order."""
    wanted = set(parts_of(where))
    for function in module.body.ops:
        if not isinstance(function, FuncOp) or function.is_declaration:
            continue
        found: list[Operation] = [
            op
            for op in function.body.block.ops
            if isinstance(op, GraphOp)
            and not isinstance(op, ConstantOp)
            and not wanted.isdisjoint(parts_of(location_text(op) or ""))
        ]
        if found:
            return found
    return []
