"""Each value of an attribute means what onnxruntime means by it: those that one case an operator leaves out."""

# Onnxruntime is untyped:
# ruff: noqa: E501 - a case reads better with its line unbroken
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import inarch
from inarch.dialects import new_context
from inarch.frontends.onnx import import_onnx
from inarch.testing import execute

pytestmark = pytest.mark.every_case(reason="each is the only one that sees some fault")

Array = np.ndarray[Any, Any]
X = "float[2,3,8,8] x"
SIZES = "s = Constant<value=int64[4] {2,3,5,16}>()"
HALVES = "s = Constant<value=float[4] {1,1,2,0.5}>()"


def resize(options: str, sizes: str = SIZES, *, scales: bool = False) -> tuple[int, str, str]:
    return 18, X, f"{sizes} y = Resize<{options}>(x, , {'s' if scales else ', s'})"


CASES: dict[str, tuple[int, str, str]] = {
    **{
        f"Resize, nearest by {mode} and {where}": resize(
            f'nearest_mode="{mode}", coordinate_transformation_mode="{where}"', HALVES, scales=True
        )
        for mode in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
        for where in ("asymmetric", "half_pixel")
    },
    **{
        f"Resize, linear and {where}": resize(
            f'mode="linear", coordinate_transformation_mode="{where}"'
        )
        for where in (
            "align_corners", "asymmetric", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel"
        )
    },
    **{
        f"Resize, {policy}": resize(
            f'keep_aspect_ratio_policy="{policy}", axes=[2,3]', "s = Constant<value=int64[2] {4,12}>()"
        )
        for policy in ("stretch", "not_larger", "not_smaller")
    },
    "Resize, the other size is rounded": (18, "float[1,1,5,8] x", "s = Constant<value=int64[2] {3,8}>() "
        'y = Resize<keep_aspect_ratio_policy="not_larger", axes=[2,3]>(x, , , s)'),
    "Resize, linear and half_pixel_symmetric, by a scale that is rounded down": resize(
        'mode="linear", coordinate_transformation_mode="half_pixel_symmetric"',
        "s = Constant<value=float[4] {1,1,0.7,1.3}>()", scales=True),
    "Resize, cubic without what is outside": resize('mode="cubic", exclude_outside=1'),
    "Resize, cubic": resize('mode="cubic", cubic_coeff_a=-0.6'),
    "Resize, to one": resize('mode="linear", coordinate_transformation_mode="pytorch_half_pixel"',
                             "s = Constant<value=int64[4] {2,3,1,1}>()"),
    "Slice backwards past the begin": (13, X, """a = Constant<value=int64[2] {7,-1}>()
        b = Constant<value=int64[2] {-100,1}>() c = Constant<value=int64[2] {2,3}>()
        d = Constant<value=int64[2] {-2,-3}>() y = Slice(x, a, b, c, d)"""),
    "Split of unequal sizes": (18, X, "a, y = Split<axis=3, num_outputs=2>(x)"),
    "Split, the last is smaller": (18, "float[2,7] x", "a, b, y = Split<axis=1, num_outputs=3>(x)"),
    "Pad, each side by another number": (13, "float[2,3] x", """p = Constant<value=int64[4] {1,0,2,3}>()
        c = Constant<value=float {1.5}>() y = Pad(x, p, c)"""),
    "Pad, of some axes": (18, "float[2,3] x", """p = Constant<value=int64[2] {1,2}>()
        c = Constant<value=float {1.5}>() a = Constant<value=int64[1] {-1}>() y = Pad(x, p, c, a)"""),
    "Pad, reflected": (13, "float[3,4] x", "p = Constant<value=int64[4] {1,2,0,1}>() y = Pad<mode=\"reflect\">(x, p)"),
    "Pad, cut and padded": (13, "float[4,4] x", "p = Constant<value=int64[4] {-1,2,1,-2}>() y = Pad(x, p)"),
    "Gemm, both transposed": (13, "float[4,3] a, float[5,4] b, float[5] c",
                              "y = Gemm<transA=1, transB=1, alpha=0.5, beta=2.0>(a, b, c)"),
    "Gemm, the left one transposed": (13, "float[4,3] a, float[4,5] b", "y = Gemm<transA=1>(a, b)"),
    "MatMul of a row": (13, "float[4] a, float[2,4,5] b", "y = MatMul(a, b)"),
    "MatMul of a column": (13, "float[2,5,4] a, float[4] b", "y = MatMul(a, b)"),
    "LRN": (13, "float[1,6,2,2] x", "y = LRN<size=3, alpha=2.0, beta=0.5, bias=1.5>(x)"),
    "CumSum, reversed and without itself": (14, "float[3,5] x",
        "a = Constant<value=int64 {1}>() y = CumSum<reverse=1, exclusive=1>(x, a)"),
    "CumSum, reversed": (14, "float[3,5] x", "a = Constant<value=int64 {1}>() y = CumSum<reverse=1>(x, a)"),
    "Trilu below": (14, "float[4,5] x", "k = Constant<value=int64 {1}>() y = Trilu<upper=0>(x, k)"),
    "Trilu above": (14, "float[4,5] x", "k = Constant<value=int64 {-1}>() y = Trilu<upper=1>(x, k)"),
    "Softmax of opset 11": (11, "float[2,3,4] x", "y = Softmax<axis=1>(x)"),
    "ReduceSum of no axes": (13, "float[2,3] x", "a = Constant<value=int64[0] {}>() y = ReduceSum<noop_with_empty_axes=1>(x, a)"),
    "ReduceLogSumExp without the axis": (13, "float[2,3] x", "y = ReduceLogSumExp<axes=[1], keepdims=0>(x)"),
    "ConvTranspose, cut unevenly": (13, "float[1,2,4,5] x, float[2,3,3,2] w",
        "y = ConvTranspose<strides=[2,3], pads=[1,0,0,1], output_padding=[1,2]>(x, w)"),
    "ConvTranspose of groups, dilated": (13, "float[1,4,4,5] x, float[4,2,3,2] w",
        "y = ConvTranspose<group=2, dilations=[2,1]>(x, w)"),
    "ConvTranspose, same": (13, "float[1,2,4,5] x, float[2,3,3,4] w",
        'y = ConvTranspose<strides=[2,2], auto_pad="SAME_UPPER">(x, w)'),
    "Conv, same below": (13, f"{X}, float[4,3,4,2] w", 'y = Conv<strides=[1,2], auto_pad="SAME_LOWER">(x, w)'),
    "Conv, same above": (13, f"{X}, float[4,3,2,3] w", 'y = Conv<auto_pad="SAME_UPPER">(x, w)'),
    "GatherElements from the end": (13, "float[3,4] x",
        "i = Constant<value=int64[2,3] {0,-1,2,1,-3,0}>() y = GatherElements<axis=0>(x, i)"),
    "GatherND of batches": (13, "float[2,3,4] x",
        "i = Constant<value=int64[2,1] {1,-1}>() y = GatherND<batch_dims=1>(x, i)"),
    "OneHot in the middle, from the end": (13, "float[2,3] x",
        "i = Constant<value=int64[2,3] {0,1,-1,3,2,-4}>() d = Constant<value=int64 {4}>() "
        "v = Constant<value=float[2] {-1.5,2.5}>() y = OneHot<axis=1>(i, d, v)"),
    "QuantizeLinear by rows": (13, "float[3,4] x",
        "s = Constant<value=float[3] {0.1,0.25,0.5}>() z = Constant<value=uint8[3] {0,128,7}>() "
        "y = QuantizeLinear<axis=0>(x, s, z)"),
    "QuantizeLinear of halves beside an odd zero point": (13, "int32[8] x",
        "f = Cast<to=1>(x) h = Constant<value=float {0.5}>() t = Mul(f, h) s = Constant<value=float {1.0}>() "
        "z = Constant<value=uint8 {7}>() y = QuantizeLinear(t, s, z)"),
    "DequantizeLinear by rows": (13, "uint8[3,4] x",
        "s = Constant<value=float[3] {0.1,0.25,0.5}>() z = Constant<value=uint8[3] {0,128,7}>() "
        "y = DequantizeLinear<axis=0>(x, s, z)"),
    "Expand of both": (13, "float[3,1] x", "s = Constant<value=int64[3] {2,1,4}>() y = Expand(x, s)"),
    "Flatten at the end": (13, "float[2,3] x", "y = Flatten<axis=2>(x)"),
    "Reshape that keeps a size": (13, "float[2,3,4] x", "s = Constant<value=int64[2] {0,-1}>() y = Reshape(x, s)"),
    "Transpose without perm": (13, "float[2,3,4] x", "y = Transpose(x)"),
    "Shrink": (9, "float[9] x", "y = Shrink<bias=0.25, lambd=0.3>(x)"),
    "HardSigmoid of its own slope": (13, "float[9] x", "y = HardSigmoid<alpha=0.4, beta=0.3>(x)"),
    "PRelu of channels": (13, X + ", float[3,1,1] s", "y = PRelu(x, s)"),
    "LayerNormalization of two axes": (17, "float[2,3,4] x, float[3,4] s",
        "y = LayerNormalization<axis=1, epsilon=0.1>(x, s)"),
    "LpNormalization of 1": (13, "float[3,4] x", "y = LpNormalization<axis=0, p=1>(x)"),
    "LpPool of 3": (13, "float[1,2,4,4] x", "y = LpPool<kernel_shape=[2,3], p=3>(x)"),
    "Mean of three": (13, "float[4] a, float[4] b, float[4] c", "y = Mean(a, b, c)"),
    "Pow of integers": (13, "int32[6] x", "p = Constant<value=int32 {5}>() y = Pow(x, p)"),
    "Pow of 64 bits": (13, "int64[6] x, int64[6] p", "y = Pow(x, p)"),
    "Pow of 64 bits by a fraction": (13, "int64[6] x, float[6] p", "f = Abs(p) y = Pow(x, f)"),
    "ReduceL2 of integers": (13, "int32[3,4] x", "y = ReduceL2<axes=[1]>(x)"),
    "ReduceLogSum of integers": (13, "int32[3,4] x",
        "o = Constant<value=int32 {1}>() z = Add(x, o) y = ReduceLogSum<axes=[0]>(z)"),
    "ReduceLogSumExp of integers": (13, "int32[3,4] x", "y = ReduceLogSumExp<axes=[0], keepdims=0>(x)"),
    "Shrink of 64 bits": (9, "int64[9] x", "y = Shrink<bias=1.0, lambd=1.5>(x)"),
    "DynamicQuantizeLinear of zeros": (13, "float[4] x", "z = Sub(x, x) q, y, p = DynamicQuantizeLinear(z)"),
    "IsInf of one sign": (13, "float[4] x", "z = Sub(x, x) y0 = Div(x, z) b = IsInf<detect_negative=0>(y0) y = Cast<to=6>(b)"),
}  # fmt: skip


DILATED = {
    "Conv": ", float[4,3,2,3] w",
    "MaxPool": "",
    "AveragePool": "",
    "LpPool": "",
    "ConvTranspose": ", float[3,4,2,3] w",
}


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("op", DILATED)
def test_same_is_of_dilated_windows(op: str, mode: str) -> None:
    """By their own pads, as onnxruntime refuses some: windows of 2 and 3 are 3 and 5 wide, 2 and 3 too much."""
    more = DILATED[op]
    operands = "(x, w)" if more else "(x)"
    window = "dilations=[2,2], strides=[1,2]" + ("" if more else ", kernel_shape=[2,3]")
    pads = "1,1,1,2" if mode == "SAME_UPPER" else "1,2,1,1"
    model, given = read(22, X + more, f'y = {op}<auto_pad="{mode}", {window}>{operands}')
    padded, _ = read(22, X + more, f"y = {op}<pads=[{pads}], {window}>{operands}")
    compare(model, given, by_onnxruntime(padded, given))


@pytest.mark.parametrize("name", CASES)
def test_means_what_onnxruntime_means(name: str) -> None:
    model, given = read(*CASES[name])
    compare(model, given, by_onnxruntime(model, given))


def read(opset: int, inputs: str, nodes: str) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """The model of some nodes, and arrays for it."""
    text = (
        f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => (float[] y) {{ {nodes} }}'
    )
    model = onnx.parser.parse_model(text)
    model.graph.output[0].ClearField("type")
    model = onnx.shape_inference.infer_shapes(model)
    return model, arrays(model)


def by_onnxruntime(model: onnx.ModelProto, given: dict[str, Array]) -> Array:
    """What it computes."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, given)[0])


def compare(model: onnx.ModelProto, given: dict[str, Array], expected: Array) -> None:
    """With what the definitions compute."""
    context = new_context()
    (found,) = execute(import_onnx(model, context), list(given.values()), context)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def arrays(model: onnx.ModelProto) -> dict[str, Array]:
    generator = np.random.default_rng(0)
    found: dict[str, Array] = {}
    for info in model.graph.input:
        kind = info.type.tensor_type
        shape = tuple(dim.dim_value for dim in kind.shape.dim)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if dtype.kind == "f":
            found[info.name] = generator.standard_normal(shape).astype(dtype)
        else:
            found[info.name] = generator.integers(0, 5, shape).astype(dtype)
    return found


@pytest.mark.parametrize("size", [1, 2, 3])
def test_windows_that_run_over_the_end(size: int) -> None:
    """With ceil_mode there is a window that begins inside, however small the image is; compiled."""
    nodes: list[str] = []
    pools = ("MaxPool<", "AveragePool<", "AveragePool<count_include_pad=1, ")
    for pool, taps, stride, dilation, pad in product(pools, (2, 3), (1, 2, 3), (1, 2), (0, 1)):
        extent = (taps - 1) * dilation + 1
        if size + pad < extent - stride + 1 or (pad and dilation > 1):
            continue  # there is none, or none of its taps is inside
        attributes = f"kernel_shape=[{taps}], strides=[{stride}], dilations=[{dilation}]"
        nodes.append(f"{pool}{attributes}, pads=[{pad},0], ceil_mode=1>(x)")
    outputs = ", ".join(f"float[1,2,n] y{at}" for at in range(len(nodes)))
    text = " ".join(f"y{at} = {node}" for at, node in enumerate(nodes))
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 19]> g (float[1,2,{size}] x) => ({outputs}) {{ {text} }}'
    )
    x = np.random.default_rng(size).standard_normal((1, 2, size)).astype(np.float32) - 2
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    expected = session.run(None, {"x": x})
    assert len(nodes) > 10
    for node, found, wanted in zip(nodes, inarch.compile(model)(x), expected, strict=True):
        np.testing.assert_allclose(found, np.asarray(wanted), rtol=1e-6, err_msg=node)
