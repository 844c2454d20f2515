"""Products of weights of 8 bits, of com.microsoft, against onnxruntime on one thread."""

# Onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import inarch
from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.frontends.onnx import import_onnx
from inarch.ir.verify import verify_module
from inarch.testing import execute

Array = np.ndarray[Any, Any]


def model(
    op: str,
    inputs: dict[str, Array],
    outputs: list[str],
    held: tuple[str, ...] = (),
    **attributes: Any,
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A model of one node whose inputs are in order; those named in `held` are its weights."""
    names = [n if a.size else "" for n, a in inputs.items()]
    node = helper.make_node(op, names, outputs, domain="com.microsoft", **attributes)
    given = {n: a for n, a in inputs.items() if a.size and n not in held}
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in given.items()
    ]
    weights = [
        onnx.numpy_helper.from_array(a, n) for n, a in inputs.items() if a.size and n in held
    ]
    results = [helper.make_tensor_value_info(n, 1, None) for n in outputs]
    graph = helper.make_graph([node], "g", infos, results, weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), given


def expected(found: onnx.ModelProto, inputs: dict[str, Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1  # threads share a batch, and each quantizes its rows alone
    session: Any = onnxruntime.InferenceSession(
        found.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)


def evaluate(found: onnx.ModelProto, inputs: dict[str, Array]) -> list[Array]:
    context = new_context()
    module = import_onnx(found, context)
    verify_module(module)
    return execute(module, list(inputs.values()), context)


def weights_range(kind: str) -> tuple[int, int]:
    """What onnxruntime multiplies exactly on every CPU, by activations of u8.

    Without VNNI it adds pairs of u8 * i8 in 16 bits, which saturate for weights of more than 7 bits.
    """
    return (-64, 63) if kind == "int8" else (0, 255)


def lstm(seed: int) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Any sizes, direction, dtypes and operands."""
    chance, rng = random.Random(seed), np.random.default_rng(seed)
    direction = chance.choice(("forward", "reverse", "bidirectional"))
    d = 2 if direction == "bidirectional" else 1
    steps, batch, width, hidden = (chance.choice(c) for c in ((1, 4), (1, 3), (1, 5), (2, 8)))
    none = np.zeros(0, np.float32)

    def optional(*shape: int) -> Array:
        return rng.standard_normal(shape).astype("float32") if chance.random() < 0.5 else none

    kind = chance.choice(("int8", "uint8"))

    def quantized(rows: int) -> tuple[Array, Array, Array]:
        low, high = weights_range(kind)
        shape = (d, 4 * hidden) if chance.random() < 0.5 else (d,)
        matrix = rng.integers(low, high, (d, rows, 4 * hidden), endpoint=True).astype(kind)
        scale = rng.uniform(0.002, 0.01, shape).astype("float32")
        zero = np.full(shape, 0 if kind == "int8" else 128).astype(kind)
        return matrix, scale, zero

    (w, ws, wz), (r, rs, rz) = quantized(width), quantized(hidden)
    lengths = rng.integers(1, steps, batch, endpoint=True).astype("int32")
    inputs = {
        "x": rng.standard_normal((steps, batch, width)).astype("float32"),
        "w": w,
        "r": r,
        "b": optional(d, 8 * hidden),
        "l": lengths if chance.random() < 0.4 else none,
        "h": optional(d, batch, hidden),
        "c": optional(d, batch, hidden),
        "p": optional(d, 3 * hidden),
        "ws": ws,
        "wz": wz,
        "rs": rs,
        "rz": rz,
    }
    node: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    if chance.random() < 0.3:
        node["input_forget"] = 1
    op = "DynamicQuantizeLSTM"
    return model(
        op, inputs, ["y", "yh", "yc"], ("w", "r", "b", "p", "ws", "wz", "rs", "rz"), **node
    )


@pytest.mark.parametrize("seed", range(16))
def test_lstm(seed: int) -> None:
    found, inputs = lstm(seed)
    ends = "l" in inputs and inputs["l"].min() < len(inputs["x"])
    for a, b in zip(evaluate(found, inputs), expected(found, inputs), strict=True):
        # Another last bit of a state may round to the next step of 255. In onnxruntime sequences that have
        # ended take part in the scale for one step more, so there all states may.
        np.testing.assert_allclose(a, b, rtol=0, atol=2e-2 if ends else 2e-3)
        assert ends or np.median(np.abs(a - b)) < 1e-5


def test_lstm_compiled() -> None:
    found, inputs = lstm(2)
    wanted = expected(found, inputs)
    for a, b in zip(inarch.compile(found)(*inputs.values()), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=5e-3)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("op", ["DynamicQuantizeMatMul", "MatMulIntegerToFloat"])
def test_products(op: str, kind: str, columns: bool) -> None:
    rng = np.random.default_rng(3)
    low, high = weights_range(kind)
    shape = (5,) if columns else ()
    b = rng.integers(low, high, (4, 5), endpoint=True).astype(kind)
    scale = rng.uniform(0.01, 0.1, shape).astype("float32")
    zero = rng.integers(low, high, shape, endpoint=True).astype(kind)
    bias = rng.standard_normal(5).astype("float32")
    inputs = {"a": rng.standard_normal((2, 3, 4)).astype("float32"), "b": b, "bs": scale}
    inputs |= {"bz": zero, "bias": bias if columns else np.zeros(0, np.float32)}
    if op == "MatMulIntegerToFloat":
        a = rng.integers(0, 255, (2, 3, 4)).astype("uint8")
        inputs = {"a": a, "b": b, "as": np.array([0.05], "float32"), "bs": scale}
        inputs |= {"az": np.array(7, "uint8"), "bz": zero, "bias": bias}
    found, given = model(op, inputs, ["y"])
    (y,) = evaluate(found, given)
    np.testing.assert_allclose(y, expected(found, given)[0], rtol=1e-5, atol=1e-5)


def line(found: onnx.ModelProto) -> str:
    with pytest.raises(InarchError) as caught:
        import_onnx(found, new_context())
    return caught.value.line()


def test_what_is_wrong() -> None:
    """Without a schema, inputs, outputs and attributes are checked all the same."""
    f, q = np.ones((3, 4), np.float32), np.ones((4, 5), np.int8)
    op, where = "DynamicQuantizeMatMul", "<model>: node 'y' (DynamicQuantizeMatMul): error: "
    two, _ = model(op, {"a": f, "b": q}, ["y"])
    assert line(two) == f"{where}expected 3 to 5 inputs, found 2"
    inputs = {"a": f, "b": q, "s": np.ones(3, np.float32)}
    odd, _ = model(op, inputs, ["y"], axis=1)
    assert line(odd) == f"{where}expected attributes among none; found 'axis'"
    sizes, _ = model(op, inputs, ["y"])
    assert line(sizes) == f"{where}expected one scale and zero point of B, or 5, found shape (3,)"
    many, _ = model(op, inputs, ["y", "z"])
    assert line(many) == f"{where}expected 1 outputs, found 2"
    found, _ = lstm(0)
    found.graph.node[0].attribute.extend([helper.make_attribute("clip", 3)])
    where = "<model>: node 'y' (DynamicQuantizeLSTM): error: "
    assert line(found) == f"{where}expected attribute 'clip' of type FLOAT, found INT"
    vector, _ = model(op, {"a": f[0], "b": q, "s": f[0, :1]}, ["y"])
    assert line(vector) == f"<model>: error: unsupported: {op}: an operand of rank 1 ('y')"
