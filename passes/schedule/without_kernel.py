"""`without-kernel`: a microkernel, or a template, does not do a nest.

    at "dense": without-kernel my-gemm

The nest is otherwise free: other kernels may do it, and passes may change it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from inarch.core.errors import unknown
from inarch.ir.target import exclude_at
from inarch.microkernel.table import MICROKERNELS, TEMPLATES
from inarch.passes.schedule.language.places import Loops, nest_of
from inarch.passes.schedule.language.step import Action, Step, StepPass
from inarch.passes.schedule.language.words import Words


def without_kernel(op: Loops, kernel: str) -> Loops:
    """Marks a nest: `kernel` is not to do it. Raises UsageError for no such kernel."""
    nest = nest_of(op)
    if kernel not in MICROKERNELS and kernel not in TEMPLATES:
        raise unknown("microkernel", kernel, [*MICROKERNELS, *TEMPLATES])
    exclude_at(nest, kernel)
    return nest


def _read(words: Words) -> Action:
    kernel = words.text("a microkernel") if words.is_text() else words.name("a microkernel")
    return lambda _, op: without_kernel(op, kernel)


STEP = Step("without-kernel MICROKERNEL", _read)


@dataclass(frozen=True)
class WithoutKernelPass(StepPass):
    """Keeps a microkernel from a nest that is named.

    `nest`: as for `split`. `kernel`: the microkernel, or the template.
    """

    kernel: str

    def run(self, module: ModuleOp, op: Loops) -> Loops:
        return without_kernel(op, self.kernel)
