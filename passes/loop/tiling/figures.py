"""What weighing a group asks of it, in numbers: groups of equal figures are weighed once.

A network repeats its layers, and each nest of a layer begins groups of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, partial

from xdsl.ir import SSAValue

from inarch.dialects.loop.memory import buffer_shape, memref_of, nbytes
from inarch.dialects.loop.nest import NestOp
from inarch.ir.types import dtype_of
from inarch.machine.machine import Machine
from inarch.machine.target import Target
from inarch.passes.loop.nests.contraction import Contraction, match_contraction
from inarch.passes.loop.nests.edge import is_elementwise
from inarch.passes.loop.tiling.classes import operands_of
from inarch.passes.loop.tiling.group import Group
from inarch.passes.loop.tiling.keys import Keys, Window
from inarch.passes.tensorize.unify.strided import strided_nest
from inarch.passes.tensorize.weigh.nest import nest_cycles

Flags = tuple[bool, ...]
"""Of each class of the group."""


@dataclass(frozen=True)
class Buffer:
    """A buffer that nests of the group touch."""

    nbytes: int
    points: int
    element: int
    """Bytes of one."""
    is_scratch: bool
    is_cut: Flags
    """Whether the class indexes a dimension of it."""
    is_cut_in_order: Flags
    """Whether that is the last one."""
    last: int
    """The last nest that touches it."""


@dataclass(frozen=True)
class Touch:
    """A buffer as a nest touches it."""

    buffer: int
    moves: Flags
    """Whether it is another part where the class is elsewhere."""


@dataclass(frozen=True)
class Side:
    """Rows or columns of a product."""

    size: int
    """Those of no class, or of each."""
    classes: Flags
    """Whose points they are multiplied by."""

    def of(self, points: tuple[int, ...]) -> int:
        """How many there are of so many points of each class."""
        return self.size * math.prod(n for n, has in zip(points, self.classes, strict=True) if has)


@dataclass(frozen=True)
class Nest:
    """A nest of the group."""

    touches: tuple[Touch, ...]
    out: int
    points: int
    factor: int
    """Bytes of the larger of the factors of a product; 0 of others."""
    columns: int
    """Results beside each other that are of no class."""
    replaced: tuple[int, ...]
    """What an elementwise one reads, and may write over where that ends (`update-in-place`)."""
    sides: tuple[Side, Side] | None
    """Rows and columns of a product whose columns, or else rows, lie side by side in its result."""
    plain: float
    """Cycles of a product that no kernel takes within a loop; 0 where one may, and of others."""

    @property
    def is_product(self) -> bool:
        """Whether it sums up products."""
        return self.factor > 0


@dataclass(frozen=True)
class Softmax:
    """The keys of the group's softmax."""

    size: int
    axes: Flags
    """Of each buffer: whether it has a dimension of keys."""
    products: tuple[int, ...]
    along: tuple[int, ...]
    """The nests that run along the keys."""
    element: int
    """Bytes of a weight."""
    window: Window
    """As of `Keys`."""


@dataclass(frozen=True)
class Figures:
    """A group."""

    sizes: tuple[int, ...]
    """Of its classes."""
    nests: tuple[Nest, ...]
    buffers: tuple[Buffer, ...]
    softmax: Softmax | None

    @property
    def scratch_bytes(self) -> int:
        """Of all that becomes scratch of an iteration."""
        return sum(buffer.nbytes for buffer in self.buffers if buffer.is_scratch)


@dataclass(frozen=True)
class _Way:
    """An operand as its nest touches it, for each of the nest's iterators."""

    value: SSAValue
    moves: Flags
    dimensions: tuple[int | None, ...]


@dataclass(frozen=True)
class _Facts:
    """What is so of a nest in any group."""

    ways: tuple[_Way, ...]
    sizes: tuple[int, ...]
    """Of the iterators that do not reduce; 1 of the others."""
    points: int
    factor: int
    sides: tuple[tuple[int, ...], tuple[int, ...]] | None
    """Iterators of rows and columns."""
    like: tuple[SSAValue, ...]
    """What an elementwise one reads of its result's type."""
    is_outside: bool
    """A product that reads beyond the borders of a buffer: within a loop nobody makes a padded copy."""


class Measure:
    """Takes the figures of groups, while nests stay as they are."""

    def __init__(self, target: Target, machine: Machine) -> None:
        self._facts = cache(_facts_of)
        self._plain = cache(partial(nest_cycles, target=target, machine=machine))
        self._sizes = cache(_sizes_of)

    def of(self, group: Group, keys: Keys | None) -> Figures:
        """The figures of a group, and of its softmax."""
        numbers: dict[SSAValue, int] = {}
        cuts: list[tuple[int | None, ...]] = []
        last: list[int] = []
        nests: list[Nest] = []
        for position, nest in enumerate(group.nests):
            facts = self._facts(nest)
            own = [classes[position] for classes in group.classes]
            touches: list[Touch] = []
            for way in facts.ways:
                at = numbers.setdefault(way.value, len(cuts))
                if at == len(cuts):
                    cuts.append(tuple(way.dimensions[iterator] for iterator in own))
                    last.append(position)
                last[at] = position
                touches.append(Touch(at, tuple(way.moves[iterator] for iterator in own)))
            columns = math.prod(n for at, n in enumerate(facts.sizes) if at not in own)
            replaced = tuple(dict.fromkeys(numbers[value] for value in facts.like))
            nests.append(
                Nest(
                    tuple(touches),
                    numbers[nest.outs[0]],
                    facts.points,
                    facts.factor,
                    columns,
                    replaced,
                    _sides(facts, own),
                    self._plain(nest) if facts.is_outside else 0.0,
                )
            )
        scratch = set(group.scratch)
        buffers = tuple(
            self._buffer(value, cuts[at], last[at], is_scratch=value in scratch)
            for value, at in numbers.items()
        )
        softmax = None if keys is None else _softmax(group, keys, numbers)
        return Figures(group.sizes, tuple(nests), buffers, softmax)

    def _buffer(
        self, value: SSAValue, cut: tuple[int | None, ...], last: int, *, is_scratch: bool
    ) -> Buffer:
        whole, shape, element = self._sizes(value)
        return Buffer(
            whole,
            math.prod(shape),
            element,
            is_scratch,
            tuple(at is not None for at in cut),
            tuple(at == len(shape) - 1 for at in cut),
            last,
        )


def _facts_of(nest: NestOp) -> _Facts:
    iterators = range(len(nest.sizes))
    ways = tuple(
        _Way(
            operand.value,
            tuple(map(operand.uses, iterators)),
            tuple(map(operand.dimension_of, iterators)),
        )
        for operand in operands_of(nest)
    )
    (out,) = nest.outs
    like = tuple(v for v in nest.ins if v.type == out.type) if is_elementwise(nest) else ()
    pairs = zip(nest.iterators, nest.sizes, strict=True)
    sizes = tuple(1 if iterator.is_reduction else size for iterator, size in pairs)
    product = match_contraction(nest, or_narrow=True)
    factors = () if product is None else (nest.ins[product.a], nest.ins[product.b])
    factor = max((_sizes_of(value)[2] for value in factors), default=0)
    sides = None if product is None else _iterators_of_sides(nest, product)
    is_padded = any(operand.is_guarded for operand in operands_of(nest))
    is_outside = (
        product is not None
        and is_padded
        and not all(read.is_inside for read in strided_nest(nest).reads)
    )
    return _Facts(ways, sizes, math.prod(nest.sizes), factor, sides, like, is_outside)


def _iterators_of_sides(
    nest: NestOp, product: Contraction
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Rows and columns: columns are the side whose results lie in order; None where they are of neither."""
    last = nest.write_map(0).results[-1:]
    in_order = last[0].used_dims() if last else set[int]()
    for one in (product, product.swapped()):
        if not in_order.isdisjoint(one.columns):
            return one.rows, one.columns
    return None


def _sides(facts: _Facts, own: list[int]) -> tuple[Side, Side] | None:
    if facts.sides is None:
        return None
    rows, columns = (
        Side(
            math.prod(facts.sizes[at] for at in iterators if at not in own),
            tuple(at in iterators for at in own),
        )
        for iterators in facts.sides
    )
    return rows, columns


def _sizes_of(buffer: SSAValue) -> tuple[int, tuple[int, ...], int]:
    kind = memref_of(buffer)
    return nbytes(kind), buffer_shape(buffer), dtype_of(kind.element_type).nbytes


def _softmax(group: Group, keys: Keys, numbers: dict[SSAValue, int]) -> Softmax:
    weights = memref_of(group.nests[keys.weights].outs[0])
    return Softmax(
        keys.size,
        tuple(value in keys.axes for value in numbers),
        keys.products,
        tuple(position for position, at in enumerate(keys.iterators) if at is not None),
        dtype_of(weights.element_type).nbytes,
        keys.window,
    )
