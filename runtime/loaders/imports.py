"""What fills a library's import slots, for each module that uses the library.

A library is bound once, its slots of Python to one function of C that asks which call is running in this
thread: modules of one library, each with its own imports, run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from threading import local
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from inarch.artifact import Artifact
from inarch.artifact.manifest import Import
from inarch.core.dtypes import is_float_array
from inarch.core.errors import InarchError, unknown
from inarch.runtime.abi import ffi
from inarch.runtime.function import Function
from inarch.runtime.loaders.fallback import absent
from inarch.runtime.loaders.library import Library, Natives, Slot
from inarch.runtime.loaders.native import NativeRegion
from inarch.runtime.module import Imports, Module
from inarch.runtime.native import NativeFunction
from inarch.runtime.registry import REGISTRY
from inarch.runtime.tensor import Array, view

if TYPE_CHECKING:
    from types import TracebackType

Callback: TypeAlias = Callable[..., object]

_IMPORT = "int32_t(void *, DLTensor *, int32_t)"
_UNSIGNED = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}
_ONES = {size: int.from_bytes(bytes([1]) * size, "little") for size in _UNSIGNED}
_FLOAT_FILL, _FILL, _OTHER_FILL = 0xFF, 0xA5, 0x5A
"""Bytes of outputs before a call: of floats a quiet NaN. As in the C of `--checked`."""


class Slots:
    """The slots of one module that are filled at load, and what fills them."""

    def __init__(self, artifact: Artifact, imports: Imports, modules: Sequence[Module]) -> None:
        """Raises InarchError for a slot that nothing fills, UsageError for an import without a slot."""
        # The library fills the others itself.
        self._slots = [slot for slot in artifact.manifest.imports if slot.linked is None]
        names = [slot.name for slot in self._slots]
        for name in imports:
            if name not in names:
                raise unknown("import", name, names, within=f"'{artifact.where}'")
        self._callbacks = [_filled(artifact, slot, imports, modules) for slot in self._slots]
        self.natives: Natives = tuple(
            one if isinstance(one, NativeFunction) else None for one in self._callbacks
        )

    def table(self) -> list[Slot]:
        """What the library is bound to."""
        made = ffi()
        return [
            (_trampoline(), made.cast("void *", number)) if native is None else native.slot()
            for number, native in enumerate(self.natives)
        ]

    def name(self, number: int) -> str:
        """Of a slot."""
        return self._slots[number].name

    @property
    def call_python(self) -> bool:
        """Whether calls of the module may come back to Python."""
        return None in self.natives

    def running(self, library: Library) -> _Running:
        """Around a call of the library, in the thread that calls."""
        return _Running(self, library)

    def call(self, number: int, args: Any, count: int, library: Library) -> None:
        """Calls what fills slot `number` on the arrays that C gives."""
        slot, function = self._slots[number], self._callbacks[number]
        signature = function.signature if isinstance(function, Function) else slot.signature
        inputs = slot.reads if signature is None else len(signature.inputs)
        # An array that the function keeps, though it must not, keeps the library and its weights.
        arrays = [view(args[i], writeable=i >= inputs, owner=library) for i in range(count)]
        if signature is None:  # operands that are updated: they have values
            function(*arrays)
            return
        outputs = arrays[inputs:]
        _fill(outputs, again=False)
        _call(function, arrays, inputs)
        suspects = _unwritten(outputs, again=False)
        if not suspects:
            return
        # Their values may be what was filled in: then they are not so a second time.
        _fill(outputs, again=True)
        _call(function, arrays, inputs)
        for output in _unwritten(outputs, again=True):
            if output in suspects:
                raise InarchError(
                    f"output {output} was never written; write it in place, as out[:] = ..."
                )


class _Running:
    """One call: which module's imports C means in this thread, and how one of them failed."""

    def __init__(self, slots: Slots, library: Library) -> None:
        self.slots = slots
        self.library = library
        self.failure: tuple[str, BaseException] | None = None

    def __enter__(self) -> Self:
        self._before: _Running | None = getattr(_THREAD, "running", None)
        _THREAD.running = self
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        _THREAD.running = self._before
        if self.failure is not None and not isinstance(self.failure[1], Exception):
            raise self.failure[
                1
            ]  # KeyboardInterrupt and the like are no failure that the host mends

    def call(self, number: int, args: Any, count: int) -> int:
        """The code for C; a failure is kept for the other side, as no exception can pass through C."""
        try:
            self.slots.call(number, args, count, self.library)
        except BaseException as error:  # noqa: BLE001
            self.failure = (self.slots.name(number), error)
            return 1
        return 0

    def raise_failure(self, name: str) -> None:
        """Raises what the function `name` failed of, if it was an import."""
        if self.failure is None:
            return
        slot, error = self.failure
        if not isinstance(error, Exception):
            raise error  # KeyboardInterrupt and the like are not the import's
        said = str(error) if isinstance(error, InarchError) else f"{type(error).__name__}: {error}"
        # The library does not know what Python raised, but whose the import is.
        owner = self.library.message().partition("failed with code 1")[2]
        raise InarchError(f"{name}: import '{slot}' failed: {said}{owner}") from error


_THREAD = local()


def failure_here() -> str:
    """What Python's function in a slot has just failed of, in this thread's call; it is forgotten."""
    running: _Running | None = getattr(_THREAD, "running", None)
    if running is None or running.failure is None:
        return ""
    (_, error), running.failure = running.failure, None
    if not isinstance(error, Exception):
        running.failure = ("", error)
    return str(error) if isinstance(error, InarchError) else f"{type(error).__name__}: {error}"


@cache
def _trampoline() -> Any:
    """The C function in every slot that Python fills; `self` is the slot's number."""

    def entry(own: Any, args: Any, count: int) -> int:
        running: _Running | None = getattr(_THREAD, "running", None)
        if running is None:
            return 1  # called by C that no module's function called
        return running.call(int(ffi().cast("intptr_t", own)), args, count)

    return ffi().callback(_IMPORT, entry, error=1)


def _call(function: Callback, arrays: Sequence[Array], inputs: int) -> None:
    if isinstance(function, Function):
        function(*arrays[:inputs], out=arrays[inputs:])
    else:
        function(*arrays)


def _fill(outputs: Sequence[Array], *, again: bool) -> None:
    for array in outputs:
        _bits(array)[...] = _pattern(array, again=again)


def _unwritten(outputs: Sequence[Array], *, again: bool) -> list[int]:
    """The outputs that still are what they were filled with."""
    found: list[int] = []
    for number, array in enumerate(outputs):
        bits, pattern = _bits(array), _pattern(array, again=again)
        # One element tells, nearly always.
        if array.size and bits.item(0) == pattern and (bits == pattern).all():
            found.append(number)
    return found


def _bits(array: Array) -> Array:
    return array.view(_UNSIGNED[array.itemsize])


def _pattern(array: Array, *, again: bool) -> int:
    byte = _OTHER_FILL if again else _FLOAT_FILL if is_float_array(array.dtype) else _FILL
    return byte * _ONES[array.itemsize]


def _filled(
    artifact: Artifact, slot: Import, imports: Imports, modules: Sequence[Module]
) -> Callback:
    """What fills an import slot: `imports`, else a submodule, else the registry."""
    given = imports.get(slot.name)
    if given is not None:
        return given.get_function("main") if isinstance(given, Module) else given
    for module in modules:
        if slot.name in module.functions:
            function = module.functions[slot.name]
            return function.for_slot(slot) if isinstance(function, NativeRegion) else function
    if slot.name in REGISTRY:
        return REGISTRY[slot.name]
    if slot.fallback:
        return absent(slot.name)
    raise artifact.error(
        f"imports '{slot.name}', which nothing provides; give it with "
        f"load(..., imports={{'{slot.name}': function}}) or inarch.runtime.registry.register"
    )
