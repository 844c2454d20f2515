"""`kernel.pack`: a copy into the layout that a microkernel wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from xdsl.dialects.builtin import AffineMapAttr, MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import operand_def, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from inarch.core.lazy import Array, np
from inarch.dialects.loop.access import IteratorAttr, ReadAttr, WriteAttr, typed
from inarch.dialects.loop.footprint import Overlapping, Places, Touch, Touching, may_meet, place_of
from inarch.dialects.loop.memory import BufferOp, buffer_shape, check_linear, memref_of
from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.ir.index.affine import linear_form, print_affine_expr
from inarch.ir.index.linear import Linear, linear_map
from inarch.ir.op import op_definition
from inarch.ir.require import require


@op_definition
class PackOp(BufferOp, Overlapping, Touching):
    """`dst[i] = src[map(i)]` for every element of dst; 0 where `map(i)` is outside src.

        kernel.pack %w[o * 16 + v, i] to %p[o, i, v] : memref<20x3xf32>, memref<2x3x16xf32>

    The iterators are the dimensions of dst (the text may call them anything; they print as `d0`,
    `d1`, ...). C0: buffers are static, signless and strided. C1: both have one element type. C2:
    the map has one linear result a dimension of src, over the dimensions of dst. C3: dst is not
    src, nor do views of one buffer overlap.
    """

    src = operand_def(MemRefType)
    dst = operand_def(MemRefType)
    map = prop_def(AffineMapAttr)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, src: SSAValue, index: AffineMapAttr, dst: SSAValue) -> None:
        super().__init__(operands=[src, dst], properties={"map": index})

    def verify_(self) -> None:
        self.check_buffers()
        src, dst = memref_of(self.src).element_type, memref_of(self.dst).element_type
        require(src == dst, "C1", "expected one element type, found {} and {}", src, dst)
        index, dims = self.map.data, len(buffer_shape(self.dst))
        results = len(buffer_shape(self.src))
        fits = index.num_dims == dims and index.num_symbols == 0 and len(index.results) == results
        wanted = "expected a map from {} to {} dimensions, found {}"
        require(fits, "C2", wanted, dims, results, index)
        for expr in index.results:
            check_linear(expr, dims, "C2")
        self.verify_overlaps({}, {})

    def verify_overlaps(self, symbols: Mapping[str, Operation], places: Places) -> None:
        """C3."""
        src, dst = place_of(self.src, places), place_of(self.dst, places)
        apart = not may_meet(src, [src.elements], dst, [dst.elements])
        require(apart, "C3", "expected two buffers, found one")

    def as_nest(self) -> NestOp:
        """The copy nest that this is: one iterator a dimension of dst, reads padded with 0."""
        shape, kind = buffer_shape(self.dst), memref_of(self.dst).element_type
        body = Block(arg_types=[kind, kind])
        body.add_op(YieldOp(body.args[0]))
        nest = NestOp(
            [IteratorAttr.get(f"d{dim}", size) for dim, size in enumerate(shape)],
            [self.src],
            [ReadAttr.get(self.map.data, typed(0, kind))],
            [self.dst],
            [WriteAttr.get(AffineMap.identity(len(shape)))],
            Region(body),
        )
        nest.location = self.location
        return nest

    def touches(self, symbols: Mapping[str, Operation]) -> list[Touch]:
        shape = buffer_shape(self.dst)
        read = Touch(self.src, False, shape, linear_map(self.map.data), is_exact=False)
        return [read, Touch.of_all(self.dst, writes=True, is_exact=True)]

    def reference(self, src: Array) -> Array:
        """The contents of dst, row-major."""
        return packed(self.map.data, buffer_shape(self.dst), src)

    # -- text

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        src = parser.parse_unresolved_operand()
        terms = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _parse_linear(parser)
        )
        parser.parse_keyword("to")
        dst = parser.parse_unresolved_operand()
        names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_identifier)
        if unknown := sorted({name for form in terms for name in form} - {"", *names}):
            parser.raise_error(f"expected the iterators {names}, found '{unknown[0]}'")
        if len(set(names)) != len(names):
            parser.raise_error(f"expected distinct iterators, found {names}")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        src_type = parser.parse_type()
        parser.parse_punctuation(",")
        dst_type = parser.parse_type()
        results = tuple(_expression(form, names) for form in terms)
        op = cls(
            parser.resolve_operand(src, src_type),
            AffineMapAttr(AffineMap(len(names), 0, results)),
            parser.resolve_operand(dst, dst_type),
        )
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        names = [f"d{dim}" for dim in range(self.map.data.num_dims)]
        exprs = [print_affine_expr(expr, names) for expr in self.map.data.results]
        printer.print_string(" ")
        printer.print_ssa_value(self.src)
        printer.print_string(f"[{', '.join(exprs)}] to ")
        printer.print_ssa_value(self.dst)
        printer.print_string(f"[{', '.join(names)}]")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.src.type)
        printer.print_string(", ")
        printer.print_attribute(self.dst.type)


def packed(index: AffineMap, shape: tuple[int, ...], src: Array) -> Array:
    """`src` at `index` over `shape`, row-major: one copy where all is inside src, else a gather."""
    if 0 in src.shape or 0 in shape:
        return np.zeros(shape, src.dtype)
    forms = linear_map(index)
    bounds = [form.bounds(shape) for form in forms]
    if all(low >= 0 and high < n for (low, high), n in zip(bounds, src.shape, strict=True)):
        return _copied(_view(src, forms, shape))
    return _gathered(index, shape, src)


def _copied(view: Array) -> Array:
    """`view`, row-major. A row that is dense is copied as one element: in half the time, or less."""
    rank, row = view.ndim, view.itemsize
    while rank and view.strides[rank - 1] == row < _LONG_ROW:
        rank, row = rank - 1, row * view.shape[rank - 1]
    if rank == view.ndim:
        return np.array(view, order="C")
    rows = view.reshape(*view.shape[:rank], row // view.itemsize).view(np.dtype((np.void, row)))
    return np.array(rows, order="C").view(view.dtype).reshape(view.shape)


def _gathered(index: AffineMap, shape: tuple[int, ...], src: Array) -> Array:
    """Index arrays that broadcast; 0 where they are outside."""
    indices: list[Array] = []
    outside: list[Array] = []
    for expr, size in zip(index.results, src.shape, strict=True):
        places = _positions(expr, shape)
        indices.append(np.clip(places, 0, size - 1))
        invalid = (places < 0) | (places >= size)
        if invalid.any():
            outside.append(invalid)
    # A dimension of dst that no index uses has size 1 so far.
    result = np.array(np.broadcast_to(src[tuple(indices)], shape), order="C")
    for invalid in outside:
        np.copyto(result, 0, where=invalid)
    return result


_LONG_ROW = 4096
"""Bytes of a row that NumPy copies as fast in elements; the size of one is bounded."""


def _view(src: Array, index: Sequence[Linear], shape: tuple[int, ...]) -> Array:
    """The elements of `src` at `index`, all of which are inside, over `shape`."""
    first = src[tuple(slice(form.constant, None) for form in index)]
    strides = [
        sum(form.coefficients[axis] * step for form, step in zip(index, src.strides, strict=True))
        for axis in range(len(shape))
    ]
    return np.lib.stride_tricks.as_strided(first, shape, strides, writeable=False)


def _positions(expr: AffineExpr, shape: tuple[int, ...]) -> Array:
    """The values of an index expression over `shape`; dimensions it does not use have size 1."""
    coefficients, constant = linear_form(expr, len(shape))
    total = np.full((1,) * len(shape), constant)
    for axis, coefficient in enumerate(coefficients):
        if coefficient:
            line = np.arange(shape[axis]) * coefficient
            total = total + line.reshape([-1 if d == axis else 1 for d in range(len(shape))])
    return total


def _parse_linear(parser: Parser) -> dict[str, int]:
    """Parses `o * 16 + v - 1`: the coefficient of each name, and the constant under ''.

    The names are those of the list that follows, so they are not known yet.
    """
    form: dict[str, int] = {}
    sign = -1 if parser.parse_optional_punctuation("-") else 1
    while True:
        name = parser.parse_optional_identifier()
        if name is None:
            name, factor = "", parser.parse_integer(allow_boolean=False, allow_negative=False)
        else:
            times = parser.parse_optional_punctuation("*")
            factor = parser.parse_integer(allow_boolean=False) if times else 1
        form[name] = form.get(name, 0) + sign * factor
        if parser.parse_optional_punctuation("+"):
            sign = 1
        elif parser.parse_optional_punctuation("-"):
            sign = -1
        else:
            return form


def _expression(form: dict[str, int], names: list[str]) -> AffineExpr:
    expr = AffineExpr.constant(form.get("", 0))
    for dim, name in enumerate(names):
        if coefficient := form.get(name, 0):
            expr = expr + AffineExpr.dimension(dim) * coefficient
    return expr.simplify(len(names), 0)
