"""`kernel`: a call does what its microkernel's meaning says; the C of it is never looked at."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from xdsl.ir import Operation

from inarch.core.dtypes import DType
from inarch.core.lazy import np
from inarch.definitions.access import read_access
from inarch.definitions.frame import Definition, Frame
from inarch.definitions.statements import Operand, Statements
from inarch.dialects.kernel.call import CallOp
from inarch.dialects.kernel.definition import DefOp
from inarch.dialects.kernel.pack import PackOp
from inarch.ir.types import dtype_of
from inarch.meaning import bind, free_sizes, parse


def _define(op: Operation, frame: Frame) -> None:
    """Does nothing: it is called."""
    del op, frame


def _pack(op: Operation, frame: Frame) -> None:
    """`dst[i] = src[map(i)]`, 0 outside."""
    assert isinstance(op, PackOp)
    source, target = frame.buffer(op.src), frame.buffer(op.dst)
    if 0 in target.shape:
        return
    access = read_access(op, frame, source, op.map.data, target.shape, 0)
    found = access.at(frame, [0] * len(target.shape), target.shape)
    views = target.views(target.offset, target.shape, target.strides)
    for view, part in zip(views, frame.domain.parts(found), strict=True):
        view[...] = np.array(part)
    target.mark(target.offset, target.shape, target.strides)


def _call(op: Operation, frame: Frame) -> None:
    """The statements at each point: in order along reductions, all parallel points at once."""
    assert isinstance(op, CallOp)
    definition = frame.state.symbols[op.callee.root_reference.data]
    assert isinstance(definition, DefOp), "the verifier has seen to it"
    meaning = parse(definition.computes.data)
    meaning = bind(meaning, dict(zip(free_sizes(meaning), op.size_values, strict=True)))
    if 0 in op.trip_counts:
        return
    reductions = [i for i, each in enumerate(op.iterators) if each.is_reduction]
    around = [i for i, each in enumerate(op.iterators) if not each.is_reduction]
    counts = tuple(op.trip_counts[i] for i in around)
    for point in itertools.product(*(range(op.trip_counts[i]) for i in reductions)):
        fixed = dict(zip(reductions, point, strict=True))
        operands = {
            operand.label.data: _operand(op, frame, number, dtype_of(operand.dtype), around, fixed)
            for number, operand in enumerate(definition.arguments)
        }
        Statements(frame, meaning, operands, counts, op).run()


def _operand(
    op: CallOp,
    frame: Frame,
    number: int,
    dtype: DType,
    around: Sequence[int],
    fixed: Mapping[int, int],
) -> Operand:
    """Operand `number` at a point of the reductions around the kernel."""
    coefficients, offset = op.offset_of(number)
    offset += sum(coefficients[i] * value for i, value in fixed.items())
    steps = tuple(coefficients[i] for i in around)
    buffer = frame.buffer(op.arguments[number])
    return Operand(buffer, dtype.name, op.strides_of(number), steps, offset)


DEFINITIONS: Mapping[type[Operation], Definition] = {
    DefOp: _define,
    PackOp: _pack,
    CallOp: _call,
}
