"""Products by dequantized weights take the words that hold them: no matrix of floats is made.

matmul(x, transpose(dequantize_packed(w, scale, zero)))    -->    matmul_packed(x, w, scale, zero)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import ints, shape_of
from inarch.dialects.graph.packed import DequantizePackedOp, MatmulPackedOp
from inarch.dialects.graph.shape import ReshapeOp, TransposeOp
from inarch.ir.context import store_of
from inarch.ir.edit import erase, insert_before
from inarch.ir.functions import entry_blocks
from inarch.ir.passes import OptionalPass
from inarch.ir.report.remarks import remarks_of
from inarch.passes.graph._dead import erase_dead


@dataclass(frozen=True)
class KeepPackedPass(OptionalPass):
    """Replaces products by matrices of dequantized words, transposed, by products by the words."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        remarks, found = remarks_of(ctx), False
        for _, block in entry_blocks(op):
            for product in [each for each in block.walk() if isinstance(each, MatmulOp)]:
                weights = _weights(product.y)
                if weights is not None:
                    found = True
                    remarks.done(product, "its weights stay packed")
                    _replace(product, weights)
        if found:
            erase_dead(op, store_of(ctx))


def _weights(y: SSAValue) -> DequantizePackedOp | None:
    """What a matrix is the transposed of, if that is dequantized words."""
    turn = y.owner
    if not isinstance(turn, TransposeOp) or ints(turn.perm) != (1, 0):
        return None
    return turn.x.owner if isinstance(turn.x.owner, DequantizePackedOp) else None


def _replace(product: MatmulOp, weights: DequantizePackedOp) -> None:
    shape, result = shape_of(product.x), shape_of(product.out)
    rows = ReshapeOp.make(product.x, shape=[prod(shape[:-1]), shape[-1]], location=product.location)
    out = MatmulPackedOp.make(
        rows, *weights.operands, bits=weights.bits.value.data, location=product.location
    )
    back = ReshapeOp.make(out, shape=list(result), location=product.location)
    insert_before(product, rows, out, back)
    product.out.replace_all_uses_with(back.out)
    erase(product)
