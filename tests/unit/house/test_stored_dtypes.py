"""Dtypes that are only stored, ours and one from outside: in programs, ONNX, texts, kernels; NumPy judges."""

from __future__ import annotations

from pathlib import Path

import pytest

from outside import example, refused, said

BEGIN = """
import numpy as np, onnx
import inarch, ml_dtypes
from inarch.core.errors import InarchError
from inarch.driver.extensions import load_files


def same(found, expected):
    bits = found.view(f"u{found.itemsize}") == expected.view(f"u{found.itemsize}")
    assert found.dtype == expected.dtype and (bits | (np.isnan(found) & np.isnan(expected))).all()
"""

CONVERSIONS = (
    BEGIN
    + """
load_files(["f8E3M4.py"])

def check(name, dtype):
    kept = np.arange(1 << 8 * np.dtype(dtype).itemsize, dtype=f"u{np.dtype(dtype).itemsize}").view(dtype)
    high = np.arange(1 << 16, dtype="u4") << 16
    drawn = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, dtype="u4")
    ties = (high | low for low in (0, 0x0FFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001))
    wide = np.concatenate([drawn, *ties]).view("f4")
    with np.errstate(invalid="ignore", over="ignore"):  # of signalling NaN
        narrow, numbers = wide.astype(dtype), kept.astype("f4")
    for target in ("generic", "x86-64-v3", "native"):
        same(inarch.compute("for i in N: C[i] = f32(A[i])", target=target)(kept), numbers)
        same(inarch.compute(f"for i in N: C[i] = {name}(A[i])", target=target)(wide), narrow)
        # In vectors of the writer: the exponential is one of ours, sums of rows are of a template.
        ones = np.where(np.isfinite(numbers), 1, np.nan).astype(dtype)
        text = inarch.compute(f"for i in N: C[i] = {name}(exp(f32(A[i]) * 0))", target=target)
        same(text(kept[:-7]), ones[:-7])
        rows = inarch.compute("for i in N: C[i] = 0; for k in K: C[i] += f32(A[i, k])", target=target)
        whole = np.random.default_rng(1).integers(-4, 5, (5, 301)).astype(dtype)
        same(rows(whole), whole.astype("f4").sum(1))
        halves = inarch.compute(f"for i in N: C[i] = {name}(f64(A[i]) + B[i])", target=target)
        few = kept[:9].astype("f8") + 0.1
        same(halves(kept[:9], np.full(9, 0.1)), few.astype("f4").astype(dtype))
    with open("narrow.mlir", "w") as file:
        file.write(NARROW.replace("bf16", name).replace("SIZE", str(wide.size)))
    for schedule in (None, "narrow.schedule"):
        same(inarch.compile("narrow.mlir", schedule=schedule)(wide), narrow)
    for wrong in ("C[i] = exp(A[i])", "C[i] = A[i] + A[i]", "C[i] = A[i]; C[i] += A[i]"):
        try:
            inarch.compute(f"for i in N: {wrong}")(kept)
        except InarchError as error:
            print(error)
"""
)

MODEL = (
    BEGIN
    + """
from onnx import TensorProto, helper
rng = np.random.default_rng(0)
bf16 = ml_dtypes.bfloat16

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


NARROW = """func.func @main(%x: tensor<SIZExf32>) -> tensor<SIZExbf16> {
  %y = graph.cast %x to bf16 : tensor<SIZExf32> -> tensor<SIZExbf16> loc("y")
  func.return %y : tensor<SIZExbf16>
}
"""
LANES = 'at "y": split i0 8; vectorize i0i'

WIDE = """func.func @main(%x: tensor<4xf8E3M4>) -> tensor<4xf32> {
  %y = graph.cast %x to f32 : tensor<4xf8E3M4> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""

SUM = """func.func @main(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %y = graph.add %x, %x : tensor<4xbf16>, tensor<4xbf16> -> tensor<4xbf16>
  func.return %y : tensor<4xbf16>
}
"""


@pytest.mark.parametrize(
    ("name", "numpy"),
    [
        ("f16", "np.float16"),
        ("bf16", "ml_dtypes.bfloat16"),
        ("f8E4M3FN", "ml_dtypes.float8_e4m3fn"),
        ("f8E4M3FNUZ", "ml_dtypes.float8_e4m3fnuz"),
        ("f8E5M2", "ml_dtypes.float8_e5m2"),
        ("f8E5M2FNUZ", "ml_dtypes.float8_e5m2fnuz"),
        ("f8E3M4", "ml_dtypes.float8_e3m4"),
    ],
)
def test_each_number_is_converted_as_numpy_does(tmp_path: Path, name: str, numpy: str) -> None:
    (tmp_path / "f8E3M4.py").write_text(example("f8E3M4.py"))
    (tmp_path / "narrow.schedule").write_text(LANES)
    script = f"{CONVERSIONS}\nNARROW = {NARROW!r}\ncheck('{name}', {numpy})"
    assert said(tmp_path, ["-c", script]).splitlines() == [
        f"compute:1:13: expected a float in exp(A[i]), found {name}; cast it: f32(...)",
        f"compute:1:13: expected numbers in A[i] + A[i], found {name}; cast it: f32(...)",
        f"compute:1:26: expected numbers to combine by '+=', found {name}",
    ]


def test_models_compute_with_it(tmp_path: Path) -> None:
    (tmp_path / "sum.mlir").write_text(SUM)
    assert said(tmp_path, ["-m", "inarch", "run", "sum.mlir"]) == (
        "sum.mlir:2:3: error: 'graph.add' C0: expected a dtype to compute with, found bf16, which is only "
        "stored; cast it to f32\n"
    )
    assert not said(tmp_path, ["-c", MODEL])
    assert "right: " in said(tmp_path, ["-m", "inarch", "verify", "model.onnx"])


FILES = """
import ml_dtypes, numpy as np
np.savez("x.npz", x=np.arange(24).reshape(4, 6).astype(ml_dtypes.bfloat16))
"""

MOVED = """
func.func @main(%x: tensor<4x6xbf16> {inarch.name = "x"}) -> (tensor<6x4xbf16> {inarch.name = "y"}) {
  %y = graph.transpose %x perm = [1, 0] : tensor<4x6xbf16> -> tensor<6x4xbf16>
  func.return %y : tensor<6x4xbf16>
}
"""

MIXED = """
import onnx
head = '<ir_version: 8, opset_import: ["": 18]> g (float[2] a, float16[2] b) => (float[2] y)'
onnx.save(onnx.parser.parse_model(head + "{ y = Add(a, b) }"), "mixed.onnx")
"""


SATURATED = (
    BEGIN
    + """
from onnx import helper
from onnx.reference import ReferenceEvaluator

high = np.arange(1 << 16, dtype="u4") << 16
ties = [high | low for low in (0, 0x7FFF, 0x8000, 0x8001)]
x = np.concatenate([*ties, np.random.default_rng(0).integers(0, 1 << 32, 1 << 14, dtype="u4")]).view("f4")
scales = np.ldexp(np.float32(1), np.arange(x.size) % 7).astype("f4")
for kind in (17, 18, 19, 20):
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    for saturate in (0, 1):
        nodes = [
            helper.make_node("Cast", ["x"], ["y"], to=kind, saturate=saturate),
            helper.make_node("CastLike", ["x", "y"], ["like"], saturate=saturate),
            helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], saturate=saturate),
            helper.make_node("QuantizeLinear", ["x", "each"], ["rows"], saturate=saturate, axis=0,
                             output_dtype=kind),
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
            helper.make_node("Cast", ["y"], ["wide"], to=1),
        ]
        ports = [
            helper.make_tensor_value_info(name, each, [x.size])
            for name, each in zip(("y", "like", "q", "rows", "d", "wide"), [kind] * 4 + [1] * 2)
        ]
        zero = helper.make_tensor("z", kind, [], b"\\0", raw=True)
        graph = helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("x", 1, [x.size])], ports,
            [helper.make_tensor("s", 1, [], [2.0]), zero, onnx.numpy_helper.from_array(scales, "each")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
        onnx.save(model, "cast.onnx")
        y, like, q, rows, d, wide = inarch.compile("cast.onnx")(x)
        with np.errstate(all="ignore"):
            most = float(ml_dtypes.finfo(dtype).max)
            narrow = lambda a: (np.clip(a, -most, most) if saturate else a).astype(dtype)
            same(y, narrow(x))
            same(like, narrow(x))
            same(q, narrow(x / 2))
            same(rows, narrow(x / scales))
            same(wide, y.astype("f4"))
            same(d, q.astype("f4") * 2)
            theirs = ReferenceEvaluator(model).run(["y"], {"x": x})[0]
        same(y, theirs)
"""
)


def test_files_and_calls_have_it(tmp_path: Path) -> None:
    (tmp_path / "moved.mlir").write_text(MOVED)
    assert not said(tmp_path, ["-c", FILES])
    run = ["-m", "inarch", "run", "moved.mlir", "--input", "x.npz"]
    said(tmp_path, [*run, "-o", "y.npz"])
    assert "check y: agrees" in said(tmp_path, [*run, "--check", "y.npz"])
    script = "import inarch, numpy as np; inarch.compile('moved.mlir')(np.zeros((4, 6), 'f4'))"
    assert said(tmp_path, ["-c", script]).splitlines()[-1] == (
        "inarch.core.errors.ArgumentError: main: argument 'x': expected bf16[4, 6], found f32[4, 6]; convert "
        "it with x.astype(ml_dtypes.bfloat16)"
    )


def test_casts_of_onnx_saturate_and_do_not(tmp_path: Path) -> None:
    assert not said(tmp_path, ["-c", SATURATED])


def test_a_model_that_mixes_it_with_others_is_refused(tmp_path: Path) -> None:
    assert not said(tmp_path, ["-c", MIXED])
    found = said(tmp_path, ["-m", "inarch", "run", "mixed.onnx"])
    assert found == "mixed.onnx: node 'y' (Add): error: expected one dtype, found f32 and f16\n"


@pytest.mark.parametrize(("half", "passed"), [("0x7fff + (bits >> 16 & 1)", 1), ("0x8000", 0)])
def test_a_kernel_of_it_is_judged_by_numpy(tmp_path: Path, half: str, passed: int) -> None:
    (tmp_path / "to_half.c").write_text(KERNEL.replace("HALF", half))
    given = ["--load", "to_half.c"]
    verdict = said(tmp_path, ["-m", "inarch", "verify-kernel", "to-half", *given])
    assert f"{passed} of 1 instances pass" in verdict


def test_the_code_of_a_row_is_blamed_with_its_file(tmp_path: Path) -> None:
    text = example("f8E3M4.py").replace(
        "widen, narrow", "WIDEN, narrow").replace(
        "DTYPE =", "def widen(bits):\n    return bits if bits > 3 else bits\n\n\nDTYPE =")  # fmt: skip
    (tmp_path / "f8E3M4.py").write_text(text)
    (tmp_path / "wide.mlir").write_text(WIDE)
    run = ["-m", "inarch", "run", "wide.mlir"]
    assert said(tmp_path, run) == (
        "wide.mlir:2:3: error: 'graph.cast' C0: expected a supported dtype, found tensor<4xf8E3M4>; give its "
        "row by --load f8E3M4.py (docs/extending.md)\n"
    )
    assert said(tmp_path, [*run, "--load", "f8E3M4.py"]).splitlines()[-1] == (
        "error: dtype 'f8E3M4' [f8E3M4.py] `widen` raises InarchError: expected no Python condition on an "
        "element, whose value is known at run time only; write (x > 0).select(a, b) instead of if, &, | and "
        "~ instead of and, or and not, and a.maximum(b) instead of max(a, b) (f8E3M4.py:9)"
    )


ROW = """
from inarch.core.dtypes import DType
given = dict(numpy="float8_e3m4", package="ml_dtypes", c="uint8_t", dlpack=7, bits=8, arithmetic="f32",
             widen=abs, narrow=abs)
DTYPE = {}
"""


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('DType("f8E3M4", **given | {"c": "uint32_t"})', "expected the C type of 8 bits without a sign, "
         "found 'uint32_t'"),
        ('DType("f8E3M4", **given | {"c": "int8_t"})', "expected the C type of 8 bits without a sign, found "
         "'int8_t'"),
        ('DType("f8E3M4", **given | {"numpy": "int8"})', "expected `numpy` = 'float8_e3m4', found 'int8'"),
        ('DType("f8E3M4", **given | {"bits": 16, "c": "uint16_t"})', "expected 8 bits, found 16"),
        ('DType("f8E3M4", **given | {"dlpack": 4})', "expected DLPack's code 7, found 4"),
        ('DType("f8E3M4", **given | {"widen": None})', "expected `widen`, of which its C is made; found "
         "none"),
        ('DType("f8E3M4", **given | {"arithmetic": ""})', "expected `arithmetic`, the float in which its "
         "values are computed with (f32 or f64), found ''"),
        ('DType("half", **given)', "expected the name of its file, found 'half'"),
        ("abs", "expected DTYPE to be a DType, found builtin_function_or_method"),
    ],
)  # fmt: skip
def test_a_row_that_is_not_sound_is_refused(tmp_path: Path, row: str, message: str) -> None:
    assert refused(tmp_path / "f8E3M4.py", ROW.format(row)) == f"dtype 'f8E3M4': {message}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("f32", "Inarch has a dtype of that name; rename the file"),
        ("f12", "expected a float type of MLIR: f16, bf16, f8E3M4, f8E4M3, f8E4M3B11FNUZ, f8E4M3FN, "
         "f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, f8E8M0FNU"),
    ],
)  # fmt: skip
def test_the_name_is_one_of_mlir_s(tmp_path: Path, name: str, message: str) -> None:
    row = ROW.format(f'DType("{name}", **given)')
    assert refused(tmp_path / f"{name}.py", row) == f"dtype '{name}': {message}"
