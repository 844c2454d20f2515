"""`inarch explain` names the pass or layout between a kernel of others and the op that it is for (K1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inarch.microkernel.table import MICROKERNELS
from inarch.tools.cli import run

CONV = """func.func @main(%x: tensor<1x32x14x14xf32>) -> tensor<1x32x14x14xf32> {
  %w = graph.constant dense<0.01> : tensor<32x32x3x3xf32>
  %y = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 :
    tensor<1x32x14x14xf32>, tensor<32x32x3x3xf32> -> tensor<1x32x14x14xf32> loc("conv1")
  %z = graph.relu %y : tensor<1x32x14x14xf32> -> tensor<1x32x14x14xf32> loc("relu1")
  func.return %z : tensor<1x32x14x14xf32>
}
"""
WINDOWS = """/* inarch
computes = "for l in L, q in Q, i in I, r in 3, s in 3: Y[l, q] += X[i, r, q + s] * W[l, i, r, s]"
dtypes = {X = "f32", W = "f32", Y = "f32"}
cost = 20000
*/
void windows(const float *X, const float *W, float *Y, int64_t X_0, int64_t X_1, int64_t X_2, int64_t W_0,
             int64_t W_1, int64_t W_2, int64_t W_3, int64_t Y_0, int64_t Y_1, int64_t L, int64_t Q, int64_t I)
{
    for (int64_t l = 0; l < L; l++)
        for (int64_t q = 0; q < Q; q++)
            for (int64_t i = 0; i < I; i++)
                for (int r = 0; r < 3; r++)
                    for (int s = 0; s < 3; s++)
                        Y[l * Y_0 + q * Y_1] +=
                            X[i * X_0 + r * X_1 + (q + s) * X_2] * W[l * W_0 + i * W_1 + r * W_2 + s * W_3];
}
"""
ROOTS = """/* inarch
computes = "for n in N: C[n] = sqrt(A[n])"
dtypes = {A = "f32", C = "f32"}
cost = 1
*/
void roots(const float *A, float *C, int64_t A_0, int64_t C_0, int64_t N)
{
    for (int64_t n = 0; n < N; n++)
        C[n * C_0] = __builtin_sqrtf(A[n * A_0]);
}
"""
PRODUCT = """func.func @main(%x: tensor<12x40xf32>, %w: tensor<40x32xf32>) -> tensor<12x32xf32> {
  %y = graph.matmul %x, %w : tensor<12x40xf32>, tensor<40x32xf32> -> tensor<12x32xf32> loc("dense")
  %z = graph.sqrt %y : tensor<12x32xf32> -> tensor<12x32xf32> loc("root")
  func.return %z : tensor<12x32xf32>
}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("windows", WINDOWS), ("roots", ROOTS)):
        Path(f"{name}.c").write_text(text)
    Path("conv.mlir").write_text(CONV)
    Path("product.mlir").write_text(PRODUCT)


def explained(*arguments: str) -> tuple[int, str, str]:
    with MICROKERNELS.scope():
        return run(["explain", "--target", "x86-64-v3", *arguments])


def between(model: str, kernel: str) -> str | None:
    code, out, _ = explained(model, "--load", f"{kernel}.c", "--json", "--numerics", "strict")
    assert code == 0
    return json.loads(out)["kernels"]["between"].get(kernel)


def test_a_layout() -> None:
    """Dearer than what is chosen: both costs are said."""
    text = between("conv.mlir", "windows")
    assert text is not None
    begin = (
        "conv1 + relu1: pass choose-layout stands between; without it windows would do the op in "
    )
    assert text.startswith(begin)
    assert " cycles, now it takes " in text


def test_a_pass() -> None:
    text = between("product.mlir", "roots")
    assert text is not None
    assert text.startswith(
        "dense + root: pass fuse-nests stands between; without it roots would do"
    )
    lines = explained("product.mlir", "--load", "roots.c")[1].splitlines()
    (line,) = [one for one in lines if one.startswith("roots: ")]
    assert line.startswith("roots: 0 of ")
    assert line.endswith(f"; {text}")


def test_one_that_is_demanded() -> None:
    code, out, err = explained("product.mlir", "--load", "roots.c", "--microkernel", "roots")
    assert (code, out) == (1, "")
    assert err.startswith(
        "dense + root: error: expected a nest that microkernel 'roots' does, found none; "
    )
    assert "; dense + root: pass fuse-nests stands between; without it roots would do the op" in err
    assert err.count("\n") == 1


def test_nothing_to_blame() -> None:
    """No pass makes a root of a convolution."""
    assert between("conv.mlir", "roots") is None
