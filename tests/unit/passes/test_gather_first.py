"""`gather-first` on random tables: what is picked is bit for bit what it was, and less is computed."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from effort import SEED, effort
from inarch.dialects import new_context
from inarch.dialects.graph.elementwise import ElementwiseOp
from inarch.dialects.graph.op import shape_of
from inarch.ir.text import parse_module
from inarch.testing import execute, run_pass

Array = np.ndarray[Any, Any]


def _program(number: int) -> tuple[str, list[Array]]:
    """A table that is computed in some steps, each with an operand of another shape, and picked from."""
    rng = random.Random(f"{SEED} {number}")
    arrays = np.random.default_rng([SEED, number])
    shape = [rng.choice([1, 2, 5, 7]) for _ in range(rng.randint(1, 3))]
    axis = rng.randrange(len(shape))
    shape[axis] = rng.choice([40, 90])
    dtype, element = rng.choice([(np.uint8, "ui8"), (np.int8, "i8"), (np.float32, "f32")])
    inputs: list[Array] = [arrays.integers(0, 100, shape).astype(dtype)]

    def kind(sizes: list[int], name: str) -> str:
        return f"tensor<{''.join(f'{size}x' for size in sizes)}{name}>"

    arguments, table = [f"%a0: {kind(shape, element)}"], kind(shape, "f32")
    lines = [f"%t0 = graph.cast %a0 to f32 : {kind(shape, element)} -> {table}"]
    for step in range(1, rng.randint(1, 4)):
        own = [size if rng.random() < 0.5 else 1 for size in shape[rng.randint(0, len(shape)) :]]
        inputs.append(arrays.standard_normal(own).astype(np.float32))
        arguments.append(f"%a{step}: {kind(own, 'f32')}")
        operands = [(f"%t{step - 1}", table), (f"%a{step}", kind(own, "f32"))]
        (a, of_a), (b, of_b) = rng.sample(operands, 2)
        op = rng.choice(["add", "sub", "mul", "maximum"])
        lines.append(f"%t{step} = graph.{op} {a}, {b} : {of_a}, {of_b} -> {table}")
    picked = [rng.choice([1, 2, 3]) for _ in range(rng.randint(0, 2))]
    inputs.append(arrays.integers(-shape[axis] - 3, shape[axis] + 3, picked))
    arguments.append(f"%ids: {kind(picked, 'i64')}")
    out = kind([*shape[:axis], *picked, *shape[axis + 1 :]], "f32")
    last = f"%t{len(lines) - 1}"
    lines.append(
        f"%y = graph.gather {last}, %ids axis = {axis} : {table}, {kind(picked, 'i64')} -> {out}"
    )
    body = "\n  ".join([*lines, f"func.return %y : {out}"])
    return f"func.func @main({', '.join(arguments)}) -> {out} {{\n  {body}\n}}\n", inputs


def _computed(text: str) -> int:
    """Elements that elementwise ops make."""
    module = parse_module(new_context(), text)
    ops = [op for op in module.walk() if isinstance(op, ElementwiseOp)]
    return sum(math.prod(shape_of(op.results[0])) for op in ops)


@pytest.mark.parametrize("part", range(4))
def test_random_tables(part: int) -> None:
    count = effort(20, 500)
    for number in range(part * count, (part + 1) * count):
        text, inputs = _program(number)
        moved = run_pass(text, "gather-first")
        assert _computed(moved) < _computed(text), text
        for found, wanted in zip(execute(moved, inputs), execute(text, inputs), strict=True):
            np.testing.assert_array_equal(found, wanted, err_msg=text)
