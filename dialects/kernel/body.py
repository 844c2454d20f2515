"""Expressions of meanings as scalar blocks of IR: what a kernel does with the elements of one point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, SSAValue

from inarch.core.dtypes import DTYPES, DType
from inarch.dialects.loop.nest import YieldOp
from inarch.dialects.loop.rounding import ROUNDED
from inarch.dialects.scalar import Scalar, constant
from inarch.ir.types import mlir_type, storage_type
from inarch.meaning import Apply, Element, Expression, Number, elements
from inarch.microkernel import dtype_of


@dataclass(frozen=True)
class Body:
    """A block that yields the value of an expression."""

    block: Block
    elements: tuple[Element, ...]
    """What the arguments of the block are."""

    @property
    def result(self) -> SSAValue:
        """What the block yields."""
        last = self.block.last_op
        assert last is not None, "it is a yield"
        return last.operands[0]

    @property
    def arguments(self) -> Mapping[Element, SSAValue]:
        """Element -> the argument that holds it."""
        return dict(zip(self.elements, self.block.args, strict=True))


def body_of(expression: Expression, dtypes: Mapping[str, str], dtype: str) -> Body:
    """The block of an expression whose value has `dtype`; `dtypes` are those of the operands."""
    found = tuple(dict.fromkeys(elements(expression)))
    kinds = [DTYPES[dtypes[each.operand]] for each in found]
    block = Block(arg_types=[storage_type(mlir_type(kind)) for kind in kinds])
    known = {
        element: Scalar(argument, kind, block)
        for element, argument, kind in zip(found, block.args, kinds, strict=True)
    }
    value = append(expression, known, DTYPES[dtype], block)
    block.add_op(YieldOp(value.value))
    return Body(block, found)


def append(
    expression: Expression, known: Mapping[Element, Scalar], dtype: DType, block: Block
) -> Scalar:
    """The value of an expression at the end of `block`; numbers that meet no element have `dtype`."""
    dtypes = {element.operand: scalar.dtype.name for element, scalar in known.items()}
    match expression:
        case Element():
            return known[expression]
        case Number(value=value):
            return constant(value if dtype.is_float else int(value), dtype, block)
        case Apply(function=function, arguments=(argument,)) if function in DTYPES:
            return append(argument, known, DTYPES[function], block).cast(function)
        case Apply(function=function, arguments=arguments):
            own = DTYPES[dtype_of(expression, dtypes) or dtype.name]
            return applied(function, [append(part, known, own, block) for part in arguments])


def applied(function: str, parts: Sequence[Scalar]) -> Scalar:
    """A function of meanings of elements of one dtype."""
    first, *rest = parts
    if function != "rounded":
        return first.function(function, *rest)
    if isinstance(first.value.owner, Operation):
        first.value.owner.attributes[ROUNDED] = UnitAttr()
    return first
