"""`--verify-semantics`: after each pass the program must still compute what it did before the first.

A `Watch` follows one program through its passes. At the start every public function runs on seeded
inputs, with bounds (`expected.py`); after each pass it runs again by the definitions of its ops.
The first pass after which an output is not within its bound has changed the meaning, and the error
names it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from inarch.core.errors import InarchError, InternalError
from inarch.core.lazy import np
from inarch.core.rounding import distance, whole
from inarch.definitions.buffers import contents
from inarch.definitions.compare import difference_of
from inarch.definitions.execute import execute, random_inputs
from inarch.definitions.expected import Expected, expected_of, kept_constants
from inarch.definitions.frame import Frame, Import
from inarch.definitions.functions import Array, functions_of, public_functions, signature
from inarch.definitions.run import run_definitions
from inarch.dialects.graph.op import GraphOp
from inarch.dialects.kernel.call import CallOp as KernelCallOp
from inarch.dialects.loop.nest import NestOp
from inarch.ir.context import store_of
from inarch.ir.location import location_text
from inarch.passes import PASSES
from inarch.pipeline.manager import Instrument, Step

LONG_SECONDS = 5.0
"""A check that takes longer is told of."""

Note = Callable[[str], None]
"""Takes a line about what was done."""


@dataclass(frozen=True)
class _Function:
    name: str
    inputs: Sequence[Array]
    expected: Sequence[Expected]


@dataclass
class Watch(Instrument):
    """One program on its way through passes; `begin`, then `after` each pass."""

    context: Context
    seed: int = 0
    note: Note | None = None
    functions: list[_Function] = field(default_factory=list[_Function])
    imports: dict[str, Import] = field(default_factory=dict[str, Import])
    earlier: ModuleOp | None = None
    """A copy of the program before the pass that runs next."""
    constants: dict[str, Any] = field(default_factory=dict[str, Any])
    on_buffers: set[str] = field(default_factory=set[str])
    """The functions of the program that runs which are given their outputs."""

    def begin(self, module: ModuleOp) -> None:
        """Runs the program as it is. Raises InarchError for one that has no meaning, or cannot run."""
        with self._told("the program"):
            self.functions = [
                _Function(name, inputs, expected_of(self.context, module, inputs, name))
                for name in public_functions(module)
                for inputs in [random_inputs(module, self.seed, function=name)]
            ]
        self._remember(module)

    def after(self, step: Step, module: ModuleOp) -> None:
        """Runs the program that a pass left.

        Raises InternalError where it computes something else; InarchError where the pass is of a loaded file.
        """
        with self._told(f"pass '{step.name}'"):
            for function in self.functions:
                self._check(step.name, module, function)
        self._remember(module)

    def check_compiled(self, call: Callable[[str, Sequence[Array]], Sequence[Array]]) -> None:
        """`call` runs a compiled function. Raises InternalError where it computes something else."""
        with self._told("the compiled library"):
            for function in self.functions:
                found = call(function.name, function.inputs)
                for number, each in enumerate(function.expected):
                    difference = difference_of(each, found[number])
                    if difference is not None:
                        raise InternalError(
                            f"the compiled library does not do what its program means: function "
                            f"@{function.name}, output {number}{difference}; inputs of seed {self.seed}"
                        )

    def check_artifact(self, path: Path) -> None:
        """As `check_compiled`, with the functions of an artifact."""
        from inarch.runtime.module import load

        module = load(path)

        def call(name: str, inputs: Sequence[Array]) -> Sequence[Array]:
            found: Array | tuple[Array, ...] = module[name](*inputs)
            return found if isinstance(found, tuple) else (found,)

        self.check_compiled(call)

    def _told(self, what: str) -> _Told:
        return _Told(what, self.note)

    def _remember(self, module: ModuleOp) -> None:
        """Keeps a copy; functions that backends take over later still do what they did."""
        store = store_of(self.context)
        self.earlier = module.clone()
        self.constants = {key: store.get(key) for key in store.keys()}  # noqa: SIM118 - no mapping
        for name, function in functions_of(self.earlier).items():
            is_on_tensors = not signature(function, self.earlier).is_loop_level
            if (
                function.body.blocks
                and name not in public_functions(self.earlier)
                and is_on_tensors
            ):
                self.imports[name] = self._import(self.earlier, name)

    def _import(self, module: ModuleOp, name: str) -> Import:
        constants = self.constants

        def call(*arrays: Array) -> Sequence[Array]:
            takes = signature(functions_of(module)[name], module)
            count = len(takes.inputs)
            given = [
                array.view(takes.dtypes[p].numpy)
                for p, array in zip(takes.inputs, arrays, strict=False)
            ]
            with kept_constants(self.context):
                _restore(self.context, constants)
                found = run_definitions(self.context, module, takes, given)
            # On buffers it is also given its outputs, which may lie behind weights that it does not take.
            targets = arrays[count:][-len(found) :] if name in self.on_buffers else ()
            for target, result in zip(targets, found, strict=False):
                target[...] = result.view(target.dtype)
            return found

        return call

    def _look_at(self, module: ModuleOp) -> None:
        """Before `module` runs."""
        every = functions_of(module).items()
        self.on_buffers = {each for each, one in every if not one.function_type.outputs}

    def _check(self, name: str, module: ModuleOp, function: _Function) -> None:
        if function.name not in public_functions(module):
            raise self._fault(name, f"function @{function.name} is gone", None)
        self._look_at(module)
        found = execute(
            module, function.inputs, self.context, function=function.name, imports=self.imports
        )
        if len(found) != len(function.expected):
            message = f"function @{function.name}: expected {len(function.expected)} outputs, found"
            raise self._fault(name, f"{message} {len(found)}", None)
        for number, (expected, array) in enumerate(zip(function.expected, found, strict=True)):
            difference = difference_of(expected, array)
            if difference is not None:
                op = self._first_differing(module, function)
                place = f"function @{function.name}, output {number}{difference}"
                raise self._fault(name, place, op)

    def _fault(self, name: str, message: str, op: Operation | None) -> InarchError:
        where = location_text(op) if op is not None else None
        first = f"; the first value that differs is that of '{op.name}'" if op is not None else ""
        text = f"{message}{first}; inputs of seed {self.seed}"
        if name in PASSES and name in PASSES.loaded:
            source = PASSES.origin(name).source
            return InarchError(
                f"pass '{name}' ({source}) changes what the program means: {text}", where=where
            )
        return InternalError(f"pass '{name}' changes what the program means: {text}", where=where)

    # -- which op

    def _first_differing(self, module: ModuleOp, function: _Function) -> Operation | None:
        """The first op of `module` that gives another value than what stood at its place before."""
        assert self.earlier is not None, "begin has been called"
        with kept_constants(self.context):
            _restore(self.context, self.constants)
            known = self._values(self.earlier, function)
        for place, (op, array) in self._values(module, function).items():
            if place not in known:
                continue
            _, wanted = known[place]
            if (
                wanted.shape == array.shape
                and wanted.dtype == array.dtype
                and _differ(wanted, array)
            ):
                return op
        return None

    def _values(self, module: ModuleOp, function: _Function) -> dict[str, tuple[Operation, Array]]:
        """Location -> the last op there, and its value; in the order in which they first ran."""
        found: dict[str, tuple[Operation, Array]] = {}

        def observe(op: Operation, frame: Frame) -> None:
            place = location_text(op)
            value = _value_of(op, frame)
            if place is not None and value is not None:
                found[place] = (op, value)

        takes = signature(functions_of(module)[function.name], module)
        self._look_at(module)
        run_definitions(
            self.context, module, takes, function.inputs, imports=self.imports, observe=observe
        )
        return found


def watch_program(context: Context, module: ModuleOp, seed: int, note: Note | None = None) -> Watch:
    """A watch that has run the program as it is."""
    watch = Watch(context, seed, note)
    watch.begin(module)
    return watch


class _Told:
    """Says how long the block took, if it was long."""

    def __init__(self, what: str, note: Note | None) -> None:
        self.what, self.note, self.start = what, note, 0.0

    def __enter__(self) -> None:
        self.start = time.monotonic()

    def __exit__(self, *_: object) -> None:
        seconds = time.monotonic() - self.start
        if self.note is not None and seconds > LONG_SECONDS:
            self.note(f"verified the meaning of {self.what} in {seconds:.1f} s")


def _restore(context: Context, constants: dict[str, Any]) -> None:
    for key, data in constants.items():
        store_of(context).set(key, data)


def _value_of(op: Operation, frame: Frame) -> Array | None:
    """What an op has computed: a tensor, or the buffer that it wrote."""
    if isinstance(op, GraphOp) and op.results:
        return np.asarray(frame.get(op.results[0]))
    written = None
    if isinstance(op, NestOp):
        written = op.outs[0]
    elif isinstance(op, KernelCallOp):
        written = op.arguments[-1]
    return None if written is None else contents(frame.domain, frame.buffer(written))


def _differ(wanted: Array, found: Array) -> bool:
    """Whether some element is off by more than rounding: this only says where to look."""
    return bool(np.any(distance(wanted, found) > whole(wanted)))
