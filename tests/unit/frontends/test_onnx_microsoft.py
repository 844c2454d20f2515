"""The operators of com.microsoft that onnxruntime's optimizer makes, against onnxruntime."""

# Onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import inarch
from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.frontends.onnx import import_onnx
from inarch.frontends.onnx.ops import converters
from inarch.ir.verify import verify_module
from inarch.testing import execute

Array = np.ndarray[Any, Any]

X = "float[2,5,8] x"
GAMMA = "float[8] g"
IMAGE = "float[2,4,6,5] x, float[6,2,3,3] w, float[6] b"
CASES: dict[str, tuple[str, str, str]] = {
    # name: inputs, nodes, outputs; `m.` is com.microsoft
    "BiasGelu": (f"{X}, {GAMMA}", "y = m.BiasGelu(x, g)", "y"),
    "FastGelu": (X, "y = m.FastGelu(x)", "y"),
    "FastGelu with a bias": (f"{X}, {GAMMA}", "y = m.FastGelu(x, g)", "y"),
    "Gelu": (X, "y = m.Gelu(x)", "y"),
    "QuickGelu": (X, "y = m.QuickGelu(x)", "y"),
    "QuickGelu of alpha": (X, "y = m.QuickGelu<alpha=0.5>(x)", "y"),
    "FusedMatMul": ("float[2,3,4] x, float[4,5] w", "y = m.FusedMatMul<alpha=0.5>(x, w)", "y"),
    "FusedMatMul, transposed": (
        "float[2,4,3] x, float[2,5,4] w",
        "y = m.FusedMatMul<transA=1, transB=1>(x, w)",
        "y",
    ),
    "FusedMatMul, batches transposed": (
        "float[4,2,3] x, float[2,5,3] w",
        "y = m.FusedMatMul<transBatchA=1, transB=1>(x, w)",
        "y",
    ),
    "FusedMatMul, all transposed": (
        "float[3,2,4] x, float[3,2,5] w",
        "y = m.FusedMatMul<transBatchA=1, transA=1, transBatchB=1>(x, w)",
        "y",
    ),
    "FusedMatMul of a vector": ("float[4] x, float[4,5] w", "y = m.FusedMatMul(x, w)", "y"),
    "FusedGemm": (
        "float[3,4] x, float[5,4] w, float[5] b",
        'y = m.FusedGemm<activation="Relu", transB=1, alpha=0.5, beta=2.0>(x, w, b)',
        "y",
    ),
    "FusedGemm, leaky": (
        "float[3,4] x, float[4,5] w",
        'y = m.FusedGemm<activation="LeakyRelu", activation_alpha=0.2>(x, w)',
        "y",
    ),
    **{
        f"FusedConv, {name}": (
            f"{IMAGE}, float[2,6,6,5] z",
            f'y = m.FusedConv<activation="{name}", group=2, pads=[1,1,1,1]{numbers}>(x, w, b{z})',
            "y",
        )
        for name, numbers, z in (
            ("Relu", "", ", z"),
            ("Tanh", "", ""),
            ("Sigmoid", "", ""),
            ("LeakyRelu", ", activation_params=[0.1]", ", z"),
            ("Clip", ", activation_params=[-0.5, 1.5]", ""),
            ("HardSigmoid", ", activation_params=[0.2, 0.4]", ""),
        )
    },
    "SimplifiedLayerNormalization": (
        f"{X}, {GAMMA}",
        "y = SimplifiedLayerNormalization(x, g)",
        "y",
    ),
    "SimplifiedLayerNormalization and its inverse": (
        f"{X}, float[5,8] g",
        "y, i = SimplifiedLayerNormalization<axis=1, epsilon=0.1>(x, g)",
        "y,i",
    ),
    "SkipLayerNormalization": (
        f"{X}, float[2,5,8] s, {GAMMA}, float[8] b, float[8] a",
        "y, m, i, t = m.SkipLayerNormalization<epsilon=0.01>(x, s, g, b, a)",
        "y,t",
    ),
    "SkipLayerNormalization of one skip": (
        f"{X}, float[5,8] s, {GAMMA}",
        "y = m.SkipLayerNormalization(x, s, g)",
        "y",
    ),
    "SkipSimplifiedLayerNormalization": (
        f"{X}, float[1,5,8] s, {GAMMA}, float[8] a",
        "y, m, i, t = m.SkipSimplifiedLayerNormalization<epsilon=0.01>(x, s, g, a)",
        "y,t",
    ),
    "EmbedLayerNormalization": (
        "int32[2,5] x, int32[2,5] s, float[9,8] w, float[9,8] p, float[9,8] q, float[8] g, float[8] b, "
        "int32[2,5] m",
        "y, i, e = m.EmbedLayerNormalization<epsilon=0.01>(x, s, w, p, q, g, b, m)",
        "y,i,e",
    ),
    "EmbedLayerNormalization of words and positions": (
        "int32[2,5] x, int32[1,5] o, float[9,8] w, float[9,8] p, float[8] g, float[8] b",
        "y, i = m.EmbedLayerNormalization(x, , w, p, , g, b, , o)",
        "y,i",
    ),
    **{
        f"Attention, {name}": (
            f"float[2,5,6] x, float[6,24] w, float[24] b{inputs}",
            f"y = m.Attention<num_heads=2{attributes}>(x, w, b{operands})",
            "y",
        )
        for name, inputs, attributes, operands in (
            ("plain", "", "", ""),
            ("causal", "", ", unidirectional=1", ""),
            ("lengths", ", int32[2] m", ", scale=0.3", ", m"),
            ("ends and begins", ", int32[4] m", "", ", m"),
            ("a mask of keys", ", int32[2,5] m", ", mask_filter_value=-1000.0", ", m"),
            ("a mask of all, causal", ", int32[2,5,5] m", ", unidirectional=1", ", m"),
            ("an added bias", ", float[1,2,5,5] a", "", ", , , a"),
        )
    },
    "Attention of other values": (
        "float[2,5,6] x, float[6,20] w, float[20] b",
        "y = m.Attention<num_heads=2, qkv_hidden_sizes=[8,8,4]>(x, w, b)",
        "y",
    ),
    "MultiHeadAttention": (
        "float[2,5,8] q, float[2,7,8] k, float[2,7,4] v, float[20] b, int32[2,7] m, float[2,1,5,7] a",
        "y = m.MultiHeadAttention<num_heads=2>(q, k, v, b, m, a)",
        "y",
    ),
    "MultiHeadAttention of heads": (
        "float[2,5,8] q, float[2,2,7,4] k, float[2,2,7,4] v, int32[2] m",
        "y = m.MultiHeadAttention<num_heads=2, scale=0.5>(q, k, v, , m)",
        "y",
    ),
    "MultiHeadAttention, causal": (
        "float[1,5,8] q, float[1,5,8] k, float[1,5,8] v",
        "y = m.MultiHeadAttention<num_heads=4, unidirectional=1>(q, k, v)",
        "y",
    ),
    "RotaryEmbedding": (
        "float[2,5,12] x, int64[2,5] p, float[9,2] c, float[9,2] s",
        "y = m.RotaryEmbedding(x, p, c, s)",
        "y",
    ),
    "RotaryEmbedding of neighbours, from a position": (
        "float[2,3,5,4] x, int64[1] p, float[9,2] c, float[9,2] s",
        "y = m.RotaryEmbedding<interleaved=1>(x, p, c, s)",
        "y",
    ),
    "RotaryEmbedding of a part": (
        "float[2,5,18] x, int64[1] p, float[9,2] c, float[9,2] s",
        "y = m.RotaryEmbedding<num_heads=3, rotary_embedding_dim=4>(x, p, c, s)",
        "y",
    ),
    **{
        f"QLinear{name} of {dtype}": (
            f"{dtype}[2,1,8] x, float xs, {dtype} a, {dtype}[5,8] w, float ws, {dtype} b, float ys, "
            f"{dtype} c",
            f"y = m.QLinear{name}(x, xs, a, w, ws, b, ys, c)",
            "y",
        )
        for name in ("Add", "Mul")
        for dtype in ("uint8", "int8")
    },
    "QLinearConcat": (
        "uint8[2,3] x, float xs, uint8 a, uint8[2,4] w, float ws, uint8 b, float ys, uint8 c",
        "y = m.QLinearConcat<axis=-1>(ys, c, x, xs, a, w, ws, b)",
        "y",
    ),
    "QLinearSigmoid": (
        "int8[4,9] x, float xs, int8 a, int8 c",
        "s = Constant<value=float {0.00390625}>() y = m.QLinearSigmoid(x, xs, a, s, c)",
        "y",
    ),
    "QLinearLeakyRelu": (
        "uint8[4,9] x, float xs, uint8 a, float ys, uint8 c",
        "y = m.QLinearLeakyRelu<alpha=0.2>(x, xs, a, ys, c)",
        "y",
    ),
    "QLinearAveragePool": (
        "uint8[2,3,6,5] x, float xs, uint8 a, float ys, uint8 c",
        "y = m.QLinearAveragePool<kernel_shape=[3,2], pads=[1,0,1,1], strides=[2,1]>(x, xs, a, ys, c)",
        "y",
    ),
    "QLinearGlobalAveragePool": (
        "uint8[2,3,6,5] x, float xs, uint8 a, float ys, uint8 c",
        "y = m.QLinearGlobalAveragePool(x, xs, a, ys, c)",
        "y",
    ),
    "QLinearGlobalAveragePool, channels last": (
        "uint8[2,6,5,3] x, float xs, uint8 a, float ys, uint8 c",
        "y = m.QLinearGlobalAveragePool<channels_last=1>(x, xs, a, ys, c)",
        "y",
    ),
}


def parse(inputs: str, nodes: str, outputs: str) -> onnx.ModelProto:
    nodes = nodes.replace(" m.", " com.microsoft.")
    results = ", ".join(f"float[] {name}" for name in outputs.split(","))
    opsets = '"" : 17, "com.microsoft" : 1'
    text = f"<ir_version: 8, opset_import: [{opsets}]> g ({inputs}) => ({results}) {{ {nodes} }}"
    model = onnx.parser.parse_model(text)
    for info in model.graph.output:
        info.type.tensor_type.ClearField("shape")
        if info.name == "i" and "Embed" in nodes:
            info.type.tensor_type.elem_type = onnx.TensorProto.INT32
        if "QLinear" in nodes and info.name == "y":
            info.type.tensor_type.elem_type = model.graph.input[0].type.tensor_type.elem_type
    return model


def inputs_of(model: onnx.ModelProto) -> dict[str, Array]:
    """Normal numbers, positive ones where the name is long; whole numbers from 0 to 4."""
    rng = np.random.default_rng(0)
    found: dict[str, Array] = {}
    for info in model.graph.input:
        kind = info.type.tensor_type
        shape = tuple(dim.dim_value for dim in kind.shape.dim)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if dtype.kind == "f":
            numbers = np.asarray(rng.standard_normal(shape), dtype)
            found[info.name] = (
                np.asarray(np.abs(numbers) * 0.1, dtype) if len(info.name) > 1 else numbers
            )
        elif dtype.itemsize == 1:
            limits = np.iinfo(dtype)
            found[info.name] = np.asarray(rng.integers(limits.min, limits.max, shape), dtype)
        else:
            found[info.name] = rng.integers(0, 5, shape).astype(dtype)
    return found


def evaluate(model: onnx.ModelProto, inputs: dict[str, Array]) -> list[Array]:
    context = new_context()
    module = import_onnx(model, context)
    verify_module(module)
    return execute(module, list(inputs.values()), context)


@pytest.mark.every_case(reason="each is a converter or an attribute of its own")
@pytest.mark.parametrize("name", CASES)
def test_as_onnxruntime(name: str) -> None:
    model = parse(*CASES[name])
    inputs = inputs_of(model)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session: Any = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    wanted = session.run(None, inputs)
    for a, b in zip(evaluate(model, inputs), wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
            continue
        # Halves may round the other way.
        off = np.abs(a.astype(np.int64) - b)
        assert off.max() <= (a.dtype.itemsize == 1)
        assert off.mean() < 0.02


@pytest.mark.parametrize(
    "name",
    ["Attention, a mask of keys", "RotaryEmbedding", "QLinearAdd of uint8", "FusedConv, Clip"],
)
def test_compiled(name: str) -> None:
    model = parse(*CASES[name])
    inputs = inputs_of(model)
    (wanted,) = evaluate(model, inputs)
    found = inarch.compile(model)(*inputs.values())
    np.testing.assert_allclose(
        found, wanted, rtol=1e-4, atol=1e-5 if found.dtype.kind == "f" else 1
    )


def test_every_converter_has_a_case() -> None:
    ours = {name for name in converters() if name.startswith("com.microsoft.")}
    tested = {node.op_type for case in CASES.values() for node in parse(*case).graph.node}
    elsewhere = {"DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"}
    elsewhere |= {"QAttention", "QGemm", "QLinearSoftmax", "QLinearWhere"}
    elsewhere |= {"DequantizeLinear", "GatherBlockQuantized", "MatMulNBits", "QuantizeLinear"}
    assert {name.rpartition(".")[2] for name in ours} - tested - elsewhere == set()


def line(inputs: str, nodes: str, outputs: str = "y") -> str:
    with pytest.raises(InarchError) as caught:
        import_onnx(parse(inputs, nodes, outputs), new_context())
    return caught.value.line()


WRONG: dict[tuple[str, str], str] = {
    (X, "y = m.QuickGelu<beta=0.5>(x)"): "expected attributes among alpha; found 'beta'",
    (X, "y = m.Gelu(x, x)"): "expected 1 inputs, found 2",
    (f"{X}, float[5] g", "y = m.BiasGelu(x, g)"): "expected a bias of shape (8,), found (5,)",
    (
        "float[3,4] x, float[4,5] w",
        'y = m.FusedGemm<activation="LeakyRelu">(x, w)',
    ): "expected 1 numbers of LeakyRelu, found []",
    (
        f"{X}, float[2,4,8] s, {GAMMA}",
        "y = m.SkipLayerNormalization(x, s, g)",
    ): "expected a skip as large as the input (2, 5, 8), found shape (2, 4, 8)",
    (
        f"{X}, float[2,5,8] s, float[5] g",
        "y = m.SkipLayerNormalization(x, s, g)",
    ): "expected gamma of shape (8,), found (5,)",
    (
        "float[2,5,6] x, float[6,24] w",
        "y = m.Attention(x, w)",
    ): "expected attribute 'num_heads', found none",
    (
        "float[2,5,6] x, float[6,24] w",
        "y = m.Attention<num_heads=3>(x, w)",
    ): "expected num_heads that divides 8, found 3",
    (
        "float[2,5,12] x, int64[1] p, float[9,2] c, float[9,2] s",
        "y = m.RotaryEmbedding<num_heads=2>(x, p, c, s)",
    ): "expected heads that fit 2 pairs, found shape (2, 5, 12), num_heads = 2 and rotary_embedding_dim = 0",
}


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize("case", WRONG)
def test_wrong(case: tuple[str, str]) -> None:
    op = case[1].partition("m.")[2].partition("(")[0].partition("<")[0]
    assert line(*case) == f"<model>: node 'y' ({op}): error: {WRONG[case]}"


REFUSED: dict[tuple[str, str, str], str] = {
    (
        "float[3,4] x, float[4,5] w",
        'y = m.FusedGemm<activation="Softmax">(x, w)',
        "y",
    ): "activation Softmax",
    (
        f"{X}, float[2,5,8] s, {GAMMA}",
        "y, a = m.SkipLayerNormalization(x, s, g)",
        "y,a",
    ): "mean and inv_std_var",
    (
        "float[2,5,6] x, float[6,24] w, float[24] b, float[2,2,2,1,4] p",
        "y = m.Attention<num_heads=2>(x, w, b, , p)",
        "y",
    ): "past",
    (
        "float[2,5,6] x, float[6,24] w, float[24] b",
        "y, p = m.Attention<num_heads=2>(x, w, b)",
        "y,p",
    ): "outputs of what is present, or of scores",
    (
        "float[2,5,6] x, float[6,24] w, float[24] b, int32[2,1,9,9] m",
        "y = m.Attention<num_heads=2>(x, w, b, m)",
        "y",
    ): "a mask of shape (2, 1, 9, 9) for scores (2, 2, 5, 5)",
    (
        "float[2,5,2,3,4] q",
        "y = m.MultiHeadAttention<num_heads=2>(q)",
        "y",
    ): "packed queries, keys or values",
    (
        "float[2,5,12] x, int64[1] p, float[9,2] c, float[9,2] s",
        "y = m.RotaryEmbedding<scale=0.5>(x, p, c, s)",
        "y",
    ): "scale",
    (
        "uint8[4] x, float[4] s, uint8 a, float t, uint8 c",
        "y = m.QLinearSigmoid(x, s, a, t, c)",
        "y",
    ): "a scale or zero point of shape (4,)",
    (
        "uint8[2,6,5,3] x, float s, uint8 a, float t, uint8 c",
        "y = m.QLinearAveragePool<channels_last=1, kernel_shape=[3,2]>(x, s, a, t, c)",
        "y",
    ): "channels_last",
}


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: tuple[str, str, str]) -> None:
    op = case[1].partition("m.")[2].partition("(")[0].partition("<")[0]
    assert line(*case) == f"<model>: error: unsupported: {op}: {REFUSED[case]} ('y')"
