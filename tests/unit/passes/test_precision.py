"""`--precision`: factors that are rounded, the manifest, and kernels to which denormals are 0."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import inarch
from inarch.core.errors import InarchError, UsageError
from inarch.machine.target import native
from inarch.microkernel import members
from inarch.microkernel.table import MICROKERNELS
from inarch.tools import cli
from inarch.verification import verify_family

NAME = "conv-bf16-avx512"
PRODUCT = """
func.func @main(%x: tensor<40x{k}xf32>, %w: tensor<{k}x70xf32>) -> tensor<40x70xf32> {{
  %0 = graph.matmul %x, %w : tensor<40x{k}xf32>, tensor<{k}x70xf32> -> tensor<40x70xf32>
  func.return %0 : tensor<40x70xf32>
}}
"""
CONV = """
func.func @main(%x: tensor<1x32x11x9xf32>, %w: tensor<48x32x3x3xf32>) -> tensor<1x48x6x5xf32> {
  %0 = graph.conv %x, %w strides = [2, 2] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1
    : tensor<1x32x11x9xf32>, tensor<48x32x3x3xf32> -> tensor<1x48x6x5xf32>
  func.return %0 : tensor<1x48x6x5xf32>
}
"""


def _needs_bf16() -> None:
    if missing := set(MICROKERNELS[NAME].needs) - native().features:
        pytest.skip(f"this CPU lacks {', '.join(missing)}")


def _rounded(x: np.ndarray) -> np.ndarray:
    return x.astype(ml_dtypes.bfloat16).astype(np.float64)


def test_the_kernel_does_what_it_says() -> None:
    _needs_bf16()
    kernel = MICROKERNELS[NAME]
    found = members(kernel, native())
    for verdict in verify_family(kernel, NAME, native(), params=found[len(found) // 3], quick=True):
        assert verdict.ok, verdict


@pytest.mark.parametrize("terms", [2, 64, 330])
def test_products_are_of_rounded_factors(terms: int, tmp_path: Path) -> None:
    """Of drawn numbers the sum of products of bf16, within the bound of a sum in f32."""
    path = tmp_path / "product.mlir"
    path.write_text(PRODUCT.format(k=terms))
    module = inarch.compile(path, precision="bf16")
    random = np.random.default_rng(terms)
    x, w = (random.standard_normal(shape, np.float32) for shape in ((40, terms), (terms, 70)))
    pairs = not set(MICROKERNELS[NAME].needs) - native().features
    a, b = (_rounded(each) if pairs else each.astype(np.float64) for each in (x, w))
    error = np.abs(np.asarray(module(x, w)) - a @ b)
    assert np.all(error <= (terms + 2) * 2.0**-24 * (np.abs(a) @ np.abs(b)) + 2.0**-120)


def test_convolutions_are_of_rounded_factors(tmp_path: Path) -> None:
    _needs_bf16()
    path = tmp_path / "conv.mlir"
    path.write_text(CONV)
    module = inarch.compile(path, precision="bf16")
    random = np.random.default_rng(0)
    x = random.standard_normal((1, 32, 11, 9), np.float32)
    w = random.standard_normal((48, 32, 3, 3), np.float32)
    image = np.pad(_rounded(x), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (2, 3))[:, :, ::2, ::2]
    wanted, size = (
        np.einsum("ncyxab,ocab->noyx", f(windows), f(_rounded(w))) for f in (np.positive, np.abs)
    )
    assert np.all(np.abs(np.asarray(module(x, w)) - wanted) <= 300 * 2.0**-24 * size)


def test_who_asks_for_nothing_gets_f32(tmp_path: Path) -> None:
    """Nor may such a kernel be demanded: denormals are 0 to it."""
    path = tmp_path / "product.mlir"
    path.write_text(PRODUCT.format(k=8))
    tiny = np.full((40, 8), 2.0**-140, np.float32)
    found = np.asarray(inarch.compile(path)(tiny, np.full((8, 70), 1, np.float32)))
    np.testing.assert_array_equal(found, np.full((40, 70), 2.0**-137, np.float32))
    with pytest.raises(InarchError) as caught:
        inarch.compile(path, microkernels=[NAME], target="x86-64-v4+avx512bf16")
    assert str(caught.value) == (
        f"microkernel '{NAME}': denormals are 0 to it, which --precision bf16 or f16 allows"
    )


def test_the_artifact_says_it_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "product.mlir"
    path.write_text(PRODUCT.format(k=8))
    module = inarch.compile(path, precision="f16", target="x86-64-v3")
    module.save(tmp_path / "product.inarch")
    assert (
        "numerics   bounded, factors of f16"
        in cli.run(["inspect", f"{tmp_path}/product.inarch"]).out.splitlines()
    )
    with pytest.raises(UsageError) as caught:
        inarch.compile(path, precision="bf61")
    assert str(caught.value) == "no precision 'bf61'; did you mean 'bf16'? Known: bf16, f16, f32"


def test_it_is_verified_with_its_rounding(tmp_path: Path) -> None:
    """By `verify`, and by `--check` of a model and of an artifact; a model of f32 is farther away."""
    path, artifact = tmp_path / "product.mlir", tmp_path / "product.inarch"
    path.write_text(PRODUCT.format(k=512))
    done = cli.run(["verify", str(path), "--precision", "bf16"])
    assert (done.code, done.out.startswith("right: ")) == (0, True), done
    done = cli.run(["verify", str(path), "--precision", "bf16", "--against", "onnxruntime"])
    said = "error: --against: onnxruntime does not round factors; leave out --precision\n"
    assert (done.code, done.err) == (2, said)
    for given in (
        ["compile", str(path), "--precision", "bf16", "-o", str(artifact)],
        ["run", str(path), "--precision", "bf16", "--check", str(path)],
        ["run", str(artifact), "--check", str(path)],
    ):
        assert cli.run(given).code == 0, given


@pytest.mark.parametrize(("size", "is_kept"), [(1.0, True), (1e-7, False), (1e7, False)])
def test_weights_out_of_range_stay(size: float, is_kept: bool, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((640, 512), np.float32) * np.float32(size)
    path = tmp_path / "weights.onnx"
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 640])]
    result = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 512])]
    graph = helper.make_graph([node], "g", given, result, [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)
    done = cli.run(
        f"compile {path} --precision f16 --target x86-64-v3 -o {path}.inarch "
        "--remarks=lower-precision".split()
    )
    said = (
        "its weights are rounded to f16"
        if is_kept
        else "f16 does not have the range of its weights"
    )
    assert said in done.err, done


def _model(path: Path, name: str) -> None:
    """Weights that are transposed, scaled by a normalization, of f16, or activations of attention."""
    random, wide, half = np.random.default_rng(0), TensorProto.FLOAT, TensorProto.FLOAT16

    def drawn(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)

    make = helper.make_node
    nodes, kind, shapes, result, held = {
        "gemm": (
            [make("Gemm", ["x", "w"], ["y"], transB=1)],
            wide, {"x": [8, 700]}, [8, 600], {"w": drawn(600, 700)},
        ),
        "normalization": (
            [
                make("Conv", ["x", "w"], ["c"], pads=[1] * 4),
                make("BatchNormalization", ["c", "s", "b", "b", "s"], ["y"]),
            ],
            wide, {"x": [1, 64, 6, 6]}, [1, 512, 6, 6],
            {"w": drawn(512, 64, 3, 3), "s": np.abs(drawn(512)) + 1, "b": drawn(512)},
        ),
        "attention": (
            [make("Attention", ["q", "k", "v"], ["y"], q_num_heads=4, kv_num_heads=4)],
            wide, {each: [1, 32, 256] for each in "qkv"}, [1, 32, 256], {},
        ),
        "halves": (
            [make("Gemm", ["x", "w"], ["t"], transB=1), make("MatMul", ["t", "v"], ["y"])],
            half, {"x": [8, 700]}, [8, 40],
            {"w": drawn(800, 700).astype(np.float16), "v": drawn(800, 40).astype(np.float16)},
        ),
    }[name]  # fmt: skip
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(each, kind, shape) for each, shape in shapes.items()],
        [helper.make_tensor_value_info("y", kind, result)],
        [numpy_helper.from_array(array, each) for each, array in held.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)]), path)


@pytest.mark.parametrize("target", ["native", "x86-64-v3"])
@pytest.mark.parametrize("name", ["gemm", "normalization", "attention", "halves"])
def test_models_are_verified_with_their_rounding(name: str, target: str, tmp_path: Path) -> None:
    path, artifact = tmp_path / "model.onnx", tmp_path / "model.inarch"
    _model(path, name)
    given = ["--precision", "bf16", "--target", target]
    done = cli.run(["verify", str(path), *given])
    assert (done.code, done.out.startswith("right: ")) == (0, True), done
    assert cli.run(["compile", str(path), *given, "-o", str(artifact)]).code == 0
    done = cli.run(["run", str(artifact), "--check", str(path)])
    assert (done.code, "check y: agrees" in done.out) == (0, True), done
