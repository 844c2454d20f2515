"""`kernel.def`, a microkernel: its meaning, its operands, its implementation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr, SymbolNameConstraint
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    param_def,
    prop_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface

from inarch.dialects._types import is_supported, mlir_type, storage_type
from inarch.dialects.loop._base import BufferOp, require
from inarch.dtypes import DType

ACCESSES = ("read", "write", "update")
"""What a microkernel does with an operand: reads it, overwrites it, or reads and writes it."""


@irdl_attr_definition
class OperandAttr(ParametrizedAttribute):
    """`#kernel.operand<A : f32 read rank 2 align 64>`: an operand of a microkernel.

    `align` is the alignment in bytes that the code relies on, for the pointer of every call. What
    an operand may be is checked by `kernel.def`.
    """

    name = "kernel.operand"
    label: StringAttr = param_def()
    dtype: Attribute = param_def()
    access: StringAttr = param_def()
    rank: IntAttr = param_def()
    align: IntAttr = param_def()

    @classmethod
    def get(cls, label: str, dtype: DType | str, access: str, rank: int, align: int) -> Self:
        """The operand called `label` in the meaning; dtypes are signless, as in buffers."""
        element = storage_type(mlir_type(dtype))
        return cls(StringAttr(label), element, StringAttr(access), IntAttr(rank), IntAttr(align))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            label = parser.parse_identifier()
            parser.parse_punctuation(":")
            dtype = parser.parse_type()
            access = parser.parse_identifier()
            parser.parse_keyword("rank")
            rank = parser.parse_integer()
            parser.parse_keyword("align")
            align = parser.parse_integer()
        return [StringAttr(label), dtype, StringAttr(access), IntAttr(rank), IntAttr(align)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.label.data} : ")
            printer.print_attribute(self.dtype)
            numbers = f"rank {self.rank.data} align {self.align.data}"
            printer.print_string(f" {self.access.data} {numbers}")


@irdl_op_definition
class DefOp(BufferOp):
    """A microkernel: what it computes, on which operands, and the C function that does it.

        kernel.def @gemm_4x16 computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]"
            arguments [#kernel.operand<A : f32 read rank 2 align 4>, ...] needs ["avx512f"] source
            "..."

    `needs` are the CPU features that the code uses. `source` is C text that defines the function;
    `symbol` is the function's name where that is not the op's, or where a library defines it.

    The C function returns nothing. It takes a pointer to the first element of every operand, in the
    order of `arguments` (`const` where it is only read); then, as `int64_t`, the strides of every
    operand in elements, operand by operand, outermost first; then, as `int64_t`, the sizes of the
    free iterators (those whose size in `computes` is a name) in the order in which `computes` names
    them. The kernel above has the prototype

        void gemm_4x16(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1,
                       int64_t B_0, int64_t B_1, int64_t C_0, int64_t C_1, int64_t K);

    C1: `computes` is not empty and names every operand. C2: operands have distinct names. C3: an
    operand has a supported signless dtype, a known access, a rank >= 0, and an alignment that is a
    power of two. C4: at least one operand is written. C5: there is a source or a symbol, and
    neither is empty. C6: features are not empty.
    """

    name = "kernel.def"
    sym_name = prop_def(SymbolNameConstraint())
    computes = prop_def(StringAttr)
    arguments = prop_def(ArrayAttr[OperandAttr])
    needs = prop_def(ArrayAttr[StringAttr])
    source = opt_prop_def(StringAttr)
    symbol = opt_prop_def(StringAttr)
    traits = traits_def(SymbolOpInterface())
    assembly_format = (
        "$sym_name `computes` $computes `arguments` $arguments `needs` $needs "
        "(`source` $source^)? (`symbol` $symbol^)? attr-dict"
    )

    def __init__(
        self,
        name: str,
        computes: str,
        arguments: Sequence[OperandAttr],
        needs: Sequence[str] = (),
        *,
        source: str | None = None,
        symbol: str | None = None,
    ) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "computes": StringAttr(computes),
                "arguments": ArrayAttr(arguments),
                "needs": ArrayAttr(StringAttr(feature) for feature in needs),
                "source": StringAttr(source) if source is not None else None,
                "symbol": StringAttr(symbol) if symbol is not None else None,
            }
        )

    @property
    def function(self) -> str:
        """The name of the C function."""
        return self.sym_name.data if self.symbol is None else self.symbol.data

    def verify_(self) -> None:
        names = [argument.label.data for argument in self.arguments]
        words = set(re.findall(r"\w+", self.computes.data))
        require(bool(words), "C1", "expected a meaning, found an empty one")
        missing = [name for name in names if name not in words]
        require(not missing, "C1", f"the meaning does not name operand {', '.join(missing)}")
        distinct = len(set(names)) == len(names)
        require(distinct, "C2", f"expected distinct operand names, found {', '.join(names)}")
        for argument in self.arguments:
            _check_operand(argument)
        accesses = {argument.access.data for argument in self.arguments}
        writes = bool(accesses & {"write", "update"})
        require(writes, "C4", "expected an operand that is written, found none")
        texts = [text.data for text in (self.source, self.symbol) if text is not None]
        given = bool(texts) and all(text.strip() for text in texts)
        require(given, "C5", "expected a source or a symbol that is not empty")
        require(all(need.data for need in self.needs), "C6", "expected features that are not empty")


def _check_operand(operand: OperandAttr) -> None:
    """C3 of `kernel.def`."""
    name, element = operand.label.data, operand.dtype
    signless = is_supported(element) and storage_type(element) == element
    require(signless, "C3", f"expected operand {name} of a signless dtype, found {element}")
    access = operand.access.data
    known = access in ACCESSES
    require(known, "C3", f"expected an access of {ACCESSES} of operand {name}, found '{access}'")
    rank, align = operand.rank.data, operand.align.data
    require(rank >= 0, "C3", f"expected operand {name} of rank >= 0, found {rank}")
    power = align > 0 and align & (align - 1) == 0
    message = f"expected operand {name} aligned to a power of two, found {align}"
    require(power, "C3", message)
