"""Of two parallel loops the inner one is shared where the outer one has too few iterations."""

from __future__ import annotations

from pathlib import Path
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
from inarch.tools.cli import run

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


BY_HAND = """func.func @main(%a: memref<6x4096xf32>, %b: memref<4096xf32> {inarch.result}) {
  loop.nest (i = 4096) outs(%b[i] : memref<4096xf32>) {
  ^bb0(%o: f32):
    %zero = arith.constant 0.0 : f32
    loop.yield %zero : f32
  }
  loop.for %t = 0 to 6 {
    loop.for %i = 0 to 4096 parallel {
      %x = memref.load %a[%t, %i] : memref<6x4096xf32>
      %y = memref.load %b[%i] : memref<4096xf32>
      %z = arith.addf %x, %y : f32
      memref.store %z, %b[%i] : memref<4096xf32>
      loop.yield
    }
    loop.yield
  }
  func.return
}"""


def _uses_of_the_pool(path: Path, *options: str) -> int:
    """Calls of `inarch_share` in the C of a program."""
    out = path.with_suffix(".c")
    done = run(["compile", str(path), "--emit=c", "-o", str(out), "-q", *options])
    assert done.code == 0, done.err
    return out.read_text().count("        inarch_share(")


@pytest.mark.parametrize("is_marked", [True, False])
def test_a_parallel_loop_in_a_serial_one_uses_the_pool(tmp_path: Path, is_marked: bool) -> None:
    """With the index of the loop around it: by hand, and where nobody wrote parallel."""
    a = np.random.default_rng(1).standard_normal((6, 4096)).astype(np.float32)
    wanted = np.zeros(4096, np.float32)
    for row in a:
        wanted += row
    path = tmp_path / "hand.mlir"
    path.write_text(BY_HAND if is_marked else BY_HAND.replace(" parallel", ""))
    assert _uses_of_the_pool(path) == 1
    call = inarch.compile(path)
    for threads in (1, 2, 3):
        assert np.asarray(call(a, threads=threads)).tobytes() == wanted.tobytes()


SOFTMAX = """func.func @main(%x: tensor<4x64x512xf32>) -> tensor<4x64x512xf32> {
  %0 = graph.softmax %x axis = 2 : tensor<4x64x512xf32> -> tensor<4x64x512xf32> loc("y")
  func.return %0 : tensor<4x64x512xf32>
}"""


def test_a_schedule_shares_the_inner_of_two_loops(tmp_path: Path) -> None:
    """`parallelize` of the inner loop that `fuse` has made uses the pool, and says what it does."""
    path, schedule = tmp_path / "softmax.mlir", tmp_path / "it.schedule"
    path.write_text(SOFTMAX)
    schedule.write_text('at "y"[4]: fuse "y"[1] "y"[2] "y"[3] over i0 1 i1 8; parallelize i1o\n')
    assert _uses_of_the_pool(path, "--schedule", str(schedule)) == 1
    call = inarch.compile(path, schedule=schedule)
    x = np.random.default_rng(2).standard_normal((4, 64, 512)).astype(np.float32)
    results: list[Any] = [np.asarray(call(x, threads=n)) for n in (1, 2, 3)]
    wanted = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(results[0], wanted / wanted.sum(-1, keepdims=True), atol=1e-6)
    assert all(one.tobytes() == results[0].tobytes() for one in results)


@pytest.mark.parametrize(
    ("bounds", "value", "why"),
    [
        ("%t to 4096", "%x", "with a computed begin"),
        ("0 to 4096", "%f", "that uses %f, which it cannot read from memory"),
        ("0 to %n", "%f", "that uses %f, which it cannot read from memory"),
    ],
)
def test_a_parallel_loop_that_threads_cannot_share_is_an_error(
    tmp_path: Path, bounds: str, value: str, why: str
) -> None:
    """It ran in order, unsaid."""
    text = BY_HAND.replace("0 to 4096 parallel", f"{bounds} parallel").replace(
        "%z = arith.addf %x,", f"%z = arith.addf {value},"
    )
    text = text.replace(
        "    loop.for %i",
        "    %f = memref.load %a[%t, %t] : memref<6x4096xf32>\n"
        "    %k = arith.constant 100 : index\n    %n = arith.muli %t, %k : index\n    loop.for %i",
    )
    path = tmp_path / "hand.mlir"
    path.write_text(text)
    line = 1 + next(n for n, each in enumerate(text.splitlines()) if "parallel" in each)
    done = run(["compile", str(path), "--emit=c", "-o", str(tmp_path / "x.c"), "-q"])
    assert (done.code, done.err) == (
        1,
        f"{path}:{line}:5: error: expected a parallel loop whose iterations threads can share, found one of "
        f"%i {why}; make it serial, or make the loop around it the parallel one\n",
    )
    assert (
        run(["compile", str(path), "--emit=c", "-o", str(tmp_path / "x.c"), "--threads", "1"]).code
        == 0
    )
