"""Models that look up rows of tables: what follows is computed where a row is read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import inarch
from inarch.tools.cli import run as inarch_cli

Array = np.ndarray[Any, Any]


def place(index: int, size: int) -> int:
    """The row that an index names: from the end where it is negative, the nearest where it is outside."""
    return range(size)[max(index, -size) if index < 0 else min(index, size - 1)]


def embeddings(path: Path) -> dict[str, Array]:
    """A model: two tables, a constant, and the sum of their rows; returns its constants."""
    rng = np.random.default_rng(0)
    shapes = {"words": (50, 24), "types": (2, 24), "positions": (1, 9, 24)}
    tables = {name: rng.standard_normal(shape).astype("f4") for name, shape in shapes.items()}
    nodes = [
        helper.make_node("Gather", ["words", "ids"], ["a"]),
        helper.make_node("Gather", ["types", "kinds"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("Add", ["c", "positions"], ["y"]),
    ]
    ins = [helper.make_tensor_value_info(n, TensorProto.INT64, [1, 9]) for n in ("ids", "kinds")]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 9, 24])
    held = [numpy_helper.from_array(array, name) for name, array in tables.items()]
    graph = helper.make_graph(nodes, "g", ins, [out], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return tables


def test_the_sum_of_embeddings_is_one_kernel(tmp_path: Path) -> None:
    """Nothing is written but the sum: rows are read where they are added."""
    path = tmp_path / "m.onnx"
    tables = embeddings(path)
    text = inarch_cli(["compile", str(path), "--emit=kernel"]).out
    assert len(re.findall("loop.call @", text)) == 1
    assert "loop.alloc" not in text
    ids, kinds = np.array([[0, 49, -1, 7, 7, -50, 3, 48, -49]]), np.array([[0, 1, -1] * 3])
    rows = [place(int(index), 50) for index in ids[0]]
    wanted = tables["words"][rows] + tables["types"][kinds[0]] + tables["positions"]
    np.testing.assert_array_equal(inarch.compile(path, target="generic")(ids, kinds), wanted)


@pytest.mark.sampled(3, reason="each index, and both axes")
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("index", [-5, -1, 2])
def test_a_row_that_is_known_is_a_plain_read(tmp_path: Path, axis: int, index: int) -> None:
    """As the first token's of BERT's pooler: no index is read at run time."""
    ins = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 5, 7])]
    out = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [5, 7])]
    nodes = [
        helper.make_node("Gather", ["x", "i"], ["a"], axis=axis),
        helper.make_node("Relu", ["a"], ["y"]),
    ]
    held = [helper.make_tensor("i", TensorProto.INT64, [], [index])]
    graph = helper.make_graph(nodes, "g", ins, out, held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    text = inarch_cli(["compile", str(path), "--emit=kernel"]).out
    assert len(re.findall("loop.call @", text)) == 1
    assert "at(" not in text
    x = np.random.default_rng(0).standard_normal((5, 5, 7)).astype("f4")
    wanted = np.maximum(np.take(x, place(index, 5), axis), 0)
    np.testing.assert_array_equal(inarch.compile(path, target="generic")(x), wanted)
