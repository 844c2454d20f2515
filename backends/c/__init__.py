"""The host of C: a planned module becomes C11 with GCC's vector extensions, readable and warning-free.

One translation unit per kernel and `model.c` (`CProgram.units`), or one file that compiles alone
(`CProgram.text`). Nests: `write/nest.py` (scalars), `write/tile.py` (registers); expressions:
`write/value/expressions.py`, our own exp, log ...: `write/value/elementary.py`; the ABI:
`write/abi/model.py`; folders of sources: `export/`. Tests:
`tests/lit/backends/c/` and `tests/unit/backends/test_c_*.py`. Example: `inarch-opt planned.mlir -t c`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.backends.c.assemble import EMBEDDED_BYTES, emit_program
from inarch.backends.c.build import build
from inarch.backends.c.cprogram import CProgram
from inarch.backends.c.export import export
from inarch.backends.c.native import native
from inarch.backends.c.plan.program import planned_weights_bytes
from inarch.backends.c.plan.weights import describe_weights, weights_image, write_weights
from inarch.backends.c.run import run_function
from inarch.backends.emitted import Emitted
from inarch.backends.host import Host

__all__ = ["HOST", "CProgram", "emit", "run_function", "weights_image"]


def emit(ctx: Context, module: ModuleOp) -> CProgram:
    """A planned module in C. Raises InarchError at an op without a place, or that has no C."""
    count = planned_weights_bytes(module)
    embedded = bytes(weights_image(ctx, module)) if 0 < count <= EMBEDDED_BYTES else None
    program = emit_program(module, describe_weights(ctx, module), embedded)
    if count <= EMBEDDED_BYTES:
        return program
    return replace(program, weights=partial(write_weights, ctx, module))


def _accepts(_: Emitted) -> str | None:
    """C is linked, submodules are called through slots: every part."""
    return None


HOST = Host(
    name="c",
    description="C with vector extensions, compiled by the system's C compiler.",
    emit=emit,
    build=build,
    run=run_function,
    accepts=_accepts,
    native=native,
    export=export,
)
