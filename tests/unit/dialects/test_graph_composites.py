"""A composite and its decomposition compute the same, which is what its equation says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.ir import Block

from inarch.core.dtypes import from_numpy
from inarch.dialects.graph import DIALECT
from inarch.dialects.graph.composites.quantize import QuantizedOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import CompositeOp, GraphOp, shape_of, tensor_dtype
from inarch.dialects.graph.packed import DequantizePackedOp
from inarch.ir.types import mlir_type, tensor

Array = np.ndarray[Any, Any]
Properties = dict[str, Any]

COMPOSITES = [
    op
    for op in DIALECT.operations
    if issubclass(op, CompositeOp) and not issubclass(op, QuantizedOp)  # test_quantize.py
]
OF_FLOATS = [op for op in COMPOSITES if op is not DequantizePackedOp]


def _make(name: str, arrays: list[Array], properties: Properties) -> tuple[CompositeOp, Array]:
    """The op called `name` on operands like `arrays`, and its reference's result."""
    (op_class,) = (op for op in COMPOSITES if op.name == f"graph.{name}")
    types = [tensor(mlir_type(from_numpy(a.dtype.name)), a.shape) for a in arrays]
    op = op_class.make(*Block(arg_types=types).args, **properties)
    result: Any = op.reference(*arrays)
    return op, result


def _check_type(op: GraphOp, found: Array) -> None:
    """A reference has the shape and dtype that `infer` states."""
    assert found.shape == shape_of(op.results[0])
    assert found.dtype.name == tensor_dtype(op.results[0]).numpy


KNOWN: list[tuple[str, list[Array], Properties, Any]] = [
    (
        "softmax",
        [np.array([[0, np.log(3.0)], [1e4, 1e4]])],
        {"axis": 1},
        [[0.25, 0.75], [0.5, 0.5]],
    ),
    ("log_softmax", [np.array([1e4, 1e4])], {"axis": 0}, [-np.log(2.0), -np.log(2.0)]),
    ("gelu", [np.array([0.0, 1.0])], {}, [0, 0.8413447460685429]),
    ("gelu", [np.array([1.0])], {"approximate": "tanh"}, [0.8411919906082768]),
    (
        "layer_norm",
        [np.array([[1.0, 3.0], [-2.0, 2.0]]), np.array([10.0, 1.0]), np.array(0.5)],
        {"axis": 1, "epsilon": 0.0},
        [[-9.5, 1.5], [-9.5, 1.5]],
    ),
    (
        "batch_norm",
        [np.array([[5.0, 7.0]]), *(np.array(v) for v in ([2.0, 1], [1.0, 0], [3.0, 5], [3.0, 0]))],
        {"epsilon": 1.0},
        [[3.0, 2.0]],
    ),
    (  # an infinite factor: 2 * -inf + (1 - 4 * -inf)
        "batch_norm",
        [np.array([[2.0]]), *(np.array([v]) for v in (-np.inf, 1.0, 4.0, 1.0))],
        {"epsilon": 0.0},
        [[np.nan]],
    ),
]
"""Values from the equations, computed by hand."""


@pytest.mark.parametrize(("name", "arrays", "properties", "expected"), KNOWN)
def test_reference_gives_known_values(
    name: str, arrays: list[Array], properties: Properties, expected: Any
) -> None:
    op, found = _make(name, arrays, properties)
    _check_type(op, found)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def _random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).normal(0.5, 2, shape)


CASES: list[tuple[str, list[Array], Properties]] = [
    *(("softmax", [_random(2, 3, 4)], {"axis": axis}) for axis in (0, 1, -1, -3)),
    *(("log_softmax", [_random(2, 3, 4)], {"axis": axis}) for axis in (0, 1, -1, -3)),
    *((name, [_random()], {"axis": 0}) for name in ("softmax", "log_softmax")),
    *((name, [_random(2, 0)], {"axis": 1}) for name in ("softmax", "log_softmax")),
    *((name, [_random(2, 3) * 1e4], {"axis": 1}) for name in ("softmax", "log_softmax")),
    *(("gelu", [_random(*shape)], {"approximate": "none"}) for shape in ((), (0,), (5, 7))),
    *(("gelu", [_random(*shape)], {"approximate": "tanh"}) for shape in ((), (0,), (5, 7))),
    ("layer_norm", [_random(2, 3, 4), _random(4)], {"axis": -1, "epsilon": 1e-5}),
    ("layer_norm", [_random(2, 3, 4), _random(3, 4), _random(4)], {"axis": 1, "epsilon": 1e-5}),
    ("layer_norm", [_random(2, 3), _random(2, 3), _random()], {"axis": 0, "epsilon": 0.1}),
    ("layer_norm", [_random(), _random(), _random()], {"axis": 0, "epsilon": 0.1}),
    ("layer_norm", [_random(2, 0), _random(0)], {"axis": 1, "epsilon": 0.1}),
    *(
        ("batch_norm", [_random(*s), *(abs(_random(s[1], n))[:, 0] for n in (1, 2, 3, 4))], eps)
        for s in ((2, 3), (2, 3, 4), (1, 5, 2, 3), (0, 3), (2, 0, 4))
        for eps in [{"epsilon": 1e-3}]
    ),
    (
        "batch_norm",
        [_random(2, 3), *(np.array([v, np.inf, -np.inf]) for v in (-np.inf, 1.0, 4.0)), np.ones(3)],
        {"epsilon": 0.0},
    ),
]


def test_every_composite_has_a_case() -> None:
    assert {f"graph.{name}" for name, _, _ in CASES} == {op.name for op in OF_FLOATS}


@pytest.mark.sampled(30, reason="each composite, shape and dtype once")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "arrays", "properties"), CASES)
def test_decomposition_computes_what_the_composite_does(
    name: str, arrays: list[Array], properties: Properties, dtype: str
) -> None:
    _check_decomposition(name, [a.astype(dtype) for a in arrays], properties)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zero", ["", "int8", "float32"])
def test_packed_weights_decompose(bits: int, zero: str) -> None:
    random = np.random.default_rng(bits)
    words = random.integers(-(1 << 31), 1 << 31, (2, 3, 6)).astype(np.int32)
    scale = random.normal(size=(2, 3, 2)).astype(np.float32)
    zeros = [random.integers(0, 1 << min(bits, 7), scale.shape).astype(zero)] if zero else []
    _check_decomposition("dequantize_packed", [words, scale, *zeros], {"bits": bits})


def _check_decomposition(name: str, arrays: list[Array], properties: Properties) -> None:
    op, expected = _make(name, arrays, properties)
    _check_type(op, expected)
    known = dict(zip(op.operands, arrays, strict=True))
    result = expected
    with np.errstate(all="ignore"):
        for simple in op.decompose():
            assert isinstance(simple, GraphOp)
            assert not isinstance(simple, CompositeOp)
            simple.verify_()
            step: Any = simple.reference(*(known[operand] for operand in simple.operands))
            result = np.asarray(step)
            known[simple.results[0]] = result
            _check_type(simple, result)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_epsilon_is_a_number_of_the_dtype(dtype: Any) -> None:
    """What the reference adds is what the decomposition adds: it shows beside a variance of -epsilon."""
    one, variance = np.ones(1, dtype), np.array([-1e-3], dtype)
    norm, found = _make(
        "batch_norm", [one.reshape(1, 1), one, one, -one, variance], {"epsilon": 1e-3}
    )
    assert np.isposinf(found).all(), "1 * inf + (1 - -1 * inf)"
    (epsilon,) = (step for step in norm.decompose() if isinstance(step, ConstantOp))
    assert epsilon.reference() + variance == 0
    row = np.array([1, -1], dtype)
    _, found = _make("layer_norm", [row, row], {"axis": 0, "epsilon": 5.1})
    exact = 1 / np.sqrt(1 + np.float64(dtype(5.1)))
    np.testing.assert_array_equal(found, exact.astype(dtype), "a float64 of 5.1 gives another f32")
