"""tensorize and memory: buffers that a nest reads and writes, views, rows that crowd a cache."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from xdsl.dialects.builtin import ModuleOp

from inarch.core.plugins import Extensions, load_file
from inarch.dialects import new_context
from inarch.dialects.kernel.pack import PackOp
from inarch.ir.text import parse_module
from inarch.machine.target import native
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.tensorize.tensorize import tensorize
from inarch.testing import check_semantics, run_pass

TILE = """/* inarch
computes = "for m in 4, n in 8: C[m, n] = 0; for k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
layout = {A = ["*", 1], B = ["*", 1], C = ["*", 1]}
align = {A = 32}
*/
void tile(const float *A, const float *B, float *C, int64_t a, int64_t a1, int64_t b, int64_t b1, int64_t c,
          int64_t c1, int64_t K) {}
"""


def product(finish: str, operand: str = "%c[m, n] : memref<32x64xf32>") -> str:
    """`c = finish(a @ b, r)`, where `r` is an element of an operand; `c` has been written before."""
    return f"""builtin.module attributes {{inarch.target = "{native()}"}} {{
  func.func @main(%a: memref<32x32xf32>, %b: memref<32x64xf32>, %d: memref<32x64xf32>,
      %c: memref<32x64xf32> {{inarch.result}}) {{
    %flat = loop.reshape %c : memref<32x64xf32> to memref<2048xf32>
    loop.nest (m = 32, n = 64) ins(%d[m, n] : memref<32x64xf32>) outs(%c[m, n] : memref<32x64xf32>) {{
    ^bb0(%x: f32, %o: f32):
      loop.yield %x : f32
    }}
    loop.nest (m = 32, n = 64, k = 32 reduction) ins(%a[m, k] : memref<32x32xf32>,
        %b[k, n] : memref<32x64xf32>, {operand}) outs(%c[m, n] init 0.0 : memref<32x64xf32>) {{
    ^bb0(%x: f32, %y: f32, %r: f32, %acc: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %p : f32
      loop.yield %s : f32
    }} finish {{
    ^bb0(%x: f32, %y: f32, %r: f32, %acc: f32):
      %t = {finish} : f32
      loop.yield %t : f32
    }}
    func.return
  }}
}}"""


@pytest.mark.parametrize(
    "operand", ["%c[m, n] : memref<32x64xf32>", "%flat[m * 64 + n] : memref<2048xf32>"]
)
def test_finish_reads_what_was_there_before(operand: str) -> None:
    """A kernel would have overwritten it."""
    text = product("arith.addf %acc, %r", operand)
    check_semantics(text, pipeline="tensorize", compiled=True)
    assert "kernel.call" not in run_pass(text, "tensorize")
    assert "kernel.call" in run_pass(
        text.replace(operand, "%d[m, n] : memref<32x64xf32>"), "tensorize"
    )


def view(offset: int) -> str:
    kind = f"memref<4x8xf32, strided<[24, 1], offset: {offset}>>"
    return f"""func.func @main(%x: memref<4x24xf32>, %b: memref<8x8xf32>,
    %c: memref<4x8xf32> {{inarch.result}}) {{
  %p = loop.alloc : memref<4x24xf32>
  loop.nest (i = 4, j = 24) ins(%x[i, j] : memref<4x24xf32>) outs(%p[i, j] : memref<4x24xf32>) {{
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }}
  %s = memref.subview %p[0, {offset}] [4, 8] [1, 1] : memref<4x24xf32> to {kind}
  loop.nest (m = 4, n = 8, k = 8 reduction) ins(%s[m, k] : {kind}, %b[k, n] : memref<8x8xf32>)
      outs(%c[m, n] init 0.0 : memref<4x8xf32>) {{
  ^bb0(%u: f32, %y: f32, %acc: f32):
    %q = arith.mulf %u, %y : f32
    %r = arith.addf %acc, %q : f32
    loop.yield %r : f32
  }}
  func.return
}}"""


def packs(module: ModuleOp) -> int:
    return sum(isinstance(op, PackOp) for op in module.walk())


@pytest.mark.parametrize(("offset", "copies"), [(8, 0), (3, 1)])
def test_a_view_is_aligned_where_it_begins(offset: int, copies: int, tmp_path: Path) -> None:
    path = tmp_path / "tile.c"
    path.write_text(TILE)
    module = parse_module(new_context(), view(offset))
    with MICROKERNELS.scope():
        load_file(path, {"microkernel": cast("Extensions[object]", MICROKERNELS)})
        report = tensorize(module, ["tile"])
    assert report.taken_by("tile"), str(report)
    assert packs(module) == copies


@pytest.mark.parametrize(("step", "is_copied"), [(1024, True), (1040, False), (0, False)])
def test_rows_of_a_constant_that_crowd_the_cache_are_copied(step: int, is_copied: bool) -> None:
    """14 rows 4 KiB apart share one set of the first-level cache; one row, read 14 times, does not."""
    rows, index = (14, f"m * {step} + k") if step else (1, "k")
    size = max(step, 1024) * rows
    text = f"""builtin.module attributes {{inarch.target = "x86-64-v4"}} {{
  func.func @main(%b: memref<1024x32xf32>, %c: memref<14x32xf32> {{inarch.result}}) {{
    %a = loop.constant dense<0.5> : tensor<{size}xf32> : memref<{size}xf32>
    loop.nest (m = 14, n = 32, k = 1024 reduction) ins(%a[{index}] : memref<{size}xf32>,
        %b[k, n] : memref<1024x32xf32>) outs(%c[m, n] init 0.0 : memref<14x32xf32>) {{
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %p : f32
      loop.yield %s : f32
    }}
    func.return
  }}
}}"""
    found = run_pass(text, "tensorize{kernels=gemm-f32}")
    assert ("kernel.pack %a" in found) == is_copied, found
