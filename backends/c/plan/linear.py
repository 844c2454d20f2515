"""A `loop.nest` in linear form: loops, and for each operand one linear offset in elements.

This is what the emitters print. Unit loops are gone, adjacent loops that run through memory as one are one,
and bounds remain only where an access can leave its buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from inarch.backends.c.text import Names
from inarch.backends.c.types import element
from inarch.core.dtypes import DType
from inarch.dialects.loop.access import IteratorAttr, number_of
from inarch.dialects.loop.indirect import base_of, picks_of
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.scalar import points_of
from inarch.dialects.scalar import Number
from inarch.ir.index.affine import linear_form
from inarch.ir.index.linear import Linear
from inarch.ir.types import layout_of


@dataclass(frozen=True)
class Loop:
    """One loop that runs: `name` is its C variable."""

    name: str
    size: int
    is_reduction: bool
    mode: str
    """`serial`, `unroll` or `vector`."""
    is_scan: bool = False
    iterations: tuple[str, str] | None = None
    """C for the first iteration and the one behind the last, where a thread does some of them."""

    @property
    def begin(self) -> str:
        """C for the number of the first iteration."""
        return "0" if self.iterations is None else self.iterations[0]

    @property
    def end(self) -> str:
        """C for the number behind the last iteration."""
        return str(self.size) if self.iterations is None else self.iterations[1]


class Index(Linear):
    """A linear form over the loops, in C."""

    def uses(self, loop: int) -> bool:
        """Whether it varies with that loop."""
        return self.coefficients[loop] != 0

    @property
    def loops(self) -> frozenset[int]:
        """The loops that it varies with."""
        return frozenset(i for i, c in enumerate(self.coefficients) if c)

    def text(self, values: Sequence[str | int]) -> str:
        """C for it, where `values` are the loops' variables or numbers.

        >>> Index((8, 1), 3).text(["i", 2])
        'i * 8 + 5'
        """
        constant = self.constant
        terms: list[tuple[int, str]] = []
        for coefficient, value in zip(self.coefficients, values, strict=True):
            if isinstance(value, int):
                constant += coefficient * value
            elif coefficient:
                terms.append((coefficient, value))
        result = ""
        if constant > 0 and terms and terms[0][0] < 0:
            result, constant = str(constant), 0
        for coefficient, value in terms:
            size = abs(coefficient)
            term = value if size == 1 else f"{value} * {size}"
            sign = "-" if coefficient < 0 else "+"
            result += f" {sign} {term}" if result else (f"-{term}" if coefficient < 0 else term)
        if not result:
            return str(constant)
        return f"{result} {'-' if constant < 0 else '+'} {abs(constant)}" if constant else result


@dataclass(frozen=True)
class Guard:
    """An index that may leave its dimension: below 0 (`low`), or at `size` and above (`high`)."""

    index: Index
    size: int
    low: bool
    high: bool

    def conditions(self, values: Sequence[str | int]) -> list[str]:
        """C that holds where the index is inside."""
        text = self.index.text(values)
        low = [f"{text} >= 0"] if self.low else []
        return low + ([f"{text} < {self.size}"] if self.high else [])

    def follows_from(self, others: Iterable[Guard]) -> bool:
        """Whether it holds wherever one of `others` holds."""
        return any(
            other.index == self.index
            and other.size <= self.size
            and (other.low or not self.low)
            and (other.high or not self.high)
            for other in others
        )

    @property
    def loops(self) -> frozenset[int]:
        """The loops that it varies with."""
        return self.index.loops


@dataclass(frozen=True)
class Pick:
    """An index that is read: element `index`, as an index into `size`, counts `stride` elements."""

    index: PointerAccess
    size: int
    stride: int
    drops: bool
    """Of a write: where the index is outside, the point is none."""

    @property
    def loops(self) -> frozenset[int]:
        """The loops that it varies with."""
        guards = [guard.loops for guard in self.index.guards]
        return frozenset(self.index.offset.loops).union(*guards)


@dataclass(frozen=True)
class PointerAccess:
    """Element `pointer[offset]`, which exists where all guards hold; `picks` move it further."""

    pointer: str
    dtype: DType
    offset: Index
    guards: tuple[Guard, ...]
    pad: Number | None = None
    """Of a read: the value outside the guards."""
    init: Number | None = None
    """Of a write: where the accumulator starts; None: at the element's value."""
    picks: tuple[Pick, ...] = ()

    def step(self, loop: int | None) -> int | None:
        """Elements by which it moves along that loop (0 along none); None where it moves anywhere."""
        if loop is None:
            return 0
        is_picked = any(loop in pick.loops for pick in self.picks)
        return None if is_picked else self.offset.coefficients[loop]

    def within(self, known: Sequence[Guard]) -> PointerAccess:
        """The access where the guards `known` hold."""
        return replace(self, guards=tuple(g for g in self.guards if not g.follows_from(known)))


@dataclass(frozen=True)
class LoopNest:
    """Loops in the order in which they run, and the operands' accesses over them."""

    loops: tuple[Loop, ...]
    reads: tuple[PointerAccess, ...]
    writes: tuple[PointerAccess, ...]
    empty: bool
    """Whether there is no point to compute: a parallel iterator, or the scan, of size 0."""
    points: tuple[tuple[SSAValue, Index], ...] = ()
    """What the regions' `loop.point`s are."""

    @property
    def first_reduction(self) -> int:
        """Position of the outermost reduction loop; the number of loops when there is none."""
        reductions = (i for i, loop in enumerate(self.loops) if loop.is_reduction)
        return next(reductions, len(self.loops))

    @property
    def first_inner(self) -> int:
        """Position of the outermost reduction; where there is none, of the tile that stands innermost."""
        first = self.first_reduction
        if first == len(self.loops):
            while first and self.loops[first - 1].mode in ("unroll", "vector"):
                first -= 1
        return first

    @property
    def scan(self) -> int | None:
        """Position of the scan loop; None where there is none (it may be one of a single point)."""
        return next((i for i, loop in enumerate(self.loops) if loop.is_scan), None)


@dataclass(frozen=True)
class Buffer:
    """A memref in C: the pointer's name, and where it points to for the alias analysis."""

    pointer: str
    root: object
    """What it is part of: a function argument, the workspace, the weights."""
    low: int
    """First byte within the root."""
    high: int
    """Byte after the last one within the root."""

    def overlaps(self, other: Buffer) -> bool:
        """Whether the two may share bytes."""
        return self.root == other.root and self.low < other.high and other.low < self.high


def element_strides(value: SSAValue) -> tuple[tuple[int, ...], int]:
    """`(strides, offset)` of a buffer; a dynamic offset is in the pointer already, so it counts 0."""
    found = layout_of(memref_of(value))
    assert found is not None, "check_buffer has seen to it"
    return found[0], found[1] or 0


def loop_nest(
    op: NestOp, pointers: Sequence[str], names: Names, iterations: tuple[str, str] | None = None
) -> LoopNest:
    """`op` in linear form; `pointers` are the C names of its operands, `ins` then `outs`.

    `iterations` of its parallel loop are done; None: all.
    """
    kept = [i for i, size in enumerate(op.sizes) if size != 1]
    loops = tuple(_loop(op.iterators.data[i], iterations) for i in kept)
    linear = [
        replace(
            _access(op, value, base_of(read.map.data), kept, pointer, guarded=read.is_padded),
            pad=number_of(read.pad),
        )
        for value, read, pointer in zip(op.ins, op.reads, pointers, strict=False)
    ]
    reads = tuple(
        replace(access, picks=_picks(value, read.map.data, linear, drops=False))
        for value, read, access in zip(op.ins, op.reads, linear, strict=True)
    )
    writes = tuple(
        replace(
            _access(op, value, base_of(write.map.data), kept, pointer, guarded=write.clips),
            init=number_of(write.init),
            picks=_picks(value, write.map.data, linear, drops=True),
        )
        for value, write, pointer in zip(op.outs, op.writes, pointers[len(reads) :], strict=True)
    )
    empty = any(loop.size == 0 and not loop.is_reduction for loop in loops)
    points = tuple(
        (point.out, _index(point.over(op.names), kept))
        for region in op.regions
        for point in points_of(region.block)
    )
    merged = _merged(LoopNest(loops, reads, writes, empty, points))
    named = tuple(replace(loop, name=names.fresh(loop.name)) for loop in merged.loops)
    return replace(merged, loops=named)


def _loop(iterator: IteratorAttr, iterations: tuple[str, str] | None) -> Loop:
    mode = "serial" if iterator.is_shared else iterator.mode.data
    shared = iterations if iterator.is_shared else None
    is_reduction, is_scan = iterator.is_reduction, iterator.is_scan
    return Loop(iterator.label.data, iterator.size.data, is_reduction, mode, is_scan, shared)


def _index(line: Linear, kept: Sequence[int]) -> Index:
    """A form over the iterators, over those that are loops: the others are at 0."""
    return Index(tuple(line.coefficients[i] for i in kept), line.constant)


def _access(
    op: NestOp,
    value: SSAValue,
    index: AffineMap,
    kept: Sequence[int],
    pointer: str,
    *,
    guarded: bool,
) -> PointerAccess:
    strides, offset = element_strides(value)
    count = len(op.sizes)
    total = [0] * count
    guards: list[Guard] = []
    for expr, stride, size in zip(index.results, strides, buffer_shape(value), strict=True):
        coefficients, constant = linear_form(expr, count)
        offset += stride * constant
        total = [t + stride * c for t, c in zip(total, coefficients, strict=True)]
        spans = [c * (max(n, 1) - 1) for c, n in zip(coefficients, op.sizes, strict=True)]
        low = constant + sum(min(span, 0) for span in spans) < 0
        high = constant + sum(max(span, 0) for span in spans) >= size
        if guarded and (low or high):
            line = Index(tuple(coefficients[i] for i in kept), constant)
            guards.append(Guard(line, size, low, high))
    return PointerAccess(
        pointer,
        element(memref_of(value).element_type),
        Index(tuple(total[i] for i in kept), offset),
        tuple(guards),
    )


def _picks(
    value: SSAValue, index: AffineMap, reads: Sequence[PointerAccess], *, drops: bool
) -> tuple[Pick, ...]:
    shape, (strides, _) = buffer_shape(value), element_strides(value)
    named = picks_of(index).items()
    return tuple(Pick(reads[operand], shape[axis], strides[axis], drops) for axis, operand in named)


# -------------------------------------------------------------------------------------- merging


def _merged(nest: LoopNest) -> LoopNest:
    """`nest` with adjacent serial loops of one kind joined where every operand runs on."""
    position = 0
    while position + 1 < len(nest.loops):
        if _can_join(nest, position):
            nest = _joined(nest, position)
        else:
            position += 1
    return nest


def _can_join(nest: LoopNest, outer: int) -> bool:
    a, b = nest.loops[outer], nest.loops[outer + 1]
    if a.is_reduction != b.is_reduction or {a.mode, b.mode} != {"serial"} or 0 in (a.size, b.size):
        return False
    if a.iterations is not None or b.iterations is not None:
        return False
    if a.is_scan or b.is_scan:  # rows that run on in memory: each begins a chain of its own
        return False
    accesses = (*nest.reads, *nest.writes)
    for index in (*(access.offset for access in accesses), *(index for _, index in nest.points)):
        line = index.coefficients
        if line[outer] != line[outer + 1] * b.size:
            return False
    guards = (guard for access in accesses for guard in access.guards)
    return not any(guard.loops & {outer, outer + 1} for guard in guards)


def _joined(nest: LoopNest, outer: int) -> LoopNest:
    a, b = nest.loops[outer], nest.loops[outer + 1]
    loop = replace(b, name=f"{a.name}_{b.name}", size=a.size * b.size)
    loops = (*nest.loops[:outer], loop, *nest.loops[outer + 2 :])

    def without(line: Index) -> Index:
        return replace(
            line, coefficients=(*line.coefficients[:outer], *line.coefficients[outer + 1 :])
        )

    def join(access: PointerAccess) -> PointerAccess:
        guards = tuple(replace(guard, index=without(guard.index)) for guard in access.guards)
        picks = tuple(replace(pick, index=join(pick.index)) for pick in access.picks)
        return replace(access, offset=without(access.offset), guards=guards, picks=picks)

    return replace(
        nest,
        loops=loops,
        reads=tuple(map(join, nest.reads)),
        writes=tuple(map(join, nest.writes)),
        points=tuple((value, without(index)) for value, index in nest.points),
    )
