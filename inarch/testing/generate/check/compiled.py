"""Many programs in one library: one run of the compiler, one C file, one call of the C compiler."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr

from inarch.backends.host import Native, NativeRequest
from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.core.scratch import scratch
from inarch.definitions.functions import Array, functions_of, signature
from inarch.definitions.run import arguments_of
from inarch.dialects import new_context
from inarch.driver.host import find_host, machine_code
from inarch.driver.options import DEFAULT_HOST
from inarch.ir.context import store_of
from inarch.ir.target import set_target
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.passes.loop.parallelize import ParallelizePass
from inarch.passes.loop.sink_packs import SinkPacksPass
from inarch.passes.loop.tile_and_fuse import TileAndFusePass
from inarch.testing.generate.check.room import Room
from inarch.testing.generate.program import GeneratedProgram

PREFIX = "generated"
THREADS = 3
"""Of the call that is compared with one by a single thread: iterations that no number of them divides."""
_SYMBOL = re.compile(r"@([A-Za-z_]\w*)")


def merged(programs: Sequence[GeneratedProgram]) -> tuple[Context, ModuleOp]:
    """One module of all functions of all programs; those of program 3 are called `p3_main` ..."""
    context = new_context()
    texts: list[str] = []
    for number, program in enumerate(programs):
        prefix = f"p{number}_"
        text = program.text.split("\n", 1)[1].rsplit("}", 1)[0]
        kernels = re.findall(r"kernel\.def @(\w+)", text)
        text = _SYMBOL.sub(rf"@{prefix}\1", text)
        for kernel in kernels:  # the C function in its source is called like it
            text = text.replace(f"void {kernel}(", f"void {prefix}{kernel}(")
        for key, data in program.constants.items():
            store_of(context).set(prefix + key, data)
            text = text.replace(f"dense_resource<{key}>", f"dense_resource<{prefix}{key}>")
        texts.append(text)
    module = parse_module(context, "".join(texts), "<merged>")
    verify_module(module)
    return context, module


@dataclass
class Compiled:
    """A library of several programs, loaded."""

    library: Any
    weights: Any
    module: ModuleOp
    """Lowered: its functions are on buffers."""
    native: Native

    def call(self, name: str, inputs: Sequence[Array]) -> list[Array]:
        """The outputs of function `name`.

        Raises InarchError when it fails, or has written beyond an array, or to an input, or gives other bits
        by several threads than by one.
        """
        outputs = self._called(name, inputs, 1)
        again = self._called(name, inputs, THREADS)
        for number, (one, other) in enumerate(zip(outputs, again, strict=True)):
            if not _same(one, other):
                raise InarchError(
                    f"@{name}: output {number} by {THREADS} threads is another than by one"
                )
        return outputs

    def _called(self, name: str, inputs: Sequence[Array], threads: int) -> list[Array]:
        set_threads = getattr(self.library, f"{PREFIX}_set_threads", None)
        if set_threads is not None:  # a host that has threads
            set_threads(threads)
        takes = signature(functions_of(self.module)[name], self.module)
        arrays = arguments_of(takes, [_signless(array, takes, n) for n, array in enumerate(inputs)])
        rooms = [Room(array) for array in arrays]
        entry = self.native.entries[name]
        workspace = Room(np.full(entry.workspace_bytes, 0xFF, np.uint8), aligned=True)
        ordered = [rooms[position] for position in entry.positions]
        buffers = (ctypes.c_void_p * max(len(ordered), 1))(*(room.address for room in ordered))
        function = self.library[self.native.symbols[name]]
        function.argtypes = [ctypes.c_void_p] * 3
        status = function(buffers, self.weights.address, workspace.address)
        if status != 0:
            raise InarchError(f"@{name} failed with code {status}")
        for position, room in enumerate(rooms):
            kind = "output" if position in takes.outputs else "input"
            room.check(f"{kind} {position} of @{name}", arrays[position], kind == "input")
        workspace.check(f"the workspace of @{name}", None, unchanged=False)
        self._check_weights()
        return [rooms[position].array.copy() for position in takes.outputs]

    def _check_weights(self) -> None:
        try:
            self.weights.check("the weights", self.weights.content, unchanged=True)
        finally:  # so that one program's fault is not the next one's
            self.weights.array[...] = self.weights.content


def _same(one: Array, other: Array) -> bool:
    """Whether they have the same bits, and NaN in the same places.

    C compilers swap the operands of products and sums, differently in vectors and in scalars. A NaN has the
    sign and payload of the first operand.
    """
    if one.dtype.kind != "f":
        return one.tobytes() == other.tobytes()
    nan = np.isnan(one)
    return bool(
        np.array_equal(nan, np.isnan(other)) and one[~nan].tobytes() == other[~nan].tobytes()
    )


def _signless(array: Array, takes: Any, number: int) -> Array:
    """The bytes of an unsigned array as what the lowered function declares."""
    return (
        np.ascontiguousarray(array)
        .view(takes.dtypes[takes.inputs[number]].numpy)
        .reshape(array.shape)
    )


def compile_programs(
    programs: Sequence[GeneratedProgram], target: str, flags: Sequence[str] = ("-O1",)
) -> Compiled:
    """Lowers, compiles and loads all `programs` for `target`. Raises InarchError, and what a bug raises."""
    from inarch.driver.compiler import lower
    from inarch.driver.options import Options

    context, module = merged(programs)
    chosen = Options(host=DEFAULT_HOST)
    host = find_host(DEFAULT_HOST)
    machine = host.machine(target)
    set_target(module, machine)
    module.attributes["inarch.name"] = StringAttr(PREFIX)
    pipeline = chosen.passes()
    if "parallelize" in pipeline:  # however small the programs are
        pipeline = pipeline.replace("parallelize", ParallelizePass(least=0))
    if programs[0].index % 2:
        for one in (TileAndFusePass(rows=3, always=True), SinkPacksPass(always=True)):
            if one.name in pipeline:
                pipeline = pipeline.replace(one.name, one)
    lower(context, module, "kernel", pipeline=pipeline)
    with scratch("inarch-generate-") as folder:
        path = folder / "programs.so"
        request = NativeRequest(context, module, path, flags=tuple(flags), is_single=True)
        made = machine_code(host)(request)
        library = ctypes.CDLL(str(path))
    weights = Room(np.frombuffer(bytes(made.weights), np.uint8), aligned=True)
    return Compiled(library, weights, module, made)
