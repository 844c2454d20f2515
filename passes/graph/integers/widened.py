"""Bytes less their zero points, in 16 bits: what products by such kernels read, and then all others."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from inarch.core.lazy import np
from inarch.dialects.graph.composites.quantize import DequantizeOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise.arithmetic import SubOp
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.op import GraphOp, shape_of
from inarch.ir.context import ConstantStore
from inarch.ir.payload.constants import constant_attribute
from inarch.ir.types import mlir_type
from inarch.passes.graph.integers.factor import Activations, array_of


@dataclass
class Widened:
    """Those of a program, each once, where the bytes are made."""

    store: ConstantStore
    _made: dict[SSAValue, tuple[SSAValue, int]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, int]]
    )

    def of(self, x: Activations) -> SSAValue | None:
        """`x.q - x.zero`; None of a function's argument, and of a zero point that is not known."""
        owner, zero = x.q.owner, x.zero
        if isinstance(zero, SSAValue) or not isinstance(owner, Operation):
            return None
        if x.q not in self._made:
            ops: list[GraphOp] = [CastOp.make(x.q, to=mlir_type("i16"))]
            if zero:
                number = constant_attribute(np.array(zero, np.int16), self.store, "quantized")
                constant = ConstantOp.make(value=number)
                ops += [constant, SubOp.make(ops[0].results[0], constant.results[0])]
            parent = owner.parent
            assert parent is not None, "it is of a program"
            for op in reversed(ops):
                op.location = owner.location
                parent.insert_op_after(op, owner)
            self._made[x.q] = ops[-1].results[0], zero
        made, own = self._made[x.q]
        return made if own == zero else None

    def take_over(self) -> None:
        """Lets what else dequantizes the bytes read these, so that the bytes need not be stored."""
        for q, (made, zero) in self._made.items():
            for op in dict.fromkeys(use.operation for use in q.uses):
                if not isinstance(op, DequantizeOp) or op.x is not q or shape_of(op.scale):
                    continue
                own = 0 if op.zero is None else array_of(op.zero, self.store)
                if own is None or np.ndim(own) or own != zero:
                    continue
                other = DequantizeOp.make(made, op.scale)
                other.location = op.location
                parent = op.parent
                assert parent is not None, "it is of a program"
                parent.insert_op_before(other, op)
                op.out.replace_all_uses_with(other.results[0])
