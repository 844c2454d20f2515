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
            numbers = rng.standard_normal(shape).astype(dtype)
            found[info.name] = np.abs(numbers) * 0.1 if len(info.name) > 1 else numbers
        elif dtype.itemsize == 1:
            limits = np.iinfo(dtype)
            found[info.name] = rng.integers(limits.min, limits.max, shape).astype(dtype)
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
        atol = 1e-5 if a.dtype.kind == "f" else 0
        np.testing.assert_allclose(a, b, rtol=1e-4 if atol else 0, atol=atol)


def test_every_converter_has_a_case() -> None:
    ours = {name for name in converters() if name.startswith("com.microsoft.")}
    tested = {node.op_type for case in CASES.values() for node in parse(*case).graph.node}
    elsewhere = {"DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"}
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
}


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: tuple[str, str, str]) -> None:
    op = case[1].partition("m.")[2].partition("(")[0].partition("<")[0]
    assert line(*case) == f"<model>: error: 1 unsupported: {op}: {REFUSED[case]} (1: 'y')"
