"""Sums of many numbers against float64, and what operators of a model round each by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import inarch
from effort import SOAK, effort
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from targets import here

TARGETS = here("x86-64-v2", "x86-64-v3", "x86-64-v4")
SIZES = (1 << 12, 1 << 20, (1 << 24) + 1) if SOAK else (1 << 12, 1 << 20)
"""The largest takes seconds: in the gate it has one sum (`test_the_longest_sum`)."""

SUMS = {
    "all": ("n", "graph.reduce_sum %x axes = [0]", "tensor<f32>"),
    "rows": ("3xn", "graph.reduce_sum %x axes = [1]", "tensor<3xf32>"),
    "columns": ("nx16", "graph.reduce_sum %x axes = [0]", "tensor<16xf32>"),
    "few columns": ("nx5", "graph.reduce_sum %x axes = [0]", "tensor<5xf32>"),
    "outer and inner": ("nx3x2", "graph.reduce_sum %x axes = [0, 2]", "tensor<3xf32>"),
    "planes": ("nx3x7", "graph.reduce_sum %x axes = [0, 1]", "tensor<7xf32>"),
    "mean": ("1xn", "graph.reduce_mean %x axes = [0, 1]", "tensor<f32>"),
    "squares": ("n", "graph.reduce_sum %p axes = [0]", "tensor<f32>"),
}
"""What is summed up, `n` numbers or some times as many: shape, op, result."""


def values(kind: str, shape: tuple[int, ...]) -> Any:
    """Equal numbers, whose roundings all have one sign, numbers of one sign, and numbers of both."""
    draw = np.random.default_rng(0)
    if kind == "equal":
        return np.full(shape, 0.1, np.float32)
    found = draw.random(shape, np.float32)
    return found if kind == "positive" else found - np.float32(0.5)


def check(found: Any, terms: Any, axes: tuple[int, ...], divisor: int = 1) -> None:
    """Within 4 (log2 n + 8) ulps of the sum of the absolute values."""
    exact = terms.astype(np.float64)
    size = np.abs(exact).sum(axes)
    count = exact.size // max(1, size.size)
    ulp = 2.0 ** (np.floor(np.log2(size)) - 23)
    error = np.abs(np.asarray(found, np.float64) * divisor - exact.sum(axes)) / ulp
    assert error.max() <= 4 * (np.log2(count) + 8), f"{error.max():.0f} ulps of {count} terms"


def run(text: str, target: str, *inputs: Any) -> Any:
    """The result of a program in text."""
    context = new_context()
    return inarch.compile(parse_module(context, text), context=context, target=target)(*inputs)


@pytest.mark.sampled(effort(8, 99), reason="each form once, of some target, in the gate")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", SUMS)
def test_sums_keep_their_digits(form: str, target: str, size: int) -> None:
    """Templates, plain loops and arrays of accumulators."""
    shape, op, result = SUMS[form]
    dims = tuple(int(each.replace("n", str(size))) for each in shape.split("x"))
    kind = f"tensor<{'x'.join(map(str, dims))}xf32>"
    text = f"""func.func @main(%x: {kind}) -> {result} {{
  %p = graph.mul %x, %x : {kind}, {kind} -> {kind}
  %0 = {op} : {kind} -> {result}
  func.return %0 : {result}
}}"""
    axes = tuple(int(each) for each in op.partition("[")[2].rstrip("]").split(", "))
    context = new_context()
    module = inarch.compile(parse_module(context, text), context=context, target=target)
    for values_kind in ("equal", "positive", "both"):
        x = values(values_kind, dims)
        found: Any = module(x)
        terms = x.astype(np.float64) ** 2 if form == "squares" else x
        check(found, terms, axes, x.size if form == "mean" else 1)


@pytest.mark.parametrize("target", TARGETS)
def test_the_longest_sum(target: str) -> None:
    """2^24 + 1 numbers: one accumulator of f32 would stop at 2^24."""
    size = (1 << 24) + 1
    text = f"""func.func @main(%x: tensor<{size}xf32>) -> tensor<f32> {{
  %0 = graph.reduce_mean %x axes = [0] : tensor<{size}xf32> -> tensor<f32>
  func.return %0 : tensor<f32>
}}"""
    assert float(run(text, target, np.ones(size, np.float32))) == 1
    x = values("equal", (size,))
    check(run(text, target, x), x, (0,), size)


@pytest.mark.sampled(effort(4, 99), reason="a vector by columns, and by rows")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [1, 3, 16])
@pytest.mark.parametrize("rows", [1, 2])
def test_products_keep_their_digits(rows: int, columns: int, target: str) -> None:
    """A row times a matrix: whichever kernel does it adds up in blocks."""
    size = 1 << 20
    a, b, c = f"{rows}x{size}", f"{size}x{columns}", f"{rows}x{columns}"
    a, b, c = (f"tensor<{each}xf32>" for each in (a, b, c))
    text = f"""func.func @main(%a: {a}, %b: {b}) -> {c} {{
  %0 = graph.matmul %a, %b : {a}, {b} -> {c}
  func.return %0 : {c}
}}"""
    for kind in ("equal", "positive"):
        x, y = values(kind, (rows, size)), values(kind, (size, columns))
        terms = x.astype(np.float64)[:, :, None] * y.astype(np.float64)[None]
        check(run(text, target, x, y), terms, (1,))


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan, 3e38])
@pytest.mark.parametrize("target", TARGETS)
def test_what_is_infinite_stays_so(target: str, bad: float) -> None:
    """What a block has lost is no number there, and left out."""
    text = """func.func @main(%x: tensor<3x40000xf32>) -> (tensor<3xf32>, tensor<40000xf32>) {
  %0 = graph.reduce_sum %x axes = [1] : tensor<3x40000xf32> -> tensor<3xf32>
  %1 = graph.reduce_sum %x axes = [0] : tensor<3x40000xf32> -> tensor<40000xf32>
  func.return %0, %1 : tensor<3xf32>, tensor<40000xf32>
}"""
    x = np.ones((3, 40000), np.float32)
    x[1, 20000] = bad
    x[2, ::4000] = bad
    found: Any = run(text, target, x)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found[0], x.sum(1, dtype=np.float32))
        np.testing.assert_array_equal(found[1], x.sum(0))


SAME = """func.func @main(%x: tensor<37xf32>, %y: tensor<37xf32>) -> (tensor<37xf32>, tensor<37xf32>) {
  %p = graph.mul %x, %x : tensor<37xf32>, tensor<37xf32> -> tensor<37xf32>
  %q = graph.mul %y, %y : tensor<37xf32>, tensor<37xf32> -> tensor<37xf32>
  %d = graph.sub %p, %q : tensor<37xf32>, tensor<37xf32> -> tensor<37xf32>
  %s = graph.sqrt %d : tensor<37xf32> -> tensor<37xf32>
  func.return %d, %s : tensor<37xf32>, tensor<37xf32>
}"""


@pytest.mark.parametrize("target", TARGETS)
def test_a_difference_of_equal_products_is_nothing(target: str) -> None:
    """x * x - y * y of equal x and y, and its root."""
    x = np.random.default_rng(0).standard_normal(37).astype(np.float32)
    for found in run(SAME, target, x, x.copy()):
        np.testing.assert_array_equal(found, np.zeros(37, np.float32))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows", [1, 6])
def test_the_deviation_of_equal_numbers_is_nothing(target: str, rows: int) -> None:
    """sqrt(mean(x * x) - mean(x) ** 2): the squares are the model's, and rounded before they are added."""
    kind, one = f"tensor<{rows}x16xf32>", f"tensor<{rows}x1xf32>"
    text = f"""func.func @main(%x: {kind}) -> {one} {{
  %p = graph.mul %x, %x : {kind}, {kind} -> {kind}
  %m = graph.reduce_mean %p axes = [1] keepdims = true : {kind} -> {one}
  %a = graph.reduce_mean %x axes = [1] keepdims = true : {kind} -> {one}
  %b = graph.mul %a, %a : {one}, {one} -> {one}
  %d = graph.sub %m, %b : {one}, {one} -> {one}
  %s = graph.sqrt %d : {one} -> {one}
  func.return %s : {one}
}}"""
    numbers = np.array([0.1, 0.3, 0.7, 1.1, 3.3, 5.7], np.float32)[:rows]
    found = run(text, target, np.repeat(numbers[:, None], 16, axis=1))
    np.testing.assert_array_equal(found, np.zeros((rows, 1), np.float32))


@pytest.mark.sampled(effort(2, 8), reason="a row and several, of each function")
@pytest.mark.parametrize("rows", [1, 8])
@pytest.mark.parametrize("function", ["exp", "tanh", "log", "erf"])
def test_products_of_functions_are_kernels(function: str, rows: int) -> None:
    """The function's polynomial and the product both multiply and add, in vectors of one length."""
    x, w = values("positive", (rows, 70)), values("positive", (70, 1))
    a, b, c = f"tensor<{rows}x70xf32>", "tensor<70x1xf32>", f"tensor<{rows}x1xf32>"
    text = f"""func.func @main(%x: {a}, %w: {b}) -> {c} {{
  %0 = graph.{function} %x : {a} -> {a}
  %1 = graph.matmul %0, %w : {a}, {b} -> {c}
  func.return %1 : {c}
}}"""
    from math import erf

    of = {"erf": np.vectorize(erf)}.get(function) or getattr(np, function)
    expected = of(x.astype(np.float64)) @ w
    np.testing.assert_allclose(run(text, TARGETS[-1], x, w), expected, rtol=1e-5, atol=1e-5)
