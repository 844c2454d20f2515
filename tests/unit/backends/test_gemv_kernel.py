"""The kernels of matrix times vector against their meaning, and that every compiler takes our own kernels.

K2: packed and unpacked matrices stand side by side. K4: any strides and offsets.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from compilers import command_of
from inarch.machine.target import Target
from inarch.machine.target import parse as parse_target
from inarch.meaning import parse as parse_meaning
from inarch.microkernel import Instance, instance_source, instantiate, members, prototype
from inarch.microkernel.table import MICROKERNELS

Compile = Callable[[Sequence[Instance]], Sequence[Any]]

TARGETS = [
    name
    for name in ("generic", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64")
    if not parse_target(name).missing_here()
]
LENGTHS = (1, 3, 16, 31, 64, 129, 257)
"""Of k: less than a vector, whole rounds of the unrolled loops, and every kind of rest."""

FINISHES: Mapping[str, Mapping[str, str]] = {
    "relu(C[v, l] + E0[v, l])": {"E0": "f32"},
    "min(max(C[v, l] * E0[], E1[v, l]), 6)": {"E0": "f32", "E1": "f32"},
}


INITS = ("zero", "accumulate")


def most(target: Target) -> int:
    """As many vectors, or rows, as registers hold two sums of."""
    return {16: 5, 32: 6, 64: 8}[target.vector_bytes]


def gemv(target: Target, vectors: int, init: str, text: str = "") -> Instance:
    finish = None
    if text:
        finish = parse_meaning(f"for v in 1, l in 1: C[v, l] = {text}").statements[0].value
    return instantiate(
        MICROKERNELS["gemv-f32"],
        "gemv-f32",
        {"NV": vectors, "VL": target.vector_bytes // 4},
        target=target,
        init="zero" if init == "zero" else "accumulate",
        finish=finish,
        extras=FINISHES[text] if text else None,
    )


def gemv_rows(target: Target, rows: int, init: str) -> Instance:
    return instantiate(
        MICROKERNELS["gemv-rows-f32"],
        "gemv-rows-f32",
        {"NR": rows},
        target=target,
        init="zero" if init == "zero" else "accumulate",
    )


@pytest.mark.sampled(2, reason="a short and a long vector")
@pytest.mark.parametrize("name", TARGETS)
def test_packed(name: str, kernel_calls: Compile) -> None:
    """K4: numbers of vectors, both inits, all rests, epilogues."""
    target = parse_target(name)
    instances = [gemv(target, n, init) for n in (1, 3, most(target)) for init in INITS]
    instances += [gemv(target, 2, "zero", text) for text in FINISHES]
    for number, call in enumerate(kernel_calls(instances)):
        for length in LENGTHS:
            call.compare({"K": length}, number, exact=True)
            call.compare({"K": length}, number, exact=False)


@pytest.mark.sampled(1, reason="packed ones are of two lengths of vectors")
@pytest.mark.parametrize("name", TARGETS)
def test_unpacked(name: str, kernel_calls: Compile) -> None:
    """K4: the same of rows of a matrix that lie anywhere."""
    target = parse_target(name)
    instances = [gemv_rows(target, n, init) for n in (1, 3, most(target)) for init in INITS]
    for number, call in enumerate(kernel_calls(instances)):
        for length in LENGTHS:
            call.compare({"K": length}, number, exact=True)
            call.compare({"K": length}, number, exact=False)


@pytest.mark.parametrize("name", ["generic", "x86-64-v3", "x86-64-v4", "aarch64"])
def test_every_remainder_has_a_member(name: str) -> None:
    """Any number of vectors, or of rows, is a sum of those of members."""
    target = parse_target(name)
    sizes = set(range(1, most(target) + 1))
    assert {one["NV"] for one in members(MICROKERNELS["gemv-f32"], target)} == sizes
    assert {one["NR"] for one in members(MICROKERNELS["gemv-rows-f32"], target)} == sizes


def test_cost_grows_with_what_is_read() -> None:
    kernel = MICROKERNELS["gemv-f32"]
    target = parse_target("x86-64-v4")

    def cost(vectors: int, length: int) -> float:
        params = {"NV": vectors, "VL": 16}
        assert callable(kernel.cost)
        return kernel.cost(
            instantiate(kernel, "gemv-f32", params, target=target, sizes={"K": length})
        )

    assert cost(1, 512) < cost(2, 512) < 2 * cost(1, 512)
    assert cost(4, 4096) == pytest.approx(2 * cost(4, 2048), rel=0.01)


FLAGS = ("-O2", "-Wall", "-Wextra", "-Werror", "-fno-math-errno", "-ffp-contract=off")


def _sources(target: Target) -> str:
    """One member of each kernel of this file and of the depthwise one, with clips, as one unit."""
    lanes = target.vector_bytes // 4
    window = {"P": 2, "Q": 3, "VL": lanes, "SH": 1, "SW": 1}
    text = "min(max(C[p, q, l] + E0[l], 0), 6)"
    meaning = parse_meaning(f"for p in 1, q in 1, l in 1: C[p, q, l] = {text}")
    depthwise = [
        instantiate(
            MICROKERNELS["depthwise-f32"],
            "depthwise-f32",
            {**window, "R": size, "S": size},
            target=target,
            finish=meaning.statements[0].value,
            extras={"E0": "f32"},
        )
        for size in (3, 5)
    ]
    every = [*depthwise, gemv(target, 2, "zero", next(iter(FINISHES))), gemv_rows(target, 3, "")]
    return "#include <stdint.h>\n" + "".join(
        f"static {prototype(each)};\n{instance_source(each)}{_exported(each)}" for each in every
    )


def _exported(instance: Instance) -> str:
    head = prototype(instance)
    arguments = ", ".join(re.findall(r"(\w+)(?=[,)])", head))
    name = f"{instance.symbol}_exported"
    exported = head.replace(instance.symbol, name, 1)
    return f"{exported};\n{exported}\n{{\n    {instance.symbol}({arguments});\n}}\n"


@pytest.mark.sampled(4, reason="each compiler once")
@pytest.mark.parametrize("name", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang", "clang++"])
def test_compilers_take_it_without_a_warning(compiler: str, name: str, tmp_path: Path) -> None:
    program, target = command_of(compiler), parse_target(name)
    if target.missing_here() == [target.architecture]:
        pytest.skip(f"{compiler} compiles for this machine, not for {target.architecture}")
    is_cxx = "++" in compiler
    source = tmp_path / ("kernels.cpp" if is_cxx else "kernels.c")
    source.write_text(_sources(target))
    standard = "-std=c++17" if is_cxx else "-std=c11"
    command = [program, standard, *FLAGS, *target.cflags(), "-c", str(source)]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "kernels.o")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ziglang") is None, reason="no ziglang here: make zig")
def test_aarch64_takes_it(tmp_path: Path) -> None:
    target = parse_target("aarch64")
    source = tmp_path / "kernels.c"
    source.write_text(_sources(target))
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-gnu", "-std=c11"]
    flags = [*FLAGS, "-Wno-unused-command-line-argument"]  # zig adds -c by itself
    done = subprocess.run(
        [*zig, *flags, "-S", str(source), "-o", str(tmp_path / "kernels.s")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "fmla" in (tmp_path / "kernels.s").read_text()
