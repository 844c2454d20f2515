"""What a plugin does wrong is said as the plugin's: one line with its name, file and line, exit code 1."""

from __future__ import annotations

import operator
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from inarch.offload.backend import Emission
from inarch.tools.cli import run

KIND = "tensor<4xf32>"
RELU = f"""
func.func @main(%x: {KIND}) -> {KIND} {{
  %0 = graph.relu %x : {KIND} -> {KIND} loc("relu0")
  func.return %0 : {KIND}
}}
"""
PASS = """
from dataclasses import dataclass
from xdsl.passes import ModulePass
@dataclass(frozen=True)
class BadPass(ModulePass):
    name = "bad"
    def apply(self, ctx, op):
        BODY
PASS = BadPass
"""
BACKEND = """
from inarch.offload.backend import Backend, Emission
def emit(request):
    return EMISSION
BACKEND = Backend(name="npu", description="", emit=emit, ops=("relu",), FIELDS)
"""
LOADER = """
from inarch.runtime.loaders import Loader
from inarch.runtime.module import Module
from inarch.runtime.native import NativeFunction
def load(data, name):
    BODY
LOADER = Loader(type_key="npu-code", load_from_bytes=load)
"""
C = "int32_t npu_0(void *self, DLTensor *args, int32_t n) { return 0; }"
OP = """
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from inarch.dialects.graph.elementwise import ElementwiseOp
@irdl_op_definition
class StepOp(ElementwiseOp):
    \"\"\"`out = scalar(x)`.\"\"\"
    name = "mine.step"
    x = operand_def(TensorType)
    out = result_def(TensorType)
    assembly_format = "$x attr-dict `:` type($x) `->` type($out)"
    def reference(self, x):
        return x
    def scalar(self, x):
        return BODY
DIALECT = Dialect("mine", [StepOp], [])
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("relu.mlir").write_text(RELU)


def failure(*arguments: str, code: int = 1) -> str:
    """The one line that a command leaves with."""
    outcome = run(arguments)
    assert outcome.code == code, outcome
    (line,) = outcome.err.splitlines()
    assert "please report" not in line
    return line


def offload(emission: str, fields: str = "", **files: str) -> list[str]:
    """The arguments of a compile by backend `npu`, of files by name."""
    text = BACKEND.replace("EMISSION", emission).replace("FIELDS", fields)
    for name, content in {"npu": text, **files}.items():
        Path(f"{name}.py").write_text(content)
    loads = [f"--load={name}.py" for name in ("npu", *files)]
    return ["compile", "relu.mlir", "-o", "r.inarch", "--backend=npu", *loads]


NPU = "backend 'npu' [npu.py] on @npu_0 (from 'relu0')"


def test_a_required_pass_that_raises() -> None:
    files = {"bad": PASS.replace("BODY", "raise KeyError('boom')")}
    assert failure(*offload("None", 'requires=("bad",)', **files)) == (
        "error: pass 'bad' [bad.py], which backend 'npu' [npu.py] requires: raises KeyError: 'boom' "
        "(bad.py:8)"
    )


def test_a_required_pass_that_leaves_an_invalid_program() -> None:
    body = "[o.operands.__setitem__(0, o.results[0]) for o in op.walk() if o.name == 'graph.relu']"
    files = {"bad": PASS.replace("BODY", body)}
    assert failure(*offload("None", 'requires=("bad",)', **files)) == (
        "error: pass 'bad' [bad.py], which backend 'npu' [npu.py] requires: leaves an invalid program: "
        "relu0: 'graph.relu' operand number 0 is used before it is defined"
    )


def test_an_option_that_a_backend_cannot_read() -> None:
    arguments = offload('request.options["array"].split("x")[1]', 'options={"array": "8x8"}')
    found = failure(*arguments, "--backend-option=npu:array=99")
    assert found.startswith(
        f"error: {NPU}: emit raises IndexError: list index out of range (npu.py:4); the traceback is in "
    )


def test_a_loader_that_raises_while_the_model_is_built() -> None:
    files = {"npu_code": LOADER.replace("BODY", "raise RuntimeError('no /dev/npu0')")}
    arguments = offload("Emission('npu-code', request.names(), data=b'x')", **files)
    assert failure(*arguments) == (
        f"error: {NPU}: loader 'npu-code' [npu_code.py] raises RuntimeError: no /dev/npu0 (npu_code.py:6)"
    )


def test_a_loader_that_makes_no_module() -> None:
    files = {"npu_code": LOADER.replace("BODY", "return {}")}
    arguments = offload("Emission('npu-code', request.names(), data=b'x')", **files)
    assert failure(*arguments) == (
        f"error: {NPU}: expected loader 'npu-code' [npu_code.py] to make a Module, found dict"
    )


def test_a_loader_whose_functions_are_native() -> None:
    body = "return Module('npu-code', name, {'npu_0': NativeFunction('npu_0', 0)})"
    files = {"npu_code": LOADER.replace("BODY", body)}
    arguments = offload("Emission('npu-code', request.names(), data=b'x')", **files)
    assert failure(*arguments) == (
        f"error: {NPU}: expected loader 'npu-code' [npu_code.py] to make a Function of 'npu_0', which has a "
        "signature, found NativeFunction; wrap it in one"
    )


def test_folders_may_be_strings() -> None:
    Path("include").mkdir()
    Path("include", "own.h").write_text("#define STATUS 0\n")
    text = '#include "inarch.h"\\n#include "own.h"\\n' + C.replace("return 0", "return STATUS")
    emission = f"Emission('c', request.names(), text='{text}', include_dirs=('include',))"
    assert run(offload(emission)).code == 0
    assert Emission("c", (), include_dirs=["a"]) == Emission("c", (), include_dirs=(Path("a"),))
    assert failure(*offload(emission.replace("'include',", "'gone',"))) == (
        f"error: {NPU}: expected the library or include folder 'gone', found none"
    )


@pytest.mark.parametrize("field", ["include_dirs", "libraries", "symbols", "cflags"])
def test_one_string_is_no_tuple(field: str) -> None:
    """It would be taken for its characters."""
    names = "'npu_0'" if field == "symbols" else "request.names()"
    more = "" if field == "symbols" else f", {field}='dir'"
    assert failure(*offload(f"Emission('c', {names}, text='x'{more})")) == (
        f"error: backend 'npu': expected a tuple in Emission.{field}, found "
        f"'{'npu_0' if field == 'symbols' else 'dir'}'"
    )


def test_data_beside_c_source_is_not_dropped() -> None:
    """It was no part of the library, and what `get_source` gave instead of the source."""
    assert failure(*offload("Emission('c', request.names(), text='x', data=b'weights!')")) == (
        f"error: {NPU}: found 8 bytes in Emission.data beside C source; give them in Emission.weights"
    )


def test_data_beside_text_is_the_program() -> None:
    """The text is for people, and may be anything; the loader is asked about the bytes."""
    arguments = offload("Emission('examplejson', request.names(), text='x', data=b'weights!')")
    assert failure(*arguments) == (
        f"error: {NPU}: loader 'examplejson' refuses what was emitted: npu:1:1: expected a header "
        "'subgraph_<n>' before the first node, found 'weights!'"
    )


def step(body: str) -> list[str]:
    """The arguments of a run of an op with that scalar, and its file."""
    Path("mine.py").write_text(OP.replace("BODY", body))
    text = RELU.replace("graph.relu", "mine.step")
    Path("step.mlir").write_text(text)
    return ["run", "step.mlir", "--load=mine.py", "--input", "x.npz"]


OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}

CONDITION = (
    "expected no Python condition on an element, whose value is known at run time only; write "
    "(x > 0).select(a, b) instead of if, &, | and ~ instead of and, or and not, and a.maximum(b) instead "
    "of max(a, b)"
)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("x if x > 0.5 else x * 2", f"'mine.step': {CONDITION}"),
        ("max(x, x * 2)", f"'mine.step': {CONDITION}"),
        (
            "(x > 0).select(x, x > 0)",
            "'mine.step': expected elements of one dtype, found f32 and i1; cast one",
        ),
        ("x + (x > 0)", "'mine.step': expected elements of one dtype, found f32 and i1; cast one"),
        ("x.select(x, 0)", "'mine.step': expected a condition to select by, found a f32"),
        ("x & x", "'mine.step': expected another dtype than f32 for this operation"),
        (
            "(x > 0).select(1, 2)",
            "'mine.step': expected an element to select, found the numbers 1 and 2; "
            "write one as x * 0 + number, or as a bool that is cast",
        ),
        (
            "x ** 2",
            "'mine.step' raises TypeError: unsupported operand type(s) for ** or pow(): 'Scalar' and "
            "'int' (mine.py:16)",
        ),
    ],
)
def test_a_scalar_that_cannot_be_traced(body: str, message: str) -> None:
    """At the op of the model, and at the line of the plugin where Python itself raises."""
    np.savez("x.npz", in0=np.zeros(4, np.float32))
    assert failure(*step(body)) == f"relu0: error: {message}"


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "==", "!="])
def test_comparisons_of_elements(sign: str) -> None:
    """Against a number on either side, against an element, and NaN, which only differs."""
    x = np.array([-1, 0.5, 2, np.nan], np.float32)
    np.savez("x.npz", in0=x)
    zeros = "x.abs().minimum(0)"
    terms = (
        f"(x {sign} 0.5).select(1, O)",
        f"(0.5 {sign} x).select(2, O)",
        f"(x {sign} x).select(4, O)",
    )
    step(" + ".join(terms).replace("O", zeros))
    arguments = ["run", "step.mlir", "--load=mine.py", "--input", "x.npz", "--output", "y.npz"]
    assert run(arguments).code == 0
    (found,) = np.load("y.npz").values()
    zero = np.minimum(np.abs(x), 0)
    compare = OPERATORS[sign]
    half = np.float32(0.5)
    expected = (
        np.where(compare(x, half), np.float32(1), zero)
        + np.where(compare(half, x), np.float32(2), zero)
        + np.where(compare(x, x), np.float32(4), zero)
    )
    np.testing.assert_array_equal(found, expected)


def test_comparisons_of_integers_of_either_sign() -> None:
    """`>` of unsigned bytes above 127 is not that of signed ones."""
    for kind, dtype in (("i8", np.int8), ("ui8", np.uint8)):
        Path("mine.py").write_text(
            OP.replace("BODY", "(x > 100).select(1, x * 0) + (x >= 200 - 100).select(2, x * 0)")
        )
        Path("step.mlir").write_text(
            RELU.replace("graph.relu", "mine.step").replace("4xf32", f"4x{kind}")
        )
        x = np.array([0x01, 0x64, 0x65, 0xFF], np.uint8).view(dtype)
        np.savez("x.npz", in0=x)
        assert (
            run(
                ["run", "step.mlir", "--load=mine.py", "--input", "x.npz", "--output", "y.npz"]
            ).code
            == 0
        )
        (found,) = np.load("y.npz").values()
        np.testing.assert_array_equal(found, (x > 100) * 1 + (x >= 100) * 2)


# ---------------------------------------------------------------------------------- whatever else


def test_whatever_a_plugin_raises_where_nothing_expects_it() -> None:
    """The last resort: the traceback says whose code it was."""
    Path("mine.py").write_text(OP.replace("return x\n", "return 1 / 0\n").replace("BODY", "x"))
    text = f"""
func.func @main() -> {KIND} {{
  %x = graph.constant dense<1.0> : {KIND}
  %0 = mine.step %x : {KIND} -> {KIND}
  func.return %0 : {KIND}
}}
"""
    Path("folded.mlir").write_text(text)
    assert failure("run", "folded.mlir", "--load=mine.py") == (
        "error: dialect 'mine' [mine.py] raises ZeroDivisionError: division by zero (mine.py:14)"
    )


def test_what_is_ours_is_still_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a plugin loaded that had no part in it."""
    Path("mine.py").write_text(OP.replace("BODY", "x"))

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("inarch.driver.compiler.lower", broken)
    outcome = run(["compile", "relu.mlir", "--emit=loop", "--load=mine.py"])
    assert outcome.code == 70
    assert outcome.err.startswith(
        "error: internal error: ZeroDivisionError: ; please report it with"
    )


def opt(*arguments: str) -> tuple[int, str]:
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            "from inarch.tools.opt import main; raise SystemExit(main())",
            *arguments,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.returncode, found.stderr


def test_a_pass_of_xdsl_that_reads_a_file_with_an_error() -> None:
    Path("r.mlir").write_text("nonsense\n")
    code, err = opt("relu.mlir", "-p", 'apply-pdl{pdl_file="r.mlir"}')
    assert code == 1
    assert err == "<unknown>:2:1: error: pass 'apply-pdl': Operation nonsense is not registered\n"


def test_what_a_pass_of_xdsl_raises_is_no_internal_error_of_ours() -> None:
    code, err = opt("relu.mlir", "-p", 'apply-pdl{pdl_file="missing.mlir"}')
    assert code == 1
    assert err.startswith(
        "error: pass 'apply-pdl' [xDSL] raises AssertionError; the input is in inarch-reproducer.mlir, "
    )
