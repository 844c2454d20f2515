"""Artifacts that a program opens by `dlopen` alone: functions bind their own weights at the first call."""

from __future__ import annotations

import subprocess
from pathlib import Path

import inarch
from inarch.artifact import Artifact
from inarch.machine.compilers import find_compiler
from tests.unit.runtime.c.conftest import Build

HERE = Path(__file__).parent
MODEL = """
func.func @main(%x: tensor<4xf32> {{inarch.name = "x"}}) -> (tensor<4xf32> {{inarch.name = "y"}}) {{
  %w = graph.constant dense<{weights}> : tensor<4xf32>
  %0 = graph.mul %x, %w : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}}
"""


def made(folder: Path, name: str, weights: str) -> Path:
    """The artifact `m` of a product with `weights`."""
    text = MODEL.format(weights=weights)
    if not weights:
        text = text.replace("graph.constant dense<>", "graph.exp %x").replace(
            ": tensor<4xf32>\n  %0", ": tensor<4xf32> -> tensor<4xf32>\n  %0", 1
        )
    (folder / "m.mlir").write_text(text)
    path = folder / name
    inarch.compile(folder / "m.mlir").save(path)
    return path


def test_eight_threads_begin_at_once(build: Build, tmp_path: Path) -> None:
    """Two models of one name stay apart; one that has no weights, and one that has moved, are right."""
    first, second = (made(tmp_path, f"{n}.inarch", f"[{n}.0, 2.0, 3.0, 4.0]") for n in (1, 5))
    plain = made(tmp_path, "plain.so", "")
    moved = tmp_path / "elsewhere" / "a b.so"
    moved.parent.mkdir()
    first.rename(moved)
    program = build(HERE / "opened.c", [*find_compiler().command, "-std=c11"], "-D_GNU_SOURCE")
    said = subprocess.check_output([program, moved, second, plain], text=True)
    assert said == "1 30 \n1 34 \n1 296.146 \n"


def test_a_library_without_its_artifact_says_so(build: Build, tmp_path: Path) -> None:
    """One line; a file that was cut, too."""
    path = made(tmp_path, "m.inarch", "[1.0, 2.0, 3.0, 4.0]")
    with Artifact.open(path) as artifact:
        (tmp_path / "library.so").write_bytes(bytes(artifact.library))
    (tmp_path / "cut.so").write_bytes(path.read_bytes()[:-1])
    program = build(HERE / "opened.c", [*find_compiler().command, "-std=c11"], "-D_GNU_SOURCE")
    for name in ("library.so", "cut.so"):
        said = subprocess.check_output([program, tmp_path / name], text=True)
        assert said == (
            "1 -1 main: expected its weights in the artifact that it was loaded from, found a file that is "
            f"no artifact: '{tmp_path / name}'; call m_bind first\n"
        )
