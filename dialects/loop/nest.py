"""`loop.nest`: the structured loop nest, and the terminator of every region of `loop`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, MemRefType, i32
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    opt_region_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from inarch.dialects.loop.access import IteratorAttr, ReadAttr, WriteAttr, check_number
from inarch.dialects.loop.constraints.indices import check_indices
from inarch.dialects.loop.constraints.scan import check_scan
from inarch.dialects.loop.constraints.shared import check_shared
from inarch.dialects.loop.footprint import Overlapping, Places, Touch, Touching, place_of
from inarch.dialects.loop.indirect import base_of, iterators_of
from inarch.dialects.loop.memory import BufferOp, buffer_shape, check_linear, memref_of
from inarch.dialects.loop.nest_text import parse_accesses, print_accesses
from inarch.dialects.loop.overlap import check_overlaps, touches_of
from inarch.ir.index.affine import linear_form, print_affine_expr
from inarch.ir.op import op_definition
from inarch.ir.report.walk import ops_within
from inarch.ir.require import require


@op_definition
class YieldOp(IRDLOperation):
    """Ends a region of a `loop` op: the new accumulators of a nest, nothing in a `loop.for`."""

    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, *values: SSAValue) -> None:
        Operation.__init__(self, operands=values)  # as a nest's


def check_end(body: Region) -> None:
    """C2 of a loop: its body yields nothing. Raises VerifyException."""
    last = body.block.last_op
    if isinstance(last, YieldOp) and last.values:
        kinds = ", ".join(str(value.type) for value in last.values)
        raise VerifyException(
            f"C2: expected a body that yields nothing, found ({kinds}); what an iteration hands on to "
            "the next one is written to a buffer from outside of the loop"
        )


@op_definition
class NestOp(BufferOp, Overlapping, Touching):
    """A perfect nest with one scalar body.

        for each point p of the parallel iterators, in any order:
            acc = init                               (the output's element, where there is no init)
            for each point r of the reduction iterators:
                acc = body(ins[map(p, r)], acc)
            outs[map(p)] = finish(ins[map(p)], acc)  (acc, where there is no finish)

    With a scan iterator, which stands in the place of the reductions, each of its points writes:

            acc = init
            for each point s of the scan iterator, in order:
                acc = body(ins[map(p, s)], acc)
                outs[map(p, s)] = finish(ins[map(p, s)], acc)

    Iterators are written in the order in which the emitted loops run; a compile-time reordering is
    always legal. Both regions take the elements of `ins`, then one accumulator an output, and end in
    `loop.yield` of the new accumulators.

    An index of a read may be the element of another operand: `ins(%ids[i], %table[at(0), j])` reads
    row ids[i] of the table. A negative one counts from the end, any other is clamped to the dimension.

    So may an index of a write, `outs(%table[at(0), j])`, where a negative one counts from the end, too, and
    a point whose index is still outside does nothing. Such points may meet, and follow each other:

            for each point s of the scan iterator, in order:
                acc = outs[map(p, s)]
                outs[map(p, s)] = finish(ins[map(p, s)], body(ins[map(p, s)], acc))

    C0: buffers are static and signless. C1: iterators are well formed, with distinct names.
    C2: a map has one linear result a dimension of its buffer, over the iterators (but for C11).
    C3: every access is in bounds, except reads with `pad` and writes with `clip`.
    C4: a write's map uses no reduction iterator and all others (but a scan, where it has an `at(n)`), and
    no two points write one element, whatever is read; nor are two elements of the output one in memory.
    C5: the regions' arguments are the elements of `ins`, then of `outs`; they yield those of `outs`.
    C6: `finish` uses no operand that varies, or whose index does, with a reduction iterator.
    C7: pad and init have the buffer's element type.
    C8: an operand touches an element that an output writes only at the point that writes it, and no
    two outputs write one element; also through views. Two arguments of a function are different memory.
    C9: a scan iterator is serial and the only one, beside no reduction; every output has an init then,
    and does not clip (but for C12).
    C10: at most one iterator is `parallel`, and it stands outside the outermost reduction or scan.
    C11: `at(n)` is the whole index of a dimension that has an element, in a read without pad, or in a
    write; operand n is i32 or i64, and read at linear indices.
    C12: what is written `at(n)` is the only output, without init and clip, beside no reduction.
    """

    ins = var_operand_def(MemRefType)
    outs = var_operand_def(MemRefType)
    iterators = prop_def(ArrayAttr[IteratorAttr])
    reads = prop_def(ArrayAttr[ReadAttr])
    writes = prop_def(ArrayAttr[WriteAttr])
    body = region_def("single_block")
    finish = opt_region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    __hash__ = Operation.__hash__  # pyrefly takes each op for a dataclass, which would have none

    def __init__(
        self,
        iterators: Sequence[IteratorAttr],
        ins: Sequence[SSAValue],
        reads: Sequence[ReadAttr],
        outs: Sequence[SSAValue],
        writes: Sequence[WriteAttr],
        body: Region,
        finish: Region | None = None,
    ) -> None:
        Operation.__init__(  # not `IRDLOperation`'s, which asks what each part may be: thousands are made
            self,
            operands=[*ins, *outs],
            properties={
                "iterators": ArrayAttr(iterators),
                "reads": ArrayAttr(reads),
                "writes": ArrayAttr(writes),
                "operandSegmentSizes": DenseArrayBase.from_list(i32, [len(ins), len(outs)]),
            },
            regions=[body] if finish is None else [body, finish],
        )

    # -- views

    @property
    def names(self) -> tuple[str, ...]:
        """The iterators' names, outermost first."""
        return tuple(iterator.label.data for iterator in self.iterators)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The iterators' trip counts, outermost first."""
        return tuple(iterator.size.data for iterator in self.iterators)

    @property
    def has_reduction(self) -> bool:
        """Whether any iterator reduces."""
        return any(iterator.is_reduction for iterator in self.iterators)

    @property
    def has_scan(self) -> bool:
        """Whether an iterator scans."""
        return any(iterator.is_scan for iterator in self.iterators)

    @property
    def carries(self) -> bool:
        """Whether a point goes on from what another one has left: it reduces or scans."""
        return self.has_reduction or self.has_scan

    def read_map(self, index: int) -> AffineMap:
        """The map of operand `index`; it has symbols where an index is read (`loop/indirect.py`)."""
        return self.reads.data[index].map.data

    def write_map(self, index: int) -> AffineMap:
        """The map of output `index`."""
        return self.writes.data[index].map.data

    def yielded(self, region: Region) -> Sequence[SSAValue]:
        """What `body` or `finish` yields."""
        last = region.block.last_op
        assert isinstance(last, YieldOp)
        return tuple(last.values)

    def element_arguments(self, region: Region) -> tuple[BlockArgument, ...]:
        """The region's arguments that stand for the elements of `ins`."""
        return tuple(region.block.args[: len(self.ins)])

    def accumulators(self, region: Region) -> tuple[BlockArgument, ...]:
        """The region's arguments that stand for the accumulators, one an output."""
        return tuple(region.block.args[len(self.ins) :])

    # -- verification

    def verify_(self) -> None:
        self.check_buffers()
        require(len(set(self.names)) == len(self.names), "C1", "expected distinct iterator names")
        check_shared(self.iterators)
        counts = cast("Any", self.properties["operandSegmentSizes"]).get_values()
        wanted = (len(self.reads), len(self.writes))
        require(counts == wanted, "C2", "expected one access for each operand")
        check_scan(self.iterators.data, self.writes.data)
        check_indices(self)
        for value, read in zip(self.ins, self.reads, strict=True):
            self._check_access(value, base_of(read.map.data), free=read.is_padded)
            check_number(value, read.pad, "pad")
        for value, write in zip(self.outs, self.writes, strict=True):
            self._check_access(value, base_of(write.map.data), free=write.clips)
            check_number(value, write.init, "init")
            self._check_write(base_of(write.map.data), may_meet=write.is_indirect)
            kind = memref_of(value)
            distinct = place_of(value).is_injective
            require(distinct, "C4", "two elements of an output are one in memory: {}", kind)
        self._check_region(self.body)
        if self.finish is not None:
            self._check_region(self.finish)
            self._check_finish(self.finish)
        check_overlaps(self)

    def verify_overlaps(self, symbols: Mapping[str, Operation], places: Places) -> None:
        check_overlaps(self, places)

    def touches(self, symbols: Mapping[str, Operation]) -> list[Touch]:
        return touches_of(self)

    def _check_access(self, value: SSAValue, index: AffineMap, *, free: bool) -> None:
        shape = buffer_shape(value)
        count = len(self.iterators)
        require(
            index.num_dims == count and index.num_symbols == 0 and len(index.results) == len(shape),
            "C2",
            "expected a map from {} iterators to {} dimensions, found {}",
            count,
            len(shape),
            index,
        )
        unused = 0 in self.sizes and self._touches_nothing(index)
        for axis, (expr, size) in enumerate(zip(index.results, shape, strict=True)):
            coefficients, constant = check_linear(expr, count, "C2")
            if free or unused:
                continue
            spans = [c * (n - 1) for c, n in zip(coefficients, self.sizes, strict=True)]
            low = constant + sum(min(span, 0) for span in spans)
            high = constant + sum(max(span, 0) for span in spans)
            if low < 0 or high >= size:
                raise VerifyException(
                    f"C3: index {print_affine_expr(expr, self.names)} of dimension {axis} runs from "
                    f"{low} to {high}, outside a size of {size}"
                )

    def _touches_nothing(self, index: AffineMap) -> bool:
        """Of a nest with an iterator of no points, whether no point does: `finish` has no reduction."""
        empty = [i for i, size in enumerate(self.sizes) if size == 0]
        used = index.used_dims()
        return any(i in used or not self.iterators.data[i].is_reduction for i in empty)

    def _check_write(self, index: AffineMap, *, may_meet: bool) -> None:
        used: set[int] = set()
        for expr in index.results:
            coefficients, _ = linear_form(expr, len(self.iterators))
            terms = [
                (abs(c), self.sizes[i])
                for i, c in enumerate(coefficients)
                if c and self.sizes[i] > 1
            ]
            reached = 0
            for coefficient, size in sorted(terms):
                require(
                    coefficient > reached,
                    "C4",
                    f"{print_affine_expr(expr, self.names)} writes one element twice",
                )
                reached += coefficient * (size - 1)
            used |= {i for i, c in enumerate(coefficients) if c}
        for position, iterator in enumerate(self.iterators):
            name = iterator.label.data
            if iterator.is_reduction:
                require(position not in used, "C4", f"a write uses the reduction iterator {name}")
            elif iterator.size.data > 1 and not (may_meet and iterator.is_scan):
                kind, hint = iterator.kind.data, "; make it a scan" if may_meet else ""
                message = f"a write does not use the {kind} iterator {name}{hint}"
                require(position in used, "C4", message)

    def _check_region(self, region: Region) -> None:
        elements = [memref_of(value).element_type for value in (*self.ins, *self.outs)]
        found = [argument.type for argument in region.block.args]
        if found != elements:
            raise VerifyException(
                f"C5: expected arguments ({_types(elements)}), found ({_types(found)})"
            )
        last = region.block.last_op
        require(isinstance(last, YieldOp), "C5", "expected a region that ends in loop.yield")
        yielded = [value.type for value in self.yielded(region)]
        outs = elements[len(self.ins) :]
        if yielded != outs:
            raise VerifyException(
                f"C5: expected to yield ({_types(outs)}), found ({_types(yielded)})"
            )

    def _check_finish(self, finish: Region) -> None:
        for argument in self.element_arguments(finish):
            if argument.uses:
                varying = self.reduction_uses(argument.index)
                require(
                    not varying,
                    "C6",
                    f"finish uses operand {argument.index}, which varies with {', '.join(varying)}",
                )

    def reduction_uses(self, index: int) -> list[str]:
        """The names of the reduction iterators that the element of operand `index` varies with."""
        used = iterators_of(self, index)
        return [
            iterator.label.data
            for position, iterator in enumerate(self.iterators)
            if iterator.is_reduction and position in used
        ]

    # -- text

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        iterators = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: IteratorAttr.parse_in(parser)
        )
        names = [iterator.label.data for iterator in iterators]
        ins, reads, outs, writes = parse_accesses(parser, names)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        finish = parser.parse_region() if parser.parse_optional_keyword("finish") else None
        op = cls(iterators, ins, reads, outs, writes, body, finish)
        if attributes is not None:
            op.attributes |= attributes.data
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" (")
        printer.print_list(self.iterators, lambda iterator: iterator.print_in(printer))
        printer.print_string(")")
        print_accesses(printer, self)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)
        if self.finish is not None:
            printer.print_string(" finish ")
            printer.print_region(self.finish)


def _ins(nest: NestOp) -> Sequence[SSAValue]:
    return nest.operands[: len(nest.reads.data)]


def _outs(nest: NestOp) -> Sequence[SSAValue]:
    return nest.operands[len(nest.reads.data) :]


# By the accesses (C2): xDSL's own unpack an attribute at each use, of which a compilation has 30,000.
for _name, _view in (("ins", _ins), ("outs", _outs)):
    setattr(NestOp, _name, property(_view))


def _types(types: Sequence[Attribute]) -> str:
    return ", ".join(str(t) for t in types)


def nest_ops(op: Operation) -> list[NestOp]:
    """Every nest within `op`, in program order."""
    return [nested for nested in ops_within(op) if isinstance(nested, NestOp)]
