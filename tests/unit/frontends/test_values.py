"""Inputs whose values are known when a model is compiled: `values=`, `--value`."""

# A bare pathlike in the stubs of onnx:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import inarch
from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError, UnsupportedError, UsageError
from inarch.dialects import new_context
from inarch.driver.compiler import build, import_model
from inarch.frontends.values import fixed_value
from inarch.ir.functions import functions
from inarch.ir.text import parse_module
from inarch.tools.cli import run

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
MLIR = """func.func @main(%x: tensor<2x3xf32> {inarch.name = "x"}, %by: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.sub %x, %by : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""


def reshape() -> onnx.ModelProto:
    """A shape that is an input: no compiler can know what comes out."""
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3,N] x, int64[2] to, float k) => (float[a,b] y)'
        " { r = Reshape(x, to) y = Mul(r, k) }"
    )
    return onnx.parser.parse_model(text)


def test_a_shape_that_is_given_is_compiled_in() -> None:
    module = inarch.compile(reshape(), values={"to": [6, 4]}, dims={"N": 4})
    (signature,) = [each.signature for each in module.functions.values()]
    assert [port.name for port in signature.inputs] == ["x", "k"]
    assert np.array_equal(module.run({"x": X, "k": np.float32(2)})["y"], X.reshape(6, 4) * 2)


def test_a_value_binds_the_dimensions_it_has() -> None:
    module = inarch.compile(reshape(), values={"to": np.array([2, 12]), "x": X, "k": 3})
    assert np.array_equal(module.run({})["y"], X.reshape(2, 12) * 3)


def test_without_it_the_message_says_so() -> None:
    with pytest.raises(UnsupportedError) as caught:
        import_model(reshape(), new_context(), dims={"N": 4})
    assert str(caught.value).endswith(
        "unsupported: Reshape: shape is computed at run time ('r'); where it is always the same, "
        "give it to the compiler: --value to=..."
    )


@pytest.mark.parametrize("is_parsed", [True, False])
def test_arguments_of_text_become_constants(tmp_path: Path, *, is_parsed: bool) -> None:
    source: Any = tmp_path / "m.mlir"
    source.write_text(MLIR)
    context = new_context()
    if is_parsed:
        source = parse_module(context, MLIR)
    by = np.arange(6, dtype=np.float32).reshape(2, 3)
    module = import_model(source, context, values={"in1": by})
    assert len(functions(module)[0].args) == 1
    compiled = inarch.compile(module, context=context)
    assert np.array_equal(compiled.run({"x": 2 * by})["out0"], by)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"to": [[6, 4]]}, "value of 'to': expected an array of rank 1, found shape (1, 2)"),
        ({"to": [6, 4.5]}, "value of 'to': expected numbers of i64, found 4.5"),
        ({"k": 1e300}, "value of 'k': expected numbers of f32, found 1e+300"),
        ({"t": [6, 4]}, "no input 't' in values; did you mean 'to'? Known: k, to, x"),
        ({"to": "6,4"}, "values['to']: expected an array of numbers, found '6,4' (a str)"),
        ({"to": 2**63}, f"value of 'to': expected numbers of i64, found {2**63}"),
        ({"to": [[6], [4, 1]]}, "values['to']: expected an array, found [[6], [4, 1]] (a list)"),
        ([("to", 1)], "values: expected a dict such as {'axis': 1}, found [('to', 1)] (a list)"),
    ],
)
def test_what_does_not_fit_is_one_line(values: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        inarch.compile(reshape(), values=values, dims={"N": 4})
    assert caught.value.message == message


def test_a_float_is_rounded_and_a_whole_number_is_not() -> None:
    module = inarch.compile(reshape(), values={"to": [6, 4], "k": 0.1}, dims={"N": 4})
    assert np.array_equal(module.run({"x": X})["y"], X.reshape(6, 4) * np.float32(0.1))
    for number in (2**53 + 1, 2**24 + 1):
        dtype = DTYPES["f64" if number > 2**30 else "f32"]
        with pytest.raises(UsageError, match=f"found {number}"):
            fixed_value("k", np.asarray(number), dtype, 0)


def test_a_value_of_another_size_is_refused() -> None:
    with pytest.raises(InarchError) as caught:
        inarch.compile(reshape(), values={"to": [6, 4, 1]}, dims={"N": 4})
    assert "to" in str(caught.value)
    with pytest.raises(UsageError) as refused:
        import_model(parse_module(new_context(), MLIR), new_context(), values={"x": X[0]})
    assert refused.value.message == "value of 'x': expected shape (2, 3), found (3, 4)"


def test_infinities_and_nans_are_numbers() -> None:
    special = np.array([[np.nan, np.inf, -np.inf]] * 2)
    context = new_context()
    module = import_model(parse_module(context, MLIR), context, values={"x": special})
    found = inarch.compile(module, context=context).run({"in0": np.zeros((2, 3), np.float32)})[
        "out0"
    ]
    assert np.array_equal(found, special.astype(np.float32), equal_nan=True)


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(reshape(), "m.onnx")
    np.save("x.npy", X)
    words = ["--value", "to=6,4", "--value", "k=2", "--dim", "N=4"]
    for check in ("onnxruntime", "m.onnx"):
        done = run(["run", "m.onnx", "--input", "x.npy", "--check", check, "--json", *words])
        assert (done.code, done.err) == (0, ""), done
        assert json.loads(done.out)["outputs"]["y"]["shape"] == [6, 4]
    file = run(["run", "m.onnx", "--value", "x=x.npy", *words[:4], "-q"])
    assert (file.code, file.err) == (0, "")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("to", "--value: expected INPUT=NUMBERS or INPUT=FILE.npy, found 'to'"),
        ("to=a", "--value: expected INPUT=NUMBERS or INPUT=FILE.npy, found 'to=a'"),
        ("to=1,", "--value: expected INPUT=NUMBERS or INPUT=FILE.npy, found 'to=1,'"),
    ],
)
def test_a_malformed_value(value: str, message: str, tmp_path: Path) -> None:
    done = run(["compile", str(tmp_path / "m.onnx"), "--value", value])
    assert (done.code, done.err) == (2, f"error: {message}\n")


def test_an_artifact_takes_no_value(tmp_path: Path) -> None:
    path = tmp_path / "m.inarch"
    build(reshape(), path, values={"to": [6, 4]}, dims={"N": 4})
    done = run(["run", str(path), "--value", "k=1"])
    assert done.code == 2
    assert done.err.startswith(f"error: --value: '{path}' is compiled already")
