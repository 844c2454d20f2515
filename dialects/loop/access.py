"""The attributes of `loop.nest`, and their text: iterators, how operands are read, how outputs written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Self, TypeVar, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    NoneType,
    StringAttr,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from inarch.dialects.loop.memory import MemRef, memref_of
from inarch.dialects.scalar import Number, number_attribute
from inarch.ir.index.affine import indirect_map, parse_affine_expr, parse_optional_pick
from inarch.ir.numbers import number_text
from inarch.ir.require import require
from inarch.ir.types import dtype_of, i1, is_supported

KINDS = ("parallel", "reduction", "scan")
MODES = ("serial", "parallel", "unroll", "vector")


@irdl_attr_definition
class IteratorAttr(ParametrizedAttribute):
    """`#loop.iterator<name = size [reduction|scan] [parallel|unroll|vector]>`: one loop of a nest.

    `mode` says how the C emitter runs it: `serial` (a loop), `parallel` (a loop whose iterations threads
    share),
    `unroll` (copies of the body) or `vector` (lanes of vector registers; of a reduction, where a nest is an
    arg-reduction: lanes with a result each, which are put together). C1: size >= 0; kind and mode are
    known; a reduction or scan has not the mode `parallel`.
    """

    name = "loop.iterator"
    label: StringAttr
    size: IntAttr
    kind: StringAttr
    mode: StringAttr

    @classmethod
    def get(cls, label: str, size: int, kind: str = "parallel", mode: str = "serial") -> Self:
        """The iterator `label` of `size` points."""
        return _iterator(cls, label, size, kind, mode)

    def of_size(self, size: int) -> IteratorAttr:
        """The same with so many points."""
        return IteratorAttr.get(self.label.data, size, self.kind.data, self.mode.data)

    @property
    def is_reduction(self) -> bool:
        """Whether the accumulator is carried from point to point, and written behind the last one."""
        return self.kind.data == "reduction"

    @property
    def is_shared(self) -> bool:
        """Whether threads share its iterations."""
        return self.mode.data == "parallel"

    @property
    def is_scan(self) -> bool:
        """Whether the accumulator is carried from point to point in their order, and written at each."""
        return self.kind.data == "scan"

    def verify(self) -> None:
        if self.size.data < 0 or self.kind.data not in KINDS or self.mode.data not in MODES:
            raise VerifyException(
                f"C1: expected a size >= 0, a kind of {KINDS} and a mode of {MODES}, found "
                f"{self.size.data}, '{self.kind.data}', '{self.mode.data}'"
            )
        if self.kind.data != KINDS[0] and self.is_shared:
            raise VerifyException(
                f"C1: expected an iterator that carries nothing to be shared among threads, found "
                f"{self.kind.data} {self.label.data}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return cls.parse_in(parser).parameters

    @classmethod
    def parse_in(cls, parser: AttrParser) -> Self:
        """Parses `name = size [reduction|scan] [parallel|unroll|vector]`."""
        label = parser.parse_identifier()
        parser.parse_punctuation("=")
        size = parser.parse_integer(allow_boolean=False, allow_negative=False)
        kind = next((kind for kind in KINDS[1:] if parser.parse_optional_keyword(kind)), KINDS[0])
        mode = next((mode for mode in MODES if parser.parse_optional_keyword(mode)), "serial")
        start = parser.pos
        if (word := parser.parse_optional_identifier()) is not None:
            parser.raise_error(
                f"expected [reduction|scan] [parallel|unroll|vector] behind a size, found '{word}'",
                start,
            )
        return cls.get(label, size, kind, mode)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            self.print_in(printer)

    def print_in(self, printer: Printer) -> None:
        """Prints what `parse_in` parses."""
        kind = "" if self.kind.data == KINDS[0] else f" {self.kind.data}"
        mode = "" if self.mode.data == "serial" else f" {self.mode.data}"
        printer.print_string(f"{self.label.data} = {self.size.data}{kind}{mode}")


_Iterator = TypeVar("_Iterator", bound=IteratorAttr)


@lru_cache(maxsize=1024)  # xDSL verifies five attributes of each, and nests have few different ones
def _iterator(cls: type[_Iterator], label: str, size: int, kind: str, mode: str) -> _Iterator:
    return cls(StringAttr(label), IntAttr(size), StringAttr(kind), StringAttr(mode))


@irdl_attr_definition
class ReadAttr(ParametrizedAttribute):
    """`#loop.read<map, pad>`: element `map(iterators)` of an operand; outside it, `pad` (or none).

    The symbol n of the map is the element of operand n: an index that is read.
    """

    name = "loop.read"
    map: AffineMapAttr
    pad: Attribute

    @classmethod
    def get(cls, index: AffineMap, pad: Attribute | None = None) -> Self:
        """A read at `index`; `pad` is a typed number."""
        # Not `pad or ...`: xDSL's integer attribute of 0 is false.
        return cls(AffineMapAttr(index), NoneAttr() if pad is None else pad)

    @property
    def is_padded(self) -> bool:
        """Whether it may leave its operand, where it reads `pad`."""
        return not isinstance(self.pad, NoneAttr)

    @property
    def is_indirect(self) -> bool:
        """Whether an index of it is the element of another operand."""
        return self.map.data.num_symbols > 0

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return _parameters(parser)


@irdl_attr_definition
class WriteAttr(ParametrizedAttribute):
    """`#loop.write<map, init, clip>`: element `map(iterators)` of an output.

    `init` is the number at which the accumulator starts; none: the element's value before the nest.
    With `clip = "clip"`, writes outside the output are dropped (the tile runs over the edge).
    The symbol n of the map is the element of operand n: an index that is read.
    """

    name = "loop.write"
    map: AffineMapAttr
    init: Attribute
    clip: StringAttr

    @classmethod
    def get(cls, index: AffineMap, init: Attribute | None = None, *, clip: bool = False) -> Self:
        """A write at `index`; `init` is a typed number."""
        start = NoneAttr() if init is None else init
        return cls(AffineMapAttr(index), start, StringAttr("clip" if clip else "none"))

    @property
    def clips(self) -> bool:
        """Whether writes outside the output are dropped."""
        return self.clip.data == "clip"

    @property
    def is_indirect(self) -> bool:
        """Whether an index of it is the element of an operand."""
        return self.map.data.num_symbols > 0

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return _parameters(parser)


def _parameters(parser: AttrParser) -> list[Attribute]:
    """Those of an attribute; xDSL prints `none` for what is not there, and reads the type of that name."""
    found = parser.parse_paramattr_parameters()
    return [NoneAttr() if isinstance(each, NoneType) else each for each in found]


def number_of(attribute: Attribute) -> Number | None:
    """The Python number of a typed number, 0 or 1 for a bool; None for `none`."""
    if isinstance(attribute, FloatAttr):
        return attribute.value.data
    if isinstance(attribute, IntegerAttr):
        value = attribute.value.data
        is_bool = attribute.get_type() == i1
        return abs(value) if is_bool else value  # xDSL holds -1 for true
    return None


def typed(value: Number | None, element_type: Attribute) -> Attribute | None:
    """`value` as an attribute of that type, for ReadAttr.pad and WriteAttr.init."""
    return None if value is None else number_attribute(value, element_type)


def parse_map(parser: Parser, names: Sequence[str]) -> AffineMap:
    """`[i, j + 1]` over iterators of these names; an index may be `at(n)`."""

    def parse_index() -> AffineExpr:
        picked = parse_optional_pick(parser)
        return parse_affine_expr(parser, names) if picked is None else picked

    exprs = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_index)
    return indirect_map(len(names), exprs)


def parse_typed(
    parser: Parser, what: str, value: float | None, buffer: Attribute
) -> Attribute | None:
    """`value` as a number of the buffer's elements; an error where they have none that is equal."""
    if value is None or not isinstance(buffer, MemRefType):
        return None
    element = cast("MemRef", buffer).element_type
    if is_supported(element) and not dtype_of(element).is_float:
        bits = dtype_of(element).bits if element != i1 else 1
        # Of either sign: which one it is, is in the ops.
        low, high = -(1 << bits >> 1) if bits > 1 else 0, (1 << bits) - 1
        if not low <= value <= high or value != int(value):
            parser.raise_error(
                f"expected {what} that {element} has, from {low} to {high}, found {number_text(value)}"
            )
    return typed(value, element)


def check_number(value: SSAValue, number: Attribute, what: str) -> None:
    """C7 of a nest: a pad or an init is of the type of the buffer's elements."""
    wanted = memref_of(value).element_type
    found = getattr(number, "type", None)
    is_typed = number_of(number) is None or found == wanted
    require(is_typed, "C7", "expected {} of type {}, found {}", what, wanted, number)
