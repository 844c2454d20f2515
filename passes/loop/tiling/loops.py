"""Writing a group of nests as loops over blocks, each of which runs all of them for a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.control import ForOp, empty_loop
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.ir.types import memref
from inarch.passes.loop.nests.moved import moved_view
from inarch.passes.loop.tiling.classes import Operand
from inarch.passes.loop.tiling.group import Group


def run_in_blocks(group: Group, blocks: Sequence[int], names: Sequence[str] | None = None) -> ForOp:
    """Replaces the nests of `group` by loops, one a class, over blocks of so many of its points.

    Their indices are called `names`, or else as the last nest's iterators. The last block of a class may be a
    smaller one: a loop of its own. Returns the outermost loop.
    """
    last = group.nests[-1]
    builder = Builder(InsertPoint.before(last))
    hints = names or [last.names[own[-1]] for own in group.classes]
    first = _Writer(group, tuple(blocks), tuple(hints)).loop(builder, (), ())
    scratch = group.scratch
    for nest in group.nests:
        nest.detach()
        nest.erase()
    for buffer in scratch:
        owner = buffer.owner
        assert isinstance(owner, AllocOp)
        owner.detach()
        owner.erase()
    return first


@dataclass
class _Writer:
    group: Group
    blocks: tuple[int, ...]
    names: tuple[str, ...]
    around: list[ForOp] = field(default_factory=list[ForOp])
    """The loops that are being written, outermost first."""

    def loop(
        self, builder: Builder, indices: tuple[SSAValue, ...], points: tuple[int, ...]
    ) -> ForOp:
        """The loops over the classes that are left, in the loops with these indices and points a turn."""
        which = len(indices)
        size, block = self.group.sizes[which], self.blocks[which]
        whole = size // block * block
        first = self._loop(builder, (0, whole, block), indices, points)
        if whole < size:
            self._loop(builder, (whole, size, size - whole), indices, points)
        return first

    def _loop(
        self,
        builder: Builder,
        bounds: tuple[int, int, int],
        indices: tuple[SSAValue, ...],
        points: tuple[int, ...],
    ) -> ForOp:
        op = empty_loop(*bounds)
        last = self.group.nests[-1]
        op.location = last.location
        which = len(indices)
        op.induction.name_hint = self.names[which]
        builder.insert(op)
        self.around.append(op)
        inside = Builder(InsertPoint.at_end(op.body.block))
        indices, points = (*indices, op.induction), (*points, bounds[2])
        if len(indices) < len(self.blocks):
            self.loop(inside, indices, points)
        else:
            self._body(inside, indices, points)
        end = YieldOp()
        end.location = last.location
        inside.insert(end)
        self.around.pop()
        return op

    def _body(self, builder: Builder, indices: Sequence[SSAValue], points: Sequence[int]) -> None:
        scratch: dict[SSAValue, SSAValue] = {}
        for buffer in self.group.scratch:
            shape = list(buffer_shape(buffer))
            for which, count in enumerate(points):
                axis = self.group.dimension(buffer, which)
                assert axis is not None, "a class indexes what is shared"
                shape[axis] = count
            alloc = AllocOp(memref(memref_of(buffer).element_type, shape))
            alloc.location = self.group.nests[-1].location
            alloc.buffer.name_hint = buffer.name_hint
            builder.insert(alloc)
            scratch[buffer] = alloc.buffer
        views: dict[object, SSAValue] = {}
        for position, nest in enumerate(self.group.nests):
            own = [classes[position] for classes in self.group.classes]
            operands = [
                scratch.get(operand.value)
                or self._view(builder, nest, operand, own, indices, points, views)
                for operand in self.group.operands[position]
            ]
            copy = nest.clone()
            copy.operands = operands
            iterators = list(nest.iterators)
            for at, count in zip(own, points, strict=True):
                old = iterators[at]
                iterators[at] = IteratorAttr.get(old.label.data, count, mode=old.mode.data)
            copy.iterators = ArrayAttr(iterators)
            builder.insert(copy)

    def _view(
        self,
        builder: Builder,
        nest: NestOp,
        operand: Operand,
        own: Sequence[int],
        indices: Sequence[SSAValue],
        points: Sequence[int],
        views: dict[object, SSAValue],
    ) -> SSAValue:
        """The part of a buffer that a turn touches: from where its indices begin, up to where they end.

        It is made in the innermost loop that moves it: what is made of it serves the turns of those within.
        """
        moved = [which for which, at in enumerate(own) if operand.uses(at)]
        if not moved:
            return operand.value
        sizes = list(nest.sizes)
        for at, count in zip(own, points, strict=True):
            sizes[at] = count
        factors = [tuple(form.coefficients[at] for at in own) for form in operand.index]
        shape = buffer_shape(operand.value)
        extents = [
            # No index that a class moves is outside: a guarded one is the class's alone.
            form.bounds(sizes)[1] + 1 if any(by) else size
            for form, by, size in zip(operand.index, factors, shape, strict=True)
        ]
        key = operand.value, tuple(extents), tuple(factors)
        if key in views:
            return views[key]
        if moved[-1] + 1 < len(self.around):
            builder = Builder(InsertPoint.before(self.around[moved[-1] + 1]))
        view = moved_view(builder, operand.value, indices, factors, extents, nest.location)
        views[key] = view
        return view
