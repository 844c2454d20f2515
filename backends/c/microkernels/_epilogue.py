"""What an instance does after the reduction: `finish` of each accumulator, then the stores to C.

All of it is on vectors of all lanes, which `write/value/vectors.py` writes. A few instructions stay in the
registers of the tile. With a function of `VECTORS` the tile goes through a buffer in L1 and a loop over its
vectors: the functions of `backends/c/write/value/elementary.py` would else be written out once a register.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from inarch.backends.c.text import Names, Writer
from inarch.backends.c.write.scope import Scope, Unit
from inarch.backends.c.write.value.elementary import VECTORS
from inarch.backends.c.write.value.expressions import constant_text
from inarch.backends.c.write.value.vectors import (
    Value,
    evaluate_lanes,
    load_strided,
    splat,
)
from inarch.core.dtypes import DTYPES, DType
from inarch.core.scalars.functions import OF_MEANINGS
from inarch.dialects.kernel.body import Body, body_of
from inarch.ir.types import dtype_of
from inarch.meaning import Element, Term, elements
from inarch.microkernel import Instance, functions_of, prototype

EPILOGUE = (
    *(n for n, row in OF_MEANINGS.items() if n != "rounded" and not row.is_integer_only),
    "f32",
    "f16",
    "bf16",
)
"""The functions that `finish` may have, and the dtypes that it may round to and read."""

_Known = Mapping[SSAValue, Value]


@dataclass(frozen=True)
class Accumulator:
    """One vector register of the tile, and the iterators' values there (all but those of the lanes)."""

    register: str
    values: Mapping[str, int]


@dataclass(frozen=True)
class Tile:
    """The accumulators when the reduction is done, in the order of their iterators' values."""

    accumulators: Sequence[Accumulator]
    sizes: Mapping[str, int]
    """Of the iterators of the tile's rows and vectors, in order."""
    lanes: int
    lane: str
    """The iterator along a vector."""
    written: Element
    """The operand that the kernel writes, at the meaning's indices."""


def begin_lines(tile: Tile, init: str) -> list[str]:
    """Declares the accumulators: zero, or what C holds."""
    return [
        f"    vec {each.register} = "
        + ("{0};" if init == "zero" else f"*(const mem *)({address(tile.written, each.values)});")
        for each in tile.accumulators
    ]


def finish_lines(instance: Instance, tile: Tile, *, is_full: bool = False) -> list[str]:
    """The statements, of one level of indentation; they know the types `vec` and `mem`.

    Of a full tile the accumulators take all registers: nothing of its epilogue is kept in one before.
    """
    taken = [*re.findall(r"\w+", prototype(instance)), *tile.sizes]
    scope = Scope(Writer(depth=1), Names(taken), Unit(instance.target.vector_bytes), {})
    finish, writer = instance.finish, scope.writer
    if finish is None:
        for each in tile.accumulators:
            _store(tile, each.values, each.register, scope)
        return writer.lines
    dtypes = {**instance.kernel.dtypes, **instance.extras}
    body = body_of(finish, {each.operand: dtypes[each.operand] for each in elements(finish)}, "f32")
    if not {*VECTORS}.isdisjoint(functions_of(finish)):
        _through_buffer(body, tile, scope)
        return writer.lines
    numbers = _not_before(body, tile, scope) if is_full else {}
    for each in tile.accumulators:
        writer.open()
        _finish(body, tile, each.register, each.values, numbers, scope.child())
        writer.close()
    return writer.lines


def _not_before(body: Body, tile: Tile, scope: Scope) -> _Known:
    """What is read, and numbers, are not known before they are needed (a number is stored and read again).

    Gcc 12 else loads them before the loop around the calls, keeps them across the reduction, and moves
    accumulators to the stack for them.
    """
    for name in sorted({each.operand for each in body.elements} - {tile.written.operand}):
        scope.writer.line(f'__asm__ volatile("" : "+r"({name}));')
    names: dict[str, str] = {}
    found: dict[SSAValue, Value] = {}
    for op in body.block.ops:
        if isinstance(op, arith.ConstantOp):
            text = constant_text(op)
            if text not in names:
                names[text] = scope.names.fresh("number")
                scope.writer.line(f"float {names[text]} = {text};")
                scope.writer.line(f'__asm__ volatile("" : "+m"({names[text]}));')
            found[op.result] = Value(names[text])
    return found


def stride(operand: str, dimension: int) -> str:
    """The C function's parameter for a stride."""
    return f"{operand}_{dimension}"


def address(element: Element, values: Mapping[str, int | str]) -> str:
    """`C + 2 * C_0 + q * C_1`: where an element is, for the iterators in `values` (0 for others)."""
    parts = [
        product
        for dimension, index in enumerate(element.indices)
        for term in index
        for product in _product(term, values, stride(element.operand, dimension))
    ]
    return " + ".join([element.operand, *parts])


def _product(term: Term, values: Mapping[str, int | str], by: str) -> Iterator[str]:
    value = 1 if term.iterator is None else values.get(term.iterator, 0)
    if value == 0:
        return
    factors = [str(each) for each in (*term.factors, value) if each != 1]
    yield " * ".join([*factors, by])


def _finish(
    body: Body,
    tile: Tile,
    register: str,
    values: Mapping[str, int | str],
    numbers: _Known,
    scope: Scope,
) -> None:
    """Finishes and stores what a register has, for the iterators' values or names."""
    known = dict(numbers)
    for element, argument in body.arguments.items():
        is_held = element.operand == tile.written.operand
        dtype = dtype_of(argument.type)
        known[argument] = (
            Value(register, True) if is_held else _read(element, dtype, tile, values, scope)
        )
    (found,) = evaluate_lanes(body.block, known, tile.lanes, scope)
    kind = scope.unit.vector(DTYPES["f32"], tile.lanes)
    text = found.text if found.is_vector else f"({kind.c}){splat(found.text, kind)}"
    _store(tile, values, text, scope)


def _read(
    element: Element, dtype: DType, tile: Tile, values: Mapping[str, int | str], scope: Scope
) -> Value:
    along = _along(element, tile.lane)
    at = address(element, values)
    if not along:
        return Value(scope.declare(dtype.c, "s", f"*({at})"))
    return load_strided(at, along, scope.unit.vector(dtype, tile.lanes), scope)


def _store(tile: Tile, values: Mapping[str, int | str], text: str, scope: Scope) -> None:
    scope.writer.line(f"*(mem *)({address(tile.written, values)}) = {text};")


def _through_buffer(body: Body, tile: Tile, scope: Scope) -> None:
    writer, lanes = scope.writer, tile.lanes
    buffer, done, following = map(scope.names.fresh, ("buffer", "done", "next"))
    count = len(tile.accumulators) * lanes
    writer.line(f"float {buffer}[{count}] __attribute__((aligned(64)));")
    for number, each in enumerate(tile.accumulators):
        writer.line(f"*(vec *)({buffer} + {number * lanes}) = {each.register};")
    writer.line(f"const float *{following} = {buffer};")
    depth = writer.depth
    for name, size in tile.sizes.items():
        writer.open(f"for (int64_t {name} = 0; {name} < {size}; {name}++)")
    writer.line(f"const vec {done} = *(const vec *){following};")
    _finish(body, tile, done, {name: name for name in tile.sizes}, {}, scope)
    writer.line(f"{following} += {lanes};")
    writer.close(depth)


def _along(element: Element, lane: str) -> str:
    """The distance of neighbouring lanes; empty where all lanes read one element."""
    return " + ".join(
        product
        for dimension, index in enumerate(element.indices)
        for term in index
        if term.iterator == lane
        for product in _product(term, {lane: 1}, stride(element.operand, dimension))
    )
