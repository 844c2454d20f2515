"""`function`: on tensors, each scalar function that a file of others adds: `function.softsign` of its row.

The ops are made of the rows (`inarch.core.scalars.functions.OF_OTHERS`), which may be loaded at any time.
Example: `%y = function.softsign %x : tensor<8xf32> -> tensor<8xf32>`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import ClassVar

from xdsl.ir import Dialect, Operation

from inarch.core.scalars.functions import OF_OTHERS, Function
from inarch.dialects.graph.elementwise import BinaryOp, ElementwiseOp, UnaryNumberOp, UnaryOp
from inarch.ir.op import op_definition


class _Functions(Dialect):
    """The dialect of the rows that are there when it is asked."""

    @property
    def operations(self) -> Iterator[type[Operation]]:
        return (op_of(row) for _, row in OF_OTHERS.working("it has no op"))


@cache
def op_of(row: Function) -> type[ElementwiseOp]:
    """The op that applies a function of others to each element, of one operand or of two (broadcast).

    C1, C2, C3: as of `UnaryOp` and `BinaryOp`; a function of floats alone takes no integers.
    """
    of_one = UnaryOp if row.is_float_only else UnaryNumberOp
    base = of_one if row.arity == 1 else BinaryOp
    fields = {
        "__doc__": f"`out[i] = {row.name}({'x[i]' if row.arity == 1 else 'a[i], b[i]'})`.",
        "__module__": __name__,
        "__annotations__": {"FUNCTION": ClassVar[str]},
        "name": f"function.{row.name}",
        "FUNCTION": row.name,
    }
    made: type[ElementwiseOp] = type(f"{row.name.title()}Op", (base,), fields)
    op_definition(made)
    return made


DIALECT = _Functions("function", [], [])
