"""Padded reads of nests become reads of a padded copy, so that inner loops check no bounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, LocationAttr, ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from inarch.dialects.loop.access import IteratorAttr, ReadAttr
from inarch.dialects.loop.buffer import AllocOp, root
from inarch.dialects.loop.keep import is_kept
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import insert_before
from inarch.ir.functions import entry_blocks
from inarch.ir.index.linear import Linear, affine_map, linear_map
from inarch.ir.passes import Pass
from inarch.ir.types import memref
from inarch.passes.loop.nests.uses import written_roots
from inarch.passes.padding.ways import copy_nest


@dataclass(frozen=True)
class MaterializePaddingPass(Pass):
    """Reads with `pad` in nests that reduce become reads of a padded copy, made by its own nest.

    The copy has exactly the extents that the nest touches: a strided convolution may leave out part
    of the padding or of the buffer. Nests that touch the same extents of the same buffer with the
    same `pad` share one copy, and so do nests that write parts of one buffer, as the phases of a transposed
    convolution do: of all that they touch. A read whose padding is never touched only loses its `pad`.
    With `all`, also in nests that do not reduce, except copies, which are what this pass makes.
    """

    all: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for _, entry in entry_blocks(op):
            for block in [entry, *_bodies(entry)]:
                self._within(block)

    def _within(self, block: Block) -> None:
        """The nests of one block: in the body of a loop each iteration makes its own copies."""
        nests = [each for each in block.ops if isinstance(each, NestOp) and self._takes(each)]
        copies = _Copies(_touched(nests))
        for each in list(block.ops):
            if isinstance(each, NestOp) and self._takes(each):
                _materialize(each, copies)
            copies.forget(written_roots(each))

    def _takes(self, nest: NestOp) -> bool:
        if 0 in nest.sizes or is_kept(nest):
            return False
        return nest.has_reduction or (self.all and not _is_copy(nest))


def _bodies(block: Block) -> Iterable[Block]:
    """The bodies of the loops in a block, and of those in them."""
    loops = [op for op in block.walk() if not isinstance(op, NestOp)]
    return [body for op in loops for region in op.regions for body in region.blocks]


def _is_copy(nest: NestOp) -> bool:
    """Whether a nest only moves elements, as the copies made here do."""
    moves = all(isinstance(value, BlockArgument) for value in nest.yielded(nest.body))
    return moves and not nest.has_reduction and nest.finish is None


def _materialize(nest: NestOp, copies: _Copies) -> None:
    """Replaces the padded reads of `nest`, in place."""
    reads: list[ReadAttr] = []
    operands = list(nest.operands)
    for position, read in enumerate(nest.reads):
        if not read.is_padded:
            reads.append(read)
            continue
        source = nest.ins[position]
        index = linear_map(read.map.data)
        window = _window(nest, read)
        if _is_inside(window, buffer_shape(source)):
            reads.append(ReadAttr.get(read.map.data))
            continue
        window = copies.touched[source, nest.outs[0], read.pad]
        operands[position] = copies.of(source, window, read.pad, nest)
        shifted = [
            Linear(result.coefficients, result.constant - low)
            for result, (low, _) in zip(index, window, strict=True)
        ]
        reads.append(ReadAttr.get(affine_map(shifted, len(nest.iterators))))
    nest.operands = operands
    nest.reads = ArrayAttr(reads)


_Window = tuple[tuple[int, int], ...]
"""The least and the largest index touched, a dimension."""


_Reader = tuple[SSAValue, SSAValue, Attribute]
"""A buffer, what a nest that reads it writes, and the pad."""


def _touched(nests: Iterable[NestOp]) -> dict[_Reader, _Window]:
    """What nests that write one buffer touch of another one, all together."""
    found: dict[_Reader, _Window] = {}
    for nest in nests:
        for source, read in zip(nest.ins, nest.reads, strict=True):
            if not read.is_padded:
                continue
            key, window = (source, nest.outs[0], read.pad), _window(nest, read)
            pairs = zip(window, found.get(key, window), strict=True)
            found[key] = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in pairs)
    return found


def _window(nest: NestOp, read: ReadAttr) -> _Window:
    return tuple(form.bounds(nest.sizes) for form in linear_map(read.map.data))


def _is_inside(window: _Window, shape: tuple[int, ...]) -> bool:
    return all(low >= 0 and high < n for (low, high), n in zip(window, shape, strict=True))


_Key = tuple[SSAValue, _Window, Attribute]
"""A buffer, what is touched of it, and the pad."""


@dataclass
class _Copies:
    """The padded copies made so far in one function, of buffers that did not change since."""

    touched: Mapping[_Reader, _Window]
    """What a copy for such a nest holds."""
    made: defaultdict[SSAValue, dict[_Key, SSAValue]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """By the `root` of the buffer."""

    def of(self, source: SSAValue, window: _Window, pad: Attribute, user: NestOp) -> SSAValue:
        """The elements of `source` in `window`, `pad` outside it; if need be made before `user`."""
        key = (source, window, pad)  # equal when their bits are: 0.0 is not -0.0, and NaN is NaN
        made = self.made[root(source)]
        if key not in made:
            shape = [high - low + 1 for low, high in window]
            alloc = AllocOp(memref(memref_of(source).element_type, shape))
            alloc.location = user.location
            copy = _copy_nest(source, window, pad, alloc.buffer, user.location)
            insert_before(user, alloc, copy)
            if source.name_hint:
                alloc.buffer.name_hint = f"{source.name_hint}_padded"
            made[key] = alloc.buffer
        return made[key]

    def forget(self, changed: Collection[SSAValue]) -> None:
        """Drops the copies of buffers, as their `root`s, that are written to."""
        for buffer in changed:
            self.made.pop(buffer, None)


def _copy_nest(
    source: SSAValue, window: _Window, pad: Attribute, target: SSAValue, location: LocationAttr
) -> NestOp:
    """`target[i] = source[i + low]`, `pad` outside `source`."""
    rank = len(window)
    points = [Linear.iterator(axis, rank) for axis in range(rank)]
    moved = [
        Linear(point.coefficients, low) for point, (low, _) in zip(points, window, strict=True)
    ]
    iterators = [
        IteratorAttr.get(f"i{axis}", high - low + 1) for axis, (low, high) in enumerate(window)
    ]
    read = ReadAttr.get(affine_map(moved, rank), pad)
    return copy_nest(iterators, source, read, target, points, location)
