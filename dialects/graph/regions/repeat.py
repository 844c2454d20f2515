"""`graph.while`: a body that runs as often as a number and a condition say, which are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i1, i32
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from inarch.core.lazy import np
from inarch.dialects.graph.op import Array, GraphOp, Tensor, tensor_of
from inarch.dialects.graph.regions.body import (
    check_arguments,
    check_ops,
    check_values,
    no_reference,
    types_text,
    yielded,
)
from inarch.dialects.graph.regions.text import parse_group, parse_rest, print_group, print_rest
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i64, tensor

_GROUPS = ("from", "all")
"""How the groups of operands behind the number and the condition are called in the text."""


@op_definition
class WhileOp(GraphOp):
    """`outs = while(iterations, condition, states, all)`: the body, `iterations` times at most.

        t = 0
        while t < iterations and condition:
            condition, states = body(t, states, all);  t = t + 1

    The results are the states after the last iteration: those that were given where there is none, as for a
    number of iterations below 0. `all` are the same at each iteration. It may never end.

    C1: `iterations` is a tensor<i64>, the condition a tensor<i1>. C2: the body's arguments have the types of
    `iterations`, of the states and of `all`. C3: the body is one block of graph ops that ends in
    `graph.yield` of the condition's type, then the states' types. C4: there is a state. C5: the body uses no
    value from outside.
    """

    MOVES: ClassVar[bool] = True
    iterations = operand_def(TensorType)
    condition = operand_def(TensorType)
    states = var_operand_def(TensorType)
    all = var_operand_def(TensorType)
    outs = var_result_def(TensorType)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    def __init__(
        self,
        iterations: SSAValue,
        condition: SSAValue,
        states: Sequence[SSAValue],
        everything: Sequence[SSAValue],
        body: Region,
    ) -> None:
        """Result types are those of the states."""
        super().__init__(
            operands=[iterations, condition, list(states), list(everything)],
            regions=[body],
            result_types=[[value.type for value in states]],
        )

    @property
    def yielded(self) -> Sequence[SSAValue]:
        """What an iteration makes: whether there may be another one, then the next states."""
        return yielded(self.body.block)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        flat = [parser.parse_unresolved_operand()]
        parser.parse_keyword("if")
        flat.append(parser.parse_unresolved_operand())
        sizes = [1, 1]
        for name in _GROUPS:
            parser.parse_keyword(name)
            group = parse_group(parser)
            sizes.append(len(group))
            flat += group
        segments = {"operandSegmentSizes": DenseArrayBase.from_list(i32, sizes)}
        return parse_rest(cls, parser, flat, start, segments)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.iterations)
        printer.print_string(" if ")
        printer.print_ssa_value(self.condition)
        for name, group in zip(_GROUPS, (self.states, self.all), strict=True):
            print_group(printer, group, name)
        print_rest(printer, self)

    def check(self) -> None:
        number, flag = tensor(i64, ()), tensor(i1, ())
        found = [self.iterations.type, self.condition.type]
        require(
            found == [number, flag],
            "C1",
            "expected a number of iterations and a condition ({}), found ({})",
            types_text([number, flag]),
            types_text(found),
        )
        kinds = list(self.states.types)
        check_arguments(self.body.block, [number, *kinds, *self.all.types], "C2")
        check_ops(self.body.block, "C3")
        check_values(self.body.block, "C5", "give it to all")
        handed = [value.type for value in self.yielded]
        require(
            handed == [flag, *kinds],
            "C3",
            "expected a body that yields a condition and the states ({}), found ({})",
            types_text([flag, *kinds]),
            types_text(handed),
        )
        require(len(kinds) > 0, "C4", "expected a state or more, found none")

    def infer(self) -> Sequence[Tensor]:
        return [tensor_of(value) for value in self.states]

    def verify_(self) -> None:
        count, found = len(self.states), len(self.outs)
        same = count == found
        require(same, "C0", f"expected as many results as states, {count}, found {found}")
        super().verify_()

    def reference(self, *operands: Array) -> Array | tuple[Array, ...]:
        raise no_reference(self, operands)

    def run(
        self, operands: Sequence[Array], body: Callable[[Sequence[Array]], Sequence[Array]]
    ) -> list[Array]:
        """The results on `operands`, where `body` gives what the block yields on its arguments."""
        iterations, goes_on = int(operands[0]), bool(operands[1])
        states = list(operands[2 : 2 + len(self.states)])
        everything = operands[2 + len(self.states) :]
        iteration = 0
        while iteration < iterations and goes_on:
            condition, *states = body([np.asarray(iteration, np.int64), *states, *everything])
            goes_on = bool(condition)
            iteration += 1
        return states


def while_block(states: Sequence[SSAValue]) -> Block:
    """An empty block with the arguments that the body of a while on these operands has."""
    return Block(arg_types=[tensor(i64, ()), *(value.type for value in states)])
