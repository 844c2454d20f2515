"""`graph.scan`: a body that runs a number of times, with states that each iteration hands to the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i32
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure

from inarch.core.lazy import np
from inarch.dialects.graph.op import Array, GraphOp, Tensor, as_attribute, ints, shape_of, tensor_of
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

MAX_ITERATIONS = (1 << 31) - 1
"""What a counter of 32 bits holds; more would run for hours."""

_GROUPS = ("from", "each", "all")
"""How the three groups of operands are called in the text."""


@op_definition
class ScanOp(GraphOp):
    """`lasts, stacked = scan(states, each, all)`: the body for t = 0, 1, ..., iterations - 1.

        states, rows = body(states, each[0][t], each[1][t], ..., all);  stacked[j][t] = rows[j]

    Of an operand that is sliced, and of a result that is stacked, the first dimension counts the iterations;
    where `backward` is 1 for it, iteration t is at `iterations - 1 - t`. `backward` has a number for each
    operand of `each`, then one for each stacked result. The results are the states after the last iteration,
    then the stacked ones. `all` are the same at each iteration.

    C1: 1 <= iterations < 2**31. C2: an operand of `each` has `iterations` elements in its first dimension.
    C3: the body's arguments have the types of the states, of the operands of `each` without their first
    dimension, and of `all`. C4: the body is one block of graph ops that ends in `graph.yield` of the states'
    types, then of what is stacked. C5: `backward` has a 0 or a 1 for each operand of `each` and for what is
    stacked. C6: the body uses no value from outside.
    """

    MOVES: ClassVar[bool] = True
    iterations = prop_def(IntegerAttr.constr(type=i64))
    backward = prop_def(DenseArrayBase.constr(i64))
    states = var_operand_def(TensorType)
    each = var_operand_def(TensorType)
    all = var_operand_def(TensorType)
    outs = var_result_def(TensorType)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    def __init__(
        self,
        iterations: int,
        states: Sequence[SSAValue],
        each: Sequence[SSAValue],
        everything: Sequence[SSAValue],
        body: Region,
        backward: Sequence[int],
    ) -> None:
        """Result types are those that `body` yields. Raises VerifyException when a constraint fails."""
        kinds = [tensor_of(value) for value in yielded(body.block)]
        super().__init__(
            operands=[list(states), list(each), list(everything)],
            properties={
                "iterations": as_attribute(iterations),
                "backward": as_attribute(list(backward)),
            },
            regions=[body],
            result_types=[_result_types(kinds, len(states), iterations)],
        )

    @property
    def count(self) -> int:
        """How many iterations there are."""
        return self.iterations.value.data

    @property
    def yielded(self) -> Sequence[SSAValue]:
        """What an iteration makes: the next states, then what is stacked."""
        return yielded(self.body.block)

    @property
    def is_backward(self) -> tuple[list[bool], list[bool]]:
        """For each operand of `each`, and for each stacked result."""
        flags = [flag == 1 for flag in ints(self.backward)]
        return flags[: len(self.each)], flags[len(self.each) :]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        iterations = parser.parse_integer(allow_boolean=False)
        parser.parse_keyword("iterations")
        start = parser.pos
        flat: list[UnresolvedOperand] = []
        sizes: list[int] = []
        for name in _GROUPS:
            parser.parse_keyword(name)
            group = parse_group(parser)
            sizes.append(len(group))
            flat += group
        parser.parse_keyword("backward")
        backward = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        properties = {
            "iterations": as_attribute(iterations),
            "backward": as_attribute(backward),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, sizes),
        }
        return parse_rest(cls, parser, flat, start, properties)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.count} iterations")
        for name, group in zip(_GROUPS, (self.states, self.each, self.all), strict=True):
            print_group(printer, group, name)
        printer.print_string(f" backward [{', '.join(map(str, ints(self.backward)))}]")
        print_rest(printer, self)

    def check(self) -> None:
        count = self.count
        require(
            1 <= count <= MAX_ITERATIONS,
            "C1",
            "expected 1 to {} iterations, found {}",
            MAX_ITERATIONS,
            count,
        )
        for index, value in enumerate(self.each):
            fits = shape_of(value)[:1] == (count,)
            require(
                fits,
                "C2",
                "expected {} elements in the first dimension of operand {} of each, found {}",
                count,
                index,
                value.type,
            )
        slices = [_slice_of(tensor_of(value)) for value in self.each]
        check_arguments(self.body.block, [*self.states.types, *slices, *self.all.types], "C3")
        check_ops(self.body.block, "C4")
        check_values(self.body.block, "C6", "give it to all")
        kinds, handed = list(self.states.types), [value.type for value in self.yielded]
        require(
            handed[: len(kinds)] == kinds,
            "C4",
            "expected a body that yields the states ({}) first, found ({})",
            types_text(kinds),
            types_text(handed),
        )
        flags, number = ints(self.backward), len(self.each) + len(self.yielded) - len(self.states)
        require(
            len(flags) == number and set(flags) <= {0, 1},
            "C5",
            f"expected {number} numbers that are 0 or 1 in backward, found {list(flags)}",
        )

    def infer(self) -> Sequence[Tensor]:
        kinds = [tensor_of(value) for value in self.yielded]
        return _result_types(kinds, len(self.states), self.count)

    def verify_(self) -> None:
        count, found = len(self.yielded), len(self.outs)
        require(
            count == found, "C0", f"expected as many results as are yielded, {count}, found {found}"
        )
        super().verify_()

    def reference(self, *operands: Array) -> Array | tuple[Array, ...]:
        raise no_reference(self, operands)

    def run(
        self, operands: Sequence[Array], body: Callable[[Sequence[Array]], Sequence[Array]]
    ) -> list[Array]:
        """The results on `operands`, where `body` gives what the block yields on its arguments."""
        first, second = len(self.states), len(self.states) + len(self.each)
        states, each, everything = operands[:first], operands[first:second], operands[second:]
        taken, put = self.is_backward
        rows: list[list[Array]] = [[] for _ in put]
        for iteration in range(self.count):
            back = self.count - 1 - iteration
            slices = [x[back if flag else iteration] for x, flag in zip(each, taken, strict=True)]
            found = body([*states, *slices, *everything])
            states = found[:first]
            for column, row in zip(rows, found[first:], strict=True):
                column.append(row)
        stacked = [
            np.stack(column[::-1] if flag else column)
            for column, flag in zip(rows, put, strict=True)
        ]
        return [*states, *stacked]


def _slice_of(kind: Tensor) -> Tensor:
    return tensor(kind.element_type, kind.get_shape()[1:])


def _result_types(kinds: Sequence[Tensor], states: int, iterations: int) -> list[Tensor]:
    stacked = [tensor(t.element_type, (iterations, *t.get_shape())) for t in kinds[states:]]
    return [*kinds[:states], *stacked]


def scan_block(states: Sequence[SSAValue], each: Sequence[SSAValue]) -> Block:
    """An empty block with the arguments that the body of a scan of these operands has."""
    slices = [_slice_of(tensor_of(value)) for value in each]
    return Block(arg_types=[*(value.type for value in states), *slices])
