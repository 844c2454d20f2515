"""A folder that shows one fault and fails by itself: `python reproduce.py`.

It holds the fewest ops that still differ (`program.mlir`, constants in `program.npz`), their inputs, what the
definitions say (`expected.npz`), how far rounding may take a result from it (`allowed.npz`), and a note.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from xdsl.context import Context

from inarch import __version__
from inarch.core.errors import EnvironmentFault
from inarch.core.lazy import Array
from inarch.core.npz import write_npz
from inarch.diagnosis.slices import Slice
from inarch.frontends.mlir import resource_keys, write_resources
from inarch.ir.text import print_module

SCRIPT = '''"""{summary}

Exit code: 0 when the compiled program is right, 1 when it is wrong, or crashes. The code runs in a process of
its own; with the argument `here` in this one, for a debugger.
"""

import sys
from pathlib import Path

import numpy as np

import inarch
from inarch.diagnosis.contained import CrashError, run_contained
from inarch.tools.extensions import load_files

HERE = Path(__file__).parent
LOAD = {load!r}  # files of --load
KEYWORDS = {keywords!r}

load_files([Path(path) for path in LOAD])
inputs, expected, allowed = (
    dict(np.load(HERE / f"{{name}}.npz")) for name in ("inputs", "expected", "allowed")
)
module = inarch.compile(HERE / "program.mlir", **KEYWORDS)
try:
    found = module.run(inputs) if "here" in sys.argv else run_contained(module, inputs, {seconds})
except CrashError as error:
    print(f"the compiled code {{error}}")
    print("wrong")
    sys.exit(1)
failed = False
for name, wanted in expected.items():
    a, b = wanted.astype(np.float64), found[name].astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | np.isposinf(allowed[name])
    with np.errstate(invalid="ignore"):
        wrong = ~(same | (np.abs(a - b) <= allowed[name]))
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        place = [int(i) for i in at]
        print(f"{{name}}{{place}}: expected {{a[at]:.9g}}, found {{b[at]:.9g}} ({{wrong.sum()}} differ)")
        failed = True
print("wrong" if failed else "right")
sys.exit(failed)
'''


def write_reproducer(
    folder: Path,
    part: Slice,
    context: Context,
    inputs: Mapping[str, Array],
    expected: Mapping[str, Array],
    allowed: Mapping[str, Array],
    *,
    summary: str,
    keywords: Mapping[str, Any],
    load: Sequence[Path] = (),
    seconds: float,
) -> Path:
    """Writes `folder`, which must not exist, whole or not at all. Raises EnvironmentFault."""
    if folder.exists():
        raise EnvironmentFault(
            "exists already; name another folder, or remove it", where=str(folder)
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise EnvironmentFault(f"cannot be written: {error.strerror}", where=str(folder)) from error
    try:
        (made / "program.mlir").write_text(print_module(part.module))
        if resource_keys(part.module):
            write_resources(made / "program.npz", part.module, context)
        write_npz(made / "inputs.npz", inputs)
        write_npz(made / "expected.npz", expected)
        write_npz(made / "allowed.npz", allowed)
        script = SCRIPT.format(
            summary=summary, keywords=dict(keywords), load=_paths(load), seconds=math.ceil(seconds)
        )
        (made / "reproduce.py").write_text(script)
        (made / "README.md").write_text(_note(summary))
        made.chmod(0o755)
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return folder


def _paths(load: Sequence[Path]) -> list[str]:
    return [str(path.resolve()) for path in load]


def _note(summary: str) -> str:
    return f"""# {summary}

Inarch {__version__}. `python reproduce.py` compiles `program.mlir` and fails while the fault is there.
A crash is in a process of its own; `gdb --args python reproduce.py here` stops at it.

- `program.mlir`, `program.npz`: the fewest ops of the model that still differ, and their constants
- `inputs.npz`: the values that enter them in the model
- `expected.npz`, `allowed.npz`: what the definitions of the ops give, and what rounding explains
"""
