"""References of elementwise ops give the values that the definitions give, computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.ir import Block

from inarch.core.dtypes import from_numpy
from inarch.dialects.graph import DIALECT
from inarch.dialects.graph.op import GraphOp, shape_of, tensor_dtype
from inarch.ir.types import mlir_type, tensor

Array = np.ndarray[Any, Any]
Properties = dict[str, Any]

I32 = np.int32
KNOWN: list[tuple[str, list[Any], Properties, Any]] = [
    ("div", [np.array([7, -7, 7, -7], I32), np.array([2, 2, -2, -2], I32)], {}, [3, -3, -3, 3]),
    ("div", [np.array([5, -(2**31)], I32), np.array([0, -1], I32)], {}, [0, -(2**31)]),
    ("mod", [np.array([7, -7, 7, -7], I32), np.array([3, 3, -3, -3], I32)], {}, [1, 2, -2, -1]),
    (
        "mod",
        [np.array([7, -7, 7, -7], I32), np.array([3, 3, -3, -3], I32)],
        {"fmod": True},
        [1, -1, 1, -1],
    ),
    ("mod", [np.array([-5.5, 5.5]), np.array([2.0, -2.0])], {"fmod": True}, [-1.5, 1.5]),
    ("add", [np.array([250, 3], np.uint8), np.array([10], np.uint8)], {}, [4, 13]),
    ("round", [np.array([0.5, 1.5, 2.5, -0.5, -1.5])], {}, [0, 2, 2, 0, -2]),
    ("relu", [np.array([np.nan, -1.0, 2.0])], {}, [np.nan, 0, 2]),
    ("maximum", [np.array([np.nan, 1.0]), np.array([3.0, np.nan])], {}, [np.nan, np.nan]),
    ("sign", [np.array([np.nan, -0.0, 5.0, -np.inf])], {}, [np.nan, 0, 1, -1]),
    ("erf", [np.array([0.0, 1.0, -np.inf])], {}, [0, 0.8427007929497149, -1]),
    (
        "expm1",
        [np.array([1e-20, -1e-20, -np.inf, 50.0])],
        {},
        [1e-20, -1e-20, -1, 5.184705528587072e21],
    ),
    ("log1p", [np.array([1e-20, -1e-20, -1.0, np.inf])], {}, [1e-20, -1e-20, -np.inf, np.inf]),
    ("sigmoid", [np.array([0.0, -np.inf, 1000.0])], {}, [0.5, 0, 1]),
    ("cast", [np.array([2.9, -2.9, 300.0, np.nan])], {"to": mlir_type("i8")}, [2, -2, 127, 0]),
    ("cast", [np.array([-1.5, 254.9, 1e9])], {"to": mlir_type("ui8")}, [0, 254, 255]),
    ("cast", [np.array([0.0, 0.3, np.nan])], {"to": mlir_type("i1")}, [False, True, True]),
    ("clip", [np.array([np.nan, -1.0, 9.0])], {"low": 0.0, "high": 6.0}, [np.nan, 0, 6]),
    ("less", [np.array([200], np.uint8), np.array([100], np.uint8)], {}, [False]),
    ("not_equal", [np.array([np.nan]), np.array([np.nan])], {}, [True]),
    (
        "softmax",
        [np.array([[0.0, np.log(3.0)], [1e4, 1e4]])],
        {"axis": 1},
        [[0.25, 0.75], [0.5] * 2],
    ),
]


@pytest.mark.every_case(reason="each is an op of its own")
@pytest.mark.parametrize(("name", "arrays", "properties", "expected"), KNOWN)
def test_reference_gives_known_values(
    name: str, arrays: list[Array], properties: Properties, expected: Any
) -> None:
    (op_class,) = (op for op in DIALECT.operations if op.name == f"graph.{name}")
    assert issubclass(op_class, GraphOp)
    types = [tensor(mlir_type(from_numpy(a.dtype.name)), a.shape) for a in arrays]
    op = op_class.make(*Block(arg_types=types).args, **properties)
    found: Any = op.reference(*arrays)
    assert found.shape == shape_of(op.results[0])
    assert found.dtype.name == tensor_dtype(op.results[0]).numpy
    np.testing.assert_allclose(found, expected, rtol=1e-14)
