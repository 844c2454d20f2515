"""Functions by name, for import slots that nobody filled in `load(imports=...)`.

A function takes NumPy arrays, the inputs and then the outputs, writes the outputs in place, and
must not keep the arrays: their memory is the compiled program's. Raising is how it fails. A C function
is registered as an `inarch.runtime.native.NativeFunction`, and called without Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from inarch.core.errors import UsageError, unknown
from inarch.core.forks import short_lock

F = TypeVar("F", bound=Callable[..., object])


class Registry(Mapping[str, Callable[..., object]]):
    """A table of functions; safe from several threads."""

    def __init__(self) -> None:
        self._functions: dict[str, Callable[..., object]] = {}
        self._lock = short_lock()

    def __getitem__(self, name: str) -> Callable[..., object]:
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._functions))

    def __len__(self) -> int:
        return len(self._functions)

    def register(self, name: str, function: F, *, override: bool = False) -> F:
        """Puts `function` under `name` and returns it.

        Raises UsageError when another function has the name, unless it is to `override` it.
        """
        with self._lock:
            if self._functions.get(name, function) is not function and not override:
                raise UsageError(f"function '{name}' is registered already; pass override=True")
            self._functions[name] = function
        return function

    def unregister(self, name: str) -> None:
        """Removes `name`, if it is there; programs that were loaded keep the function."""
        with self._lock:
            self._functions.pop(name, None)

    def lookup(self, name: str) -> Callable[..., object]:
        """The function `name`. Raises UsageError for an unknown name, with the known ones."""
        if name not in self._functions:
            raise unknown("registered function", name, self._functions)
        return self._functions[name]


REGISTRY = Registry()
"""The process's table: programs that were loaded look here for what they import."""

register = REGISTRY.register
lookup = REGISTRY.lookup
