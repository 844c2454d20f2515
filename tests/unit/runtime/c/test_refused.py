"""Whatever the system refuses, libinarch and compiled code say so and leak nothing (faults.c)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from inarch.driver.compiler import build as build_artifact
from inarch.machine.compilers import find_compiler
from tests.unit.runtime.c.conftest import MODEL, Build
from tests.unit.runtime.c.steps import HERE
from tests.unit.runtime.c.test_libraries import made

FLAGS = ("-std=gnu11", "-O1", "-g1", "-D_GNU_SOURCE", "-rdynamic", "-fno-builtin")
"""The program's functions take the place of libc's, also for what is opened later."""


@pytest.fixture(scope="module")
def faults(build: Build) -> Path:
    return build(HERE / "faults.c", [*find_compiler().command, *FLAGS])


@pytest.fixture(scope="module")
def files(
    tmp_path_factory: pytest.TempPathFactory, shared_model: Path, program: Path, steps: Path
) -> dict[str, list[Path]]:
    """Arguments of `faults`: one file, code for two CPUs, a library of others, loaders given and found."""
    folder = tmp_path_factory.mktemp("refused")
    source = folder / "m.mlir"
    source.write_text(MODEL)
    found = folder / "found"
    found.mkdir()
    for path in (program, steps):
        shutil.copy(path, found)
    return {
        "plain": [shared_model],
        "variants": [
            build_artifact(source, folder / "two.inarch", target="x86-64-v3,x86-64-v2").path
        ],
        "library": [made(folder, 3)],
        "loader": [program, steps],
        "found": [found / program.name],
    }


@pytest.mark.cpu("x86-64-v3")
@pytest.mark.parametrize("name", ["plain", "variants", "library", "loader", "found"])
def test_every_refusal_is_told_and_leaves_nothing(
    faults: Path, files: dict[str, list[Path]], name: str
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
    assert int(count) > 30
    assert word == "calls"
