"""One run of a function by definitions: with numbers, looking for poison, or with bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.definitions.bounded import Bounded
from inarch.definitions.buffers import Bounds, Domain, Numbers, buffer_of, contents
from inarch.definitions.frame import Frame, Import, RunState
from inarch.definitions.functions import Signature, functions_of, random_array
from inarch.dialects.loop.buffer import AllocOp
from inarch.ir.context import store_of
from inarch.ir.location import location_text
from inarch.ir.names import symbols_of

Observer = Callable[[Operation, Frame], None]
"""Sees each op of a function's body, after it, and the values so far."""


@dataclass(frozen=True)
class _Run:
    """What several runs of one function have in common."""

    context: Context
    module: ModuleOp
    takes: Signature
    inputs: Sequence[Array]
    imports: Mapping[str, Import]
    errors: Sequence[Array | None] = ()
    """How far each input may be from what it is; only with bounds."""

    def outputs(self, state: RunState) -> list[Array]:
        """Runs it with numbers."""
        frame, arguments = self.begin(state)
        with np.errstate(all="ignore"):  # NaN and infinity are results like any other
            returned = frame.run(self.function.body.block, arguments)
            if not self.takes.is_loop_level:
                return returned
            buffers = [arguments[position] for position in self.takes.outputs]
            found = [contents(state.domain, buffer) for buffer in buffers]
        dtypes = [self.takes.dtypes[position].numpy for position in self.takes.outputs]
        return [array.view(dtype) for array, dtype in zip(found, dtypes, strict=True)]

    def begin(self, state: RunState) -> tuple[Frame, list[Any]]:
        """The arguments of the call: buffers, or what stands for tensors."""
        if not self.takes.is_loop_level:
            return Frame(state), list(self.inputs)
        arguments = arguments_of(self.takes, self.inputs)
        signless = [array.view(_signless(array.dtype)) for array in arguments]
        errors = dict(zip(self.takes.inputs, self.errors, strict=False))
        return Frame(state), [
            buffer_of(state.domain, array, errors.get(position))
            for position, array in enumerate(signless)
        ]

    @property
    def function(self) -> FuncOp:
        return functions_of(self.module)[self.takes.name]

    def state(self, domain: Domain, garbage: int = 0) -> RunState:
        """A state with nothing in its memory."""
        functions = functions_of(self.module)
        symbols = symbols_of(self.module)
        made = RunState(
            functions, symbols, store_of(self.context), domain, garbage, imports=self.imports
        )
        if domain.keeps_offsets and (size := _workspace_bytes(self.function)) is not None:
            made.workspace = np.full(size, 0xFF, np.uint8)
            made.workspace_tags = np.zeros(size, np.int32)
        return made


def _signless(dtype: np.dtype) -> np.dtype:
    return np.dtype(dtype.name.removeprefix("u"))


def _workspace_bytes(function: FuncOp) -> int | None:
    """The size of a planned function's workspace; None where buffers have no places yet."""
    allocs = [op for op in function.walk() if isinstance(op, AllocOp)]
    given = function.attributes.get("inarch.workspace_bytes")
    if any(op.offset is None for op in allocs):
        return None
    if isinstance(given, IntegerAttr):
        return given.value.data
    if not allocs:
        return None
    raise InarchError(
        f"expected inarch.workspace_bytes of @{function.sym_name.data}, whose buffers have offsets",
        where=location_text(function),
    )


def arguments_of(takes: Signature, inputs: Sequence[Array]) -> list[Array]:
    """Copies of the inputs, and outputs with arbitrary numbers, by position.

    What an output holds before must not matter, or must matter in the same way every time.
    """
    generator = np.random.default_rng(1)
    arrays = {p: random_array(takes, p, generator) for p in takes.outputs}
    arrays |= {p: a.copy() for p, a in zip(takes.inputs, inputs, strict=True)}
    return [arrays[position] for position in range(len(takes.dtypes))]


def run_definitions(
    context: Context,
    module: ModuleOp,
    takes: Signature,
    inputs: Sequence[Array],
    *,
    imports: Mapping[str, Import] | None = None,
    observe: Observer | None = None,
) -> list[Array]:
    """The outputs. Raises InarchError where one depends on memory that nothing has written.

    Where something reads such memory, it runs again with other garbage there: outputs that differ
    depend on it.
    """
    run = _Run(context, module, takes, inputs, imports or {})
    state = run.state(Numbers())
    state.observe = observe
    found = run.outputs(state)
    if state.readers:
        readers = state.readers
        other = run.state(Numbers(), garbage=1)
        number = _differing(found, run.outputs(other))
        if number is not None:
            raise _poisoned(run, readers, found, number)
    return found


def _differing(left: Sequence[Array], right: Sequence[Array]) -> int | None:
    for number, (a, b) in enumerate(zip(left, right, strict=True)):
        if not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
            return number
    return None


def _poisoned(
    run: _Run, readers: Sequence[Operation], found: Sequence[Array], output: int
) -> InarchError:
    """Names the first op whose garbage alone reaches an output, or else the first that read any."""
    guilty = readers[0]
    for number, reader in enumerate(readers):
        state = run.state(Numbers(), garbage=1)
        state.garbage_at = number
        state.readers = list(readers)
        if (differing := _differing(found, run.outputs(state))) is not None:
            guilty, output = reader, differing
            break
    return InarchError(
        f"'{guilty.name}' reads elements of a loop.alloc that nothing has written, or another buffer "
        f"of the workspace has written over, and output {output} of @{run.takes.name} depends on them",
        where=location_text(guilty),
    )


def run_bounded(
    context: Context,
    module: ModuleOp,
    takes: Signature,
    inputs: Sequence[Array],
    *,
    errors: Sequence[Array | None] = (),
) -> list[Bounded]:
    """The outputs of a function on buffers, each element with its bound.

    `errors`: how far each element of an input may be from what it is; none: not at all.
    """
    run = _Run(context, module, takes, inputs, {}, errors)
    state = run.state(Bounds())
    frame, arguments = run.begin(state)
    with np.errstate(all="ignore"):
        frame.run(run.function.body.block, arguments)
        buffers = [arguments[position] for position in takes.outputs]
        return [contents(state.domain, buffer) for buffer in buffers]
