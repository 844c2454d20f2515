"""Every converter against onnxruntime: the imported graph, evaluated by its ops' NumPy references."""

# Onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from inarch.dialects import new_context
from inarch.frontends.onnx import import_onnx
from inarch.frontends.onnx.ops import converters
from inarch.ir.verify import verify_module
from inarch.testing import execute
from inarch.testing.results import results_by_name

Array = np.ndarray[Any, Any]

X = "float[2,3,8,8] x"
CASES: dict[str, tuple[int, str, str]] = {
    # name: opset, inputs, nodes that make y
    "Abs": (13, X, "y = Abs(x)"),
    "Acos": (13, X, "s = Sin(x) y = Acos(s)"),
    "Acosh": (13, X, "s = Cosh(x) y = Acosh(s)"),
    "Add": (13, f"{X}, float[3,1,8] b", "y = Add(x, b)"),
    "And": (13, "bool[2,3] a, bool[3] b", "y = And(a, b)"),
    "ArgMax": (13, X, "y = ArgMax<axis=2, keepdims=0>(x)"),
    "ArgMax, the last of equals": (
        13,
        "int32[4,9] x",
        "y = ArgMax<axis=1, select_last_index=1>(x)",
    ),
    "ArgMin": (13, "int32[4,9] x", "y = ArgMin<axis=-1>(x)"),
    "Asin": (13, X, "s = Sin(x) y = Asin(s)"),
    "Asinh": (13, X, "y = Asinh(x)"),
    "Atan": (13, X, "y = Atan(x)"),
    "Atanh": (13, X, "s = Tanh(x) y = Atanh(s)"),
    "AveragePool": (11, X, "y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]>(x)"),
    "AveragePool with its padding": (
        11,
        X,
        "y = AveragePool<kernel_shape=[3,2], pads=[1,0,1,1], count_include_pad=1>(x)",
    ),
    "AveragePool, same": (11, X, 'y = AveragePool<kernel_shape=[3,4], auto_pad="SAME_LOWER">(x)'),
    "BatchNormalization": (
        15,
        f"{X}, float[3] s, float[3] b, float[3] m, float[3] v",
        "w = Abs(v) y = BatchNormalization<epsilon=0.01>(x, s, b, m, w)",
    ),
    "BitShift": (11, "uint8[9] x, uint8[9] b", 'y = BitShift<direction="LEFT">(x, b)'),
    "BitShift to the right": (
        11,
        "uint32[3,9] x, uint32[9] b",
        'c = Constant<value=uint32 {1000}>() z = Mul(x, c) y = BitShift<direction="RIGHT">(z, b)',
    ),
    "BitwiseAnd": (18, "int32[2,9] x, int32[9] b", "y = BitwiseAnd(x, b)"),
    "BitwiseNot": (18, "int8[9] x", "y = BitwiseNot(x)"),
    "BitwiseOr": (18, "int32[2,9] x, int32[9] b", "y = BitwiseOr(x, b)"),
    "BitwiseXor": (18, "int32[2,9] x, int32[9] b", "y = BitwiseXor(x, b)"),
    "Cast": (13, X, "i = Cast<to=6>(x) y = Cast<to=1>(i)"),
    "Cast to bool": (13, "int32[9] x", "y = Cast<to=9>(x)"),
    "CastLike": (15, "float[4] x, int64[2] t", "y = CastLike(x, t)"),
    "Ceil": (13, X, "y = Ceil(x)"),
    "Clip": (
        13,
        X,
        "l = Constant<value=float {-0.5}>() h = Constant<value=float {0.7}>() y = Clip(x, l, h)",
    ),
    "Clip at run time": (13, f"{X}, float l", "y = Clip(x, l)"),
    "Clip at infinity": (
        13,
        X,
        "h = Constant<value=float {0.5}>() i = Log(h) z = Sub(h, h) l = Log(z) y = Clip(x, l, h)",
    ),
    "Clip of opset 6": (6, X, "y = Clip<min=-0.5, max=0.5>(x)"),
    "Clip of nothing": (13, X, "z = Clip(x) y = Neg(z)"),
    "Col2Im": (
        18,
        "float[2,12,5] x",
        "i = Constant<value=int64[2] {5,5}>() b = Constant<value=int64[2] {1,6}>() "
        "y = Col2Im<pads=[0,1,0,1], dilations=[1,1], strides=[1,2]>(x, i, b)",
    ),
    "Col2Im, dilated": (
        18,
        "float[1,12,16] x",
        "i = Constant<value=int64[2] {6,5}>() b = Constant<value=int64[2] {2,3}>() "
        "y = Col2Im<pads=[1,0,0,1], dilations=[3,1]>(x, i, b)",
    ),
    "Compress": (
        11,
        "float[2,3] x",
        "c = Constant<value=int64[5] {0,1,1,0,1}>() b = Cast<to=9>(c) y = Compress(x, b)",
    ),
    "Compress along an axis": (
        11,
        "float[2,3,2] x",
        "c = Constant<value=int64[2] {0,1}>() b = Cast<to=9>(c) y = Compress<axis=-2>(x, b)",
    ),
    "Compress by a condition that is computed": (
        11,
        "float[2,3] x",
        "n = Constant<value=float {0.0}>() f = Flatten<axis=0>(x) r = Squeeze<axes=[0]>(f) b = Greater(r, n) "
        "y = Compress(x, b)",
    ),
    "NonMaxSuppression": (
        13,
        "float[2,7,4] x, float[2,3,7] z",
        "m = Constant<value_int=3>() i = Constant<value_float=0.1>() l = Constant<value_float=0.2>() "
        "y = NonMaxSuppression(x, z, m, i, l)",
    ),
    "NonZero": (13, "int64[3,4] x", "y = NonZero(x)"),
    "Unique": (11, "int64[3,4] x", "y = Unique(x)"),
    "Unique in the order of x": (11, "int64[3,4] x", "y = Unique<sorted=0>(x)"),
    "Unique columns": (11, "int64[2,9] x", "y = Unique<axis=1>(x)"),
    "Concat": (13, f"{X}, float[2,1,8,8] b", "y = Concat<axis=-3>(x, b, x)"),
    "Constant": (13, "float[3] x", "c = Constant<value_floats=[1.0, 2.0, 4.0]>() y = Mul(x, c)"),
    "Constant, an integer": (13, "int64[3] x", "c = Constant<value_int=7>() y = Mul(x, c)"),
    "ConstantOfShape": (
        13,
        "float[3] x",
        "s = Shape(x) c = ConstantOfShape<value=float[1] {2.5}>(s) y = Add(c, x)",
    ),
    "ConstantOfShape, large": (
        13,
        "float[90,90] x",
        "s = Shape(x) c = ConstantOfShape(s) y = Add(c, x)",
    ),
    "Conv": (
        11,
        f"{X}, float[4,3,3,3] w, float[4] b",
        "y = Conv<pads=[1,1,1,1], strides=[2,1]>(x, w, b)",
    ),
    "Conv of groups": (11, f"{X}, float[6,1,3,3] w", "y = Conv<group=3, dilations=[2,2]>(x, w)"),
    "Conv, same upper": (
        11,
        f"{X}, float[4,3,3,2] w",
        'y = Conv<auto_pad="SAME_UPPER", strides=[2,2]>(x, w)',
    ),
    "Conv, valid": (11, f"{X}, float[4,3,3,2] w", 'y = Conv<auto_pad="VALID">(x, w)'),
    "Conv of one dimension": (11, "float[1,2,9] x, float[3,2,4] w", "y = Conv<pads=[2,1]>(x, w)"),
    "ConvTranspose": (
        11,
        f"{X}, float[3,4,3,2] w, float[4] b",
        "y = ConvTranspose<strides=[2,3], pads=[1,0,0,1], output_padding=[1,0]>(x, w, b)",
    ),
    "ConvTranspose of groups": (
        11,
        "float[2,6,5] x, float[6,2,4] w",
        "y = ConvTranspose<group=3, dilations=[2], pads=[7,0]>(x, w)",
    ),
    "ConvTranspose to a shape": (
        11,
        f"{X}, float[3,1,3,3] w",
        "y = ConvTranspose<strides=[2,2], output_shape=[15,16]>(x, w)",
    ),
    "ConvTranspose of more phases than 64": (
        11,
        f"{X}, float[3,2,3,9] w, float[2] b",
        "y = ConvTranspose<strides=[9,8], pads=[1,0,0,1], output_padding=[1,0]>(x, w, b)",
    ),
    "ConvTranspose, same upper": (
        11,
        f"{X}, float[3,1,4,4] w",
        'y = ConvTranspose<strides=[3,1], auto_pad="SAME_UPPER">(x, w)',
    ),
    "ConvInteger": (
        10,
        "uint8[1,2,5,5] x, uint8[3,2,3,3] w, uint8 a, uint8 b",
        "y = ConvInteger<pads=[1,1,0,0], strides=[2,1]>(x, w, a, b)",
    ),
    "Cos": (13, X, "y = Cos(x)"),
    "Cosh": (13, X, "y = Cosh(x)"),
    "CumProd": (26, "float[3,5] x", "a = Constant<value=int64 {1}>() y = CumProd<reverse=1>(x, a)"),
    "CumSum": (14, "float[3,5] x", "a = Constant<value=int64 {-1}>() y = CumSum(x, a)"),
    "CumSum of what is before": (
        14,
        "int32[6,2] x",
        "a = Constant<value=int32 {0}>() y = CumSum<exclusive=1, reverse=1>(x, a)",
    ),
    "DequantizeLinear": (13, "uint8[9] x, float s, uint8 z", "y = DequantizeLinear(x, s, z)"),
    "DequantizeLinear along an axis": (
        13,
        "int8[3,4] x, float[4] s",
        "y = DequantizeLinear<axis=-1>(x, s)",
    ),
    "DequantizeLinear of blocks": (
        21,
        "int8[3,4] x, float[3,2] s, int8[3,2] z",
        "y = DequantizeLinear<block_size=2>(x, s, z)",
    ),
    "DynamicQuantizeLinear": (11, X, "y, s, z = DynamicQuantizeLinear(x)"),
    **{f"Det of {n}": (22, f"float[3,{n},{n}] x", "y = Det(x)") for n in (1, 2, 3, 4)},
    "DFT": (
        20,
        "float[2,6,3,1] x",
        "n = Constant<value=int64 {5}>() a = Constant<value=int64 {1}>() y = DFT(x, n, a)",
    ),
    "DFT, onesided": (
        20,
        "double[2,7,1] x",
        "n = Constant<value=int64 {8}>() y = DFT<onesided=1>(x, n)",
    ),
    "DFT of complex numbers, inverse": (17, "float[2,5,4,2] x", "y = DFT<inverse=1, axis=2>(x)"),
    "DeformConv": (
        19,
        f"{X}, float[4,3,3,2] w, float[2,12,8,8] o",
        "y = DeformConv<pads=[1,0,1,1]>(x, w, o)",
    ),
    "DepthToSpace": (11, "float[2,12,2,3] x", "y = DepthToSpace<blocksize=2>(x)"),
    "DepthToSpace, depth first": (
        13,
        "float[2,12,2,3] x",
        'y = DepthToSpace<blocksize=2, mode="CRD">(x)',
    ),
    "SpaceToDepth": (13, "float[2,3,4,6] x", "y = SpaceToDepth<blocksize=2>(x)"),
    "Div": (13, f"{X}, float[8] b", "y = Div(x, b)"),
    "Div of integers": (13, "int32[9] x", "c = Constant<value=int32 {3}>() y = Div(x, c)"),
    "Dropout": (13, X, "z = Dropout(x) y = Neg(z)"),
    "Einsum": (12, "float[2,3,4] x, float[5,4,2] b", 'y = Einsum<equation="bij,kjb->bki">(x, b)'),
    "Einsum of three": (
        12,
        "float[3,4] x, float[4,5] b, float[3] c",
        'y = Einsum<equation="ij, jk, i -> ki">(x, b, c)',
    ),
    "Einsum of a trace": (12, "float[2,3,3] x", 'y = Einsum<equation="...ii">(x)'),
    "Einsum of batches": (
        12,
        "float[2,1,3,4] x, float[1,5,4,6] b",
        'y = Einsum<equation="...ij,...jk">(x, b)',
    ),
    "Elu": (6, X, "y = Elu<alpha=0.7>(x)"),
    "Equal": (13, "int32[3,4] x, int32[4] b", "y = Equal(x, b)"),
    "Erf": (13, X, "y = Erf(x)"),
    "Exp": (13, X, "y = Exp(x)"),
    "Expand": (13, "float[3,1] x", "s = Constant<value=int64[3] {2,1,4}>() y = Expand(x, s)"),
    "EyeLike": (13, "int64[3,4] x", "e = EyeLike<k=-1>(x) y = Add(x, e)"),
    "Flatten": (13, X, "y = Flatten<axis=-2>(x)"),
    "Flatten into a column": (13, X, "y = Flatten<axis=4>(x)"),
    "Floor": (13, X, "y = Floor(x)"),
    "GRU": (
        14,
        "float[4,2,3] x, float[1,15,3] w, float[1,15,5] r, float[1,30] b, int32[2] l, float[1,2,5] h",
        "c = Constant<value=int32[2] {4,2}>() y, z = GRU<hidden_size=5>(x, w, r, b, c, h)",
    ),
    "GRU, its last state, the other way": (
        14,
        "float[4,2,3] x, float[1,15,3] w, float[1,15,5] r, float[1,30] b",
        'z, y = GRU<hidden_size=5, linear_before_reset=1, direction="reverse">(x, w, r, b)',
    ),
    "Gather": (13, X, "i = Constant<value=int64[2,2] {0,-1,2,1}>() y = Gather<axis=1>(x, i)"),
    "GatherElements": (
        13,
        "float[3,4] x",
        "i = Constant<value=int64[2,4] {0,-1,2,1,1,1,0,2}>() y = GatherElements<axis=0>(x, i)",
    ),
    "GatherND": (
        13,
        "float[2,3,4] x",
        "i = Constant<value=int64[2,2] {0,-1,1,2}>() y = GatherND(x, i)",
    ),
    "GatherND of batches": (
        13,
        "float[2,3,4] x",
        "i = Constant<value=int64[2,3,1] {0,1,-1,2,0,1}>() y = GatherND<batch_dims=1>(x, i)",
    ),
    "Gelu": (20, X, 'y = Gelu<approximate="tanh">(x)'),
    "Gemm": (
        13,
        "float[5,4] a, float[6,5] b, float[6] c",
        "y = Gemm<alpha=0.5, beta=2.0, transA=1, transB=1>(a, b, c)",
    ),
    "Gemm without C": (13, "float[4,5] a, float[5,6] b", "y = Gemm(a, b)"),
    "GlobalAveragePool": (11, X, "y = GlobalAveragePool(x)"),
    "GlobalLpPool": (11, X, "y = GlobalLpPool<p=3>(x)"),
    "GlobalMaxPool": (11, X, "y = GlobalMaxPool(x)"),
    "Greater": (13, f"{X}, float[8] b", "y = Greater(x, b)"),
    "GreaterOrEqual": (16, f"{X}, float[8] b", "y = GreaterOrEqual(x, b)"),
    "GridSample": (16, f"{X}, float[2,5,4,2] g", "y = GridSample(x, g)"),
    "GridSample, cubic, reflected": (
        16,
        f"{X}, float[2,5,4,2] g",
        'y = GridSample<mode="bicubic", padding_mode="reflection">(x, g)',
    ),
    "GridSample, nearest, at the border": (
        16,
        f"{X}, float[2,5,4,2] g",
        'y = GridSample<mode="nearest", padding_mode="border", align_corners=1>(x, g)',
    ),
    "GridSample in space": (
        20,
        "float[1,2,3,4,5] x, float[1,2,3,2,3] g",
        'y = GridSample<padding_mode="reflection", align_corners=1>(x, g)',
    ),
    "HardSigmoid": (6, X, "y = HardSigmoid<alpha=0.3>(x)"),
    "HardSwish": (14, X, "y = HardSwish(x)"),
    "Hardmax": (11, X, "y = Hardmax<axis=2>(x)"),
    "Identity": (13, X, "z = Identity(x) y = Neg(z)"),
    **{
        f"GroupNormalization of opset {opset}, {dtype}": (
            opset,
            f"{dtype}[2,6,3,4] x, {dtype}[{count}] s, {dtype}[{count}] b",
            "y = GroupNormalization<num_groups=3, epsilon=0.01>(x, s, b)",
        )
        for opset, count, dtype in ((18, 3, "float"), (21, 6, "float"), (21, 6, "double"))
    },
    "InstanceNormalization": (
        6,
        f"{X}, float[3] s, float[3] b",
        "y = InstanceNormalization(x, s, b)",
    ),
    "IsInf": (13, "float[6] x", "z = Sub(x, x) l = Log(z) y = IsInf<detect_positive=0>(l)"),
    "IsNaN": (13, "float[6] x", "l = Sqrt(x) y = IsNaN(l)"),
    "LRN": (13, X, "y = LRN<size=3, alpha=0.5, beta=0.6, bias=2.0>(x)"),
    "LayerNormalization": (
        17,
        f"{X}, float[8,8] s, float[8,8] b",
        "y = LayerNormalization<axis=2>(x, s, b)",
    ),
    "LayerNormalization, its mean": (
        17,
        f"{X}, float[8] s",
        "z, m, y = LayerNormalization<axis=-1>(x, s)",
    ),
    "LSTM": (
        14,
        "float[4,2,3] x, float[2,20,3] w, float[2,20,5] r, float[2,40] b, float[2,2,5] h, "
        "float[2,2,5] c, float[2,15] p",
        "l = Constant<value=int32[2] {4,3}>() "
        'y, z, a = LSTM<hidden_size=5, direction="bidirectional">(x, w, r, b, l, h, c, p)',
    ),
    "LSTM, its last cell": (
        14,
        "float[4,2,3] x, float[1,20,3] w, float[1,20,5] r",
        "z, a, y = LSTM<hidden_size=5, input_forget=1>(x, w, r)",
    ),
    "LeakyRelu": (16, X, "y = LeakyRelu<alpha=0.2>(x)"),
    "Less": (13, f"{X}, float[8] b", "y = Less(x, b)"),
    "LessOrEqual": (16, f"{X}, float[8] b", "y = LessOrEqual(x, b)"),
    "Log": (13, X, "a = Abs(x) y = Log(a)"),
    "LogSoftmax": (13, X, "y = LogSoftmax<axis=1>(x)"),
    "LpPool": (11, X, "y = LpPool<kernel_shape=[3,2], p=3, pads=[1,0,1,1], strides=[2,1]>(x)"),
    "MatMul": (13, "float[2,1,3,4] a, float[5,4,6] b", "y = MatMul(a, b)"),
    "MatMul with a row": (13, "float[4] a, float[5,4,6] b", "y = MatMul(a, b)"),
    "MatMul with a column": (13, "float[2,3,4] a, float[4] b", "y = MatMul(a, b)"),
    "MatMul of vectors": (13, "float[4] a, float[4] b", "y = MatMul(a, b)"),
    "LpNormalization": (13, X, "y = LpNormalization<axis=2, p=1>(x)"),
    "LpNormalization, Euclidean": (13, X, "y = LpNormalization(x)"),
    "MatMulInteger": (
        10,
        "uint8[4,5] x, int8[5,3] w, uint8 a, int8[3] b",
        "y = MatMulInteger(x, w, a, b)",
    ),
    "Max": (13, f"{X}, float[8] b, float[3,1,1] c", "y = Max(x, b, c)"),
    "MaxPool": (
        12,
        X,
        "y = MaxPool<kernel_shape=[3,3], pads=[1,1,0,0], strides=[2,2], ceil_mode=1>(x)",
    ),
    "MaxPool, dilated": (12, X, "y = MaxPool<kernel_shape=[2,2], dilations=[3,2]>(x)"),
    "MaxUnpool": (
        11,
        "float[1,2,2,2] x",
        "i = Constant<value=int64[1,2,2,2] {0,3,9,11,16,22,24,31}>() "
        "y = MaxUnpool<kernel_shape=[2,2], strides=[2,2]>(x, i)",
    ),
    "MelWeightMatrix": (
        17,
        "float[3,9] x",
        "n = Constant<value=int64 {4}>() l = Constant<value=int64 {16}>() r = Constant<value=int64 {8192}>() "
        "a = Constant<value=float {0}>() b = Constant<value=float {4096}>() "
        "w = MelWeightMatrix(n, l, r, a, b) y = MatMul(x, w)",
    ),
    "MaxRoiPool": (13, f"{X}, float[3,5] r", "y = MaxRoiPool<pooled_shape=[2,2]>(x, r)"),
    "Mean": (13, f"{X}, float[8] b, float[3,1,1] c", "y = Mean(x, b, c)"),
    "Min": (13, f"{X}, float[8] b", "y = Min(x, b)"),
    "Mod": (13, "int32[9] x", "c = Constant<value=int32 {3}>() y = Mod(x, c)"),
    "Mod of floats": (13, "float[9] x, float[9] b", "y = Mod<fmod=1>(x, b)"),
    "Mul": (13, f"{X}, float[3,1,8] b", "y = Mul(x, b)"),
    "Neg": (13, "int64[7] x", "y = Neg(x)"),
    "Not": (13, "bool[5] x", "y = Not(x)"),
    "OneHot": (
        11,
        "int64[3] x",
        "d = Constant<value=int64 {5}>() v = Constant<value=float[2] {-1,2}>() y = OneHot<axis=0>(x, d, v)",
    ),
    "Or": (13, "bool[2,3] a, bool[3] b", "y = Or(a, b)"),
    "PRelu": (16, f"{X}, float[3,1,1] s", "y = PRelu(x, s)"),
    "Pad": (
        13,
        X,
        "p = Constant<value=int64[8] {0,1,0,2,1,0,0,1}>() v = Constant<value=float {1.5}>() y = Pad(x, p, v)",
    ),
    "Pad of opset 2": (6, X, "y = Pad<pads=[0,0,1,2,0,0,-3,1], value=0.5>(x)"),
    "Pad with a number of run time": (
        13,
        f"{X}, float v",
        "p = Constant<value=int64[8] {0,1,0,2,1,0,0,-1}>() y = Pad(x, p, v)",
    ),
    "Pad, reflected": (
        13,
        X,
        'p = Constant<value=int64[8] {0,0,3,2,0,0,0,1}>() y = Pad<mode="reflect">(x, p)',
    ),
    "Pad with the edge": (
        13,
        X,
        'p = Constant<value=int64[8] {0,0,3,2,0,0,0,1}>() y = Pad<mode="edge">(x, p)',
    ),
    "Pad along axes": (
        18,
        X,
        "p = Constant<value=int64[2] {1,2}>() a = Constant<value=int64[1] {-1}>() y = Pad(x, p, , a)",
    ),
    "Pow": (13, X, "c = Constant<value=float {2.0}>() y = Pow(x, c)"),
    "Pow with an integer power": (13, X, "c = Constant<value=int64 {3}>() y = Pow(x, c)"),
    "Pow of integers": (13, "int64[9] x", "c = Constant<value=int64 {5}>() y = Pow(x, c)"),
    "Pow of integers to a variable": (13, "int32[9] x, int32[9] n", "m = Abs(n) y = Pow(x, m)"),
    "QLinearConv": (
        10,
        "uint8[1,2,5,5] x, float s, uint8 a, int8[3,2,3,3] w, float[3] t, int8 b, "
        "float u, uint8 c, int32[3] d",
        "i = Abs(s) j = Abs(t) k = Abs(u) y = QLinearConv<pads=[1,1,1,1]>(x, i, a, w, j, b, k, c, d)",
    ),
    "QLinearMatMul": (
        10,
        "uint8[4,5] x, float s, uint8 a, uint8[5,3] w, float t, uint8 b, float u, uint8 c",
        "i = Abs(s) j = Abs(t) k = Abs(u) y = QLinearMatMul(x, i, a, w, j, b, k, c)",
    ),
    "QuantizeLinear": (13, f"{X}, float s, int8 z", "y = QuantizeLinear(x, s, z)"),
    "QuantizeLinear along an axis": (13, f"{X}, float[3] s", "y = QuantizeLinear(x, s)"),
    "RNN": (
        14,
        "float[4,2,3] x, float[1,5,3] w, float[1,5,5] r, float[1,10] b",
        'y = RNN<hidden_size=5, activations=["Relu"]>(x, w, r, b)',
    ),
    "Range": (
        13,
        "int64[4] x",
        "a = Constant<value=int64 {9}>() b = Constant<value=int64 {1}>() d = Constant<value=int64 {-2}>() "
        "r = Range(a, b, d) y = Add(x, r)",
    ),
    "Reciprocal": (13, X, "y = Reciprocal(x)"),
    "ReduceL1": (13, X, "y = ReduceL1<axes=[1,-1], keepdims=0>(x)"),
    "ReduceL2": (13, X, "y = ReduceL2<axes=[1]>(x)"),
    "ReduceLogSum": (13, X, "a = Abs(x) y = ReduceLogSum<axes=[1]>(a)"),
    "ReduceLogSumExp": (13, X, "y = ReduceLogSumExp<axes=[1,2], keepdims=0>(x)"),
    "ReduceMax": (13, X, "y = ReduceMax(x)"),
    "ReduceMean": (18, X, "a = Constant<value=int64[2] {-1,0}>() y = ReduceMean<keepdims=0>(x, a)"),
    "ReduceMin": (13, "int32[4,5] x", "y = ReduceMin<axes=[0]>(x)"),
    "ReduceProd": (13, "float[4,5] x", "y = ReduceProd<axes=[1]>(x)"),
    "ReduceSum": (13, X, "a = Constant<value=int64[1] {2}>() y = ReduceSum(x, a)"),
    "ReduceSum of nothing": (
        13,
        X,
        "a = Constant<value=int64[0] {}>() y = ReduceSum<noop_with_empty_axes=1>(x, a)",
    ),
    "ReduceSum of opset 11": (11, X, "y = ReduceSum<axes=[0,2], keepdims=0>(x)"),
    "ReduceSumSquare": (13, X, "y = ReduceSumSquare<axes=[3]>(x)"),
    "Relu": (14, X, "y = Relu(x)"),
    "Reshape": (14, X, "s = Constant<value=int64[3] {0,-1,16}>() y = Reshape(x, s)"),
    "Reshape to a computed shape": (
        13,
        X,
        "s = Shape(x) i = Constant<value=int64[2] {0,1}>() h = Gather(s, i) "
        "m = Constant<value=int64[1] {-1}>() t = Concat<axis=0>(h, m) y = Reshape(x, t)",
    ),
    "Resize": (
        13,
        X,
        "s = Constant<value=float[4] {1,1,2,1.5}>() y = Resize(x, , s)",
    ),
    "Resize of opset 10": (
        10,
        X,
        'c = Constant<value=float[4] {1,1,0.5,2}>() y = Resize<mode="linear">(x, c)',
    ),
    "Resize, linear": (
        13,
        X,
        "s = Constant<value=int64[4] {2,3,5,13}>() "
        'y = Resize<mode="linear", coordinate_transformation_mode="align_corners">(x, , , s)',
    ),
    "Resize, linear, smoothed": (
        18,
        X,
        "s = Constant<value=int64[2] {3,5}>() "
        'y = Resize<mode="linear", antialias=1, axes=[2,3]>(x, , , s)',
    ),
    "Resize, cubic": (
        13,
        X,
        "s = Constant<value=int64[4] {2,3,5,13}>() "
        'y = Resize<mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1>(x, , , s)',
    ),
    "Resize, cut out": (
        13,
        X,
        "r = Constant<value=float[8] {0,0,0.4,-0.2,1,1,0.6,1.2}>() s = Constant<value=int64[4] {2,3,3,6}>() "
        'y = Resize<mode="linear", coordinate_transformation_mode="tf_crop_and_resize", '
        "extrapolation_value=7.0>(x, r, , s)",
    ),
    "Resize, rounded up": (
        13,
        X,
        "s = Constant<value=float[4] {1,1,2,0.75}>() "
        'y = Resize<nearest_mode="ceil", coordinate_transformation_mode="asymmetric">(x, , s)',
    ),
    "Round": (13, X, "y = Round(x)"),
    "Scatter of opset 9": (
        9,
        "float[3,4] x, float[2,3] u",
        "i = Constant<value=int64[2,3] {0,2,1,1,0,2}>() y = Scatter<axis=0>(x, i, u)",
    ),
    "ReverseSequence": (
        10,
        "float[5,4,2] x",
        "n = Constant<value=int64[4] {1,2,5,3}>() y = ReverseSequence(x, n)",
    ),
    "ReverseSequence at run time, batch first": (
        10,
        "int64[4] i, int32[4,3] x",
        "a = Constant<value=int64 {3}>() b = Constant<value=int64 {1}>() j = Abs(i) k = Mod(j, a) "
        "n = Add(k, b) y = ReverseSequence<batch_axis=0, time_axis=1>(x, n)",
    ),
    **{
        f"RoiAlign of opset {opset}, {attributes}": (
            opset,
            X,
            "r = Constant<value=float[3,4] {0.5,1.0,6.0,7.5,-3.0,-1.0,2.0,3.0,4.0,4.0,11.0,4.5}>() "
            "i = Constant<value=int64[3] {1,0,1}>() "
            f"y = RoiAlign<output_height=2, output_width=3, sampling_ratio=2{attributes}>(x, r, i)",
        )
        for opset, attributes in (
            (10, ""),
            (16, ", spatial_scale=0.75"),
            (16, ', mode="max"'),
            (16, ', coordinate_transformation_mode="output_half_pixel"'),
        )
    },
    "ScatterElements": (
        13,
        "float[3,4] x, float[3,2] u",
        "i = Constant<value=int32[3,2] {0,-1,2,1,-4,3}>() y = ScatterElements<axis=1>(x, i, u)",
    ),
    **{
        f"ScatterElements, {how}": (
            18,
            "float[3,4] x, float[5,2] u",
            "i = Constant<value=int64[5,2] {0,-1,2,1,0,0,0,2,1,1}>() "
            f'y = ScatterElements<axis=-2, reduction="{how}">(x, i, u)',
        )
        for how in ("add", "mul", "max", "min")
    },
    "ScatterElements of bytes": (
        18,
        "uint8[7] x, uint8[4] u",
        'i = Constant<value=int64[4] {3,3,-1,3}>() y = ScatterElements<reduction="add">(x, i, u)',
    ),
    "ScatterND": (
        13,
        "float[3,4,2] x, float[2,2] u",
        "i = Constant<value=int64[2,2] {0,-1,2,2}>() y = ScatterND(x, i, u)",
    ),
    "ScatterND of rows": (
        11,
        "float[4,3,2] x, float[2,1,3,2] u",
        "i = Constant<value=int64[2,1,1] {3,-4}>() y = ScatterND(x, i, u)",
    ),
    "ScatterND of elements": (
        16,
        "int32[3,4] x, int32[5] u",
        "i = Constant<value=int64[5,2] {0,0,2,3,0,0,1,1,0,0}>() "
        'y = ScatterND<reduction="add">(x, i, u)',
    ),
    **{
        f"ScatterND, {how}": (
            18,
            "float[4,3] x, float[4,3] u",
            "i = Constant<value=int64[4,1] {1,1,2,-3}>() "
            f'y = ScatterND<reduction="{how}">(x, i, u)',
        )
        for how in ("add", "mul", "max", "min")
    },
    "Selu": (6, X, "y = Selu(x)"),
    "Shape": (15, X, "s = Shape<start=1, end=-1>(x) y = Mul(s, s)"),
    "Shrink": (9, X, "y = Shrink<bias=0.25, lambd=0.75>(x)"),
    "Sigmoid": (13, X, "y = Sigmoid(x)"),
    "Sign": (13, X, "y = Sign(x)"),
    "Sin": (13, X, "y = Sin(x)"),
    "Sinh": (13, X, "y = Sinh(x)"),
    "Size": (13, X, "s = Size(x) y = Mul(s, s)"),
    "Slice": (
        13,
        X,
        "b = Constant<value=int64[2] {-1,1}>() "
        "e = Constant<value=int64[2] {-9223372036854775808,9223372036854775807}>() "
        "a = Constant<value=int64[2] {2,3}>() t = Constant<value=int64[2] {-2,3}>() y = Slice(x, b, e, a, t)",
    ),
    "Slice of opset 1": (6, X, "y = Slice<axes=[1,3], starts=[-2,0], ends=[1000,-1]>(x)"),
    "Softmax": (13, X, "y = Softmax<axis=1>(x)"),
    "Softmax of opset 11": (11, X, "y = Softmax<axis=2>(x)"),
    "Softplus": (6, X, "y = Softplus(x)"),
    "Softsign": (6, X, "y = Softsign(x)"),
    "Split": (
        13,
        "float[2,7] x",
        "s = Constant<value=int64[3] {1,4,2}>() a, y, b = Split<axis=-1>(x, s)",
    ),
    "Split into equal parts": (11, "float[2,6] x", "a, y = Split<axis=1>(x)"),
    "Split into unequal parts": (18, "float[2,7] x", "a, b, y = Split<axis=1, num_outputs=3>(x)"),
    "Sqrt": (13, X, "a = Abs(x) y = Sqrt(a)"),
    "Squeeze": (13, "float[1,3,1] x", "a = Constant<value=int64[1] {-1}>() y = Squeeze(x, a)"),
    "Squeeze of opset 11": (11, "float[1,3,1] x", "y = Squeeze<axes=[0]>(x)"),
    "Squeeze of all": (13, "float[1,3,1] x", "y = Squeeze(x)"),
    "STFT": (
        17,
        "float[2,20,1] x, float[8] w",
        "s = Constant<value=int64 {3}>() n = Constant<value=int64 {8}>() y = STFT(x, s, w, n)",
    ),
    "STFT of a constant window": (
        17,
        "float[2,20,1] x",
        "s = Constant<value=int64 {5}>() w = Constant<value_floats=[0.5,1.0,1.0,0.25]>() "
        "y = STFT<onesided=0>(x, s, w)",
    ),
    "Sub": (13, f"{X}, float[3,1,8] b", "y = Sub(x, b)"),
    "Sum": (13, f"{X}, float[8] b, float[3,1,1] c", "y = Sum(x, b, c)"),
    "Tan": (13, X, "y = Tan(x)"),
    "Tanh": (13, X, "y = Tanh(x)"),
    "Tile": (13, "float[2,3] x", "r = Constant<value=int64[2] {2,3}>() y = Tile(x, r)"),
    "TopK": (
        11,
        "float[3,9] x",
        "k = Constant<value=int64[1] {4}>() y, i = TopK<axis=1>(x, k)",
    ),
    "TopK, the smallest, of equal ones": (
        11,
        "int32[40] x",
        "k = Constant<value=int64[1] {7}>() v, i = TopK<largest=0>(x, k) j = Cast<to=6>(i) y = Add(v, j)",
    ),
    "TopK along an axis": (
        10,
        "double[3,5,2] x",
        "k = Constant<value=int64[1] {2}>() v, y = TopK<axis=-2>(x, k)",
    ),
    "TopK of opset 1": (9, "float[3,5] x", "y, i = TopK<k=5>(x)"),
    "TopK of all, in any order": (
        24,
        "float[2,6] x",
        "k = Constant<value=int64[1] {2}>() y, i = TopK<axis=0>(x, k)",
    ),
    "Transpose": (13, X, "y = Transpose<perm=[0,2,3,1]>(x)"),
    "Transpose, reversed": (13, X, "y = Transpose(x)"),
    "Trilu": (14, X, "k = Constant<value=int64 {1}>() y = Trilu<upper=0>(x, k)"),
    "Unsqueeze": (13, "float[3] x", "a = Constant<value=int64[2] {0,-1}>() y = Unsqueeze(x, a)"),
    "Unsqueeze of opset 11": (11, "float[3] x", "y = Unsqueeze<axes=[0,2]>(x)"),
    "Upsample": (9, X, "s = Constant<value=float[4] {1,1,2,3}>() y = Upsample(x, s)"),
    "Upsample of opset 7": (7, X, "y = Upsample<scales=[1.0, 1.0, 3.0, 2.0]>(x)"),
    "Where": (13, f"bool[8,8] c, {X}, float[8] b", "y = Where(c, x, b)"),
    "Xor": (13, "bool[2,3] a, bool[3] b", "y = Xor(a, b)"),
    "ThresholdedRelu of opset 10": (10, X, "y = ThresholdedRelu(x)"),
    "ThresholdedRelu": (18, X, "y = ThresholdedRelu<alpha=0.4>(x)"),
    "Celu": (12, X, "y = Celu<alpha=0.5>(x)"),
    "AveragePool, valid": (11, X, 'y = AveragePool<kernel_shape=[3,2], auto_pad="VALID">(x)'),
    "MaxPool, valid": (
        12,
        X,
        'y = MaxPool<kernel_shape=[3,2], strides=[2,2], auto_pad="VALID">(x)',
    ),
    "LpPool, valid": (11, X, 'y = LpPool<kernel_shape=[3,2], auto_pad="VALID">(x)'),
    "ConvTranspose, same lower": (
        11,
        f"{X}, float[3,1,4,4] w",
        'y = ConvTranspose<strides=[3,1], auto_pad="SAME_LOWER">(x, w)',
    ),
    "ConvTranspose, valid": (
        11,
        f"{X}, float[3,1,4,4] w",
        'y = ConvTranspose<strides=[3,1], auto_pad="VALID">(x, w)',
    ),
    "ConvInteger of groups": (
        10,
        "uint8[1,4,6,5] x, uint8[6,2,2,2] w",
        'y = ConvInteger<group=2, kernel_shape=[2,2], auto_pad="SAME_LOWER">(x, w)',
    ),
    "QLinearConv of groups, dilated": (
        10,
        "uint8[1,4,6,5] x, float s, uint8 a, int8[6,2,2,2] w, float t, int8 b, float u, uint8 c",
        "i = Abs(s) j = Abs(t) k = Abs(u) y = QLinearConv<group=2, dilations=[2,1], "
        "kernel_shape=[2,2], strides=[1,2]>(x, i, a, w, j, b, k, c)",
    ),
    "ReduceMax of no axes is nothing": (18, X, "y = ReduceMax<noop_with_empty_axes=1>(x)"),
    "ReduceLogSumExp of no axes is nothing": (
        18,
        X,
        "y = ReduceLogSumExp<noop_with_empty_axes=1>(x)",
    ),
    "Upsample, linear": (
        9,
        X,
        's = Constant<value=float[4] {1,1,2,3}>() y = Upsample<mode="linear">(x, s)',
    ),
    "MeanVarianceNormalization, by its definition": (13, X, "y = MeanVarianceNormalization(x)"),
}


def parse(opset: int, inputs: str, nodes: str, outputs: str = "y") -> onnx.ModelProto:
    """A model of `nodes` in ONNX's text form; the outputs' types are left to inference."""
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => (float[] {outputs}) {{ {nodes} }}'
    model = onnx.parser.parse_model(text)
    for info in model.graph.output:
        info.ClearField("type")
    return onnx.shape_inference.infer_shapes(model)


def inputs_of(model: onnx.ModelProto, seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for info in model.graph.input:
        kind = info.type.tensor_type
        shape = tuple(dim.dim_value for dim in kind.shape.dim)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if dtype.kind == "f":
            found[info.name] = rng.standard_normal(shape).astype(dtype)
        else:
            low = 0 if dtype.kind == "b" else -4
            found[info.name] = rng.integers(low, 2 if dtype.kind == "b" else 5, shape).astype(dtype)
    return found


def evaluate(model: onnx.ModelProto, inputs: dict[str, Array]) -> list[Array]:
    context = new_context()
    module = import_onnx(model, context)
    verify_module(module)
    return list(results_by_name(module, execute(module, list(inputs.values()), context)).values())


@pytest.mark.every_case(reason="each is a converter or an attribute of its own")
@pytest.mark.parametrize("name", CASES)
def test_as_onnxruntime(name: str) -> None:
    model = parse(*CASES[name])
    inputs = inputs_of(model)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    (expected,) = session.run(None, inputs)
    (found,) = evaluate(model, inputs)
    expected = np.asarray(expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_every_converter_has_a_case() -> None:
    tested = {node.op_type for case in CASES.values() for node in parse(*case).graph.node}
    # Those of other domains, which have a dot in their name, have cases in files of their own.
    ours = {name for name in converters() if "." not in name}
    assert ours - tested == {
        "SimplifiedLayerNormalization"
    }  # onnxruntime's: `test_onnx_microsoft.py`


def test_opset_6_aligns_the_second_operand_at_an_axis() -> None:
    # onnxruntime starts at opset 7.
    model = parse(6, "float[2,3,8] x, float[3] b", "y = Add<broadcast=1, axis=1>(x, b)")
    inputs = inputs_of(model)
    (found,) = evaluate(model, inputs)
    np.testing.assert_array_equal(found, inputs["x"] + inputs["b"][:, None])


def test_an_output_shape_puts_zeros_behind_what_is_unpooled() -> None:
    # ONNX's own example, `test_maxunpool_export_with_output_shape`, which onnxruntime takes otherwise.
    nodes = (
        "i = Constant<value=int64[1,1,2,2] {5,7,13,15}>() s = Constant<value=int64[4] {1,1,5,5}>() "
        "y = MaxUnpool<kernel_shape=[2,2], strides=[2,2]>(x, i, s)"
    )
    model = parse(11, "float[1,1,2,2] x", nodes)
    (found,) = evaluate(model, {"x": np.array([[[[5, 6], [7, 8]]]], np.float32)})
    wanted = np.zeros((1, 1, 5, 5), np.float32)
    wanted[0, 0, 1::2, 1::2] = [[5, 6], [7, 8]]
    np.testing.assert_array_equal(found, wanted)


def test_floats_without_fmod_take_the_sign_of_the_divisor() -> None:
    model = parse(13, "float[4] x, float[4] b", "y = Mod(x, b)")
    x, b = (np.array(v, "float32") for v in ([5.5, -5.5, 5.5, 4], [3, 3, -3, 2]))
    (found,) = evaluate(model, {"x": x, "b": b})
    np.testing.assert_array_equal(found, np.mod(x, b))


def test_argmax_finds_nan() -> None:
    model = parse(13, "float[4] x", "y = ArgMax<keepdims=0>(x)")
    (found,) = evaluate(model, {"x": np.array([1, np.nan, 3, 2], "float32")})
    assert found == 1


def test_what_an_output_shape_lacks_is_added_at_the_end() -> None:
    # onnxruntime refuses it; ONNX's own example, `test_convtranspose_output_shape`, has it.
    node = "y = ConvTranspose<strides=[2], output_shape=[5]>(x, w, b)"
    model = parse(11, "float[1,1,2] x, float[1,1,2] w, float[1] b", node)
    given = {"x": [[[1, 2]]], "w": [[[3, 4]]], "b": [5]}
    (found,) = evaluate(model, {name: np.array(v, np.float32) for name, v in given.items()})
    np.testing.assert_array_equal(found, [[[8, 9, 11, 13, 5]]])


def test_wide_data_with_narrow_statistics() -> None:
    # BatchNormalization has three types since opset 15, of which onnxruntime takes one at a time.
    model = parse(
        15,
        "double[2,3,4] x, float[3] s, float[3] b, double[3] m, double[3] v",
        "y = BatchNormalization<epsilon=0.01>(x, s, b, m, v)",
    )
    inputs = inputs_of(model)
    inputs["v"] = np.abs(inputs["v"])
    (found,) = evaluate(model, inputs)
    s, b, m, v = (inputs[name][:, None] for name in "sbmv")
    wanted = (inputs["x"] - m) / np.sqrt(v + np.float64(np.float32(0.01))) * s + b
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
