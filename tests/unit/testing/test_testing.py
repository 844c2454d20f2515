"""`inarch.testing`: what it runs, what it catches, and the lit format as an outside author uses it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from inarch.backends import HOSTS
from inarch.core.errors import InarchError
from inarch.core.lazy import Array
from inarch.definitions.functions import functions_of, signature
from inarch.dialects import new_context
from inarch.dialects.graph.elementwise.arithmetic import AddOp
from inarch.ir.context import store_of
from inarch.ir.text import parse_module
from inarch.passes import PASSES
from inarch.testing import (
    check,
    check_semantics,
    execute,
    execute_compiled,
    random_inputs,
    round_trip,
    run_pass,
)
from inarch.testing.lit_format import TOOLS, Stage, filecheck, parse_command


def graph(op: str) -> str:
    return (
        "func.func @main(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {\n"
        f"  %c = graph.{op} %a, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>\n"
        "  func.return %c : tensor<2x3xf32>\n}\n"
    )


def module(text: str) -> ModuleOp:
    return parse_module(new_context(), text)


# ------------------------------------------------------------------------------------ graph


def test_execute_evaluates_graph_functions() -> None:
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, np.float32)
    (found,) = execute(graph("sub"), [a, b])
    np.testing.assert_array_equal(found, a - b)


def test_execute_evaluates_callees_and_constants() -> None:
    text = """
    func.func private @twice(%x: tensor<2xi64>) -> tensor<2xi64> {
      %y = graph.add %x, %x : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
      func.return %y : tensor<2xi64>
    }
    func.func @main(%a: tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>) {
      %k = graph.constant dense<[10, 20]> : tensor<2xi64>
      %b = graph.call @twice(%k) : tensor<2xi64> -> tensor<2xi64>
      %c = graph.add %a, %b : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
      func.return %b, %c : tensor<2xi64>, tensor<2xi64>
    }"""
    found = execute(text, [np.array([1, 2])])
    assert [array.tolist() for array in found] == [[20, 40], [21, 42]]


def test_execute_reads_constants_from_the_context() -> None:
    context = new_context()
    text = (
        "func.func @f() -> tensor<20xf32> {\n"
        "  %w = graph.constant dense_resource<w> : tensor<20xf32>\n"
        "  func.return %w : tensor<20xf32>\n}\n"
    )
    with pytest.raises(InarchError, match="constant 'w' has no data"):
        execute(text, [])
    data = np.arange(20, dtype=np.float32)
    store_of(context).set("w", data.tobytes())
    np.testing.assert_array_equal(execute(text, [], context)[0], data)


def test_passes_by_file_and_as_objects(tmp_path: Path) -> None:
    path = tmp_path / "twice_named.py"
    path.write_text(
        "from dataclasses import dataclass\n"
        "from xdsl.passes import ModulePass\n"
        "@dataclass(frozen=True)\n"
        "class Nothing(ModulePass):\n"
        "    name = 'twice-named'\n"
        "    def apply(self, ctx, op):\n"
        "        op.attributes.clear()\n"
        "PASS = Nothing\n"
    )
    text = (
        "builtin.module attributes {a} {\n"
        "  func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "    func.return %x : tensor<2xf32>\n  }\n}\n"
    )
    expected = text.replace(" attributes {a}", "")
    assert run_pass(text, "twice-named", load=[path]) == expected
    check_semantics(text, pipeline="twice-named", load=[path])
    assert "twice-named" not in PASSES
    fold = PASSES["fold-constants"]()
    assert run_pass(text, fold) == run_pass(text, [fold, fold]) == text
    check_semantics(text, pipeline=fold)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "@main: expected 2 inputs, found 0"),
        (
            [np.zeros((2, 3), np.float32), np.zeros(4, np.float32)],
            "@main: expected input 1 of shape (3,) and dtype float32, found (4,) and float32",
        ),
        (
            [np.zeros((2, 3), np.int32), np.zeros(3, np.float32)],
            "@main: expected input 0 of shape (2, 3) and dtype float32, found (2, 3) and int32",
        ),
    ],
)
def test_execute_checks_its_inputs(inputs: list[np.ndarray], message: str) -> None:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
    with pytest.raises(InarchError) as caught:
        execute(graph("add"), inputs)  # pyright: ignore[reportUnknownArgumentType]
    assert str(caught.value) == message


def test_execute_needs_to_know_the_function() -> None:
    two = "func.func @f() {\n  func.return\n}\nfunc.func @g() {\n  func.return\n}\n"
    with pytest.raises(InarchError) as caught:
        execute(two, [])
    assert str(caught.value) == "expected one public function, or @main, found @f, @g"
    assert execute(two, [], function="g") == []
    with pytest.raises(InarchError, match="no public function 'h'"):
        execute(two, [], function="h")


def test_execute_says_what_it_cannot_evaluate() -> None:
    text = """
    func.func private @import(tensor<2xf32>) -> tensor<2xf32>
    func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
      %b = graph.call @import(%a) : tensor<2xf32> -> tensor<2xf32>
      func.return %b : tensor<2xf32>
    }"""
    with pytest.raises(InarchError) as caught:
        execute(text, [np.zeros(2, np.float32)])
    assert str(caught.value) == "<text>:4:7: cannot evaluate a call of @import: it has no body"


# ------------------------------------------------------------------------------------ inputs


def test_random_inputs_depend_on_the_seed_only() -> None:
    program = module(graph("add"))
    first, again, other = (random_inputs(program, seed) for seed in (0, 0, 1))
    assert [(a.shape, a.dtype.name) for a in first] == [((2, 3), "float32"), ((3,), "float32")]
    for left, right in zip(first, again, strict=True):
        np.testing.assert_array_equal(left, right)
    assert not np.array_equal(first[0], other[0])


def test_random_inputs_by_dtype() -> None:
    text = (
        "func.func @f(%a: tensor<1000xi8>, %b: tensor<1000xui8>, %c: tensor<1000xi1>,\n"
        "             %d: tensor<f64>, %e: tensor<0x2xi64>) {\n  func.return\n}\n"
    )
    signed, unsigned, flags, scalar, empty = random_inputs(module(text))
    assert (signed.dtype, signed.min(), signed.max()) == (np.int8, -4, 4)
    assert (unsigned.dtype, unsigned.min(), unsigned.max()) == (np.uint8, 0, 8)
    assert (flags.dtype, set(flags.tolist())) == (np.bool_, {False, True})
    assert (scalar.dtype, scalar.shape, empty.shape) == (np.float64, (), (0, 2))


def test_indices_that_are_given_are_drawn_from_those_there_are() -> None:
    """Of the least of what they pick from, also through what only moves them; others stay as they were."""
    module = parse_module(
        new_context(),
        """
func.func @main(%i: tensor<2x50xi64>, %j: tensor<100xi64>, %w: tensor<3x4xf32>, %v: tensor<2x4xf32>)
    -> (tensor<100x4xf32>, tensor<2x50x4xf32>, tensor<100xi64>) {
  %k = graph.reshape %i shape = [100] : tensor<2x50xi64> -> tensor<100xi64>
  %a = graph.gather %v, %k axis = 0 : tensor<2x4xf32>, tensor<100xi64> -> tensor<100x4xf32>
  %b = graph.gather %w, %i axis = 0 : tensor<3x4xf32>, tensor<2x50xi64> -> tensor<2x50x4xf32>
  %c = graph.add %j, %j : tensor<100xi64>, tensor<100xi64> -> tensor<100xi64>
  func.return %a, %b, %c : tensor<100x4xf32>, tensor<2x50x4xf32>, tensor<100xi64>
}""",
    )
    inputs = random_inputs(module, 0)
    assert set(inputs[0].ravel().tolist()) == {-2, -1, 0, 1}
    assert set(inputs[1].tolist()) == set(range(-4, 5))
    assert len(execute(module, inputs)) == 3


def test_random_inputs_refuse_other_types() -> None:
    with pytest.raises(InarchError, match="expected arguments that are tensors or buffers, found"):
        random_inputs(module("func.func @f(%a: i32) {\n  func.return\n}\n"))


# ------------------------------------------------------------------------------------ loop


NEST = """
func.func {visibility} @{name}(%a: memref<4xf32>, %b: memref<4xf32>{attribute}) {{
  loop.nest (i = 4) ins(%a[i] : memref<4xf32>) outs(%b[i] : memref<4xf32>) {{
  ^body(%x: f32, %y: f32):
    %z = arith.addf %x, %x : f32
    loop.yield %z : f32
  }}
  func.return
}}
"""


def test_outputs_are_what_is_marked() -> None:
    text = NEST.format(visibility="", name="f", attribute=" {inarch.result}")
    program = module(text)
    assert signature(functions_of(program)["f"], program).outputs == (1,)


def test_outputs_are_else_what_is_written() -> None:
    text = NEST.format(visibility="private", name="kernel", attribute="")
    text += """
    func.func @main(%a: memref<4xf32>, %b: memref<2x2xf32>, %c: memref<4xf32>, %d: memref<4xf32>) {
      %e = loop.reshape %b : memref<2x2xf32> to memref<4xf32>
      loop.call @kernel(%a, %e) : memref<4xf32>, memref<4xf32>
      %zero = arith.constant 0 : index
      %x = memref.load %c[%zero] : memref<4xf32>
      memref.store %x, %d[%zero] : memref<4xf32>
      func.return
    }"""
    program = module(text)
    takes = signature(functions_of(program)["main"], program)
    assert (takes.inputs, takes.outputs) == ((0, 2), (1, 3))


def test_the_declared_dtype_counts() -> None:
    text = (
        'func.func @f(%a: memref<4xi8> {inarch.dtype = "ui8"}, %b: memref<4xi8>) {\n'
        "  func.return\n}\n"
    )
    program = module(text)
    assert [a.dtype.name for a in random_inputs(program)] == ["uint8", "int8"]


def test_loop_functions_are_run_by_the_host_that_is_named() -> None:
    """`main` doubles its first argument into its second one."""
    before: list[list[float]] = []

    def run(ctx: Context, program: ModuleOp, name: str, arrays: Sequence[Array]) -> None:
        assert isinstance(ctx, Context)
        assert name == "main"
        before.append(arrays[1].tolist())
        arrays[1][...] = 2 * arrays[0]
        program.body.block.first_op.detach()  # pyright: ignore[reportOptionalMemberAccess]

    double = ModuleType("double")
    double.HOST = replace(HOSTS["c"], name="double", run=run)  # pyright: ignore[reportAttributeAccessIssue]
    program = module(NEST.format(visibility="", name="main", attribute=""))
    data = np.arange(4, dtype=np.float32)
    with HOSTS.scope(), pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "double", double)
        HOSTS.add(double, "double", Path("double.py"))
        for _ in range(2):  # the host gets a copy of the program, and of the inputs
            (found,) = execute_compiled(program, [data], host="double")
            assert found.tolist() == [0, 2, 4, 6]
    assert before[0] == before[1] != [0, 0, 0, 0]


def test_check_semantics_across_levels() -> None:
    before = (
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %c = graph.OP %a, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>\n"
        "  func.return %c : tensor<4xf32>\n}\n"
    )
    after = NEST.format(visibility="", name="main", attribute=" {inarch.result}")
    check_semantics(before.replace("OP", "add"), after)
    with pytest.raises(AssertionError, match="function @main, output 0, index"):
        check_semantics(before.replace("OP", "sub"), after)


needs_compiler = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("cc", "gcc", "clang")), reason="no C compiler"
)


@needs_compiler
def test_a_lowering_is_checked_by_running_its_c() -> None:
    check_semantics(graph("sub"), pipeline="graph-to-loop", compiled=True)
    lowered = run_pass(graph("sub"), "graph-to-loop")
    with pytest.raises(AssertionError, match="function @main, output 0, index"):
        check_semantics(graph("sub"), lowered.replace("arith.subf", "arith.addf"))


# ------------------------------------------------------------------------------------ checks


def test_check_semantics_takes_what_is_equal() -> None:
    check_semantics(graph("add"), graph("add"))
    check_semantics(graph("add"), pipeline="canonicalize,cse,dce")


def test_a_pass_may_drop_constants_that_the_program_before_it_needs() -> None:
    context = new_context()
    text = """func.func @f(%a: tensor<20xf32>) -> tensor<20xf32> {
      %w = graph.constant dense_resource<w> : tensor<20xf32>
      %n = graph.neg %w : tensor<20xf32> -> tensor<20xf32>
      %c = graph.add %a, %n : tensor<20xf32>, tensor<20xf32> -> tensor<20xf32>
      func.return %c : tensor<20xf32>
    }"""
    store_of(context).set("w", np.arange(20, dtype=np.float32).tobytes())
    check_semantics(text, pipeline="fold-constants", ctx=context)


def test_check_semantics_names_the_first_difference() -> None:
    inputs = [np.ones((2, 3), np.float32), np.array([0, 0, 2], np.float32)]
    with pytest.raises(AssertionError) as caught:
        check_semantics(graph("add"), graph("sub"), inputs=inputs)
    assert str(caught.value) == (
        "function @main, output 0, index (0, 2): expected 3.0, found -1.0, allowed 1.79e-07 "
        "(2 of 6 elements differ)"
    )


def test_check_semantics_has_a_tolerance() -> None:
    def scaled(factor: str) -> str:
        return (
            "func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
            f"  %k = graph.constant dense<{factor}> : tensor<2xf32>\n"
            "  %b = graph.mul %a, %k : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>\n"
            "  func.return %b : tensor<2xf32>\n}\n"
        )

    check_semantics(scaled("1.0"), scaled("1.001"), rtol=1e-2)
    with pytest.raises(AssertionError, match="function @f, output 0, index"):
        check_semantics(scaled("1.0"), scaled("1.001"))


def test_check_semantics_compares_signatures() -> None:
    with pytest.raises(AssertionError) as caught:
        check_semantics(graph("add"), graph("add").replace("@main", "@other"))
    assert str(caught.value) == "function @main is gone"
    flat = graph("add").replace("-> tensor<2x3xf32> {", "-> (tensor<2x3xf32>, tensor<3xf32>) {")
    flat = flat.replace("%c : tensor<2x3xf32>", "%c, %b : tensor<2x3xf32>, tensor<3xf32>")
    with pytest.raises(AssertionError) as caught:
        check_semantics(graph("add"), flat)
    assert str(caught.value) == "function @main: expected 1 outputs, found 2"


def test_check_semantics_takes_one_second_program() -> None:
    with pytest.raises(TypeError, match="either `after` or `pipeline`"):
        check_semantics(graph("add"))


def test_run_pass_prints_the_result() -> None:
    text = run_pass(graph("add").replace("func.return %c", "func.return %a"), "dce")
    assert "graph.add" not in text
    with pytest.raises(InarchError, match="no pass 'dcee'"):
        run_pass(graph("add"), "dcee")


def test_round_trip_takes_what_parses_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It prints and parses both forms, and is content with each."""
    parsed: list[str] = []

    def parse(context: Context, text: str) -> ModuleOp:
        parsed.append(text)
        return parse_module(context, text)

    monkeypatch.setattr(check, "parse_module", parse)
    for text in (graph("add"), NEST.format(visibility="", name="f", attribute=" {inarch.result}")):
        parsed.clear()
        round_trip(text)
        custom, generic = parsed
        assert '"builtin.module"()' not in custom
        assert '"builtin.module"()' in generic


def test_round_trip_catches_a_printer_that_loses_something(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def prints_another_operand(_: AddOp, printer: Printer) -> None:
        printer.print_string(" %a, %a : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>")

    monkeypatch.setattr(AddOp, "print", prints_another_operand)
    with pytest.raises(AssertionError) as caught:
        round_trip(graph("add"))
    assert str(caught.value) == (
        'line 4: expected `    %c = "graph.add"(%a, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> '
        'tensor<2x3xf32>`, found `    %c = "graph.add"(%a, %a) : (tensor<2x3xf32>, '
        "tensor<2x3xf32>) -> tensor<2x3xf32>`"
    )


# ------------------------------------------------------------------------------------ lit format


def test_commands_that_run_in_process() -> None:
    assert parse_command("inarch-opt a -p 'b{c=1,2},d' | filecheck a", TOOLS) == [
        Stage(("inarch-opt", "a", "-p", "b{c=1,2},d")),
        Stage(("filecheck", "a")),
    ]
    assert parse_command("not inarch-opt a 2>&1", TOOLS) == [Stage(("inarch-opt", "a"), True, True)]


@pytest.mark.parametrize(
    "command",
    [
        "inarch-opt a > b",
        "inarch-opt a 2> b",
        "inarch-opt a && inarch-opt b",
        "inarch-opt a; inarch-opt b",
        "inarch-opt a || true",
        "cat a | filecheck a",
        "not --crash inarch-opt a",
        "inarch-opt 'a",
        "env A=1 inarch-opt a",
        "",
    ],
)
def test_commands_that_need_a_process(command: str) -> None:
    assert parse_command(command, TOOLS) is None


def test_filecheck(tmp_path: Path) -> None:
    checks = tmp_path / "checks"
    checks.write_text("// CHECK: hello\n// OTHER: absent\n")
    assert filecheck([str(checks)], "hello\n") == (0, "", "")
    code, _, errors = filecheck([str(checks), "--check-prefix=OTHER"], "hello\n")
    assert code == 1
    assert "Couldn't match" in errors
    assert filecheck([str(tmp_path / "none")], "hello\n")[0] == 2


SUITE = {
    "lit.cfg.py": (
        "from inarch.testing.lit_format import InProcessFormat\n"
        "config.name = 'outside'\n"
        "config.suffixes = ['.mlir']\n"
        "config.test_format = InProcessFormat({'shout': 'shout_tool:run'})\n"
        "import os, sys\n"
        "config.environment['PATH'] = os.path.dirname(sys.executable) + ':' + os.environ['PATH']\n"
    ),
    "passes.mlir": "// RUN: inarch-opt %s | filecheck %s\n// CHECK: builtin.module\n",
    "inverts.mlir": "// RUN: not inarch-opt %s\nnonsense\n",
    "redirects.mlir": "// RUN: inarch-opt %s > %t && filecheck %s < %t\n// CHECK: builtin.module\n",
    "own-tool.mlir": "// RUN: inarch-opt %s | shout | filecheck %s\n// CHECK: BUILTIN.MODULE\n",
    "xfails.mlir": "// RUN: inarch-opt %s\n// XFAIL: *\nnonsense\n",
    "lacks.mlir": "// RUN: nothing\n// REQUIRES: a-machine-that-nobody-has\n",
    "fails-a.mlir": "// RUN: inarch-opt %s | filecheck %s\n// CHECK: no such text\n",
    "fails-b.mlir": "// RUN: not inarch-opt %s\n",
    "fails-c.mlir": "// RUN: inarch-opt %s | filecheck %s\n// CHECK-NOT: anything\nnonsense\n",
}


@pytest.mark.slow
def test_an_outside_suite(tmp_path: Path) -> None:
    for name, text in SUITE.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "shout_tool.py").write_text(
        "def run(argv, stdin):\n    return 0, stdin.upper(), ''\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", "from lit.main import main; main()", "-v", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    outcomes = {
        line.split(" :: ")[1].split(" ")[0]: line.split(":")[0]
        for line in result.stdout.splitlines()
        if " :: " in line and " of " in line
    }
    assert outcomes == {
        "passes.mlir": "PASS",
        "inverts.mlir": "PASS",
        "redirects.mlir": "PASS",
        "own-tool.mlir": "PASS",
        "xfails.mlir": "XFAIL",
        "lacks.mlir": "UNSUPPORTED",
        "fails-a.mlir": "FAIL",
        "fails-b.mlir": "FAIL",
        "fails-c.mlir": "FAIL",
    }, result.stdout + result.stderr
    assert "Couldn't match" in result.stdout
