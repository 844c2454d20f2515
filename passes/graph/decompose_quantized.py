"""What no backend took of a quantized model becomes arithmetic, and its constants fold."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.dialects.graph.composites.quantize import QuantizedOp
from inarch.ir.passes import Pass
from inarch.passes.graph.decompose_composites import decompose_all
from inarch.passes.graph.fold_batch_norm import FoldBatchNormPass
from inarch.passes.graph.fold_constants import FoldConstantsPass
from inarch.passes.graph.simplify_graph import SimplifyGraphPass

_AGAIN = (FoldConstantsPass(), SimplifyGraphPass(), FoldBatchNormPass())


@dataclass(frozen=True)
class DecomposeQuantizedPass(Pass):
    """Replaces each quantize and dequantize by what it stands for, then folds what is constant now.

    Before the other composites: weights that were hidden in a dequantize are constants to all
    later passes, and to `fold-batch-norm`, as if the model had them so. Of a model without any it
    changes nothing.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [nested for nested in op.walk() if isinstance(nested, QuantizedOp)]
        if not found:
            return
        decompose_all(found)
        for each in _AGAIN:
            each.apply(ctx, op)
