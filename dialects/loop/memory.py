"""What `loop` and `kernel` ops share: one-line errors, numbered constraints, buffer types."""

from __future__ import annotations

from abc import ABC
from typing import Any, cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from inarch.core.errors import InarchError
from inarch.ir.index.affine import linear_form
from inarch.ir.require import require
from inarch.ir.types import MemRef, dtype_of, is_supported, layout_of, row_major, storage_type


class BufferOp(IRDLOperation, ABC):
    """An op on buffers. C0: every buffer is static, of a supported dtype in its signless form.

    A view of a place that is computed (`strided<[64, 1], offset: ?>`) is: its shape and strides are known.
    """

    def emit_error(self, message: str, underlying_error: Exception) -> Any:
        """Without the text of the whole module, which xDSL would attach."""
        raise underlying_error

    def check_buffers(self) -> None:
        """C0, for every operand and result that is a buffer."""
        for value in (*self.operands, *self.results):
            if isinstance(value.type, MemRefType):
                check_buffer(memref_of(value))


def check_linear(expr: AffineExpr, count: int, label: str) -> tuple[list[int], int]:
    """`(coefficients, constant)` of an index expression over `count` iterators, which is linear."""
    try:
        return linear_form(expr, count)
    except InarchError as error:
        raise VerifyException(f"{label}: {error.message}") from error


def check_buffer(buffer: MemRef) -> None:
    """C0: of a static shape, a supported dtype, signless, with static strides."""
    require(buffer.has_static_shape(), "C0", "expected a static shape, found {}", buffer)
    element = buffer.element_type
    fits = is_supported(element) and storage_type(element) == element
    require(fits, "C0", "expected a supported signless dtype, found {}", buffer)
    is_static = layout_of(buffer) is not None
    require(is_static, "C0", "expected static strides, found {}", buffer)


def memref_of(value: SSAValue) -> MemRef:
    """The buffer type of `value`. Raises VerifyException for any other type."""
    if not isinstance(value.type, MemRefType):
        raise VerifyException(f"expected a buffer, found {value.type}")
    return cast("MemRef", value.type)


def buffer_shape(value: SSAValue) -> tuple[int, ...]:
    """The static shape of a buffer value."""
    return tuple(memref_of(value).get_shape())


def strides_of(buffer: MemRef) -> tuple[int, ...]:
    """The static strides of a buffer, in elements: `check_buffer` has seen to them."""
    found = layout_of(buffer)
    assert found is not None, "check_buffer has seen to it"
    return found[0]


def is_row_major(buffer: MemRef) -> bool:
    """Whether the buffer is dense, row-major and starts at its pointer."""
    return _is_dense(buffer, 0)


def is_moved_row_major(buffer: MemRef) -> bool:
    """Whether the buffer is dense and row-major, and of a place that is computed."""
    return _is_dense(buffer, None)


def _is_dense(buffer: MemRef, place: int | None) -> bool:
    found = layout_of(buffer)
    if found is None:
        return False
    strides, offset = found
    shape = tuple(buffer.get_shape())
    wanted = row_major(shape)
    unit = all(s == w or n == 1 for s, w, n in zip(strides, wanted, shape, strict=True))
    return offset == place and unit


def nbytes(buffer: MemRef) -> int:
    """Bytes from the buffer's pointer to the end of its last element; 0 for an empty buffer.

    A dynamic offset is in the pointer.
    """
    found = layout_of(buffer)
    assert found is not None, "check_buffer has seen to it"
    strides, offset = found
    shape = buffer.get_shape()
    if any(size == 0 for size in shape):
        return 0
    last = (offset or 0) + sum(
        stride * (size - 1) for stride, size in zip(strides, shape, strict=True)
    )
    return (last + 1) * dtype_of(buffer.element_type).nbytes
