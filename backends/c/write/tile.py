"""`loop.nest` in C, third form: a tile of accumulators in vector registers.

    v16f32 acc_0_0 = {0}, acc_0_1 = {0}, acc_1_0 ...          one for each `unroll` point and register
    for (k ...) {                                             the loops inside the outermost reduction
        const v16f32 b = load(B + k * 32), b_1 = load(...);   along the `vector` loop: whole registers
        const float a = A[k];                                 elsewhere: scalars, broadcast
        acc_0_0 += a * b; acc_0_1 += a * b_1; ...
    }
    store, through a local array where `finish` or the layout asks for scalars.

Trailing `unroll` reduction loops become copies of that body. A vector loop longer than a register of the
target (`inarch.target`) takes several.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.ir import SSAValue

from inarch.backends.c.plan.linear import Guard, LoopNest, PointerAccess
from inarch.backends.c.types import literal
from inarch.backends.c.write.loops import open_and_pick, open_loops, used_reads, write_guards
from inarch.backends.c.write.scope import Scope, Values, initial_text, place_text
from inarch.backends.c.write.value.points import assignment, finish_tile, tile_index, together
from inarch.backends.c.write.value.vectors import (
    Value,
    evaluate_lanes,
    lanes_of,
    load,
    point_lanes,
    splat,
    store,
)
from inarch.core.dtypes import DType
from inarch.core.errors import UnsupportedError
from inarch.dialects.loop.nest import NestOp
from inarch.ir.location import location_text
from inarch.passes.loop.nests.lanes import is_native


@dataclass(frozen=True)
class _Tile:
    """Which loops form the tile, and how its points map to registers."""

    unrolled: tuple[int, ...]
    """Parallel loops that become copies."""
    vector: int | None
    """The loop that runs along lanes."""
    lanes: int
    """Of one register; 1 when there is no vector loop."""
    parts: int
    """Registers along the vector loop."""
    copies: tuple[int, ...]
    """Trailing reduction loops that become copies."""
    serial: tuple[int, ...]
    """Loops inside the outermost reduction that stay loops."""

    @property
    def loops(self) -> tuple[int, ...]:
        """All loops of the tile, in order; the vector loop last."""
        return self.unrolled if self.vector is None else (*self.unrolled, self.vector)


@dataclass(frozen=True)
class _Slot:
    """The element of a local array that is a point of the tile's loops."""

    array: str
    index: str

    @property
    def text(self) -> str:
        """C for it."""
        return f"{self.array}[{self.index}]"


def emit_tile(op: NestOp, nest: LoopNest, scope: Scope) -> None:
    """Writes a nest whose parallel loops inside the outermost reduction are all unroll or vector."""
    tile = _tile_of(op, nest, scope)
    values: list[str | int] = [loop.name for loop in nest.loops]
    reads, outer = used_reads(op, nest, op.regions), range(nest.first_inner)
    left = open_and_pick(nest, outer, values, write_guards(nest), scope, reads)
    needs_array = _needs_array(op, nest, tile, left)
    loads_array = any(w.init is None and not _is_whole(w, tile) for w in nest.writes)
    slots = _local_arrays(nest, tile, values, scope) if needs_array or loads_array else []
    if loads_array:
        depth = scope.writer.depth
        open_loops(nest, tile.loops, values, (), scope)
        for slot, write in zip(slots, nest.writes, strict=True):
            scope.writer.line(f"{slot.text} = {initial_text(write, values, scope)};")
        scope.writer.close(depth)
    accumulators = _declare(nest, tile, values, slots if loads_array else [], scope)
    _reduce(op, nest, tile, values, accumulators, scope)
    if not needs_array:
        _store_registers(op, nest, tile, values, accumulators, scope)
        return
    for (point, part), names in accumulators.items():
        offset = _slot_offset(nest, tile, point, part)
        for write, slot, name in zip(nest.writes, slots, names, strict=True):
            _spill(write, tile, slot.array, offset, name, scope)
    finish_tile(op, nest, tile.loops, values, [slot.text for slot in slots], left, scope)


def _tile_of(op: NestOp, nest: LoopNest, scope: Scope) -> _Tile:
    first = nest.first_inner
    inner = range(first, len(nest.loops))
    parallel = [i for i in inner if not nest.loops[i].is_reduction]
    vectors = [i for i in parallel if nest.loops[i].mode == "vector"]
    assert len(vectors) < 2, "check_modes has seen to it"
    # In finish, which runs per element, a pad is a condition like any other.
    in_body = zip(nest.reads, op.element_arguments(op.body), strict=True)
    if any(read.guards and argument.uses for read, argument in in_body):
        raise _error(op, "a read with pad cannot be vectorised; run materialize-padding first")
    unrolled = tuple(i for i in parallel if i not in vectors)
    copies: list[int] = []
    for i in reversed(inner):
        loop = nest.loops[i]
        if loop.is_reduction and loop.mode != "unroll":
            break
        copies = [i, *copies] if loop.is_reduction else copies
    serial = tuple(i for i in inner if nest.loops[i].is_reduction and i not in copies)
    if not vectors:
        return _Tile(unrolled, None, 1, 1, tuple(copies), serial)
    loop = nest.loops[vectors[0]]
    if loop.size & (loop.size - 1):
        raise _error(
            op, f"expected a power of two of vector lanes, found {loop.name} = {loop.size}"
        )
    widest = max(write.dtype.nbytes for write in nest.writes)
    lanes = min(loop.size, max(1, scope.unit.vector_bytes // widest))
    return _Tile(unrolled, vectors[0], lanes, loop.size // lanes, tuple(copies), serial)


def _error(op: NestOp, message: str) -> UnsupportedError:
    return UnsupportedError(f"'loop.nest' {message}", where=location_text(op))


def _is_whole(access: PointerAccess, tile: _Tile) -> bool:
    """Whether whole registers can be read from or written to it."""
    along = 1 if tile.vector is None else access.offset.coefficients[tile.vector]
    return along == 1 and not access.guards


def _needs_array(op: NestOp, nest: LoopNest, tile: _Tile, left: Sequence[Guard]) -> bool:
    """Whether the tile goes through a local array: for scalar finish, strides, or guards."""
    whole = all(
        tile.vector is None or write.offset.coefficients[tile.vector] == 1 for write in nest.writes
    )
    guarded = bool(left) or (len(nest.writes) > 1 and any(write.guards for write in nest.writes))
    return guarded or not whole or (op.finish is not None and not _finishes_whole(op, nest))


def _finishes_whole(op: NestOp, nest: LoopNest) -> bool:
    """Whether `finish` can run on registers: its ops have vector forms, and its reads no pad."""
    assert op.finish is not None, "asked only where there is one"
    native = all(is_native(inner) for inner in list(op.finish.block.ops)[:-1])
    reads = zip(nest.reads, op.element_arguments(op.finish), strict=True)
    return native and not any(read.guards and argument.uses for read, argument in reads)


def _points(nest: LoopNest, loops: Sequence[int]) -> list[tuple[int, ...]]:
    return list(product(*(range(nest.loops[i].size) for i in loops)))


def _at(values: Values, loops: Sequence[int], point: Sequence[int]) -> list[str | int]:
    """`values` with the loops fixed at a point."""
    result = list(values)
    for loop, number in zip(loops, point, strict=True):
        result[loop] = number
    return result


def _at_part(values: Values, tile: _Tile, part: int) -> list[str | int]:
    """`values` at the first lane of a register."""
    return list(values) if tile.vector is None else _at(values, [tile.vector], [part * tile.lanes])


# ---------------------------------------------------------------------------- accumulators

_Accumulators = dict[tuple[tuple[int, ...], int], list[str]]
"""The names of a register's accumulators, one an output, by unrolled point and part."""


def _declare(
    nest: LoopNest, tile: _Tile, values: Values, slots: Sequence[_Slot], scope: Scope
) -> _Accumulators:
    """Declares the accumulators at their start; `slots` hold it already, if given."""
    starts = [_start(write, tile, scope) for write in nest.writes]
    result: _Accumulators = {}
    several = len(nest.writes) > 1
    for point in _points(nest, tile.unrolled):
        for part in range(tile.parts):
            names: list[str] = []
            here = _at_part(_at(values, tile.unrolled, point), tile, part)
            numbers = [*point, part] if tile.vector is not None else [*point]
            for index, write in enumerate(nest.writes):
                hint = f"acc{index if several else ''}"
                name = scope.names.fresh("_".join([hint, *map(str, numbers)]))
                start = starts[index]
                if start is None and slots:
                    at = _slot_offset(nest, tile, point, part)
                    start = _load(write.dtype, tile, slots[index].array, at, scope)
                elif start is None:
                    offset = write.offset.text(here)
                    start = _load(write.dtype, tile, write.pointer, offset, scope)
                scope.writer.line(f"{_type(write.dtype, tile, scope)} {name} = {start};")
                names.append(name)
            result[point, part] = names
    return result


def _start(write: PointerAccess, tile: _Tile, scope: Scope) -> str | None:
    """The name or number at which the accumulators of an output start; None: they are loaded."""
    if write.init is None:
        return None
    number = literal(write.init, write.dtype)
    if tile.vector is None:
        return number
    kind = scope.unit.vector(write.dtype, tile.lanes)
    return scope.declare(kind.c, "start", splat(number, kind))


def _type(dtype: DType, tile: _Tile, scope: Scope) -> str:
    return dtype.c if tile.vector is None else scope.unit.vector(dtype, tile.lanes).c


def _load(dtype: DType, tile: _Tile, pointer: str, offset: str | int, scope: Scope) -> str:
    if tile.vector is None:
        return f"{pointer}[{offset}]"
    return load(pointer, str(offset), scope.unit.vector(dtype, tile.lanes))


# ---------------------------------------------------------------------------- the reduction


def _reduce(
    op: NestOp,
    nest: LoopNest,
    tile: _Tile,
    values: Values,
    accumulators: _Accumulators,
    scope: Scope,
) -> None:
    depth = scope.writer.depth
    open_loops(nest, tile.serial, values, (), scope)
    copies = _points(nest, tile.copies)
    has_braces = len(copies) > 1 or not tile.serial  # what is declared within is not known behind
    for copy in copies:
        inside = scope.child()
        if has_braces:
            inside.writer.open()
        fixed = _at(values, tile.copies, copy)
        loaded: dict[str, str] = {}
        for point in _points(nest, tile.unrolled):
            for part in range(tile.parts):
                here = _at_part(_at(fixed, tile.unrolled, point), tile, part)
                names = accumulators[point, part]
                arguments = _arguments(op, nest, tile, here, loaded, inside)
                for argument, name in zip(op.accumulators(op.body), names, strict=True):
                    arguments[argument] = Value(name, tile.vector is not None)
                results = evaluate_lanes(op.body.block, arguments, tile.lanes, inside)
                _assign(nest, tile, names, results, inside)
        if has_braces:
            inside.writer.close()
    scope.writer.close(depth)


def _assign(
    nest: LoopNest, tile: _Tile, names: Sequence[str], results: Sequence[Value], scope: Scope
) -> None:
    types = [_type(write.dtype, tile, scope) for write in nest.writes]
    texts = [
        _as_register(result, write.dtype, tile, scope)
        for result, write in zip(results, nest.writes, strict=True)
    ]
    for name, text in zip(names, together(texts, types, scope), strict=True):
        if name != text:
            scope.writer.line(assignment(name, text))


def _as_register(value: Value, dtype: DType, tile: _Tile, scope: Scope) -> str:
    """A value as a register: a scalar is broadcast."""
    if value.is_vector or tile.vector is None:
        return value.text
    kind = scope.unit.vector(dtype, tile.lanes)
    return scope.share(kind.c, "all", splat(value.text, kind))


def _arguments(
    op: NestOp,
    nest: LoopNest,
    tile: _Tile,
    values: Values,
    loaded: dict[str, str],
    scope: Scope,
    *,
    finish: bool = False,
) -> dict[SSAValue, Value]:
    """The elements that a region uses, each loaded once (`loaded`: C of the load -> its name)."""
    region = op.finish if finish and op.finish is not None else op.body
    result = point_lanes(region.block, nest, values, tile.vector, tile.lanes, scope)
    for argument, access in zip(op.element_arguments(region), nest.reads, strict=True):
        if argument.first_use is None:
            continue
        along = access.step(tile.vector)
        text, kind = _element(access, tile, values, along, scope)
        if text not in loaded:
            loaded[text] = scope.declare(kind, f"{access.pointer}_value", text)
        result[argument] = Value(loaded[text], is_vector=along != 0)
    return result


def _element(
    access: PointerAccess, tile: _Tile, values: Values, along: int | None, scope: Scope
) -> tuple[str, str]:
    """C that reads an operand at a register's lanes, and its type."""
    if along == 0:
        return f"{access.pointer}[{place_text(access, values, scope)}]", access.dtype.c
    kind = scope.unit.vector(access.dtype, tile.lanes)
    if along == 1:
        return load(access.pointer, place_text(access, values, scope), kind), kind.c
    assert tile.vector is not None, "along is 0 without a vector loop"
    start = int(values[tile.vector])
    lanes = [_at(values, [tile.vector], [start + lane]) for lane in range(tile.lanes)]
    places = (place_text(access, lane, scope) for lane in lanes)
    return lanes_of(f"{access.pointer}[{place}]" for place in places), kind.c


# ---------------------------------------------------------------------------- storing


def _store_registers(
    op: NestOp,
    nest: LoopNest,
    tile: _Tile,
    values: Values,
    accumulators: _Accumulators,
    scope: Scope,
) -> None:
    """Finishes in registers, then whole registers go to the outputs."""
    loaded: dict[str, str] = {}
    for (point, part), names in accumulators.items():
        here = _at_part(_at(values, tile.unrolled, point), tile, part)
        texts = list(names)
        if op.finish is not None:
            arguments = _arguments(op, nest, tile, here, loaded, scope, finish=True)
            for argument, name in zip(op.accumulators(op.finish), names, strict=True):
                arguments[argument] = Value(name, tile.vector is not None)
            results = evaluate_lanes(op.finish.block, arguments, tile.lanes, scope)
            texts = [
                _as_register(result, write.dtype, tile, scope)
                for result, write in zip(results, nest.writes, strict=True)
            ]
            types = [_type(write.dtype, tile, scope) for write in nest.writes]
            texts = together(texts, types, scope)
        for write, text in zip(nest.writes, texts, strict=True):
            _spill(write, tile, write.pointer, write.offset.text(here), text, scope)


def _spill(
    write: PointerAccess, tile: _Tile, pointer: str, offset: str | int, text: str, scope: Scope
) -> None:
    """Writes one register to `pointer + offset`."""
    if tile.vector is None:
        scope.writer.line(f"{pointer}[{offset}] = {text};")
        return
    kind = scope.unit.vector(write.dtype, tile.lanes)
    scope.writer.line(store(pointer, str(offset), kind, text))


def _local_arrays(nest: LoopNest, tile: _Tile, values: Values, scope: Scope) -> list[_Slot]:
    """Declares an array an output for the tile; returns the slot of a point of its loops."""
    sizes = [nest.loops[i].size for i in tile.loops]
    index = tile_index(tile.loops, sizes, values)
    slots: list[_Slot] = []
    for write in nest.writes:
        array = scope.names.fresh("tile")
        scope.writer.line(f"{write.dtype.c} {array}[{math.prod(sizes)}];")
        slots.append(_Slot(array, index))
    return slots


def _slot_offset(nest: LoopNest, tile: _Tile, point: Sequence[int], part: int) -> int:
    """Where a register is in the local array: row-major over the tile's loops, the vector loop last."""
    offset = 0
    for loop, number in zip(tile.unrolled, point, strict=True):
        offset = offset * nest.loops[loop].size + number
    return offset * tile.parts * tile.lanes + part * tile.lanes
