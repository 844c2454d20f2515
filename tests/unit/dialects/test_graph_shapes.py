"""Contractions, pools, reductions, moves of elements: nests, references and ONNX agree; packing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import VerifyException

from inarch.core.dtypes import from_numpy
from inarch.core.errors import UnsupportedError
from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.cumulative import CumprodOp, CumsumOp, CumulativeOp
from inarch.dialects.graph.gather import GatherOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import Array, GraphOp, Property, StructuredOp
from inarch.dialects.graph.reduce import (
    ArgMaxOp,
    ArgMinOp,
    ArgReduceOp,
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceOp,
    ReduceProdOp,
    ReduceSumOp,
)
from inarch.dialects.graph.shape import (
    BroadcastToOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.graph.windows.pool import AvgPoolOp, MaxPoolOp
from inarch.dialects.kernel.pack import PackOp
from inarch.dialects.nest_spec import NestSpec
from inarch.ir.index.affine import linear_form
from inarch.ir.types import f32, memref, mlir_type, tensor

# ------------------------------------------------------------------------------ evaluating nests


_FUNCTIONS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
"""Of the accumulator and one more element, by their names; NumPy's own."""


@dataclass(frozen=True)
class Points:
    """The values of a scalar at every parallel point: what a body is called with here."""

    values: Array

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def cast(self, dtype: np.dtype[Any]) -> Points:
        return Points(self.values.astype(dtype))

    def __add__(self, other: Points) -> Points:
        return Points(self.values + other.values)

    def __mul__(self, other: Points) -> Points:
        return Points(self.values * other.values)

    def __truediv__(self, number: int) -> Points:
        if self.values.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                return Points(self.values / number)
        return Points(np.trunc(self.values / number).astype(self.values.dtype))

    def maximum(self, other: Points) -> Points:
        return Points(np.maximum(self.values, other.values))

    def minimum(self, other: Points) -> Points:
        return Points(np.minimum(self.values, other.values))

    def function(self, name: str, other: Points) -> Points:
        return Points(np.asarray(_FUNCTIONS[name](self.values, other.values)))


def evaluate(spec: NestSpec, operands: Sequence[Array], out: Array) -> None:
    """Runs a nest as `dialects/nest_spec.py` defines it, into `out`; floats in double precision."""
    parallel = [d for d, i in enumerate(spec.iterators) if not i.reduction]
    reduction = [d for d, i in enumerate(spec.iterators) if i.reduction]
    shape = [spec.iterators[d].size for d in parallel]
    grid = [np.zeros(shape, np.int64)] * len(spec.iterators)
    for d, index in zip(parallel, np.indices(shape), strict=True):
        grid[d] = index

    def read(operand: Array, index: AffineMap, pad: float | None) -> Points:
        places = [_at(expr, grid, shape) for expr in index.results]
        inside = np.ones(shape, bool)
        for place, size in zip(places, operand.shape, strict=True):
            inside &= (place >= 0) & (place < size)
        assert pad is not None or inside.all(), f"{index} leaves {operand.shape}"
        found = np.full(shape, 0 if pad is None else pad, _wide(operand))
        found[inside] = operand[tuple(place[inside] for place in places)]
        return Points(found)

    acc = None if spec.init is None else Points(np.full(shape, spec.init, _wide(out)))
    for point in product(*(range(spec.iterators[d].size) for d in reduction)):
        for d, value in zip(reduction, point, strict=True):
            grid[d] = np.full(shape, value)
        elements = [read(x, r.map, r.pad) for x, r in zip(operands, spec.reads, strict=True)]
        acc = _call(spec.body, elements, acc, with_accumulator=spec.init is not None)
    if spec.finish is not None:
        # The operands that vary with a reduction iterator must not matter here.
        used = [None if _varies(r.map, reduction) else r for r in spec.reads]
        pairs = zip(operands, used, strict=True)
        elements = [
            Points(np.array("poison")) if r is None else read(x, r.map, r.pad) for x, r in pairs
        ]
        acc = _call(spec.finish, elements, acc, with_accumulator=True)
    assert acc is not None
    out[tuple(_at(expr, grid, shape) for expr in spec.write.results)] = acc.values


def _at(expr: AffineExpr, grid: Sequence[Array], shape: Sequence[int]) -> Array:
    coefficients, constant = linear_form(expr, len(grid))
    total = np.full(shape, constant)
    for coefficient, index in zip(coefficients, grid, strict=True):
        total += coefficient * index
    return total


def _varies(index: AffineMap, reduction: Sequence[int]) -> bool:
    return bool(set(index.used_dims()) & set(reduction))


def _wide(array: Array) -> str:
    return "float64" if array.dtype.kind == "f" else array.dtype.name


def _call(
    body: Callable[..., Any], elements: list[Points], acc: Points | None, *, with_accumulator: bool
) -> Points:
    return body(*elements, acc) if with_accumulator else body(*elements)


def values_of(*arrays: Array) -> tuple[SSAValue, ...]:
    types = [tensor(mlir_type(from_numpy(a.dtype.name)), a.shape) for a in arrays]
    return tuple(Block(arg_types=types).args)


def make(kind: type[GraphOp], *arrays: Array, **properties: Any) -> Any:
    op = kind.make(*values_of(*arrays), **properties)
    op.verify_()
    return op


def random(shape: Sequence[int], dtype: str = "float32", seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0 if dtype.startswith("u") else -4, 5, shape).astype(dtype)


def empty_out(op: GraphOp, like: Array) -> Array:
    (kind,) = op.infer()
    return np.full(kind.get_shape(), 77, like.dtype)


F, S, U = "float32", "int32", "uint8"
CONV: dict[str, Property] = {"strides": [2, 1], "pads": [1, 0, 2, 1], "dilations": [1, 2]}
POOL: dict[str, Property] = {"window": [3, 2], "strides": [2, 3], "pads": [1, 0, 0, 1]}
NESTS: list[tuple[type[StructuredOp], list[list[int]], str, dict[str, Property]]] = [
    (MatmulOp, [[2, 3], [3, 4]], F, {}),
    (MatmulOp, [[2, 1, 3, 4], [5, 4, 2]], S, {}),
    (MatmulOp, [[2, 0], [0, 4]], F, {}),
    (ConvOp, [[2, 3, 7, 6], [4, 3, 3, 2]], F, {}),
    (ConvOp, [[2, 4, 7, 6], [6, 2, 3, 2], [6]], F, {**CONV, "groups": 2}),
    (ConvOp, [[1, 3, 7], [3, 1, 3], [3]], S, {"groups": 3, "pads": [2, 2]}),
    (ConvOp, [[1, 2, 4, 5, 3], [3, 2, 2, 2, 1]], F, {"strides": [2, 1, 2], "pads": [1] * 6}),
    (ConvOp, [[1, 2, 3, 3], [3, 2, 1, 1]], F, {"strides": [3, 3]}),
    (ConvOp, [[1, 2, 5], [3, 2, 2]], F, {"strides": [2], "pads": [0, 0]}),
    (ConvOp, [[0, 2, 5], [3, 2, 2]], F, {}),
    (MaxPoolOp, [[2, 2, 7, 6]], F, POOL),
    (MaxPoolOp, [[2, 2, 7, 6]], S, {**POOL, "ceil_mode": True, "dilations": [2, 1]}),
    (MaxPoolOp, [[1, 2, 9]], U, {"window": [2], "strides": [4], "ceil_mode": True}),
    (ReduceSumOp, [[2, 3, 4]], F, {"axes": [0, 2]}),
    (ReduceSumOp, [[2, 3, 4]], S, {"axes": [1], "keepdims": True}),
    (ReduceMeanOp, [[2, 3, 4]], F, {"axes": [0, 1, 2]}),
    (ReduceMeanOp, [[2, 3, 4]], S, {"axes": [2]}),
    (ReduceMeanOp, [[2, 0]], F, {"axes": [1]}),
    (ReduceMaxOp, [[2, 3]], F, {"axes": [1]}),
    (ReduceMaxOp, [[2, 0]], F, {"axes": [1]}),
    (ReduceMaxOp, [[2, 3]], U, {"axes": [0], "keepdims": True}),
    (ReduceMinOp, [[2, 3]], S, {"axes": [0]}),
    (ReduceMinOp, [[0, 3]], S, {"axes": [0]}),
    (ReduceProdOp, [[2, 3]], F, {"axes": [1]}),
    (ReduceProdOp, [[2, 3]], F, {"axes": []}),
    (TransposeOp, [[2, 3, 4]], F, {"perm": [2, 0, 1]}),
    (TransposeOp, [[]], F, {"perm": []}),
    (BroadcastToOp, [[3, 1]], F, {"shape": [2, 3, 4]}),
    (BroadcastToOp, [[1]], S, {"shape": [0]}),
    (SliceOp, [[5, 6]], F, {"starts": [4, 1], "sizes": [2, 3], "steps": [-2, 2]}),
    (SliceOp, [[5]], F, {"starts": [9], "sizes": [0], "steps": [1]}),
    (PadOp, [[2, 3]], F, {"low": [1, 0], "high": [0, 2], "value": -math.inf}),
    (PadOp, [[2, 3]], S, {"low": [0, 1], "high": [0, 0], "value": 7.0}),
]


@pytest.mark.every_case(reason="each is a shape that is special")
@pytest.mark.parametrize(("kind", "shapes", "dtype", "properties"), NESTS)
def test_the_nest_computes_the_reference(
    kind: type[StructuredOp], shapes: list[list[int]], dtype: str, properties: dict[str, Property]
) -> None:
    arrays = [random(shape, dtype, seed) for seed, shape in enumerate(shapes)]
    op = make(kind, *arrays, **properties)
    out = empty_out(op, arrays[0])
    evaluate(op.nest(), arrays, out)
    expected = op.reference(*arrays)
    assert expected.dtype == out.dtype
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


def test_concat_writes_each_part_at_its_offset() -> None:
    """An operand that comes several times in a row is one nest."""
    arrays = [random([2, n, 3], seed=n) for n in (1, 0, 4)]
    values = list(make(ConcatOp, *arrays, axis=1).parts)
    array_of = dict(zip(values, arrays, strict=True))
    order = (0, 0, 0, 1, 2, 2, 0)
    op = ConcatOp.make(*(values[at] for at in order), axis=1)
    parts = [arrays[at] for at in order]
    out = empty_out(op, parts[0])
    runs = op.runs()
    assert [times for _, times in runs] == [3, 1, 2, 1]
    for (value, _), spec in zip(runs, op.part_nests(runs), strict=True):
        evaluate(spec, [array_of[value]], out)
    np.testing.assert_array_equal(out, op.reference(*parts))
    np.testing.assert_array_equal(out, np.concatenate(parts, 1))


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("ceil", [False, True])
def test_avg_pool_is_its_sums_over_its_counts(include: bool, ceil: bool) -> None:
    x = random([2, 3, 7, 8])
    op = make(AvgPoolOp, x, **POOL, ceil_mode=ceil, count_include_pad=include)
    sums = empty_out(op, x)
    evaluate(op.sum_nest(), [x], sums)
    assert op.counts().dtype == np.float32
    np.testing.assert_allclose(sums / op.counts(), op.reference(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("shapes", "properties", "names"),
    [
        ([[1, 2, 9], [4, 2, 3]], {}, "n oc ow ic kw"),
        ([[1, 4, 9, 9], [4, 2, 3, 3]], {"groups": 2}, "n g oc oh ow ic kh kw"),
        ([[1, 2, 5, 5, 5], [4, 2, 3, 3, 3]], {}, "n oc od oh ow ic kd kh kw"),
    ],
)
def test_a_conv_names_its_iterators(
    shapes: list[list[int]], properties: dict[str, Property], names: str
) -> None:
    spec = make(ConvOp, *(random(shape) for shape in shapes), **properties).nest()
    assert " ".join(iterator.name for iterator in spec.iterators) == names
    assert all(read.pad is None for read in spec.reads)


def test_only_reads_that_leave_the_input_are_padded() -> None:
    x, w = random([1, 2, 4]), random([3, 2, 2])
    assert make(ConvOp, x, w, pads=[0, 1]).nest().reads[0].pad == 0
    # The padding at the end is behind the last window.
    assert make(ConvOp, x, w, strides=[2], pads=[0, 1]).nest().reads[0].pad is None


# ------------------------------------------------------------------------------ against ONNX


def onnx_reference(name: str, inputs: Sequence[Array | None], **attributes: Any) -> Array:
    pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    evaluator: Any = ReferenceEvaluator(_onnx_model(name, inputs, attributes))
    return evaluator.run(None, _feeds(inputs))[0]


def onnx_runtime(name: str, inputs: Sequence[Array | None], **attributes: Any) -> Array:
    runtime = pytest.importorskip("onnxruntime")
    model = _onnx_model(name, inputs, attributes).SerializeToString()
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(None, _feeds(inputs))[0]


def _feeds(inputs: Sequence[Array | None]) -> dict[str, Array]:
    return {f"i{n}": x for n, x in enumerate(inputs) if x is not None}


def _onnx_model(name: str, inputs: Sequence[Array | None], attributes: dict[str, Any]) -> Any:
    from onnx import helper

    names = ["" if x is None else f"i{n}" for n, x in enumerate(inputs)]
    node = helper.make_node(name, names, ["o"], **attributes)
    infos = [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for k, x in _feeds(inputs).items()
    ]
    first = inputs[0]
    assert first is not None
    kind = helper.np_dtype_to_tensor_dtype(first.dtype)
    graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("o", kind, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def random_window(rng: np.random.Generator, rank: int) -> dict[str, list[int]]:
    return {
        "window": rng.integers(1, 4, rank).tolist(),
        "strides": rng.integers(1, 5, rank).tolist(),
        "pads": rng.integers(0, 3, 2 * rank).tolist(),
        "dilations": rng.integers(1, 3, rank).tolist(),
    }


@pytest.mark.every_case(reason="each is a shape that is special")
@pytest.mark.parametrize("seed", range(24))
def test_conv_is_that_of_onnx(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank, groups = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    window = random_window(rng, rank)
    x = random([2, groups * 2, *rng.integers(5, 8, rank)], seed=seed)
    w = random([groups * 3, 2, *window.pop("window")], seed=seed + 1)
    bias = random([groups * 3], seed=seed + 2) if seed % 2 else None
    operands = [x, w] if bias is None else [x, w, bias]
    found = make(ConvOp, *operands, **window, groups=groups).reference(*operands)
    expected = onnx_reference("Conv", operands, **window, group=groups)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.every_case(reason="each is a shape that is special")
@pytest.mark.parametrize("seed", range(60))
def test_pools_are_those_of_onnx(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    window = random_window(rng, rank)
    # ONNX Runtime wants the pads smaller than the window.
    window["pads"] = [
        min(pad, size - 1) for pad, size in zip(window["pads"], window["window"] * 2, strict=True)
    ]
    flags: dict[str, bool] = {"ceil_mode": bool(seed % 2)}
    kind: type[AvgPoolOp | MaxPoolOp] = MaxPoolOp
    if seed % 4 >= 2:
        kind, flags["count_include_pad"] = AvgPoolOp, bool(seed % 8 >= 4)
    x = random([1, 2, *rng.integers(5, 10, rank)], seed=seed)
    found = make(kind, x, **window, **flags).reference(x)
    name = "MaxPool" if kind is MaxPoolOp else "AveragePool"
    attributes = {**window, **{flag: int(value) for flag, value in flags.items()}}
    expected = onnx_runtime(name, [x], kernel_shape=attributes.pop("window"), **attributes)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "kind", [ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp]
)
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_are_those_of_onnx(kind: type[ReduceOp], keepdims: bool) -> None:
    x = random([2, 3, 4])
    found = make(kind, x, axes=[0, 2], keepdims=keepdims).reference(x)
    name = kind.__name__.removesuffix("Op")
    expected = onnx_reference(name, [x, np.array([0, 2])], keepdims=int(keepdims))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("kind", [CumsumOp, CumprodOp])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_ops_are_those_of_onnx(
    kind: type[CumulativeOp], exclusive: bool, reverse: bool
) -> None:
    x = random([3, 5])
    found = make(kind, x, axis=-1, exclusive=exclusive, reverse=reverse).reference(x)
    name = "CumSum" if kind is CumsumOp else "CumProd"
    flags = {"exclusive": int(exclusive), "reverse": int(reverse)}
    expected = onnx_reference(name, [x, np.array(1)], **flags)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("kind", [ArgMaxOp, ArgMinOp])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("keepdims", [False, True])
def test_arg_reductions_are_those_of_onnx(
    kind: type[ArgReduceOp], last: bool, keepdims: bool
) -> None:
    x = np.random.default_rng(1).integers(0, 3, (4, 9)).astype(np.float32)
    found = make(kind, x, axis=-1, keepdims=keepdims, last=last).reference(x)
    flags = {"axis": 1, "keepdims": int(keepdims), "select_last_index": int(last)}
    expected = onnx_reference("ArgMax" if kind is ArgMaxOp else "ArgMin", [x], **flags)
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("kind", [ArgMaxOp, ArgMinOp])
def test_arg_reductions_find_nan_first(kind: type[ArgReduceOp]) -> None:
    x = np.array([[0, np.nan, np.inf, np.nan, -np.inf], [0, -0.0, 0, -0.0, 0]], np.float32)
    assert make(kind, x, axis=1).reference(x).tolist() == [1, 0]
    assert make(kind, x, axis=1, last=True).reference(x).tolist() == [3, 4]


def test_slice_takes_backwards_like_onnx() -> None:
    x = random([5, 6, 7])
    op = make(SliceOp, x, starts=[4, 5, 1], sizes=[3, 6, 2], steps=[-2, -1, 3])
    starts, ends = np.array([-1, 5, 1]), np.array([-(2**31), -(2**31), 6])
    expected = onnx_reference("Slice", [x, starts, ends, np.arange(3), np.array([-2, -1, 3])])
    np.testing.assert_array_equal(op.reference(x), expected)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gather_counts_negative_indices_from_the_end(axis: int) -> None:
    data, indices = random([3, 4, 5]), np.array([[0, -1], [2, -3]])
    found = make(GatherOp, data, indices, axis=axis).reference(data, indices)
    np.testing.assert_array_equal(found, onnx_reference("Gather", [data, indices], axis=axis))


# ------------------------------------------------------------------------------ edges


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gather_reads_the_nearest_element_for_an_index_outside(
    dtype: type[np.integer[Any]],
) -> None:
    """As compiled code does."""
    data, limits = random([3, 2]), np.iinfo(dtype)
    indices = np.array([3, -4, limits.max, limits.min, -3, 2], dtype)
    found = make(GatherOp, data, indices, axis=0).reference(data, indices)
    np.testing.assert_array_equal(found, data[[2, 0, 2, 0, 0, 2]])


@pytest.mark.parametrize(("sizes", "count"), [((0, 2), 0), ((2, 0), 3), ((0, 0), 3)])
def test_gather_of_nothing_is_empty(sizes: tuple[int, int], count: int) -> None:
    data, indices = random(sizes), np.zeros(count, np.int64)
    found = make(GatherOp, data, indices, axis=0).reference(data, indices)
    assert found.shape == (count, sizes[1])


def test_a_call_has_no_reference() -> None:
    x = random([2])
    op = CallOp("foo_0", values_of(x), [tensor(f32, [2])])
    op.verify_()
    with pytest.raises(UnsupportedError) as raised:
        op.reference(x)
    message = "'graph.call' of @foo_0 with 1 arguments has no reference; evaluate the callee's body"
    assert str(raised.value) == message


def test_reductions_of_nothing_give_the_start_value() -> None:
    x = np.zeros((2, 0), np.float32)
    found = [
        make(kind, x, axes=[1]).reference(x).tolist()
        for kind in (ReduceSumOp, ReduceProdOp, ReduceMaxOp, ReduceMinOp)
    ]
    assert found == [[0, 0], [1, 1], [-math.inf] * 2, [math.inf] * 2]
    assert np.isnan(make(ReduceMeanOp, x, axes=[1]).reference(x)).all()


def test_cumulative_ops_of_one_element_and_of_none() -> None:
    """A zero keeps its sign; exclusive, one element is what nothing is; bytes wrap."""
    x = np.array([-0.0], np.float32)
    assert np.signbit(make(CumsumOp, x, axis=0).reference(x)).all()
    assert make(CumprodOp, x, axis=0, exclusive=True).reference(x).tolist() == [1]
    empty = np.zeros((2, 0), np.float32)
    assert make(CumsumOp, empty, axis=1, exclusive=True).reference(empty).shape == (2, 0)
    large = np.array([100, 100, 100], np.int8)
    assert make(CumsumOp, large, axis=0).reference(large).tolist() == [100, -56, 44]


def test_an_integer_mean_divides_towards_zero() -> None:
    x = np.array([[-7, 0], [7, 0], [-(2**31), 0]], np.int32)
    assert make(ReduceMeanOp, x, axes=[1]).reference(x).tolist() == [-3, 3, -(2**30)]


def test_nan_goes_through_maxima() -> None:
    x = np.array([[1, math.nan, 3]], np.float32)
    assert np.isnan(make(ReduceMaxOp, x, axes=[1]).reference(x)).all()
    pooled = make(MaxPoolOp, x.reshape(1, 1, 3), window=[2]).reference(x.reshape(1, 1, 3))
    assert np.isnan(pooled).all()


def test_pad_of_bools_is_a_bool() -> None:
    x = np.array([False])
    op = make(PadOp, x, low=[1], high=[0], value=1.0)
    assert op.reference(x).tolist() == [True, False]
    assert op.nest().reads[0].pad == 1


def test_reshape_keeps_the_order() -> None:
    x = random([2, 3])
    found = make(ReshapeOp, x, shape=[3, 1, 2]).reference(x)
    assert found.shape == (3, 1, 2)
    assert found.ravel().tolist() == x.ravel().tolist()


def test_make_checks_constraints() -> None:
    with pytest.raises(VerifyException) as raised:
        make(MatmulOp, random([2, 3]), random([4, 2]))
    assert str(raised.value) == "C3: expected 3 rows in the second operand, found 4"


# ------------------------------------------------------------------------------ packing


PACKS: list[tuple[list[int], list[int], Callable[[Sequence[AffineExpr]], list[AffineExpr]]]] = [
    ([20, 3], [2, 3, 16], lambda d: [d[0] * 16 + d[2], d[1]]),
    ([6, 5], [4, 3], lambda d: [d[0] * -1 + 2, d[1] * 2 + 1]),
    ([4], [3, 2], lambda d: [d[0]]),
    ([], [2, 2], lambda _: []),
    ([3, 2], [2, 2], lambda d: [d[0] + d[1], AffineExpr.constant(5)]),
    ([0, 2], [2, 2], lambda d: [d[0], d[1]]),
]


@pytest.mark.parametrize(("src", "dst", "index"), PACKS)
def test_pack_is_zero_outside_its_source(
    src: list[int], dst: list[int], index: Callable[[Sequence[AffineExpr]], list[AffineExpr]]
) -> None:
    array = random(src)
    results = tuple(index([AffineExpr.dimension(d) for d in range(len(dst))]))
    values = Block(arg_types=[memref(f32, src), memref(f32, dst)]).args
    op = PackOp(values[0], AffineMapAttr(AffineMap(len(dst), 0, results)), values[1])
    op.verify_()
    expected = np.zeros(dst, np.float32)
    for point in np.ndindex(*dst):
        place = tuple(expr.eval(point, []) for expr in results)
        if all(0 <= p < size for p, size in zip(place, src, strict=True)):
            expected[point] = array[place]
    np.testing.assert_array_equal(op.reference(array), expected)
