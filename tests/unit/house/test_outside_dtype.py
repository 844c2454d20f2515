"""A dtype from outside (docs/extending.md): in programs, ONNX, texts and kernels, and judged by NumPy."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from inarch.core.errors import UsageError
from inarch.core.plugins import load_file
from inarch.driver.extensions import kinds

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "extending.md").read_text()

BEGIN = """
import numpy as np, onnx
import inarch
from inarch.core.errors import InarchError
from inarch.driver.extensions import load_files

load_files(["bf16.py"])
import ml_dtypes
bf16 = ml_dtypes.bfloat16

def same(found, expected):
    bits = found.view(f"u{found.itemsize}") == expected.view(f"u{found.itemsize}")
    assert found.dtype == expected.dtype and (bits | (np.isnan(found) & np.isnan(expected))).all()
"""

CONVERSIONS = (
    BEGIN
    + """
every = np.arange(1 << 16, dtype="u2").view(bf16)
high = np.arange(1 << 16, dtype="u4") << 16
drawn = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, dtype="u4")
wide = np.concatenate([drawn, *(high | low for low in (0, 0x7FFF, 0x8000, 0x8001))]).view("f4")
with np.errstate(invalid="ignore"):  # of signalling NaN
    narrow = wide.astype(bf16)
for target in ("generic", "x86-64-v3", "native"):
    text = inarch.compute("for i in N: C[i] = f32(A[i])", target=target)
    same(text(every), every.astype("f4"))
    text = inarch.compute("for i in N: C[i] = bf16(A[i])", target=target)
    same(text(wide), narrow)
    # In vectors of the writer, as the exponential is one of ours.
    text = inarch.compute("for i in N: C[i] = bf16(exp(f32(A[i]) * 0))", target=target)
    ones = np.where(np.isfinite(every.astype("f4")), 1, np.nan).astype(bf16)
    same(text(every[:-7]), ones[:-7])
    rows = inarch.compute("for i in N: C[i] = 0; for k in K: C[i] += f32(A[i, k])", target=target)
    whole = np.random.default_rng(1).integers(-8, 9, (5, 301)).astype(bf16)
    same(rows(whole), whole.astype("f4").sum(1))
    halves = inarch.compute("for i in N: C[i] = bf16(f64(A[i]) + B[i])", target=target)
    same(halves(every[:9], np.full(9, 0.1)), (every[:9].astype("f8") + 0.1).astype("f4").astype(bf16))
for schedule in (None, "narrow.schedule"):
    same(inarch.compile("narrow.mlir", schedule=schedule)(wide), narrow)
for wrong in ("C[i] = exp(A[i])", "C[i] = A[i] + A[i]", "C[i] = A[i]; C[i] += A[i]"):
    try:
        inarch.compute(f"for i in N: {wrong}")(every)
    except InarchError as error:
        print(error)
"""
)

MODEL = (
    BEGIN
    + """
from onnx import TensorProto, helper
rng = np.random.default_rng(0)

def weights(name, array, raw):
    tensor = TensorProto(name=name, data_type=16, dims=array.shape)
    if raw:
        tensor.raw_data = array.tobytes()
    else:
        tensor.int32_data.extend(array.view("u2").ravel().tolist())
    return tensor

w, b = rng.normal(size=(16, 24)).astype(bf16), rng.normal(size=24).astype(bf16)
nodes = [
    helper.make_node("MatMul", ["x", "w"], ["m"]),
    helper.make_node("Add", ["m", "b"], ["a"]),
    helper.make_node("Relu", ["a"], ["r"]),
    helper.make_node("Transpose", ["r"], ["t"], perm=[1, 0]),
    helper.make_node("Concat", ["t", "t"], ["c"], axis=0),
    helper.make_node("ReduceMax", ["a"], ["most"], keepdims=0),
    helper.make_node("Cast", ["r"], ["wide"], to=1),
]
outputs = [("c", 16, (48, 5)), ("most", 16, ()), ("wide", 1, (5, 24))]
graph = helper.make_graph(
    nodes,
    "g",
    [helper.make_tensor_value_info("x", 16, (5, 16))],
    [helper.make_tensor_value_info(*each) for each in outputs],
    [weights("w", w, True), weights("b", b, False)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
onnx.checker.check_model(model)
onnx.save(model, "model.onnx")
x = rng.normal(size=(5, 16)).astype(bf16)
c, most, wide = inarch.compile("model.onnx")(x)
m = (x.astype("f4") @ w.astype("f4")).astype(bf16)
a = (m.astype("f4") + b.astype("f4")).astype(bf16)
near = dict(rtol=2**-7, atol=1e-3)
r = np.maximum(a.astype("f4"), 0)
assert c.dtype == bf16 and most.dtype == bf16
np.testing.assert_allclose(wide, r, **near)
np.testing.assert_allclose(c.astype("f4"), np.concatenate([r.T, r.T]), **near)
np.testing.assert_allclose(float(most), a.astype("f4").max(), **near)
"""
)

KERNEL = """/* inarch
computes = "for i in N: C[i] = bf16(A[i])"
dtypes = {A = "f32", C = "bf16"}
*/
void to_half(const float *A, uint16_t *C, int64_t A_0, int64_t C_0, int64_t N) {
    for (int64_t i = 0; i < N; i++) {
        uint32_t bits;
        __builtin_memcpy(&bits, &A[i * A_0], 4);
        const uint32_t half = HALF;
        C[i * C_0] = A[i * A_0] != A[i * A_0] ? 0x7fc0 : (bits + half) >> 16;
    }
}
"""


NARROW = """func.func @main(%x: tensor<327680xf32>) -> tensor<327680xbf16> {
  %y = graph.cast %x to bf16 : tensor<327680xf32> -> tensor<327680xbf16> loc("y")
  func.return %y : tensor<327680xbf16>
}
"""
LANES = 'at "y": split i0 8; vectorize i0i'

SUM = """func.func @main(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %y = graph.add %x, %x : tensor<4xbf16>, tensor<4xbf16> -> tensor<4xbf16>
  func.return %y : tensor<4xbf16>
}
"""


def test_a_dtype_is_one_file(tmp_path: Path) -> None:
    (text,) = re.findall(
        r"<!-- file: bf16.py -->\n```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL
    )
    (tmp_path / "bf16.py").write_text(text)
    (tmp_path / "narrow.mlir").write_text(NARROW)
    (tmp_path / "narrow.schedule").write_text(LANES)
    (tmp_path / "sum.mlir").write_text(SUM)
    said = _said(tmp_path, ["-c", CONVERSIONS])
    assert said.splitlines() == [
        "compute:1:13: expected a float in exp(A[i]), found bf16; cast it: f32(...)",
        "compute:1:13: expected numbers in A[i] + A[i], found bf16; cast it: f32(...)",
        "compute:1:26: expected numbers to combine by '+=', found bf16",
    ]
    assert _said(tmp_path, ["-m", "inarch", "run", "sum.mlir", "--load", "bf16.py"]) == (
        "sum.mlir:2:3: error: 'graph.add' C0: expected a dtype to compute with, found bf16, which is only "
        "stored; cast it to f32\n"
    )
    assert not _said(tmp_path, ["-c", MODEL])
    verify = ["-m", "inarch", "verify", "model.onnx", "--load", "bf16.py"]
    assert "right: " in _said(tmp_path, verify)
    assert "model.onnx: error: unsupported: dtype bfloat16" in _said(tmp_path, verify[:4])


@pytest.mark.parametrize(("half", "passed"), [("0x7fff + (bits >> 16 & 1)", 1), ("0x8000", 0)])
def test_a_kernel_of_it_is_judged_by_numpy(tmp_path: Path, half: str, passed: int) -> None:
    (text,) = re.findall(
        r"<!-- file: bf16.py -->\n```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL
    )
    (tmp_path / "bf16.py").write_text(text)
    (tmp_path / "to_half.c").write_text(KERNEL.replace("HALF", half))
    given = ["--load", "bf16.py", "--load", "to_half.c"]
    verdict = _said(tmp_path, ["-m", "inarch", "verify-kernel", "to-half", *given])
    assert f"{passed} of 1 instances pass" in verdict


def _said(folder: Path, command: Sequence[str]) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )  # fmt: skip
    return done.stdout + done.stderr


ROW = """
from inarch.core.dtypes import DType
given = dict(numpy="float16", c="uint16_t", dlpack=2, bits=16, arithmetic="f32", widen=abs, narrow=abs)
DTYPE = {}
"""


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('DType("f16", **given | {"c": "uint32_t"})', "expected the C type of 16 bits without a sign, found "
         "'uint32_t'"),
        ('DType("f16", **given | {"c": "int16_t"})', "expected the C type of 16 bits without a sign, found "
         "'int16_t'"),
        ('DType("f16", **given | {"numpy": "float32"})', "expected 16 bits of NumPy's float32, found 32"),
        ('DType("f16", **given | {"numpy": "halb"})', "expected `numpy`, the name of a dtype that NumPy has "
         "(import ml_dtypes in the file for more), found 'halb'"),
        ('DType("f16", **given | {"dlpack": 4})', "expected DLPack's code 2, found 4"),
        ('DType("f16", **given | {"widen": None})', "expected `widen`, of which its C is made; found none"),
        ('DType("f16", **given | {"arithmetic": ""})', "expected `arithmetic`, the float in which its values "
         "are computed with (f32 or f64), found ''"),
        ('DType("half", **given)', "expected the name of its file, found 'half'"),
        ("abs", "expected DTYPE to be a DType, found builtin_function_or_method"),
    ],
)  # fmt: skip
def test_a_row_that_is_not_sound_is_refused(tmp_path: Path, row: str, message: str) -> None:
    (tmp_path / "f16.py").write_text(ROW.format(row))
    with pytest.raises(UsageError) as caught:
        load_file(tmp_path / "f16.py", kinds())
    assert caught.value.message == f"dtype 'f16': {message}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("f32", "Inarch has a dtype of that name; rename the file"),
        ("f12", "expected a float type of MLIR: f16, bf16, f8E3M4, f8E4M3, f8E4M3B11FNUZ, f8E4M3FN, "
         "f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, f8E8M0FNU"),
    ],
)  # fmt: skip
def test_the_name_is_one_of_mlir_s(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / f"{name}.py").write_text(ROW.format(f'DType("{name}", **given)'))
    with pytest.raises(UsageError) as caught:
        load_file(tmp_path / f"{name}.py", kinds())
    assert caught.value.message == f"dtype '{name}': {message}"
