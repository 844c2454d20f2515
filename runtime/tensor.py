"""Arrays across the C interface: anything as a NumPy array, checked against a port, as a DLTensor.

Nothing is copied. What does not fit is refused with one message that says what would make it fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from math import prod
from typing import Any, Protocol, TypeAlias, cast

from inarch.artifact.manifest import Port
from inarch.core.dtypes import from_dlpack, from_numpy
from inarch.core.errors import ArgumentError, EnvironmentFault, UnsupportedError
from inarch.core.lazy import np
from inarch.runtime.abi import ffi

Array: TypeAlias = "np.ndarray[Any, Any]"

_CPU = 1  # DLDeviceType kDLCPU
_READABLE = (1, 3, 11, 13)
"""By the CPU: kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged."""


def as_array(value: object, port: Port, role: str) -> Array:
    """`value` as an array that shares its memory.

    Takes NumPy arrays, and whatever has `__dlpack__` (PyTorch, JAX, ...) or the buffer protocol.
    `role` starts the message of the ArgumentError for anything else: `main: argument 'x'`.
    """
    if type(value) is np.ndarray:
        return cast("Array", value)
    if not port.shape and type(value) in (bool, int, float):
        return _from_number(cast("float", value), port, role)
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(
            f"{role}: expected {port.type}, found a masked array; use x.filled(value)"
        )
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(cast("Array", value))
    if hasattr(value, "__dlpack__"):
        _check_device(value, role)
        try:
            return np.from_dlpack(cast("Any", value))
        except Exception as error:
            # The protocol lets producers raise anything: wrong device, requires_grad, ...
            raise ArgumentError(
                f"{role}: a {type(value).__name__} that does not give its memory: "
                f"{error}; pass a detached array in CPU memory"
            ) from error
    if isinstance(value, Mapping):
        raise ArgumentError(
            f"{role}: expected {port.type}, found a dict; use run(inputs) for inputs by name"
        )
    try:
        return np.asarray(memoryview(cast("Any", value)))
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"{role}: expected {port.type}, found a {type(value).__name__}; "
            f"use np.array(x, dtype={port.dtype.python})"
        ) from error


def _check_device(value: Any, role: str) -> None:
    """Raises ArgumentError for memory that the CPU does not read, before anything is asked of it."""
    where = getattr(value, "__dlpack_device__", None)
    if where is None:
        return
    try:
        device = tuple(where())
    except Exception:  # noqa: BLE001 - a producer's, of a tensor that was freed: `__dlpack__` says it again
        return
    if device[0] not in _READABLE:
        raise ArgumentError(
            f"{role}: expected memory of the CPU, found a {type(value).__name__} on device {device}; "
            "pass a copy in CPU memory"
        )


def _from_number(value: float, port: Port, role: str) -> Array:
    """A number of Python's as an array of no dimensions: of its kind only, and where it fits."""
    dtype = port.dtype
    kinds = (bool,) if dtype.name == "i1" else (float, int) if dtype.is_float else (int,)
    if type(value) not in kinds:
        raise ArgumentError(
            f"{role}: expected {port.type}, found a {type(value).__name__}; "
            f"use np.array(x, dtype={port.dtype.python})"
        )
    with np.errstate(over="ignore"):
        try:
            array = np.array(value, dtype.numpy)
        except OverflowError:
            array = None
    if array is None or (np.isinf(array) and abs(value) != np.inf):
        raise ArgumentError(
            f"{role}: expected {port.type}, found {value!r}, which is too large for it; "
            "pass a number that it holds"
        )
    return array


def check(array: Array, port: Port, role: str) -> None:
    """Raises ArgumentError unless `array` has the port's type, row-major and aligned."""
    flags = array.flags
    same_type = array.shape == port.shape and array.dtype == _dtype_of(port.dtype.numpy)
    if same_type and flags.c_contiguous and flags.aligned:
        return
    expected = f"{role}: expected {port.type}"
    if array.dtype.name != port.dtype.numpy:
        found = f"{_name_of(array)}{list(array.shape)}"
        raise ArgumentError(
            f"{expected}, found {found}; convert it with x.astype({port.dtype.python})"
        )
    if array.shape != port.shape:
        found = f"{_name_of(array)}{list(array.shape)}"
        raise ArgumentError(f"{expected}, found {found}; {_advice(array.shape, port.shape)}")
    if not array.dtype.isnative:
        raise ArgumentError(
            f"{expected}, found the other byte order; convert it with x.astype({port.dtype.python})"
        )
    if not flags.c_contiguous:
        raise ArgumentError(
            f"{expected} in row-major order, found strides {array.strides}; "
            "use np.ascontiguousarray(x)"
        )
    raise ArgumentError(f"{expected}, found an address that is not aligned; use x.copy()")


def _advice(found: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    """How an array gets another shape, where it is one of the same elements in the same places, or turned."""
    is_flat = len(found) == 1 and found[0] == math.prod(wanted)
    if is_flat or [n for n in found if n != 1] == [n for n in wanted if n != 1]:
        return f"x.reshape({wanted}) fits"
    if sorted(found) != sorted(wanted):
        return "pass an array of that shape"
    left, axes = list(range(len(found))), list[int]()
    for size in wanted:
        axes.append(next(axis for axis in left if found[axis] == size))
        left.remove(axes[-1])
    turned = ", ".join(map(str, axes))
    return f"where its axes are in another order: np.ascontiguousarray(x.transpose({turned}))"


def check_bools(array: Array, port: Port, role: str) -> None:
    """Raises ArgumentError for bools whose bytes are neither 0 nor 1: compiled code computes with bits.

    `array` has the port's type. Others have no such values.
    """
    if port.dtype.name != "i1":
        return
    largest = array.reshape(-1).view(np.uint8).max(initial=0)
    if largest > 1:
        raise ArgumentError(
            f"{role}: expected bools of 0 or 1, found a byte of {largest}; use x.view(np.uint8) != 0"
        )


def as_output(value: object, port: Port, role: str) -> Array:
    """`value` as an array of the port's type that can be written. A copy of it would be of no use.

    Raises ArgumentError.
    """
    try:
        array = as_array(value, port, role)
        check(array, port, role)
    except ArgumentError as error:
        problem = error.message.rpartition("; ")[0]
        shape = f" of shape {port.shape}" if port.shape else " of no dimensions"
        wanted = f"pass a row-major {port.dtype.numpy} array{shape}"
        raise ArgumentError(f"{problem}; {wanted}") from error
    # A number of NumPy's is a value: the array is a copy of it.
    kind = type(value)
    is_number = issubclass(kind, np.generic)
    if not array.flags.writeable or is_number:
        found = f"a {kind.__name__}" if is_number else "a read-only one"
        raise ArgumentError(f"{role}: expected an array that can be written, found {found}")
    return array


_ALIGNMENT = 64
"""Of outputs, in bytes: what JAX asks of memory that it takes without a copy."""


def empty(port: Port) -> Array:
    """An aligned array for an output. Raises EnvironmentFault when there is not enough memory."""
    nbytes = port.nbytes
    try:
        memory = np.empty(nbytes + _ALIGNMENT, np.uint8)
    except (MemoryError, ValueError) as error:
        raise EnvironmentFault(
            f"output '{port.name}': not enough memory for {port.type}, {nbytes} bytes"
        ) from error
    return np.ndarray(
        port.shape, _dtype_of(port.dtype.numpy), memory, -address_of(memory) % _ALIGNMENT
    )


def address_of(array: Array) -> int:
    """Of a row-major array's first element."""
    made = ffi()
    return int(made.cast("uintptr_t", made.from_buffer(array)))


class Owner(Protocol):
    """What keeps the memory of arrays that functions of Python get."""

    def release(self, pointer: Any) -> None:
        """An array of it is gone; it need not do anything."""
        ...


class Layout:
    """The DLTensors of one signature, except for the addresses; made once and never changed."""

    def __init__(self, ports: Sequence[Port]) -> None:
        made = ffi()
        self._ffi = made
        self._type = made.typeof("DLTensor[]")
        self._count = max(len(ports), 1)
        self._shapes = [made.new("int64_t[]", list(port.shape) or 1) for port in ports]
        pattern = made.new(self._type, self._count)
        for tensor, shape, port in zip(pattern, self._shapes, ports, strict=False):
            tensor.device.device_type = _CPU
            tensor.ndim = len(port.shape)
            tensor.dtype.code = port.dtype.dlpack
            tensor.dtype.bits = port.dtype.bits
            tensor.dtype.lanes = 1
            tensor.shape = shape
        self._pattern = bytes(made.buffer(pattern))

    def tensors(self, arrays: Sequence[Array]) -> Any:
        """A new `DLTensor[]` for `arrays`, which must fit the ports and outlive it."""
        made = self._ffi
        tensors = made.new(self._type, self._count)
        made.memmove(tensors, self._pattern, len(self._pattern))
        for number, array in enumerate(arrays):
            tensors[number].data = made.from_buffer(array)
        return tensors


def view(tensor: Any, *, writeable: bool, owner: Owner) -> Array:
    """The array that a DLTensor describes. Its memory is the caller's, or `owner`'s, which it keeps.

    One that is not `writeable` cannot be made so: NumPy looks at the memory that it is of. Raises
    UnsupportedError for an element type that Inarch does not have.
    """
    made = ffi()
    kind, rank = tensor.dtype, tensor.ndim
    row = from_dlpack(kind.code, kind.bits)
    if row is None or kind.lanes != 1:
        said = (kind.code, kind.bits, kind.lanes)
        raise UnsupportedError(f"DLPack dtype {said} is not supported")
    dtype = _dtype_of(row.numpy)
    size = dtype.itemsize
    shape: list[int] = made.unpack(tensor.shape, rank) if rank else []
    if 0 in shape:
        return np.empty(shape, dtype)
    strides = None
    extent, before = size, 0
    if tensor.strides == made.NULL:
        extent *= prod(shape)
    else:
        strides = [step * size for step in made.unpack(tensor.strides, rank)] if rank else []
        for count, step in zip(shape, strides, strict=True):
            span = (count - 1) * step
            extent += abs(span)
            before -= min(span, 0)
    start = made.cast("char *", tensor.data) + tensor.byte_offset - before
    memory = made.buffer(made.gc(start, owner.release), extent)
    if not writeable:
        # Not the memoryview itself: of one, `ndarray` takes what it is a view of.
        memory = np.frombuffer(memoryview(memory).toreadonly(), np.uint8)
    return np.ndarray(shape, dtype, memory, before, strides)


def describe(array: Array, tensor: Any) -> object:
    """Fills a DLTensor with `array`, of any strides; what must live as long as the tensor does.

    Raises ArgumentError for an array that no DLTensor describes, UnsupportedError for its element type.
    """
    made = ffi()
    kind = from_numpy(array.dtype.name)
    if not array.dtype.isnative:
        raise ArgumentError(
            "expected an array in this machine's byte order, found the other; "
            f"convert it with x.astype(np.{kind.numpy})"
        )
    if not array.flags.aligned or any(step % array.itemsize for step in array.strides):
        raise ArgumentError(
            f"expected an aligned array, found elements of {array.itemsize} bytes at strides "
            f"{array.strides} from address {array.ctypes.data:#x}; use x.copy()"
        )
    shape = made.new("int64_t[]", list(array.shape) or 1)
    strides = made.new("int64_t[]", [step // array.itemsize for step in array.strides] or 1)
    tensor.data = made.cast("void *", array.ctypes.data)
    tensor.device.device_type = _CPU
    tensor.ndim = array.ndim
    tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = kind.dlpack, kind.bits, 1
    tensor.shape, tensor.strides = shape, strides
    return array, shape, strides


@cache
def _dtype_of(name: str) -> Any:
    return np.dtype(name)


def _name_of(array: Array) -> str:
    """The element type in the IR's words where it has one, else in NumPy's."""
    try:
        return from_numpy(array.dtype.name).name
    except UnsupportedError:
        return array.dtype.name
