"""The C of programs and of our kernels compiles without a warning, by the very command of its first line."""

# Onnx is untyped, and so is a part of pytest:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import importlib
import itertools
import math
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import pytest

from compilers import found
from effort import effort
from inarch.backends.c.text import Names
from inarch.machine.target import Target, parse
from inarch.meaning import expression_text, free_sizes, normal
from inarch.meaning import parse as parse_meaning
from inarch.microkernel import (
    AtLeast,
    Instance,
    Microkernel,
    check,
    demands,
    instance_source,
    instantiate,
    known_demand,
    members,
)
from inarch.microkernel.table import MICROKERNELS
from inarch.tools.cli import run

FOLDER = Path(__file__).parents[3] / "benchmarks" / "models"

LEVELS = [
    name
    for name in ("generic", "x86-64-v3", "x86-64-v4")
    if name == "generic" or not parse(name).missing_here()
]
COMPILERS = [name for name in map(found, ("gcc", "clang")) if name]

SMALL = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = graph.relu %x : tensor<2xf32> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""
MANY = 24
"""Members that stand for a family: evenly spread, by the product of their parameters."""

FEW = 8
"""Members of a family that is tried whole in every run."""

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "lenet": ("lenet", {}),
    "mobilenetv2": ("mobilenetv2", {}),
    "resnet": ("resnet50", {"image": 64, "width": 32, "blocks": (1, 1), "classes": 10}),
    "bert": (
        "bert_base",
        {"sequence": 9, "layers": 1, "hidden": 24, "heads": 3, "inner": 40, "vocabulary": 50},
    ),
}


def command_of(text: Path) -> tuple[list[str], list[str]]:
    """The flags and the libraries that the first line of a program's C names."""
    command = re.search(
        r"cc (.*) FILE\.c -o FILE\.so (.*) \*/", text.read_text().partition("\n")[0]
    )
    assert command is not None
    return command[1].split(), command[2].split()


def warnings_of(path: Path, level: str, compiler: str) -> str:
    """What the compiler says of the program's C, with the command of its first line and -Wall -Wextra."""
    text = path.with_suffix(".c")
    assert run(["compile", str(path), "--emit=c", "-o", str(text), "--target", level]).code == 0
    flags, libraries = command_of(text)
    library = str(path.with_suffix(".so"))
    done = subprocess.run(
        [compiler, *flags, "-Wall", "-Wextra", str(text), "-o", library, *libraries],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


@cache
def flags_of(level: str) -> tuple[str, ...]:
    """The flags that the first line of a program's C names, beside those of linking."""
    with tempfile.TemporaryDirectory() as name:
        model, text = Path(name, "model.mlir"), Path(name, "model.c")
        model.write_text(SMALL)
        assert (
            run(["compile", str(model), "--emit=c", "-o", str(text), "--target", level]).code == 0
        )
        return tuple(flag for flag in command_of(text)[0] if flag != "-shared")


OWN = sorted(set(MICROKERNELS) - {name for name, _ in MICROKERNELS.foreign()})
"""Whatever has a file in `backends/c/microkernels`."""

SIZES = (1, 120)
"""Of everything that a meaning leaves open: one step of a loop, and more than gcc unrolls."""


def instances_of(name: str, target: Target, params: Mapping[str, int]) -> Iterator[Instance]:
    """A member with each init, and with a finish that reads operands, where it can have one."""
    kernel = MICROKERNELS[name]
    for init in kernel.inits:
        yield instantiate(kernel, name, params, target=target, init=init)
    if not {"max", "add"} <= set(kernel.epilogue):
        return
    written = normal(check(kernel, name)).target
    iterators = sorted(set(re.findall(r"\w+", expression_text(written).partition("[")[2])))
    loops = ", ".join(f"{each} in 1" for each in iterators)
    target_text = expression_text(written)
    text = f"max({target_text} + E0[{target_text.partition('[')[2]}, E1[])"
    finish = (
        parse_meaning(f"for {loops}: X[{target_text.partition('[')[2]} = {text}")
        .statements[0]
        .value
    )
    extras = {"E0": kernel.dtypes[written.operand], "E1": kernel.dtypes[written.operand]}
    yield instantiate(
        kernel, name, params, target=target, init=kernel.inits[0], finish=finish, extras=extras
    )


def calls_of(instance: Instance, number: int) -> str:
    """C that calls the instance with constants, as programs do: gcc then unrolls, and counts iterations."""
    names = free_sizes(instance.meaning)
    operands = {**instance.kernel.dtypes, **instance.extras}
    demanded = demands(instance)
    text = ""
    for size in SIZES:
        known = dict.fromkeys(names, size)
        strides = [
            known_demand(demand, known) if demand is not None else 24
            for operand in operands
            for demand in demanded[operand]
        ]
        values = [s.least if isinstance(s, AtLeast) else s for s in strides]
        given = [*(f"p[{i}]" for i in range(len(operands))), *map(str, [*values, *known.values()])]
        text += f"void call_{number}_{size}(void *const *p) {{\n"
        text += f"  {instance.symbol}({', '.join(given)});\n}}\n"
    return text


def said_of(instances: Iterable[Instance], level: str, compiler: str, folder: Path) -> str:
    """What the compiler says of a file of kernels, each called with constant sizes."""
    text, path = "#include <stdint.h>\n", folder / "calls.c"
    for number, instance in enumerate(instances):
        text += instance_source(instance) + calls_of(instance, number)
    assert "call_0" in text
    path.write_text(text)
    command = [compiler, *flags_of(level), "-Wall", "-Wextra", "-O3", "-c"]
    done = subprocess.run(
        [*command, str(path), "-o", str(folder / "calls.o")],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


def sample(name: str, target: Target, count: int) -> list[dict[str, int]]:
    """`count` members from the smallest to the largest, by the product of their parameters; all of few."""
    found = sorted(members(MICROKERNELS[name], target), key=lambda one: math.prod(one.values()))
    if len(found) <= count:
        return found
    return [found[number * (len(found) - 1) // (count - 1)] for number in range(count)]


def test_our_kernels_are_found() -> None:
    assert {"gemm-f32", "gemv-f32"} <= set(OWN)


@pytest.mark.sampled(4, reason="gcc and clang take 1 s a family; make soak has all")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", OWN)
def test_kernels_with_constant_sizes(name: str, compiler: str, tmp_path: Path) -> None:
    """Some members of every family, for the widest registers here."""
    target = parse(LEVELS[-1])
    chosen = sample(name, target, 3)[-effort(1, 3) :]
    if not chosen:
        pytest.skip(f"{name} has no member for {LEVELS[-1]}")
    instances = [i for params in chosen for i in instances_of(name, target, params)]
    assert said_of(instances, LEVELS[-1], compiler, tmp_path) == ""


@pytest.mark.sampled(1, reason="gcc and clang take 1 s a level; make soak has all")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", LEVELS)
def test_small_families_whole_with_constant_sizes(
    level: str, compiler: str, tmp_path: Path
) -> None:
    """Every member of families that have few: gcc counts the iterations of their loops over one size."""
    target = parse(level)
    instances = [
        instance
        for name in OWN
        if len(found := members(MICROKERNELS[name], target)) <= FEW
        for params in found
        for instance in instances_of(name, target, params)
    ]
    assert said_of(instances, level, compiler, tmp_path) == ""


def test_a_warning_is_seen(tmp_path: Path) -> None:
    """The check compiles what it is given: a kernel with a variable that it does not use."""
    target = parse("generic")
    instance = instantiate(
        Microkernel(
            computes="for k in K: C[] += A[k]",
            dtypes={"A": "f32", "C": "f32"},
            c="void unused(const float *A, float *C, int64_t A_0, int64_t K) "
            "{ int nothing; for (int64_t k = 0; k < K; k++) *C += A[k * A_0]; }",
        ),
        "unused",
        {},
        target=target,
    )
    if not COMPILERS:
        pytest.skip("needs gcc or clang")
    assert "unused variable" in said_of([instance], "generic", COMPILERS[0], tmp_path)


@pytest.mark.slow
@pytest.mark.sampled(
    6, reason="24 functions take 5 s to compile; --cases all runs every kernel and level"
)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", OWN)
def test_many_members_with_constant_sizes(
    name: str, level: str, compiler: str, tmp_path: Path
) -> None:
    """`MANY` members of large families, all of small ones."""
    target = parse(level)
    chosen = sample(name, target, MANY)
    if not chosen:
        pytest.skip(f"{name} has no member for {level}")
    instances = [i for params in chosen for i in instances_of(name, target, params)]
    assert said_of(instances, level, compiler, tmp_path) == ""


@pytest.mark.sampled(1, reason="gcc and clang take 1 s a level; make soak has all")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", LEVELS)
def test_sums_along_columns(level: str, compiler: str, tmp_path: Path) -> None:
    """What whole vectors leave over is some, one or none: gcc warned of a loop that has nothing to do."""
    path, ops, kinds = tmp_path / "columns.mlir", "", ""
    for at, (size, op) in enumerate(itertools.product((8, 56, 57, 96), ("sum", "max", "mean"))):
        ops += (
            f"  %s{at} = graph.slice %x starts = [0, 0] sizes = [64, {size}] steps = [1, 1] : "
            f"tensor<64x96xf32> -> tensor<64x{size}xf32>\n"
            f"  %r{at} = graph.reduce_{op} %s{at} axes = [0] : tensor<64x{size}xf32> -> tensor<{size}xf32>\n"
        )
        kinds += f", tensor<{size}xf32>"
    names = ", ".join(f"%r{at}" for at in range(12))
    path.write_text(
        f"func.func @main(%x: tensor<64x96xf32>) -> ({kinds[2:]}) {{\n{ops}"
        f"  func.return {names} : {kinds[2:]}\n}}\n"
    )
    assert warnings_of(path, level, compiler) == ""


@pytest.mark.sampled(1, reason="one compiler is enough; make soak has all")
@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_variable_is_a_macro(compiler: str, tmp_path: Path) -> None:
    """Of all macros that the headers of a program's C define, and those that it defines itself."""
    path, text = tmp_path / "small.mlir", tmp_path / "small.c"
    path.write_text(SMALL)
    assert (
        run(["compile", str(path), "--emit=c", "-o", str(text), "--target", LEVELS[-1]]).code == 0
    )
    flags = [flag for flag in command_of(text)[0] if flag.startswith("-m")]
    for language in ("c", "c++"):
        command = [compiler, "-x", language, *flags, "-dM", "-E", str(text)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        macros = set(re.findall(r"^#define (\w+)", done.stdout, re.MULTILINE))
        assert {"INT64_MAX", "INARCH_PUBLIC", "stdout"} <= macros
        assert [name for name in macros if Names().fresh(name) == name] == []


@pytest.mark.slow
@pytest.mark.sampled(4, reason="whole models take 10 s each")
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
