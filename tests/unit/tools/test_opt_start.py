"""What `inarch-opt` does not do for a small file: it starts in a quarter of a second because it does not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.relu %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""

WATCHED = """
import json, sys
from pathlib import Path
from xdsl.irdl.declarative_assembly_format import FormatProgram

formats, read = [], []
from_str, read_text = FormatProgram.from_str, Path.read_text
def parsed(text, definition):
    formats.append(definition.name)
    return from_str(text, definition)
def read_as_text(path, *arguments, **options):
    read.append(str(path))
    return read_text(path, *arguments, **options)
FormatProgram.from_str, Path.read_text = staticmethod(parsed), read_as_text
from inarch.tools.opt import run
outcome = run(sys.argv[1:])
print(json.dumps([outcome.code, formats, read, sorted(sys.modules)]))
"""
"""Runs `inarch-opt` and prints its exit code, the formats that were parsed, the texts read, the modules."""


def test_a_small_file_needs_little(tmp_path: Path) -> None:
    path = tmp_path / "small.mlir"
    path.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(path), "-p", "fold-constants"],
        capture_output=True,
        text=True,
        check=True,
    )
    code, formats, read, modules = json.loads(done.stdout)
    assert code == 0
    ours = [name for name in formats if name.startswith(("graph.", "loop.", "kernel."))]
    assert ours == ["graph.relu"]
    passes = [path for path in read if "/passes/" in path]
    assert [Path(path).name for path in passes] == ["fold_constants.py"]
    heavy = {"numpy", "onnx", "cffi", "importlib.metadata", "inarch.driver.compiler"}
    assert not heavy & set(modules)
    lower = [
        name for name in modules if name.startswith(("xdsl.dialects.arith", "inarch.dialects.l"))
    ]
    assert lower == []
