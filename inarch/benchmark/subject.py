"""A layer as Inarch compiles it: its kernels alone, its unchecked C entry, and the call from Python.

Two programs are made of a layer. The artifact is what every user gets; it is what is called. For the kernels
alone the same passes run, except that channels are blocked in any case: a network pays for its relayouts
once, so its convolutions work in the layout that they want, and a single one need not.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch._xdsl import verify_module
from inarch.artifact import Artifact
from inarch.benchmark._arrays import Arrays, arrays_of, sample
from inarch.benchmark._harness import Harness, aligned
from inarch.benchmark._program import program_of
from inarch.benchmark._steps import Step, split_steps
from inarch.benchmark.layers import Conv, Layer
from inarch.compiler import PIPELINE, build, import_model
from inarch.dialects import new_context
from inarch.errors import InarchError
from inarch.lazy import Array, np
from inarch.passes import PASSES
from inarch.passes.graph.choose_layout import ChooseLayoutPass

TOLERANCE = 1e-4
"""Of the largest magnitude of the output: far above rounding, far below a wrong element."""


@dataclass(frozen=True)
class _Memory:
    """What an unchecked entry is called with; `arrays` own the memory, the output is the last."""

    arrays: tuple[Array, ...]
    pointers: tuple[Any, Any, Any]
    """Buffers, weights, workspace."""

    @property
    def output(self) -> Array:
        return self.arrays[-1]


@dataclass(frozen=True)
class Subject:
    """A compiled layer, ready to be called in each of three ways. Times are nanoseconds a call."""

    layer: Layer
    steps: tuple[Step, ...]
    _harness: Harness
    _entry: Any
    _memory: _Memory
    _entries: tuple[Any, ...]
    """Of the steps; the first runs them all."""
    _step_memory: _Memory
    _python: Callable[[], object]

    @property
    def executed_flops(self) -> int:
        """What the kernels really do, lanes and taps of padding included, eliminated ones not."""
        return sum(step.flops for step in self.steps)

    def call_ns(self, count: int) -> float:
        """Of the unchecked C entry: row-major input to row-major output."""
        return self._harness.call_ns(self._entry, *self._memory.pointers, count)

    def python_ns(self, count: int) -> float:
        """Of the module's function in Python, with an array for the output."""
        self._python()
        start = time.thread_time_ns()
        for _ in range(count):
            self._python()
        return (time.thread_time_ns() - start) / count

    def steps_ns(self, count: int) -> list[float]:
        """Of each step alone, on the data that it sees in the whole."""
        whole, *entries = self._entries
        pointers = self._step_memory.pointers
        self._harness.call_once(whole, *pointers)
        return [self._harness.call_ns(entry, *pointers, count) for entry in entries]

    def run_steps(self) -> Array:
        """What the steps make, each called once, in order."""
        self._step_memory.output[...] = np.nan
        for entry in self._entries[1:]:
            self._harness.call_once(entry, *self._step_memory.pointers)
        return self._step_memory.output

    def run(self) -> Array:
        """What the C entry makes."""
        self._memory.output[...] = np.nan
        self._harness.call_once(self._entry, *self._memory.pointers)
        return self._memory.output

    def samples(self) -> list[float]:
        """Of the output, for comparing with the peers' results."""
        return sample(self.run())


def compile_layer(layer: Layer, harness: Harness) -> Subject:
    """Compiles a layer and checks what it makes, in one call and step by step, against NumPy.

    Raises InarchError when the output is wrong: a wrong kernel has no speed.
    """
    arrays = arrays_of(layer)
    inputs = [arrays.x, arrays.w] if not isinstance(layer, Conv) and layer.batch else [arrays.x]
    steps, entries, step_memory = _in_steps(layer, arrays, inputs, harness)
    entry, memory, python = _whole(layer, arrays, inputs, harness)
    subject = Subject(layer, steps, harness, entry, memory, entries, step_memory, python)
    expected = reference(layer, arrays, inputs)
    _check(layer, subject.run(), expected)
    _check(layer, subject.run_steps(), expected)
    return subject


def _whole(
    layer: Layer, arrays: Arrays, inputs: Sequence[Array], harness: Harness
) -> tuple[Any, _Memory, Callable[[], object]]:
    """The layer as users have it, an artifact: its unchecked entry, and its call from Python."""
    from inarch.runtime.module import load

    context = new_context()
    target = str(harness.target)
    with tempfile.TemporaryDirectory(prefix="inarch-bench-") as folder:
        path = Path(folder) / "layer.inarch"
        build(program_of(layer, arrays, context), path, context=context, target=target)
        main = load(path)["main"]
        artifact = Artifact.open(path)
        library = Path(folder) / "layer.so"
        library.write_bytes(artifact.library)
        signature = artifact.manifest.functions["main"]
        name = f"{artifact.manifest.prefix}_main_run"
        entry = getattr(harness.load(library, [name]), name)
        weights = np.frombuffer(artifact.weights, np.uint8)
    output = np.zeros(layer.output_shape, np.float32)
    memory = _memory(harness, inputs, layer, weights, signature.workspace_bytes)
    return entry, memory, lambda: main(*inputs, out=output)


def _in_steps(
    layer: Layer, arrays: Arrays, inputs: Sequence[Array], harness: Harness
) -> tuple[tuple[Step, ...], tuple[Any, ...], _Memory]:
    """The layer with its channels blocked: its steps, and the entries of the whole and of each."""
    from inarch.backends.c import emit, weights_image

    context = new_context()
    program = program_of(layer, arrays, context)
    module = import_model(program, context, target=str(harness.target))
    _lower_blocked(context, module)
    steps = tuple(split_steps(module))
    emitted = emit(context, module)
    names = [f"{emitted.prefix}_{name}_run" for name in ("main", *(s.function for s in steps))]
    library = harness.compile(emitted.units, names)
    weights = np.frombuffer(weights_image(context, module), np.uint8)
    workspace_bytes = max(function.workspace_bytes for function in emitted.functions)
    memory = _memory(harness, inputs, layer, weights, workspace_bytes)
    return steps, tuple(getattr(library, name) for name in names), memory


def _lower_blocked(context: Context, module: ModuleOp) -> None:
    """The whole pipeline, with channels blocked whatever the relayouts around one layer cost."""
    for name in PIPELINE:
        chosen = PASSES[name]
        blocks = chosen is ChooseLayoutPass
        (ChooseLayoutPass(always=True) if blocks else chosen()).apply(context, module)
    verify_module(module)


def _memory(
    harness: Harness, inputs: Sequence[Array], layer: Layer, weights: Array, workspace_bytes: int
) -> _Memory:
    """Memory of its own for everything, at multiples of 64 bytes."""
    output = np.zeros(layer.output_shape, np.float32)
    buffers = [aligned(array) for array in (*inputs, output)]
    others = [aligned(weights), aligned(np.zeros(workspace_bytes, np.uint8))]
    pointers = (harness.pointers(buffers), *(harness.pointer(array) for array in others))
    return _Memory((*others, *buffers), pointers)


def reference(layer: Layer, arrays: Arrays, inputs: Sequence[Array]) -> Array:
    """The layer in NumPy, op by op."""
    from inarch.testing import execute

    context = new_context()
    return execute(program_of(layer, arrays, context), list(inputs), context)[0]


def _check(layer: Layer, found: Array, expected: Array) -> None:
    scale = float(np.abs(expected).max(initial=1e-30))
    difference = float(np.abs(found - expected).max(initial=0)) / scale
    if not difference <= TOLERANCE:
        raise InarchError(
            f"layer '{layer.name}' ({layer.shape}): expected NumPy's result within {TOLERANCE}, found "
            f"{difference:.1e} of its maximum; nothing was measured"
        )
