"""Compiled code that crashes, leaves or hangs: `inarch verify` says so, whose code it is, and goes on."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import arith

from inarch.artifact.manifest import Port, Signature
from inarch.backends.c.write import scope as _scope
from inarch.backends.c.write.value import vectors as _vectors
from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError, InternalError
from inarch.core.lazy import Array
from inarch.diagnosis.contained import CrashError, contained, run_contained, shared_array
from inarch.machine.target import NATIVE
from inarch.runtime.function import Function
from inarch.runtime.module import Module
from inarch.tools.cli import run

MODEL = """func.func @main(%x: tensor<2x6xf32> {inarch.name = "x"}) -> (tensor<2x6xf32> {inarch.name = "y"}) {
  %a = graph.exp %x : tensor<2x6xf32> -> tensor<2x6xf32>
  %b = graph.relu %a : tensor<2x6xf32> -> tensor<2x6xf32>
  %c = graph.neg %b : tensor<2x6xf32> -> tensor<2x6xf32>
  func.return %c : tensor<2x6xf32>
}
"""


def refuse(kind: type[Exception], *arguments: str) -> Callable[[], object]:
    def work() -> None:
        raise kind(*arguments)

    return work


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (lambda: ctypes.string_at(0), CrashError, "was ended by SIGSEGV"),
        (lambda: os.kill(os.getpid(), signal.SIGFPE), CrashError, "was ended by SIGFPE"),
        (lambda: os._exit(0), CrashError, "ended the process with status 0"),  # pyright: ignore[reportPrivateUsage]
        (lambda: sys.exit(3), InternalError, "SystemExit in a process that runs compiled code: 3"),
        (lambda: time.sleep(60), CrashError, "did not end within 0 s"),
        (refuse(AssertionError, "x differs"), AssertionError, "x differs"),
        (refuse(InarchError, "expected x"), InarchError, "expected x"),
    ],
)
def test_how_code_ends(work: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        contained(work, 0.3 if "within" in message else 60)
    assert str(caught.value) == message
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_what_code_computes_comes_back() -> None:
    ports = [Port("y", DTYPES["f64"], (2, 3)), Port("z", DTYPES["i32"], (0,))]
    given = Port("x", DTYPES["f64"], (3,))
    printed: list[str] = []

    def invoke(arrays: list[Array]) -> None:
        arrays[1][...] = 2 * arrays[0]
        printed.append("of the other process")

    function = Function("main", Signature((given,), tuple(ports)), invoke)  # pyright: ignore[reportArgumentType]
    found = run_contained(Module("m", "m", {"main": function}), {"x": np.arange(3.0)}, 60)
    np.testing.assert_array_equal(found["y"], [[0, 2, 4]] * 2)
    assert (found["z"].shape, found["z"].dtype, printed) == ((0,), np.int32, [])
    assert shared_array(Port("s", DTYPES["i1"], ())).shape == ()


def test_a_crash_is_traced_like_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the op and its C function; the command itself lives.

    The fault is this process's: a reproducer of it would not fail, and so none is written.
    """
    original = _scope.constant_text

    def crashing(op: arith.ConstantOp) -> str:
        text = original(op)
        return "(*(volatile float *)8)" if float(text.rstrip("f")) == 0 else text

    for emitter in (_scope, _vectors):
        monkeypatch.setattr(emitter, "constant_text", crashing)
    path, folder = tmp_path / "model.mlir", tmp_path / "found"
    path.write_text(MODEL)
    code, out, err = run(["verify", str(path), "--json", "-o", str(folder), "--target", "generic"])
    facts = json.loads(out)
    assert (code, err, facts["right"]) == (1, "", False)
    assert facts["difference"] == {"crash": "was ended by SIGSEGV"}
    assert facts["place"]["stage"] == "code"
    assert facts["place"]["ops"] == [f"graph.relu at {path}:3:3"]
    assert facts["place"]["function"] is not None
    assert not (folder / "reproduce.py").exists()


KERNEL = """/* inarch
computes = "for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
params = {MR = "1..8", NR = [4]}
layout = {A = ["*", 1], B = ["*", 1], C = ["*", 1]}
*/
void crashing(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0,
              int64_t B_1, int64_t C_0, int64_t C_1, int64_t K)
{
    if (K == 1999) *(volatile int *)0 = 1;
    for (int m = 0; m < MR; m++)
        for (int n = 0; n < NR; n++)
            for (int64_t k = 0; k < K; k++) C[m * C_0 + n] += A[m * A_0 + k] * B[k * B_0 + n];
    (void)A_1, (void)B_1, (void)C_1;
}
"""


@pytest.mark.slow
def test_a_microkernel_that_crashes_is_named(tmp_path: Path) -> None:
    """Of a size that its quick check does not have."""
    (tmp_path / "crashing.c").write_text(KERNEL)
    x, w, y = "tensor<8x1999xf32>", "tensor<1999x4xf32>", "tensor<8x4xf32>"
    (tmp_path / "m.mlir").write_text(
        f"func.func @main(%x: {x}, %w: {w}) -> {y} {{\n"
        f"  %a = graph.abs %x : {x} -> {x}\n"
        f"  %b = graph.matmul %a, %w : {x}, {w} -> {y}\n"
        f"  func.return %b : {y}\n}}\n"
    )
    command = [sys.executable, "-m", "inarch.tools.cli", "verify", "m.mlir", "--load", "crashing.c"]
    command += ["--microkernel", "crashing"]
    if not os.environ.get(NATIVE):  # or nothing is measured
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            "error: microkernel 'crashing' cannot be measured: the process that called it ended with "
            "signal 11\n"
        )
    command += ["--no-measure"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "wrong: the compiled code was ended by SIGSEGV"
    assert lines[1].startswith("  by graph.matmul at m.mlir:3:3: compiled function 'crashing_")
    assert "microkernel 'crashing_MR8_NR4'" in lines[1]
    command = [sys.executable, "m-reproducer/reproduce.py"]
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stdout) == (
        1,
        "the compiled code was ended by SIGSEGV\nwrong\n",
    )
