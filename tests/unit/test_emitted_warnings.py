"""The C of whole programs compiles without a warning, by the very command that its first line gives."""

# Onnx is untyped, and so is a part of pytest:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import onnx
import pytest

from inarch.microkernel import instance_source, instantiate, members
from inarch.microkernels import MICROKERNELS
from inarch.target import parse
from inarch.toolchain import BASE_FLAGS
from inarch.tools.cli import run

FOLDER = Path(__file__).parents[2] / "benchmarks" / "models"

LEVELS = [
    name
    for name in ("generic", "x86-64-v3", "x86-64-v4")
    if name == "generic" or not parse(name).missing_on_host()
]
COMPILERS = [name for name in ("gcc", "clang", "clang-19") if shutil.which(name)]

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "lenet": ("lenet", {}),
    "mobilenetv2": ("mobilenetv2", {}),
    "resnet": ("resnet50", {"image": 64, "width": 32, "blocks": (1, 1), "classes": 10}),
    "bert": (
        "bert_base",
        {"sequence": 9, "layers": 1, "hidden": 24, "heads": 3, "inner": 40, "vocabulary": 50},
    ),
}


def warnings_of(path: Path, level: str, compiler: str) -> str:
    """What the compiler says of the program's C, with the command of its first line and -Wall -Wextra."""
    text = path.with_suffix(".c")
    assert run(["compile", str(path), "--emit=c", "-o", str(text), "--target", level]).code == 0
    command = re.search(
        r"cc (.*) FILE\.c -o FILE\.so (.*) \*/", text.read_text().partition("\n")[0]
    )
    assert command is not None
    flags = [*command[1].split(), "-Wall", "-Wextra"]
    library = str(path.with_suffix(".so"))
    done = subprocess.run(
        [compiler, *flags, str(text), "-o", library, *command[2].split()],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", LEVELS)
def test_a_vector_times_a_matrix_of_constant_sizes(
    level: str, compiler: str, tmp_path: Path
) -> None:
    """Every member of the kernel, called as programs call it: gcc unrolls, and counts iterations."""
    kernel, target = MICROKERNELS["gemv-f32"], parse(level)
    text = "#include <stdint.h>\n"
    for number, params in enumerate(members(kernel, target)):
        instance = instantiate(kernel, "gemv-f32", params, target=target, init="zero")
        text += instance_source(instance)
        lanes, row = params["VL"], params["NV"] * params["VL"]
        strides = f"1, {row}, {lanes}, 1, {lanes}, 1"
        text += f"void call_{number}(const float *a, const float *b, float *c) {{\n"
        text += f"  {instance.symbol}(a, b, c, {strides}, 120);\n}}\n"
    path = tmp_path / "calls.c"
    path.write_text(text)
    assert "call_0" in text
    flags = [*BASE_FLAGS, *target.cflags(), "-O3", "-Wall", "-Wextra"]
    command = [compiler, *flags, "-c", str(path), "-o", str(tmp_path / "calls.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.sampled(6, reason="whole models take 10 s each")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", MODELS)
def test_whole_models(
    name: str, level: str, compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    script, options = MODELS[name]
    path = tmp_path / f"{name}.onnx"
    onnx.save(importlib.import_module(script).build(**options), str(path))
    assert warnings_of(path, level, compiler) == ""
