"""`inarch verify`: a fault put anywhere into the compiler is found, and said whose it is."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from inarch.backends.c.write import scope as _scope
from inarch.backends.c.write.value import vectors as _vectors
from inarch.core.errors import UsageError
from inarch.diagnosis import Difference, VerifyOptions, verify_model
from inarch.diagnosis.locate import failing_part
from inarch.diagnosis.slices import cut, steps
from inarch.dialects import new_context
from inarch.frontends.onnx.ops import converters
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.passes import PASSES
from inarch.testing import execute, random_inputs
from inarch.tools.cli import run

MODEL = """func.func @main(%x: tensor<2x6xf32> {inarch.name = "x"}) -> (tensor<2x4xf32> {inarch.name = "y"}) {
  %w = graph.constant dense<0.5> : tensor<6x4xf32>
  %a = graph.exp %x : tensor<2x6xf32> -> tensor<2x6xf32>
  %b = graph.matmul %a, %w : tensor<2x6xf32>, tensor<6x4xf32> -> tensor<2x4xf32>
  %c = graph.relu %b : tensor<2x4xf32> -> tensor<2x4xf32>
  %d = graph.softmax %c axis = 1 : tensor<2x4xf32> -> tensor<2x4xf32>
  func.return %d : tensor<2x4xf32>
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(MODEL)
    return path


def test_a_model_that_is_right(model: Path) -> None:
    """All values are compared, nothing is written."""
    outcome = run(["verify", str(model)])
    assert outcome == (0, "right: 4 values of 4 ops, and the outputs as compiled\n", "")
    assert [path.name for path in model.parent.iterdir()] == ["model.mlir"]


def test_values_may_have_any_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As TensorFlow and old exports of PyTorch write them: what is cut out of a model keeps them."""
    onnx = pytest.importorskip("onnx")
    helper, value = onnx.helper, onnx.helper.make_tensor_value_info
    names = ["input:0", "a/b c", "0", "\u00e9", "_0"]
    nodes = [helper.make_node("Relu", [name], [f"{name}/out:0"]) for name in names]
    nodes.append(helper.make_node("Sum", [f"{name}/out:0" for name in names], ["y:0"]))
    ports = [value(name, 1, [2, 3]) for name in names]
    graph = helper.make_graph(nodes, "g", ports, [value("y:0", 1, [2, 3])])
    opsets = [helper.make_opsetid("", 17)]
    monkeypatch.chdir(tmp_path)
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), "m.onnx")
    said = "right: 9 values of 9 ops, and the outputs as compiled\n"
    assert run(["verify", "m.onnx"]) == (0, said, "")
    asked = ["--backend", "examplejson", "--dump-regions", "regions"]
    assert run(["compile", "m.onnx", "-o", "m.inarch", "-q", *asked]).code == 0
    (region,) = Path("regions").iterdir()
    assert len(np.load(region / "inputs.npz")) == len(names)
    code, out, _ = run(["verify", str(region)])
    assert (code, out.splitlines()[-1]) == (0, "right: the region alone")


def spoil(name: str, change: Callable[[ModuleOp], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Pass `name` then also does `change`."""
    kind = type(PASSES[name]())
    original = kind.apply

    def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        original(self, ctx, op)
        change(op)

    monkeypatch.setattr(kind, "apply", apply)


def larger_is_smaller(module: Operation) -> None:
    """A maximum with zero becomes a minimum."""
    for op in [each for each in module.walk() if isinstance(each, arith.MaximumfOp)]:
        parent = op.parent
        assert parent is not None
        other = arith.MinimumfOp(op.lhs, op.rhs)
        parent.insert_op_before(other, op)
        op.result.replace_all_uses_with(other.result)
        op.detach()
        op.erase()


def test_a_wrong_pass_is_named_with_the_op(
    model: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also in a reproducer, which is right once the pass is."""
    spoil("drop-unit-iterators", larger_is_smaller, monkeypatch)
    folder = tmp_path / "found"
    verdict = verify_model(model, VerifyOptions(reproducer=folder))
    assert isinstance(verdict.difference, Difference)
    assert verdict.difference.value == "c"
    assert verdict.place is not None
    assert verdict.place.text == f"graph.relu at {model}:5:3: pass 'drop-unit-iterators'"
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "allowed.npz",
        "expected.npz",
        "inputs.npz",
        "program.mlir",
        "reproduce.py",
    ]
    command = [sys.executable, str(folder / "reproduce.py")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "right\n", "")
    expected = np.load(folder / "expected.npz")["c"]
    np.savez(folder / "expected.npz", c=expected + 1)
    monkeypatch.undo()
    with pytest.raises(SystemExit) as left:
        runpy.run_path(command[1], run_name="__main__")
    assert left.value.code == 1
    said = capsys.readouterr().out
    assert said.startswith("c[0, 0]: expected ")
    assert said.endswith("(8 differ)\nwrong\n")


def test_a_wrong_pass_of_ones_own_is_named(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "no_relu.py"
    path.write_text("""from dataclasses import dataclass
from xdsl.passes import ModulePass
from inarch.dialects.graph.elementwise.unary import NegOp, ReluOp
@dataclass(frozen=True)
class NoReluPass(ModulePass):
    name = "no-relu"
    runs = "after prepare"
    def apply(self, ctx, op):
        for each in [each for each in op.walk() if isinstance(each, ReluOp)]:
            other = NegOp(operands=[each.x], result_types=[each.results[0].type])
            each.parent.insert_op_before(other, each)
            each.results[0].replace_all_uses_with(other.results[0])
            each.detach()
            each.erase()
PASS = NoReluPass
""")
    outcome = run(["verify", str(model), "--load", str(path), "-o", str(tmp_path / "found")])
    assert outcome.code == 1
    assert f"graph.relu at {model}:5:3: pass 'no-relu'" in outcome.out


def test_a_fault_of_fused_ops_is_cut_down_to_them(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every op alone is right; the smallest part that is wrong begins and ends with what was fused."""

    def negated(module: ModuleOp) -> None:
        for op in module.walk():
            if op.name == "loop.nest" and op.regions[1:] and op.regions[1].blocks:
                larger_is_smaller(op)

    rows = "[" + ", ".join(["[0.1, 0.2, 0.3, 0.4]"] * 6) + "]"  # a softmax of equals is even anyway
    model.write_text(MODEL.replace("dense<0.5>", f"dense<{rows}>"))
    spoil("fuse-nests", negated, monkeypatch)
    verdict = verify_model(model)
    assert verdict.place is not None
    assert verdict.place.stage == "pass"
    assert verdict.place.pass_name == "fuse-nests"
    assert len(verdict.place.steps) == 2
    assert verdict.place.steps[0].startswith("graph.matmul at ")
    assert verdict.place.steps[1].startswith("graph.relu at ")


def test_wrong_c_is_named_by_its_function(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All passes are right; the emitter writes another number."""
    original = _scope.constant_text

    def another(op: arith.ConstantOp) -> str:
        text = original(op)
        return "1e3f" if float(text.rstrip("f")) == 0 else text

    for emitter in (_scope, _vectors):
        monkeypatch.setattr(emitter, "constant_text", another)
    verdict = verify_model(model)
    assert verdict.place is not None
    assert verdict.place.stage == "code"
    assert verdict.place.function is not None


DROP = '''"""Takes an op for nothing."""
from xdsl.passes import ModulePass
from inarch.dialects.graph.elementwise.unary import NegOp

class DropPass(ModulePass):
    """Drops negations."""
    name = "drop"
    runs = "after prepare"
    def apply(self, ctx, op):
        for each in [one for one in op.walk() if isinstance(one, NegOp)]:
            each.out.replace_all_uses_with(each.x)

PASS = DropPass
'''


@pytest.mark.sampled(1, reason="two processes each")
@pytest.mark.parametrize("is_first", [True, False])
def test_a_reproducer_loads_what_was_loaded_before_the_command(
    tmp_path: Path, *, is_first: bool
) -> None:
    (tmp_path / "drop.py").write_text(DROP)
    (tmp_path / "m.mlir").write_text(
        """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = graph.neg %x : tensor<3xf32> -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
"""
    )
    load = ["--load", str(tmp_path / "drop.py")]
    command = ["verify", str(tmp_path / "m.mlir"), "-o", str(tmp_path / "found")]
    code, out, _ = run([*load, *command] if is_first else [*command, *load])
    assert code == 1, out
    script = [sys.executable, str(tmp_path / "found" / "reproduce.py")]
    ran = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "")


def test_a_wrong_import_is_found_against_onnxruntime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What we compute is what we mean, but not what the model means."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper = onnx.helper
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Exp", ["x"], ["a/b"]), helper.make_node("Neg", ["a/b"], ["y"])]
    graph = helper.make_graph(nodes, "g", [value("x", 1, [3])], [value("y", 1, None)])
    path = tmp_path / "m.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(path))
    command = ["verify", str(path), "--against", "onnxruntime", "--json"]
    code, out, _ = run(command)
    assert (code, json.loads(out)["peer_values"]) == (0, 2)
    known = cast("dict[str, object]", converters())
    monkeypatch.setitem(known, "Neg", known["Exp"])
    folder = tmp_path / "found"
    code, out, _ = run([*command, "-o", str(folder)])
    facts = json.loads(out)
    assert code == 1
    assert facts["place"]["stage"] == "import"
    assert facts["difference"]["value"] == "y"
    assert facts["reproducer"] == str(folder)


def test_parts_of_a_program_compute_the_same() -> None:
    """A value that enters a part is an argument, what leaves it a result, under the names of the whole."""
    context = new_context()
    module = parse_module(context, MODEL)
    inputs = random_inputs(module)
    whole = cut(module, 0, 4, every_value=True)
    values = dict(zip(whole.gives, execute(whole.module, inputs, context), strict=True))
    assert whole.gives == ("a", "b", "c", "d")
    for first in range(4):
        for last in range(first + 1, 5):
            part = cut(module, first, last)
            verify_module(part.module)
            assert len(steps(part.module)) == last - first
            entering = [{"x": inputs[0], **values}[name] for name in part.takes]
            found = execute(part.module, entering, context)
            for name, array in zip(part.gives, found, strict=True):
                np.testing.assert_array_equal(array, values[name])


@pytest.mark.parametrize(("first", "last"), [(0, 1), (3, 5), (7, 8), (0, 8)])
def test_the_fewest_steps_are_found(first: int, last: int) -> None:
    """For each place of a fault among eight steps."""
    assert failing_part(8, lambda a, b: a <= first and b >= last) == (first, last)


def test_bad_input(model: Path) -> None:
    """Names and shapes of inputs, and a folder that is there already, are refused before anything runs."""
    with pytest.raises(UsageError, match=r"no input 'z'\. Known: x"):
        verify_model(model, VerifyOptions(inputs={"z": np.zeros(3)}))
    message = r"--input: expected 'x' of shape \(2, 6\) and dtype float32, found \(3,\) and float64"
    with pytest.raises(UsageError, match=message):
        verify_model(model, VerifyOptions(inputs={"x": np.zeros(3)}))
    folder = model.parent / "there"
    folder.mkdir()
    code, _, err = run(["verify", str(model), "-o", str(folder)])
    assert code == 3
    assert err == f"{folder}: error: exists already; remove it, or name another folder with -o\n"
    code, _, err = run(["verify", str(model), "--against", "onnxruntime"])
    assert code == 2
    assert err == (f"error: --against onnxruntime: expected a model in .onnx, found '{model}'\n")
