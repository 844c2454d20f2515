"""`kernel.call`: loops around a microkernel, and its operands at each point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    IntegerType,
    MemRefType,
    SymbolRefAttr,
)
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import prop_def, traits_def, var_operand_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.kernel.extents import Elements, around, touched
from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.constraints.shared import shared_twice
from inarch.dialects.loop.footprint import (
    Form,
    Overlapping,
    Places,
    Touch,
    Touching,
    iterations_apart,
    may_meet,
    place_of,
    span_of,
)
from inarch.dialects.loop.memory import BufferOp, MemRef, check_linear, memref_of, strides_of
from inarch.ir.index.affine import linear_form, parse_affine_expr, print_affine_expr
from inarch.ir.index.linear import Linear
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i64, storage_type
from inarch.ir.verify import SymbolUser
from inarch.meaning import free_sizes, parse


@op_definition
class CallOp(BufferOp, SymbolUser, Overlapping, Touching):
    """Runs a microkernel at every point of the loops around it, in their written order.

        kernel.call @gemm_4x16 for (i in 4, k in 2 reduction)
            (%a[i * 64 + k * 8] strides [16, 1], %b[k * 128] strides [16, 1], %c[i * 64] strides
            [16, 1]) sizes [8] : memref<16x16xf32>, memref<16x16xf32>, memref<16x16xf32>

    Operands are those of the `kernel.def`, in its order. At a point, one starts at its offset, in
    elements from element 0 of the buffer, linear in the loops' iterators, and has the given strides,
    in elements, outermost first, whatever the buffer's shape is. `sizes` are those that are free in
    the meaning, in the order in which it first names them. Parallel points may run in any order;
    those of a `reduction` accumulate. No loops: the `for (...)` is absent.

    C0: buffers are static, signless and strided. C1: sizes are >= 0, iterators have distinct
    names, and are serial but for one at most, whose iterations threads share (`i in 4 parallel`). C2: there
    is an operand, and one offset and one list of strides for each. C3: offsets are linear in the iterators.

    Checked against the definition (`verify_module`): C4: operands fit in number, dtype and rank, sizes
    in number. C5: an operand that is written varies with every parallel iterator and with no
    reduction; where there is a reduction it is updated. C6: no element that the meaning touches
    lies outside its buffer. C7: what is written does not overlap another operand, also through views
    of one buffer. C8: no two iterations of a parallel iterator write one element.
    """

    callee = prop_def(FlatSymbolRefAttrConstr)
    iterators = prop_def(ArrayAttr[IteratorAttr])
    arguments = var_operand_def(MemRefType)
    offsets = prop_def(ArrayAttr[AffineMapAttr])
    strides = prop_def(ArrayAttr[DenseArrayBase[IntegerType]])
    sizes = prop_def(DenseArrayBase.constr(i64))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        callee: str,
        iterators: Sequence[IteratorAttr],
        arguments: Sequence[SSAValue],
        offsets: Sequence[AffineMap],
        strides: Sequence[Sequence[int]],
        sizes: Sequence[int] = (),
    ) -> None:
        """`offsets` have one result each, over the iterators."""
        super().__init__(
            operands=[list(arguments)],
            properties={
                "callee": SymbolRefAttr(callee),
                "iterators": ArrayAttr(iterators),
                "offsets": ArrayAttr(AffineMapAttr(offset) for offset in offsets),
                "strides": ArrayAttr(DenseArrayBase.from_list(i64, each) for each in strides),
                "sizes": DenseArrayBase.from_list(i64, sizes),
            },
        )

    # -- views

    @property
    def names(self) -> tuple[str, ...]:
        """The iterators' names, outermost first."""
        return tuple(iterator.label.data for iterator in self.iterators)

    @property
    def trip_counts(self) -> tuple[int, ...]:
        """The iterators' sizes, outermost first."""
        return tuple(iterator.size.data for iterator in self.iterators)

    @property
    def size_values(self) -> tuple[int, ...]:
        """The sizes that the call gives."""
        return _integers(self.sizes)

    def strides_of(self, position: int) -> tuple[int, ...]:
        """The strides of operand `position`, in elements."""
        return _integers(self.strides.data[position])

    def offset_of(self, position: int) -> tuple[list[int], int]:
        """Operand `position` starts at `sum of coefficients[i] * iterator i + constant`."""
        return linear_form(self.offsets.data[position].data.results[0], len(self.iterators))

    # -- verification

    def verify_(self) -> None:
        self.check_buffers()
        numbers = [*self.size_values, *self.trip_counts]
        require(min(numbers, default=0) >= 0, "C1", f"expected sizes >= 0, found {numbers}")
        names = self.names
        distinct = len(set(names)) == len(names)
        require(distinct, "C1", f"expected distinct iterators, found {', '.join(names)}")
        loops = all(iterator.mode.data in ("serial", "parallel") for iterator in self.iterators)
        require(loops, "C1", "expected iterators that are serial or parallel")
        if (name := shared_twice(self.iterators)) is not None:
            raise VerifyException(f"C1: expected one parallel iterator at most, found also {name}")
        scans = [iterator.label.data for iterator in self.iterators if iterator.is_scan]
        message = f"expected parallel iterators and reductions, found the scan {', '.join(scans)}"
        require(not scans, "C1", message)
        count = len(self.arguments)
        require(count > 0, "C2", "expected at least one operand, found none")
        found = len(self.offsets), len(self.strides)
        fits = found == (count, count)
        require(fits, "C2", f"expected {count} offsets and lists of strides, found {found}")
        for attribute in self.offsets:
            index = attribute.data
            shaped = index.num_dims == len(names) and not index.num_symbols
            one = shaped and len(index.results) == 1
            wanted = "expected an offset over {} iterators, found {}"
            require(one, "C3", wanted, len(names), index)
            check_linear(index.results[0], len(names), "C3")

    def verify_symbols(self, symbols: Mapping[str, Operation]) -> None:
        callee = self.callee.root_reference.data
        definition = symbols[callee]
        if not isinstance(definition, DefOp):
            raise VerifyException(f"C4: expected a kernel.def, found '{definition.name}' @{callee}")
        self._check_operands(definition)
        self._check_loops(definition)
        self._check_shared(definition)
        self._check_inside(definition)
        self._check_overlaps(definition)

    def verify_overlaps(self, symbols: Mapping[str, Operation], places: Places) -> None:
        definition = symbols[self.callee.root_reference.data]
        if isinstance(definition, DefOp):  # else it has an error of its own
            self._check_operands(definition)
            self._check_overlaps(definition, places)

    def touches(self, symbols: Mapping[str, Operation]) -> list[Touch]:
        definition = symbols[self.callee.root_reference.data]
        try:
            self.verify_symbols(symbols)
        except VerifyException:  # an error of its own
            return []
        assert isinstance(definition, DefOp), "it has been verified"
        operands = zip(definition.arguments, self.arguments, self.elements(definition), strict=True)
        return [
            Touch(
                value,
                operand.access.data != "read",
                form.sizes,
                (Linear(form.coefficients, form.constant),),
                f" (operand {operand.label.data} of @{definition.sym_name.data})",
                is_flat=True,
            )
            for operand, value, forms in operands
            for form in forms
        ]

    def _check_operands(self, definition: DefOp) -> None:
        """C4."""
        wanted, found = len(definition.arguments), len(self.arguments)
        require(wanted == found, "C4", f"expected {wanted} operands, found {found}")
        for position, operand in enumerate(definition.arguments):
            label, kind = operand.label.data, memref_of(self.arguments[position])
            same = kind.element_type == storage_type(operand.dtype)
            wanted = "expected operand {} of type {}, found {}"
            require(same, "C4", wanted, label, operand.dtype, kind)
            rank, strides = operand.rank.data, list(self.strides_of(position))
            fits = len(strides) == rank
            require(fits, "C4", f"expected {rank} strides of operand {label}, found {strides}")
        names, sizes = free_sizes(parse(definition.computes.data)), self.size_values
        message = f"expected sizes of {', '.join(names) or 'nothing'}, found {list(sizes)}"
        require(len(names) == len(sizes), "C4", message)

    def _check_loops(self, definition: DefOp) -> None:
        """C5."""
        for position, operand in enumerate(definition.arguments):
            if operand.access.data == "read":
                continue
            label, coefficients = operand.label.data, self.offset_of(position)[0]
            for iterator, coefficient in zip(self.iterators, coefficients, strict=True):
                if iterator.size.data <= 1:
                    continue
                name = iterator.label.data
                if not iterator.is_reduction:
                    message = (
                        f"operand {label} is written and does not use parallel iterator {name}"
                    )
                    require(coefficient != 0, "C5", message)
                    continue
                message = f"operand {label} is written and uses reduction iterator {name}"
                require(coefficient == 0, "C5", message)
                message = (
                    f"reduction {name} overwrites operand {label}, which the kernel begins anew"
                )
                require(operand.access.data == "update", "C5", message)

    def _check_shared(self, definition: DefOp) -> None:
        """C8."""
        for axis, iterator in enumerate(self.iterators):
            if not iterator.is_shared:
                continue
            label = self.written_twice(definition, axis, self.elements(definition))
            name = iterator.label.data
            message = (
                f"two iterations of parallel iterator {name} write one element of operand {label}"
            )
            require(label is None, "C8", message)

    def written_twice(
        self, definition: DefOp, axis: int, elements: Sequence[Sequence[Form]]
    ) -> str | None:
        """The operand, if any, of whose `elements` two iterations of the iterator at `axis` may write one."""
        for operand, forms in zip(definition.arguments, elements, strict=True):
            if operand.access.data != "read" and forms and not iterations_apart(forms, axis):
                return operand.label.data
        return None

    def elements(self, definition: DefOp) -> tuple[tuple[Form, ...], ...]:
        """What each operand touches, in elements from element 0 of its buffer.

        Found once, as long as the call and the definition say the same: the verifier and passes ask again.
        """
        said = (definition.computes, definition.arguments, *self.properties.values())
        own = vars(self)
        held: Elements | None = own.get("_elements")
        if held is None or not held.are_of(said):
            held = own["_elements"] = Elements(said, self._elements_of(definition))
        return held.found

    def _elements_of(self, definition: DefOp) -> tuple[tuple[Form, ...], ...]:
        meaning = parse(definition.computes.data)
        labels = [operand.label.data for operand in definition.arguments]
        strides = {label: self.strides_of(position) for position, label in enumerate(labels)}
        values = dict(zip(free_sizes(meaning), self.size_values, strict=True))
        own = touched(meaning, values, strides)
        return tuple(
            around(own.get(label, []), self.trip_counts, *self.offset_of(position))
            for position, label in enumerate(labels)
        )

    def _check_inside(self, definition: DefOp) -> None:
        """C6."""
        for position, forms in enumerate(self.elements(definition)):
            if not forms:
                continue
            low, high = span_of(forms)
            kind = memref_of(self.arguments[position])
            last = _last_element(kind)
            label = definition.arguments.data[position].label.data
            is_inside = low >= 0 and high <= last
            message = "operand {} touches elements {} to {}, outside of {}, which has 0 to {}"
            require(is_inside, "C6", message, label, low, high, kind, last)

    def _check_overlaps(self, definition: DefOp, places: Places | None = None) -> None:
        """C7, where the buffers are where `places` say."""
        found = [place_of(value, places) for value in self.arguments]
        if len({place.buffer for place in found}) == len(found):
            return
        labels = [operand.label.data for operand in definition.arguments]
        touched_by = [
            [form.moved(place.offset) for form in forms]
            for place, forms in zip(found, self.elements(definition), strict=True)
        ]
        for written, operand in enumerate(definition.arguments):
            if operand.access.data == "read":
                continue
            for other in range(len(found)):
                theirs, own = touched_by[other], touched_by[written]
                if other == written or not may_meet(found[other], theirs, found[written], own):
                    continue
                (low, high), (first, last) = span_of(theirs), span_of(own)
                raise VerifyException(
                    f"C7: operand {labels[other]} touches elements {low} to {high} "
                    f"of the buffer in which operand {labels[written]} is written, {first} to {last}"
                )

    # -- text

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = parser.parse_symbol_name().data
        iterators: list[IteratorAttr] = []
        if parser.parse_optional_keyword("for"):
            iterators = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: _parse_iterator(parser)
            )
        names = [iterator.label.data for iterator in iterators]
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_operand(parser, names)
        )
        parser.parse_keyword("sizes")
        sizes = _parse_integers(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_optional_type)
        arguments = parser.resolve_operands(
            [operand for operand, _, _ in operands],
            [kind for kind in types if kind is not None],
            parser.pos,
        )
        offsets = [offset for _, offset, _ in operands]
        op = cls(callee, iterators, arguments, offsets, [s for _, _, s in operands], sizes)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.callee.root_reference.data)
        if self.iterators:
            printer.print_string(f" for ({', '.join(map(_iterator_text, self.iterators))}) ")
        printer.print_string("(")
        printer.print_list(range(len(self.arguments)), lambda n: self._print_operand(printer, n))
        printer.print_string(f") sizes {list(self.size_values)}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list(self.arguments.types, printer.print_attribute)

    def _print_operand(self, printer: Printer, position: int) -> None:
        printer.print_ssa_value(self.arguments[position])
        offset = print_affine_expr(self.offsets.data[position].data.results[0], self.names)
        printer.print_string(f"[{offset}] strides {list(self.strides_of(position))}")


def _last_element(buffer: MemRef) -> int:
    """The offset of a buffer's last element from its element 0; -1 for an empty one."""
    form = Form(strides_of(buffer), tuple(buffer.get_shape()), 0)
    return -1 if form.is_empty else form.span[1]


def _integers(array: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    return tuple(int(value) for value in array.get_values())


def _iterator_text(iterator: IteratorAttr) -> str:
    kind = " reduction" if iterator.is_reduction else " parallel" if iterator.is_shared else ""
    return f"{iterator.label.data} in {iterator.size.data}{kind}"


def _parse_iterator(parser: Parser) -> IteratorAttr:
    label = parser.parse_identifier()
    parser.parse_keyword("in")
    size = parser.parse_integer(allow_boolean=False, allow_negative=False)
    if parser.parse_optional_keyword("reduction"):
        return IteratorAttr.get(label, size, "reduction")
    mode = "parallel" if parser.parse_optional_keyword("parallel") else "serial"
    return IteratorAttr.get(label, size, mode=mode)


def _parse_operand(
    parser: Parser, names: Sequence[str]
) -> tuple[UnresolvedOperand, AffineMap, list[int]]:
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation("[")
    offset = parse_affine_expr(parser, names)
    parser.parse_punctuation("]")
    parser.parse_keyword("strides")
    return operand, AffineMap(len(names), 0, (offset,)), _parse_integers(parser)


def _parse_integers(parser: Parser) -> list[int]:
    return parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
    )
