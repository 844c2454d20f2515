"""A program with its factors rounded, as `--precision` asks: the reference of verification."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.ir.target import precision_of
from inarch.passes.phases import PHASES
from inarch.pipeline.registry import find_pass

_ROUNDS = "lower-precision"
_LEFT_OUT = ("try-kernels", "outline-bodies")
"""They change no value."""


def round_factors(context: Context, module: ModuleOp) -> None:
    """Runs the passes of `prepare` and of `graph` up to `lower-precision`, where a precision is asked for.

    Weights are rounded after constants and batch normalizations are folded, and composites decomposed: so a
    compilation of the result rounds nothing more.
    """
    if precision_of(module) == "f32":
        return
    graph = PHASES["graph"]
    for name in (*PHASES["prepare"], *graph[: graph.index(_ROUNDS) + 1]):
        if name not in _LEFT_OUT:
            find_pass(name)().apply(context, module)
