"""`inarch.compile` and `build`: what they take, odd models, dtypes, and several processes at once."""

# Onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import inarch
from inarch.core.errors import InarchError, UsageError
from inarch.dialects import new_context
from inarch.driver.compiler import LEVELS, build, import_model, lower
from inarch.ir.text import parse_module
from inarch.pipeline.default import default_pipeline
from inarch.runtime.module import Module, load

Array = np.ndarray[Any, Any]

FLOAT = "float32"

RELU = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = graph.relu %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


def scaling(factor: float) -> onnx.ModelProto:
    """y = factor * x, on 2x3."""
    return graph(
        [helper.make_node("Mul", ["x", "c"], ["y"])],
        {"x": (FLOAT, (2, 3))},
        {"y": FLOAT},
        {"c": np.float32(factor)},
    )


def graph(
    nodes: list[onnx.NodeProto],
    inputs: Mapping[str, tuple[str, tuple[int | str, ...]]],
    outputs: dict[str, str],
    weights: dict[str, Any] | None = None,
) -> onnx.ModelProto:
    """A model; dtypes are NumPy's names."""

    def kind(name: str) -> int:
        return helper.np_dtype_to_tensor_dtype(np.dtype(name))

    made = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info(n, kind(t), s) for n, (t, s) in inputs.items()],
        [helper.make_tensor_value_info(n, kind(t), None) for n, t in outputs.items()],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in (weights or {}).items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def check(model: onnx.ModelProto, inputs: dict[str, Array], tolerance: float = 1e-6) -> None:
    """Inarch gives what onnxruntime gives: names, order, dtypes, shapes and values."""
    session: Any = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    # ONNX says 0 for a size that is not known as well as for an empty axis.
    shapes = {name: array.shape for name, array in inputs.items() if array.size == 0}
    found = inarch.compile(model, shapes=shapes).run(inputs)
    names = [output.name for output in session.get_outputs()]
    assert list(found) == names
    for name, expected in zip(names, session.run(names, inputs), strict=True):
        assert (found[name].shape, found[name].dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found[name], expected, tolerance, tolerance)


# What is taken


def test_every_kind_of_source(tmp_path: Path) -> None:
    model = scaling(2)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    text = tmp_path / "m.mlir"
    text.write_text(RELU)
    for source in (path, str(path), model.SerializeToString(), model):
        np.testing.assert_array_equal(inarch.compile(source)(X), 2 * X)
    np.testing.assert_array_equal(inarch.compile(text)(X), np.maximum(X, 0))
    context = new_context()
    module = parse_module(context, RELU, "text")
    np.testing.assert_array_equal(inarch.compile(module, context=context)(X), np.maximum(X, 0))
    with pytest.raises(UsageError) as caught:
        inarch.compile(3)
    assert str(caught.value) == (
        "expected a model: a path, bytes, or an onnx.ModelProto; found int"
    )


def test_calls_by_position_and_by_name(tmp_path: Path) -> None:
    model = graph(
        [node("Sub", "a b", "low"), node("Add", "a b", "high")],
        {"a": (FLOAT, (2, 3)), "b": (FLOAT, (2, 3))},
        {"low": FLOAT, "high": FLOAT},
    )
    module = inarch.compile(model)
    assert isinstance(module, inarch.Module)
    expected = (X - 2 * X, X + 2 * X)
    for result in (module(X, 2 * X), module(b=2 * X, a=X), module["main"](X, b=2 * X)):
        assert type(result) is tuple
        np.testing.assert_array_equal(np.stack(cast("tuple[Any, ...]", result)), expected)
    by_name = module.run({"b": 2 * X, "a": X})
    assert list(by_name) == ["low", "high"]
    module.save(tmp_path / "m.inarch")
    np.testing.assert_array_equal(inarch.load(tmp_path / "m.inarch")(X, 2 * X), expected)


def test_shapes_and_dims() -> None:
    model = graph([node("Relu", "x", "y")], {"x": (FLOAT, ("n", "m"))}, {"y": FLOAT})
    assert inarch.compile(model, dims={"n": 2, "m": 3}).signature.inputs[0].shape == (2, 3)
    assert inarch.compile(model, shapes={"x": (4, 1)}).signature.inputs[0].shape == (4, 1)
    assert inarch.compile(model, shapes={"x": (0, 1)}).signature.outputs[0].shape == (0, 1)


def test_what_was_built(tmp_path: Path) -> None:
    path = tmp_path / "m.inarch"
    steps: list[tuple[str, int, int]] = []
    built = build(
        scaling(3),
        path,
        target="generic",
        name="triple",
        progress=lambda what, done, total: steps.append((what, done, total)),
    )
    assert (built.path, built.name, built.target, built.kernels) == (path, "triple", "generic", 1)
    assert steps[0] == ("inline-calls", 0, len(default_pipeline()))
    assert steps[-1] == ("write m.inarch", 0, 1)
    assert all(0 <= done <= total for _, done, total in steps)
    assert load(path, verify=True).name == "triple"
    assert [file.name for file in tmp_path.iterdir()] == ["m.inarch"]


def test_the_manifest_names_its_writer(tmp_path: Path) -> None:
    from inarch.artifact import Artifact

    build(scaling(3), tmp_path / "m.inarch")
    data = Artifact.open(tmp_path / "m.inarch").manifest.data
    assert data["inarch"] == inarch.__version__


def test_equal_models_are_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        build(scaling(3), tmp_path / name, target="generic")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_levels() -> None:
    for level in LEVELS:
        context = new_context()
        module = import_model(scaling(2), context, target="generic")
        lower(context, module, level)
    with pytest.raises(UsageError) as caught:
        lower(context, module, "kernal")  # pyright: ignore[reportPossiblyUnboundVariable]
    assert str(caught.value) == (
        "no level 'kernal'; did you mean 'kernel'? Known: graph, kernel, loop"
    )


@pytest.mark.parametrize("name", ["1a", "a-b", "é", ""])
def test_a_name_that_c_cannot_spell(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        inarch.compile(scaling(2), name=name)
    assert str(caught.value) == f"expected a name that is a C identifier, found '{name}'"


def test_a_name_of_nothing_but_underscores() -> None:
    """Some of its symbols would be the compiler's own: `__main`."""
    with pytest.raises(UsageError) as caught:
        inarch.compile(scaling(2), name="_")
    assert str(caught.value) == "expected a name with a letter or a digit, found '_'"


# Odd models

ODD: dict[str, onnx.ModelProto] = {
    "an output that is an input": graph([], {"x": (FLOAT, (3,))}, {"x": FLOAT}),
    "an identity": graph([node("Identity", "x", "y")], {"x": (FLOAT, (3,))}, {"y": FLOAT}),
    "one input as two outputs": graph(
        [node("Identity", "x", "y"), node("Identity", "x", "z")],
        {"x": (FLOAT, (3,))},
        {"y": FLOAT, "z": FLOAT},
    ),
    "one value as two outputs": graph(
        [node("Relu", "x", "y"), node("Identity", "y", "z")],
        {"x": (FLOAT, (3,))},
        {"y": FLOAT, "z": FLOAT},
    ),
    "an output that is used": graph(
        [node("Relu", "x", "y"), node("Neg", "y", "z")],
        {"x": (FLOAT, (3,))},
        {"y": FLOAT, "z": FLOAT},
    ),
    "outputs that are constants": graph(
        [node("Relu", "x", "y")],
        {"x": (FLOAT, (3,))},
        {"small": FLOAT, "y": FLOAT, "large": FLOAT},
        {"small": np.ones(2, FLOAT), "large": np.arange(99, dtype=FLOAT)},
    ),
    "no inputs": graph(
        [node("Add", "c c", "y")], {}, {"y": FLOAT}, {"c": np.arange(40, dtype=FLOAT)}
    ),
    "a dead input": graph(
        [node("Relu", "x", "y")], {"dead": (FLOAT, (7,)), "x": (FLOAT, (3,))}, {"y": FLOAT}
    ),
    "only moves": graph(
        [node("Transpose", "x", "t", perm=[1, 0]), node("Flatten", "t", "y", axis=0)],
        {"x": (FLOAT, (2, 3))},
        {"y": FLOAT},
    ),
    "names that C, MLIR and Python cannot spell": graph(
        [helper.make_node("Relu", ["a/b:0.é"], ["日/本:."], name='n/é */ \\ "q" */')],
        {"a/b:0.é": (FLOAT, (3,))},
        {"日/本:.": FLOAT},
    ),
    "names with quotes, escapes and formats": graph(
        [helper.make_node("Relu", ['a"b\\\n'], ['%c "d"??/'], name="%s\n#error")],
        {'a"b\\\n': (FLOAT, (3,))},
        {'%c "d"??/': FLOAT},
    ),
    "names that C has": graph(
        [node("Neg", "int", "main"), node("Neg", "main", "return")],
        {"int": (FLOAT, (3,))},
        {"main": FLOAT, "return": FLOAT},
    ),
}


@pytest.mark.sampled(4, reason="whole models, each compiled alone")
@pytest.mark.parametrize("name", ODD)
def test_odd_model(name: str) -> None:
    model = ODD[name]
    rng = np.random.default_rng(0)
    inputs = {
        info.name: rng.standard_normal(
            [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        ).astype(FLOAT)
        for info in model.graph.input
    }
    check(model, inputs)


def test_the_outputs_do_not_share_memory() -> None:
    module = inarch.compile(ODD["one input as two outputs"])
    x = np.ones(3, np.float32)
    y, z = module(x)
    assert not np.may_share_memory(y, x)
    assert not np.may_share_memory(y, z)


# Dtypes and shapes


@pytest.mark.sampled(2, reason="whole models, each compiled alone")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_arithmetic(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-9, 9, (5, 7)).astype(dtype) for _ in range(2))
    w = rng.integers(-9, 9, (7, 17)).astype(dtype)
    model = graph(
        [
            node("Add", "x y", "a"),
            node("Mul", "a x", "b"),
            node("MatMul", "b w", "product"),
            node("ReduceSum", "b", "sum", keepdims=0),
            node("ReduceMax", "a", "max", axes=[1]),
            node("Sub", "y x", "difference"),
        ],
        {"x": (dtype, (5, 7)), "y": (dtype, (5, 7)), "w": (dtype, (7, 17))},
        dict.fromkeys(("product", "sum", "max", "difference"), dtype),
    )
    check(model, {"x": x, "y": y, "w": w})


@pytest.mark.sampled(2, reason="whole models, each compiled alone")
@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"]
)
def test_every_integer(dtype: str) -> None:
    """Moves, casts and, as far as onnxruntime has them, sums; the extremes among the values."""
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    x = np.array([low, high, 0, 1, 1, 0], dtype)
    nodes = [node("Cast", "x", "wide", to=11), node("Cast", "small", "narrow", to=_onnx(dtype))]
    nodes.append(node("Slice", "x begin end", "part"))
    model = graph(
        nodes,
        {"x": (dtype, (6,)), "small": (FLOAT, (6,))},
        {"wide": "float64", "narrow": dtype, "part": dtype},
        {"begin": np.array([1]), "end": np.array([4])},
    )
    check(model, {"x": x, "small": np.array([0, 1, 2, 100, 0.5, 3.75], FLOAT)})


def _onnx(dtype: str) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


@pytest.mark.sampled(4, reason="whole models, each compiled alone")
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        *((kind, "float32") for kind in ("Exp", "Tanh", "Erf", "Softmax", "Sigmoid", "Sqrt")),
        *((kind, "float64") for kind in ("Exp", "Tanh", "Softmax", "Sigmoid", "Sqrt")),
    ],
)
def test_functions(kind: str, dtype: str) -> None:
    model = graph([node(kind, "x", "y")], {"x": (dtype, (3, 40))}, {"y": dtype})
    x = np.abs(np.random.default_rng(0).standard_normal((3, 40)) * 3).astype(dtype)
    check(model, {"x": x}, 1e-5 if dtype == "float32" else 1e-12)


def test_nan_and_infinity_go_through() -> None:
    model = graph(
        [node("Relu", "x", "r"), node("Max", "x y", "m"), node("Clip", "x low", "c")],
        {"x": (FLOAT, (4,)), "y": (FLOAT, (4,))},
        {"r": FLOAT, "m": FLOAT, "c": FLOAT},
        {"low": np.float32(-1)},
    )
    x = np.array([np.nan, np.inf, -np.inf, -2], FLOAT)
    found = inarch.compile(model).run({"x": x, "y": np.ones(4, FLOAT)})
    np.testing.assert_array_equal(found["r"], [np.nan, np.inf, 0, 0])
    np.testing.assert_array_equal(found["m"], [np.nan, np.inf, 1, 1])
    np.testing.assert_array_equal(found["c"], [np.nan, np.inf, -1, -1])


def test_scalars() -> None:
    model = graph(
        [node("Add", "x y", "s"), node("Mul", "s c", "z"), node("ReduceMax", "z", "m")],
        {"x": (FLOAT, ()), "y": (FLOAT, ())},
        {"s": FLOAT, "z": FLOAT, "m": FLOAT},
        {"c": np.float32(3)},
    )
    check(model, {"x": np.array(2, FLOAT), "y": np.array(0.5, FLOAT)})


EMPTY: dict[str, tuple[list[onnx.NodeProto], dict[str, tuple[int, ...]]]] = {
    "elements": ([node("Add", "x y", "z")], {"x": (0, 3), "y": (3,)}),
    "a product over nothing is zero": ([node("MatMul", "x y", "z")], {"x": (2, 0), "y": (0, 3)}),
    "a product without rows": ([node("MatMul", "x y", "z")], {"x": (0, 4), "y": (4, 3)}),
    "a sum of nothing is zero": (
        [node("ReduceSum", "x axes", "z", keepdims=0)],
        {"x": (4, 0)},
    ),
    "a softmax": ([node("Softmax", "x", "z")], {"x": (0, 5)}),
    "a concatenation": ([node("Concat", "x y", "z", axis=0)], {"x": (0, 5), "y": (2, 5)}),
    "a convolution": ([node("Conv", "x w", "z")], {"x": (0, 2, 5, 5), "w": (3, 2, 3, 3)}),
    "a gather of nothing": ([node("Gather", "x none", "z")], {"x": (4, 5)}),
}


@pytest.mark.sampled(4, reason="whole models, each compiled alone")
@pytest.mark.parametrize("name", EMPTY)
def test_empty(name: str) -> None:
    nodes, shapes = EMPTY[name]
    known = {"axes": np.array([1]), "none": np.zeros(0, np.int64)}
    weights = {key: array for key, array in known.items() if key in nodes[0].input}
    inputs = {key: (FLOAT, shape) for key, shape in shapes.items()}
    model = graph(nodes, inputs, {"z": FLOAT}, weights)
    check(model, {key: np.ones(shape, FLOAT) for key, shape in shapes.items()})


# Again, at once, and killed


def test_recompiled_and_reloaded_is_the_new_program(tmp_path: Path) -> None:
    source, path = tmp_path / "m.onnx", tmp_path / "m.inarch"
    modules: list[Module] = []
    for factor in (2, 3, 4):
        source.write_bytes(scaling(factor).SerializeToString())
        build(source, path)
        modules.append(load(path))
    for factor, module in zip((2, 3, 4), modules, strict=True):
        np.testing.assert_array_equal(module(X), factor * X)


def test_code_that_changes_under_one_path(tmp_path: Path) -> None:
    """As above, but what differs is in the code and not in the weights."""
    path = tmp_path / "m.inarch"
    for kind, function in (("Neg", np.negative), ("Abs", np.abs), ("Neg", np.negative)):
        build(graph([node(kind, "x", "y")], {"x": (FLOAT, (2, 3))}, {"y": FLOAT}), path)
        np.testing.assert_array_equal(load(path)(X), function(X))


@pytest.mark.slow
def test_two_processes_compile_one_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path / "cache"))
    source, path = tmp_path / "m.onnx", tmp_path / "m.inarch"
    source.write_bytes(scaling(5).SerializeToString())
    command = [sys.executable, "-m", "inarch.tools.cli", "compile", str(source), "-o", str(path)]
    started = [subprocess.Popen([*command, "-q"]) for _ in range(2)]
    assert [process.wait() for process in started] == [0, 0]
    np.testing.assert_array_equal(load(path, verify=True)(X), 5 * X)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["cache", "m.inarch", "m.onnx"]


def test_killed_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while C is compiled: the old artifact stays, and nothing has to be cleaned up."""
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    source, path, mark = tmp_path / "m.onnx", tmp_path / "m.inarch", tmp_path / "pid"
    before = b"the artifact of before"
    path.write_bytes(before)
    source.write_bytes(scaling(7).SerializeToString())
    slow = tmp_path / "cc"
    slow.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "gcc that takes its time" && exit\n'
        f"echo $$ > {mark}.partial && mv {mark}.partial {mark}\nexec sleep 60\n"
    )
    slow.chmod(0o700)
    command = [sys.executable, "-m", "inarch.tools.cli", "compile", str(source), "-o", str(path)]
    environment = {**os.environ, "CC": str(slow)}
    with subprocess.Popen([*command, "-q"], env=environment) as process:
        while not mark.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    os.kill(int(mark.read_text()), signal.SIGKILL)
    assert path.read_bytes() == before
    build(source, path)
    np.testing.assert_array_equal(load(path, verify=True)(X), 7 * X)


def test_eight_threads() -> None:
    """One program with a workspace and weights, called from eight threads at once."""
    rng = np.random.default_rng(0)
    w, v = (rng.standard_normal((64, 64)).astype(FLOAT) for _ in range(2))
    model = graph(
        [node("MatMul", "x w", "a"), node("Softmax", "a", "s"), node("MatMul", "s v", "y")],
        {"x": (FLOAT, (32, 64))},
        {"y": FLOAT},
        {"w": w, "v": v},
    )
    module = inarch.compile(model)
    inputs = [rng.standard_normal((32, 64)).astype(FLOAT) for _ in range(8)]
    expected = [module(x) for x in inputs]
    start = threading.Barrier(8)

    def work(index: int) -> None:
        start.wait()
        for _ in range(200):
            np.testing.assert_array_equal(module(inputs[index]), expected[index])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    products = np.exp(inputs[0] @ w - (inputs[0] @ w).max(axis=1, keepdims=True))
    softmax = products / products.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(expected[0], softmax @ v, rtol=1e-4, atol=1e-4)


def test_a_failed_build_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "m.inarch"
    build(scaling(2), path)
    before = path.read_bytes()
    bad = graph([node("NonMaxSuppression", "x x", "y")], {"x": (FLOAT, (2, 3))}, {"y": "int64"})
    with pytest.raises(InarchError):
        build(bad, path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["m.inarch"]
