"""Arguments of the Python interface that are of another type than expected: one line, before any work."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import inarch
from inarch.core.arguments import checked_dims, checked_shapes
from inarch.core.errors import ArgumentError, UsageError
from inarch.core.plugins import Extensions
from inarch.driver.options import Options
from inarch.testing import execute

DOUBLE = """\
func.func @main(%x: tensor<2x2xf32> {inarch.name = "x"}) -> tensor<2x2xf32> {
  %y = graph.add %x, %x : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}
"""


@pytest.fixture(name="model")
def fixture_model(tmp_path: Path) -> Path:
    """y = relu(x), of shape [batch, 2]."""
    sides = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 2]) for name in ("x", "y")
    ]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "m", sides[:1], sides[1:])
    opsets = [helper.make_opsetid("", 17)]
    path = tmp_path / "m.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    )
    return path


@pytest.fixture(name="double", scope="module")
def fixture_double(tmp_path_factory: pytest.TempPathFactory) -> inarch.Module:
    path = tmp_path_factory.mktemp("double") / "double.mlir"
    path.write_text(DOUBLE)
    return inarch.compile(path)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"dims": {"batch": True}}, "dims['batch']: expected a whole number, found True (a bool)"),
        ({"dims": {"batch": 2.0}}, "dims['batch']: expected a whole number, found 2.0 (a float)"),
        ({"dims": {"batch": "2"}}, "dims['batch']: expected a whole number, found '2' (a str)"),
        ({"dims": {1: 2}}, "dims: expected names as keys, found 1 (a int)"),
        (
            {"dims": [("batch", 1)]},
            "dims: expected a dict such as {'batch': 1}, found [('batch', 1)] (a list)",
        ),
        (
            {"shapes": {"x": (2, None)}},
            "shapes['x'][1]: expected a whole number, found a NoneType",
        ),
        ({"shapes": {"x": 2}}, "shapes['x']: expected a tuple of sizes, found 2 (a int)"),
        ({"shapes": {"x": "2"}}, "shapes['x']: expected a tuple of sizes, found '2' (a str)"),
        ({"target": None}, "target: expected a string such as 'x86-64-v3', found a NoneType"),
        (
            {"output": "m.inarch"},
            f"no option 'output'. Known: {', '.join(sorted(each.name for each in fields(Options)))}",
        ),
        ({"name": 3}, "name: expected a string such as 'model', found 3 (a int)"),
    ],
)
def test_keywords_of_compile(model: Path, keywords: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"dims": {"batch": 1}, **keywords}
    with pytest.raises(UsageError) as error:
        inarch.compile(model, **given)
    assert str(error.value) == message


def test_numpys_integers_are_whole_numbers() -> None:
    assert checked_dims({"batch": np.int64(2)}) == {"batch": 2}
    assert checked_shapes({"x": np.array([2, 3]), "y": [np.uint8(1)], "z": ()}) == {
        "x": (2, 3),
        "y": (1,),
        "z": (),
    }
    with pytest.raises(UsageError, match=r"^dims\['batch'\]: expected a whole number, found "):
        checked_dims({"batch": np.bool_(True)})


def test_a_path_that_is_none() -> None:
    with pytest.raises(UsageError) as error:
        inarch.load(None)  # pyright: ignore[reportArgumentType]
    assert str(error.value) == "expected the path of an artifact, found a NoneType"


def test_a_dict_as_the_input_is_told_of_run(double: inarch.Module) -> None:
    with pytest.raises(ArgumentError) as error:
        double({"x": np.zeros((2, 2), np.float32)})
    assert str(error.value) == (
        "main: argument 'x': expected f32[2, 2], found a dict; use run(inputs) for inputs by name"
    )


def test_run_takes_inputs_by_name(double: inarch.Module) -> None:
    with pytest.raises(ArgumentError) as error:
        double.run(np.zeros((2, 2), np.float32))  # pyright: ignore[reportArgumentType]
    assert str(error.value) == (
        "main: run expected a dict of inputs by name (x: f32[2, 2]), found a ndarray"
    )


def test_execute_takes_arrays() -> None:
    with pytest.raises(ArgumentError) as error:
        execute(DOUBLE, [[[1.0, 2.0], [3.0, 4.0]]])  # pyright: ignore[reportArgumentType]
    assert str(error.value) == (
        "@main: expected input 0 to be a NumPy array, found a list; "
        "use np.array(x, dtype=np.float32)"
    )


@pytest.mark.parametrize(
    ("out", "problem"),
    [
        (np.zeros((2, 2)), "found f64[2, 2]"),
        (np.zeros((2, 2), np.float32).T[::-1], "in row-major order, found strides (-4, 8)"),
        ([[0.0, 0.0], [0.0, 0.0]], ""),
    ],
)
def test_what_no_output_can_be_written_to(double: inarch.Module, out: object, problem: str) -> None:
    with pytest.raises(ArgumentError) as error:
        double(np.zeros((2, 2), np.float32), out=(out,))
    start, advice = str(error.value).split("; ")
    assert start.startswith("main: output 'out0': expected f32[2, 2]")
    assert start.endswith(problem)
    assert advice == "pass a row-major float32 array of shape (2, 2)"


def test_a_module_that_leaves_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "leaving_things").mkdir()
    (tmp_path / "leaving_things" / "__init__.py").write_text("")
    (tmp_path / "leaving_things" / "gone.py").write_text("import sys\nTHING = sys.exit(0)\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(inarch.InarchError) as error:
        Extensions[object]("leaving_things", "THING")["gone"]
    assert str(error.value) == (
        "thing 'gone' (leaving_things.gone) cannot be imported: SystemExit: 0"
    )
