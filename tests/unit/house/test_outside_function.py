"""A scalar function from outside (docs/extending.md): in ONNX, in texts, in kernels, and judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from outside import example, refused, said

USE = """
import numpy as np, onnx
import inarch
from inarch.core.errors import InarchError
from inarch.driver.extensions import load_files

load_files(["softsign.py"])
x = np.linspace(-3, 3, 70, dtype="f4").reshape(7, 10)
meant = x / (1 + abs(x))
with open("model.onnx", "wb") as file:
    text = '<ir_version: 8, opset_import: ["": 18, "com.example": 1]> g (float[7,10] x) => (float[7,10] y) '
    file.write(onnx.parser.parse_model(text + "{ y = com.example.Softsign(x) }").SerializeToString())
np.testing.assert_allclose(inarch.compile("model.onnx")(x), meant, 1e-6)

each = inarch.compute("for i in N, k in K: C[i, k] = softsign(A[i, k])")
np.testing.assert_allclose(each(x), meant, 1e-6)
sums = inarch.compute("for i in N: C[i] = 0; for k in K: C[i] += softsign(A[i, k])")
np.testing.assert_allclose(sums(x), meant.sum(1), 1e-5, 1e-6)
wide = inarch.compute("for i in N: C[i] = softsign(A[i])")
np.testing.assert_allclose(wide(x[0].astype("f8")), meant[0], 1e-6)
for wrong in ("softsing(A[i])", "softsign(A[i])"):
    try:
        inarch.compute(f"for i in N: C[i] = {wrong}")(np.arange(3))
    except InarchError as error:
        print(error)
"""

KERNEL = """/* inarch
computes = "for i in N: C[i] = softsign(A[i])"
dtypes = {A = "f32", C = "f32"}
*/
void soft_row(const float *A, float *C, int64_t A_0, int64_t C_0, int64_t N) {
    for (int64_t i = 0; i < N; i++) {
        const float x = A[i * A_0];
        C[i * C_0] = x / (ONE + (x < 0 ? -x : x));
    }
}
"""


def test_a_function_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "softsign.py").write_text(example("softsign.py"))
    (tmp_path / "soft_row.c").write_text(KERNEL.replace("ONE", "1.0f"))
    given = ["--load", "softsign.py", "--load", "soft_row.c"]
    explain = ["-m", "inarch", "explain", "model.onnx", "--microkernel", "soft-row", *given]
    text = said(tmp_path, ["-c", USE]) + said(tmp_path, explain)
    assert "Traceback" not in text, text
    assert "no function 'softsing'; did you mean 'softsign'?" in text
    assert "compute:1:13: expected a float in softsign(A[i]), found i64; cast it: f32(...)" in text
    assert "soft-row: 1 of 1 nests" in text
    for one, passed in (("1.0f", 1), ("1.25f", 0)):
        (tmp_path / "soft_row.c").write_text(KERNEL.replace("ONE", one))
        verdict = said(tmp_path, ["-m", "inarch", "verify-kernel", "soft-row", *given])
        assert f"{passed} of 1 instances pass" in verdict


ROW = """
from inarch.core.scalars.functions import Function
FUNCTION = {}
"""


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('Function("bad", 1, numpy=abs)', "expected `define`, its value by other functions, of which its "
         "C is made; found none"),
        ('Function("bad", 1, define=abs)', "expected `numpy`, its value by NumPy, found ''"),
        ('Function("worse", 1, numpy=abs, define=abs)', "expected the name of its file, found 'worse'"),
        ('Function("bad", 3, numpy=abs, define=abs)', "expected an arity of 1 or 2, found 3"),
        ("abs", "expected FUNCTION to be a Function, found builtin_function_or_method"),
    ],
)  # fmt: skip
def test_a_row_that_is_not_sound_is_refused(tmp_path: Path, row: str, message: str) -> None:
    assert refused(tmp_path / "bad.py", ROW.format(row)) == f"function 'bad': {message}"


def test_a_function_of_ours_keeps_its_name(tmp_path: Path) -> None:
    row = ROW.format('Function("tanh", 1, numpy=abs, define=abs)')
    assert refused(tmp_path / "tanh.py", row) == (
        "function 'tanh': Inarch has a function or a dtype of that name; rename the file"
    )
