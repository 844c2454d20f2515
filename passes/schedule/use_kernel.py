"""`use-kernel`: a microkernel does a nest, or the step fails with what keeps it from that.

    at "dense": use-kernel gemm-f32
    at "dense": use-kernel "gemm-f32{MR=6}"

The call stands there from then on, whatever other kernels would cost.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from inarch.core.errors import UsageError
from inarch.passes.schedule.language.places import Loops, error_of, nest_of
from inarch.passes.schedule.language.step import Action, Step, StepPass
from inarch.passes.schedule.language.words import Words
from inarch.passes.tensorize.tensorize import tensorize_one


def use_kernel(module: ModuleOp, op: Loops, kernel: str) -> Loops:
    """Replaces a nest of `module` by calls of a microkernel, and copies that it wants in front of them.

    The nest is gone then. Raises UsageError for no such kernel, InarchError for one that does not do the
    nest.
    """
    reason = tensorize_one(module, nest_of(op), kernel)
    if reason is not None:
        raise error_of(op, f"expected a nest that microkernel '{kernel}' does, found that {reason}")
    return op


def _read(words: Words) -> Action:
    kernel = words.text("a microkernel") if words.is_text() else words.name("a microkernel")
    return lambda module, op: use_kernel(module, op, kernel)


STEP = Step("use-kernel MICROKERNEL", _read)


@dataclass(frozen=True)
class UseKernelPass(StepPass):
    """Lets a microkernel do a nest that is named.

    `nest`: as for `split`. `kernel`: the microkernel.
    """

    kernel: str

    def run(self, module: ModuleOp, op: Loops) -> Loops:
        if not self.kernel:
            raise UsageError("expected a microkernel, found none")
        return use_kernel(module, op, self.kernel)
