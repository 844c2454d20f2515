"""OrtValue: an array that sessions take, give and write into. All of them are in host memory."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, cast

from inarch.compat.onnxruntime.described import ELEMENTS, NAMES
from inarch.compat.onnxruntime.errors import refuse, unsupported
from inarch.core.lazy import Array, np

_DEVICES = ("cuda", "cann", "dml", "webgpu", "gpu", "npu")
"""Those that onnxruntime knows besides the CPU."""


def check_device(device: str, number: int = 0) -> None:
    """Raises as onnxruntime for the CPU does where another device is asked for."""
    if device in _DEVICES:
        raise RuntimeError(
            "Can't allocate memory on the device using this package of OnnxRuntime: expected 'cpu', found "
            f"'{device}'"
        )
    if device != "cpu" or number != 0:
        raise Exception(f"Unsupported device type: {device}:{number}")


def element_dtype(element: object) -> Any:
    """NumPy's dtype of an element type: a dtype, or ONNX's number of one."""
    if isinstance(element, int) and not isinstance(element, bool):
        if element not in ELEMENTS:
            raise unsupported(f"element type {element}")
        return np.dtype(ELEMENTS[element])
    return np.dtype(cast("Any", element))


def check_kind(array: Array) -> None:
    """Raises RuntimeError for elements that no tensor has."""
    if array.dtype.name not in NAMES and array.dtype.kind not in "USO":
        raise RuntimeError(f"Numpy_type {array.dtype.num} can't be converted to MLDataType.")


def view_of(address: int, shape: Sequence[int], element: object) -> Array:
    """The memory at `address` as an array, which does not keep it."""
    dtype = element_dtype(element)
    if dtype.kind in "USO":
        raise RuntimeError("Only binding non-string Tensors is currently supported")
    count = int(np.prod(shape, dtype=np.int64))
    if count == 0:
        return np.empty(tuple(shape), dtype)
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(memory, dtype, count).reshape(tuple(shape))


class OrtDevice:
    """A device: the CPU."""

    def __init__(self, device_type: str = "cpu", device_id: int = 0) -> None:
        check_device(device_type, device_id)

    @staticmethod
    def make(ort_device_name: str, device_id: int = 0, vendor_id: int = -1) -> OrtDevice:  # noqa: ARG004
        """The device of that name. Raises for any but the CPU."""
        return OrtDevice(ort_device_name, device_id)

    def device_id(self) -> int:
        """0."""
        return 0

    def device_type(self) -> int:
        """0: the CPU."""
        return 0

    def device_mem_type(self) -> int:
        """0: memory of the usual kind."""
        return 0

    def device_vendor_id(self) -> int:
        """0: of no maker."""
        return 0


class OrtValue:
    """An array in host memory, which is that of the array that it is made from."""

    def __init__(self, array: Array) -> None:
        self._array = array

    @classmethod
    def ortvalue_from_numpy(
        cls,
        numpy_obj: Array,
        /,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,  # noqa: ARG003
    ) -> OrtValue:
        """Of an array, without a copy where it is row-major. Raises RuntimeError for text, and no array."""
        check_device(device_type, device_id)
        if not isinstance(cast("object", numpy_obj), np.ndarray) or numpy_obj.dtype.kind in "USO":
            raise RuntimeError(
                "Creation of OrtValues is currently only supported from non-string numpy arrays"
            )
        check_kind(numpy_obj)
        return cls(np.asarray(numpy_obj, order="C"))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: Array, /, onnx_element_type: int) -> OrtValue:
        """Of an array whose elements are read as another type of their size, by ONNX's number of it."""
        if not isinstance(cast("object", data), np.ndarray) or type(onnx_element_type) is not int:
            raise TypeError("expected an array and the number of an element type")
        dtype = element_dtype(onnx_element_type)
        if dtype.itemsize != data.dtype.itemsize or dtype.kind == "O":
            raise RuntimeError(f"expected elements of the size of {dtype}, found {data.dtype}")
        return cls(np.asarray(data, order="C").view(dtype))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: object,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,  # noqa: ARG003
        memory_info: object = None,
    ) -> OrtValue:
        """New memory, whose values are any."""
        check_device(device_type, device_id)
        if memory_info is not None:
            raise unsupported("OrtValue.ortvalue_from_shape_and_type(memory_info=...)")
        if any(size < 0 for size in shape):
            raise RuntimeError(f"expected sizes from 0 on, found {list(shape)}")
        dtype = element_dtype(element_type)
        if dtype.kind in "USO":
            raise RuntimeError(
                "Creation of OrtValues is currently only supported from non-string numpy arrays"
            )
        return cls(np.empty(tuple(shape), dtype))

    def numpy(self) -> Array:
        """The array; writing into it writes into the value."""
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is not None:
            return np.array(self._array, dtype=dtype, copy=copy)
        return np.asarray(self._array, dtype=dtype)

    def __dlpack__(self, **settings: Any) -> Any:
        return self._array.__dlpack__(**settings)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def shape(self) -> list[int]:
        """The sizes."""
        return list(self._array.shape)

    def data_type(self) -> str:
        """As `tensor(float)`."""
        return NAMES[self._array.dtype.name]

    def element_type(self) -> int:
        """ONNX's number of the element type."""
        name = self._array.dtype.name
        return next(number for number, each in ELEMENTS.items() if each == name)

    def device_name(self) -> str:
        """`cpu`."""
        return "cpu"

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._array.ctypes.data

    def tensor_size_in_bytes(self) -> int:
        """Of all elements."""
        return self._array.nbytes

    def has_value(self) -> bool:
        """True: there are no empty ones."""
        return True

    def is_tensor(self) -> bool:
        """True."""
        return True

    def is_sparse_tensor(self) -> bool:
        """False: there are none."""
        return False

    def is_tensor_sequence(self) -> bool:
        """False: there are none."""
        return False

    def update_inplace(self, data: Array) -> None:
        """Writes the elements of `data`. Raises RuntimeError where shape or dtype are others."""
        if not isinstance(cast("object", data), np.ndarray):
            raise TypeError("data must be a numpy.ndarray or an OrtValue.")
        if data.size != self._array.size:
            raise RuntimeError(
                "The input size of numpy arrays does not match the size of the OrtValue."
            )
        if data.size and (data.shape, data.dtype) != (self._array.shape, self._array.dtype):
            raise RuntimeError(
                f"update_inplace: expected {self._array.dtype}{list(self._array.shape)}, found "
                f"{data.dtype}{list(data.shape)}"
            )
        np.copyto(self._array, data.reshape(self._array.shape))


refuse(
    OrtValue,
    "as_sparse_tensor",
    "ort_value_from_sparse_tensor",
    from_dlpack="numpy.from_dlpack makes an array",
)
