"""What only people at a terminal see: completion, colours, the line and the caret; what runs, as it runs."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest

from effort import effort
from inarch.core.errors import InarchError
from inarch.tools.cli import run
from inarch.tools.opt import run as run_opt
from inarch.tools.progress import progress
from inarch.tools.snippet import shown

TEXT = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.relu %x : tensor<4xf32> -> tensor<5xf32>
  func.return %x : tensor<4xf32>
}
"""
MESSAGE = "'graph.relu' C0: expected result 0 of type tensor<4xf32>, found tensor<5xf32>"
CARET = "  " + TEXT.splitlines()[1] + "\n    ^"


def _at_a_terminal(command: Sequence[str], folder: Path, **variables: str) -> str:
    """What a command prints to a terminal."""
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | variables
    done = subprocess.run(
        [str(Path(sys.executable).with_name(command[0])), *command[1:]],
        cwd=folder,
        env=environment,
        stdout=theirs,
        stderr=theirs,
        check=False,
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:  # as Linux says that nobody writes any more
            break
        if not more:
            break
        text += more
    os.close(ours)
    assert done.returncode == 1
    return text.decode().replace("\r\n", "\n")


def test_one_long_step_is_told_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was silent where the last report before it came within the delay; short work shows nothing."""
    pytest.importorskip("rich")
    stream = StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with progress() as report:
        assert report is not None
        report("short", 0, 1)
    assert stream.getvalue() == ""
    monkeypatch.setattr("inarch.tools.progress.DELAY_SECONDS", 0.01)
    with progress() as report:
        assert report is not None
        report("evaluate by definitions", 0, 1)
        end = time.monotonic() + 10
        while "evaluate by definitions" not in stream.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
        assert "evaluate by definitions" in stream.getvalue()


def test_a_terminal_shows_the_line_and_a_caret_in_colour(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(TEXT)
    plain = f"m.mlir:2:3: error: {MESSAGE}\n{CARET}\n"
    for command in (["inarch-opt", "m.mlir"], ["inarch", "compile", "m.mlir"])[: effort(1, 2)]:
        colours = _at_a_terminal(command, tmp_path)
        assert "\033[1;31merror: \033[0m" in colours
        assert re.sub(r"\033\[[0-9;]*m", "", colours) == plain
        assert _at_a_terminal(command, tmp_path, NO_COLOR="1") == plain


def test_everybody_else_gets_one_line(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(TEXT)
    assert run_opt([str(path)]).err == f"{path}:2:3: error: {MESSAGE}\n"
    assert run(["compile", str(path)]).err == f"{path}:2:3: error: {MESSAGE}\n"


@pytest.mark.parametrize("where", [None, "m.onnx: node 'a:1:2'", "gone.mlir:1:1", "m.mlir:9:1"])
def test_what_is_no_place_in_a_file_has_no_line(
    where: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    Path("m.mlir").write_text(TEXT)
    error = InarchError("expected more", where=where)
    assert shown(error) == error.line()


def test_a_long_line_is_cut_around_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    Path("m.mlir").write_text("\t" + "x" * 500 + "!" + "y" * 500)
    line, text, caret = shown(InarchError("wrong", where="m.mlir:1:502")).splitlines()
    assert line == "m.mlir:1:502: error: wrong"
    assert len(text) == 102
    assert text[caret.index("^")] == "!"


def test_several_errors_of_a_program_are_all_told(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(
        TEXT.replace("  func.return", f"{TEXT.splitlines()[1].replace('0', '1')}\n  func.return")
    )
    lines = run(["compile", str(path)]).err.splitlines()
    assert [line.split(": ")[0] for line in lines] == [f"{path}:2:3", f"{path}:3:3"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_every_command_and_option(shell: str) -> None:
    done = run(["completion", shell])
    assert (done.code, done.err) == (0, "")
    for word in ("verify-kernel", "require-offload", "print-ir-after-all", "split-input-file"):
        assert word in done.out
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n"], input=done.out, text=True, check=True)


def test_bash_completes_an_option() -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    script = run(["completion", "bash"]).out + (
        '\nCOMP_WORDS=(inarch compile --requ); COMP_CWORD=2; _shtab_inarch; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["--require-offload"]


def test_an_unknown_shell() -> None:
    done = run(["completion", "bsh"])
    assert done.code == 2
    assert done.err.startswith("error: no shell 'bsh'; did you mean 'bash'? Known: bash, ")


def test_verbose_says_what_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # With a cache of its own: what was compiled before is not compiled, and not said.
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "m.mlir"
    path.write_text(TEXT.replace("5xf32", "4xf32"))
    words = [
        "compile",
        str(path),
        "-o",
        str(tmp_path / "m.inarch"),
        "-v",
        "--jobs=1",
        "--timeout=60",
    ]
    done = run(words)
    assert done.code == 0
    for step in ("fold-constants", "graph-to-loop", "plan-memory", "compile ", "write m.inarch"):
        assert re.search(
            rf"^\[ *\d+\.\d\d s\] {step}.* \(\d+ of \d+ done\)$", done.err, re.MULTILINE
        ), step


@pytest.mark.parametrize("option", ["--jobs", "--timeout"])
def test_no_compiler_for_no_time_is_no_compilation(option: str, tmp_path: Path) -> None:
    done = run(["compile", str(tmp_path / "m.mlir"), f"{option}=0"])
    assert (done.code, done.err) == (
        2,
        f"error: argument {option}: expected a whole number >= 1, found '0'; "
        "see 'inarch compile --help'\n",
    )


def test_mlir_opts_spellings() -> None:
    text = TEXT.replace("5xf32", "4xf32")
    words = ["--mlir-print-ir-after-all", "--mlir-print-ir-module-scope", "--mlir-print-debuginfo"]
    done = run_opt([*words, "--pass-pipeline=builtin.module(func.func(dce))"], text)
    assert done.code == 0
    assert "IR Dump After dce" in done.err
    assert "loc(" in done.out
    assert run_opt(["--mlir-nothing"], text).code == 2
