"""`inarch verify`: a fault put anywhere into the compiler is found, and said whose it is."""

from __future__ import annotations

import json
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
from inarch.definitions.expected import Expected
from inarch.diagnosis import Difference, VerifyOptions, verify_model
from inarch.diagnosis.allowed import expected_values
from inarch.diagnosis.compare import difference
from inarch.diagnosis.fewest import failing_part
from inarch.diagnosis.locate import FaultPlace, place_of
from inarch.diagnosis.slices import cut, steps
from inarch.dialects import new_context
from inarch.dialects.graph.elementwise.unary import ReluOp
from inarch.driver.options import Options
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
    model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No folder is left that does not fail: in another process this pass is right."""
    spoil("drop-unit-iterators", larger_is_smaller, monkeypatch)
    folder = tmp_path / "found"
    verdict = verify_model(model, VerifyOptions(reproducer=folder))
    assert isinstance(verdict.difference, Difference)
    assert verdict.difference.value == "c"
    assert verdict.place is not None
    assert verdict.place.text == f"graph.relu at {model}:5:3: pass 'drop-unit-iterators'"
    said = "in another process, cut out of the model, it is right"
    assert (verdict.reproducer, verdict.unseen) == (None, said)
    assert list(tmp_path.iterdir()) == [model]


def test_a_wrong_lowering_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The references of ops are right; what one is lowered to is something else."""
    monkeypatch.setattr(ReluOp, "scalar", lambda _, x: x.minimum(0))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType, reportUnknownMemberType]
    verdict = verify_model(model)
    assert verdict.place is not None
    assert verdict.place.text == f"graph.relu at {model}:5:3: pass 'graph-to-loop'"


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
        return "1e3f" if text == "0.0f" else text

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
def test_a_reproducer_is_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_first: bool
) -> None:
    """It has what was loaded, names no place of this machine, takes the place of another one, and passes once
    the pass is mended."""
    monkeypatch.chdir(tmp_path)
    Path("drop.py").write_text(DROP)
    Path("a m.mlir").write_text(
        """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = graph.neg %x : tensor<3xf32> -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
"""
    )
    load, command = ["--load", str(tmp_path / "drop.py")], ["verify", str(tmp_path / "a m.mlir")]
    words = [*load, *command] if is_first else [*command, *load]
    folder = Path("a m-reproducer")
    for _ in range(2):
        code, out, _ = run(words)
        assert code == 1, out
        assert out.endswith("  reproduce: python 'a m-reproducer/reproduce.py'\n")
        (folder / "load" / "drop.py").write_text("another")
    folder.rename("elsewhere")
    assert (run(words).code, sorted(path.name for path in folder.iterdir())) == (
        1,
        [
            "README.md",
            "allowed.npz",
            "expected.npz",
            "inputs.npz",
            "load",
            "program.mlir",
            "reproduce.py",
            "reproducer.json",
        ],
    )
    for path in folder.rglob("*"):
        assert path.is_dir() or str(tmp_path).encode() not in path.read_bytes()
    Path("drop.py").write_text("not there any more")
    script = [sys.executable, str(folder / "reproduce.py")]
    ran = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.startswith("v1[0]: expected ")
    assert ran.stdout.endswith("(3 differ)\nwrong\n")
    mended = DROP.replace("each.out.replace", "each.x.replace")
    (folder / "load" / "drop.py").write_text(mended)
    ran = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "right\n", "")


WRONG_NEG = """from xdsl.passes import ModulePass
from inarch.frontends.onnx.ops import converters
class NegPass(ModulePass):
    \"\"\"Says nothing: the import is what is wrong.\"\"\"
    name = "neg"
    def apply(self, ctx, op):
        pass
PASS = NegPass
converters()["Neg"] = converters()["Exp"]
"""


def test_a_wrong_import_is_found_against_onnxruntime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What we compute is what we mean, but not what the model means. Its nodes are shown as ONNX."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper = onnx.helper
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Exp", ["x"], ["a/b"]), helper.make_node("Neg", ["a/b"], ["y:0"])]
    graph = helper.make_graph(nodes, "g", [value("x", 1, [3])], [value("y:0", 1, None)])
    path = tmp_path / "m.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(path))
    command = ["verify", str(path), "--against", "onnxruntime", "--json"]
    code, out, _ = run(command)
    assert (code, json.loads(out)["peer_values"]) == (0, 2)
    known = cast("dict[str, object]", converters())
    monkeypatch.setitem(known, "Neg", known["Neg"])  # and puts it back
    (tmp_path / "neg.py").write_text(WRONG_NEG)
    folder = tmp_path / "found"
    load = ["--load", str(tmp_path / "neg.py")]
    code, out, _ = run([*command, *load, "-o", str(folder)])
    facts = json.loads(out)
    assert code == 1
    assert facts["place"]["stage"] == "import"
    assert facts["difference"]["value"] == "y:0"
    assert facts["reproducer"] == str(folder)
    (node,) = onnx.load(str(folder / "model.onnx")).graph.node
    assert node.op_type == "Neg"


def test_rounding_before_a_node_is_not_its_fault(tmp_path: Path) -> None:
    """A step of quantization that another order of a sum has moved, and a logarithm near 0, are the peer's.

    Each node is compared on what enters it there. A product that the peer saturates is not ours.
    """
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, rng = onnx.helper, np.random.default_rng(0)
    make, value = helper.make_node, helper.make_tensor_value_info
    weights = rng.standard_normal((300, 400)).astype(np.float32)
    codes = rng.integers(-127, 128, (400, 64)).astype(np.int8)
    data = {"w": weights, "c": codes, "s": np.float32(1e-3), "zero": np.int8(0)}
    nodes = [
        make("MatMul", ["x", "w"], ["a"]),
        make("QuantizeLinear", ["a", "s", "zero"], ["q"]),
        make("MatMulInteger", ["q", "c"], ["i"]),
        make("Cast", ["i"], ["f"], to=1),
        make("ReduceSum", ["a"], ["sum"], keepdims=0),
        make("Sub", ["a", "a"], ["nothing"]),
        make("DynamicQuantizeLinear", ["a"], ["d", "ds", "dz"]),
        make("MatMulInteger", ["d", "c", "dz"], ["j"]),
        make("Log", ["softmax"], ["y"]),
    ]
    nodes.insert(-1, make("Softmax", ["a"], ["softmax"]))
    outputs = [value(name, kind, None) for name, kind in (("f", 1), ("y", 1), ("j", 6))]
    initializers = [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in data.items()]
    graph = helper.make_graph(nodes, "g", [value("x", 1, [8, 300])], outputs, initializers)
    path = tmp_path / "m.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(path))
    command = ["verify", str(path), "-o", str(tmp_path / "found")]
    outcome = run([*command, "--against", "onnxruntime"])
    assert outcome.out.startswith("right: "), outcome


def test_integers_that_are_a_mask_make_no_nan(tmp_path: Path) -> None:
    """As in a transformer: what is not visible gets the lowest float, and twice that is NaN in a softmax."""
    path, load = tmp_path / "m.mlir", tmp_path / "drop.py"
    load.write_text(DROP)
    path.write_text("""func.func @main(%m: tensor<4x8xi64>, %x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %low = graph.constant dense<-3.4e38> : tensor<f32>
  %f = graph.cast %m to f32 : tensor<4x8xi64> -> tensor<4x8xf32>
  %p = graph.mul %f, %low : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
  %e = graph.mul %p, %f : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %g = graph.sub %p, %e : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %h = graph.add %g, %x : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %n = graph.neg %h : tensor<4x8xf32> -> tensor<4x8xf32>
  func.return %n : tensor<4x8xf32>
}
""")
    command = ["verify", str(path), "--load", str(load), "-o", str(tmp_path / "found"), "--json"]
    facts = json.loads(run(command).out)
    assert facts["place"]["pass"] == "drop"
    values = np.load(tmp_path / "found" / "inputs.npz").values()
    assert all(np.isfinite(each).all() for each in values)


def test_of_a_sum_that_overflows_the_order_decides() -> None:
    """Products of what a dropped softmax leaves of a mask; where nothing overflows nothing is allowed."""
    context = new_context()
    module = parse_module(
        context,
        """func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = graph.constant dense<[[1.0, 0.0], [-0.9, 1.0]]> : tensor<2x2xf32>
  %y = graph.matmul %x, %w : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}""",
    )
    part = cut(module, steps(module), every_value=True)
    x = np.array([[3e38, -3e38], [3e38, 3e38]], np.float32)
    (wanted,) = expected_values(part, context, dict.fromkeys(part.takes, x)).values()
    for found in (np.inf, -np.inf, np.nan):
        array = np.array([[found, -3e38], [found, 3e38]], np.float32)
        assert difference("y", wanted.center, array, wanted.bound) is None
        array[0, 1] = found
        one = difference("y", wanted.center, array, wanted.bound)
        assert one is not None
        assert (one.index, one.count) == ((0, 1), 1)


def test_where_the_expectation_is_wrong_no_pass_is_named() -> None:
    """A bound that is too tight is nobody's fault but its own."""
    context = new_context()
    module = parse_module(context, MODEL)
    part = cut(module, steps(module)[:1], every_value=True)
    x = np.ones((2, 6), np.float32)
    wanted = [Expected(x, x, np.zeros((2, 6)))]  # it is e

    def nobody(what: str, done: int, total: int) -> None:
        del what, done, total

    place = place_of(
        part, context, {"x": x}, wanted, ("a",), nobody, 60.0, Options(target="generic")
    )
    assert place == FaultPlace("together", ("a",))


def test_parts_of_a_program_compute_the_same() -> None:
    """A value that enters a part is an argument, what leaves it a result, under the names of the whole."""
    context = new_context()
    module = parse_module(context, MODEL)
    inputs = random_inputs(module)
    whole = cut(module, steps(module), every_value=True)
    values = dict(zip(whole.gives, execute(whole.module, inputs, context), strict=True))
    assert whole.gives == ("a", "b", "c", "d")
    for first in range(4):
        for last in range(first + 1, 5):
            part = cut(module, steps(module)[first:last])
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
    told = "exists already, and is no reproducer; remove it, or name another folder with -o"
    assert err == f"{folder}: error: {told}\n"
    code, _, err = run(["verify", str(model), "--against", "onnxruntime"])
    assert code == 2
    assert err == (f"error: --against onnxruntime: expected a model in .onnx, found '{model}'\n")
