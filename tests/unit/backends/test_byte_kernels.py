"""Kernels of integers: what they say, on this CPU where it can; extremes in runs; and C without a warning."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import inarch
from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError
from inarch.machine.target import Target, native, parse
from inarch.machine.toolchain import compile_library
from inarch.microkernel import Microkernel, instance_source, instantiate, members, prototype
from inarch.microkernel.table import MICROKERNELS
from inarch.verification import verify_family

TARGETS = {"conv-u8s8-vnni": "x86-64-v4+avx512vnni", "conv-s16-avx2": "x86-64-v3"}
PRODUCT = """
func.func @main(%x: tensor<5x{k}x{a}>, %w: tensor<{k}x9x{b}>) -> tensor<5x9xi32> {{
  %0 = graph.matmul %x, %w to = i32 : tensor<5x{k}x{a}>, tensor<{k}x9x{b}> -> tensor<5x9xi32>
  func.return %0 : tensor<5x9xi32>
}}
"""
EXTREMES = {
    "conv-u8s8-vnni": ("ui8", 255, "i8", -128),
    "conv-s16-avx2": ("i16", -(2**15), "i16", -(2**15)),
}
"""The dtypes of the operands, and their extremes: products of those of 16 bits wrap in i32, two by two."""


def _here(name: str) -> Target:
    target = parse(TARGETS[name])
    if missing := target.missing_here():
        pytest.skip(f"this CPU lacks {', '.join(missing)}")
    return target


@pytest.mark.parametrize("name", TARGETS)
def test_members_do_what_they_say(name: str) -> None:
    target = _here(name)
    kernel = MICROKERNELS[name]
    chosen = members(kernel, target)[:: len(members(kernel, target)) // 3]
    for params in chosen:
        for verdict in verify_family(kernel, name, target, params=params, quick=True):
            assert verdict.ok, verdict


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("init", ["zero", "accumulate"])
def test_their_c_has_no_warning(name: str, init: str, tmp_path: Path) -> None:
    target = parse(TARGETS[name])
    kernel = MICROKERNELS[name]
    units: dict[str, str] = {}
    for number, params in enumerate(members(kernel, target)[::9]):
        instance = instantiate(kernel, name, params, target=target, init=init)  # pyright: ignore[reportArgumentType]
        head = prototype(instance)
        names = ", ".join(re.findall(r"(\w+)(?=[,)])", head))
        own = head.replace(instance.symbol, f"entry{number}", 1)
        text = f"{instance_source(instance)}{own};\n{own} {{ {instance.symbol}({names}); }}\n"
        units[f"unit{number}.c"] = "#include <stdint.h>\n" + text
    flags = ("-Wall", "-Wextra", "-Werror")
    compile_library(units, tmp_path / "kernels.so", target=target, flags=flags)


@pytest.mark.parametrize("terms", [4, 64, 1000])
@pytest.mark.parametrize("is_largest", [False, True])
@pytest.mark.parametrize("name", TARGETS)
def test_extremes_do_not_saturate(name: str, is_largest: bool, terms: int, tmp_path: Path) -> None:
    target, (a, x, b, least) = _here(name), EXTREMES[name]
    weight = -1 - least if is_largest else least
    path = tmp_path / "product.mlir"
    path.write_text(PRODUCT.format(k=terms, a=a, b=b))
    module = inarch.compile(path, target=str(target), microkernels=[name])
    left, right = (
        np.full(shape, number, DTYPES[dtype].numpy)
        for shape, number, dtype in (((5, terms), x, a), ((terms, 9), weight, b))
    )
    wanted = np.full((5, 9), x * weight * terms, np.int64).astype(np.int32)
    np.testing.assert_array_equal(module(left, right), wanted)


def test_what_is_written_is_signed() -> None:
    kernel = Microkernel(
        computes="for m in M: C[m] = A[m]", dtypes={"A": "ui8", "C": "ui8"}, c="void copy() {}"
    )
    with pytest.raises(InarchError) as caught:
        instantiate(kernel, "copy", {}, target=native())
    assert str(caught.value) == (
        "microkernel 'copy': expected a float or a signed integer for operand C, which is written, "
        "found ui8"
    )
