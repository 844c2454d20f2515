"""Kernels of others take part before layouts are fixed: whole products, and windows as written (K1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from effort import SOAK, effort
from inarch.benchmark.layers import LAYER_SETS, Conv
from inarch.benchmark.subject.arrays import arrays_of
from inarch.benchmark.subject.program import program_of
from inarch.core.errors import InarchError
from inarch.core.plugins import load_file
from inarch.dialects import new_context
from inarch.dialects.kernel.call import CallOp
from inarch.driver.compiler import build, import_model
from inarch.driver.options import Options
from inarch.ir.report.facts import facts_of
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.padding.unfold_windows import MOST_BLOCKS
from inarch.passes.tensorize.report import KernelReport
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import run_pipeline
from inarch.runtime.module import load

PRODUCT = """/* inarch
computes = "for m in M, n in N, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
layout = {A = [">= K", 1], B = [">= N", 1], C = [">= N", 1]}
COST*/
void product(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0, int64_t B_1,
             int64_t C_0, int64_t C_1, int64_t M, int64_t N, int64_t K)
{
    for (int64_t m = 0; m < M; m++)
        for (int64_t k = 0; k < K; k++)
            for (int64_t n = 0; n < N; n++) C[m * C_0 + n] += A[m * A_0 + k] * B[k * B_0 + n];
    (void)A_1, (void)B_1, (void)C_1;
}
"""
WINDOWS = {
    "channels first": (
        "for l in L, q in Q, i in I, r in 3, s in 3: Y[l, q] += X[i, r, q + s] * W[l, i, r, s]",
        (3, 4, 2),
    ),
    "channels last": (
        "for q in Q, l in L, r in 3, s in 3, i in I: Y[q, l] += X[r, q + s, i] * W[r, s, i, l]",
        (3, 4, 2),
    ),
    "images": (
        "for l in L, h in H, q in Q, i in I, r in 3, s in 3: "
        "Y[l, h, q] += X[i, h + r, q + s] * W[l, i, r, s]",
        (3, 4, 3),
    ),
}
"""What a kernel of 3x3 windows computes, and how many dimensions X, W and Y have."""
BYTES = """/* inarch
computes = "for m in MR, n in 8, k in K: C[m, n] += i32(A[m, k]) * i32(B[k, n])"
dtypes = {A = "i8", B = "i8", C = "i32"}
params = {MR = [2, 4]}
layout = {A = ["*", 1], B = ["*", 1], C = ["*", 1]}
*/
void bytes(const int8_t *A, const int8_t *B, int32_t *C, int64_t A_0, int64_t A_1, int64_t B_0, int64_t B_1,
           int64_t C_0, int64_t C_1, int64_t K)
{
    for (int m = 0; m < MR; m++)
        for (int64_t k = 0; k < K; k++)
            for (int n = 0; n < 8; n++) C[m * C_0 + n] += A[m * A_0 + k] * B[k * B_0 + n];
    (void)A_1, (void)B_1, (void)C_1;
}
"""
LAYERS = [one for one in LAYER_SETS["resnet50"].layers if isinstance(one, Conv)]
COLUMNS = 64


@pytest.fixture(autouse=True)
def scope() -> Iterator[None]:
    """Kernels are forgotten."""
    with MICROKERNELS.scope():
        yield


def _load(path: Path, text: str) -> None:
    path.write_text(text)
    load_file(path, {"microkernel": MICROKERNELS})


def _lowered(layer: Conv, *demanded: str) -> tuple[ModuleOp, KernelReport]:
    context = new_context()
    options = Options(target="x86-64-v3", microkernels=demanded)
    arrays = arrays_of(layer)
    module = import_model(program_of(layer, arrays, context), context, options)
    # Nothing is built or called: the choice is by what kernels say of themselves.
    run_pipeline(context, module, default_pipeline().without("try-kernels").until("tensorize"), [])
    report = facts_of(context).get(KernelReport)
    assert report is not None
    return module, report


def _name(layer: Conv) -> str:
    return layer.name


@pytest.mark.parametrize("layer", LAYERS if SOAK else LAYERS[::4], ids=_name)
def test_a_product_gets_whole_layers(layer: Conv, tmp_path: Path) -> None:
    """K1: all channels by 64 or more pixels, where the layer has them."""
    _load(tmp_path / "product.c", PRODUCT.replace("COST", ""))
    module, report = _lowered(layer, "product")
    calls = [op for op in module.walk() if isinstance(op, CallOp)]
    assert calls
    *_, height, width = layer.output_shape
    for call in calls:
        rows, columns, terms = call.size_values
        assert terms == layer.channels * layer.window**2
        assert layer.outputs in (rows, columns)
        assert columns >= min(COLUMNS, height * width)
    assert len(calls) <= MOST_BLOCKS
    assert len(report.taken_by("product")) == len(calls)


@pytest.mark.parametrize("layer", [one for one in LAYERS if one.height in (56, 14)][::3], ids=_name)
def test_a_kernel_that_is_dearer_changes_nothing(layer: Conv, tmp_path: Path) -> None:
    """Nor are matrices made of images for kernels of ours."""
    _, plain = _lowered(layer)
    _load(
        tmp_path / "dear.c", PRODUCT.replace("COST", "cost = 1e12\n").replace("product(", "dear(")
    )
    _, dear = _lowered(layer)
    assert [nest.taken for nest in dear.nests] == [nest.taken for nest in plain.nests]


def test_a_product_that_is_cheaper_gets_them_undemanded(tmp_path: Path) -> None:
    layer = next(one for one in LAYERS if (one.window, one.stride, one.height) == (3, 1, 14))
    _load(
        tmp_path / "cheap.c",
        PRODUCT.replace("COST", "cost = 10000\n").replace("product(", "cheap("),
    )
    module, report = _lowered(layer)
    (nest,) = report.taken_by("cheap")
    assert nest.taken is not None
    (call,) = [op for op in module.walk() if isinstance(op, CallOp)]
    assert call.size_values == (layer.outputs, 196, layer.channels * 9)


@pytest.mark.sampled(effort(3, 6), reason="each form once, on some layers")
@pytest.mark.parametrize("form", WINDOWS)
@pytest.mark.parametrize("in_order", [False, True], ids=["any strides", "in order"])
def test_a_kernel_of_windows_finds_them(form: str, in_order: bool, tmp_path: Path) -> None:
    """Of 3x3, written as people write it: ten sixteenths of the layers and more."""
    computes, ranks = WINDOWS[form]
    orders = (
        f"{name} = {['*'] * (rank - 1) + [1]}" for name, rank in zip("XWY", ranks, strict=True)
    )
    said = f"layout = {{{', '.join(orders)}}}" if in_order else ""
    dtypes = 'dtypes = {X = "f32", W = "f32", Y = "f32"}'
    text = f'/* inarch\ncomputes = "{computes}"\n{dtypes}\n{said}\n*/\nvoid windows();\n'
    _load(tmp_path / "windows.c", text)
    found = 0
    layers = [one for one in LAYERS if one.window == 3][:: effort(3, 1)]
    for layer in layers:
        try:
            _, report = _lowered(layer, "windows")
        except InarchError:
            continue
        found += layer.count * bool(report.taken_by("windows"))
    assert found >= 10 / 16 * sum(layer.count for layer in layers)


@pytest.mark.parametrize("op", ["MatMulInteger", "QLinearMatMul"])
def test_a_kernel_of_bytes_finds_constant_weights(op: str, tmp_path: Path) -> None:
    """They stay bytes for it; what is laid out anew for its rows is no larger than they are."""
    _load(tmp_path / "bytes.c", BYTES)
    random = np.random.default_rng(0)
    weights = random.integers(-128, 128, (256, 64)).astype(np.int8)
    numbers = {"w": weights, "s": np.float32(0.01), "z": np.int8(0)}
    names = ["x", "w"] if op == "MatMulInteger" else ["x", "s", "z", "w", "s", "z", "s", "z"]
    kind = TensorProto.INT32 if op == "MatMulInteger" else TensorProto.INT8
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.INT8, [12, 256])],
        [helper.make_tensor_value_info("y", kind, [12, 64])],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in numbers.items() if n in names],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    built = build(model.SerializeToString(), tmp_path / "m.inarch", microkernels=["bytes"])
    assert built.weights_bytes <= 2 * weights.nbytes
    x = random.integers(-128, 128, (12, 256)).astype(np.int8)
    wanted = x.astype(np.int32) @ weights.astype(np.int32)
    if op == "QLinearMatMul":
        wanted = np.clip(np.rint(wanted * np.float32(0.01)), -128, 127).astype(np.int8)
    np.testing.assert_array_equal(load(tmp_path / "m.inarch")(x), wanted)
