"""`graph.composite`: ops that a backend takes as one unit, as a region with a name; and `graph.yield`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure

from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import Array, GraphOp, Tensor, tensor_of
from inarch.dialects.graph.regions.text import parse_group, parse_rest, print_group, print_rest
from inarch.ir.context import ConstantStore
from inarch.ir.op import op_definition
from inarch.ir.payload.constants import constant_array
from inarch.ir.require import require


@op_definition
class YieldOp(IRDLOperation):
    """Ends the body of a `graph.composite`: its results."""

    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, *values: SSAValue) -> None:
        super().__init__(operands=[list(values)])


@op_definition
class CompositeRegionOp(GraphOp):
    """`outs = body(inputs)`: the ops of one match of a backend's pattern `symbol`, `a.conv_relu`.

    The body sees its arguments only; constants may be in it. Unlike softmax or gelu, which have a
    meaning of their own, it means what its body does.

    C1: the body's arguments have the types of the inputs. C2: the body is one block of graph ops
    (no calls, no composites) that ends in `graph.yield` of one value or more. C3: `symbol` is
    `<backend>.<pattern>`.
    """

    MOVES: ClassVar[bool] = True
    name = "graph.composite"
    symbol = prop_def(StringAttr)
    inputs = var_operand_def(TensorType)
    outs = var_result_def(TensorType)
    body = region_def("single_block")
    traits = traits_def(Pure(), IsolatedFromAbove())

    def __init__(self, symbol: str, inputs: Sequence[SSAValue], body: Region) -> None:
        """Result types are those that `body` yields."""
        last = body.block.last_op
        types = [value.type for value in last.operands] if last is not None else []
        super().__init__(
            operands=[list(inputs)],
            properties={"symbol": StringAttr(symbol)},
            regions=[body],
            result_types=[types],
        )

    @property
    def backend(self) -> str:
        """The backend whose pattern it is."""
        return self.symbol.data.partition(".")[0]

    @property
    def pattern(self) -> str:
        """The name of the pattern."""
        return self.symbol.data.partition(".")[2]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        symbol = parser.parse_str_literal()
        start = parser.pos
        return parse_rest(cls, parser, parse_group(parser), start, {"symbol": StringAttr(symbol)})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.symbol.data)
        print_group(printer, self.inputs)
        print_rest(printer, self, lone_result=True)

    def check(self) -> None:
        block = self.body.block
        expected, found = _types(self.inputs), _types(block.args)
        require(expected == found, "C1", f"expected body arguments ({expected}), found ({found})")
        *ops, last = block.ops or [None]
        ends = isinstance(last, YieldOp) and len(last.operands) > 0
        named = last.name if last is not None else "nothing"
        require(ends, "C2", f"expected a body that ends in graph.yield of values, found {named}")
        for op in ops:
            plain = isinstance(op, GraphOp) and not isinstance(op, CallOp | CompositeRegionOp)
            require(plain, "C2", f"expected graph ops in the body, found {op.name if op else op}")
        backend, dot, pattern = self.symbol.data.partition(".")
        fits = bool(backend and dot and pattern)
        require(fits, "C3", f'expected a name "backend.pattern", found "{self.symbol.data}"')

    def infer(self) -> Sequence[Tensor]:
        last = self.body.block.last_op
        assert last is not None  # C2
        return [tensor_of(value) for value in last.operands]

    def verify_(self) -> None:
        count = len(self.body.block.last_op.operands) if self.body.block.last_op else 0
        found = len(self.outs)
        require(
            count in (0, found),
            "C0",
            f"expected as many results as are yielded, {count} not {found}",
        )
        super().verify_()

    def reference(self, *operands: Array) -> Array | tuple[Array, ...]:
        """The body, op by op; constants that are handles need `evaluate` with their store."""
        return self.evaluate(operands, ConstantStore())

    def evaluate(self, operands: Sequence[Array], store: ConstantStore) -> tuple[Array, ...]:
        """The body, op by op, on `operands`; `store` has the bytes of its constants."""
        values: dict[SSAValue, Array] = dict(zip(self.body.block.args, operands, strict=True))
        last = self.body.block.last_op
        for op in self.body.block.ops:
            if op is last:
                break
            values.update(zip(op.results, _evaluate(op, values, store), strict=True))
        assert last is not None  # C2
        return tuple(values[value] for value in last.operands)


def _evaluate(op: object, values: dict[SSAValue, Array], store: ConstantStore) -> Sequence[Array]:
    assert isinstance(op, GraphOp)  # C2
    if isinstance(op, ConstantOp):
        return [constant_array(op.value, store)]
    found = op.reference(*(values[operand] for operand in op.operands))
    return found if isinstance(found, tuple) else [found]


def _types(values: Sequence[SSAValue]) -> str:
    return ", ".join(str(value.type) for value in values)


def body_of(arguments: Sequence[SSAValue]) -> Block:
    """An empty block with one argument for each value, of its type and name."""
    block = Block(arg_types=[value.type for value in arguments])
    for argument, value in zip(block.args, arguments, strict=True):
        argument.name_hint = value.name_hint
    return block
