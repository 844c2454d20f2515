"""Writing a pack and the calls that read it as a loop over panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue

from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.access import IteratorAttr
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.control import ForOp, empty_loop
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.ir.edit import erase
from inarch.ir.index.linear import Linear, affine_map, linear_map
from inarch.ir.types import memref
from inarch.passes.loop.nests.moved import moved_view
from inarch.passes.loop.nests.writer import Writer
from inarch.passes.loop.panels.find import Panels


def run_by_panels(panels: Panels) -> ForOp:
    """Replaces the pack and its calls by a loop at their `place`, and returns it."""
    pack, last = panels.pack, panels.calls[-1]
    loop = empty_loop(0, panels.count, 1)
    loop.induction.name_hint = last.names[0]
    around = Writer.before(panels.place, last)
    around.add(loop)
    inside = around.within(loop)
    packing = Writer(inside.builder, pack)
    alloc = AllocOp(memref(memref_of(pack.dst).element_type, buffer_shape(pack.dst)[1:]))
    packing.add(alloc)
    alloc.buffer.name_hint = pack.dst.name_hint
    factors = [(factor,) for factor in panels.factors]
    source = moved_view(packing, pack.src, (loop.induction,), factors, panels.extents)
    index = _without_first(linear_map(pack.map.data))
    packing.add(PackOp(source, index, alloc.buffer))
    views: dict[object, SSAValue] = {}
    for call, moves in zip(panels.calls, panels.moves, strict=True):
        at = Writer(inside.builder, call)
        _write_call(at, call, moves, panels, loop.induction, alloc.buffer, views)
    inside.end()
    dropped: list[Operation] = [*reversed(panels.calls), pack]
    assert isinstance(pack.dst.owner, AllocOp)
    erase(*dropped, pack.dst.owner)
    return loop


def _write_call(
    at: Writer,
    call: CallOp,
    moves: Mapping[int, tuple[int, int]],
    panels: Panels,
    iteration: SSAValue,
    panel: SSAValue,
    views: dict[object, SSAValue],
) -> None:
    arguments: list[SSAValue] = []
    for position, value in enumerate(call.arguments):
        if value is panels.pack.dst:
            arguments.append(panel)
        elif position not in moves:
            arguments.append(value)
        else:
            axis, step = moves[position]
            if (value, axis, step) not in views:
                # As much as there is behind it at every iteration: what a call touches is in it.
                extents = list(buffer_shape(value))
                extents[axis] -= step * (panels.count - 1)
                factors = [(step if dim == axis else 0,) for dim in range(len(extents))]
                views[value, axis, step] = moved_view(at, value, (iteration,), factors, extents)
            arguments.append(views[value, axis, step])
    forms = [form for offset in call.offsets for form in _rest(linear_map(offset.data))]
    at.add(in_loops(call, call.iterators.data[1:], forms, arguments))


def _without_first(forms: tuple[Linear, ...]) -> AffineMapAttr:
    rest = _rest(forms)
    return AffineMapAttr(affine_map(rest, len(rest[0].coefficients)))


def _rest(forms: tuple[Linear, ...]) -> list[Linear]:
    """The forms where the first iterator is 0."""
    return [Linear(form.coefficients[1:], form.constant) for form in forms]


def in_loops(
    call: CallOp,
    iterators: Sequence[IteratorAttr],
    forms: Sequence[Linear],
    arguments: Sequence[SSAValue] | None = None,
) -> CallOp:
    """The same kernel in other loops, at other offsets, on the same operands or on `arguments`."""
    made = CallOp(
        call.callee.root_reference.data,
        iterators,
        list(call.arguments if arguments is None else arguments),
        [affine_map([form], len(iterators)) for form in forms],
        [call.strides_of(position) for position in range(len(call.arguments))],
        call.size_values,
    )
    made.attributes |= call.attributes
    made.location = call.location
    return made
