"""A program as a shared library whose unchecked entries others call themselves."""

from __future__ import annotations

from inarch.backends.c.assemble import emit_program
from inarch.backends.c.plan.weights import Weights, weights_image
from inarch.backends.c.text import identifier
from inarch.backends.host import Native, NativeRequest
from inarch.core.errors import UnsupportedError
from inarch.ir.target import target_of
from inarch.machine.toolchain import compile_library
from inarch.microkernel.code import link_libraries


def native(request: NativeRequest) -> Native:
    """Emits and compiles the program. Raises UnsupportedError for one that calls imports."""
    image = weights_image(request.context, request.module)
    program = emit_program(request.module, Weights(len(image), ""))
    if program.imports:
        slots = ", ".join(slot.name for slot in program.imports)
        raise UnsupportedError(f"'{program.name}' cannot run alone: it calls the imports {slots}")
    program = program.single() if request.is_single else program
    target = request.target or target_of(request.module)
    compile_library(
        program.units,
        request.output,
        target=target,
        flags=request.flags,
        unit_flags=program.unit_flags,
        libraries=(*link_libraries(program.kernels, target).libraries, *request.libraries),
    )
    return Native(
        program,
        {entry.name: entry for entry in program.functions},
        {one.name: identifier(f"{program.prefix}_{one.name}_run") for one in program.functions},
        image,
    )
