"""A layer as Inarch compiles it: its kernels alone, its unchecked C entry, and the call from Python.

Two programs are made of a layer. The artifact is what every user gets; it is what is called. For the kernels
alone it is lowered as in a network (`blocked.py`): a network pays for its relayouts once, so its layers
work in the layout that they want.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from inarch.artifact import Artifact
from inarch.benchmark.harness import Harness, aligned
from inarch.benchmark.layers import Conv, Layer
from inarch.benchmark.subject.arrays import Arrays, arrays_of, sample
from inarch.benchmark.subject.blocked import AFTER, BEFORE, lower_blocked
from inarch.benchmark.subject.program import program_of
from inarch.benchmark.subject.steps import Step, split_steps
from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.core.rounding import WHOLE, relative
from inarch.core.scratch import scratch
from inarch.dialects import new_context
from inarch.driver.compiler import build, import_model
from inarch.driver.options import Options, Settings


@dataclass(frozen=True)
class _Entry:
    """An unchecked entry and what it is called with; `arrays` own that memory."""

    function: Any
    pointers: tuple[Any, Any, Any]
    """Buffers, weights, workspace."""
    arrays: tuple[Array, ...]
    """The last is the output."""


@dataclass(frozen=True)
class _Kernels:
    """The program of the kernels alone: `before`, the steps of `@main`, and `after`."""

    steps: tuple[Step, ...]
    entries: tuple[Any, ...]
    main: _Entry
    before: _Entry | None
    after: _Entry | None


@dataclass(frozen=True)
class Subject:
    """A compiled layer, ready to be called in each of three ways. Times are nanoseconds a call."""

    layer: Layer
    _harness: Harness
    _call: _Entry
    _kernels: _Kernels
    _python: Callable[[], object]

    @property
    def steps(self) -> tuple[Step, ...]:
        """What the kernels alone are."""
        return self._kernels.steps

    @property
    def executed_flops(self) -> int:
        """What the kernels really do, lanes and taps of padding included, eliminated ones not."""
        return sum(step.flops for step in self.steps)

    def call_ns(self, count: int) -> float:
        """Of the unchecked C entry: row-major input to row-major output."""
        return self._harness.call_ns(self._call.function, *self._call.pointers, count)

    def python_ns(self, count: int) -> float:
        """Of the module's function in Python, with an array for the output."""
        return _python_ns(self._python, count)

    def kernel_ns(self, count: int) -> float:
        """Of the kernels alone, in order, as one call: operands and result in the layouts they want."""
        main = self._kernels.main
        return self._harness.call_ns(main.function, *main.pointers, count)

    def steps_ns(self, count: int) -> list[float]:
        """Of each step alone, on the data that it sees in the whole. Repeated, it finds them warmer."""
        self.run_steps()
        pointers = self._kernels.main.pointers
        return [self._harness.call_ns(entry, *pointers, count) for entry in self._kernels.entries]

    def run_steps(self) -> Array:
        """What the steps make, each called once, in order; row-major."""
        kernels = self._kernels
        if kernels.before is not None:
            self._harness.call_once(kernels.before.function, *kernels.before.pointers)
        kernels.main.arrays[-1][...] = np.nan
        for entry in kernels.entries:
            self._harness.call_once(entry, *kernels.main.pointers)
        if kernels.after is None:
            return kernels.main.arrays[-1]
        self._harness.call_once(kernels.after.function, *kernels.after.pointers)
        return kernels.after.arrays[-1]

    def run(self) -> Array:
        """What the C entry makes."""
        self._call.arrays[-1][...] = np.nan
        self._harness.call_once(self._call.function, *self._call.pointers)
        return self._call.arrays[-1]

    def samples(self) -> list[float]:
        """Of the output, for comparing with the peers' results."""
        return sample(self.run())


def _python_ns(call: Callable[[], object], count: int) -> float:
    call()
    start = time.thread_time_ns()
    for _ in range(count):
        call()
    return (time.thread_time_ns() - start) / count


@dataclass(frozen=True)
class Guest:
    """A layer by a microkernel that is demanded. Times are nanoseconds a call."""

    _harness: Harness
    _kernels: _Kernels
    _python: Callable[[], Array]

    def kernel_ns(self, count: int) -> float:
        """As `Subject.kernel_ns`."""
        main = self._kernels.main
        return self._harness.call_ns(main.function, *main.pointers, count)

    def call_ns(self, count: int) -> float:
        """From Python: the artifact's library may refer to one of others, which only a loader finds."""
        return _python_ns(self._python, count)


def compile_guest(
    layer: Layer, harness: Harness, kernel: str, without: Sequence[str] = ()
) -> Guest:
    """The layer by `kernel`, checked against NumPy. Raises InarchError where it is wrong, or is not done."""
    from inarch.runtime.module import load

    arrays = arrays_of(layer)
    inputs = _inputs(layer, arrays)
    wish = _wish(harness, microkernels=[kernel], without=without)
    alone = _kernels(layer, arrays, inputs, harness, wish=wish)
    context = new_context()
    with scratch("inarch-bench-") as folder:
        path = folder / "layer.inarch"
        build(program_of(layer, arrays, context), path, wish, context=context)
        main = load(path, threads=1)["main"]
    output = np.zeros(layer.output_shape, np.float32)

    def call() -> Array:
        main(*inputs, out=output)
        return output

    if alone.before is not None:
        harness.call_once(alone.before.function, *alone.before.pointers)
    _check(layer, call(), reference(layer, arrays, inputs))
    return Guest(harness, alone, call)


def _inputs(layer: Layer, arrays: Arrays) -> list[Array]:
    both = not isinstance(layer, Conv) and layer.batch
    return [arrays.x, arrays.w] if both else [arrays.x]


def _wish(harness: Harness, **settings: Unpack[Settings]) -> Options:
    own = Options(host=harness.host.name, target=str(harness.target), machine=harness.machine)
    return Options.of(own, settings)


def compile_layer(layer: Layer, harness: Harness, without: Sequence[str] = ()) -> Subject:
    """Compiles a layer and checks what it makes, in one call and step by step, against NumPy.

    Microkernels of `without` have no part in it. Raises InarchError when the output is wrong: a wrong kernel
    has no speed.
    """
    arrays = arrays_of(layer)
    inputs, wish = _inputs(layer, arrays), _wish(harness, without=without)
    kernels = _kernels(layer, arrays, inputs, harness, wish=wish)
    call, python = _whole(layer, arrays, inputs, harness, wish)
    subject = Subject(layer, harness, call, kernels, python)
    expected = reference(layer, arrays, inputs)
    _check(layer, subject.run(), expected)
    _check(layer, subject.run_steps(), expected)
    return subject


def _whole(
    layer: Layer, arrays: Arrays, inputs: Sequence[Array], harness: Harness, wish: Options
) -> tuple[_Entry, Callable[[], object]]:
    """The layer as users have it, an artifact: its unchecked entry, and its call from Python."""
    from inarch.runtime.module import load

    context = new_context()
    with scratch("inarch-bench-") as folder:
        path = folder / "layer.inarch"
        build(program_of(layer, arrays, context), path, wish, context=context)
        main = load(path, threads=1)["main"]
        artifact = Artifact.open(path)
        library = folder / "layer.so"
        library.write_bytes(artifact.library)
        workspace_bytes = artifact.manifest.functions["main"].workspace_bytes
        name = f"{artifact.manifest.prefix}_main_run"
        function = getattr(harness.load(library, [name]), name)
        weights = aligned(np.frombuffer(artifact.weights, np.uint8))
    buffers = [aligned(array) for array in (*inputs, np.zeros(layer.output_shape, np.float32))]
    call = _entry(harness, function, buffers, weights, _workspace(workspace_bytes))
    output = np.zeros(layer.output_shape, np.float32)
    return call, lambda: main(*inputs, out=output)


def _kernels(
    layer: Layer,
    arrays: Arrays,
    inputs: Sequence[Array],
    harness: Harness,
    wish: Options | None = None,
) -> _Kernels:
    """The layer as it is in a network, with an entry for each of its steps."""
    context = new_context()
    program = program_of(layer, arrays, context)
    wish = wish or _wish(harness)
    module = import_model(program, context, wish)
    # A kernel that is demanded may want rows.
    lower_blocked(context, module, lower=harness.host.lower, always=not wish.microkernels)
    steps = tuple(split_steps(module))
    made, library = harness.native(context, module)
    entries = {name: getattr(library, symbol) for name, symbol in made.symbols.items()}
    weights = aligned(np.frombuffer(made.weights, np.uint8))
    workspace = _workspace(made.program.workspace_bytes)
    buffers = [aligned(np.zeros(p.shape, np.float32)) for p in made.entries["main"].ports]
    for buffer, array in zip(buffers, inputs, strict=False):
        if buffer.shape == array.shape:
            buffer[...] = array

    def relayout(name: str, pair: Sequence[Array]) -> _Entry | None:
        if name not in entries:
            return None
        return _entry(harness, entries[name], pair, weights, workspace)

    output = aligned(np.zeros(layer.output_shape, np.float32))
    return _Kernels(
        steps,
        tuple(entries[step.function] for step in steps),
        _entry(harness, entries["main"], buffers, weights, workspace),
        relayout(BEFORE, [aligned(inputs[0]), buffers[0]]),
        relayout(AFTER, [buffers[-1], output]),
    )


def _entry(
    harness: Harness, function: Any, buffers: Sequence[Array], weights: Array, workspace: Array
) -> _Entry:
    others = (harness.pointer(weights), harness.pointer(workspace))
    arrays = (weights, workspace, *buffers)
    return _Entry(function, (harness.pointers(buffers), *others), arrays)


def _workspace(nbytes: int) -> Array:
    return aligned(np.zeros(nbytes, np.uint8))


def reference(layer: Layer, arrays: Arrays, inputs: Sequence[Array]) -> Array:
    """The layer in NumPy, op by op."""
    from inarch.testing import execute

    context = new_context()
    return execute(program_of(layer, arrays, context), list(inputs), context)[0]


def _check(layer: Layer, found: Array, expected: Array) -> None:
    difference = relative(expected, found)
    if not difference <= WHOLE:
        raise InarchError(
            f"layer '{layer.name}' ({layer.shape}): expected NumPy's result within {WHOLE}, found "
            f"{difference:.1e} of its maximum; nothing was measured"
        )
