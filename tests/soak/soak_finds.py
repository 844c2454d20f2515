"""What the search has found: one file each in `tests/found`, written once, replayed by its own command.

graph-3-17.mlir    a program: `// RUN:` is its command, `// OPEN: reason` says that it is not mended
npz-3-17.bin       the input of a parser, which the name begins with; `npz-3-17.open.bin` is not mended
onnx-317.onnx      a model, with its inputs, of which some form is wrong; `onnx-317.open.onnx` is not mended
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from inarch.testing.generate import GeneratedProgram, programs
from inarch.testing.generate.__main__ import main as generate
from inarch.testing.generate.check.offloaded import options_for
from inarch.testing.generate.program import read_program

FOLDER = Path(__file__).parents[1] / "found"
ROOT = Path(__file__).parents[2]
GENERATE = ("python", "-m", "inarch.testing.generate")
SUFFIXES = (".mlir", ".onnx", ".bin")
ALONE = ("crash", "timeout")
"""What takes the process along that it happens in."""
LIMIT_S = 120.0
"""Of one that is replayed in a process of its own: it hangs. None takes longer than a second."""

_COMMENT = re.compile(r"^// (RUN|FOUND|OPEN): (.*)$", re.MULTILINE)
_VARIABLE = re.compile(r"[A-Z_]+=")


@dataclass(frozen=True)
class Find:
    """A file that made something fail."""

    path: Path
    variables: Mapping[str, str]
    """Of the environment: the compiler."""
    command: tuple[str, ...]
    """What fails by it: `python -m ...`."""
    what: str = ""
    """How it failed when it was found."""
    open: str | None = None
    """Why it still fails; None: it is mended."""

    def mark(self) -> Any:
        """The parameter of a test, `xfail(strict)` while it is open."""
        if self.open is None:
            return pytest.param(self, id=self.path.name)
        line = (
            "remove its line `// OPEN:`"
            if self.path.suffix == ".mlir"
            else "take `.open` out of its name"
        )
        reason = f"open: {self.open}; where it passes, {line}"
        return pytest.param(
            self, id=self.path.name, marks=pytest.mark.xfail(strict=True, reason=reason)
        )

    def missing(self) -> str | None:
        """What this machine lacks to replay it."""
        compiler = self.variables.get("CC")
        if compiler is not None and shutil.which(shlex.split(compiler)[0]) is None:
            return f"no {compiler}"
        from inarch.machine.target import parse

        names = [after for word, after in pairwise(self.command) if word == "--target"]
        lacks = [
            f"{name} needs {missing[0]}"
            for name in names
            if (missing := parse(name).missing_here())
        ]
        return lacks[0] if lacks else None


def read(path: Path) -> Find:
    """A find by its file. Raises ValueError for a program without a command, and for another suffix."""
    if path.suffix == ".bin":
        stem = path.stem
        parser = stem.removesuffix(".open").rsplit("-", 2)[0]
        command = ("python", "-m", "inarch.fuzz", "--parser", parser, "--file", str(path))
        if parser == "artifact":  # in C, under sanitizers
            command = ("python", "tests/soak/soak_guided.py", parser, "--file", str(path))
        return Find(
            path, {}, command, open="a fault of the parser" if stem.endswith(".open") else None
        )
    if path.suffix == ".onnx":
        command = ("python", "-m", "inarch.testing.onnx_graphs", "--file", str(path))
        return Find(path, {}, command, open="a fault" if path.stem.endswith(".open") else None)
    if path.suffix != ".mlir":
        raise ValueError(f"{path.name}: expected .mlir, .onnx or .bin")
    said = {name: text.strip() for name, text in _COMMENT.findall(path.read_text())}
    words = shlex.split(said.get("RUN", "").replace("%s", shlex.quote(str(path))))
    variables = [word for word in words if _VARIABLE.match(word)]
    command = tuple(words[len(variables) :])
    if command[:2] != GENERATE[:2] or str(path) not in command:
        raise ValueError(f"{path.name}: expected a line `// RUN: python -m MODULE ... %s`")
    pairs = dict(word.split("=", 1) for word in variables)
    return Find(path, pairs, command, said.get("FOUND", ""), said.get("OPEN"))


def finds(folder: Path = FOLDER) -> list[Find]:
    """All of a folder, by name."""
    return [read(path) for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES]


def replay(find: Find) -> tuple[int, str]:
    """The exit code of its command, and what it said: 0 where it is mended."""
    kind = find.what.partition(":")[0]
    if find.command[:3] == GENERATE and kind not in ALONE and not find.variables:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = generate(find.command[3:])
        return code, said.getvalue()
    command = [sys.executable, *find.command[1:]]
    environment = {**os.environ, **find.variables}
    try:
        done = subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, errors="replace",
            timeout=LIMIT_S, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return -1, f"no end after {LIMIT_S:g} s"
    return done.returncode, done.stdout + done.stderr


# ------------------------------------------------------------------------------------ new ones


def write_new(path: Path, data: bytes) -> Path:
    """Writes a file whole or not at all, under another name where one is there that says something else."""
    stem, suffix = path.name.partition(".")[0], path.name[len(path.name.partition(".")[0]) :]
    number = 1
    while path.exists() and path.read_bytes() != data:
        number += 1
        path = path.with_name(f"{stem}.{number}{suffix}")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(data)
    beside.replace(path)
    return path


def of_program(
    folder: Path, finding: Mapping[str, Any], arguments: Sequence[str], variables: Mapping[str, str]
) -> Path:
    """The file of what `generate --check` found; `arguments`: how it compiled, but for level and targets."""
    level, seed, index = str(finding["level"]), int(finding["seed"]), int(finding["index"])
    if finding.get("path"):
        program = read_program(Path(finding["path"]), index)
    else:  # it died on it: as it was, not smaller
        program = _made(level, seed, index, arguments)
    words = [*GENERATE, "--file", "%s", "--start", str(index), *_without_size(arguments)]
    words += ["--target", str(finding["target"])] if finding["target"] else []
    what = f"{finding['kind']}: {finding['message']}"
    run = " ".join([*(f"{name}={shlex.quote(value)}" for name, value in variables.items()), *words])
    head = f"// RUN: {run}\n// FOUND: {plain(what)}\n// OPEN: not looked at yet\n"
    return write_new(
        folder / f"{level}-{seed}-{index}.mlir", (head + program.in_one_file()).encode()
    )


def of_parser(folder: Path, parser: str, seed: int, fault: Mapping[str, Any]) -> Path:
    """The file of what `inarch.fuzz` found: the shortest of the inputs that it has kept."""
    shortest = min((Path(file) for file in fault["files"]), key=lambda file: file.stat().st_size)
    case = shortest.stem.rpartition("-")[2]
    return write_new(folder / f"{parser}-{seed}-{case}.open.bin", shortest.read_bytes())


def of_model(folder: Path, finding: Mapping[str, Any]) -> Path:
    """The file of what `onnx_graphs` found."""
    data = Path(finding["file"]).read_bytes()
    return write_new(folder / f"onnx-{finding['seed']}.open.onnx", data)


def plain(text: str) -> str:
    """One line of at most 300 characters, without the folders of anyone's machine."""
    return re.sub(r"(?<![\w.])/(?:[\w.+@~-]+/)+", "", " ".join(text.split()))[:300]


def same(text: str) -> str:
    """What findings of one fault have in common: no target, function or number, nothing behind an index."""
    begin = re.split(r",? index |: expected ", plain(text))[0]
    return re.sub(
        r"(?:x86-64|aarch64)[\w+-]*|generic|native|@\w+|-?\d[\d.e+-]*|'[^']*'", "_", begin
    )[:120]


def _made(level: str, seed: int, index: int, arguments: Sequence[str]) -> GeneratedProgram:
    backends = [after for word, after in pairwise(arguments) if word == "--backend"]
    options: dict[str, Any] = {"large": "--large" in arguments}
    if backends:
        options |= options_for(backends)
    return next(programs(level, seed, 1, start=index, **options))


def _without_size(arguments: Sequence[str]) -> list[str]:
    return [word for word in arguments if word != "--large"]


def known(ledger: Sequence[Mapping[str, Any]], folder: Path) -> dict[str, str]:
    """The files of what was found before and is not mended, by what is the `same` of them."""
    there = (
        {find.path.name for find in finds(folder) if find.open is not None}
        if folder.is_dir()
        else set[str]()
    )
    every = [one for line in ledger for one in line.get("findings", ())]
    return {same(one["what"]): one["file"] for one in every if one.get("file") in there}


def loads(text: str) -> Any:
    """JSON, or None: who wrote it may have died."""
    try:
        return json.loads(text)
    except ValueError:
        return None
