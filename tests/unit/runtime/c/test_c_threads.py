"""libinarch by eight threads: recurrences and other shared loops, opened, run and closed at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from inarch.machine.compilers import find_compiler

HERE = Path(__file__).parent
Build = Callable[..., Path]
MODELS = {
    "lstm": "(float[3,32,32] x, float[1,384,32] w, float[1,384,96] r) => (float[3,1,32,96] y) "
    "{ y = LSTM<hidden_size=96>(x, w, r) }",
    "product": "(float[96,64] x, float[64,192] w) => (float[96,192] y) "
    "{ p = MatMul(x, w) y = Softmax<axis=-1>(p) }",
    "topk": "(float[64,600] x) => (float[64,7] y, int64[64,7] i) "
    "{ k = Constant<value=int64[1] {7}>() y, i = TopK<axis=-1>(x, k) }",
}
RACES = ("-fsanitize=thread", "-O1", "-g1")
LATE = "-DINARCH_LATE_NS=1000000000000"
"""Under these checks every thread is late, and loops would be left to one."""


def compiled(folder: Path, *flags: str) -> list[Path]:
    """The artifacts of `MODELS`, by a C compiler with more flags."""
    command = " ".join([*find_compiler().command, *flags, *(["-Wl,-z,undefs"] if flags else [])])
    paths: list[Path] = []
    for name, text in MODELS.items():
        head = '<ir_version: 8, opset_import: ["" : 17]>'
        model = onnx.parser.parse_model(f"{head} {name} {text}")
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
        paths.append(folder / f"{name}.inarch")
        subprocess.run(
            [sys.executable, "-m", "inarch", "compile", f"{name}.onnx", "-o", str(paths[-1])],
            cwd=folder,
            env={**os.environ, "CC": command},
            check=True,
        )
    return paths


def hammer(program: Path, rounds: int, forks: int, models: list[Path]) -> tuple[int, str, str]:
    """The exit code, and what it printed."""
    done = subprocess.run(
        [str(program), str(rounds), str(forks), *map(str, models)],
        env={"INARCH_NUM_THREADS": "3", "TSAN_OPTIONS": "exitcode=99:color=never"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_eight_threads_under_the_thread_sanitizer(build: Build, tmp_path: Path) -> None:
    """libinarch, its pool, and the code of the models: all are compiled with the checks."""
    program = build(HERE / "hammer.c", [*find_compiler().command, "-std=c11"], *RACES, "-rdynamic")
    assert hammer(program, 6, 0, compiled(tmp_path, *RACES, LATE)) == (0, "0 wrong\n", "")


@pytest.mark.slow
def test_eight_threads_while_others_fork(build: Build, tmp_path: Path) -> None:
    """A child has the modules, and threads of its own."""
    program = build(HERE / "hammer.c", [*find_compiler().command, "-std=c11"], "-O1")
    assert hammer(program, 60, 12, compiled(tmp_path)) == (0, "0 wrong\n", "")
