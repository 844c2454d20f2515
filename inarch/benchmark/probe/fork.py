"""What it takes that threads share a loop: a program of many tiny ones, by two threads and by one."""

from __future__ import annotations

import statistics
import time

from inarch.core.lazy import np
from inarch.dialects import new_context
from inarch.driver.compile import compile as compile_program
from inarch.ir.text import parse_module

_LOOPS = 64
_ROUNDS = 2000
_LEAST_NS = 30
"""Two ways of a line between two cores; what is shorter was not shared."""
_NEST = """
  loop.nest (i = 2 parallel, j = 8) ins(%x[i, j] : memref<2x8xf32>) outs(%y[i, j] : memref<2x8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
"""


def fork_ns(target: str) -> float | None:
    """Nanoseconds of giving a loop to one more thread that waits, and of waiting for it: the median of many.

    None where there is no other processor, or it is busy: the pool then leaves loops to one thread.
    """
    context = new_context()
    text = (
        "func.func @main(%x: memref<2x8xf32>, %y: memref<2x8xf32> {inarch.result}) {"
        f"{_NEST * _LOOPS}  func.return\n}}\n"
    )
    module = parse_module(context, text, "<fork>")
    function = compile_program(
        module, context=context, target=target, pipeline="outline-nests,plan-memory"
    )["main"]
    x, y = np.zeros((2, 8), np.float32), np.zeros((2, 8), np.float32)

    def times(threads: int) -> list[int]:
        found: list[int] = []
        for _ in range(_ROUNDS):
            start = time.perf_counter_ns()
            function(x, out=y, threads=threads)
            found.append(time.perf_counter_ns() - start)
        return found

    alone = statistics.median(times(1))
    shared = [each - alone for each in times(2) if each - alone > _LOOPS * _LEAST_NS]
    return statistics.median(shared) / _LOOPS if len(shared) > _ROUNDS // 10 else None
