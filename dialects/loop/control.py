"""`loop.for`, the explicit loop, and `loop.call`, a call of a function on buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self, TypeAlias

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
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
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
from inarch.dialects.loop.nest import check_end
from inarch.ir.index.span import FAR, Counts, number_of_index, span_of
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i64
from inarch.ir.verify import SymbolUser

FOR_MODES = ("serial", "parallel", "unroll")
MAX_COPIES = 1024
"""Of the body of a loop that is unrolled: text that somebody must compile."""
_LARGEST = 1 << 63
"""Numbers of 64 bits are less."""
_LIKELY = 1 << 32
"""Where a computed loop may have more iterations than that, nothing is known of it."""


Bound: TypeAlias = int | SSAValue
"""A number, or a value of type index."""


@op_definition
class ForOp(BufferOp, Counts, SymbolUser):
    """`loop.for %i = lower to upper step step [parallel|unroll] { ... }`: an explicit loop.

    The body runs for `i = lower, lower + step, ...` while `i < upper`. Each of the three is a number or a
    value: `loop.for %j = 0 to %end step 64`; a constant is as good as a number. Values are read once, before
    the first iteration. A step that is computed and turns out to be 0 or less makes no iteration, and no
    iteration is begun for an `i` that 64 bits do not hold.
    `unroll`: as copies of the body, each with its number. `parallel`: in any order, or at once (threads share
    the loop of a kernel, where its bounds are numbers). The body may
    use `memref.load`, `memref.store`, `scf.if`, `arith` on indices, and nests on subviews.
    C1: the step, where it is known, is > 0, and the mode is known; numbers, and the upper one and the step
    together, are less than 2^63. C2: the region has one argument of type index, and yields
    nothing: no buffer of an iteration is handed on to the next one. C3: a loop that is
    unrolled has numbers for bounds, and makes, with those around it that are, at most 1024 copies. C4: no
    iteration of a parallel loop
    touches an element that another one writes (`verify_module`), through views, nests, kernels and calls,
    whatever a condition or a computed bound says; what cannot be shown to be so is refused. A `loop.alloc`
    in the body is each iteration's own. C5: a value for each bound that is no number. No access of
    `memref.load` or `memref.store` at indices that are linear in constants and in the indices of
    loops with numbers for bounds is outside of its buffer (`verify_module`); as of other loops nothing is
    known before, what is in them is not checked.
    """

    given = var_operand_def(IndexType)
    lower = opt_prop_def(IntAttr)
    upper = opt_prop_def(IntAttr)
    step = opt_prop_def(IntAttr)
    mode = prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self, lower: Bound, upper: Bound, step: Bound, body: Region, mode: str = "serial"
    ) -> None:
        bounds = {"lower": lower, "upper": upper, "step": step}
        numbers: dict[str, Attribute] = {
            name: IntAttr(each) for name, each in bounds.items() if isinstance(each, int)
        }
        super().__init__(
            operands=[[each for each in bounds.values() if not isinstance(each, int)]],
            properties=numbers | {"mode": StringAttr(mode)},
            regions=[body],
        )

    @property
    def induction(self) -> SSAValue:
        """The loop's index."""
        return self.body.block.args[0]

    @property
    def bounds(self) -> tuple[Bound, Bound, Bound]:
        """The lower and the upper one, and the step."""
        values = iter(self.given)
        lower, upper, step = (
            next(values) if each is None else each.data
            for each in (self.lower, self.upper, self.step)
        )
        return lower, upper, step

    def counted(self) -> range | None:
        spans = [span_of(bound) for bound in self.bounds]
        lower, upper, step = (low for low, _ in spans)
        is_known = all(low == high for low, high in spans) and step > 0
        return range(lower, upper, step) if is_known else None

    def spanned(self) -> range:
        (least, start), (_, most), (by, widest) = map(span_of, self.bounds)
        # From a lower bound that is not known, any number may be an iteration's.
        known = by if least == start >= -FAR and by == widest > 0 else 1
        return range(max(least, -FAR), min(most, FAR), known)

    @property
    def likely_trip_count(self) -> int:
        """For costs: its iterations; where they are computed, half of those that are possible, if few are."""
        numbers = self.counted()
        if numbers is not None:
            return len(numbers)
        among = self.spanned()
        step = max(among.step, number_of_index(self.bounds[2]) or 1)
        most = -(-(among.stop - among.start) // step)
        return max(1, most // 2) if most < _LIKELY else 1

    @property
    def copies(self) -> int:
        """How often the body is written: by this loop and those around it that are unrolled."""
        around = self.parent_op()
        while around is not None and not isinstance(around, ForOp):
            around = around.parent_op()
        numbers = self.counted() if self.mode.data == "unroll" else None
        mine = 1 if numbers is None else len(numbers)
        return mine * (around.copies if around is not None else 1)

    def verify_(self) -> None:
        unknown = [self.lower, self.upper, self.step].count(None)
        have = len(self.given)
        require(have == unknown, "C5", "expected {} values as bounds, found {}", unknown, have)
        self._verify_numbers()
        known = self.mode.data in FOR_MODES
        require(known, "C1", f"expected a mode of {FOR_MODES}, found '{self.mode.data}'")
        types = [argument.type for argument in self.body.block.args]
        require(types == [IndexType()], "C2", "expected a region with one argument of type index")
        check_end(self.body)
        if self.mode.data != "unroll":
            return
        computed = self.counted() is None
        require(not computed, "C3", "expected numbers as bounds of a loop that is unrolled")
        copies = self.copies
        require(
            copies <= MAX_COPIES, "C3", "expected at most {} copies, found {}", MAX_COPIES, copies
        )

    def _verify_numbers(self) -> None:
        lower, upper, step = map(number_of_index, self.bounds)
        require(step is None or step > 0, "C1", "expected a step > 0, found {}", step)
        for number in (lower, upper, step):
            fits = number is None or -_LARGEST <= number < _LARGEST
            require(fits, "C1", "expected bounds and a step of 64 bits, found {}", number)
        if lower is not None and upper is not None:
            fits = upper - lower < _LARGEST
            require(fits, "C1", "expected less than 2^63 numbers, found {} to {}", lower, upper)
        if upper is not None and step is not None:
            fits = upper + step < _LARGEST
            require(
                fits,
                "C1",
                "expected less than 2^63 for the upper bound and the step together, found {} and {}",
                upper,
                step,
            )

    def verify_symbols(self, symbols: Mapping[str, Operation]) -> None:
        if self.mode.data == "parallel":
            check_independent(self, symbols)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        induction = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        lower = _parse_bound(parser)
        parser.parse_keyword("to")
        upper = _parse_bound(parser)
        step = _parse_bound(parser) if parser.parse_optional_keyword("step") else 1
        modes = (mode for mode in FOR_MODES if parser.parse_optional_keyword(mode))
        mode = next(modes, "serial")
        body = parser.parse_region([induction.resolve(IndexType())])
        op = cls(lower, upper, step, body, mode)
        attributes = parser.parse_optional_attr_dict()
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        lower, upper, step = self.bounds
        printer.print_string(" ")
        printer.print_ssa_value(self.induction)
        for word, bound in ((" = ", lower), (" to ", upper), (" step ", step)):
            if word == " step " and bound == 1:
                continue
            printer.print_string(word)
            if isinstance(bound, int):
                printer.print_string(str(bound))
            else:
                printer.print_ssa_value(bound)
        mode = "" if self.mode.data == "serial" else f" {self.mode.data}"
        printer.print_string(f"{mode} ")
        printer.print_region(self.body, print_entry_block_args=False)
        if self.attributes:
            printer.print_op_attributes(self.attributes)


def _parse_bound(parser: Parser) -> Bound:
    value = parser.parse_optional_unresolved_operand()
    return parser.parse_integer() if value is None else parser.resolve_operand(value, IndexType())


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
        Operation.__init__(  # as a nest's
            self, operands=arguments, properties={"callee": SymbolRefAttr(callee)}
        )

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


def empty_loop(lower: Bound, upper: Bound, step: Bound = 1, mode: str = "serial") -> ForOp:
    """A `loop.for` whose body is empty, to be filled and ended with `loop.yield`."""
    return ForOp(lower, upper, step, Region(Block(arg_types=[IndexType()])), mode)
