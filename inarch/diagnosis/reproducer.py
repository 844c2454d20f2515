"""A folder that shows one fault and fails by itself: `python reproduce.py`.

It holds the fewest ops that still differ (`program.mlir`, constants in `program.npz`; of an import the
node, `model.onnx`), their inputs, what the definitions say (`expected.npz`), how far rounding may take a
result from it (`allowed.npz`), the files of `--load`, and a note. Nothing in it names a place of this
machine, and none is left that was not seen to fail.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xdsl.context import Context

from inarch import __version__
from inarch.core.lazy import Array
from inarch.core.npz import write_npz
from inarch.core.pieces import filled
from inarch.diagnosis.folders import copied, new_folder
from inarch.diagnosis.slices import Slice
from inarch.frontends.mlir import resource_keys, write_resources
from inarch.ir.text import print_module
from inarch.passes.lower.algorithm import selections_of

START_SECONDS = 120.0
"""Beside what the code may take: starting Python, and compiling."""

_OF_FILES = ("schedule", "machine", "records")
"""Keywords of a compilation that may name files."""


@dataclass(frozen=True)
class Shown:
    """What a reproducer shows: a part of the model, or nodes of it (`model`, the bytes of an ONNX file)."""

    part: Slice | bytes
    inputs: Mapping[str, Array]
    expected: Mapping[str, Array]
    allowed: Mapping[str, Array]
    summary: str
    keywords: Mapping[str, Any]
    """Of `inarch.compile`."""
    load: Sequence[Path]
    seconds: float
    """That the compiled code may take."""


class UnseenError(Exception):
    """A reproducer was run and did not fail; the text says what it did."""


def write_reproducer(folder: Path, shown: Shown, context: Context) -> Path:
    """Writes `folder` whole or not at all, in the place of another reproducer, and runs it before.

    Raises UnseenError where it does not fail, EnvironmentFault where something else is there.
    """
    with new_folder(folder, shows_fault=True) as made:
        program = "program.mlir"
        if isinstance(shown.part, bytes):
            program = "model.onnx"
            (made / program).write_bytes(shown.part)
        else:
            module = shown.part.module
            named = bool(selections_of(module))  # by where ops come from
            (made / program).write_text(print_module(module, locations=named))
            if resource_keys(shown.part.module):
                write_resources(made / "program.npz", shown.part.module, context)
        write_npz(made / "inputs.npz", shown.inputs)
        write_npz(made / "expected.npz", shown.expected)
        write_npz(made / "allowed.npz", shown.allowed)
        keywords, files = dict(shown.keywords), dict[str, list[str]]()
        for key in _OF_FILES:
            given = keywords.get(key) or ()
            named = [Path(one) for one in ((given,) if isinstance(given, str | Path) else given)]
            if named and all(path.is_file() for path in named):
                files[key] = copied(named, made / "files")
                del keywords[key]
        script = filled(
            "inarch.diagnosis",
            "reproduce.py.tmpl",
            summary=shown.summary,
            keywords=repr(keywords),
            load=repr(copied(shown.load, made / "load")),
            files=repr(files),
            program=repr(program),
            seconds=math.ceil(shown.seconds),
        )
        (made / "reproduce.py").write_text(script)
        (made / "README.md").write_text(_note(shown.summary, program))
        _see(made, shown.seconds + START_SECONDS)
    return folder


def _see(folder: Path, seconds: float) -> None:
    """Runs it as a reader will. Raises UnseenError unless it fails as it should."""
    command = [sys.executable, "-B", "reproduce.py"]
    try:
        ran = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired as error:
        raise UnseenError(f"it did not end within {seconds:.0f} s") from error
    if ran.returncode == 1 and ran.stdout.endswith("wrong\n"):
        return
    if ran.returncode == 0:
        raise UnseenError("in another process, cut out of the model, it is right")
    said = (ran.stderr or ran.stdout).strip().splitlines()
    raise UnseenError(said[-1] if said else f"it ends with status {ran.returncode}")


def _note(summary: str, program: str) -> str:
    what = {
        "program.mlir": "`program.mlir`, `program.npz`: the fewest ops of the model that still differ, "
        "and their constants",
        "model.onnx": "`model.onnx`: the node of the model whose import differs",
    }[program]
    return f"""# {summary}

Inarch {__version__}. `python reproduce.py` compiles `{program}` and fails while the fault is there.
A crash is in a process of its own; `gdb --args python reproduce.py here` stops at it.

- {what}
- `inputs.npz`: the values that enter them in the model
- `expected.npz`, `allowed.npz`: what they must give, and what rounding explains
"""
