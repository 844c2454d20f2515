"""Each pass, and all that is around them, takes twice as long for twice as many ops."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

from inarch.backends.c import emit
from inarch.dialects import new_context
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import apply_pass
from inarch.pipeline.registry import find_pass

TYPE = "tensor<4x4xf32>"
LAYER = (
    "%{1} = graph.matmul %{0}, %w : {t}, {t} -> {t}",
    "%{2} = graph.add %{1}, %{0} : {t}, {t} -> {t}",
    "%{3} = graph.relu %{2} : {t} -> {t}",
    "%{4} = graph.softmax %{3} axis = -1 : {t} -> {t}",
)
"""Ops that become kernels, are fused, decomposed, and have values that live for long."""
MORE = ("cse", "dce", "canonicalize")
"""Passes of no pipeline of ours: they run on the graph."""
MOST = 3.2
"""Times as long for twice as many ops; 4 is the square."""
LEAST_SECONDS = 0.1
"""What takes less is not the one that one waits for, and cannot be measured."""


def _text(ops: int) -> str:
    """A chain of layers, of `ops` ops in all."""
    lines = [
        'module attributes {inarch.target = "x86-64-v3"} {',
        f"func.func @main(%0: {TYPE}, %w: {TYPE}) -> {TYPE} {{",
    ]
    for first in range(0, ops, len(LAYER)):
        names = range(first, first + len(LAYER) + 1)
        lines += [line.format(*names, t=TYPE) for line in LAYER]
    last = len(lines) - 2
    return "\n".join([*lines, f"func.return %{last} : {TYPE}", "}", "}"])


def _seconds(ops: int) -> dict[str, float]:
    """CPU seconds by what is done."""
    found: dict[str, float] = {}

    def measure(what: str, work: Callable[..., Any], *arguments: Any) -> Any:
        gc.collect()
        start = time.process_time()
        result = work(*arguments)
        found[what] = found.get(what, 0.0) + time.process_time() - start
        return result

    context = new_context()
    module = measure("parse", parse_module, context, _text(ops), "chain.mlir")
    for one in (*(find_pass(name)() for name in MORE), *default_pipeline()):
        measure(one.name, apply_pass, context, module, one)
    measure("verify", verify_module, module)
    measure("print", print_module, module)
    measure("emit", emit, context, module)
    return found


def _check(ops: int) -> None:
    collects = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)  # as the commands
    try:
        runs = [(_seconds(ops // 2), _seconds(ops)) for _ in range(2 if ops < 10_000 else 1)]
    finally:
        gc.set_threshold(*collects)
    half, whole = (
        {what: min(run[at][what] for run in runs) for what in runs[0][0]} for at in (0, 1)
    )
    told = {what: f"{half[what]:.3f} s, then {whole[what]:.3f} s" for what in half}
    slow = [what for what in half if whole[what] > MOST * max(half[what], LEAST_SECONDS)]
    assert not slow, {what: told[what] for what in slow}


def test_twice_the_ops_take_twice_as_long() -> None:
    _check(480)
