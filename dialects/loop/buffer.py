"""Buffers: `loop.alloc`, `loop.constant`, `loop.reshape`."""

from __future__ import annotations

import math
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IntegerAttr,
    MemRefType,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryAllocEffect, Pure

from inarch.dialects.loop.memory import (
    BufferOp,
    buffer_shape,
    is_moved_row_major,
    is_row_major,
    memref_of,
)
from inarch.ir.functions import WEIGHT
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i64, storage_type

WORKSPACE_ALIGNMENT_BYTES = 64
"""Of every buffer in the workspace and in the weights: a cache line, and the widest vector."""


@op_definition
class AllocOp(BufferOp):
    """A scratch buffer of the function's workspace; its contents are undefined at first.

    In a loop, at the start of each iteration: in a parallel one, each thread has its own.
    `plan-memory` gives it its `offset` in bytes: `loop.alloc at 4096 : memref<8xf32>`.
    C0: the buffer is static. C1: offset >= 0 and a multiple of 64. C2: it is row-major.
    """

    offset = opt_prop_def(IntegerAttr.constr(type=i64))
    buffer = result_def(MemRefType)
    traits = traits_def(MemoryAllocEffect())
    assembly_format = "(`at` $offset^)? attr-dict `:` type($buffer)"

    def __init__(self, buffer: Attribute) -> None:
        Operation.__init__(self, result_types=[buffer])  # as a nest's

    def verify_(self) -> None:
        self.check_buffers()
        check_offset(self.offset)
        require(is_row_major(memref_of(self.buffer)), "C2", "expected a row-major buffer")


@op_definition
class ConstantOp(BufferOp):
    """A read-only buffer of the module's weights, with the contents of `value`.

    `plan-memory` gives it its `offset` in bytes from the start of the weights.
    C0: the buffer is static. C1: offset >= 0 and a multiple of 64. C2: it is row-major.
    C3: `value` is a tensor of the buffer's shape and element type (up to signedness).
    """

    value = prop_def(DenseIntOrFPElementsAttr | DenseResourceAttr)
    offset = opt_prop_def(IntegerAttr.constr(type=i64))
    buffer = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$value (`at` $offset^)? attr-dict `:` type($buffer)"

    def __init__(
        self, value: DenseIntOrFPElementsAttr | DenseResourceAttr, buffer: Attribute
    ) -> None:
        super().__init__(properties={"value": value}, result_types=[buffer])

    def verify_(self) -> None:
        self.check_buffers()
        check_offset(self.offset)
        require(is_row_major(memref_of(self.buffer)), "C2", "expected a row-major buffer")
        shape = tuple(self.value.type.get_shape())
        wanted = buffer_shape(self.buffer)
        require(shape == wanted, "C3", f"expected a value of shape {wanted}, found {shape}")
        element = memref_of(self.buffer).element_type
        found = cast("TensorType[Attribute]", self.value.type).element_type
        same = storage_type(found) == element
        require(same, "C3", "expected a value of {} elements, found {}", element, found)


@op_definition
class ReshapeOp(BufferOp):
    """The same elements, in the same memory, under another row-major shape.

    C0: buffers are static. C1: both have the same number of elements and one element type.
    C2: both are row-major, and start at their pointers, or both are of a place that is computed.
    """

    source = operand_def(MemRefType)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    def __init__(self, source: SSAValue, result: Attribute) -> None:
        super().__init__(operands=[source], result_types=[result])

    def verify_(self) -> None:
        self.check_buffers()
        source, result = memref_of(self.source), memref_of(self.result)
        same = (
            math.prod(source.get_shape()) == math.prod(result.get_shape())
            and source.element_type == result.element_type
        )
        require(same, "C1", f"expected as many elements of one type, found {source} and {result}")
        both = is_row_major(source) and is_row_major(result)
        moved = is_moved_row_major(source) and is_moved_row_major(result)
        require(both or moved, "C2", f"expected row-major buffers, found {source} and {result}")


_VIEWS = (ReshapeOp, memref.SubviewOp)


def root(value: SSAValue) -> SSAValue:
    """The buffer whose memory `value` names."""
    while isinstance(owner := value.owner, _VIEWS):
        value = owner.source
    return value


def is_constant(value: SSAValue) -> bool:
    """Whether it is all of a `loop.constant`, or of an argument that is one in each call (`WEIGHT`)."""
    while isinstance(owner := value.owner, ReshapeOp):
        value = owner.source
    if not isinstance(value, BlockArgument):
        return isinstance(owner, ConstantOp)
    function = value.block.parent_op()
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return False
    return WEIGHT in function.arg_attrs.data[value.index].data


def check_offset(offset: IntegerAttr | None, label: str = "C1") -> None:
    """Of alloc, constant, and call: a byte offset is not negative and 64-byte aligned."""
    if offset is not None:
        value = offset.value.data
        aligned = value >= 0 and value % WORKSPACE_ALIGNMENT_BYTES == 0
        require(aligned, label, f"expected an offset that is a multiple of 64, found {value}")
