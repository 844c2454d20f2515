"""The C backend: a planned module becomes C11 with GCC's vector extensions, readable and warning-free.

One translation unit per kernel and `model.c` (`CProgram.units`), or one file that compiles alone
(`CProgram.text`). Nests: `write/nest.py` (scalars), `write/tile.py` (registers); expressions:
`write/expressions.py`, our own exp, log, tanh and erf: `write/math.py`; the ABI: `write/model.py`. Tests:
`tests/lit/backends/c/` and `tests/unit/test_c_*.py`. Example: `inarch-opt planned.mlir -t c`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.backends.c.assemble import EMBEDDED_BYTES, emit_program
from inarch.backends.c.cprogram import CFunction, CProgram, registry_notes
from inarch.backends.c.foreign.code import instance_code, link_libraries
from inarch.backends.c.foreign.errors import kernel_error
from inarch.backends.c.foreign.usable import Usable, line_directive, usable_for
from inarch.backends.c.plan.gaps import instance_reads_gaps, without_loop_vectors
from inarch.backends.c.plan.program import planned_weights_bytes
from inarch.backends.c.plan.weights import describe_weights, weights_image, weights_pieces
from inarch.backends.c.run import run
from inarch.core.lazy import np
from inarch.passes.backend import Backend

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

__all__ = [
    "BACKEND",
    "CFunction",
    "CProgram",
    "Usable",
    "emit",
    "instance_code",
    "instance_reads_gaps",
    "kernel_error",
    "line_directive",
    "link_libraries",
    "registry_notes",
    "run_function",
    "usable_for",
    "weights_image",
    "weights_pieces",
    "without_loop_vectors",
]


def emit(ctx: Context, module: ModuleOp) -> CProgram:
    """A planned module in C. Raises InarchError at an op without a place, or that has no C."""
    count = planned_weights_bytes(module)
    embedded = bytes(weights_image(ctx, module)) if 0 < count <= EMBEDDED_BYTES else None
    return emit_program(module, describe_weights(ctx, module), embedded)


def run_function(ctx: Context, module: ModuleOp, name: str, arrays: Sequence[Array]) -> None:
    """Runs function `name` of `module` on `arrays`, one a memref argument in the function's order.

    The oracle of tests: a copy of the module gets offsets where it has none, is compiled and called in
    this process, through the unchecked entry. Outputs are written in place. `module` is not changed.
    Raises InarchError when an array does not fit, or the program calls an import.
    """
    run(ctx, module, name, arrays)


def _emit_text(ctx: Context, module: ModuleOp) -> str:
    return emit(ctx, module).text


BACKEND = Backend(
    name="c",
    description="The host: C with vector extensions, compiled by the system's C compiler.",
    emit_text=_emit_text,
)
