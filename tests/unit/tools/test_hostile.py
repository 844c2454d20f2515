"""Every command on every file of a stranger: a small exit code, a line that acts on nothing, in time."""

from __future__ import annotations

import argparse
import json
import re
import signal
import tempfile
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.compat.onnxruntime import InferenceSession, errors
from inarch.core.errors import InarchError, InarchWarning
from inarch.core.npz import write_npz
from inarch.core.outside.printable import LONGEST_NAME
from inarch.testing.hostile import MARK, NAMES, hostile_files
from inarch.tools.cli import parser, run
from inarch.tools.commands import COMMANDS
from inarch.tools.opt import run as run_opt
from inarch.tools.snippet import shown

SECONDS = 10
"""More than any of these files asks for, of CPU time; and of waiting for what never comes."""
ACTS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200f]")
LONGEST, ERRORS = 20_000, 4
LONG = max(NAMES, key=len)[: LONGEST_NAME + 1]
SOUND = ("compile", "explain", "run", "tune", "verify")
SHORT = {"--budget": "1s", "--rounds": "1", "--repeat": "1"}
"""Of commands that have it, so that what is sound ends soon."""


@pytest.fixture(name="files", scope="module")
def fixture_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return hostile_files(tmp_path_factory.mktemp("outer") / "of" / "files")


def _words(command: str, file: Path, folder: Path) -> Iterator[str]:
    """A command line whose arguments are all the file, as far as the command lets them be."""
    top: Any = parser(command)
    subparsers = next(action for action in top._actions if action.dest == "command")
    actions: list[argparse.Action] = subparsers.choices[command]._actions
    yield command
    after: list[str] = []
    for action in actions:
        if not action.option_strings:
            after.append(str(next(iter(action.choices)) if action.choices else file))
        elif action.required:
            yield from (action.option_strings[-1], str(folder / "made"))
        for option in action.option_strings:
            if option in SHORT:
                yield from (option, SHORT[option])
    yield from after


class _LateError(BaseException):
    """The command takes too long; no `except Exception` holds it."""


@contextmanager
def _in_time() -> Generator[None]:
    def stop(number: int, _frame: object) -> None:
        raise _LateError(f"not done after {SECONDS} s ({signal.Signals(number).name})")

    before = {number: signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, 6 * SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _problems(words: list[str], *, is_sound: bool) -> Iterator[str]:
    """What is wrong with how a command ends, and with what it says."""
    with _in_time():
        done = run(words)
    if is_sound and words[0] in SOUND and done.code:
        yield f"names are no reason to refuse: {done.err}"
    said = done.out + done.err
    lines = said.splitlines()
    if not 0 <= done.code < 4:
        yield f"exit code {done.code}: {done.err}"
    if ACTS.search(said):
        yield f"it acts on terminals: {ascii(said)[:2000]}"
    if LONG in said:
        yield f"a name is printed whole: {said[:2000]}"
    if any(line.strip().startswith(MARK) for line in lines):
        yield f"a name begins a line: {said[:2000]}"
    if max(map(len, lines), default=0) > LONGEST:
        yield f"a line of {max(map(len, lines))} characters"
    if done.code and done.err.count("\n") > ERRORS:
        yield f"{len(lines)} lines of errors: {done.err}"


def test_no_file_of_a_stranger_does_more_than_files_do(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    outer = files[0].parents[2]
    before = {*outer.rglob("*")}
    found: list[str] = []
    for command in sorted(COMMANDS):
        for file in files:
            words = [*_words(command, file, tmp_path)]
            try:
                found += [
                    f"{words}: {problem}" for problem in _problems(words, is_sound=file == files[0])
                ]
            except _LateError as late:
                found.append(f"{words}: {late}")
    assert not found, "\n".join(found)
    assert {*outer.rglob("*")} == before, "something was written where the models are"
    assert not Path(f"/tmp/{MARK}").exists()
    left = [path for path in tmp_path.rglob("*") if path.name.startswith((MARK, "inarch-"))]
    assert not left, "a name was taken for a place, or a temporary folder stays"


KINDS = {
    one
    for one in vars(errors).values()
    if isinstance(one, type) and one.__module__ == errors.__name__
}
"""The exceptions of onnxruntime."""


def _opened(source: str | bytes) -> InferenceSession | Exception:
    """As a program that is written for onnxruntime does it."""
    with _in_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore", InarchWarning)
        try:
            return InferenceSession(source, providers=["CPUExecutionProvider"])
        except Exception as error:  # noqa: BLE001 - of which class, the test looks at
            return error


def test_a_program_for_onnxruntime_gets_its_exceptions_in_one_line(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From paths and from bytes; the names of a sound model are no reason to refuse it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    outer = files[0].parents[2]
    before = {*outer.rglob("*")}
    found: list[str] = []
    for file in files:
        is_model = file.suffix == ".onnx" and file.is_file()
        for source in [str(file), *([file.read_bytes()] if is_model else [])]:
            try:
                opened = _opened(source)
            except _LateError as late:
                opened = RuntimeError(str(late))
            text = str(opened) if isinstance(opened, Exception) else ""
            is_bad = "\n" in text or ACTS.search(text) or len(text) > LONGEST
            if text and (type(opened) not in KINDS or is_bad):
                found.append(f"{file}, {type(source)}: {type(opened).__name__}: {text!a}")
    assert not found, "\n".join(found)
    for source in str(files[0]), files[0].read_bytes():
        session = _opened(source)
        assert isinstance(session, InferenceSession), str(session)
        (name,) = (arg.name for arg in session.get_inputs())
        assert session.run(None, {name: np.zeros(4, np.float32)})[0].tolist() == [len(NAMES)] * 4
    assert {*outer.rglob("*")} == before, "something was written where the models are"
    assert not [path for path in tmp_path.rglob("*") if MARK in path.name]


def test_errors_quote_what_acts_wherever_they_are_printed(tmp_path: Path) -> None:
    """Also in a caller's log, at a terminal in colour, and by `inarch-opt`."""
    error = InarchError("no '\x1b[2J'", where="\u202em.onnx")
    error.where = f"{error.where}\r"
    for text in (
        str(error),
        error.line(),
        shown(error).replace("\x1b[1", "").replace("\x1b[0", ""),
    ):
        assert not ACTS.search(text)
    assert str(error) == "\\u202em.onnx\\r: no '\\x1b[2J'"
    assert not ACTS.search(str(InarchWarning("\x9b2J", where="\x07")))
    (tmp_path / "m.mlir").write_text('func.func @main() {\n  "\x1b[2J\u202e"() : () -> ()\n}\n')
    done = run_opt([str(tmp_path / "m.mlir")])
    assert done.code == 1
    assert not ACTS.search(done.err)


_N = "n" * 5000
_GOOD = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { func.return %x : tensor<2xf32> }"


def test_a_long_name_is_printed_without_its_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of IR, JSON, arrays, command lines, what Python is given: how many characters it has is said."""
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text(_GOOD)
    Path("twice.mlir").write_text(f"{_GOOD}\n" * 2)
    Path("long.mlir").write_text(_GOOD.replace("return %x", f"return %{_N}"))
    Path("long.json").write_text(
        json.dumps({"inarch records": 3, "count": 0}) + f'\n{{"{_N}": 1}}\n'
    )
    Path("long.toml").write_text(f"{_N} = 1\n")
    write_npz(Path("long.npz"), {_N: np.zeros(2, np.float32)})
    words = [
        [_N],
        ["compile", "long.mlir"],
        ["compile", "m.mlir", f"--{_N}"],
        ["compile", "m.mlir", "--target", _N],
        ["compile", "m.mlir", "--machine", "long.toml"],
        ["compile", "m.mlir", "--dim", f"{_N}=1"],
        ["compile", _N],
        ["bench", _N],
        ["run", "m.mlir", "--input", "long.npz"],
        ["records", "list", "long.json"],
        ["tune", "m.mlir", "-o", "r.json", "--budget", _N],
    ]
    said = [run(one).err for one in words] + [run_opt(["m.mlir", "-p", _N]).err]
    with pytest.raises(InarchError) as caught:
        inarch.load(_N)
    said.append(str(caught.value))
    for one in said:
        assert LONG.replace("x", "n") not in one
        assert re.search(r" \.\.\. \(4\d\d\d characters\) \.\.\. ", one), one
    warning = str(InarchWarning("no such name", where=_N))
    assert warning.endswith("nnn: no such name")
    assert len(warning) < 400
