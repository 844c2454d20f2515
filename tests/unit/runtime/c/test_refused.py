"""Whatever the system refuses, libinarch and compiled code say so and leak nothing (faults.c)."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from inarch.driver.compiler import build as build_artifact
from inarch.machine.compilers import find_compiler
from inarch.tools.cli import run
from tests.unit.runtime.c.conftest import MODEL, Build
from tests.unit.runtime.c.crafted import PART, Part, Weight, file_of, of_variant
from tests.unit.runtime.c.steps import HERE, built
from tests.unit.runtime.c.test_libraries import made

FLAGS = ("-std=gnu11", "-O1", "-g1", "-D_GNU_SOURCE", "-rdynamic", "-fno-builtin")
"""The program's functions take the place of libc's, also for what is opened later."""

WITH_WORKSPACE = (
    MODEL.replace("-> (tensor<96x256xf32>", "-> (tensor<96x8xf32>")
    .replace("func.return %1", "func.return %3")
    .replace(": tensor<96x256xf32>\n}", ": tensor<96x8xf32>\n}")
    .replace(
        "  func.return",
        "  %2 = graph.constant dense<0.5> : tensor<256x8xf32>\n"
        "  %3 = graph.matmul %1, %2 : tensor<96x256xf32>, tensor<256x8xf32> -> tensor<96x8xf32>\n"
        "  func.return",
    )
)


@pytest.fixture(scope="module")
def faults(build: Build) -> Path:
    return build(HERE / "faults.c", [*find_compiler().command, *FLAGS])


@pytest.fixture(scope="module")
def files(
    tmp_path_factory: pytest.TempPathFactory,
    shared_model: Path,
    program: Path,
    steps: Path,
    crafted: Path,
) -> dict[str, list[Path | str]]:
    """Arguments of `faults`: one file, code for two CPUs, a library of others, loaders given, found, and of
    weights; without libinarch a file, and the C that is one's own to compile."""
    folder = tmp_path_factory.mktemp("refused")
    source = folder / "m.mlir"
    source.write_text(WITH_WORKSPACE)
    found = folder / "found"
    found.mkdir()
    for path in (program, steps):
        shutil.copy(path, found)
    shipped = replace(PART, parts=(Part(weights=[Weight()]),))
    (folder / "weights.inarch").write_bytes(file_of(crafted.read_bytes(), of_variant(shipped)))
    code = folder / "net.c"
    words = ["--emit=c", "--name=net", "--target=generic", "-q", "-o", str(code)]
    assert run(["compile", str(source), *words]).code == 0
    return {
        "plain": [shared_model],
        "variants": [
            build_artifact(source, folder / "two.inarch", target="x86-64-v3,x86-64-v2").path
        ],
        "library": [made(folder, 3)],
        "loader": [program, steps],
        "found": [found / program.name],
        "weights": [folder / "weights.inarch", crafted],
        "alone": [folder / "two.inarch", "=", "m"],
        "emitted": [built(folder / "net.so", "-Wno-error", "-lm", source=code), "=", "net"],
    }


@pytest.mark.cpu("x86-64-v3")
@pytest.mark.parametrize(
    "name",
    ["plain", "variants", "library", "loader", "found", "weights", "alone", "emitted"],
)
def test_every_refusal_is_told_and_leaves_nothing(
    faults: Path, files: dict[str, list[Path | str]], name: str
) -> None:
    """Each call of malloc, open, mmap, write, dlopen ... fails by itself, and with all later ones."""
    ran = subprocess.run(
        [faults, *files[name]],
        capture_output=True,
        text=True,
        check=False,
        env={k: v for k, v in os.environ.items() if k != "INARCH_TARGET"},
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    count, word = ran.stdout.split()
    assert int(count) > 20
    assert word == "calls"
