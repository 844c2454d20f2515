"""`loop.alloc`, `loop.constant`, `loop.reshape`: where buffers come from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from xdsl.ir import Operation

from inarch.core.lazy import np
from inarch.definitions.buffers import Buffer, buffer_of, new_buffer
from inarch.definitions.frame import Definition, Frame, outside, storage_dtype
from inarch.dialects.loop.buffer import AllocOp, ConstantOp, ReshapeOp
from inarch.dialects.loop.memory import memref_of
from inarch.ir.payload.constants import constant_array
from inarch.ir.types import row_major


def _alloc(op: Operation, frame: Frame) -> None:
    """Memory in which nothing has been written; a planned one is a part of the workspace."""
    assert isinstance(op, AllocOp)
    kind = memref_of(op.buffer)
    dtype, shape = storage_dtype(kind.element_type), tuple(kind.get_shape())
    state, tag = frame.state, frame.state.new_tag()
    if op.offset is None or not frame.domain.keeps_offsets or state.workspace is None:
        frame.set(op, new_buffer(frame.domain, dtype, shape, tag))
        return
    start = frame.workspace + op.offset.value.data
    end = start + math.prod(shape) * dtype.itemsize
    if end > state.workspace.size:
        raise outside(
            op, f"expected to end within {state.workspace.size} bytes of workspace, found {end}"
        )
    assert state.workspace_tags is not None, "made with the workspace"
    # A tag for every byte: buffers of other dtypes may come to lie here.
    tags = state.workspace_tags[start:end].reshape(-1, dtype.itemsize)
    memory = state.workspace[start:end].view(dtype)
    frame.set(op, Buffer((memory,), dtype, shape, row_major(shape), 0, tags, tag))


def _constant(op: Operation, frame: Frame) -> None:
    """The numbers of the attribute, which are never written."""
    assert isinstance(op, ConstantOp)
    array = constant_array(op.value, frame.state.store)
    dtype = storage_dtype(memref_of(op.buffer).element_type)
    found = buffer_of(frame.domain, np.asarray(array).astype(dtype, copy=False))
    for part in found.parts:
        part.flags.writeable = False
    frame.set(op, found)


def _reshape(op: Operation, frame: Frame) -> None:
    """The same elements in the same order."""
    assert isinstance(op, ReshapeOp)
    source = frame.buffer(op.source)
    shape = tuple(memref_of(op.result).get_shape())
    frame.set(op, replace(source, shape=shape, strides=row_major(shape)))


DEFINITIONS: Mapping[type[Operation], Definition] = {
    AllocOp: _alloc,
    ConstantOp: _constant,
    ReshapeOp: _reshape,
}
