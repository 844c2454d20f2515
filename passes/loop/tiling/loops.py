"""Writing a group of nests as loops over blocks, each of which runs all of them for a part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import SSAValue

from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.control import Bound, ForOp, empty_loop
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import erase
from inarch.ir.types import memref
from inarch.passes.loop.nests.moved import moved_view
from inarch.passes.loop.nests.operands import fused_location
from inarch.passes.loop.nests.writer import Writer
from inarch.passes.loop.tiling.classes import Operand
from inarch.passes.loop.tiling.group import Group
from inarch.passes.loop.tiling.keys import Keys
from inarch.passes.loop.tiling.running import Steps, steps_of


def run_in_blocks(
    group: Group,
    blocks: Sequence[int],
    names: Sequence[str] | None = None,
    along: tuple[Keys, int] | None = None,
) -> ForOp:
    """Replaces the nests of `group` by loops, one a class, over blocks of so many of its points.

    Their indices are called `names`, or else as the last nest's iterators. The last block of a class may be a
    smaller one: a loop of its own. `along`: innermost a loop over blocks of so many keys, too. Returns the
    outermost loop.
    """
    last = group.nests[-1]
    hints = tuple(names or [last.names[own[-1]] for own in group.classes])
    anchor = last.next_op
    assert anchor is not None, "a block has an end"
    steps = None
    if along is not None:
        steps = steps_of(group, along[0])
        group = steps.group
    keys = Along(steps, *along) if steps is not None and along is not None else None
    at = Writer.before(anchor, group.nests[-1])
    first = _Blocks(group, tuple(blocks), hints, keys).loop(at, (), ())
    written = dict.fromkeys(out for nest in group.nests for out in nest.outs)
    erase(*group.nests)
    # What was scratch of the group is of the iterations now.
    scratch = [v for v in written if isinstance(v.owner, AllocOp) and not v.uses]
    for buffer in scratch:
        owner = buffer.owner
        assert isinstance(owner, AllocOp)
        erase(owner)
    return first


@dataclass(frozen=True)
class Along:
    """A loop over blocks of the keys."""

    steps: Steps
    keys: Keys
    block: int

    @property
    def axes(self) -> Mapping[SSAValue, int]:
        """Of what is as large as a block: the dimension of keys."""
        return self.keys.axes

    @property
    def name(self) -> str:
        """What its index is called."""
        position = self.steps.first + self.steps.each - 1
        named = (
            self.steps.group.nests[at].names[own]
            for at in range(self.steps.first, position + 1)
            if (own := self.steps.iterators[at]) is not None
        )
        return next(named)


@dataclass
class _Blocks:
    group: Group
    blocks: tuple[int, ...]
    names: tuple[str, ...]
    along: Along | None = None
    around: list[ForOp] = field(default_factory=list[ForOp])
    """The loops that are being written, outermost first."""

    def loop(self, at: Writer, indices: tuple[SSAValue, ...], points: tuple[int, ...]) -> ForOp:
        """The loops over the remaining classes, in the loops with these indices and points an iteration."""
        which = len(indices)
        size, block = self.group.sizes[which], self.blocks[which]
        whole = size // block * block
        first = self._loop(at, (0, whole, block), indices, points)
        if whole < size:
            self._loop(at, (whole, size, size - whole), indices, points)
        return first

    def _loop(
        self,
        at: Writer,
        bounds: tuple[int, int, int],
        indices: tuple[SSAValue, ...],
        points: tuple[int, ...],
    ) -> ForOp:
        op = self._opened(at, bounds, self.names[len(indices)])
        inside = at.within(op)
        indices, points = (*indices, op.induction), (*points, bounds[2])
        if len(indices) < len(self.blocks):
            self.loop(inside, indices, points)
        else:
            self._body(inside, indices, points)
        self._closed(inside)
        return op

    def _opened(self, at: Writer, bounds: tuple[Bound, Bound, int], name: str) -> ForOp:
        op = empty_loop(*bounds)
        op.location = fused_location(*self.group.nests)
        op.induction.name_hint = name
        at.builder.insert(op)
        self.around.append(op)
        return op

    def _closed(self, inside: Writer) -> None:
        inside.end()
        self.around.pop()

    def _body(self, at: Writer, indices: Sequence[SSAValue], points: Sequence[int]) -> None:
        scratch: dict[SSAValue, SSAValue] = {}
        along, count = self.along, len(self.group.nests)
        inner: Mapping[SSAValue, int] = {} if along is None else along.axes
        self._alloc(at, [v for v in self.group.scratch if v not in inner], points, scratch)
        if along is None:
            self._nests(at, range(count), indices, points, scratch)
            return
        first, each = along.steps.first, along.steps.first + along.steps.each
        self._nests(at, range(first), indices, points, scratch)
        size, block = along.keys.size, along.block
        whole = size // block * block
        leading = min(-(-along.keys.window.always // block) * block, whole)
        for lower, upper in ((0, leading), (leading, whole), (whole, size)):
            if lower < upper:
                step = min(block, upper - lower)
                start = lower
                if upper == whole and lower == leading:  # of the others all that end where rows end
                    start = self._start(at, lower, indices)
                end = self._end(at, upper, indices, points)
                self._along(at, (start, end, step), indices, points, scratch, range(first, each))
        self._nests(at, range(each, count), indices, points, scratch)

    def _start(self, at: Writer, lower: int, indices: Sequence[SSAValue]) -> Bound:
        """The first block of keys that the first row of an iteration sees, of those from a lower bound on."""
        assert self.along is not None, "who asks has seen to it"
        first = self.along.keys.window.first
        if first is None:
            return lower
        ahead = at.put(arith.AddiOp(indices[-1], at.value(first)))
        seen = at.put(arith.MaxSIOp(ahead, at.value(lower)))
        block = at.value(self.along.block)
        iteration = at.put(arith.DivSIOp(seen, block))
        return at.put(arith.MuliOp(iteration, block))

    def _end(
        self, at: Writer, upper: int, indices: Sequence[SSAValue], points: Sequence[int]
    ) -> Bound:
        """Behind the last key that the rows of an iteration see, of keys up to `upper`."""
        assert self.along is not None, "who asks has seen to it"
        last = self.along.keys.window.last
        if last is None:
            return upper
        ahead = at.put(arith.AddiOp(indices[-1], at.value(points[-1] - 1 + last)))
        return at.put(arith.MinSIOp(ahead, at.value(upper)))

    def _along(
        self,
        at: Writer,
        bounds: tuple[Bound, Bound, int],
        indices: Sequence[SSAValue],
        points: Sequence[int],
        scratch: Mapping[SSAValue, SSAValue],
        positions: range,
    ) -> None:
        """The loop over blocks of keys, with what is as large as a block in it."""
        assert self.along is not None, "who asks has seen to it"
        op = self._opened(at, bounds, self.along.name)
        inside = at.within(op)
        own = dict(scratch)
        points = (*points, bounds[2])
        self._alloc(inside, [v for v in self.group.scratch if v in self.along.axes], points, own)
        self._nests(inside, positions, (*indices, op.induction), points, own)
        self._closed(inside)

    def _alloc(
        self,
        at: Writer,
        buffers: Sequence[SSAValue],
        points: Sequence[int],
        scratch: dict[SSAValue, SSAValue],
    ) -> None:
        for buffer in buffers:
            shape = list(buffer_shape(buffer))
            for which, count in enumerate(points[: len(self.blocks)]):
                axis = self.group.dimension(buffer, which)
                assert axis is not None, "a class indexes what is shared"
                shape[axis] = count
            if len(points) > len(self.blocks) and self.along is not None:
                shape[self.along.axes[buffer]] = points[-1]
            alloc = AllocOp(memref(memref_of(buffer).element_type, shape))
            alloc.buffer.name_hint = buffer.name_hint
            at.add(alloc)
            scratch[buffer] = alloc.buffer

    def _nests(
        self,
        at: Writer,
        positions: range,
        indices: Sequence[SSAValue],
        points: Sequence[int],
        scratch: Mapping[SSAValue, SSAValue],
    ) -> None:
        """Some of the nests, for what an iteration has of them."""
        views: dict[object, SSAValue] = {}
        for position in positions:
            nest = self.group.nests[position]
            own = [classes[position] for classes in self.group.classes]
            key = None if self.along is None else self.along.steps.iterators[position]
            if key is not None:
                own.append(key)
            operands = [
                scratch.get(operand.value)
                or self._view(at, nest, operand, own, indices, points, views)
                for operand in self.group.operands[position]
            ]
            copy = nest.clone()
            copy.operands = operands
            iterators = list(nest.iterators)
            for axis, count in zip(own, points, strict=False):
                iterators[axis] = iterators[axis].of_size(count)
            copy.iterators = ArrayAttr(iterators)
            at.builder.insert(copy)

    def _view(
        self,
        at: Writer,
        nest: NestOp,
        operand: Operand,
        own: Sequence[int],
        indices: Sequence[SSAValue],
        points: Sequence[int],
        views: dict[object, SSAValue],
    ) -> SSAValue:
        """The part of a buffer that an iteration touches: from where its indices begin, up to where they end.

        It is made in the innermost loop that moves it: what is made of it serves the iterations of those
        within.
        """
        moved = [which for which, axis in enumerate(own) if operand.uses(axis)]
        if not moved:
            return operand.value
        sizes = list(nest.sizes)
        for axis, count in zip(own, points, strict=False):
            sizes[axis] = count
        factors = [tuple(form.coefficients[axis] for axis in own) for form in operand.index]
        shape = buffer_shape(operand.value)
        extents = [
            # No index that a class moves is outside: a guarded one is the class's alone.
            form.bounds(sizes)[1] + 1 if any(by) else size
            for form, by, size in zip(operand.index, factors, shape, strict=True)
        ]
        key = operand.value, tuple(extents), tuple(factors)
        if key in views:
            return views[key]
        at = Writer(at.builder, nest)
        if moved[-1] + 1 < len(self.around):
            at = Writer.before(self.around[moved[-1] + 1], nest)
        view = moved_view(at, operand.value, indices[: len(own)], factors, extents)
        views[key] = view
        return view
