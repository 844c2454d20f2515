"""Every command on every file of a stranger: a small exit code, a line that acts on nothing, in time."""

from __future__ import annotations

import argparse
import re
import signal
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from inarch.core.errors import InarchError, InarchWarning
from inarch.testing.hostile import MARK, hostile_files
from inarch.tools.cli import parser, run
from inarch.tools.commands import COMMANDS
from inarch.tools.opt import run as run_opt
from inarch.tools.snippet import shown

SECONDS = 10
"""More than any of these files asks for, of CPU time; and of waiting for what never comes."""
ACTS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200f]")
LONGEST, ERRORS = 20_000, 4
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
