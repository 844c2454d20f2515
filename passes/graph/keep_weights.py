"""Weights that are stored narrow stay so: products read them as they are, and widen them in registers.

    matmul(x, move(cast(w) to f32))    -->    matmul(x, move(w)) to f32

Of f16 this is half of the memory, and of what a call reads of it; the numbers are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue

from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import GraphOp, tensor_dtype
from inarch.dialects.graph.shape import ReshapeOp, TransposeOp
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.ir.context import store_of
from inarch.ir.functions import entry_blocks
from inarch.ir.passes import OptionalPass
from inarch.ir.report.remarks import remarks_of
from inarch.ir.target import target_of
from inarch.microkernel.table import kernels_of
from inarch.passes.graph._dead import erase_dead


@dataclass(frozen=True)
class KeepWeightsPass(OptionalPass):
    """Products and convolutions in f32 read constants that are cast from a narrower float as they are.

    Only where a kernel of the target reads that float. What is small, `fold-constants` has widened before.
    `choose-algorithm` may still have a copy of the weights widened first (`widened`).
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store, remarks = store_of(ctx), remarks_of(ctx)
        found = [
            (each, cast)
            for _, block in entry_blocks(op)
            for each in block.walk()
            if isinstance(each, ConvOp | MatmulOp) and each.to is None
            if (cast := stored_weights(each)) is not None
        ]
        if not found:
            return
        read = {dtype for each in kernels_of(target_of(op)) for dtype in each.dtypes.values()}
        for each, cast in found:
            name = tensor_dtype(cast.x).name
            if name not in read:
                remarks.missed(each, f"no kernel of the target reads weights of {name}")
                continue
            _narrow(each, cast)
            remarks.done(each, f"reads its weights as {name}")
        erase_dead(op, store)


def stored_weights(op: ConvOp | MatmulOp) -> CastOp | None:
    """The cast from a constant that is stored narrow, of which the second operand is made by moves."""
    if tensor_dtype(op.out).name != "f32" or (isinstance(op, ConvOp) and op.groups.value.data > 1):
        return None
    value: SSAValue = op.operands[1]
    while isinstance(value.owner, TransposeOp | ReshapeOp):
        value = value.owner.operands[0]
    cast = value.owner
    if not isinstance(cast, CastOp) or not isinstance(cast.x.owner, ConstantOp):
        return None
    return cast if tensor_dtype(cast.x).arithmetic == "f32" else None


def _narrow(op: ConvOp | MatmulOp, cast: CastOp) -> None:
    """Rewrites `op`: the moves are of the constant itself, which `fold-constants` does."""
    moves: list[Operation] = []
    value: SSAValue = op.operands[1]
    while value is not cast.out:
        assert isinstance(value.owner, Operation)
        moves.append(value.owner)
        value = value.owner.operands[0]
    parent = op.parent
    assert parent is not None
    weights: SSAValue = cast.x

    def add(made: GraphOp, origin: Operation) -> SSAValue:
        made.location = origin.location
        parent.insert_op_before(made, op)
        return made.results[0]

    for move in reversed(moves):
        assert isinstance(move, TransposeOp | ReshapeOp)
        weights = add(type(move).make(weights, location=None, **move.properties), move)
    x, _, *bias = op.operands
    made = add(type(op).make(x, weights, *bias, location=None, **op.properties, to=f32), op)
    made.name_hint = op.out.name_hint
    op.out.replace_all_uses_with(made)
