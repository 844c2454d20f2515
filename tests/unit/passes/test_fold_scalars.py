"""Constants of one element are numbers in nests: nothing else changes, and kernels with numbers match."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

import inarch
from effort import effort
from inarch.core.lazy import np
from inarch.core.plugins import Extensions, load_file
from inarch.microkernel.table import MICROKERNELS
from inarch.testing import check_semantics, run_pass

PIPELINE = "graph-to-loop,drop-unit-iterators,fold-scalars,fuse-nests"


def program(dtype: str, shape: str, number: float, op: str, *, is_first: bool) -> str:
    """`number op x`, or `x op number`; the number as a tensor that is broadcast."""
    x, c = f"tensor<3x4x{dtype}>", f"tensor<{shape}{dtype}>"
    left, right = ("%c, %x", f"{c}, {x}") if is_first else ("%x, %c", f"{x}, {c}")
    text = repr(float(number)) if dtype.startswith("f") else str(int(number))
    return f"""func.func @main(%x: {x}) -> {x} {{
  %c = graph.constant dense<{text}> : {c}
  %y = graph.{op} {left} : {right} -> {x}
  func.return %y : {x}
}}"""


@settings(max_examples=effort(5, 14), deadline=None)
@given(
    dtype=st.sampled_from(["f32", "f64", "i8", "i32", "i64"]),
    shape=st.sampled_from(["", "1x", "1x1x"]),
    number=st.sampled_from([0.0, -0.0, 1.0, -3.0, 0.1, 7.0, 1024.5]),
    op=st.sampled_from(["add", "sub", "mul", "maximum", "minimum"]),
    is_first=st.booleans(),
)
def test_nothing_else_changes(
    dtype: str, shape: str, number: float, op: str, is_first: bool
) -> None:
    number = number if dtype.startswith("f") or abs(number) < 100 else 9.0
    text = program(dtype, shape, number, op, is_first=is_first)
    check_semantics(text, pipeline=PIPELINE, compiled=True)
    assert "loop.constant" not in run_pass(text, PIPELINE)


HARD_SWISH = """/* inarch
computes = "for i in N: Y[i] = X[i] * min(max(X[i] + 3, 0), 6) / 6"
dtypes = {X = "f32", Y = "f32"}
params = {N = [4]}
layout = {X = [1], Y = [1]}
*/
void hard_swish(const float *X, float *Y, int64_t x, int64_t y)
{
    for (int i = 0; i < N; i++) {
        float t = X[i] + 3 < 0 ? 0 : X[i] + 3;
        Y[i] = X[i] * (t > 6 ? 6 : t) / 6;
    }
    (void)x, (void)y;
}
"""


def test_a_kernel_with_numbers_does_what_a_model_writes_with_constants(tmp_path: Path) -> None:
    path = tmp_path / "hard_swish.c"
    path.write_text(HARD_SWISH)
    x, c = "tensor<3x20xf32>", "tensor<f32>"
    constants = "".join(f"  %c{n} = graph.constant dense<{n}.0> : {c}\n" for n in (0, 3, 6))
    (tmp_path / "model.mlir").write_text(
        f"""func.func @main(%x: {x}) -> {x} {{
{constants}  %0 = graph.add %x, %c3 : {x}, {c} -> {x}
  %1 = graph.maximum %0, %c0 : {x}, {c} -> {x}
  %2 = graph.minimum %1, %c6 : {x}, {c} -> {x}
  %3 = graph.mul %x, %2 : {x}, {x} -> {x}
  %4 = graph.div %3, %c6 : {x}, {c} -> {x}
  func.return %4 : {x}
}}"""
    )
    values = np.linspace(-5, 5, 60, dtype=np.float32).reshape(3, 20)
    with MICROKERNELS.scope():
        load_file(path, {"microkernel": cast("Extensions[object]", MICROKERNELS)})
        module = inarch.compile(tmp_path / "model.mlir", microkernels=["hard-swish"])
    expected = values * np.clip(values + 3, 0, 6) / 6
    np.testing.assert_allclose(module["main"](values), expected, rtol=1e-6, atol=1e-6)
