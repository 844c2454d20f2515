"""Operators of 8 bits, of com.microsoft, and scales of 16 bits, against their definition in NumPy.

Those of com.microsoft against onnxruntime, too.

The definition: what the integers stand for, in f64, and one requantization; of products the sums are i64, and
the factor is that of docs/abi.md, so that their bits are the same.
"""

# Onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import inarch
from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.frontends.onnx import import_onnx
from inarch.ir.verify import verify_module
from inarch.testing import execute

Array = np.ndarray[Any, Any]
F32 = np.float32
BYTES = ("uint8", "int8")


@dataclass
class Drawn:
    """A node, its operands in order, and what it is to give."""

    op: str
    operands: dict[str, Array]
    wanted: Array
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    held: tuple[str, ...] = ()
    """The operands that are constants of the model."""
    steps: int = 0
    """How far a step of rounding may take the result: of functions, and sums of floats, 1."""
    peer: float = 0
    """How far onnxruntime is off by its own ways: tables, sums in other orders."""

    def model(self) -> tuple[onnx.ModelProto, dict[str, Array]]:
        names = [name if array.size else "" for name, array in self.operands.items()]
        node = helper.make_node(self.op, names, ["y"], domain="com.microsoft", **self.attributes)
        given = {n: a for n, a in self.operands.items() if a.size and n not in self.held}

        def info(name: str, array: Array) -> onnx.ValueInfoProto:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            return helper.make_tensor_value_info(name, kind, array.shape)

        graph = helper.make_graph(
            [node], "g", [info(*each) for each in given.items()], [info("y", self.wanted)],
            [numpy_helper.from_array(a, n) for n, a in self.operands.items() if n in self.held],
        )  # fmt: skip
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8), given


NONE = np.zeros(0, F32)


def number(value: float, dtype: Any = F32) -> Array:
    return np.array(value, dtype)


def draw(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Bytes, now and then all of them at a limit, and their zero point."""
    limits = np.iinfo(dtype)
    q = rng.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)
    if rng.random() < 0.2:
        q[...] = rng.choice((limits.min, limits.max))
    zero = rng.choice((limits.min, 0, 3, limits.max))
    return q, number(zero, dtype)


def real(q: Array, scale: Array, zero: Array) -> Array:
    return (q.astype(np.int64) - zero.astype(np.int64)) * scale.astype(np.float64)


def again(x: Array, scale: Array, zero: Array) -> Array:
    """One requantization, in f64: of halves, and near them, f32 may be one step off."""
    limits = np.iinfo(zero.dtype)
    return np.clip(np.rint(x / scale) + zero, limits.min, limits.max).astype(zero.dtype)


def exact(sums: Array, factor: Array, zero: Array) -> Array:
    """`saturate(round(f32(sums) * factor) + zero)`, each operation of f32: docs/abi.md."""
    limits = np.iinfo(zero.dtype)
    steps = np.rint(sums.astype(F32) * factor.astype(F32)) + zero.astype(F32)
    return np.clip(steps, limits.min, limits.max).astype(zero.dtype)


def softmax(rng: np.random.Generator) -> Drawn:
    dtype, shape = rng.choice(BYTES), tuple(int(n) for n in rng.integers(1, 7, 3))
    opset, axis = int(rng.choice((11, 13))), int(rng.integers(-3, 3))
    x, zero = draw(rng, dtype, shape)
    scale, by = number(rng.uniform(0.01, 0.2)), number(1 / 256)
    end = number(np.iinfo(dtype).min, dtype)
    values = real(x, scale, zero)
    rows = values
    if opset < 13:
        at = axis % 3
        rows = values.reshape(math.prod(shape[:at]), -1)
    along = axis if opset >= 13 else -1
    powers = np.exp(rows - rows.max(along, keepdims=True))
    found = (powers / powers.sum(along, keepdims=True)).reshape(shape)
    operands = {"x": x, "xs": scale, "xz": zero, "ys": by, "yz": end}
    # onnxruntime sums whole numbers of a table of exp.
    return Drawn(
        "QLinearSoftmax", operands, again(found, by, end), {"axis": axis, "opset": opset},
        held=("xs", "xz", "ys", "yz"), steps=1, peer=1,
    )  # fmt: skip


def where(rng: np.random.Generator) -> Drawn:
    dtype = rng.choice(BYTES)
    condition = rng.random((2, 1, 5)) < 0.5
    x, xz = draw(rng, dtype, (2, 3, 5))
    y, yz = draw(rng, dtype, (3, 1))
    xs, ys, zs = (number(rng.uniform(0.01, 0.1)) for _ in range(3))
    zz = number(rng.choice((0, 5)), dtype)
    found = np.where(condition, real(x, xs, xz), real(y, ys, yz))
    operands = {
        "c": condition, "x": x, "xs": xs, "xz": xz, "w": y, "ws": ys, "wz": yz, "zs": zs, "zz": zz,
    }  # fmt: skip
    held = ("xs", "xz", "ws", "wz", "zs", "zz")
    return Drawn("QLinearWhere", operands, again(found, zs, zz), held=held, steps=1, peer=1)


def gemm(rng: np.random.Generator) -> Drawn:
    m, n, k = (int(size) for size in rng.integers(1, 9, 3))
    k *= int(rng.choice((1, 4)))
    turned = [int(rng.random() < 0.4) for _ in "AB"]
    a, az = draw(rng, rng.choice(BYTES), (m, k))
    b, bz = draw(rng, "int8", (k, n))
    each = (n,) if rng.random() < 0.5 else ()
    bz = np.zeros(each, np.int8) if each or rng.random() < 0.8 else bz
    sa, sb = number(rng.uniform(0.01, 0.1)), rng.uniform(0.001, 0.01, each).astype(F32)
    alpha = F32(rng.choice((1, 1, 0.5, 1.7)))
    sums = (a.astype(np.int64) - az) @ (b.astype(np.int64) - bz)
    c = np.zeros(0, np.int32)
    if rng.random() < 0.6:
        c = rng.integers(-9000, 9000, ((n,), (m, n), (1, n), (m, 1))[rng.integers(4)])
        c = c.astype(np.int32)
        sums = sums + c
    factor = (alpha * sa) * sb
    operands = {
        "a": a.T.copy() if turned[0] else a, "as": sa, "az": az,
        "b": b.T.copy() if turned[1] else b, "bs": np.asarray(sb, F32), "bz": bz, "c": c,
    }  # fmt: skip
    attributes = {"alpha": float(alpha), "transA": turned[0], "transB": turned[1]}
    held = ("as", "az", "b", "bs", "bz", "ys", "yz")
    if rng.random() < 0.3:
        wanted = sums.astype(F32) * factor
        return Drawn("QGemm", operands, wanted.astype(F32), attributes, held, peer=1e-4)
    most = np.abs(sums).max(initial=1) * np.max(factor)
    by, end = number(most / 90), number(rng.choice((0, 9)), a.dtype)
    wanted = exact(sums, factor / by, end)
    return Drawn("QGemm", operands | {"ys": by, "yz": end}, wanted, attributes, held, peer=1)


def attention(rng: np.random.Generator) -> Drawn:
    batch, steps, width, heads, size = 2, 5, int(rng.choice((6, 8))), 2, 4
    hidden = heads * size
    x, xz = draw(rng, "uint8", (batch, steps, width))
    w = rng.integers(-64, 64, (width, 3 * hidden)).astype(
        np.int8
    )  # onnxruntime's pairs fit 16 bits
    each = (3 * hidden,) if rng.random() < 0.5 else ()
    wz = np.zeros(each, np.int8)
    xs, ws = number(0.02), rng.uniform(0.002, 0.01, each).astype(F32)
    bias = rng.standard_normal(3 * hidden).astype(F32)
    joined = real(x, xs, xz) @ real(w, np.asarray(ws), wz) + bias
    q, k, v = (
        part.reshape(batch, steps, heads, size).transpose(0, 2, 1, 3)
        for part in np.split(joined, 3, axis=-1)
    )
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(size)
    mask = np.zeros(0, np.int32)
    if rng.random() < 0.5:
        mask = np.array([steps, 3], np.int32)
        hidden_keys = np.arange(steps) >= mask.reshape(-1, 1, 1, 1)
        scores = scores + np.where(hidden_keys, -10000, 0)
    causal = int(rng.random() < 0.4)
    if causal:
        scores = np.where(np.tri(steps, dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    found = powers / powers.sum(-1, keepdims=True) @ v
    wanted = found.transpose(0, 2, 1, 3).reshape(batch, steps, hidden).astype(F32)
    operands = {
        "x": x, "w": w, "b": bias, "xs": xs, "ws": np.asarray(ws, F32), "m": mask, "xz": xz, "wz": wz,
    }  # fmt: skip
    attributes = {"num_heads": heads, "unidirectional": causal}
    held = ("w", "b", "xs", "ws", "xz", "wz")
    return Drawn("QAttention", operands, wanted, attributes, held, peer=1e-4)


KINDS: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "QAttention": attention,
    "QGemm": gemm,
    "QLinearSoftmax": softmax,
    "QLinearWhere": where,
}


def check(found: Array, drawn: Drawn, within: float) -> None:
    wanted = drawn.wanted
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=within, atol=within)
        return
    off = np.abs(found.astype(np.int64) - wanted)
    assert off.max(initial=0) <= within
    assert off.mean() <= 0.05 or off.size < 40


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", KINDS)
def test_as_defined(kind: str, seed: int) -> None:
    drawn = KINDS[kind](np.random.default_rng(seed))
    model, given = drawn.model()
    context = new_context()
    module = import_onnx(model, context)
    verify_module(module)
    (found,) = execute(module, list(given.values()), context)
    check(found, drawn, 1e-5 if found.dtype.kind == "f" else drawn.steps)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_as_onnxruntime(kind: str, seed: int) -> None:
    drawn = KINDS[kind](np.random.default_rng(seed))
    model, given = drawn.model()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session: Any = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    check(session.run(None, given)[0], drawn, drawn.peer)


@pytest.mark.parametrize("kind", KINDS)
def test_compiled(kind: str) -> None:
    for seed in (1, 2):
        drawn = KINDS[kind](np.random.default_rng(seed))
        model, given = drawn.model()
        found = inarch.compile(model).run(given)["y"]
        check(found, drawn, 1e-5 if found.dtype.kind == "f" else drawn.steps)


# ------------------------------------------------------------------------------------ scales of 16 bits

HALVES = ("float16", "bfloat16")
AXES = {"one": "", "an axis": "[3]", "blocks": "[2,3]"}


def scaled(op: str, dtype: str, form: str, more: str = "") -> onnx.ModelProto:
    """Of x, [4, 3]; z is a zero point."""
    kind, result = ("uint8", dtype) if op == "DequantizeLinear" else (dtype, "uint8")
    attributes = {"blocks": "axis=0, block_size=2", "an axis": "axis=1"}.get(form, "axis=0") + more
    shape = AXES[form]
    text = f"""<ir_version: 10, opset_import: ["" : 23]> g ({kind}[4,3] x, {dtype}{shape} s,
        uint8{shape} z) => ({result}[4,3] y) {{ y = {op}<{attributes}>(x, s, z) }}"""
    return onnx.parser.parse_model(text)


def halves(dtype: str, form: str) -> tuple[Array, Array, Array, Any]:
    """Scales and zero points, as they are given and spread over [4, 3], and the type."""
    import ml_dtypes

    kind = np.dtype(np.float16 if dtype == "float16" else ml_dtypes.bfloat16)
    rng = np.random.default_rng(5)
    shape = {"one": (), "an axis": (3,), "blocks": (2, 3)}[form]
    scale = np.asarray(rng.uniform(0.01, 0.03, shape)).astype(kind)
    zero = np.asarray(rng.integers(0, 256, shape)).astype(np.uint8)
    return scale, zero, np.arange(12).reshape(4, 3), kind


def spread(array: Array, form: str) -> Array:
    return np.repeat(array, 2, 0) if form == "blocks" else array


@pytest.mark.parametrize("form", AXES)
@pytest.mark.parametrize("dtype", HALVES)
def test_scales_of_16_bits(dtype: str, form: str) -> None:
    """A product is rounded once; a quotient to the scale's dtype first, as ONNX says, or in `precision`."""
    scale, zero, numbers, kind = halves(dtype, form)
    wide, point = spread(scale, form).astype(F32), spread(zero, form)
    q = (numbers * 23).astype(np.uint8)
    found = inarch.compile(scaled("DequantizeLinear", dtype, form))(q, scale, zero)
    wanted = ((q.astype(F32) - point.astype(F32)) * wide).astype(kind)
    np.testing.assert_array_equal(found.view(np.uint16), wanted.view(np.uint16))
    x = ((numbers - 6) * F32(0.37)).astype(kind)
    for more, precision in (("", kind), (", precision=1", np.dtype(F32))):
        found = inarch.compile(scaled("QuantizeLinear", dtype, form, more))(x, scale, zero)
        quotient = (x.astype(F32) / wide).astype(precision).astype(F32)
        wanted = np.clip(np.rint(quotient) + point.astype(F32), 0, 255).astype(np.uint8)
        np.testing.assert_array_equal(found, wanted, err_msg=more)


def test_a_product_is_rounded_to_what_is_asked() -> None:
    """The scale is f32, the result f16."""
    text = """<ir_version: 10, opset_import: ["" : 23]> g (int8[3] x, float s) => (float16[3] y)
        { y = DequantizeLinear<output_dtype=10>(x, s) }"""
    q, scale = np.array([-128, 3, 127], np.int8), number(0.0123)
    found = inarch.compile(onnx.parser.parse_model(text))(q, scale)
    np.testing.assert_array_equal(found, (q * scale).astype(np.float16))


REFUSED = {
    "scale": ("int32[3] x, int32 s", "QuantizeLinear(x, s)", "QuantizeLinear: a scale of i32"),
    "precision": (
        "float[3] x, float s",
        "QuantizeLinear<precision=6>(x, s)",
        "QuantizeLinear: a precision of i32",
    ),
    "result": (
        "int8[3] x, float s",
        "DequantizeLinear<output_dtype=11>(x, s)",
        "DequantizeLinear: a result of f64",
    ),
    "softmax": (
        "int16[3] x, float s, int16 z",
        "com.microsoft.QLinearSoftmax<opset=13>(x, s, z, s, z)",
        "QLinearSoftmax: an operand of i16",
    ),
    "gemm": (
        "int8[3,3] x, float[3] s, int8[3] z",
        "com.microsoft.QGemm(x, s, z, x, s, z)",
        "QGemm: several scales of A",
    ),
    "attention": (
        "int8[2,3,4] x, int8[4,6] w, float[6] b, float[3] s, float t",
        "com.microsoft.QAttention<num_heads=2>(x, w, b, s, t)",
        "QAttention: several scales or zero points of the input",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    inputs, node, wanted = REFUSED[name]
    opsets = '"" : 23, "com.microsoft" : 1'
    text = (
        f"<ir_version: 10, opset_import: [{opsets}]> g ({inputs}) => (float[3] y) {{ y = {node} }}"
    )
    with pytest.raises(InarchError) as caught:
        import_onnx(onnx.parser.parse_model(text), new_context())
    assert caught.value.line() == f"<model>: error: unsupported: {wanted} ('y')"


def test_a_bias_of_another_shape() -> None:
    inputs = "int8[3,4] x, float s, int8 z, int8[4,5] w, int32[4] c"
    opsets = '"" : 17, "com.microsoft" : 1'
    text = (
        f"<ir_version: 8, opset_import: [{opsets}]> g ({inputs}) => (float[3,5] y) "
        "{ y = com.microsoft.QGemm(x, s, z, w, s, z, c) }"
    )
    with pytest.raises(InarchError) as caught:
        import_onnx(onnx.parser.parse_model(text), new_context())
    assert caught.value.line() == (
        "<model>: node 'y' (QGemm): error: expected C of i32 that broadcasts to (3, 5), "
        "found i32 of shape (4,)"
    )
