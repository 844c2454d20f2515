"""`onnx.backend.base` over compiled modules: positional inputs, shapes at first run, refusals."""

# How often it compiled is not public:
# pyright: reportPrivateUsage=false
from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from inarch import onnx_backend
from inarch.core.errors import ArgumentError, UnsupportedError
from inarch.onnx_backend import InarchBackend


def parse(nodes: str, inputs: str, outputs: str = "float[n] y", opset: int = 17) -> onnx.ModelProto:
    text = (
        f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => ({outputs}) {{ {nodes} }}'
    )
    return onnx.parser.parse_model(text)


def test_static_model_is_compiled_by_prepare() -> None:
    rep = onnx_backend.prepare(parse("y = Sub(x, z)", "float[2,3] x, float[3] z"))
    x, z = np.ones((2, 3), "float32"), np.arange(3, dtype="float32")
    for inputs in ([x, z], (x, z), {"z": z, "x": x}):
        (found,) = rep.run(inputs)
        np.testing.assert_array_equal(found, x - z)
    assert rep.deciding == ()


def test_one_array_is_one_input() -> None:
    (found,) = onnx_backend.prepare(parse("y = Neg(x)", "float[2] x")).run(np.ones(2, "float32"))
    np.testing.assert_array_equal(found, [-1, -1])


def test_shapes_are_bound_at_first_run() -> None:
    rep = onnx_backend.prepare(parse("y = Neg(x)", "float[n,m] x"))
    for shape in ((2, 3), (4, 1), (2, 3), (0, 5)):
        (found,) = rep.run([np.ones(shape, "float32")])
        np.testing.assert_array_equal(found, -np.ones(shape))


def test_inputs_that_say_shapes_are_sizes() -> None:
    rep = onnx_backend.prepare(parse("y = ReduceSum<keepdims=0>(x, a)", "float[2,3] x, int64[1] a"))
    x = np.arange(6, dtype="float32").reshape(2, 3)
    for axis in (0, 1, 0):
        (found,) = rep.run([x, np.array([axis])])
        np.testing.assert_array_equal(found, x.sum(axis))
    assert rep.deciding == ("a",)


def test_only_inputs_that_decide_are_sizes() -> None:
    nodes = 'y = Resize<coordinate_transformation_mode="asymmetric">(x, , s) t = Neg(i)'
    rep = onnx_backend.prepare(parse(nodes, "float[1,4] x, float[2] s, int64[1] i"))
    x = np.arange(4, dtype="float32").reshape(1, 4)
    for scale, expected in ((2.0, [[0, 0, 1, 1, 2, 2, 3, 3]]), (0.5, [[0, 2]])):
        (found,) = rep.run([x, np.array([1, scale], "float32"), np.array([1])])
        np.testing.assert_array_equal(found, expected)
    assert rep.deciding == ("s",)


def test_wrong_inputs() -> None:
    rep = onnx_backend.prepare(parse("y = Sub(x, z)", "float[2] x, float[2] z"))
    x = np.ones(2, "float32")
    with pytest.raises(ArgumentError, match=r"^expected 2 inputs, found 1$"):
        rep.run([x])
    with pytest.raises(ArgumentError, match=r"^expected inputs x, z; found x, q$"):
        rep.run({"x": x, "q": x})
    with pytest.raises(
        UnsupportedError, match=r"^input 'z' is a list; only tensors are supported$"
    ):
        rep.run([x, [x]])


def test_unsupported_is_not_implemented() -> None:
    model = parse("y = Multinomial(x)", "float[2,2] x")
    with pytest.raises(NotImplementedError, match="unsupported: Multinomial"):
        onnx_backend.prepare(model)
    assert not InarchBackend.is_compatible(model)
    with pytest.raises(NotImplementedError, match="device 'CUDA' is not supported; supported: CPU"):
        onnx_backend.prepare(model, "CUDA")


def test_compatible() -> None:
    assert InarchBackend.is_compatible(parse("y = Neg(x)", "float[2] x"))
    assert InarchBackend.is_compatible(parse("y = Neg(x)", "float[n] x"))
    assert InarchBackend.is_compatible(parse("y = ReduceSum(x, a)", "float[2] x, int64[1] a"))
    assert not InarchBackend.is_compatible(parse("y = Neg(x, x)", "float[2] x"))
    assert InarchBackend.supports_device("CPU:0")
    assert not InarchBackend.supports_device("CUDA:0")


def test_run_node_and_run_model() -> None:
    x = np.array([-1, 2], "float32")
    (found,) = InarchBackend.run_node(helper.make_node("Relu", ["x"], ["y"]), [x])
    np.testing.assert_array_equal(found, [0, 2])
    node = helper.make_node("Softmax", ["x"], ["y"])
    (found,) = InarchBackend.run_node(node, [np.ones((1, 2, 2), "float32")], opset_version=11)
    np.testing.assert_allclose(found, np.full((1, 2, 2), 0.25))
    (found,) = InarchBackend.run_model(parse("y = Neg(x)", "float[2] x"), [x])
    np.testing.assert_array_equal(found, -x)
