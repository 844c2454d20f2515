"""The measuring code in C: timed calls of compiled functions, the arithmetic peak, bandwidths."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.backends.host import Native, NativeRequest
from inarch.core.errors import EnvironmentFault, InternalError
from inarch.core.lazy import Array, np
from inarch.core.scratch import scratch
from inarch.driver.host import find_host, machine_code
from inarch.driver.options import DEFAULT_HOST
from inarch.machine.machine import Machine
from inarch.machine.target import Target
from inarch.machine.toolchain import compile_library

ALIGNMENT_BYTES = 64

_DECLARATIONS = """
double bench_call(void *function, void *const *buffers, const void *weights, void *workspace,
                  int64_t count);
double bench_checked(void *function, void *args, int32_t n, int64_t count);
int32_t bench_sequence(void *const *functions, int64_t count, void *const *buffers,
                       const void *weights, void *workspace, double *elapsed);
double bench_peak(int64_t count, float *sink);
int64_t bench_peak_flops(void);
double bench_triad(float *a, const float *b, const float *c, float s, int64_t n, int64_t rounds);
"""
_ENTRY = "int32_t {name}(void *const *buffers, const void *weights, void *workspace);"


class Harness:
    """The measuring code, compiled for one target."""

    def __init__(
        self,
        target: Target,
        host: str = DEFAULT_HOST,
        machine: Machine | None = None,
        threads: int = 1,
    ) -> None:
        """Times are those of one thread; with more `threads`, that share loops, they are by the clock.

        Raises EnvironmentFault when this machine cannot run code for `target`.

        Raises UnsupportedError when `host` makes no machine code.
        """
        from cffi import FFI

        if missing := target.missing_here():
            raise EnvironmentFault(
                f"the target {target} needs {', '.join(missing)}, which this machine has not; "
                "measure for another one with --target"
            )
        self.target = target
        self.machine = machine or target.machine
        self.host = find_host(host)
        """Whose code is measured."""
        self._compile = machine_code(self.host)
        for name in ("OPENBLAS", "OMP", "MKL"):  # what is measured is what one core does
            os.environ[f"{name}_NUM_THREADS"] = "1"
        os.environ["INARCH_NUM_THREADS"] = str(threads)
        self.ffi: Any = FFI()
        self.ffi.cdef(_DECLARATIONS)
        source = (files("inarch.benchmark") / "harness.c").read_text()
        sizes = {"VECTOR_BYTES": target.vector_bytes, "VECTOR_REGISTERS": target.vector_registers}
        sizes["THREADS"] = threads
        head = "".join(f"#define {name} {size}\n" for name, size in sizes.items())
        self._library = self.compile({"harness.c": head + source})
        self._sink = np.zeros(2, np.float32)
        self._held: WeakKeyDictionary[Any, list[Array]] = WeakKeyDictionary()

    def compile(self, units: Mapping[str, str]) -> Any:
        """The library of C `units`, loaded."""
        with scratch("inarch-bench-") as folder:
            path = folder / "measured.so"
            compile_library(units, path, target=self.target)
            return self.load(path)

    def native(self, context: Context, module: ModuleOp) -> tuple[Native, Any]:
        """A lowered program as the host compiles it, and its library, loaded.

        Raises UnsupportedError where the host makes no machine code, and for a program that calls imports.
        """
        with scratch("inarch-bench-") as folder:
            path = folder / "measured.so"
            made = self._compile(NativeRequest(context, module, path, self.target))
            return made, self.load(path, list(made.symbols.values()))

    def load(self, path: Path, entries: Sequence[str] = ()) -> Any:
        """The library in a file, which may go afterwards; `entries` are called by name, unchecked."""
        self.ffi.cdef("\n".join(_ENTRY.format(name=name) for name in entries), override=True)
        return self.ffi.dlopen(str(path))

    def call_once(self, entry: Any, buffers: Any, weights: Any, workspace: Any) -> None:
        """One call, not timed."""
        if entry(buffers, weights, workspace) != 0:
            raise InternalError("a measured function failed")

    def call_ns(self, entry: Any, buffers: Any, weights: Any, workspace: Any, count: int) -> float:
        """Nanoseconds a call, on average over `count` calls after one that is not timed."""
        function = self.ffi.cast("void *", entry)
        found = float(self._library.bench_call(function, buffers, weights, workspace, count))
        if found < 0:
            raise InternalError("a measured function failed")
        return found

    def checked_ns(self, function: int, args: int, n: int, count: int) -> float:
        """The same of a public function of a library, at an address, and its `n` DLTensors."""
        found = float(
            self._library.bench_checked(
                self.ffi.cast("void *", function), self.ffi.cast("void *", args), n, count
            )
        )
        if found < 0:
            raise InternalError("a measured function failed")
        return found

    def sequence_ns(
        self, entries: Sequence[Any], buffers: Any, weights: Any, workspace: Any
    ) -> list[float]:
        """Nanoseconds of each of `entries`, called once, one after the other."""
        functions = self.ffi.new("void *[]", [self.ffi.cast("void *", entry) for entry in entries])
        elapsed = np.zeros(len(entries), np.float64)
        pointer = self.ffi.cast("double *", elapsed.ctypes.data)
        arguments = (functions, len(entries), buffers, weights, workspace, pointer)
        if self._library.bench_sequence(*arguments) != 0:
            raise InternalError("a measured function failed")
        return [float(value) for value in elapsed]

    def peak_gflops(self, milliseconds: float = 1.0) -> float:
        """The most multiply-adds that one thread does now, in GFLOP/s (an addition and a product)."""
        flops = int(self._library.bench_peak_flops())
        sink = self.ffi.cast("float *", self._sink.ctypes.data)
        count = 2000
        elapsed = self._library.bench_peak(count, sink)
        count = max(count, round(count * milliseconds * 1e6 / max(elapsed, 1.0)))
        return flops * count / max(float(self._library.bench_peak(count, sink)), 1.0)

    def triad_gbps(self, nbytes: int, milliseconds: float = 10.0) -> float:
        """GB/s of `a = b + s * c` on three arrays of `nbytes` in all: two reads and a write count."""
        lanes = self.target.vector_bytes // 4
        n = max(1, nbytes // 12 // lanes) * lanes
        arrays = [aligned(np.zeros(n, np.float32)) for _ in range(3)]
        pointers = [self.ffi.cast("float *", array.ctypes.data) for array in arrays]
        rounds = 1
        self._library.bench_triad(*pointers, 0.5, n, rounds)
        elapsed = float(self._library.bench_triad(*pointers, 0.5, n, rounds))
        rounds = max(1, round(milliseconds * 1e6 / max(elapsed, 100.0)))
        best = min(float(self._library.bench_triad(*pointers, 0.5, n, rounds)) for _ in range(3))
        return 12 * n * rounds / best

    def pointer(self, array: Array) -> Any:
        """The address of an array, which must outlive it."""
        return self.ffi.cast("void *", array.ctypes.data)

    def pointers(self, arrays: Sequence[Array]) -> Any:
        """A table of addresses, which keeps the arrays."""
        table = self.ffi.new("void *[]", [self.pointer(array) for array in arrays] or 1)
        self._held[table] = list(arrays)
        return table


def aligned(array: Array) -> Array:
    """A copy of `array` at a multiple of 64 bytes."""
    raw = np.zeros(array.nbytes + ALIGNMENT_BYTES, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT_BYTES
    view = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view
