"""Element types in the IR, and the NumPy, C and DLPack types they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias, cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    NoneAttr,
    Signedness,
    StridedLayoutAttr,
    TensorType,
)
from xdsl.ir import Attribute

from inarch.core.dtypes import DTYPES, STORED, DType
from inarch.core.errors import UnsupportedError

MemRef: TypeAlias = MemRefType[Attribute]

f32 = Float32Type()
f64 = Float64Type()
i1 = IntegerType(1)
i64 = IntegerType(64)

_ARITHMETIC: dict[str, Attribute] = {
    "f32": f32,
    "f64": f64,
    "i1": i1,
    **{f"i{bits}": IntegerType(bits) for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": IntegerType(bits, Signedness.UNSIGNED) for bits in (8, 16, 32, 64)},
}
_TO_DTYPE = {attribute: DTYPES[name] for name, attribute in _ARITHMETIC.items()}


def mlir_type(dtype: DType | str) -> Attribute:
    """The element type of `dtype` in the IR: signless for signed integers, `ui8` for unsigned."""
    name = dtype if isinstance(dtype, str) else dtype.name
    return _ARITHMETIC[name] if name in _ARITHMETIC else _stored(STORED.revision)[name]


def dtype_of(element_type: Attribute) -> DType:
    """The dtype of an element type. Raises UnsupportedError for one that Inarch has not."""
    found = _TO_DTYPE.get(element_type)
    if found is not None:
        return found
    if isinstance(element_type, IndexType):
        return DTYPES["i64"]
    others = _stored(STORED.revision)
    name = next((name for name, known in others.items() if known == element_type), None)
    if name is None:
        raise UnsupportedError(
            f"element type {element_type} is not supported; supported: {', '.join([*_ARITHMETIC, *others])}"
        )
    return DTYPES[name]


def is_supported(element_type: Attribute) -> bool:
    """Whether tensors of this element type can be compiled."""
    return element_type in _TO_DTYPE or element_type in _stored(STORED.revision).values()


@lru_cache(maxsize=1)
def _stored(revision: int) -> dict[str, Attribute]:
    """The types of dtypes that files of others define: MLIR's builtin ones, by their names."""
    del revision  # by which it is kept
    return {name: getattr(builtin, name) for name, _ in STORED.working("no tensor has it")}


def storage_type(element_type: Attribute) -> Attribute:
    """The signless type of the same width: below `graph`, signedness is in the ops, as in MLIR."""
    if isinstance(element_type, IntegerType):
        return IntegerType(cast("IntegerType[int]", element_type).width.data)
    return element_type


def tensor(element_type: Attribute, shape: Sequence[int]) -> TensorType[Attribute]:
    """`tensor<shape x element_type>`."""
    return _tensor(element_type, tuple(shape))


def memref(element_type: Attribute, shape: Sequence[int]) -> MemRefType[Attribute]:
    """The row-major buffer of that logical shape: storage element type, no layout."""
    return _memref(element_type, tuple(shape))


# A program has few types, and xDSL verifies each anew: of a memref that takes as long as of a whole op.


@lru_cache(maxsize=1024)
def _tensor(element_type: Attribute, shape: tuple[int, ...]) -> TensorType[Attribute]:
    return TensorType(element_type, shape)


@lru_cache(maxsize=1024)
def _memref(element_type: Attribute, shape: tuple[int, ...]) -> MemRefType[Attribute]:
    return MemRefType(storage_type(element_type), shape)


def moved_memref(element_type: Attribute, shape: Sequence[int]) -> MemRefType[Attribute]:
    """A row-major buffer whose place is computed: `memref<8xf32, strided<[1], offset: ?>>`."""
    layout = StridedLayoutAttr(row_major(shape), None)
    return MemRefType(storage_type(element_type), shape, layout)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of a dense row-major array.

    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def layout_of(buffer: MemRef) -> tuple[tuple[int, ...], int | None] | None:
    """`(strides, offset)` in elements, the offset None where it is dynamic.

    None when a stride is dynamic, or the layout is not strided.
    """
    layout = buffer.layout
    if isinstance(layout, NoneAttr):
        return row_major(tuple(buffer.get_shape())), 0
    if not isinstance(layout, StridedLayoutAttr):
        return None
    strides = layout.get_strides()
    if any(stride is None for stride in strides):
        return None
    return tuple(cast("Sequence[int]", strides)), layout.get_offset()
