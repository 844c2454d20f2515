"""What runs along 1 to 5 whole vectors, with one element less and more: no chain and no tail is lost.

Reductions keep some chains of vectors, fewer in short rows, and put them together at the end; what the last
whole vector leaves over goes by itself. What is lost there is seen at the sizes that have just these.
"""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import pytest

import inarch
from effort import SOAK, effort
from inarch.core.dtypes import DTYPES
from inarch.definitions.compare import difference_of
from inarch.definitions.expected import expected_of
from inarch.dialects import new_context
from inarch.frontends.onnx import import_onnx
from inarch.machine.target import parse
from targets import here

Array = np.ndarray[Any, Any]
ONNX = {
    "f32": "float",
    "f64": "double",
    "i8": "int8",
    "ui8": "uint8",
    "i32": "int32",
    "i64": "int64",
}
FLOATS, WIDE, EVERY = ("f32", "f64"), ("f32", "f64", "i32", "i64"), tuple(ONNX)
TARGETS = here("x86-64-v3", "generic", "x86-64-v4")
VECTORS = range(1, 6)
BESIDE = (0, 1, -1)

OPS: dict[str, tuple[str, ...]] = {
    "y = ArgMax<axis=2>(x)": EVERY,
    "y = ArgMin<axis=2>(x)": EVERY,
    "y = ArgMax<axis=2, select_last_index=1>(x)": EVERY,
    "y = ArgMax<axis=1, select_last_index=1>(x)": EVERY,
    "y = ArgMin<axis=1>(x)": EVERY,
    "y = ArgMax(row)": EVERY,
    "y = ReduceMax<axes=[2]>(x)": EVERY,
    "y = ReduceMin<axes=[2]>(x)": EVERY,
    "y = ReduceMax<axes=[1]>(x)": EVERY,
    "y = ReduceMin(row)": EVERY,
    "y = ReduceSum(x, along)": WIDE,
    "y = ReduceSum(x, across)": WIDE,
    "y = ReduceSum(row)": WIDE,
    "y = ReduceMean<axes=[2]>(x)": FLOATS,
    "y = ReduceSumSquare<axes=[2]>(x)": WIDE,
    "y = ReduceL1<axes=[1]>(x)": FLOATS,
    "y = ReduceLogSumExp<axes=[2]>(x)": FLOATS,
    "y = Softmax<axis=2>(x)": FLOATS,
    "y = Softmax<axis=1>(x)": FLOATS,
    "y = LogSoftmax<axis=2>(x)": FLOATS,
    "y = LayerNormalization<axis=2>(x, row)": ("f32",),
    "y = MaxPool<kernel_shape=[n]>(x)": (*FLOATS, "i8", "ui8"),
    "y = AveragePool<kernel_shape=[n]>(x)": FLOATS,
    "y = AveragePool<kernel_shape=[3], pads=[1, 1]>(x)": FLOATS,
    "y = MatMul(x, row)": WIDE,
    "y = MatMul(row, x)": WIDE,
    "y = MatMul(x, x)": WIDE,
    "t = MatMul(x, x) y = Sin(t)": FLOATS,
    "t = MatMul(x, x) s = Add(t, x) y = Relu(s)": FLOATS,
    "y = CumSum(x, one)": WIDE,
    "y = CumSum<reverse=1>(x, two)": WIDE,
    "y, i = TopK(x, some)": WIDE,
    "y, i = TopK<largest=0>(row, some)": WIDE,
    "y = Exp(row)": FLOATS,
    "s = Sigmoid(x) y = Mul(x, s)": FLOATS,
    "t = Sub(row, x) y = Tanh(t)": FLOATS,
    "t = Transpose(x) y = Erf(t)": FLOATS,
    "y = Abs(row)": EVERY,
}
"""Nodes of `x` [3, n, n] and `row` [n], and the dtypes that they are tried on."""
CONSTANTS = """
    along = Constant<value=int64[1] {2}>() across = Constant<value=int64[1] {1}>()
    one = Constant<value=int64 {1}>() two = Constant<value=int64 {2}>()
    some = Constant<value=int64[1] {3}>()
"""


def cases(dtype: str, target: str) -> list[tuple[str, int]]:
    """Nodes, each with an n. In the gate nodes take turns: each number of vectors has a sixth of them."""
    nbytes = parse(target).vector_bytes or 16
    # Narrow integers are compared as i32.
    widths = {nbytes // DTYPES[dtype].nbytes, nbytes // max(4, DTYPES[dtype].nbytes)}
    nodes = [node for node, dtypes in OPS.items() if dtype in dtypes]
    iteration = EVERY.index(dtype)
    return [
        (node, max(3, vectors * lanes + more))
        for lanes in sorted(widths)
        for number, node in enumerate(nodes)
        for vectors in VECTORS
        for at, more in enumerate(BESIDE)
        if SOAK or ((number + vectors + iteration) % 6 == 0 and (number // 6 + vectors) % 3 == at)
    ]


def model_of(dtype: str, nodes: list[tuple[str, int]]) -> Any:
    """A model with a pair of inputs for each n; its outputs are those of the nodes, in order."""
    kind, sizes = ONNX[dtype], sorted({n for _, n in nodes})
    inputs = ", ".join(f"{kind}[3,{n},{n}] x{n}, {kind}[{n}] row{n}" for n in sizes)
    lines: list[str] = []
    results: list[str] = []
    for number, (node, n) in enumerate(nodes):
        names = {"x": f"x{n}", "row": f"row{n}", "n": str(n)}
        names |= {word: f"{word}{number}" for word in "yits"}
        lines.append(re.sub(r"\w+", lambda word, names=names: names.get(word[0], word[0]), node))
        results += [f"y{number}"] + [f"i{number}"] * ("TopK" in node)
    outputs = ", ".join(f"float[] {name}" for name in results)
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => ({outputs}) '
        f"{{ {CONSTANTS} {' '.join(lines)} }}"
    )
    for output in model.graph.output:
        output.ClearField("type")
    return onnx.shape_inference.infer_shapes(model)


def arrays(model: Any) -> dict[str, Array]:
    """Of each x: each place of a row once that of its largest element; its smallest; ties, with NaN."""
    rng = np.random.default_rng(0)
    found: dict[str, Array] = {}
    for info in model.graph.input:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        size = info.type.tensor_type.shape.dim[-1].dim_value
        shape = (size, size)
        noise = rng.standard_normal(shape) if dtype.kind == "f" else rng.integers(3, 90, shape)
        only = noise.astype(dtype)
        np.fill_diagonal(only, 100)
        least = [np.nan, np.inf, 0.0, -0.0] if dtype.kind == "f" else [np.iinfo(dtype).max]
        few = rng.choice(np.array([1, 2, *least], dtype), shape)
        x = np.stack([only, only.max() - only, few])
        found[info.name] = x if info.name.startswith("x") else x[0, size // 2]
    return found


@pytest.mark.sampled(effort(2, 99), reason="each is some eighty nests")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", EVERY)
def test_rows_of_some_vectors(dtype: str, target: str) -> None:
    nodes = cases(dtype, target)
    model = model_of(dtype, nodes)
    given = arrays(model)
    context = new_context()
    wanted = expected_of(context, import_onnx(model, context), list(given.values()))
    found = inarch.compile(model, target=target, threads=1).run(given)
    for one, (name, array) in zip(wanted, found.items(), strict=True):
        said = difference_of(one, array)
        assert said is None, f"{nodes[int(name[1:])]} of {dtype} on {target}{said}"
