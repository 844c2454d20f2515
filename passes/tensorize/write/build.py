"""Writing a candidate: packs, `kernel.call`s, and the nests before and after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.access import IteratorAttr, ReadAttr, WriteAttr, number_of
from inarch.dialects.loop.buffer import AllocOp, ReshapeOp
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.edit import erase, insert_before
from inarch.ir.index.linear import Linear, affine_map, linear_map
from inarch.ir.types import memref
from inarch.passes.loop.nests.operands import end, inline
from inarch.passes.loop.nests.unmoved import unmoved
from inarch.passes.tensorize.unify.strided import StridedAccess
from inarch.passes.tensorize.unify.views import View, view_of
from inarch.passes.tensorize.weigh.candidates import Call, Candidate, Group, copy_key
from inarch.passes.tensorize.weigh.operands import OperandPlan
from inarch.passes.tensorize.write.boxes import Box, boxes
from inarch.passes.tensorize.write.definitions import Definitions


def build(candidate: Candidate, definitions: Definitions) -> None:
    """Replaces the nest by the calls of `candidate`."""
    nest = candidate.matched.nest.nest
    _Builder(candidate, definitions, nest).build()
    erase(nest)


@dataclass
class _Builder:
    candidate: Candidate
    definitions: Definitions
    nest: NestOp
    _packed: dict[object, SSAValue] = field(default_factory=dict[object, SSAValue])
    _flat: dict[tuple[SSAValue, Operation], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, Operation], SSAValue]
    )

    def __post_init__(self) -> None:
        self._place: Operation = self.nest
        """Before which ops are inserted: a copy that serves all iterations of a loop is made before it."""

    @property
    def output(self) -> str:
        return self.candidate.matched.pattern.output

    def build(self) -> None:
        groups = self.candidate.groups
        direct = [group for group in groups if self.candidate.output_of(group).copy is None]
        if self.candidate.fills and direct:
            self._fill_everything()  # where a temporary is copied to as well: one nest
        for group in groups:
            self._group(group)
        if self.candidate.is_finished:
            return
        rest = [group for group in direct if not group[0].absorbs]
        if len(rest) == len(groups):
            self._finish_everything()
        else:
            for group in rest:
                self._after(group[0], None)

    # -- calls

    def _group(self, group: Group) -> None:
        """All that adds to the same elements: a temporary is filled before it and copied out after it."""
        temporary: SSAValue | None = None
        for call in group:
            temporary = self._call(call, temporary)
        if self.candidate.output_of(group).copy is not None:
            self._after(group[0], temporary)

    def _call(self, call: Call, temporary: SSAValue | None) -> SSAValue:
        """Adds a call and returns what it writes: `temporary`, or for the first of a group a new one."""
        candidate, plan = self.candidate, call.plan
        finish = candidate.finish if call.absorbs else None
        instance = candidate.family.instance(
            call.piece.params,
            candidate.init,
            finish.expression if finish is not None else None,
            finish.dtypes if finish is not None else None,
        )
        callee = self.definitions.of(instance)
        buffers: list[SSAValue] = []
        offsets: list[Linear] = []
        strides: list[Sequence[int]] = []
        written = plan.operands[self.output].access.buffer
        for name in candidate.matched.pattern.kernel.dtypes:
            operand = plan.operands[name]
            if name == self.output and operand.copy is not None:
                written = temporary if temporary is not None else self._temporary(operand)
                buffers.append(written)
            else:
                buffers.append(self._input(operand))
            offsets.append(self._offset(call, operand.offset, operand.moves))
            strides.append(operand.strides)
        if finish is not None:
            for name, access in finish.accesses.items():
                start, moves, own = self._extra(call, access, finish.iterators[name])
                buffers.append(access.buffer)
                offsets.append(self._offset(call, start, moves))
                strides.append(own)
        axes = candidate.matched.nest.axes
        iterators = [
            IteratorAttr.get(
                _name(axes[loop.axis].name),
                loop.count,
                "reduction" if loop.is_reduction else "parallel",
            )
            for loop in call.loops
        ]
        maps = [affine_map([offset], len(iterators)) for offset in offsets]
        sizes = list(plan.given.values())
        self._insert(CallOp(callee, iterators, buffers, maps, strides, sizes))
        return written

    def _offset(self, call: Call, start: int, moves: Sequence[int]) -> Linear:
        return Linear(tuple(moves[loop.axis] for loop in call.loops), start)

    def _extra(
        self, call: Call, access: StridedAccess, iterators: Sequence[str]
    ) -> tuple[int, list[int], list[int]]:
        """Offset, moves by axis and strides of an operand of the epilogue."""
        start = access.offset
        moves: list[int] = []
        along: dict[str, int] = {}
        for cut, stride in zip(call.piece.cuts, access.strides, strict=True):
            start += stride * cut.start
            moves.append(stride * cut.block)
            inside = stride
            for name, size in reversed(list(cut.sizes.items())):
                along[name] = inside
                inside *= size
        return start, moves, [along[name] for name in iterators]

    def _input(self, operand: OperandPlan) -> SSAValue:
        """The operand's buffer, or a packed copy of it."""
        if operand.copy is None:
            return operand.access.buffer
        key = copy_key(operand)
        if key not in self._packed:
            around = unmoved(self.nest, operand.access.buffer)
            self._place = around[-1] if around else self.nest
            buffer = self._alloc(operand, f"{_hint(operand.access.buffer)}_packed")
            self._pack(operand, buffer)
            self._place = self.nest
            self._packed[key] = buffer
        return self._packed[key]

    def _temporary(self, operand: OperandPlan) -> SSAValue:
        """Where a kernel writes that cannot write the output; with what it adds to."""
        buffer = self._alloc(operand, f"{_hint(operand.access.buffer)}_tile")
        if self.candidate.fills:
            self._fill_temporary(buffer)
        elif self.candidate.matched.pattern.normal.operator is not None and (
            number_of(self.nest.writes.data[0].init) is None
        ):
            self._pack(operand, buffer)
        return buffer

    def _alloc(self, operand: OperandPlan, hint: str) -> SSAValue:
        copy = operand.copy
        assert copy is not None
        element = memref_of(operand.access.buffer).element_type
        alloc = AllocOp(memref(element, copy.shape))
        self._insert(alloc)
        alloc.buffer.name_hint = hint
        return alloc.buffer

    def _pack(self, operand: OperandPlan, buffer: SSAValue) -> None:
        copy = operand.copy
        assert copy is not None
        index = AffineMapAttr(affine_map(copy.forms, len(copy.shape)))
        self._insert(PackOp(self._viewed(copy.view), index, buffer))

    def _viewed(self, view: View) -> SSAValue:
        """The buffer that a view indexes."""
        if not view.is_flat or len(buffer_shape(view.buffer)) == 1:
            return view.buffer
        if (view.buffer, self._place) not in self._flat:
            element = memref_of(view.buffer).element_type
            reshape = ReshapeOp(view.buffer, memref(element, view.shape))
            self._insert(reshape)
            reshape.result.name_hint = f"{_hint(view.buffer)}_flat"
            self._flat[view.buffer, self._place] = reshape.result
        return self._flat[view.buffer, self._place]

    # -- nests over everything

    def _fill_everything(self) -> None:
        iterators, out = self._parallel()
        self._insert(self._filling(iterators, self.nest.outs[0], out))

    def _finish_everything(self) -> None:
        """`out = finish(ins, out)` in place."""
        iterators, out = self._parallel()
        place = self._places()
        used = self._finish_reads()
        reads = [
            (
                self.nest.ins[at],
                [
                    _moved(form, place, len(iterators))
                    for form in linear_map(self.nest.read_map(at))
                ],
                self.nest.reads.data[at].pad,
            )
            for at in used
        ]
        self._insert(self._finishing(iterators, used, reads, None, self.nest.outs[0], out))

    def _places(self) -> list[int | None]:
        places: list[int | None] = []
        count = 0
        for iterator in self.nest.iterators:
            places.append(None if iterator.is_reduction else count)
            count += not iterator.is_reduction
        return places

    def _parallel(self) -> tuple[list[IteratorAttr], list[Linear]]:
        """The parallel iterators of the nest, and the output's index over them."""
        iterators = [iterator for iterator in self.nest.iterators if not iterator.is_reduction]
        place = self._places()
        forms = linear_map(self.nest.write_map(0))
        return iterators, [_moved(form, place, len(iterators)) for form in forms]

    # -- nests over pieces

    def _boxes(self, call: Call) -> list[Box]:
        return list(boxes(self.candidate.matched.nest.axes, call.piece))

    def _fill_temporary(self, buffer: SSAValue) -> None:
        """Fills all of it with the nest's init."""
        shape = buffer_shape(buffer)
        iterators = [IteratorAttr.get(f"d{axis}", size) for axis, size in enumerate(shape)]
        index = [Linear.iterator(axis, len(shape)) for axis in range(len(shape))]
        self._insert(self._filling(iterators, buffer, index))

    def _after(self, call: Call, temporary: SSAValue | None) -> None:
        """Finishes the piece of the output in place, or what is in the temporary on its way there."""
        nest = self.candidate.matched.nest
        written = self._view(nest.write)
        used = [] if self.candidate.is_finished else self._finish_reads()
        views = [self._view(nest.reads[at]) for at in used]
        for box in self._boxes(call):
            count = len(box.names)
            reads = [
                (
                    self._viewed(view),
                    [form.substitute(box.axes, count) for form in view.forms],
                    self.nest.reads.data[at].pad,
                )
                for at, view in zip(used, views, strict=True)
            ]
            source = None
            if temporary is not None:
                source = (temporary, self._in_temporary(call, box))
            index = [form.substitute(box.axes, count) for form in written.forms]
            target = self._viewed(written)
            self._insert(self._finishing(_iterators(box), used, reads, source, target, index))

    def _in_temporary(self, call: Call, box: Box) -> list[Linear]:
        """The index of a point of `box` in the temporary."""
        operand = call.plan.operands[self.output]
        copy = operand.copy
        assert copy is not None
        target = self.candidate.matched.pattern.normal.target
        zero = Linear((0,) * len(box.names), 0)
        loops = [box.loops[axis] for axis in copy.loops]
        inner = [
            box.points.get(target.indices[axis][0].iterator or "", zero)
            if axis is not None
            else zero
            for axis in copy.layout.order
        ]
        return [*loops, *inner]

    def _view(self, access: StridedAccess) -> View:
        view = view_of(self.candidate.matched.nest, access)
        assert view is not None, "the plan has seen to it"
        return view

    # -- ops

    def _filling(
        self, iterators: Sequence[IteratorAttr], buffer: SSAValue, index: Sequence[Linear]
    ) -> NestOp:
        init = self.nest.writes.data[0].init
        block = Block(arg_types=[memref_of(buffer).element_type])
        constant = arith.ConstantOp(init)  # pyright: ignore[reportArgumentType] - a typed number
        block.add_op(constant)
        body = Region(end(block, [constant.result]))
        write = WriteAttr.get(affine_map(index, len(iterators)))
        return NestOp(iterators, [], [], [buffer], [write], body)

    def _finish_reads(self) -> list[int]:
        assert self.nest.finish is not None
        arguments = self.nest.element_arguments(self.nest.finish)
        return [at for at, argument in enumerate(arguments) if argument.first_use is not None]

    def _finishing(
        self,
        iterators: Sequence[IteratorAttr],
        used: Sequence[int],
        reads: Sequence[tuple[SSAValue, Sequence[Linear], Attribute]],
        source: tuple[SSAValue, Sequence[Linear]] | None,
        target: SSAValue,
        index: Sequence[Linear],
    ) -> NestOp:
        """`target[index] = finish(reads, source)`, of what is there where there is no source."""
        count = len(iterators)
        buffers = [buffer for buffer, _, _ in reads]
        maps = [ReadAttr(AffineMapAttr(affine_map(list(at), count)), pad) for _, at, pad in reads]
        if source is not None:
            buffers.append(source[0])
            maps.append(ReadAttr.get(affine_map(list(source[1]), count)))
        block = Block(arg_types=[memref_of(value).element_type for value in (*buffers, target)])
        accumulator: SSAValue = block.args[-2] if source is not None else block.args[-1]
        result = accumulator
        if not self.candidate.is_finished and self.nest.finish is not None:
            finish = self.nest.finish.block
            known: dict[int, SSAValue] = {at: block.args[n] for n, at in enumerate(used)}
            arguments = [known.get(at, accumulator) for at in range(len(self.nest.ins))]
            (result,) = inline(finish, [*arguments, accumulator], block)
            for name, argument in zip((*used, None), block.args, strict=False):
                if name is not None:
                    argument.name_hint = finish.args[name].name_hint
        body = Region(end(block, [result]))
        write = WriteAttr.get(affine_map(list(index), count))
        return NestOp(iterators, buffers, maps, [target], [write], body)

    def _insert(self, op: Operation) -> None:
        op.location = self.nest.location
        insert_before(self._place, op)


def _iterators(box: Box) -> list[IteratorAttr]:
    return [IteratorAttr.get(name, size) for name, size in zip(box.names, box.sizes, strict=True)]


def _moved(form: Linear, place: Sequence[int | None], count: int) -> Linear:
    """`form` over the parallel iterators only; it uses no others."""
    coefficients = [0] * count
    for coefficient, at in zip(form.coefficients, place, strict=True):
        if at is not None:
            coefficients[at] = coefficient
    return Linear(tuple(coefficients), form.constant)


def _name(axis: str) -> str:
    return axis.replace("*", "_")


def _hint(value: SSAValue) -> str:
    return value.name_hint or "buffer"
