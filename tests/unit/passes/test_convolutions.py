"""Random convolutions, pools and products, compiled for several targets, against onnxruntime."""

# Onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import inarch
from effort import effort
from inarch.machine.target import parse

Array = np.ndarray[Any, Any]

TARGETS = [
    name
    for name in ("native", "x86-64-v3", "x86-64", "generic")
    if name == "native" or not parse(name).missing_here()
]
"""Those that this machine can run."""

TOLERANCE = 1e-5
"""Of the largest magnitude: the products are short, so this is ten times float32's rounding."""


def model_of(
    nodes: list[onnx.NodeProto], inputs: Mapping[str, tuple[int, ...]], weights: dict[str, Array]
) -> onnx.ModelProto:
    """A model of float32 inputs whose output is that of the last node."""
    graph = helper.make_graph(
        nodes,
        "random",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def check(model: onnx.ModelProto, inputs: dict[str, Array], target: str) -> None:
    """Inarch gives what onnxruntime gives."""
    session: Any = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    expected = session.run(None, inputs)[0]
    (found,) = inarch.compile(model, target=target).run(inputs).values()
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    scale = np.abs(expected).max(initial=1e-30)
    assert np.abs(found - expected).max(initial=0) <= TOLERANCE * scale


def random_conv(r: Random, rng: np.random.Generator) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """One to three spatial dimensions, any pads, dilations, strides (also above the kernel), groups."""
    rank = r.choice([1, 2, 2, 3])
    groups = r.choice([1, 1, 2, 3])
    channels, features = groups * r.choice([1, 2, 5, 16]), groups * r.choice([1, 3, 7, 16, 33])
    if r.random() < 0.2:
        groups = channels = r.choice([4, 16, 24])  # depthwise
        features = channels * r.choice([1, 2])
    kernel = [r.randint(1, 4) for _ in range(rank)]
    dilations = [r.choice([1, 1, 2, 3]) for _ in range(rank)]
    pads = [r.randint(0, 3) for _ in range(2 * rank)]
    size = [
        max((k - 1) * d + 1 - pads[i] - pads[i + rank], 1) + r.randint(0, 9)
        for i, (k, d) in enumerate(zip(kernel, dilations, strict=True))
    ]
    inputs = {"x": (r.choice([1, 1, 2, 3]), channels, *size)}
    arrays = {"w": rng.standard_normal((features, channels // groups, *kernel), np.float32)}
    if r.random() < 0.5:
        arrays["b"] = rng.standard_normal(features, np.float32)
    nodes = [
        helper.make_node(
            "Conv",
            ["x", *arrays],
            ["y"],
            kernel_shape=kernel,
            strides=[r.choice([1, 1, 2, 3, 5]) for _ in range(rank)],
            dilations=dilations,
            pads=pads,
            group=groups,
        )
    ]
    if r.random() < 0.4:
        nodes.append(helper.make_node("Relu", ["y"], ["z"]))
    if r.random() < 0.7:
        return model_of(nodes, inputs, arrays), given(rng, inputs)
    inputs |= {name: array.shape for name, array in arrays.items()}  # weights that are inputs
    return model_of(nodes, inputs, {}), given(rng, inputs) | arrays


def random_conv_transpose(
    r: Random, rng: np.random.Generator
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """One to three spatial dimensions, any strides and cuts, groups, and what follows it."""
    rank = r.choice([1, 2, 2, 2, 3])
    groups = r.choice([1, 1, 1, 2])
    channels, features = groups * r.choice([1, 5, 16, 32]), r.choice([1, 3, 16, 24])
    if r.random() < 0.2:
        groups, features = r.choice([4, 16, 24]), 1  # depthwise
        channels = groups
    kernel = [r.randint(1, 5) for _ in range(rank)]
    dilations = [r.choice([1, 1, 1, 2, 3]) for _ in range(rank)]
    strides = [r.choice([1, 2, 2, 3, 4]) for _ in range(rank)]
    size = [r.randint(1, {1: 12, 2: 9, 3: 4}[rank]) for _ in range(rank)]
    extra = [r.randint(0, s - 1) for s in strides]
    full = [
        (n - 1) * s + (k - 1) * d + 1 + e
        for n, s, k, d, e in zip(size, strides, kernel, dilations, extra, strict=True)
    ]
    pads = [min(r.randint(0, 3), (n - 1) // 2) for n in full * 2]
    inputs = {"x": (r.choice([1, 1, 2]), channels, *size)}
    arrays = {"w": rng.standard_normal((channels, features, *kernel), np.float32)}
    if r.random() < 0.5:
        arrays["b"] = rng.standard_normal(groups * features, np.float32)
    nodes = [
        helper.make_node(
            "ConvTranspose",
            ["x", *arrays],
            ["y"],
            strides=strides,
            dilations=dilations,
            pads=pads,
            output_padding=extra,
            group=groups,
        )
    ]
    if r.random() < 0.7:
        nodes.append(helper.make_node(r.choice(["Relu", "Sigmoid"]), ["y"], ["z"]))
    if r.random() < 0.3:
        nodes.append(helper.make_node("Add", [nodes[-1].output[0], "r"], ["s"]))
        cut = [n - a - b for n, a, b in zip(full, pads[:rank], pads[rank:], strict=True)]
        inputs["r"] = (inputs["x"][0], groups * features, *cut)
    if r.random() < 0.7:
        return model_of(nodes, inputs, arrays), given(rng, inputs)
    shapes = inputs | {name: array.shape for name, array in arrays.items()}
    return model_of(nodes, shapes, {}), given(rng, inputs) | arrays


def random_pool(r: Random, rng: np.random.Generator) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Maxima and averages, with ceil_mode and count_include_pad."""
    rank = r.choice([1, 2, 2, 3])
    is_max = r.random() < 0.5
    kernel = [r.randint(1, 4) for _ in range(rank)]
    dilations = [r.choice([1, 1, 2]) if is_max else 1 for _ in range(rank)]
    size = [(k - 1) * d + 1 + r.randint(0, 9) for k, d in zip(kernel, dilations, strict=True)]
    inputs = {"x": (r.choice([1, 2]), r.choice([1, 3, 16, 20]), *size)}
    own: dict[str, Any] = (
        {"dilations": dilations} if is_max else {"count_include_pad": r.choice([0, 1])}
    )
    node = helper.make_node(
        "MaxPool" if is_max else "AveragePool",
        ["x"],
        ["y"],
        kernel_shape=kernel,
        strides=[r.choice([1, 1, 2, 3, 5]) for _ in range(rank)],
        pads=[r.randint(0, min(kernel[i % rank] - 1, 2)) for i in range(2 * rank)],
        ceil_mode=r.choice([0, 1]),
        **own,
    )
    return model_of([node], inputs, {}), given(rng, inputs)


def random_matmul(r: Random, rng: np.random.Generator) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Matrices, batches that broadcast, and vectors on either side; the right one may be constant."""
    rows, inner, columns = (r.choice([1, 2, 3, 7, 16, 33, 65]) for _ in range(3))
    batch_a, batch_b = r.choice([((), ()), ((2,), (2,)), ((3, 1), (4,)), ((), (5,)), ((2, 3), ())])
    a: tuple[int, ...] = (*batch_a, rows, inner)
    b: tuple[int, ...] = (*batch_b, inner, columns)
    match r.randint(0, 9):
        case 0:
            a = (inner,)
        case 1:
            b = (inner,)
        case _:
            pass
    node = helper.make_node("MatMul", ["a", "b"], ["y"])
    if r.random() < 0.5:
        weights = {"b": rng.standard_normal(b, np.float32)}
        return model_of([node], {"a": a}, weights), given(rng, {"a": a})
    return model_of([node], {"a": a, "b": b}, {}), given(rng, {"a": a, "b": b})


def given(rng: np.random.Generator, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    return {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}


KINDS = {
    "conv": random_conv,
    "transposed": random_conv_transpose,
    "pool": random_pool,
    "matmul": random_matmul,
}


@pytest.mark.sampled(effort(2, 3), reason="seeds are alike")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_random(kind: str, seed: int) -> None:
    model, inputs = KINDS[kind](Random(seed), np.random.default_rng(seed))
    check(model, inputs, TARGETS[seed % len(TARGETS)])


@pytest.mark.fuzz
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("kind", "count"), [("conv", 25), ("transposed", 12), ("pool", 15), ("matmul", 15)]
)
def test_many_random(kind: str, count: int, target: str) -> None:
    for seed in range(100, 100 + count):
        model, inputs = KINDS[kind](Random(seed), np.random.default_rng(seed))
        check(model, inputs, target)


CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "asymmetric pads": ((1, 3, 7, 9), (8, 3, 3, 3), {"pads": [0, 2, 1, 0]}),
    "dilation": ((1, 3, 11, 12), (5, 3, 3, 2), {"dilations": [2, 3], "pads": [1, 1, 1, 1]}),
    "groups": ((2, 6, 8, 8), (9, 2, 3, 3), {"group": 3}),
    "depthwise": ((1, 16, 8, 8), (16, 1, 3, 3), {"group": 16, "pads": [1, 1, 1, 1]}),
    "one dimension": ((2, 4, 17), (6, 4, 5), {"strides": [2], "pads": [2, 1]}),
    "three dimensions": ((1, 2, 5, 6, 7), (4, 2, 2, 3, 2), {"strides": [1, 2, 3]}),
    "stride larger than the kernel": ((1, 3, 11, 11), (4, 3, 2, 2), {"strides": [3, 4]}),
    "same": ((1, 3, 8, 9), (4, 3, 4, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    "same lower": ((1, 3, 8, 9), (4, 3, 4, 3), {"auto_pad": "SAME_LOWER", "strides": [3, 2]}),
    "more pads than image": ((1, 1, 2, 2), (3, 1, 3, 3), {"pads": [3, 3, 3, 3]}),
}


@pytest.mark.sampled(effort(2, 5), reason="each form is a program of its own; make soak has all")
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name: str) -> None:
    x, w, attributes = CONVOLUTIONS[name]
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal(w, np.float32)}
    node = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=w[2:], **attributes)
    check(model_of([node], {"x": x}, weights), given(rng, {"x": x}), "native")


POOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "max, ceil": ("MaxPool", {"ceil_mode": 1, "strides": [2, 3]}),
    "max, pads and dilation": ("MaxPool", {"pads": [1, 0, 2, 1], "dilations": [2, 1]}),
    "average, ceil": ("AveragePool", {"ceil_mode": 1, "strides": [2, 2], "pads": [1, 1, 0, 1]}),
    "average with the pads": ("AveragePool", {"count_include_pad": 1, "pads": [1, 1, 1, 1]}),
    "average with the pads, ceil": (
        "AveragePool",
        {"count_include_pad": 1, "pads": [1, 0, 1, 0], "ceil_mode": 1, "strides": [3, 2]},
    ),
}


@pytest.mark.sampled(effort(1, 5), reason="each form is a program of its own")
@pytest.mark.parametrize("name", POOLS)
def test_pool(name: str) -> None:
    kind, attributes = POOLS[name]
    shapes = {"x": (1, 3, 9, 10)}
    node = helper.make_node(kind, ["x"], ["y"], kernel_shape=[3, 3], **attributes)
    check(model_of([node], shapes, {}), given(np.random.default_rng(0), shapes), "native")
