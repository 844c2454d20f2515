"""Every shipped backend on whole networks, at every level that the CPU has, against onnxruntime.

Backends are found, not listed: a new one is covered by being there. The parts of a network that a backend
does not take are the host's, so that what is tested is also how the two meet: regions of several outputs,
blocked layouts around calls, constants in functions.
"""

# Onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
from __future__ import annotations

import importlib
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import inarch
from inarch.backends import BACKENDS
from inarch.machine.target import parse

Array = np.ndarray[Any, Any]

FOLDER = Path(__file__).parents[3] / "benchmarks" / "models"
TOLERANCE = 1e-4
"""Of the output's maximum, as promised for whole models."""

SHIPPED = [name for name in BACKENDS if BACKENDS.origin(name).source.startswith("inarch.backends.")]

LEVELS = [name for name in ("generic", "x86-64-v3", "x86-64-v4") if not parse(name).missing_here()]

SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "cnn": ("resnet50", {"image": 16, "width": 16, "blocks": (1,), "classes": 10}),
    "transformer": (
        "bert_base",
        {"sequence": 5, "layers": 1, "hidden": 16, "heads": 2, "inner": 32, "vocabulary": 20},
    ),
}
LARGE: dict[str, tuple[str, dict[str, Any]]] = {
    "lenet": ("lenet", {}),
    "resnet50": ("resnet50", {}),
    "resnet50, not folded": ("resnet50", {"folded": False}),
    "mobilenetv2": ("mobilenetv2", {}),
    "mobilenetv2, not folded": ("mobilenetv2", {"folded": False}),
}


@pytest.fixture(autouse=True)
def fixture_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts of `benchmarks/models` are imported as Python runs them: their folder first on the path."""
    monkeypatch.syspath_prepend(str(FOLDER))


@cache
def network(name: str) -> tuple[onnx.ModelProto, dict[str, Array], dict[str, Array]]:
    """The model, inputs, and what onnxruntime makes of them; once for all backends and levels."""
    script, options = {**SMALL, **LARGE}[name]
    model = importlib.import_module(script).build(**options)
    session: Any = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    rng = np.random.default_rng(0)
    inputs = {
        port.name: rng.integers(0, 2, port.shape)
        if "int64" in port.type
        else rng.standard_normal(port.shape).astype(np.float32)
        for port in session.get_inputs()
    }
    names = [output.name for output in session.get_outputs()]
    return model, inputs, dict(zip(names, session.run(names, inputs), strict=True))


def compare(name: str, backend: str, level: str) -> bool:
    """Whether `backend` got a part of the network; asserts that all outputs are right."""
    if (status := BACKENDS[backend].status()) != "ready":
        pytest.skip(f"backend '{backend}' is not ready: {status}")
    model, inputs, expected = network(name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = inarch.compile(model, target=level, backends=[backend])
    found = module.run(inputs)
    assert list(found) == list(expected)
    for output, array in expected.items():
        gap = np.abs(found[output] - array).max()
        assert gap <= TOLERANCE * np.abs(array).max(), f"{output} of {name} by {backend}, {level}"
    texts = [str(each.message) for each in caught]
    nothing = [text for text in texts if "was asked for and got nothing" in text]
    assert texts == nothing
    return not nothing


@pytest.mark.sampled(2, reason="two backends, each network; the third has a part below")
@pytest.mark.parametrize("backend", SHIPPED)
@pytest.mark.parametrize("name", SMALL)
def test_small_networks_at_the_best_level(name: str, backend: str) -> None:
    """Each backend has a part of both."""
    assert compare(name, backend, LEVELS[-1])


@pytest.mark.slow
@pytest.mark.sampled(4, reason="whole networks take 10 s each; pytest --cases all -m slow runs 63")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("backend", SHIPPED)
@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_networks_at_every_level(name: str, backend: str, level: str) -> None:
    took = compare(name, backend, level)
    assert took or name not in SMALL


@pytest.mark.parametrize(
    "backends",
    [
        pytest.param(["ccompiler"], marks=pytest.mark.slow),
        pytest.param(["examplejson"], marks=pytest.mark.slow),
        ["ccompiler", "examplejson"],
    ],
    ids="+".join,
)
def test_a_network_with_parts_offloaded_is_right(backends: list[str]) -> None:
    """N12, T19: between convolutions, whose buffers the host lays out as it likes."""
    generator = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        values = generator.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        return onnx.numpy_helper.from_array(values.astype(np.float32), name)

    make = onnx.helper.make_node
    nodes = [
        make("Conv", ["x", "w1", "b1"], ["c1"], name="conv1", pads=[1, 1, 1, 1]),
        make("Relu", ["c1"], ["r1"], name="relu1"),
        make("Conv", ["r1", "w2"], ["c2"], name="conv2", pads=[1, 1, 1, 1]),
        make("Add", ["c2", "r1"], ["a2"], name="add2"),
        make("Mul", ["a2", "r1"], ["m2"], name="mul2"),
        make("Conv", ["m2", "w3"], ["c3"], name="conv3", strides=[2, 2], pads=[1, 1, 1, 1]),
        make("GlobalAveragePool", ["c3"], ["g"]),
        make("Flatten", ["g"], ["f"]),
        make("Gemm", ["f", "w4", "b4"], ["y"], name="fc"),
        make("Softmax", ["y"], ["p"]),
    ]
    shapes = {"w1": (20, 3, 3, 3), "b1": (20,), "w2": (20, 20, 3, 3)}
    shapes |= {"w3": (24, 20, 3, 3), "w4": (24, 10), "b4": (10,)}
    graph = onnx.helper.make_graph(
        nodes,
        "network",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, 9, 11])],
        [onnx.helper.make_tensor_value_info("p", onnx.TensorProto.FLOAT, [1, 10])],
        [weight(name, *shape) for name, shape in shapes.items()],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    x = generator.standard_normal((1, 3, 9, 11)).astype(np.float32)
    module = inarch.compile(model, backends=backends, require_offload=True)
    session: Any = onnxruntime.InferenceSession(model.SerializeToString())
    (expected,) = session.run(None, {"x": x})
    np.testing.assert_allclose(module(x), expected, rtol=1e-5, atol=1e-6)


def test_the_backends_are_found() -> None:
    """The lists above are not empty by mistake."""
    assert {"cblas", "ccompiler", "examplejson"} <= set(SHIPPED)
    assert LEVELS[0] == "generic"
