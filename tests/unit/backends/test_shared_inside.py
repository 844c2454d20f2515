"""Of two loops whose turns threads may share, the inner one is, where the outer one has too few turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import inarch
from inarch.dialects import new_context
from inarch.dialects.loop.control import ForOp
from inarch.ir.report.facts import facts_of
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.passes.loop.threads.sharing import SharingReport
from inarch.pipeline.text import parse_pipeline

LOOPS = (
    "prepare,graph,graph-to-loop,drop-unit-iterators,fold-scalars,rematerialize,fuse-nests,normalize-last,"
    "apply-schedule,tile-and-fuse{rows=ROWS always=true},padding,schedule-nests,"
    "parallelize{threads=2 least=LEAST}"
)
ROWS, DEPTH = 200, 24


def text_of(heads: int) -> str:
    t, k = (f"tensor<{heads}x{a}x{b}xf32>" for a, b in ((ROWS, DEPTH), (DEPTH, ROWS)))
    s = f"tensor<{heads}x{ROWS}x{ROWS}xf32>"
    return f"""func.func @main(%q: {t}, %k: {k}, %v: {t}) -> {t} {{
  %0 = graph.matmul %q, %k : {t}, {k} -> {s}
  %1 = graph.softmax %0 axis = -1 : {s} -> {s}
  %2 = graph.matmul %1, %v : {s}, {t} -> {t}
  func.return %2 : {t}
}}"""


@pytest.mark.parametrize(
    ("heads", "rows", "least", "shared"),
    [
        (3, 25, 5000, ["m"]),  # 8 blocks of each head, where of 3 heads a thread has 2
        (4, 25, 5000, ["b0"]),  # as many for each
        (3, 150, 5000, ["b0"]),  # two blocks, the last one a loop of its own
        (3, 25, 10**8, []),
    ],
)
def test_the_loop_that_balances_is_shared(
    heads: int, rows: int, least: int, shared: list[str]
) -> None:
    """The loops by name, and compiled for 1, 2 and 3 threads, bit for bit."""
    context = new_context()
    module = parse_module(context, text_of(heads))
    pipeline = LOOPS.replace("ROWS", str(rows)).replace("LEAST", str(least))
    lowered = module.clone()
    for one in parse_pipeline(pipeline):
        one.apply(context, lowered)
    verify_module(lowered)
    loops = [op for op in lowered.walk() if isinstance(op, ForOp)]
    found = [op.induction.name_hint for op in loops if op.mode.data == "parallel"]
    assert found == shared
    report = facts_of(context).get(SharingReport)
    assert report is not None
    reported = [one.loop for one in report.ops if one.loop]
    assert reported == shared
    rng = np.random.default_rng(heads)
    q, v = (rng.standard_normal((heads, ROWS, DEPTH)).astype(np.float32) for _ in range(2))
    k = rng.standard_normal((heads, DEPTH, ROWS)).astype(np.float32)
    call = inarch.compile(module, pipeline=f"{pipeline},memory")
    results: list[Any] = [np.asarray(call(q, k, v, threads=n)) for n in (1, 2, 3)]
    scores = q.astype(np.float64) @ k
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    wanted = weights / weights.sum(-1, keepdims=True) @ v
    assert np.abs(results[0] - wanted).max() < 1e-5
    assert all(one.tobytes() == results[0].tobytes() for one in results)
