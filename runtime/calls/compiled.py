"""The compiled way of calls: `calls.c`, built once for a machine, and loaded when it is there.

    INARCH_CALLS=compiled    at the first call, which waits for the compiler; a warning says why it cannot be
    INARCH_CALLS=cffi        never
    (unset)                  at the first call where the cache has it: whoever compiles a model has it built
                             beside the model's C. Else it is built beside the program from the second call
                             on, and calls take cffi until then

Nothing is compiled at import. What is called is the same, and so is every message: compiled calls refuse
nothing, they leave what does not fit to the checks in Python.
"""

from __future__ import annotations

import atexit
import os
import platform
import sys
import sysconfig
import warnings
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Event, Thread
from typing import Any, Literal

from inarch.core.cache import default_cache, key_of
from inarch.core.errors import EnvironmentFault, InarchError, UsageError
from inarch.core.forks import long_lock
from inarch.core.lazy import np
from inarch.core.scratch import scratch
from inarch.machine.compilers import StoppedError, find_compiler, first_error, run_compiler
from inarch.runtime.calls.called import Called

_SOURCES = tuple(
    Path(__file__).with_name(name) for name in ("calls.c", "arguments.h", "stable_abi.h")
)
_FLAGS = ("-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")
_SEVERAL = 2
"""Calls after which a compiler is worth starting: a process that calls once ends before."""
_SECONDS = 120.0
_END_SECONDS = 5.0
"""After which a process ends although its compiler does not."""

Way = Literal["compiled", "cffi"]


class Compiled:
    """The extension of this process, if there is one."""

    def __init__(self) -> None:
        self._lock = long_lock()
        self._stop = Event()
        self.forget()
        # A child has no threads: what its parent was building, it builds itself.
        os.register_at_fork(after_in_child=self._forked)
        atexit.register(self._end)

    def _end(self) -> None:
        """Ends a compiler that is at work: a process that was interrupted leaves none behind."""
        self._stop.set()
        if self._builder is not None:
            self._builder.join(_END_SECONDS)

    def forget(self) -> None:
        """As at the start of the process, but for what is loaded: that stays."""
        self._settled = False
        self._extension: Any = None
        self._calls = 0
        self._builder: Thread | None = None

    def _forked(self) -> None:
        if self._builder is not None:
            self.forget()

    def extension(self) -> Any:
        """The extension, or None where calls take cffi, for now or for good. Asked at each call by cffi.

        Raises UsageError for another $INARCH_CALLS than there is.
        """
        if self._settled:
            return self._extension
        asked = os.environ.get("INARCH_CALLS", "")
        if asked not in ("", "compiled", "cffi"):
            raise UsageError(f"$INARCH_CALLS: expected 'compiled' or 'cffi', found '{asked}'")
        with self._lock:
            if not self._settled:
                self._advance(asked)
            return self._extension

    @property
    def is_settled(self) -> bool:
        """Whether the way of calls is no longer going to change."""
        return self._settled

    def prepare(self) -> Way:
        """Compiles now and waits, where it may; the way that calls take from now on."""
        with self._lock:
            if not self._settled:
                self._settle(os.environ.get("INARCH_CALLS", "") or "compiled")
        return "cffi" if self._extension is None else "compiled"

    def begin(self) -> Thread | None:
        """Has it built beside what the process does now; whom to wait for, or None.

        None where it is there, or another way was asked for.
        """
        with self._lock:
            is_open = not self._settled and not os.environ.get("INARCH_CALLS")
            if is_open and self._builder is None and not _unsuited() and _cached() is None:
                self._start()
            return self._builder

    def _start(self) -> None:
        self._builder = Thread(target=self._build_quietly, name="inarch-calls", daemon=True)
        self._builder.start()

    def _advance(self, asked: str) -> None:
        if asked:
            self._settle(asked)
            return
        self._calls += 1
        if self._builder is not None:
            if self._builder.is_alive():
                return
            self._settled = True
        if self._calls == 1 or self._settled:
            self._use(_cached())
        elif self._calls >= _SEVERAL:
            self._start()

    def _settle(self, asked: str) -> None:
        self._settled = True
        if asked == "cffi":
            return
        try:
            self._use(_cached() or self._build())
        except (InarchError, OSError, ImportError) as error:
            warnings.warn(f"calls take cffi, they cannot be compiled: {error}", stacklevel=5)

    def _build_quietly(self) -> None:
        try:
            self._build()
        except (InarchError, OSError, StoppedError):
            return  # nobody asked for it: calls take cffi

    def _build(self) -> bytes:
        found = build(stop=self._stop)
        default_cache().put(_key(), found)
        return found

    def _use(self, content: bytes | None) -> None:
        """Loads the extension and makes it what `Function` and `Module` are called by."""
        if content is None:
            return
        self._extension = load(content)
        self._settled = True
        install(self._extension)


def install(extension: Any) -> None:
    """Makes the extension what functions and modules are called by."""
    Called.__call__ = extension.method(Called)


def build(*flags: str, stop: Event | None = None) -> bytes:
    """The extension, compiled. Raises EnvironmentFault where it cannot be, StoppedError."""
    if reason := _unsuited():
        raise EnvironmentFault(reason)
    compiler = find_compiler()
    with scratch("inarch-calls-") as folder:
        for source in _SOURCES:
            Path(folder, source.name).write_bytes(source.read_bytes())
        made = folder / "inarch_calls.so"
        system = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
        command = [*compiler.command, *_FLAGS, *system, *flags, _SOURCES[0].name, "-o", made.name]
        status, output = run_compiler(command, folder, _SECONDS, stop)
        if status != 0:
            raise EnvironmentFault(f"'{compiler.command[0]}': {first_error(output, status)}")
        return made.read_bytes()


def load(content: bytes) -> Any:
    """The extension that `build` made, in this process for good. Raises ImportError."""
    with scratch("inarch-calls-") as folder:
        path = folder / "inarch_calls.so"
        path.write_bytes(content)
        loader = ExtensionFileLoader("inarch_calls", str(path))
        spec = spec_from_file_location("inarch_calls", path, loader=loader)
        assert spec is not None, "it has a loader"
        module: Any = module_from_spec(spec)
        loader.exec_module(module)
    array = np.zeros((2, 3), np.float32)
    flags = 0x501  # C_CONTIGUOUS, ALIGNED, WRITEABLE
    table, byte = _table_of_numpy(), np.dtype(np.uint8)
    module.use_arrays(array, array.ctypes.data, array.dtype, flags, table, byte)
    return module


def _table_of_numpy() -> object:
    """NumPy's functions for extensions, with which outputs are made; None where they are somewhere else."""
    for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        if (found := sys.modules.get(name)) is not None:
            return getattr(found, "_ARRAY_API", None)
    return None


def _cached() -> bytes | None:
    return None if _unsuited() else default_cache().get(_key())


def _key() -> str:
    return key_of(
        "calls",
        *(source.read_bytes() for source in _SOURCES),
        *_FLAGS,
        sys.platform,
        platform.machine(),
    )


def _unsuited() -> str:
    """Why this Python does not take the stable ABI's extensions; empty where it does."""
    name = sys.implementation.name
    if name != "cpython":
        return f"expected CPython, found {name}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "expected a Python with a GIL, found one without"
    return ""


COMPILED = Compiled()
"""One for a process."""
