"""Nests over tensors in a layout become nests over their buffers: a blocked dimension is two iterators.

    for c in 64, h in 8: y[c, h] = x[c, h] + b[c]          x and y in blocks of 16 channels

    for c_o in 4, h in 8, c_i in 16:
        y[c_o, h, c_i] = x[c_o, h, c_i] + b[c_o * 16 + c_i]

All maps stay linear. A size that the block does not divide is rounded up: what is behind it is 0 in
every tensor of such a layout (reads of others yield 0 there), and writes of others are clipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir.affine import AffineMap

from inarch.core.errors import UnsupportedError
from inarch.dialects.graph.layout import LayoutAttr
from inarch.dialects.nest_spec import Iterator, NestSpec, Read
from inarch.ir.index.linear import Linear, linear_map


class LayoutError(UnsupportedError):
    """A nest that cannot run over operands in their layouts."""


@dataclass(frozen=True)
class TensorPlace:
    """How a buffer holds a tensor: its logical shape, and its layout (None: row-major)."""

    shape: tuple[int, ...]
    layout: LayoutAttr | None = None

    @property
    def physical_shape(self) -> tuple[int, ...]:
        """The buffer's shape."""
        return self.shape if self.layout is None else self.layout.physical_shape(self.shape)

    @property
    def blocks(self) -> tuple[int, ...]:
        """The block of each dimension, 0 where there is none."""
        return (0,) * len(self.shape) if self.layout is None else self.layout.blocks

    @property
    def margins(self) -> tuple[tuple[int, int], ...]:
        """The halo before and after each dimension."""
        return ((0, 0),) * len(self.shape) if self.layout is None else self.layout.margins

    @property
    def is_padded(self) -> bool:
        """Whether a block does not divide its dimension."""
        return any(b and n % b for n, b in zip(self.shape, self.blocks, strict=True))


def physical_nest(spec: NestSpec, ins: Sequence[TensorPlace], out: TensorPlace) -> NestSpec:
    """`spec`, which is over tensors, over the buffers that hold them.

    Raises LayoutError when an index of a blocked dimension is not one iterator alone, beside
    multiples of the block; one that is read may also be a number.
    """
    if all(place.layout is None for place in (*ins, out)):
        return spec
    if any(read.map.num_symbols for read in spec.reads):
        raise LayoutError("reads at an index that is an element of another operand")
    accesses = [*((read.map, place) for read, place in zip(spec.reads, ins, strict=True))]
    accesses.append((spec.write, out))
    blocks = _splits(spec, accesses)
    order = _order(spec, blocks, row_major=out.layout is None)
    position = {key: number for number, (key, _) in enumerate(order)}
    iterators = tuple(iterator for _, iterator in order)
    sizes = [iterator.size for iterator in iterators]
    moved = [_index(index, place, blocks, position) for index, place in accesses]
    reads: list[Read] = []
    for read, index, place in zip(spec.reads, moved, ins, strict=False):
        inside = _is_inside(index, sizes, place.physical_shape)
        pad = None if inside else (0 if read.pad is None else read.pad)
        reads.append(Read(_map(index, len(sizes)), pad))
    clip = spec.clip or not _is_inside(moved[-1], sizes, out.physical_shape)
    return replace(
        spec,
        iterators=iterators,
        reads=tuple(reads),
        write=_map(moved[-1], len(sizes)),
        clip=clip,
    )


def extents(spec: NestSpec, position: int) -> tuple[int, ...]:
    """The shape that operand `position` must have for every read of it to be inside."""
    sizes = [iterator.size for iterator in spec.iterators]
    return tuple(form.bounds(sizes)[1] + 1 for form in linear_map(spec.reads[position].map))


_Access = tuple[AffineMap, TensorPlace]


def _splits(spec: NestSpec, accesses: Sequence[_Access]) -> dict[int, int]:
    """Iterator -> the block by which it is split."""
    found: dict[int, int] = {}
    for number, (index, place) in enumerate(accesses):
        # What is behind a dimension of one element is written, too: by the iterator that it has.
        is_written = number == len(accesses) - 1
        forms, named = _forms(index, spec), linear_map(index)
        for axis, (form, block) in enumerate(zip(forms, place.blocks, strict=True)):
            if not block or (form.is_constant and not is_written):
                continue
            one = named[axis] if form.is_constant else form
            iterator = _block_iterator(one, block, spec, place.shape[axis])
            if found.setdefault(iterator, block) != block:
                name = spec.iterators[iterator].name
                raise LayoutError(
                    f"has iterator {name} in blocks of {found[iterator]} and of {block}"
                )
    return found


def _forms(index: AffineMap, spec: NestSpec) -> list[Linear]:
    """The results of a map; iterators of at most one point count as 0."""
    return [
        Linear(
            tuple(
                c if i.size > 1 else 0
                for c, i in zip(form.coefficients, spec.iterators, strict=True)
            ),
            form.constant,
        )
        for form in linear_map(index)
    ]


def _block_iterator(form: Linear, block: int, spec: NestSpec, size: int) -> int:
    """The iterator that runs through the blocks of a dimension of `size`."""
    units = [i for i, c in enumerate(form.coefficients) if c == 1]
    others = [c for c in form.coefficients if c not in (0, 1)]
    aligned = form.constant % block == 0 and all(c % block == 0 for c in others)
    if len(units) != 1 or not aligned:
        raise LayoutError(
            f"has an index into blocks of {block} that is not one iterator beside multiples of it"
        )
    (unit,) = units
    steps = spec.iterators[unit].size
    whole = form.constant == 0 and not others and steps == size
    if (steps % block or size % block) and not whole:
        raise LayoutError(f"has {steps} of {size} elements in blocks of {block}")
    return unit


_Key = tuple[str, int]
"""An iterator of the physical nest: `whole`, `outer` or `inner`, and its old position."""


def _order(
    spec: NestSpec, blocks: Mapping[int, int], *, row_major: bool
) -> list[tuple[_Key, Iterator]]:
    """The new iterators: those within a block innermost among their kind, as they lie in memory.

    Where the output is `row_major` its last iterator stays innermost: it is written in order, from
    lines that stay in the cache while those within a block pass by.
    """
    return [
        *_kind_order(spec, blocks, reduction=False, row_major=row_major),
        *_kind_order(spec, blocks, reduction=True, row_major=False),
    ]


def _kind_order(
    spec: NestSpec, blocks: Mapping[int, int], *, reduction: bool, row_major: bool
) -> list[tuple[_Key, Iterator]]:
    loops: list[tuple[_Key, Iterator]] = []
    inner: list[tuple[_Key, Iterator]] = []
    for number, iterator in enumerate(spec.iterators):
        if iterator.reduction is not reduction:
            continue
        if number not in blocks:
            loops.append((("whole", number), iterator))
            continue
        name, block = iterator.name, blocks[number]
        count = -(-iterator.size // block)
        loops.append((("outer", number), replace(iterator, name=f"{name}_o", size=count)))
        inner.append((("inner", number), replace(iterator, name=f"{name}_i", size=block)))
    last = loops.pop() if row_major and loops and loops[-1][0][0] == "whole" else None
    return [*loops, *inner, *([last] if last is not None else [])]


def _index(
    index: AffineMap, place: TensorPlace, blocks: Mapping[int, int], position: Mapping[_Key, int]
) -> list[Linear]:
    """Where an access is in the buffer: the outer dimensions, then those within blocks."""
    count = len(position)

    def at(key: _Key) -> Linear:
        return Linear.iterator(position[key], count)

    whole = [
        at(("outer", i)).times(blocks[i]).plus(at(("inner", i)))
        if i in blocks
        else at(("whole", i))
        for i in range(index.num_dims)
    ]
    outer: list[Linear] = []
    inner: list[Linear] = []
    for form, block, (begin, _) in zip(linear_map(index), place.blocks, place.margins, strict=True):
        substituted = form.substitute(whole, count)
        if not block:
            outer.append(Linear(substituted.coefficients, substituted.constant + begin))
            continue
        coefficients = substituted.coefficients
        lanes = [p for i in blocks if coefficients[p := position["inner", i]]]
        if not lanes:  # iterators of one point, and a number
            inner.append(Linear((0,) * count, substituted.constant % block))
            outer.append(Linear((0,) * count, substituted.constant // block + begin))
            continue
        lane = next(
            (
                p
                for i, block_of in blocks.items()
                if block_of == block and coefficients[p := position["inner", i]] == 1
            ),
            None,
        )
        others = [coefficients[p] for p in lanes if p != lane]
        if lane is None or any(c % block for c in (*others, substituted.constant)):
            raise LayoutError(f"has an index into blocks of {block} that begins within one")
        inner.append(Linear.iterator(lane, count))
        rest = [0 if p == lane else c // block for p, c in enumerate(coefficients)]
        outer.append(Linear(tuple(rest), substituted.constant // block + begin))
    return [*outer, *inner]


def _is_inside(index: Sequence[Linear], sizes: Sequence[int], shape: Sequence[int]) -> bool:
    if 0 in sizes:
        return True
    bounds = [form.bounds(sizes) for form in index]
    return all(low >= 0 and high < n for (low, high), n in zip(bounds, shape, strict=True))


def _map(index: Sequence[Linear], count: int) -> AffineMap:
    return AffineMap(count, 0, tuple(form.expression() for form in index))
