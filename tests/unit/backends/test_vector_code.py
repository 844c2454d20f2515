"""What is written as vectors is vectors in the machine's code, whichever compiler makes it (AVX2)."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from compilers import c_compilers
from inarch.backends.c.templates import columns, rows
from inarch.machine.compilers import find_compiler
from inarch.machine.flags import common_flags
from inarch.machine.target import parse
from inarch.meaning import Apply, Element, Expression, Number
from inarch.meaning import parse as parse_meaning
from inarch.microkernel import Instance, instance_source, instantiate, members, prototype
from inarch.microkernel.gaps import without_loop_vectors
from inarch.microkernel.table import MICROKERNELS
from inarch.microkernel.template import Axis, Operand, Workload

TARGET = parse("x86-64-v3")
GELU = "(C[m, v, l] + E[v, l]) * (erf((C[m, v, l] + E[v, l]) / 1.4142135) + 1) * 0.5"
EPILOGUES = [
    "relu(C[m, v, l] + E[v, l])",
    "max(min(C[m, v, l], 6), 0)",
    "max(C[m, v, l], E[v, l])",
    "neg(abs(C[m, v, l]))",
    "exp(C[m, v, l])",
    "log(C[m, v, l])",
    "expm1(C[m, v, l])",
    "log1p(C[m, v, l])",
    "tanh(C[m, v, l] + E[v, l])",
    "sqrt(C[m, v, l])",
    "1 / (1 + exp(neg(C[m, v, l])))",
    GELU,
]
_ARITHMETIC = re.compile(
    r"v?(?:add|sub|mul|div|sqrt|max|min|fn?m(?:add|sub)\d*|u?comi|cmp\w*)s[sd]\b"
)
_LINE = re.compile(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)")


def _finish(text: str) -> Expression:
    return parse_meaning(f"for m in 6, v in 2, l in 8: C[m, v, l] = {text}").statements[0].value


def _products() -> list[Instance]:
    gemm = MICROKERNELS["gemm-f32"]
    params = {"MR": 6, "NV": 2, "VL": 8}
    return [
        instantiate(
            gemm,
            "gemm-f32",
            params,
            target=TARGET,
            init="zero",
            finish=_finish(text),
            extras={"E": "f32"} if "E" in text else {},
        )
        for text in EPILOGUES
    ]


def _reductions() -> list[Instance]:
    """Sums of functions along rows and columns, each with a function at its end."""
    read = Element("A0", ())
    moved = Apply("sub", (read, Element("A1", ())))
    bodies = {name: Apply(name, (moved,)) for name in ("exp", "tanh", "sqrt")}
    found: list[Instance] = []
    for name, body in bodies.items():
        for template, by in ((rows, (64, 1)), (columns, (1, 64))):
            operands = {
                "A0": Operand("f32", by, is_constant=False),
                "A1": Operand("f32", (1, 0), is_constant=False),
                "C": Operand("f32", (1, 0), is_constant=False),
            }
            finish = Apply("sqrt", (Apply("mul", (Element("C", ()), Number(0.5))),))
            axes = (Axis(64, False), Axis(64, True))
            kernel = template.make(Workload(axes, operands, "C", "add", body, 0.0, finish), TARGET)
            assert kernel is not None
            title = f"{template.__name__.rpartition('.')[2]}-{name}"
            found.append(instantiate(kernel, title, members(kernel, TARGET)[-1], target=TARGET))
    return found


FULL = {
    "x86-64-v3": (
        ("gemm-f32", {"MR": 6, "NV": 2, "VL": 8}),
        ("gemm-f32", {"MR": 13, "NV": 1, "VL": 8}),
        ("conv-f32", {"P": 2, "Q": 3, "NV": 2, "VL": 8}),
        ("conv-f32", {"P": 1, "Q": 13, "NV": 1, "VL": 8}),
        ("conv-first-f32", {"P": 1, "Q": 6, "NV": 2, "VL": 8, "S": 7}),
    ),
    "x86-64-v4": (
        ("gemm-f32", {"MR": 14, "NV": 2, "VL": 16}),
        ("gemm-f32", {"MR": 8, "NV": 3, "VL": 16}),
        ("conv-f32", {"P": 7, "Q": 2, "NV": 2, "VL": 16}),
        ("conv-f32", {"P": 1, "Q": 28, "NV": 1, "VL": 16}),
        ("conv-first-f32", {"P": 1, "Q": 14, "NV": 2, "VL": 16, "S": 7}),
    ),
}
"""Tiles that take the most registers."""
AFTER = (
    "max(C[{at}] + E[v, l], 0)",
    "max(C[{at}] + E[v, l] + F[{at}], 0)",
    "max(min(C[{at}] + E[v, l], 6), 0)",
)


def _full_tiles(target: str) -> list[Instance]:
    """Each with what follows products and convolutions in networks."""
    found: list[Instance] = []
    for (name, params), text in product(FULL[target], AFTER):
        if name == "conv-first-f32" and "F[" in text:
            continue  # nothing comes to a network's first convolution from before it
        rows = ("m",) if name == "gemm-f32" else ("p", "q")
        sizes = {**dict(zip(rows, params.values(), strict=False)), "v": params["NV"]}
        loops = ", ".join(f"{each} in {size}" for each, size in sizes.items())
        value = text.replace("{at}", ", ".join((*rows, "v", "l")))
        meaning = f"for {loops}, l in {params['VL']}: C[{', '.join((*rows, 'v', 'l'))}] = {value}"
        finish = parse_meaning(meaning).statements[0].value
        extras = {each: "f32" for each in "EF" if f"{each}[" in value}
        found.append(
            instantiate(
                MICROKERNELS[name],
                name,
                params,
                target=parse(target),
                init="zero",
                finish=finish,
                extras=extras,
            )
        )
    return found


NEIGHBOURS = {"A_2", "B_3", "C_2", "E_1", "A1_0", "C_0", "R"}
"""Parameters that are 1, of strides that programs have; the others are `OTHERS`."""
OTHERS = "4096"


def _call(number: int, one: Instance, along: str, tiles: int) -> str:
    """A function that calls a kernel with known strides and sizes, tile after tile, as programs do."""
    head = prototype(one)
    pointers = re.findall(r"const float \*\w+|float \*\w+", head)
    values: list[str] = []
    for name in re.findall(r"(\w+)(?=[,)])", head):
        is_pointer = any(each.endswith(f"*{name}") for each in pointers)
        values.append(name if is_pointer else "1" if name in {*NEIGHBOURS, along} else OTHERS)
    arguments = ", ".join(pointers)
    loop = f"for (int64_t tile = 0; tile < {tiles}; tile++, A += 48, C += 96)" if tiles else ""
    call = f"{one.symbol}({', '.join(values)});"
    return f"void call_{number}({arguments})\n{{\n    {loop}\n        {call}\n}}\n"


_Line = tuple[int, str, str]
"""Address, operation and operands of an instruction."""


def _loops(library: Path) -> dict[str, list[list[_Line]]]:
    """Function -> what stands between a label and a jump back to it, innermost loops first."""
    command = ["objdump", "-d", "--no-show-raw-insn", str(library)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, list[list[_Line]]] = {}
    for part in re.split(r"\n\n", text):
        title = re.search(r"<(call_\d+)>:", part)
        if title is None:
            continue
        matches = [match.groups() for line in part.splitlines() if (match := _LINE.match(line))]
        lines = [(int(at, 16), op, rest) for at, op, rest in matches]
        jumps = [(int(rest.split()[0], 16), at) for at, op, rest in lines if op[0] == "j"]
        loops = sorted((last - first, first, last) for first, last in jumps if first < last)
        assert loops, f"{title[1]} has no loop"
        found[title[1]] = [
            [line for line in lines if first <= line[0] <= last] for _, first, last in loops
        ]
    return found


def _compiled(
    kernels: Sequence[tuple[Instance, str]], compiler: str, folder: Path, tiles: int = 0
) -> dict[str, list[list[_Line]]]:
    """The loops of functions that call `kernels`, by `str` of their epilogues or by their names."""
    if shutil.which("objdump") is None or find_compiler().cflags(TARGET)[0] != "-march=x86-64-v3":
        pytest.skip("it needs objdump and a compiler for x86-64")
    text = "".join(
        instance_source(one) + _call(number, one, along, tiles)
        for number, (one, along) in enumerate(kernels)
    )
    (folder / "it.c").write_text("#include <stdint.h>\n" + without_loop_vectors(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", compiler)
        flags = set(common_flags(find_compiler(), kernels[0][0].target)) - {"-fvisibility=hidden"}
    command = [compiler, *sorted(flags), "-Wno-unused-function", "-c", "it.c", "-o", "it.o"]
    subprocess.run(command, cwd=folder, check=True)
    found = _loops(folder / "it.o")
    assert len(found) == len(kernels)
    return {
        f"{kernels[number][0].symbol} {kernels[number][0].finish or ''}": loops
        for name, loops in found.items()
        for number in [int(name.removeprefix("call_"))]
    }


@pytest.mark.parametrize("compiler", c_compilers())
def test_loops_of_kernels_have_no_arithmetic_on_single_numbers(
    compiler: str, tmp_path: Path
) -> None:
    """Products with each epilogue, and sums of functions along rows and columns."""
    kernels = [(one, "") for one in _products()] + [
        (one, "A0_1" if one.name.startswith("rows") else "A0_0") for one in _reductions()
    ]
    scalar = {
        name: lines[:4]
        for name, loops in _compiled(kernels, compiler, tmp_path).items()
        if (
            lines := [
                f"{op} {to}" for lines in loops for _, op, to in lines if _ARITHMETIC.fullmatch(op)
            ]
        )
    }
    assert not scalar


@pytest.mark.parametrize(
    "target",
    [pytest.param(one, marks=[pytest.mark.slow] * (one == "x86-64-v4")) for one in FULL],
)
@pytest.mark.parametrize("compiler", c_compilers())
def test_accumulators_stay_in_registers(compiler: str, target: str, tmp_path: Path) -> None:
    """All registers are in use: what an epilogue reads, kept across the sum, moves one to the stack.

    A sum then waits for a store and a load (3x3 windows with AVX2: 80 % of the FMA peak, not 98).
    """
    tiles = [(one, "") for one in _full_tiles(target)]
    moved: dict[str, list[str]] = {}
    for name, loops in _compiled(tiles, compiler, tmp_path, 64).items():
        inner = next(lines for lines in loops if sum("fmadd" in op for _, op, _ in lines) >= 12)
        if found := [f"{op} {to}" for _, op, to in inner if "mm" in to and "(%rsp)" in to]:
            moved[name] = found[:4]
    assert not moved


_MASKS = re.compile(r"v?p?(?:andn|or)(?:ps|d|q)?")
_TESTS = re.compile(r"v?(?:cmp\w*ps|blend\w+)|" + _MASKS.pattern)


@pytest.mark.parametrize("compiler", [one for one in c_compilers() if "gcc" in one])
def test_the_larger_of_two_is_no_mask_of_comparisons(compiler: str, tmp_path: Path) -> None:
    """Three instructions with another vector, one with a number (relu6: 96 % of the FMA peak, not 62 %)."""
    kernels = [(one, "") for one in _products() if "max" in str(one.finish)]
    for name, loops in _compiled(kernels, compiler, tmp_path, 64).items():
        slow = _MASKS if "'E'" in name else _TESTS
        assert any("max" in op for _, op, _ in loops[-1]), name
        assert not [op for _, op, _ in loops[-1] if slow.fullmatch(op)], name
