"""A model's code: compiled, or taken from the cache, for the sizes that come, and found by them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inarch.compat.onnxruntime.described import Described
from inarch.core.cache import default_cache, key_of
from inarch.core.lazy import Array
from inarch.driver.keep.model import kept_model
from inarch.driver.keep.sources import running
from inarch.driver.options import Options
from inarch.runtime.function import Function
from inarch.runtime.module import Module

Call = Callable[..., Any]

_Made = tuple[Call, "Sequence[int] | None"]
"""What runs arrays of some sizes, and which of them it takes; None: all."""

MOST = 64
"""Sizes whose code is found by a look; what was made first goes first, and comes again from the cache."""


@dataclass(frozen=True)
class Model:
    """What a session runs."""

    source: Path | bytes
    digest: str
    described: Described
    threads: int
    """At most so many run a call; 0: as many as there should be."""
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    """Sizes of symbolic dimensions that are given, by name."""


class Program:
    """The code of a model, with values for overridable initializers. Threads may share it."""

    def __init__(self, model: Model, values: Mapping[str, Array]) -> None:
        """Compiles now what has all sizes. Raises InarchError as `inarch.compile`."""
        self._model = model
        described = model.described
        self.inputs = [arg.name for arg in described.inputs]
        options = Options(values=dict(values) or None, dims=dict(model.dims) or None)
        self._deciding_key = _deciding_key(model.digest)
        self._module: Module = kept_model(
            model.source,
            options,
            model.digest,
            lambda: described.interface(model.digest if isinstance(model.source, bytes) else ""),
            is_open=described.is_open,
            deciding=_kept_deciding(self._deciding_key),
        )
        self._calls: dict[object, _Made] = {}
        self.call: Call | None = None
        """What runs it, whatever the arrays are; None: it depends on them."""
        deciding = self._found_deciding()
        if deciding is None:
            self.call = self._function(self._module)
        self._deciding = deciding or ()

    def __call__(self, arrays: Sequence[Array]) -> Any:
        """The outputs: an array, or a tuple of several. Raises InarchError as a module."""
        if self.call is not None:
            return self.call(*arrays)
        call, takes = self._calls.get(self._key(arrays)) or self._made(arrays)
        return call(*arrays) if takes is None else call(*[arrays[at] for at in takes])

    def function_of(self, arrays: Sequence[Array]) -> Function:
        """The function that runs arrays of these sizes, of all that are not read when it is compiled."""
        return self._function(self._module_of(arrays))

    @property
    def deciding(self) -> tuple[int, ...]:
        """The inputs, by position, for whose values code is compiled."""
        return self._deciding

    def _key(self, arrays: Sequence[Array]) -> object:
        shapes = tuple([array.shape for array in arrays])
        if not self._deciding:
            return shapes
        return shapes, tuple([arrays[at].tobytes() for at in self._deciding])

    def _made(self, arrays: Sequence[Array]) -> _Made:
        module = self._module_of(arrays)
        takes = [self.inputs.index(port.name) for port in module.inputs]
        made = self._function(module), takes if len(takes) < len(arrays) else None
        while len(self._calls) >= MOST:
            with suppress(KeyError, StopIteration):  # another thread was first
                del self._calls[next(iter(self._calls))]
        self._calls[self._key(arrays)] = made
        return made

    def _module_of(self, arrays: Sequence[Array]) -> Module:
        if self.call is not None:
            return self._module
        module: Any = self._module
        found: Module = module.at(*arrays)
        deciding = self._found_deciding() or ()
        if deciding != self._deciding:
            # Which inputs decide is found when code is made; the next process need not find it again.
            self._deciding, self._calls = deciding, {}
            if self._deciding_key:
                default_cache().put(self._deciding_key, json.dumps(module.deciding).encode())
        return found

    def _function(self, module: Module) -> Function:
        function = module.get_function("main")
        return function.with_threads(self._model.threads) if self._model.threads else function

    def _found_deciding(self) -> tuple[int, ...] | None:
        """The inputs that decide; None of a module that is the same for all arrays."""
        names: Sequence[str] | None = getattr(self._module, "deciding", None)
        return None if names is None else tuple(map(self.inputs.index, names))


def _deciding_key(digest: str) -> str:
    sources = running()
    return key_of("compat.onnxruntime deciding", digest, sources) if sources and digest else ""


def _kept_deciding(key: str) -> Sequence[str]:
    kept = default_cache().get(key) if key else None
    return json.loads(kept) if kept is not None else ()
