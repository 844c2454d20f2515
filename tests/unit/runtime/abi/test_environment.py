"""The floating-point environment: whatever the caller's, or a pool's thread's, is, the bits are the same."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.machine.target import native, parse
from inarch.tools.cli import run

KIND = "tensor<16384xf32>"
MODEL = f"""
func.func @main(%x: {KIND} {{inarch.name = "x"}}, %t: {KIND} {{inarch.name = "t"}}) -> (
    {KIND} {{inarch.name = "tiny"}}, {KIND} {{inarch.name = "log"}}, {KIND} {{inarch.name = "huge"}},
    {KIND} {{inarch.name = "ratio"}}) {{
  %0 = graph.mul %x, %t : {KIND}, {KIND} -> {KIND}
  %1 = graph.log %x : {KIND} -> {KIND}
  %2 = graph.mul %x, %x : {KIND}, {KIND} -> {KIND}
  %3 = graph.exp %2 : {KIND} -> {KIND}
  %4 = graph.div %t, %x : {KIND}, {KIND} -> {KIND}
  func.return %0, %1, %3, %4 : {KIND}, {KIND}, {KIND}, {KIND}
}}
"""
HARNESS = Path(__file__).with_name("environment.c")
CROSS, QEMU = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"
UPWARD = 0x400000 if native().architecture == "aarch64" else 0x800
"""FE_UPWARD of <fenv.h>; FE_TONEAREST is 0."""


def linked(folder: Path, target: str, compiler: list[str]) -> Path:
    """The harness with the one file of `--emit=c`."""
    (folder / "model.mlir").write_text(MODEL)
    source, program = folder / "model.c", folder / "program"
    words = ["--emit=c", "--name", "env", "--target", target, "-o", str(source)]
    outcome = run(["compile", str(folder / "model.mlir"), *words])
    assert outcome.code == 0, outcome.err
    command = [*compiler, "-O1", "-pthread", *parse(target).cflags(), "-ffp-contract=fast"]
    files = [str(source), str(HARNESS)]
    subprocess.run([*command, *files, "-o", str(program), "-lm"], check=True)
    return program


def test_calls_from_c_give_the_same_bits(tmp_path: Path) -> None:
    """By one thread and two, by a pool of others, by one that a thread which flushes or traps has started."""
    program = linked(tmp_path, str(native()), ["gcc"])
    for started in ("default", "flush", "upward", "traps"):
        done = subprocess.run([program, started], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "done, parts were shared\n"), started


def test_calls_from_c_on_aarch64(tmp_path: Path) -> None:
    """Cross compiled, and run where there is an emulator; traps are a matter of the processor there."""
    if shutil.which(CROSS) is None:
        pytest.skip(f"no {CROSS} here: apt-get install gcc-aarch64-linux-gnu qemu-user-static")
    program = linked(tmp_path, "aarch64", [CROSS])
    if shutil.which(QEMU) is None:
        pytest.skip(f"no {QEMU} here: apt-get install qemu-user-static")
    words = [QEMU, "-L", "/usr/aarch64-linux-gnu", str(program), "flush"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done, parts were shared\n")


def test_calls_from_python_give_the_same_bits(tmp_path: Path) -> None:
    """Of a module, saved and loaded; the thread's rounding is as it was afterwards."""
    (tmp_path / "model.mlir").write_text(MODEL)
    module: Any = inarch.compile(tmp_path / "model.mlir")
    x = np.linspace(-9, 9, 1 << 14, dtype=np.float32)
    t = np.full_like(x, 1e-38)
    expected = [one.tobytes() for one in module(x, t)]
    module.save(tmp_path / "m.inarch")
    libm = ctypes.CDLL("libm.so.6")
    for one in (module, inarch.load(tmp_path / "m.inarch")):
        libm.fesetround(UPWARD)
        try:
            found, rounding = one(x, t), libm.fegetround()
        finally:
            libm.fesetround(0)
        assert rounding == UPWARD
        assert [each.tobytes() for each in found] == expected
