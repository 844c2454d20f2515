"""Random ONNX models: Inarch computes what the reference evaluator does, by definition and compiled."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import onnx
import pytest

from effort import seeds
from inarch.core.errors import UsageError
from inarch.core.rounding import DRAWN
from inarch.dialects.graph.elementwise.unary import NegOp
from inarch.dialects.scalar import Scalar
from inarch.testing.onnx_graphs.__main__ import main
from inarch.testing.onnx_graphs.across import FLAGS, Tally, check_across, smaller
from inarch.testing.onnx_graphs.compare import check, difference
from inarch.testing.onnx_graphs.drawing import Case, Graph, model_of
from inarch.testing.onnx_graphs.kept import read, write
from inarch.testing.onnx_graphs.nodes import graph
from inarch.testing.onnx_graphs.quantized import network
from inarch.testing.reference import evaluator
from soak_finds import of_model, replay
from soak_finds import read as read_find


def test_definitions() -> None:
    assert [said for seed in seeds(60, 3000) if (said := check(graph(seed)))] == []


@pytest.mark.parametrize("seed", seeds(3, 60))
def test_compiled(seed: int) -> None:
    assert check(graph(seed), is_compiled=True) == ""


def test_all_forms_of_a_model_agree() -> None:
    tally, every = Tally(), seeds(3, 60)
    for start in every[::10]:  # of which each is a library
        cases = [graph(seed, is_large=True) for seed in range(start, min(start + 10, every.stop))]
        assert [one.message for one in check_across(cases, tally=tally)] == []
    assert 0 < tally.sure < tally.values


def test_quantized_models_are_kept_with_what_is_stated_of_them(tmp_path: Path) -> None:
    """The evaluator rounds each product and sum, and divides: its numbers are others."""
    case = next(case for case in map(network, range(99)) if len(case.sure) < len(case.expected))
    write(case, tmp_path / "m.onnx")
    again = read(tmp_path / "m.onnx")
    assert (again.sure, again.is_stated) == (case.sure, True)
    assert [*again.expected] == [*case.expected]
    for name, value in case.expected.items():
        np.testing.assert_array_equal(again.expected[name], value)


def chain(*ops: str) -> Case:
    """Of an input through nodes of one operand each."""
    g = Graph(np.random.default_rng(0), 17)
    value = first = g.put(g.array("float32", (17,)), is_constant=False)
    for op in ops:
        g.node(op, [value])
        value = g.nodes[-1].output[0]
    made = {name: value for name, value in g.values.items() if name != first}
    inputs = {first: g.values[first]}
    model = model_of(g.nodes, inputs, list(made), {}, 17, g.values)
    return Case(7, model, inputs, made, frozenset(made) - g.unsure)


def test_what_differs_is_made_small_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lowering of `neg` that changes nothing, in the midst of others."""

    def nothing(_: NegOp, x: Scalar) -> Scalar:
        return x

    case = chain("Sqrt", "Neg", "Exp")
    assert case.sure == {"v1", "v2"}
    monkeypatch.setattr(NegOp, "scalar", nothing)
    (found,) = check_across([case], ["generic"])
    assert found.message.startswith("Neg 'v2' on generic, all: at (0,) expected exactly ")
    small = smaller(found, ["generic"], FLAGS, seconds=60)
    assert [node.op_type for node in small.case.model.graph.node] == ["Neg"]
    path = tmp_path / "onnx-7.onnx"
    write(small.case, path)
    find = read_find(of_model(tmp_path / "found", {"seed": 7, "file": str(path)}))
    assert (find.path.name, find.open) == ("onnx-7.open.onnx", "a fault")
    again = read(find.path)
    assert (again.sure, [*again.expected]) == (small.case.sure, [*small.case.expected])
    assert main(["--file", str(path), "--target", "generic"]) == 1
    assert "Neg 'v2' on generic, all: " in capsys.readouterr().out
    monkeypatch.undo()
    assert replay(find) == (0, "")


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(chain("Abs").model.SerializeToString())
    with pytest.raises(UsageError, match="expected the inputs v0 in the metadata, found none"):
        read(path)


def test_same_seed_is_same_model() -> None:
    """Of 9571 a divisor without axes was a number, not an array, that no 0 could be taken out of."""
    for seed in (7, 9571):
        assert graph(seed).model.SerializeToString() == graph(seed).model.SerializeToString()


def test_difference() -> None:
    ones = np.ones((1, 2), np.float32)
    nan = np.full((1, 2), np.nan, np.float32)
    assert difference(ones, ones + np.float32(1e-6)) == ""
    assert difference(nan, nan) == ""
    assert difference(ones, nan) == "at (0, 0) expected 1.0, found nan (2 of 2)"
    assert difference(ones, ones + np.float32(DRAWN["float32"] * 1.1)).startswith("at (0, 0)")
    assert difference(ones * 100, ones * 100 + np.float32(DRAWN["float32"] * 90)) == ""
    assert difference(np.array([9, 2**62]), np.array([9, 2**62 + 1])).startswith("at (1,)")
    assert difference(ones, ones[0]) == "expected float32(1, 2), found float32(2,)"


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--count", "2", "--json", "--out", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out) == {"graphs": 2, "findings": []}


def test_the_reference_keeps_float64() -> None:
    """onnx 1.23 computes Erf in float32 whatever its input is."""
    x = np.linspace(-3, 3, 25)
    info = onnx.helper.make_tensor_value_info
    ports = info("x", onnx.TensorProto.DOUBLE, [25]), info("y", onnx.TensorProto.DOUBLE, [25])
    node = onnx.helper.make_node("Erf", ["x"], ["y"])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [ports[0]], [ports[1]]))
    np.testing.assert_array_equal(evaluator(model).run(None, {"x": x})[0], list(map(math.erf, x)))
