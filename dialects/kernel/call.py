"""`kernel.call`: a call of a microkernel on pieces of buffers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    MemRefType,
    SymbolRefAttr,
)
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from inarch.dialects._types import i64
from inarch.dialects.loop._base import BufferOp, require


@irdl_op_definition
class CallOp(BufferOp):
    """Runs a microkernel once: `kernel.call @gemm_4x16(%a, %b, %c) [64] : memref<...>, ...`.

    Operands are those of the `kernel.def`, in its order. A buffer is its pointer plus the offset of
    its strided layout, and passes its strides; so a tile of a larger buffer is a memref of the
    tile's shape with the strides of the whole. `sizes` are those of the free iterators, in the
    definition's order. The callee's existence is checked once a module (`verify_module`).

    C0: buffers are static, signless and strided. C1: sizes are >= 0. C2: there is an operand.
    """

    name = "kernel.call"
    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def(MemRefType)
    sizes = prop_def(DenseArrayBase.constr(i64))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$callee `(` $arguments `)` $sizes attr-dict `:` type($arguments)"

    def __init__(self, callee: str, arguments: Sequence[SSAValue], sizes: Sequence[int]) -> None:
        super().__init__(
            operands=[list(arguments)],
            properties={
                "callee": SymbolRefAttr(callee),
                "sizes": DenseArrayBase.from_list(i64, sizes),
            },
        )

    def verify_(self) -> None:
        self.check_buffers()
        sizes = [int(size) for size in self.sizes.get_values()]
        require(min(sizes, default=0) >= 0, "C1", f"expected sizes >= 0, found {sizes}")
        require(bool(self.arguments), "C2", "expected at least one operand, found none")
