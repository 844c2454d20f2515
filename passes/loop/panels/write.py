"""Writing a pack and the calls that read it as a loop over panels."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.builder import Builder
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.loop.buffer import AllocOp
from inarch.dialects.loop.control import ForOp, empty_loop
from inarch.dialects.loop.memory import buffer_shape, memref_of
from inarch.dialects.loop.nest import YieldOp
from inarch.ir.edit import erase, insert_before
from inarch.ir.index.linear import Linear, affine_map, linear_map
from inarch.ir.types import memref
from inarch.passes.loop.nests.moved import moved_view
from inarch.passes.loop.panels.find import Panels


def run_by_panels(panels: Panels) -> ForOp:
    """Replaces the pack and its calls by a loop at their `place`, and returns it."""
    pack, last = panels.pack, panels.calls[-1]
    loop = empty_loop(0, panels.count, 1)
    loop.location = last.location
    loop.induction.name_hint = last.names[0]
    insert_before(panels.place, loop)
    builder = Builder(InsertPoint.at_end(loop.body.block))
    alloc = AllocOp(memref(memref_of(pack.dst).element_type, buffer_shape(pack.dst)[1:]))
    _insert(builder, alloc, pack)
    alloc.buffer.name_hint = pack.dst.name_hint
    factors = [(factor,) for factor in panels.factors]
    source = moved_view(
        builder, pack.src, (loop.induction,), factors, panels.extents, pack.location
    )
    index = _without_first(linear_map(pack.map.data))
    _insert(builder, PackOp(source, index, alloc.buffer), pack)
    views: dict[object, SSAValue] = {}
    for call, moves in zip(panels.calls, panels.moves, strict=True):
        _write_call(builder, call, moves, panels, loop.induction, alloc.buffer, views)
    _insert(builder, YieldOp(), last)
    dropped: list[Operation] = [*reversed(panels.calls), pack]
    assert isinstance(pack.dst.owner, AllocOp)
    erase(*dropped, pack.dst.owner)
    return loop


def _write_call(
    builder: Builder,
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
                views[value, axis, step] = moved_view(
                    builder, value, (iteration,), factors, extents, call.location
                )
            arguments.append(views[value, axis, step])
    offsets = [
        affine_map(_rest(linear_map(offset.data)), len(call.iterators) - 1)
        for offset in call.offsets
    ]
    strides = [call.strides_of(position) for position in range(len(arguments))]
    inner = CallOp(
        call.callee.root_reference.data,
        call.iterators.data[1:],
        arguments,
        offsets,
        strides,
        call.size_values,
    )
    inner.attributes |= call.attributes
    _insert(builder, inner, call)


def _without_first(forms: tuple[Linear, ...]) -> AffineMapAttr:
    rest = _rest(forms)
    return AffineMapAttr(affine_map(rest, len(rest[0].coefficients)))


def _rest(forms: tuple[Linear, ...]) -> list[Linear]:
    """The forms where the first iterator is 0."""
    return [Linear(form.coefficients[1:], form.constant) for form in forms]


def _insert(builder: Builder, op: Operation, origin: Operation) -> None:
    op.location = origin.location
    builder.insert(op)
