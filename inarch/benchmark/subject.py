"""A layer as Inarch compiles it: its kernels alone, its unchecked C entry, and the call from Python."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inarch.benchmark._arrays import Arrays, arrays_of, sample
from inarch.benchmark._harness import Harness, aligned
from inarch.benchmark._program import program_of
from inarch.benchmark._steps import Step, split_steps
from inarch.benchmark.layers import Layer
from inarch.compiler import build, import_model, lower
from inarch.dialects import new_context
from inarch.errors import InarchError
from inarch.lazy import Array, np

TOLERANCE = 1e-4
"""Of the largest magnitude of the output: far above rounding, far below a wrong element."""


@dataclass(frozen=True)
class Subject:
    """A compiled layer, ready to be called in each of three ways. Times are nanoseconds a call."""

    layer: Layer
    steps: tuple[Step, ...]
    output: Array
    """What the C entry wrote."""
    workspace_bytes: int
    _harness: Harness
    _entry: Any
    _entries: tuple[Any, ...]
    _memory: tuple[Any, Any, Any]
    _keep: tuple[Array, ...]
    _python: Callable[[], object]

    @property
    def executed_flops(self) -> int:
        """What the kernels really do, lanes and taps of padding included, eliminated ones not."""
        return sum(step.flops for step in self.steps)

    def run_steps(self) -> None:
        """Each step once, in order: together they are one call."""
        for entry in self._entries:
            self._harness.call_once(entry, *self._memory)

    def call_ns(self, count: int) -> float:
        """Of the unchecked C entry: row-major input to row-major output."""
        return self._harness.call_ns(self._entry, *self._memory, count)

    def python_ns(self, count: int) -> float:
        """Of the module's function in Python, with an array for the output."""
        self._python()
        start = time.thread_time_ns()
        for _ in range(count):
            self._python()
        return (time.thread_time_ns() - start) / count

    def steps_ns(self, count: int) -> list[float]:
        """Of each step of the entry alone, on the data that it sees in it."""
        self.call_ns(1)
        return [
            self._harness.call_ns(entry, *self._memory, max(1, count)) for entry in self._entries
        ]


def compile_layer(layer: Layer, harness: Harness) -> Subject:
    """Compiles a layer and checks its output against NumPy.

    Raises InarchError when the output is wrong: a wrong kernel has no speed.
    """
    arrays = arrays_of(layer)
    context = new_context()
    target = str(harness.target)
    module = import_model(program_of(layer, arrays, context), context, target=target)
    inputs = _inputs(layer, arrays)
    expected = reference(layer, arrays, inputs)
    lower(context, module, "kernel")
    steps = split_steps(module)
    program, image = _emitted(context, module)
    names = [f"{program.prefix}_{f.name}_run" for f in program.functions]
    library = harness.open(program.units, tuple(names))
    by_name = {
        f.name: getattr(library, f"{program.prefix}_{f.name}_run") for f in program.functions
    }
    output = aligned(np.zeros(layer.output_shape, np.float32))
    size = max(f.workspace_bytes for f in program.functions)
    buffers = [*(aligned(array) for array in inputs), output]
    keep = (aligned(image), aligned(np.zeros(size, np.uint8)), *buffers)
    memory = (
        harness.pointers(buffers),
        harness.pointer(keep[0]),
        harness.pointer(keep[1]),
    )
    subject = Subject(
        layer,
        tuple(steps),
        output,
        size,
        harness,
        by_name["main"],
        tuple(by_name[step.function] for step in steps),
        memory,
        keep,
        _python_call(layer, arrays, inputs, target),
    )
    subject.call_ns(1)
    _check(layer, output, expected)
    return subject


def _inputs(layer: Layer, arrays: Arrays) -> list[Array]:
    return [arrays.x, arrays.w] if getattr(layer, "batch", 0) else [arrays.x]


def _emitted(context: Any, module: Any) -> tuple[Any, Array]:
    """The C program and its weights."""
    from inarch.backends.c import emit, weights_image

    return emit(context, module), np.frombuffer(weights_image(context, module), np.uint8)


def _python_call(
    layer: Layer, arrays: Arrays, inputs: list[Array], target: str
) -> Callable[[], object]:
    """A call of the layer as users have it: an artifact, loaded."""
    from inarch.runtime.module import load

    context = new_context()
    with tempfile.TemporaryDirectory(prefix="inarch-bench-") as folder:
        path = Path(folder) / "layer.inarch"
        build(program_of(layer, arrays, context), path, context=context, target=target)
        main = load(path)["main"]
    output = np.zeros(layer.output_shape, np.float32)
    return lambda: main(*inputs, out=output)


def reference(layer: Layer, arrays: Arrays, inputs: list[Array]) -> Array:
    """The layer in NumPy, op by op."""
    from inarch.testing import execute

    context = new_context()
    return execute(program_of(layer, arrays, context), inputs, context)[0]


def _check(layer: Layer, found: Array, expected: Array) -> None:
    scale = float(np.abs(expected).max(initial=1e-30))
    difference = float(np.abs(found - expected).max(initial=0)) / scale
    if not difference <= TOLERANCE:
        raise InarchError(
            f"layer '{layer.name}' ({layer.shape}): expected NumPy's result within {TOLERANCE}, found "
            f"{difference:.1e} of its maximum; nothing was measured"
        )


def samples(subject: Subject) -> list[float]:
    """Of the output, for comparing with the peers' results."""
    return sample(subject.output)
