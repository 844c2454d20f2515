"""A module by the names that users of TVM know: `set_input`, `run`, `get_output`.

module = GraphModule(inarch.load("model.inarch"))
module.set_input("x", image)
module.run()
scores = module.get_output(0)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from inarch.artifact.manifest import Port
from inarch.core.errors import ArgumentError, UsageError, unknown
from inarch.core.lazy import np
from inarch.runtime.function import Function
from inarch.runtime.tensor import Array, as_array, check, check_bools, empty


class _Module(Protocol):
    def get_function(self, name: str) -> Function: ...


class GraphModule:
    """Inputs and outputs that stay, and a run between them, as TVM's `graph_executor.GraphModule`.

    `function` is another one than `main`. An input that was never set is zeros. For one thread at a time.
    """

    def __init__(self, module: _Module, function: str = "main") -> None:
        self.module = module
        self._function = module.get_function(function)
        signature = self._function.signature
        self._inputs = {port.name: (port, empty(port)) for port in signature.inputs}
        for _, array in self._inputs.values():
            array.fill(0)
        self._outputs = tuple(empty(port) for port in signature.outputs)
        arrays = {name: array for name, (_, array) in self._inputs.items()}
        self._call = self._function.bind(*arrays.values(), out=self._outputs)

    def set_input(self, key: str | int | None = None, value: object = None, **params: Any) -> None:
        """Copies `value` to the input `key` (its name or number), and `params` to those of their names.

        Raises UsageError for an input that is not there, ArgumentError for a value that does not fit.
        """
        if key is not None:
            self._set(key, value)
        for name, each in params.items():
            self._set(name, each)

    def _set(self, key: str | int, value: object) -> None:
        port, array = self._input(key)
        role = f"{self._function.name}: argument '{port.name}'"
        given = as_array(value, port, role)
        check(given, port, role)
        check_bools(given, port, role)
        np.copyto(array, given)

    def _input(self, key: str | int) -> tuple[Port, Array]:
        names = list(self._inputs)
        if isinstance(key, int):
            return self._inputs[names[_within(key, len(names), "input")]]
        if key not in self._inputs:
            raise unknown("input", key, names, within=f"'{self._function.name}'")
        return self._inputs[key]

    def run(self, **inputs: Any) -> None:
        """Sets `inputs`, by name, and runs. Raises InarchError when the function fails."""
        self.set_input(**inputs)
        self._call()

    def get_num_inputs(self) -> int:
        """How many inputs there are."""
        return len(self._inputs)

    def get_num_outputs(self) -> int:
        """How many outputs there are."""
        return len(self._outputs)

    def get_input(self, index: str | int, out: Any = None) -> Any:
        """The input by number or name: the memory itself, or copied to `out`."""
        return _given(self._input(index)[1], out)

    def get_output(self, index: int, out: Any = None) -> Any:
        """The output of the last run, by number: memory that the next run writes, or copied to `out`."""
        return _given(self._outputs[_within(index, len(self._outputs), "output")], out)

    def load_params(self, params: Mapping[str, Any]) -> None:
        """Sets inputs by name, as TVM's parameters. What a model was compiled with is in its artifact."""
        self.set_input(**params)

    def __getitem__(self, key: str) -> Function:
        return self.module.get_function(key)


def _given(array: Array, out: Any) -> Any:
    if out is None:
        return array
    try:
        # Of NumPy's own, an older `from_dlpack` makes what cannot be written.
        into: Any = out if type(out) is np.ndarray else np.from_dlpack(out)
        np.copyto(into, array, casting="no")
    except (TypeError, ValueError, AttributeError) as error:
        raise ArgumentError(f"out: expected an array like the one asked for: {error}") from error
    return out


def _within(index: int, count: int, kind: str) -> int:
    if not 0 <= index < count:
        raise UsageError(f"expected an {kind} from 0 to {count - 1}, found {index}")
    return index
