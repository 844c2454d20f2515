"""Random regions of the format `steps` (examples/loader), what NumPy makes of them, and their loader in C."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from effort import effort
from inarch.machine.compilers import find_compiler
from inarch.runtime.c import INCLUDE
from inarch.runtime.loaders import LOADERS
from inarch.tools.cli import run

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[3] / "examples" / "loader"
STEPS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "maximum": np.maximum,
    "exp": np.exp,
}
"""Of these the backend takes all but `exp`, which parts regions."""
FUNCTIONS = effort(4, 8)

Program = tuple[tuple[int, ...], int, list[tuple[str, int, int]], list[int]]
"""Shape, inputs, steps on numbered values, results."""


def programs(seed: int) -> list[Program]:
    """Random functions; `f0` has one region that divides."""
    draw = random.Random(seed)
    found: list[Program] = [((2, 3), 2, [("div", 0, 1)], [2])]
    for number in range(1, FUNCTIONS):
        shape = tuple(draw.choice((1, 2, 3, 5)) for _ in range(number % 4))
        inputs = draw.randint(1, 4)
        steps: list[tuple[str, int, int]] = []
        for _ in range(draw.randint(1, 9)):
            values = inputs + len(steps)
            steps.append((draw.choice([*STEPS]), draw.randrange(values), draw.randrange(values)))
        values = inputs + len(steps)
        results = sorted({values - 1, draw.randrange(inputs, values)})
        found.append((shape, inputs, steps, results))
    return found


def text_of(number: int, program: Program) -> str:
    shape, inputs, steps, results = program
    kind = f"tensor<{''.join(f'{size}x' for size in shape)}f32>"
    arguments = ", ".join(f'%v{n}: {kind} {{inarch.name = "v{n}"}}' for n in range(inputs))
    lines = [f"func.func @f{number}({arguments}) -> ({', '.join([kind] * len(results))}) {{"]
    for at, (name, a, b) in enumerate(steps, inputs):
        operands = [a] if name == "exp" else [a, b]
        takes = ", ".join([kind] * len(operands))
        lines.append(
            f"  %v{at} = graph.{name} {', '.join(f'%v{n}' for n in operands)} : {takes} -> {kind}"
        )
    lines.append(
        f"  func.return {', '.join(f'%v{n}' for n in results)} : {', '.join([kind] * len(results))}"
    )
    return "\n".join([*lines, "}"])


def computed(program: Program, inputs: list[Any]) -> list[Any]:
    """By NumPy."""
    values = list(inputs)
    for name, a, b in program[2]:
        if name == "exp":
            values.append(np.exp(values[a]))
        else:
            values.append({**STEPS, "div": np.divide}[name](values[a], values[b]))
    return [values[n] for n in program[3]]


def inputs_of(program: Program, seed: int) -> list[Any]:
    random_of = np.random.default_rng(seed)
    return [random_of.uniform(0.1, 0.6, program[0]).astype(np.float32) for _ in range(program[1])]


def built(
    path: Path, *flags: str, source: Path = EXAMPLE / "steps.c", compiler: Sequence[str] = ()
) -> Path:
    command = [
        *(compiler or find_compiler().command),
        "-std=gnu11",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fPIC",
    ]
    command += ["-shared", f"-I{INCLUDE}", f"-I{EXAMPLE}", *flags, str(source), "-o", str(path)]
    subprocess.run(command, check=True)
    return path


def compiled(folder: Path, *flags: str) -> Path:
    """An artifact with the random regions; no loader is beside it."""
    with LOADERS.scope():
        done = run(_words(folder, *flags))
    assert done.code == 0, done.err
    return folder / "m.inarch"


def compiled_apart(folder: Path, environment: Mapping[str, str]) -> Path:
    """The same in a process of its own, as the environment says."""
    command = [sys.executable, "-m", "inarch", *_words(folder)]
    subprocess.run(command, check=True, env={**os.environ, **environment})
    return folder / "m.inarch"


def _words(folder: Path, *flags: str) -> list[str]:
    (folder / "m.mlir").write_text("\n".join(text_of(n, one) for n, one in enumerate(programs(7))))
    words = ["compile", str(folder / "m.mlir"), "--load", str(EXAMPLE / "steps.py"), *flags]
    return [*words, "--backend", "steps", "--require-offload", "-q", "-o", str(folder / "m.inarch")]


def is_mapped(path: Path) -> bool:
    return str(path) in Path("/proc/self/maps").read_text()
