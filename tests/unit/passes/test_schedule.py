"""Nests by kernels made to measure, and reordered ones, compute what they did, on any target and shape."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import effort
from inarch.testing import check_semantics
from targets import here

PIPELINE = (
    "graph-to-loop,drop-unit-iterators,fuse-nests,materialize-padding,"
    "tensorize{kernels=columns,rows},schedule-nests"
)
TARGETS = here("x86-64", "x86-64-v3", "x86-64-v4", "generic")


def _conv(target: str, shape: tuple[int, ...], stride: int, pad: int) -> str:
    batch, channels, size, filters, kernel = shape
    out = (size + 2 * pad - kernel) // stride + 1
    x = f"tensor<{batch}x{channels}x{size}x{size}xf32>"
    w = f"tensor<{filters}x{channels}x{kernel}x{kernel}xf32>"
    y = f"tensor<{batch}x{filters}x{out}x{out}xf32>"
    window = f"strides = {[stride] * 2} pads = {[pad] * 4} dilations = [1, 1]"
    return f"""builtin.module attributes {{inarch.target = "{target}"}} {{
  func.func @main(%x: {x}, %w: {w}, %b: tensor<{filters}xf32>, %r: {y}) -> {y} {{
    %0 = graph.conv %x, %w bias %b {window} groups = 1 : {x}, {w}, tensor<{filters}xf32> -> {y}
    %1 = graph.add %0, %r : {y}, {y} -> {y}
    %2 = graph.relu %1 : {y} -> {y}
    func.return %2 : {y}
  }}
}}"""


@settings(max_examples=effort(3, 12), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    target=st.sampled_from(TARGETS),
    shape=st.tuples(
        st.integers(1, 2),
        st.integers(1, 5),
        st.integers(3, 9),
        st.integers(1, 37),
        st.integers(1, 3),
    ),
    stride=st.integers(1, 3),
    pad=st.integers(0, 2),
)
def test_convolutions(target: str, shape: tuple[int, ...], stride: int, pad: int) -> None:
    check_semantics(_conv(target, shape, stride, pad), pipeline=PIPELINE, compiled=True)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(
    target=st.sampled_from(TARGETS),
    m=st.integers(1, 33),
    n=st.integers(1, 70),
    k=st.integers(1, 20),
    batch=st.integers(1, 2),
)
def test_matmuls(target: str, m: int, n: int, k: int, batch: int) -> None:
    a, b, c = (f"tensor<{batch}x{p}x{q}xf32>" for p, q in ((m, k), (k, n), (m, n)))
    text = f"""builtin.module attributes {{inarch.target = "{target}"}} {{
  func.func @main(%a: {a}, %b: {b}) -> {c} {{
    %0 = graph.matmul %a, %b : {a}, {b} -> {c}
    func.return %0 : {c}
  }}
}}"""
    check_semantics(text, pipeline=PIPELINE, compiled=True)


@pytest.mark.sampled(effort(1, 4), reason="each is a program of its own")
@pytest.mark.parametrize("target", TARGETS)
def test_grouped_and_depthwise(target: str) -> None:
    for groups, filters in ((2, 8), (4, 4)):
        x, y = "tensor<1x4x9x9xf32>", f"tensor<1x{filters}x7x7xf32>"
        w = f"tensor<{filters}x{4 // groups}x3x3xf32>"
        window = "strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1]"
        text = f"""builtin.module attributes {{inarch.target = "{target}"}} {{
  func.func @main(%x: {x}, %w: {w}) -> {y} {{
    %0 = graph.conv %x, %w {window} groups = {groups} : {x}, {w} -> {y}
    func.return %0 : {y}
  }}
}}"""
        check_semantics(text, pipeline=PIPELINE, compiled=True)


@settings(max_examples=effort(4, 15), deadline=None)
@given(
    size=st.tuples(st.integers(1, 5), st.integers(1, 6)),
    low=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    high=st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_padding_is_split_without_a_change(
    size: tuple[int, int], low: tuple[int, int], high: tuple[int, int]
) -> None:
    padded = [n + a + b for n, a, b in zip(size, low, high, strict=True)]
    x, y = f"tensor<{size[0]}x{size[1]}xf32>", f"tensor<{padded[0]}x{padded[1]}xf32>"
    text = f"""func.func @main(%x: {x}) -> {y} {{
  %0 = graph.pad %x low = {list(low)} high = {list(high)} value = 2.5 : {x} -> {y}
  func.return %0 : {y}
}}"""
    check_semantics(text, pipeline="graph-to-loop,split-padding", compiled=True)
