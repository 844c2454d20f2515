"""Our own f32 kernels of contractions: members of every class against their meaning, on every target here.

K2: variants of one meaning stand side by side. K4: strides and offsets are any that the meaning has.
"""

from __future__ import annotations

import ctypes
import math
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compilers import command_of
from inarch.machine.target import Target
from inarch.machine.target import parse as parse_target
from inarch.machine.toolchain import compile_library
from inarch.meaning import Apply, Element, Expression, bind, free_sizes, ranks
from inarch.meaning import parse as parse_meaning
from inarch.microkernel import (
    Demand,
    Instance,
    demands,
    instance_source,
    instantiate,
    members,
    prototype,
)
from inarch.microkernel.table import MICROKERNELS
from inarch.verification.cases.expected import expected

Array = np.ndarray[Any, Any]

KERNELS = ("gemm-f32", "conv-f32", "conv-first-f32", "outer-f32")
INCLUDES = "#include <stdint.h>\n"
WARNINGS = ("-Wall", "-Wextra", "-Werror")


def _targets() -> list[str]:
    names = ["generic", "x86-64-v3", "x86-64-v4", "aarch64"]
    return [name for name in names if not parse_target(name).missing_here()]


@dataclass(frozen=True)
class Case:
    """An instance, and the sizes that it is called with."""

    instance: Instance
    sizes: Mapping[str, int]


def _expression(text: str) -> Expression:
    """The finish `text` of C at any of the families' indices."""
    return (
        parse_meaning(f"for p in 1, q in 1, m in 1, v in 1, l in 1: X[p, q, m, v, l] = {text}")
        .statements[0]
        .value
    )


FINISHES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    # {C}, {row}: the accumulator, and the iterators of the rows.
    "bias, relu": ("relu({C} + E0[v, l])", ("E0",)),
    "residual, clip": ("min(max({C} + E0[{row}, v, l], 0), 6)", ("E0",)),
    "scale a row": ("{C} * E0[{first}] - E1[]", ("E0", "E1")),
    "leaky": ("max({C}, {C} * 0.125)", ()),
    "two operands in order": ("min(max(E0[v, l], {C}), E1[])", ("E0", "E1")),
    "abs, neg, div": ("abs(-{C} / E0[v, l])", ("E0",)),
    "gelu": ("0.5 * {C} * (1 + erf({C} * 0.70710678))", ()),
    "bias, tanh gelu": (
        "({C} + E0[v, l]) * 0.5 * (1 + tanh(0.7978845608 * ({C} + 0.044715 * {C} * {C} * {C})))",
        ("E0",),
    ),
    "silu": ("{C} / (1 + exp(-{C}))", ()),
    "sqrt, log, relu": ("log(1 + sqrt(relu({C}))) + max({C}, 0) - abs(E0[{row}, v, l])", ("E0",)),
    "lanes reversed in steps": ("{C} + E0[2 * l + v]", ("E0",)),
}


def _finish(name: str, kernel: str) -> tuple[Expression, dict[str, str]]:
    row = "p, q" if kernel.startswith("conv") else "m"
    text, extras = FINISHES[name]
    text = text.format(C=f"C[{row}, v, l]", row=row, first=row[0])
    return _expression(text), dict.fromkeys(extras, "f32")


def _sample(kernel: str, target: Target) -> list[dict[str, int]]:
    """The least and the largest members of each number of vectors, and some in between."""
    found = members(MICROKERNELS[kernel], target)
    rows = [key for key in found[0] if key in ("MR", "P", "Q")]

    def registers(one: Mapping[str, int]) -> int:
        return int(np.prod([one[key] for key in rows])) * one["NV"]

    chosen: list[dict[str, int]] = []
    for vectors in sorted({one["NV"] for one in found}):
        group = sorted((one for one in found if one["NV"] == vectors), key=registers)
        chosen += [group[0], group[len(group) // 2], group[-1]]
    return chosen


def _cases(kernel: str, target: Target) -> list[Case]:
    generator = np.random.default_rng(3)
    finishes = [None, *FINISHES]
    cases: list[Case] = []
    chosen, inits = _sample(kernel, target), MICROKERNELS[kernel].inits
    while len(cases) < max(len(chosen), len(finishes) + 2):
        number = len(cases)
        params = chosen[number % len(chosen)]
        name = finishes[number % len(finishes)]
        finish, extras = (None, {}) if name is None else _finish(name, kernel)
        instance = instantiate(
            MICROKERNELS[kernel],
            kernel,
            params,
            target=target,
            init=inits[number // 2 % len(inits)],
            finish=finish,
            extras=extras,
        )
        sizes = {size: int(generator.integers(1, 4)) for size in free_sizes(instance.meaning)}
        innermost = {"gemm-f32": "K", "conv-f32": "CI"}.get(kernel)
        if innermost:  # whole rounds of the unrolled loop, remainders, and less than a round
            sizes[innermost] = (8, 1, 3, 4, 7, 17, 2)[number % 7]
        cases.append(Case(instance, sizes))
    return cases


@pytest.mark.sampled(1, reason="whole families; make soak has each kernel and each target")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("target", _targets())
def test_members_compute_their_meaning(kernel: str, target: str, tmp_path: Path) -> None:
    """K2, K4: each number of vectors, init, epilogue, remainder; any strides; nothing else is written."""
    cases = _cases(kernel, parse_target(target))
    library = _library([case.instance for case in cases], tmp_path)
    for number, case in enumerate(cases):
        for exact in (True, False):
            _compare(case, library[number], np.random.default_rng(number), exact)


def test_rows_pass_by_a_b_in_registers(tmp_path: Path) -> None:
    """`outer-f32`: as many rows as the call says, each with its own row of a residual."""
    finish, extras = _finish("residual, clip", "outer-f32")
    instance = instantiate(
        MICROKERNELS["outer-f32"],
        "outer-f32",
        {"NV": 2, "VL": 4, "K": 3},
        target=parse_target("generic"),
        init="zero",
        finish=finish,
        extras=extras,
    )
    (call,) = _library([instance], tmp_path)
    for rows in (1, 2, 5):
        for exact in (True, False):
            _compare(Case(instance, {"M": rows}), call, np.random.default_rng(rows), exact)


def test_a_convolution_reads_through_overlapping_strides(tmp_path: Path) -> None:
    """K4: stride 2, dilation 2, from the middle of an image; fewer taps at a border are padding."""
    kernel = MICROKERNELS["conv-f32"]
    target = parse_target("generic")
    params = {"P": 2, "Q": 3, "NV": 1, "VL": 4}
    instance = instantiate(kernel, "conv-f32", params, target=target, init="zero")
    (call,) = _library([instance], tmp_path)
    generator = np.random.default_rng(0)
    image = generator.integers(-4, 5, (2, 12, 14, 4)).astype(np.float32)  # [c][y][x][i]
    weights = generator.integers(-4, 5, (2, 3, 3, 4, 1, 4)).astype(np.float32)
    out = np.full((2, 3, 1, 4), np.nan, np.float32)
    c, y, x, i = (stride // 4 for stride in image.strides)
    a = (2 * y, 2 * x, c, 2 * y, 2 * x, i)
    b, o = _strides(weights), _strides(out)
    begin = image[:, 1:, 1:]
    call(_at(begin), _at(weights), _at(out), *a, *b, *o, 2, 3, 3, 4)
    expected = _convolution(image[:, 1:, 1:], weights, (2, 3))
    np.testing.assert_array_equal(out, expected)
    # The first row of taps sees padding: rows 1 and 2 alone, one row higher.
    call(_at(image), _at(weights[:, 1:]), _at(out), *a, *b, *o, 2, 2, 3, 4)
    padded = np.pad(image, ((0, 0), (2, 0), (0, 0), (0, 0)))
    padded[:, :2] = 0
    np.testing.assert_array_equal(out, _convolution(padded, weights, (2, 3), rows=(1, 3)))


def _convolution(
    image: Array, weights: Array, shape: tuple[int, int], rows: tuple[int, int] = (0, 3)
) -> Array:
    """Stride 2 and dilation 2, taps `rows` only."""
    out = np.zeros((*shape, 1, 4), np.float32)
    for p, q in np.ndindex(shape):
        for r in range(*rows):
            for s in range(3):
                out[p, q] += np.einsum(
                    "ci,civl->vl", image[:, 2 * p + 2 * r, 2 * q + 2 * s], weights[:, r, s]
                )
    return out


def test_nan_and_infinity_pass_through_an_epilogue(tmp_path: Path) -> None:
    """max, min and relu give NaN where the accumulator is NaN, in registers and through the buffer."""
    texts = ("relu({C})", "min(max({C}, 0), 6)", "max({C}, E0[])", "relu({C}) + 0 * tanh({C})")
    instances = [
        instantiate(
            MICROKERNELS["gemm-f32"],
            "gemm-f32",
            {"MR": 1, "NV": 1, "VL": 4},
            target=parse_target("generic"),
            init="accumulate",
            finish=_expression(text.format(C="C[m, v, l]")),
            extras={"E0": "f32"} if "E0" in text else {},
        )
        for text in texts
    ]
    a, b = np.zeros((1, 1, 1), np.float32), np.zeros((1, 1, 1, 4), np.float32)
    zero = np.zeros((), np.float32)
    for instance, call in zip(instances, _library(instances, tmp_path), strict=True):
        c = np.array([[[np.nan, -1.0, 2.0, 9.0]]], np.float32)
        extra = [_at(zero)] if instance.extras else []
        call(_at(a), _at(b), _at(c), *extra, *_strides(a), *_strides(b), *_strides(c), 1, 1)
        assert np.isnan(c[0, 0, 0]), instance.symbol
        assert (c[0, 0, 1:] >= 0).all(), instance.symbol


def _compare(case: Case, call: Any, generator: np.random.Generator, exact: bool) -> None:
    """One call on random strides. `exact`: on small integers, where only heavy functions may round."""
    instance = case.instance
    shapes = _shapes(instance, case.sizes)
    views: dict[str, Array] = {}
    whole: dict[str, Array] = {}
    for operand, strides in demands(instance).items():
        whole[operand], views[operand] = _strided(shapes[operand], strides, generator)
        shape: tuple[int, ...] = whole[operand].shape
        real, integers = generator.standard_normal(shape), generator.integers(-4, 5, shape)
        values = np.asarray(integers if exact else real, np.float64)
        whole[operand][...] = values
        if operand.startswith("E"):  # also divisors
            whole[operand][...] = np.where(values == 0, 1, values)
    before = {name: array.copy() for name, array in whole.items()}
    wanted = expected(bind(instance.meaning, case.sizes), views)
    strides = [stride for view in views.values() for stride in _strides(view)]
    sizes = [case.sizes[name] for name in free_sizes(instance.meaning)]
    call(*map(_at, views.values()), *strides, *sizes)
    got = views["C"]
    assert wanted.accepts(got).all(), (instance.symbol, case.sizes)
    # Nothing beside C's elements was written.
    before_view = np.lib.stride_tricks.as_strided(
        before["C"][_offset(whole["C"], got) :], got.shape, got.strides
    )
    before_view[...] = got
    for name, array in whole.items():
        np.testing.assert_array_equal(array, before[name], err_msg=f"{instance.symbol}: {name}")


def _shapes(instance: Instance, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The extent of each operand's dimensions."""
    extents: dict[str, int] = {}
    for statement in instance.meaning.statements:
        for iterator in (*instance.meaning.iterators, *statement.iterators):
            size = iterator.size
            extents[iterator.name] = size if isinstance(size, int) else sizes[size]
    found: dict[str, tuple[int, ...]] = {}

    def walk(expression: Expression) -> None:
        if isinstance(expression, Element):
            found[expression.operand] = tuple(
                1
                + sum(
                    math.prod(int(factor) for factor in term.factors) * (extents[term.iterator] - 1)
                    for term in index
                    if term.iterator is not None
                )
                for index in expression.indices
            )
        elif isinstance(expression, Apply):
            for argument in expression.arguments:
                walk(argument)

    for statement in instance.meaning.statements:
        walk(statement.target)
        walk(statement.value)
    assert {name: len(shape) for name, shape in found.items()} == ranks(instance.meaning)
    return found


def _strided(
    shape: Sequence[int], pinned: Sequence[Demand], generator: np.random.Generator
) -> tuple[Array, Array]:
    """A buffer and a view of it: pinned strides as they are, the others in any order and with gaps."""
    strides = [0] * len(shape)
    extent = 1
    for axis in range(len(shape) - 1, -1, -1):
        stride = pinned[axis]
        if stride is not None:
            assert isinstance(stride, int)
            strides[axis] = stride
            extent = max(extent, stride * shape[axis])
    free = [axis for axis in range(len(shape)) if pinned[axis] is None]
    for axis in (free[int(number)] for number in generator.permutation(len(free))):
        strides[axis] = extent + int(generator.integers(0, 3))
        extent = strides[axis] * shape[axis]
    begin = int(generator.integers(0, 5))
    whole = np.zeros(begin + extent + 7, np.float32)
    view = np.lib.stride_tricks.as_strided(
        whole[begin:], tuple(shape), tuple(4 * stride for stride in strides)
    )
    return whole, view


def _offset(whole: Array, view: Array) -> int:
    return (view.ctypes.data - whole.ctypes.data) // 4


def _strides(array: Array) -> tuple[int, ...]:
    return tuple(stride // 4 for stride in array.strides)


def _at(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _library(instances: Sequence[Instance], folder: Path) -> list[Any]:
    """The C functions, callable: pointers as they are, everything else as int64."""
    units: dict[str, str] = {}
    for number, instance in enumerate(instances):
        units[f"unit{number}.c"] = INCLUDES + instance_source(instance) + _entry(instance, number)
    out = folder / "kernels.so"
    compile_library(units, out, target=instances[0].target, flags=WARNINGS)
    library = ctypes.CDLL(str(out))
    calls: list[Any] = []
    for number, instance in enumerate(instances):
        function = library[f"entry{number}"]
        pointers = len(instance.kernel.dtypes) + len(instance.extras)
        count = prototype(instance).count(",") + 1 - pointers
        function.argtypes = [ctypes.c_void_p] * pointers + [ctypes.c_int64] * count
        function.restype = None
        calls.append(function)
    return calls


def _entry(instance: Instance, number: int) -> str:
    head = prototype(instance)
    arguments = re.findall(r"(\w+)(?=[,)])", head)
    exported = head.replace(instance.symbol, f"entry{number}", 1)
    return (
        f'__attribute__((visibility("default"))) {exported};\n'
        f"{exported}\n{{\n    {instance.symbol}({', '.join(arguments)});\n}}\n"
    )


def _every_class(target: Target) -> str:
    """C with each family, finish and init; small tiles, as large ones take long to compile."""
    instances = [
        instantiate(
            MICROKERNELS[kernel],
            kernel,
            {**members(MICROKERNELS[kernel], target)[0], "NV": 1 + number % 2},
            target=target,
            init=("zero", "accumulate")[number // 2 % 2],
            finish=_finish(name, kernel)[0],
            extras=_finish(name, kernel)[1],
        )
        for number, name in enumerate(FINISHES)
        for kernel in (KERNELS if number == 0 else KERNELS[:1])
    ]
    entries = [_entry(each, number) for number, each in enumerate(instances)]
    sources = {each.symbol: instance_source(each) for each in instances}
    return INCLUDES + "".join(sources.values()) + "".join(entries)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang", "clang++"])
def test_compilers_take_them_without_a_warning(compiler: str, target: str, tmp_path: Path) -> None:
    """As C and as C++."""
    machine = parse_target(target)
    if machine.missing_here() == [machine.architecture]:
        pytest.skip(f"{compiler} compiles for this machine, not for {machine.architecture}")
    language = ("c++", "-std=c++17") if "++" in compiler else ("c", "-std=c11")
    flags = ["-O1", *WARNINGS, *machine.cflags(), language[1]]
    _compile([command_of(compiler), *flags, "-x", language[0]], _every_class(machine), tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ziglang") is None, reason="no ziglang here: make zig")
def test_zig_takes_them_for_aarch64(tmp_path: Path) -> None:
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-gnu", "-std=c11", "-O2"]
    _compile([*zig, *WARNINGS, "-x", "c"], _every_class(parse_target("aarch64")), tmp_path)


def _compile(command: Sequence[str], source: str, folder: Path) -> None:
    done = subprocess.run(
        [*command, "-c", "-", "-o", str(folder / "kernels.o")],
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
