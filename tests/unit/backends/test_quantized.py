"""Quantized networks on an engine that takes their layers as units, against NumPy; and on the host."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import inarch
from effort import effort, seeds
from inarch.backends import BACKENDS
from inarch.dialects import new_context
from inarch.driver.compiler import import_model
from inarch.driver.options import Options
from inarch.offload.backend import Emission, EmitRequest, Option, Shrink, Split
from inarch.offload.hand_back import HandBackError
from inarch.offload.region import Region
from inarch.passes import PASSES
from inarch.passes.partitioning import PartitionReport, explain
from inarch.runtime.loaders import LOADERS
from inarch.runtime.module import Module

sys.path.insert(0, str(Path(__file__).parent))
import quantized
from quantized import convolve, max_pool

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    with BACKENDS.scope(), LOADERS.scope():
        BACKENDS.add(quantized, "q8", Path("q8.py"))
        LOADERS.add(quantized, "q8", Path("q8.py"))
        yield


def dequantize(q: Array, scale: Array, zero: Array, axis: int = 0) -> Array:
    """ONNX's DequantizeLinear."""
    shape = [-1 if d == axis else 1 for d in range(q.ndim)]
    s, z = (v.reshape(shape) if v.ndim else v for v in (scale, zero))
    return (q.astype(np.int32) - z.astype(np.int32)).astype(np.float32) * s


def quantize(x: Array, scale: Array, zero: Array) -> Array:
    """ONNX's QuantizeLinear."""
    limits = np.iinfo(zero.dtype)
    steps = np.rint(x.astype(np.float32) / scale) + zero.astype(np.float32)
    return np.clip(steps, limits.min, limits.max).astype(zero.dtype)


@dataclass
class Value:
    """A quantized tensor of the network: its name dequantized, its integers, and what stands for them."""

    name: str
    q: Array
    scale: Array
    zero: Array

    @property
    def x(self) -> Array:
        return dequantize(self.q, self.scale, self.zero)


@dataclass
class Network:
    """A random network with quantize and dequantize between its layers, as quantizers write them."""

    seed: int
    nodes: list[Any] = field(default_factory=list[Any])
    constants: list[Any] = field(default_factory=list[Any])
    layers: int = 0
    shared: int = 0
    sums: bool = True

    def __post_init__(self) -> None:
        self.random, self.numbers = Random(self.seed), np.random.default_rng(self.seed)
        self.is_image = self.seed % 3 != 2
        shape = (1, 4, 6, 6) if self.is_image else (3, 8)
        self.input = self.numbers.uniform(-2, 2, shape).astype(np.float32)
        self.values = [self.between("x", self.input)]
        for _ in range(self.random.randint(2, 6)):
            self.layer()
        self.output = self.values[-1]

    def constant(self, array: Array) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def between(self, name: str, x: Array) -> Value:
        """What a quantizer writes behind a layer: of the tensor, signed or not, with a zero point."""
        dtype = self.random.choice((np.uint8, np.int8))
        scale = np.array(max(float(np.abs(x).max()), 0.1) / 100, np.float32)
        zero = np.array(128 if dtype is np.uint8 else self.random.choice((0, 3)), dtype)
        numbers = [self.constant(scale), self.constant(zero)]
        q = self.node("QuantizeLinear", [name, *numbers])
        return Value(
            self.node("DequantizeLinear", [q, *numbers]), quantize(x, scale, zero), scale, zero
        )

    def weights(self, shape: tuple[int, ...], axis: int) -> tuple[str, Array]:
        """Of one scale, or of one for each output channel."""
        q = self.numbers.integers(-127, 127, shape).astype(np.int8)
        many = self.random.random() < 0.5
        size = (shape[axis],) if many else ()
        scale = self.numbers.uniform(0.001, 0.01, size).astype(np.float32)
        zero = self.numbers.integers(-2, 3, size).astype(np.int8)
        inputs = [self.constant(q), self.constant(scale), self.constant(zero)]
        name = self.node("DequantizeLinear", inputs, axis=axis)
        return name, dequantize(q, scale, zero, axis)

    def layer(self) -> None:
        x = self.random.choice(self.values[-2:])
        self.shared += x is not self.values[-1]
        kinds = ("conv", "conv", "add", "pool") if self.is_image else ("matmul", "matmul", "add")
        kind = self.random.choice(kinds)
        if kind == "pool" and x.q.shape[2] < 4:
            kind = "add"
        name, y = getattr(self, f"_{kind}")(x)
        if self.random.random() < 0.5:
            name, y = self.node("Relu", [name]), np.maximum(y, 0)
        self.values.append(self.between(name, y))
        self.layers += 1

    def _conv(self, x: Value) -> tuple[str, Array]:
        channels, groups = x.q.shape[1], self.random.choice((1, 2))
        window, outputs = self.random.choice((1, 3)), self.random.choice((4, 6))
        stride = self.random.choice((1, 2)) if x.q.shape[2] > 3 else 1
        w, weights = self.weights((outputs, channels // groups, window, window), 0)
        inputs, pad = [x.name, w], window // 2
        y = convolve(
            x.x.astype(np.float64), weights, [stride, stride], [pad, pad, pad, pad], groups
        )
        if self.random.random() < 0.5:
            q = self.numbers.integers(-500, 500, outputs).astype(np.int32)
            scale = np.array(0.001, np.float32)
            numbers = [self.constant(q), self.constant(scale)]
            inputs.append(self.node("DequantizeLinear", numbers))
            y = y + (q * scale).reshape(-1, 1, 1)
        window_attributes = {"strides": [stride] * 2, "pads": [pad] * 4, "group": groups}
        return self.node("Conv", inputs, **window_attributes), y

    def _matmul(self, x: Value) -> tuple[str, Array]:
        w, weights = self.weights((x.q.shape[1], self.random.choice((5, 8))), 1)
        return self.node("MatMul", [x.name, w]), x.x.astype(np.float64) @ weights

    def _add(self, x: Value) -> tuple[str, Array]:
        others = [v for v in self.values if v.q.shape == x.q.shape]
        other = self.random.choice(others)
        self.shared += other is not x
        return self.node("Add", [x.name, other.name]), x.x + other.x

    def _pool(self, x: Value) -> tuple[str, Array]:
        attributes = {"kernel_shape": [2, 2], "strides": [2, 2]}
        return self.node("MaxPool", [x.name], **attributes), max_pool(x.x, [2, 2], [2, 2])

    def model(self) -> onnx.ModelProto:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.input.shape)
        y = helper.make_tensor_value_info(self.output.name, TensorProto.FLOAT, self.output.q.shape)
        graph = helper.make_graph(self.nodes, "network", [x], [y], self.constants)
        opsets = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def off_by(found: Array, network: Network) -> Array:
    """By how many steps of the output each element differs."""
    return np.abs(found - network.output.x) / network.output.scale


def test_random_networks_on_the_engine_do_what_numpy_does() -> None:
    """Every layer is the engine's as one unit, whoever shares its input; the engine has int8 weights."""
    layers = shared = 0
    which = seeds(4, 12)
    for seed in which:
        network = Network(seed)
        layers, shared = layers + network.layers, shared + network.shared
        compiled = inarch.compile(network.model(), backends=["q8"], require_offload=True)
        steps = off_by(compiled(network.input), network)
        assert steps.max() <= 2, f"seed {seed}: a tie of each of two layers may round otherwise"
        assert (steps > 0.5).mean() < 0.05, f"seed {seed}"
        text = compiled.imports[0].get_source("q8")
        constants = [
            step
            for function in json.loads(text).values()
            for step in function["steps"]
            if step["op"] == "constant" and len(step["shape"]) > 1
        ]
        assert {step["dtype"] for step in constants} <= {"int8"}, "weights are the model's"
    assert layers >= 40 * len(which) // 12
    assert shared >= 15 * len(which) // 12, "many inputs are used by several layers"


def test_layers_that_go_back_leave_their_copies_and_the_network_is_the_same() -> None:
    """The backend gives up layers at random: what was copied for them is the original's again."""
    shrunk = 0
    which = seeds(4, 12)
    for seed in which:
        network, draw = Network(seed), Random(seed)

        def decide(regions: Sequence[Region], draw: Random = draw) -> Iterator[Shrink]:
            nonlocal shrunk
            for region in regions:
                if len(region.ops) > 1 and draw.randrange(3):
                    shrunk += 1
                    kept = region.ops[: draw.randrange(1, len(region.ops))]
                    yield Shrink(region, kept, "the first ones are enough")

        backend = replace(quantized.BACKEND, name="q8-picky", decide=decide)
        compiled = inarch.compile(network.model(), backends=[backend])
        steps = off_by(compiled(network.input), network)
        assert steps.max() <= 2, f"seed {seed}"
        assert (steps > 0.5).mean() < 0.05, f"seed {seed}"
    assert shrunk >= 5 * len(which) // 12


def unplugged(*_: object) -> NoReturn:
    raise OSError("no device")


def opened(artifact: bytes, x: Array) -> Array:
    """What it gives."""
    return Module.load_from_bytes(artifact)(x)


def heard(work: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What it gives, and its warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        made = work()
    return made, [str(one.message) for one in found]


def test_a_region_of_patterns_runs_on_the_host_where_the_engine_cannot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It works, is not there at load, fails in each call: the same network, and a line each."""
    for seed in seeds(2, 12):
        network = Network(seed)
        data = inarch.compile(network.model(), backends=["q8"], fallback="host").save_to_bytes()
        for broken, said in (
            ("", ""),
            (
                "_loaded",
                "backend 'q8' (format q8) is missing: OSError: no device; the host runs its part",
            ),
            ("_run", "backend 'q8' fails on 'q8_0': OSError: no device; the host runs its part"),
        ):
            with monkeypatch.context() as patch:
                if broken:
                    patch.setattr(quantized, broken, unplugged)
                found, told = heard(partial(opened, data, network.input))
            assert [one.partition(": ")[2] for one in told] == [said] * bool(said)
            steps = off_by(found, network)
            assert steps.max() <= 2, f"seed {seed}, {broken}"
            assert (steps > 0.5).mean() < 0.05, f"seed {seed}, {broken}"


def test_regions_of_patterns_are_handed_back() -> None:
    """The first of several, and all of them."""

    def picky(request: EmitRequest) -> Emission:
        first = request.functions[0]
        if request.options["back"] or first.sym_name.data.endswith("_0"):
            raise HandBackError(None if request.options["back"] else first, "no room")
        return quantized.emit(request)

    def alone(regions: Sequence[Region]) -> Iterator[Split]:
        for region in regions:
            if len(region.ops) > 1:
                yield Split(region, [[op] for op in region.ops], "one by one")

    options = {"back": Option("bool", False)}
    backend = replace(quantized.BACKEND, name="few", decide=alone, emit=picky, options=options)
    for seed in seeds(2, 12):
        network = Network(seed)
        for back in (False, True):
            wish = backend.configure(back=back)
            compiled, told = heard(
                lambda wish=wish, network=network: inarch.compile(network.model(), backends=[wish])
            )
            assert all(one.endswith("no room; the host has it") for one in told)
            assert (len(told) == 1, bool(compiled.imports)) == (not back, not back)
            steps = off_by(compiled(network.input), network)
            assert steps.max() <= 2, f"seed {seed}, {back}"
            assert (steps > 0.5).mean() < 0.05, f"seed {seed}, {back}"


def test_each_layer_is_one_match_and_only_the_ends_are_the_hosts() -> None:
    """Also where one dequantize feeds several layers: they take copies of it."""
    for seed in (1, 3, 5, 8):
        report = explained(Network(seed))
        left = {o.op for o in report.ops if o.owner == "host"}
        assert left <= {"graph.quantize", "graph.dequantize"}
        assert sum(o.op == "graph.quantize" and o.owner == "host" for o in report.ops) == 1


def explained(network: Network) -> PartitionReport:
    context = new_context()
    module = import_model(network.model(), context, Options())
    for name in ("fold-constants", "simplify-graph", "fold-batch-norm"):
        PASSES[name]().apply(context, module)
    return explain(context, module, ["q8"])


def test_random_networks_on_the_host_do_what_numpy_does() -> None:
    """What nobody takes: ties of f32 sums may round otherwise."""
    for seed in (4, 7, 2)[: effort(1, 3)]:
        network = Network(seed)
        steps = off_by(inarch.compile(network.model())(network.input), network)
        assert steps.max() <= 2
        assert (steps > 0.5).mean() < 0.05, f"seed {seed}"


QLINEAR = """<ir_version: 8, opset_import: ["" : 17]>
g (uint8[1,2,4,4] x) => (uint8[1,3,4,4] y)
<float s = {0.02}, uint8 z = {128}, float t = {0.01}, int8 w0 = {0}, float u = {0.04}, uint8 v = {100}>
{ y = QLinearConv<pads=[1,1,1,1]>(x, s, z, w, t, w0, u, v, b) }"""


def test_an_integer_convolution_is_the_same_unit() -> None:
    """QLinearConv: weights of int8, the sum in integers, rescaled by one factor."""
    numbers = np.random.default_rng(0)
    w = numbers.integers(-127, 127, (3, 2, 3, 3)).astype(np.int8)
    b = numbers.integers(-500, 500, 3).astype(np.int32)
    x = numbers.integers(0, 255, (1, 2, 4, 4)).astype(np.uint8)
    model = onnx.parser.parse_model(QLINEAR)
    model.graph.initializer.extend(numpy_helper.from_array(a, n) for a, n in ((w, "w"), (b, "b")))
    on_engine = inarch.compile(model, backends=["q8"], require_offload=True)
    assert '"dtype": "int8", "shape": [3, 2, 3, 3]' in on_engine.imports[0].get_source("q8")
    total = convolve(x.astype(np.int64) - 128, w.astype(np.int64), [1, 1], [1] * 4, 1)
    factor = np.float32(np.float32(0.02) * np.float32(0.01)) / np.float32(0.04)
    steps = np.rint((total + b.reshape(-1, 1, 1)).astype(np.float32) * factor) + 100
    expected = np.clip(steps, 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(on_engine(x), expected)
    np.testing.assert_array_equal(inarch.compile(model)(x), expected)


def test_a_zero_point_that_is_computed_is_refused_with_the_reason() -> None:
    text = QLINEAR.replace("uint8[1,2,4,4] x", "uint8[1,2,4,4] x, uint8 z").replace(
        "uint8 z = {128}, ", ""
    )
    model = onnx.parser.parse_model(text)
    w, b = np.ones((3, 2, 3, 3), np.int8), np.ones(3, np.int32)
    model.graph.initializer.extend(numpy_helper.from_array(a, n) for a, n in ((w, "w"), (b, "b")))
    context = new_context()
    report = explain(context, import_model(model, context, Options()), ["q8"])
    (conv,) = (o for o in report.ops if o.op == "graph.conv")
    assert conv.owner == "host"
    assert conv.reasons["q8"] == (
        "pattern conv: where: takes constant zero points, found one of graph.dequantize that is computed"
    )
