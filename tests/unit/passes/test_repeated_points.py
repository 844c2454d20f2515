"""Tiles that begin earlier, and do points again, where no tile is as large as what remains of an axis."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np
import pytest

from effort import SOAK, effort
from inarch.core.plugins import Extensions, load_file
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.machine.target import native
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.tensorize.report import NestReport
from inarch.passes.tensorize.tensorize import tensorize
from inarch.testing import execute, execute_compiled

KERNELS = ("gemm-f32", "conv-f32", "conv-first-f32", "outer-f32", "gemv-f32", "gemv-rows-f32")
TOY = Path(__file__).parents[2] / "lit" / "passes" / "tensorize" / "Inputs" / "aligned_gemm.py"
TARGETS = ("x86-64-v4", "x86-64-v3", "aarch64")


@dataclass(frozen=True)
class Case:
    """A product with what comes before and after the sum."""

    m: int
    n: int
    k: int
    target: str = "x86-64-v4"
    init: bool = True
    """Begins at zero; else with what C holds."""
    finish: str = ""
    """`bias`, `relu`, `clamp` (to 0 and 6), `old` (adds what C held before), or none."""
    transposed: bool = False

    def text(self) -> str:
        """The module, at level loop."""
        m, n, k = self.m, self.n, self.k
        c = f"{m}x{n}"
        b, at = (f"{n}x{k}", "n, k") if self.transposed else (f"{k}x{n}", "k, n")
        ins = f"%a[m, k] : memref<{m}x{k}xf32>, %b[{at}] : memref<{b}xf32>"
        more = {
            "bias": (f", %d[n] : memref<{n}xf32>", "arith.addf %acc, %z : f32"),
            "old": (f", %c[m, n] : memref<{c}xf32>", "arith.addf %acc, %z : f32"),
            "relu": ("", "arith.maximumf %acc, %zero : f32"),
            "clamp": ("", "arith.minimumf %low, %six : f32"),
            "": ("", ""),
        }
        extra, last = more[self.finish]
        names = "%x: f32, %y: f32" + (", %z: f32" if extra else "")
        finish = ""
        if last:
            constant = (
                "%zero = arith.constant 0.0 : f32" if self.finish in ("relu", "clamp") else ""
            )
            if self.finish == "clamp":
                constant += "\n      %low = arith.maximumf %acc, %zero : f32"
                constant += "\n      %six = arith.constant 6.0 : f32"
            finish = f""" finish {{
    ^bb0({names}, %acc: f32):
      {constant}
      %f = {last}
      loop.yield %f : f32
    }}"""
        begin = "init 0.0 " if self.init else ""
        return f"""builtin.module attributes {{inarch.target = "{self.target}"}} {{
  func.func @main(%a: memref<{m}x{k}xf32>, %b: memref<{b}xf32>, %d: memref<{n}xf32>,
                  %old: memref<{c}xf32>, %new: memref<{c}xf32> {{inarch.result}}) {{
    %c = loop.alloc : memref<{c}xf32>
    loop.nest (m = {m}, n = {n}) ins(%old[m, n] : memref<{c}xf32>) outs(%c[m, n] : memref<{c}xf32>) {{
    ^bb0(%x: f32, %there: f32):
      loop.yield %x : f32
    }}
    loop.nest (m = {m}, n = {n}, k = {k} reduction) ins({ins}{extra})
        outs(%c[m, n] {begin}: memref<{c}xf32>) {{
    ^bb0({names}, %acc: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %p : f32
      loop.yield %s : f32
    }}{finish}
    loop.nest (m = {m}, n = {n}) ins(%c[m, n] : memref<{c}xf32>) outs(%new[m, n] : memref<{c}xf32>) {{
    ^bb0(%x: f32, %there: f32):
      loop.yield %x : f32
    }}
    func.return
  }}
}}"""


def run(case: Case, kernel: str, *, compiled: bool = False) -> NestReport:
    """What `tensorize` says; asserts that nothing else is computed, before the pass and after it.

    By small whole numbers, whose sums are exact in any order.
    """
    context = new_context()
    module = parse_module(context, case.text())
    verify_module(module)
    after = module.clone()
    report = tensorize(after, [kernel])
    verify_module(after)
    rng = np.random.default_rng(case.m * case.n + case.k)
    b = (case.n, case.k) if case.transposed else (case.k, case.n)
    shapes = [(case.m, case.k), b, (case.n,), (case.m, case.n)]
    inputs: list[Any] = [rng.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
    (expected,) = execute(module, inputs, context)
    for runs in (execute, execute_compiled) if compiled else (execute,):
        np.testing.assert_array_equal(runs(after, inputs, context)[0], expected)
    return report.nests[1]


def overruns(nest: NestReport) -> bool:
    """Whether a tile runs over the end of an axis, on copies."""
    return nest.taken is not None and any("run over the end" in text for text in nest.taken.copies)


@pytest.mark.parametrize("finish", ["", "bias", "relu"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", ["gemm-f32", "conv-f32", "outer-f32"])
def test_what_remains_of_an_axis_is_done_by_a_tile_that_begins_earlier(
    kernel: str, target: str, finish: str
) -> None:
    """37 columns are no whole vectors of 16, 8 or 4: nothing is copied."""
    taken = run(Case(41, 37, 7, target, finish=finish), kernel).taken
    assert taken is not None
    assert taken.copies == ()


@pytest.mark.parametrize("columns", [33, 37, 47])
@pytest.mark.parametrize("kernel", ["gemm-f32", "conv-f32"])
def test_sums_that_begin_with_what_is_there_are_not_added_twice(kernel: str, columns: int) -> None:
    """A tile that begins earlier would add its products to sums that have them; of 1, some, 15 lanes."""
    assert overruns(run(Case(41, columns, 7, init=False), kernel))


@pytest.mark.parametrize("columns", [3, 5, 8, 12, 15])
def test_less_than_a_vector_is_done_by_shorter_ones(columns: int) -> None:
    """AVX-512: 8 lanes or 4; only what is less than four runs over an edge."""
    nest = run(Case(64, columns, 24), "gemm-f32")
    assert nest.taken is not None
    if columns in (8, 12):
        assert nest.taken.params["VL"] in (4, 8)
    assert not overruns(nest) or columns == 3


@pytest.mark.sampled(effort(6, 8), reason="each kernel and each epilogue")
@pytest.mark.parametrize("finish", ["", "bias", "clamp"])
@pytest.mark.parametrize("kernel", ["gemm-f32", "conv-f32", "outer-f32", "gemv-f32"])
def test_shorter_vectors_are_right_in_c(kernel: str, finish: str) -> None:
    """Their epilogues, too: vectors of all lanes, of half, of a quarter, and a tile again."""
    lanes = native().vector_bytes // 4
    every = (lanes // 2, lanes // 2 + 1, lanes + 3)
    one = len(kernel + finish) % 3  # in the gate
    for columns in every if SOAK else every[one : one + 1]:
        run(Case(29, columns, 6, str(native()), finish=finish), kernel, compiled=True)


def test_an_axis_of_several_vectors_is_left_to_whole_ones() -> None:
    """Shorter vectors are not tried for what idles in one of three: it would take longer to choose."""
    taken = run(Case(64, 44, 24), "gemm-f32").taken
    assert taken is not None
    assert taken.params["VL"] == 16


def test_products_of_any_size_are_right() -> None:
    """Random sizes around those of tiles, kernels, targets, beginnings and ends."""
    random = Random(5)
    for _ in range(effort(18, 60)):
        case = Case(
            random.randint(1, 45),
            random.randint(1, 70),
            random.randint(1, 20),
            random.choice(TARGETS),
            init=random.random() < 0.75,
            finish=random.choice(["", "bias", "relu", "clamp", "old"]),
            transposed=random.random() < 0.3,
        )
        run(case, random.choice(KERNELS))


def test_tiles_that_only_some_results_can_be_written_by_are_right() -> None:
    """Of a kernel that wants whole lines the last tile is copied; where it splits sums, nothing repeats."""
    random = Random(7)
    with MICROKERNELS.scope():
        load_file(TOY, {"microkernel": cast("Extensions[object]", MICROKERNELS)})
        taken, count = 0, effort(24, 80)
        for _ in range(count):
            m, n = random.randint(3, 9), random.choice([8, 16, 24, 8 + random.randint(0, 24)])
            finish = random.choice(["", "bias", "relu", "clamp", "old"])
            case = Case(m, n, random.choice([4, 8, 12]), finish=finish)
            taken += run(case, "aligned-gemm").taken is not None
        assert taken > count // 2


@pytest.mark.parametrize(("rows", "columns"), [(4, 8), (7, 8), (7, 24)])
def test_what_two_tiles_share_is_finished_once(rows: int, columns: int) -> None:
    """The first tile is written in place and finished after all calls, the last one on its way out."""
    with MICROKERNELS.scope():
        load_file(TOY, {"microkernel": cast("Extensions[object]", MICROKERNELS)})
        run(Case(rows, columns, 8, finish="bias"), "aligned-gemm")
