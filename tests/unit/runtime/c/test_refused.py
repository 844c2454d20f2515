"""Whatever the system refuses, libinarch and compiled code say so and leak nothing (faults.c)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from inarch.backends import BACKENDS, Backend, Emission, EmitRequest
from inarch.driver.compiler import build as build_artifact
from inarch.driver.options import Options
from inarch.machine.compilers import find_compiler
from inarch.tools.cli import run
from tests.unit.runtime.c.conftest import MODEL, Build
from tests.unit.runtime.c.crafted import PART, Part, Weight, file_of, of_variant
from tests.unit.runtime.c.steps import HERE, built, compiled
from tests.unit.runtime.c.test_libraries import made
from tests.unit.runtime.c.test_linked_states import amplified

FLAGS = ("-std=gnu11", "-O1", "-g1", "-D_GNU_SOURCE", "-rdynamic", "-fno-builtin")
"""The program's functions take the place of libc's, also for what is opened later."""

FAILING = """
#include <inarch.h>
int32_t {}(void *self, DLTensor *args, int32_t n)
{{
    (void)self, (void)args, (void)n;
    return INARCH_UNSUPPORTED;
}}
"""
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


Arguments = list[Path | str]
"""Of `faults`."""


@dataclass(frozen=True)
class Given:
    """What tests share, and a folder of one's own."""

    folder: Path
    model: Path
    program: Path
    steps: Path
    crafted: Path

    def variants(self) -> Path:
        source = self.folder / "m.mlir"
        source.write_text(WITH_WORKSPACE)
        path = self.folder / "two.inarch"
        return build_artifact(source, path, target="x86-64-v3,x86-64-v2").path

    def found(self) -> Path:
        """A program whose loader is beside it."""
        for path in (self.program, self.steps):
            shutil.copy(path, self.folder)
        return self.folder / self.program.name

    def weights(self) -> Path:
        """A part with weights."""
        index = of_variant(replace(PART, parts=(Part(weights=[Weight()]),)))
        path = self.folder / "weights.inarch"
        path.write_bytes(file_of(self.crafted.read_bytes(), index))
        return path

    def host(self) -> Path:
        """The host does what the C of a backend always fails in, with a workspace."""

        def emit(request: EmitRequest) -> Emission:
            return Emission(
                "c", request.names(), text="".join(map(FAILING.format, request.names()))
            )

        source = self.folder / "m.mlir"
        source.write_text(WITH_WORKSPACE)
        with BACKENDS.scope():
            BACKENDS.register(Backend("lame", "it fails", emit, ops=("matmul", "exp")))
            options = Options(backends=("lame",), fallback="host", require_offload=True)
            return build_artifact(source, self.folder / "m.inarch", options=options).path

    def emitted(self) -> Path:
        """The C that is one's own to compile."""
        source, code = self.folder / "m.mlir", self.folder / "net.c"
        source.write_text(WITH_WORKSPACE)
        words = ["--emit=c", "--name=net", "--target=generic", "-q", "-o", str(code)]
        assert run(["compile", str(source), *words]).code == 0
        return built(self.folder / "net.so", "-Wno-error", "-lm", source=code)


PROGRAMS: dict[str, Callable[[Given], Arguments]] = {
    "plain": lambda given: [given.model],
    "variants": lambda given: [given.variants()],
    "library of others": lambda given: [made(given.folder, 3)],
    "loader": lambda given: [given.program, given.steps],
    "loader that is found": lambda given: [given.found()],
    "weights of a part": lambda given: [given.weights(), given.crafted],
    "C with states": lambda given: [amplified(given.folder)],
    "host version": lambda given: [given.host()],
    "host version and loader": lambda given: [
        compiled(given.folder, "--fallback", "host"),
        given.steps,
    ],
    "opened alone": lambda given: [given.variants(), "=", "m"],
    "emitted": lambda given: [given.emitted(), "=", "net"],
}
"""The last two without libinarch."""


@pytest.mark.cpu("x86-64-v3")
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_refusal_is_told_and_leaves_nothing(
    faults: Path,
    tmp_path: Path,
    shared_model: Path,
    program: Path,
    steps: Path,
    crafted: Path,
    name: str,
) -> None:
    """Each call of malloc, open, mmap, write, dlopen ... fails by itself, and with all later ones."""
    given = Given(tmp_path, shared_model, program, steps, crafted)
    words = PROGRAMS[name](given)
    ran = subprocess.run(
        [faults, *words],
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
