"""Many programs in one library: one run of the compiler, one C file, one call of the C compiler."""

from __future__ import annotations

import ctypes
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr

from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.definitions.functions import Array, functions_of, signature
from inarch.definitions.run import arguments_of
from inarch.dialects import new_context
from inarch.ir.context import store_of
from inarch.ir.target import set_target
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.testing.generate.check.room import Room
from inarch.testing.generate.program import Program

_SYMBOL = re.compile(r"@([A-Za-z_]\w*)")


def merged(programs: Sequence[Program]) -> tuple[Context, ModuleOp]:
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
    prefix: str
    weights: Any
    module: ModuleOp
    """Lowered: its functions are on buffers."""
    workspaces: dict[str, int]
    positions: dict[str, tuple[int, ...]]

    def call(self, name: str, inputs: Sequence[Array]) -> list[Array]:
        """The outputs of function `name`.

        Raises InarchError when it fails, or has written beyond an array, or to an input.
        """
        takes = signature(functions_of(self.module)[name], self.module)
        arrays = arguments_of(takes, [_signless(array, takes, n) for n, array in enumerate(inputs)])
        rooms = [Room(array) for array in arrays]
        workspace = Room(np.full(self.workspaces[name], 0xFF, np.uint8), aligned=True)
        ordered = [rooms[position] for position in self.positions[name]]
        buffers = (ctypes.c_void_p * max(len(ordered), 1))(*(room.address for room in ordered))
        function = self.library[f"{self.prefix}_{name}_run"]
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


def _signless(array: Array, takes: Any, number: int) -> Array:
    """The bytes of an unsigned array as what the lowered function declares."""
    return (
        np.ascontiguousarray(array)
        .view(takes.dtypes[takes.inputs[number]].numpy)
        .reshape(array.shape)
    )


def compile_programs(
    programs: Sequence[Program], target: str, flags: Sequence[str] = ("-O1",)
) -> Compiled:
    """Lowers, compiles and loads all `programs` for `target`. Raises InarchError, and what a bug raises."""
    from inarch.backends.c import weights_image
    from inarch.backends.c.assemble import emit_program
    from inarch.backends.c.foreign.code import link_libraries
    from inarch.backends.c.plan.weights import Weights
    from inarch.driver.compiler import lower
    from inarch.machine.target import parse
    from inarch.machine.toolchain import compile_library

    context, module = merged(programs)
    machine = parse(target)
    set_target(module, machine)
    module.attributes["inarch.name"] = StringAttr("generated")
    lower(context, module, "kernel")
    image = weights_image(context, module)
    program = emit_program(module, Weights(len(image), ""))
    linked = link_libraries(program.kernels, machine)
    with tempfile.TemporaryDirectory(prefix="inarch-generate-") as folder:
        path = Path(folder) / "programs.so"
        compile_library(
            {"programs.c": program.text},
            path,
            target=machine,
            flags=flags,
            libraries=linked.libraries,
        )
        library = ctypes.CDLL(str(path))
    weights = Room(np.frombuffer(bytes(image), np.uint8), aligned=True)
    return Compiled(
        library,
        program.prefix,
        weights,
        module,
        {one.name: one.workspace_bytes for one in program.functions},
        {one.name: one.positions for one in program.functions},
    )
