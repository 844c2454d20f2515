"""What is written as vectors is vectors in the machine's code, whichever compiler makes it (AVX2)."""

from __future__ import annotations

import re
import shutil
import subprocess
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


NEIGHBOURS = {"A_2", "B_3", "C_2", "E_1", "A1_0", "C_0", "R"}
"""Parameters that are 1, of strides that programs have; the others are `OTHERS`."""
OTHERS = "4096"


def _call(number: int, one: Instance, along: str) -> str:
    """A function that calls a kernel with known strides and sizes, as programs do."""
    head = prototype(one)
    pointers = re.findall(r"const float \*\w+|float \*\w+", head)
    values: list[str] = []
    for name in re.findall(r"(\w+)(?=[,)])", head):
        is_pointer = any(each.endswith(f"*{name}") for each in pointers)
        values.append(name if is_pointer else "1" if name in {*NEIGHBOURS, along} else OTHERS)
    arguments = ", ".join(pointers)
    return f"void call_{number}({arguments})\n{{\n    {one.symbol}({', '.join(values)});\n}}\n"


def _scalars_in_loops(library: Path) -> dict[str, list[str]]:
    """Function -> arithmetic on single numbers between a label and a jump back to it."""
    command = ["objdump", "-d", "--no-show-raw-insn", str(library)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, list[str]] = {}
    for part in re.split(r"\n\n", text):
        title = re.search(r"<(call_\d+)>:", part)
        if title is None:
            continue
        lines = [match.groups() for line in part.splitlines() if (match := _LINE.match(line))]
        jumps = [(int(rest.split()[0], 16), int(at, 16)) for at, op, rest in lines if op[0] == "j"]
        loops = [(first, last) for first, last in jumps if first < last]
        assert loops, f"{title[1]} has no loop"
        found[title[1]] = [
            f"{op} {rest}"
            for at, op, rest in lines
            if _ARITHMETIC.fullmatch(op) and any(a <= int(at, 16) <= b for a, b in loops)
        ]
    return found


@pytest.mark.parametrize("compiler", c_compilers())
def test_loops_of_kernels_have_no_arithmetic_on_single_numbers(
    compiler: str, tmp_path: Path
) -> None:
    """Products with each epilogue, and sums of functions along rows and columns."""
    if shutil.which("objdump") is None or find_compiler().cflags(TARGET)[0] != "-march=x86-64-v3":
        pytest.skip("it needs objdump and a compiler for x86-64")
    kernels = [(one, "") for one in _products()] + [
        (one, "A0_1" if one.name.startswith("rows") else "A0_0") for one in _reductions()
    ]
    text = "".join(
        instance_source(one) + _call(number, one, along)
        for number, (one, along) in enumerate(kernels)
    )
    (tmp_path / "it.c").write_text("#include <stdint.h>\n" + without_loop_vectors(text))
    flags = [
        each for each in common_flags(find_compiler(), TARGET) if each != "-fvisibility=hidden"
    ]
    command = [compiler, *flags, "-Wno-unused-function", "-c", "it.c", "-o", "it.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
    found = _scalars_in_loops(tmp_path / "it.o")
    assert len(found) == len(kernels)
    scalar = {
        str(kernels[int(name.removeprefix("call_"))][0].finish or name): lines[:4]
        for name, lines in found.items()
        if lines
    }
    assert not scalar
