"""`loop.for`, the explicit loop, and `loop.call`, a call of a function on buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from xdsl.dialects.builtin import (
    FlatSymbolRefAttrConstr,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import opt_prop_def, prop_def, region_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from inarch.dialects.loop.buffer import check_offset
from inarch.dialects.loop.dependence.check import check_independent
from inarch.dialects.loop.footprint import (
    Overlapping,
    Place,
    Places,
    may_meet,
    place_of,
    written_by_import,
)
from inarch.dialects.loop.memory import BufferOp
from inarch.ir.index.inside import Counts
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i64
from inarch.ir.verify import SymbolUser

FOR_MODES = ("serial", "parallel", "unroll")
MAX_COPIES = 1024
"""Of the body of a loop that is unrolled: text that somebody must compile."""


@op_definition
class ForOp(BufferOp, Counts, SymbolUser):
    """`loop.for %i = lower to upper step step [parallel|unroll] { ... }`: an explicit loop.

    The body runs for `i = lower, lower + step, ...` while `i < upper`. `unroll`: as copies of the body, each
    with its number. `parallel`: in any order, or at once (threads share the loop of a kernel). The body may
    use `memref.load`, `memref.store`, `scf.if`, `arith` on indices, and nests on subviews.
    C1: step > 0 and the mode is known. C2: the region has one argument of type index. C3: a loop that is
    unrolled, with those around it that are, makes at most 1024 copies. C4: no iteration of a parallel loop
    touches an element that another one writes (`verify_module`), through views, nests, kernels and calls,
    whatever a condition says; what cannot be shown to be so is refused. A `loop.alloc` in the body is each
    iteration's own. No access of
    `memref.load` or `memref.store` at indices that are linear in constants and in the indices of
    loops is outside of its buffer (`verify_module`).
    """

    name = "loop.for"
    lower = prop_def(IntAttr)
    upper = prop_def(IntAttr)
    step = prop_def(IntAttr)
    mode = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self, lower: int, upper: int, step: int, body: Region, mode: str = "serial"
    ) -> None:
        super().__init__(
            properties={
                "lower": IntAttr(lower),
                "upper": IntAttr(upper),
                "step": IntAttr(step),
                "mode": StringAttr(mode),
            },
            regions=[body],
        )

    @property
    def induction(self) -> SSAValue:
        """The loop's index."""
        return self.body.block.args[0]

    def counted(self) -> range:
        return range(self.lower.data, self.upper.data, self.step.data)

    @property
    def copies(self) -> int:
        """How often the body is written: by this loop and those around it that are unrolled."""
        around = self.parent_op()
        while around is not None and not isinstance(around, ForOp):
            around = around.parent_op()
        mine = len(self.counted()) if self.mode.data == "unroll" else 1
        return mine * (around.copies if around is not None else 1)

    def verify_(self) -> None:
        require(self.step.data > 0, "C1", f"expected a step > 0, found {self.step.data}")
        known = self.mode.data in FOR_MODES
        require(known, "C1", f"expected a mode of {FOR_MODES}, found '{self.mode.data}'")
        types = [argument.type for argument in self.body.block.args]
        require(types == [IndexType()], "C2", "expected a region with one argument of type index")
        copies = self.copies if self.mode.data == "unroll" else 0
        require(
            copies <= MAX_COPIES, "C3", "expected at most {} copies, found {}", MAX_COPIES, copies
        )

    def verify_symbols(self, symbols: Mapping[str, Operation]) -> None:
        if self.mode.data == "parallel":
            check_independent(self, symbols)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        induction = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        lower = parser.parse_integer()
        parser.parse_keyword("to")
        upper = parser.parse_integer()
        step = parser.parse_integer() if parser.parse_optional_keyword("step") else 1
        modes = (mode for mode in FOR_MODES if parser.parse_optional_keyword(mode))
        mode = next(modes, "serial")
        body = parser.parse_region([induction.resolve(IndexType())])
        op = cls(lower, upper, step, body, mode)
        attributes = parser.parse_optional_attr_dict()
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.induction)
        mode = "" if self.mode.data == "serial" else f" {self.mode.data}"
        step = "" if self.step.data == 1 else f" step {self.step.data}"
        printer.print_string(f" = {self.lower.data} to {self.upper.data}{step}{mode} ")
        printer.print_region(self.body, print_entry_block_args=False)
        if self.attributes:
            printer.print_op_attributes(self.attributes)


@op_definition
class CallOp(BufferOp, SymbolUser, Overlapping):
    """`loop.call @f(%a, %b) : memref<...>, ...`: calls a function of the module on buffers.

    A function without a body is an import: at run time a slot of the library's import table.
    The callee's existence is checked once a module (`verify_module`), its signature by `plan-memory`, which
    says where in the caller's workspace that of the callee is, if it has one, and for how many threads at
    most, each of which has its own: `loop.call @f(%a) at 4096 for 8 : memref<...>`.
    C0: buffers are static. C1: where two arguments share memory, the function does with them only what its
    ops may do with one buffer; an import writes to no memory that another argument has. C2: a
    workspace is at an offset >= 0 that is a multiple of 64, for one thread or more.
    """

    name = "loop.call"
    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def(MemRefType)
    workspace = opt_prop_def(IntegerAttr.constr(type=i64))
    threads = opt_prop_def(IntegerAttr.constr(type=i64))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$callee `(` $arguments `)` (`at` $workspace^)? (`for` $threads^)? attr-dict `:` "
        "type($arguments)"
    )

    def __init__(self, callee: str, arguments: Sequence[SSAValue]) -> None:
        super().__init__(operands=[list(arguments)], properties={"callee": SymbolRefAttr(callee)})

    def verify_(self) -> None:
        self.check_buffers()
        check_offset(self.workspace, "C2")
        threads = 1 if self.threads is None else self.threads.value.data
        require(threads > 0, "C2", f"expected one thread or more, found {threads}")

    def verify_symbols(self, symbols: Mapping[str, Operation]) -> None:
        self.verify_overlaps(symbols, {})

    def verify_overlaps(
        self, symbols: Mapping[str, Operation], places: Places, active: frozenset[str] = frozenset()
    ) -> None:
        """C1; `active` are the functions around the call, each looked into once."""
        name = self.callee.root_reference.data
        function = symbols.get(name)
        found = [place_of(value, places) for value in self.arguments]
        shares = len({place.buffer for place in found}) < len(found)
        if not isinstance(function, FuncOp) or name in active or not shares:
            return
        if function.is_declaration:
            self._check_import(function, found)
            return
        given: dict[SSAValue, Place] = dict(zip(function.body.block.args, found, strict=False))
        for op in function.walk():
            try:
                if isinstance(op, CallOp):
                    op.verify_overlaps(symbols, given, active | {name})
                elif isinstance(op, Overlapping):
                    op.verify_overlaps(symbols, given)
            except VerifyException as error:
                inside = f"C1: @{name} is given one buffer twice, and in it '{op.name}' {error}"
                raise VerifyException(inside) from error

    def _check_import(self, function: FuncOp, found: Sequence[Place]) -> None:
        """C1 for an import: its results are marked `inarch.result`, or else the last argument is."""
        count = len(found)
        for result in written_by_import(function) & {*range(count)}:
            for other in set(range(count)) - {result}:
                a, b = found[other], found[result]
                require(
                    not may_meet(a, [a.elements], b, [b.elements]),
                    "C1",
                    f"expected argument {result}, which import @{function.sym_name.data} writes, in "
                    f"memory of its own, found that of argument {other}",
                )


def empty_loop(lower: int, upper: int, step: int = 1, mode: str = "serial") -> ForOp:
    """A `loop.for` whose body is empty, to be filled and ended with `loop.yield`."""
    return ForOp(lower, upper, step, Region(Block(arg_types=[IndexType()])), mode)
