"""Maps of short rows of several widths: several rows are one loop, and the rows that are left another one."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from inarch.backends.c import run_function
from inarch.dialects import new_context
from inarch.ir.text import parse_module

Array = np.ndarray[Any, Any]
NUMPY = {"i8": np.int8, "i16": np.int16, "i32": np.int32}


def sums(outer: int, rows: int, lanes: int, narrow: str, more: int) -> str:
    """`out[o, r, l] = narrow(f32(x[o, r, l]) * a[o, l]) + y[o, r, l]`, in a buffer of `more` rows more."""
    x, a = f"memref<{outer}x{rows}x{lanes}xi32>", f"memref<{outer}x{lanes}xf32>"
    y, out = (f"memref<{outer}x{rows + n}x{lanes}x{narrow}>" for n in (0, more))
    return f"""builtin.module attributes {{inarch.target = "x86-64-v3"}} {{
func.func @main(%x: {x}, %a: {a}, %y: {y}, %out: {out} {{inarch.result}}) {{
  loop.nest (o = {outer}, r = {rows}, l = {lanes})
    ins(%x[o, r, l] : {x}, %a[o, l] : {a}, %y[o, r, l] : {y}) outs(%out[o, r + {more}, l] : {out}) {{
  ^bb0(%e: i32, %f: f32, %g: {narrow}, %acc: {narrow}):
    %0 = arith.sitofp %e : i32 to f32
    %1 = arith.mulf %0, %f : f32
    %2 = arith.fptosi %1 : f32 to i32
    %3 = arith.{"trunci" if narrow != "i32" else "bitcast"} %2 : i32 to {narrow}
    %4 = arith.addi %3, %g : {narrow}
    loop.yield %4 : {narrow}
  }}
  func.return
}}
}}
"""


@settings(max_examples=effort(6, 12), deadline=None)
@given(
    st.integers(1, 3),
    st.sampled_from((1, 2, 3, 4, 5, 7, 8, 9, 17)),
    st.sampled_from((2, 4, 8, 16, 32)),
    st.sampled_from(tuple(NUMPY)),
    st.sampled_from((0, 0, 1)),
)
def test_every_row_is_done_once(outer: int, rows: int, lanes: int, narrow: str, more: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-1000, 1000, (outer, rows, lanes)).astype(np.int32)
    a = rng.standard_normal((outer, lanes)).astype(np.float32)
    y = rng.integers(-100, 100, (outer, rows, lanes)).astype(NUMPY[narrow])
    out = np.full((outer, rows + more, lanes), 7, NUMPY[narrow])
    context = new_context()
    module = parse_module(context, sums(outer, rows, lanes, narrow, more))
    run_function(context, module, "main", [x, a, y, out])
    whole = np.trunc(x.astype(np.float32) * a[:, None]).astype(np.int32).astype(NUMPY[narrow])
    np.testing.assert_array_equal(out[:, more:], whole + y)
    assert (out[:, :more] == 7).all()
