"""IOBinding: inputs and outputs at places in memory, which a run reads and writes without a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from inarch.compat.onnxruntime.described import Described
from inarch.compat.onnxruntime.errors import refuse
from inarch.compat.onnxruntime.feeds import array_of, check
from inarch.compat.onnxruntime.values import OrtValue, check_device, check_kind, view_of
from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np

if TYPE_CHECKING:
    from inarch.compat.onnxruntime.program import Program
    from inarch.compat.onnxruntime.session import InferenceSession


class IOBinding:
    """What a session reads and writes. One thread at a time.

    Where all of it is bound to memory and the model has no output of computed size, a run is one bound call.
    """

    def __init__(self, session: InferenceSession, program: Program, described: Described) -> None:
        """For `InferenceSession.io_binding`."""
        self.session = session
        self._program = program
        self._args = {arg.name: arg for arg in described.inputs}
        self._defaults = {arg.name for arg in described.defaults}
        self._every = [arg.name for arg in described.outputs]
        self._inputs: dict[str, Array] = {}
        self._wanted: dict[str, Array | None] = {}
        self._found: list[Array] = []
        self._call: Any = None
        """The bound call of what is bound now; False: there is none."""

    def bind_cpu_input(self, name: str, arr_on_cpu: Array) -> None:
        """Reads an input from an array, at each run. Raises RuntimeError for other objects."""
        if not isinstance(cast("object", arr_on_cpu), np.ndarray):
            raise RuntimeError(
                f"Unable to create OrtValue from the given python object of '{name}'"
            )
        self._bind(name, arr_on_cpu)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Reads an input from a value, at each run as it is then."""
        self._bind(name, ortvalue.numpy())

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: object,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Reads an input from memory, which the caller keeps."""
        check_device(device_type, device_id)
        self._bind(name, view_of(buffer_ptr, shape, element_type))

    def _bind(self, name: str, array: Array) -> None:
        if name not in self._args and name not in self._defaults:
            raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")
        check_kind(array)
        self._inputs[name] = array
        self._call = None

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: object = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Asks for an output: in memory of the caller, or in an array that each run makes."""
        check_device(device_type, device_id)
        array = None
        if buffer_ptr is not None:
            if element_type is None or shape is None:
                raise ValueError(
                    "`element_type` and `shape` are to be provided if pre-allocated memory is provided"
                )
            array = view_of(buffer_ptr, shape, element_type)
            if name not in self._every:
                raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")
        self._want(name, array)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Writes an output into a value."""
        self._want(name, ortvalue.numpy())

    def _want(self, name: str, array: Array | None) -> None:
        self._wanted[name] = array
        self._call = None

    def clear_binding_inputs(self) -> None:
        """Binds no input."""
        self._inputs.clear()
        self._call = None

    def clear_binding_outputs(self) -> None:
        """Asks for no output."""
        self._wanted.clear()
        self._found, self._call = [], None

    def synchronize_inputs(self) -> None:
        """Nothing: memory is the host's."""

    def synchronize_outputs(self) -> None:
        """Nothing: memory is the host's."""

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run, in the order in which they were bound."""
        return [OrtValue(array) for array in self._found]

    def copy_outputs_to_cpu(self) -> list[Array]:
        """The outputs of the last run, as arrays of their own."""
        return [array.copy() for array in self._found]

    def run(self) -> None:
        """For `run_with_iobinding`."""
        if not self._call:
            self._prepare()
        try:
            if self._call:
                self._call()
                return
            found = self.session.run(list(self._wanted), self._inputs)
        except Exception as error:
            raise RuntimeError(f"Error in execution: {error}") from error
        self._found = []
        for (name, place), array in zip(self._wanted.items(), found, strict=True):
            if place is None:
                self._found.append(array)
                continue
            if place.shape != array.shape or place.dtype != array.dtype:
                raise RuntimeError(
                    f"Error in execution: output '{name}': expected memory of {array.dtype}"
                    f"{list(array.shape)}, found {place.dtype}{list(place.shape)}"
                )
            np.copyto(place, array)
            self._found.append(place)

    def _prepare(self) -> None:
        """Makes the bound call of what is bound, where that has all inputs and memory for all outputs."""
        if not self._wanted:
            raise RuntimeError("Error in execution: At least one output should be requested.")
        for name in self._wanted:
            if name not in self._every:
                raise RuntimeError(f"Error in execution: Invalid output name:{name}")
        missing = [name for name in self._args if name not in self._inputs]
        if missing:
            raise RuntimeError(f"Error in execution: Missing Input: {missing[0]}")
        if self._call is None:
            self._call = self._bound(self._wanted) or False

    def _bound(self, wanted: Mapping[str, Array | None]) -> Any:
        places = [wanted.get(name) for name in self._every]
        if self._defaults & self._inputs.keys() or any(place is None for place in places):
            return None
        arrays: list[Array] = []
        for name, arg in self._args.items():
            array = self._inputs[name]
            if array_of(array, name, arg) is not array:
                return None
            check(array, arg)
            arrays.append(array)
        try:
            function = self._program.function_of(arrays)
            if self._program.deciding:
                return None
            call = function.bind(*arrays, out=places)
        except InarchError:
            return None
        self._found = [place for place in wanted.values() if place is not None]
        return call


refuse(IOBinding, get_outputs_as_ortvaluevector="use get_outputs")
