"""Scatters and TopK of ONNX: compiled, by definition, and by ONNX's own reference evaluator, which agree."""

# The evaluator is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
import onnx.reference
import pytest

import inarch
from effort import effort
from inarch.dialects import new_context
from inarch.frontends.onnx import import_onnx
from inarch.testing import execute

Array = np.ndarray[Any, Any]


def model_of(inputs: str, nodes: str, outputs: str, opset: int) -> onnx.ModelProto:
    """A model in ONNX's text."""
    head = f'<ir_version: 8, opset_import: ["" : {opset}]>'
    return onnx.parser.parse_model(f"{head} places ({inputs}) => ({outputs}) {{ {nodes} }}")


def by_both(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    """The results of the compiled model, which are those of its definition."""
    context = new_context()
    defined = execute(import_onnx(model, context), list(feeds.values()), context)
    found = inarch.compile(model).run(feeds)
    for array, wanted in zip(found.values(), defined, strict=True):
        np.testing.assert_array_equal(array, wanted, strict=True)
    return list(found.values())


@pytest.mark.sampled(effort(3, 8), reason="each reduction, each dtype")
@pytest.mark.parametrize("how", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", ["float", "int32", "uint8"])
def test_scatters_are_those_of_the_evaluator(how: str, dtype: str) -> None:
    """Where places meet, the updates are small numbers: their sums and products are exact in any order."""
    rng = np.random.default_rng(3)
    kind = {"float": np.float32, "int32": np.int32, "uint8": np.uint8}[dtype]
    model = model_of(
        f"{dtype}[4,5] x, int64[6,5] i, {dtype}[6,5] u, int64[3,1] n, {dtype}[3,5] v",
        f'a = ScatterElements<axis=0, reduction="{how}">(x, i, u) '
        f'b = ScatterND<reduction="{how}">(x, n, v)',
        f"{dtype}[4,5] a, {dtype}[4,5] b",
        18,
    )
    rows = [0, -3, 1] if how != "none" else [0, -1, 1]
    indices = rng.integers(-4, 4, (6, 5))
    feeds = {
        "x": rng.integers(0, 5, (4, 5)).astype(kind),
        "i": indices,
        "u": rng.integers(0, 5, (6, 5)).astype(kind),
        "n": np.array(rows)[:, None],
        "v": rng.integers(0, 5, (3, 5)).astype(kind),
    }
    found = by_both(model, feeds)
    wanted: Any = onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    for array, each in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(array, each)


def test_the_last_update_stays_and_outside_nothing_is_written() -> None:
    """ONNX leaves both open; of indices that are computed, which no call checks."""
    model = model_of(
        "float[4] x, int64[5] i, float[5] u, int64[3,2] n, float[2,3] y, float[3] v",
        "h = Neg(i) j = Neg(h) k = Neg(n) m = Neg(k) a = ScatterElements(x, j, u) b = ScatterND(y, m, v)",
        "float[4] a, float[2,3] b",
        13,
    )
    feeds = {
        "x": np.zeros(4, np.float32),
        "i": np.array([1, 9, 1, -5, -1]),
        "u": np.arange(1, 6, dtype=np.float32),
        "n": np.array([[1, 2], [0, 3], [-1, -1]]),
        "y": np.zeros((2, 3), np.float32),
        "v": np.arange(1, 4, dtype=np.float32),
    }
    a, b = by_both(model, feeds)
    assert a.tolist() == [0, 3, 0, 5]
    assert b.tolist() == [[0, 0, 0], [0, 0, 3]]


@pytest.mark.sampled(effort(2, 6), reason="each shape, both ends")
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(
    ("shape", "axis", "k"), [((3, 40), 1, 7), ((9, 4), 0, 9), ((2, 5, 3), 1, 1)]
)
def test_top_k_is_that_of_the_evaluator(
    shape: tuple[int, ...], axis: int, k: int, largest: int
) -> None:
    """Of few numbers: which of the equal ones come, and in what order."""
    sizes = ",".join(map(str, shape))
    out = ",".join(str(k if d == axis else size) for d, size in enumerate(shape))
    model = model_of(
        f"float[{sizes}] x",
        f"k = Constant<value=int64[1] {{{k}}}>() v, i = TopK<axis={axis}, largest={largest}>(x, k)",
        f"float[{out}] v, int64[{out}] i",
        11,
    )
    feeds = {"x": np.random.default_rng(5).integers(0, 6, shape).astype(np.float32)}
    values, indices = by_both(model, feeds)
    wanted: Any = onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    np.testing.assert_array_equal(values, wanted[0])
    np.testing.assert_array_equal(indices, wanted[1])


@pytest.mark.parametrize(
    ("largest", "wanted"), [(1, [2, 6, 1, 3, 5]), (0, [4, 0, 5, 3, 1])], ids=["largest", "smallest"]
)
def test_top_k_of_nan_infinity_and_zeros(largest: int, wanted: list[int]) -> None:
    """NaN is larger than all numbers, and zeros of both signs are equal."""
    model = model_of(
        "double[7] x",
        f"k = Constant<value=int64[1] {{5}}>() v, i = TopK<largest={largest}>(x, k)",
        "double[5] v, int64[5] i",
        24,
    )
    feeds = {"x": np.array([-1, math.inf, math.nan, 0.5, -math.inf, -0.0, math.nan])}
    _, indices = by_both(model, feeds)
    assert indices.tolist() == wanted


@pytest.mark.sampled(effort(2, 8), reason="a program each; signed, unsigned, wide")
@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_top_k_of_every_integer_dtype(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = np.array([3, limits.max, limits.min, 3, limits.max, 1, limits.min], dtype)
    model = model_of(f"{dtype}[7] x", "v, i = TopK<k=7>(x)", f"{dtype}[7] v, int64[7] i", 9)
    values, indices = by_both(model, {"x": x})
    order = sorted(range(7), key=lambda at: (-int(x[at]), at))
    assert indices.tolist() == order
    assert values.tolist() == x[order].tolist()
