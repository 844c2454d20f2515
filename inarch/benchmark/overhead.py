"""What a call costs beside what is computed: of one model, at each way of calling it.

The floor is the function in C with its checks of arguments, called by C in a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from timeit import timeit
from typing import Any

from inarch.artifact import is_artifact
from inarch.benchmark.harness import Harness
from inarch.benchmark.machine import describe
from inarch.benchmark.measure import Progress
from inarch.benchmark.model import function_of, random_array
from inarch.core.errors import UnsupportedError
from inarch.core.lazy import np
from inarch.core.scratch import scratch
from inarch.driver.compiler import build
from inarch.driver.options import Options
from inarch.machine.target import native
from inarch.runtime import calls
from inarch.runtime.abi import ffi
from inarch.runtime.function import Function
from inarch.runtime.tensor import Array, empty

SCHEMA = "inarch.bench.overhead/1"
FLOOR = "in C, with checks"
_SECONDS = 2e-3
"""Of a batch, about: short enough to fall between interrupts."""


@dataclass(frozen=True)
class Overhead:
    """The least nanoseconds of a call, by how it is made; the floor is first."""

    model: str
    machine: Mapping[str, str]
    way: str
    """`compiled`, or `cffi` where there is no compiler."""
    times: Mapping[str, float]
    yardstick_ns: float
    """Of `np.add` on two arrays of four floats, with `out`."""

    def json(self) -> dict[str, Any]:
        """As JSON values, by the schema `SCHEMA`."""
        return {
            "schema": SCHEMA,
            "model": self.model,
            "machine": dict(self.machine),
            "calls": self.way,
            "np_add_us": self.yardstick_ns * 1e-3,
            "us": {name: took * 1e-3 for name, took in self.times.items()},
        }

    def text(self) -> str:
        """A table: the time of a call, and how much of it is not in the floor."""
        floor = next(iter(self.times.values()))
        lines = [
            f"{self.model}: {self.machine['cpu']}, {self.machine['compiler']}",
            f"one thread, calls by {self.way}",
            "",
            f"{'us':>10} {'more':>8}  a call",
        ]
        for name, took in self.times.items():
            lines.append(f"{took * 1e-3:>10.3f} {(took - floor) * 1e-3:>8.3f}  {name}")
        lines.append(
            f"{self.yardstick_ns * 1e-3:>10.3f} {'':>8}  np.add(x, y, out=z), of four floats"
        )
        return "\n".join(lines)


def measure_overhead(
    path: Path, options: Options, *, rounds: int = 10, progress: Progress | None = None
) -> Overhead:
    """Measures calls of `main` of a model, or of an artifact (of several sizes at `options.dims`), in turn.

    Raises what `inarch.driver.compiler.build` raises, and UnsupportedError where Python fills imports.
    """
    with scratch("inarch-bench-") as folder:
        artifact = path
        dims = options.dims or {}
        if not is_artifact(path):
            artifact, dims = Path(folder, "model.inarch"), {}
            build(path, artifact, options, progress=progress)
        main = function_of(artifact, dims).with_threads(1)
    ways = _ways(main)
    way = calls.prepare()
    counts = {name: max(1, int(_SECONDS * 1e9 / run(1))) for name, run in ways.items()}
    times = dict.fromkeys(ways, float("inf"))
    for iteration in range(rounds):
        if progress is not None:
            progress(f"round {iteration + 1} of {rounds}", iteration, rounds)
        for name, run in ways.items():
            times[name] = min(times[name], run(counts[name]))
    yardstick = times.pop("np.add")
    return Overhead(path.name, describe(native()), way, times, yardstick)


def _ways(main: Function) -> dict[str, Callable[[int], float]]:
    """How a call is made -> nanoseconds a call, of so many."""
    inputs = [random_array(port.shape, port.dtype.numpy) for port in main.signature.inputs]
    outputs = [empty(port) for port in main.signature.outputs]
    values: list[Any] = [*inputs, *outputs]
    a, b, c = (np.ones(4, np.float32) for _ in range(3))

    def timed(run: Callable[[], object]) -> Callable[[int], float]:
        return lambda count: timeit(run, number=count) / count * 1e9

    return {
        FLOOR: _in_c(main, values),
        "bound: call = f.bind(...); call()": timed(main.bind(*values)),
        "with outputs: f(x, ..., y)": timed(lambda: main(*values)),
        "allocates: f(x, ...)": timed(lambda: main(*inputs)),
        "np.add": timed(lambda: np.add(a, b, out=c)),
    }


def _in_c(main: Function, values: list[Array]) -> Callable[[int], float]:
    entry = main.c_entry
    if entry is None:
        raise UnsupportedError(
            f"{main.name}: expected a function of C alone, found one that Python runs a part of"
        )
    harness = Harness(native())
    shapes = [ffi().new("int64_t[]", list(each.shape) or [1]) for each in values]
    args = ffi().new("DLTensor[]", len(values))
    for arg, port, each, shape in zip(
        args, (*main.signature.inputs, *main.signature.outputs), values, shapes, strict=True
    ):
        arg.data = ffi().cast("void *", each.ctypes.data)
        arg.device.device_type, arg.ndim, arg.shape = 1, each.ndim, shape
        arg.dtype.code, arg.dtype.bits, arg.dtype.lanes = port.dtype.dlpack, 8 * each.itemsize, 1
    held = entry, args, shapes, values

    def run(count: int) -> float:
        function, tensors, _, arrays = held
        address = int(ffi().cast("uintptr_t", tensors))
        return harness.checked_ns(function.address, address, len(arrays), count)

    return run
