"""The scalar operations that `arith` of xDSL lacks: `loop.remf`, and `loop.point`, where a nest is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import AffineMapAttr, AnyFloatConstr, ArrayAttr, IndexType, StringAttr
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from inarch.core.errors import InarchError
from inarch.dialects.loop.memory import check_linear
from inarch.dialects.loop.nest import NestOp
from inarch.ir.index.affine import parse_open_affine_expr, print_affine_expr
from inarch.ir.index.linear import Linear
from inarch.ir.op import op_definition
from inarch.ir.require import require


@op_definition
class RemfOp(IRDLOperation):
    """`out = a - trunc(a / b) * b`, exact, with the sign of `a`: `fmod` of C (C11 7.12.10.1).

    NaN when `a` is infinite or `b` is zero. What MLIR calls `arith.remf`.
    """

    T: ClassVar = VarConstraint("T", AnyFloatConstr)
    a = operand_def(T)
    b = operand_def(T)
    out = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$a `,` $b attr-dict `:` type($out)"

    def __init__(self, a: SSAValue, b: SSAValue) -> None:
        super().__init__(operands=[a, b], result_types=[a.type])


@op_definition
class PointOp(IRDLOperation):
    """`out = k * 4 + k_4 + 1`: where the nest around it is, linear in its iterators.

    An iterator counts from 0. It is named as the nest names it, so that who gives a nest other iterators
    moves its points, too (`passes/loop/nests/transform.py`). What MLIR calls `linalg.index`, when it is one
    iterator.

    C1: it stands in a region of a `loop.nest`, itself and not within another op.
    C2: it is linear in iterators of that nest, and names each once.
    C3: in `finish` it names none that reduces.
    """

    iterators = prop_def(ArrayAttr[StringAttr])
    index = prop_def(AffineMapAttr)
    out = result_def(IndexType)
    traits = traits_def(Pure())

    def __init__(self, names: Sequence[str], place: Linear) -> None:
        """`place` is over iterators of these `names`; those with a coefficient of 0 are left out."""
        super().__init__(properties=_properties(names, place), result_types=[IndexType()])

    def over(self, names: Sequence[str]) -> Linear:
        """Where it is, over all iterators of a nest, which have these names."""
        own = [each.data for each in self.iterators]
        line = Linear.of(self.index.data.results[0], len(own))
        return line.substitute(
            [Linear.iterator(names.index(n), len(names)) for n in own], len(names)
        )

    def move(self, old: Sequence[str], new: Sequence[str], places: Sequence[Linear]) -> None:
        """Says the same in a nest of iterators `new`: over them, iterator `old[i]` is `places[i]`."""
        place = self.over(old).substitute(places, len(new))
        self.properties.update(_properties(new, place))

    def verify_(self) -> None:
        nest = self.parent_op()
        if not isinstance(nest, NestOp):
            found = f"'{nest.name}'" if nest is not None else "no op"
            require(False, "C1", "expected to be in a region of a 'loop.nest', found {}", found)
            return
        names = [each.data for each in self.iterators]
        index = self.index.data
        fits = (index.num_dims, index.num_symbols, len(index.results)) == (len(names), 0, 1)
        require(fits, "C2", "expected one result over {} iterators, found {}", len(names), index)
        check_linear(index.results[0], len(names), "C2")
        distinct = len(set(names)) == len(names)
        require(distinct, "C2", "expected distinct iterators, found {}", ", ".join(names))
        for name in names:
            known = name in nest.names
            require(
                known, "C2", "expected one of {}, found {}", ", ".join(nest.names) or "none", name
            )
            iterator = nest.iterators.data[nest.names.index(name)]
            is_there = self.parent_region() is nest.body or not iterator.is_reduction
            require(is_there, "C3", "finish is behind all points of {}, which reduces", name)
        place = self.over(nest.names)
        pairs = zip(place.coefficients, nest.sizes, strict=True)
        reach = abs(place.constant) + sum(abs(c) * max(size - 1, 1) for c, size in pairs)
        require(reach < 1 << 63, "C2", "expected values of 64 bits, found up to {}", reach)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        names, expr = parse_open_affine_expr(parser)
        try:
            place = Linear.of(expr, len(names))
        except InarchError as error:
            parser.raise_error(error.message, start)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        parser.parse_keyword("index")
        op = cls(names, place)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        names = [each.data for each in self.iterators]
        printer.print_string(f" {print_affine_expr(self.index.data.results[0], names)}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : index")


def _properties(
    names: Sequence[str], place: Linear
) -> dict[str, ArrayAttr[StringAttr] | AffineMapAttr]:
    used = [i for i, coefficient in enumerate(place.coefficients) if coefficient]
    line = Linear(tuple(place.coefficients[i] for i in used), place.constant)
    return {
        "iterators": ArrayAttr([StringAttr(names[i]) for i in used]),
        "index": AffineMapAttr(AffineMap(len(used), 0, (line.expression(),))),
    }


def points_of(block: Block) -> list[PointOp]:
    """The `loop.point`s of a region of a nest."""
    return [op for op in block.ops if isinstance(op, PointOp)]
