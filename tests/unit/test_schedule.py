"""Tiled, packed and reordered nests compute what they did before, on any target and shape."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inarch.passes.schedule.tile import choose_tile
from inarch.testing import check_semantics, run_pass

PIPELINE = "graph-to-loop,drop-unit-iterators,fuse-nests,materialize-padding,schedule-nests"
TARGETS = ("x86-64", "x86-64-v3", "x86-64-v4", "generic")


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


def _host_runs(target: str) -> bool:
    from inarch.machine.target import parse

    return not parse(target).missing_on_host()


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    target=st.sampled_from(TARGETS).filter(_host_runs),
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
    target=st.sampled_from(TARGETS).filter(_host_runs),
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


@pytest.mark.parametrize("target", [t for t in TARGETS if _host_runs(t)])
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


@settings(max_examples=200, deadline=None)
@given(
    outer=st.integers(1, 300),
    inner=st.integers(1, 300),
    columns=st.integers(1, 5000),
    machine=st.sampled_from([(16, 32), (8, 16), (4, 16), (2, 16)]),
)
def test_a_tile_fits_the_registers(
    outer: int, inner: int, columns: int, machine: tuple[int, int]
) -> None:
    lanes, registers = machine
    tile = choose_tile(outer, inner, columns, lanes=lanes, registers=registers)
    rows = tile.outer * tile.inner
    assert rows * tile.vectors + tile.vectors + 2 <= registers
    assert 1 <= tile.inner <= inner
    assert 1 <= tile.outer <= outer
    assert tile.outer == 1 or tile.inner == inner


def test_resnet_tiles_fill_the_registers() -> None:
    """28 accumulators of 32 registers: what the best hand-written kernels use on AVX-512."""
    for outer, inner, columns in ((56, 56, 64), (28, 28, 128), (14, 14, 256), (7, 7, 512)):
        tile = choose_tile(outer, inner, columns, lanes=16, registers=32)
        assert tile.outer * tile.inner * tile.vectors == 28


@settings(max_examples=15, deadline=None)
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


@pytest.mark.parametrize("rows", [17, *(pytest.param(n, marks=pytest.mark.slow) for n in (14, 30))])
def test_rows_that_collide_in_the_cache_are_packed(rows: int) -> None:
    """Rows 4 KiB apart: a copy in the order in which tiles read it, and one for what is left over."""
    a, b, c = f"tensor<{rows}x1024xf32>", "tensor<1024x300xf32>", f"tensor<{rows}x300xf32>"
    text = f"""builtin.module attributes {{inarch.target = "x86-64-v4"}} {{
  func.func @main(%a: {a}, %b: {b}) -> {c} {{
    %0 = graph.matmul %a, %b : {a}, {b} -> {c}
    func.return %0 : {c}
  }}
}}"""
    tiled = run_pass(text, PIPELINE)
    assert tiled.count("kernel.pack %a[") == tiled.count("loop.nest (") > 0
    for target in TARGETS:
        if _host_runs(target):
            program = text.replace("x86-64-v4", target)
            check_semantics(program, pipeline=PIPELINE, compiled=True)


def test_lanes_do_not_run_into_the_padding_behind_an_image() -> None:
    """A convolution that writes the inside of a padded buffer leaves the padding as it is."""
    text = """
    builtin.module attributes {inarch.target = "x86-64-v2"} {
      func.func @main(%x: memref<3x5xf32>, %w: memref<4x3xf32>, %y: memref<4x6xf32> {inarch.result}) {
        loop.nest (c = 4) outs(%y[c, 5] : memref<4x6xf32>) {
        ^bb0(%0: f32):
          %1 = arith.constant 7.0 : f32
          loop.yield %1 : f32
        }
        loop.nest (c = 4, p = 5, k = 3 reduction) ins(%x[k, p] : memref<3x5xf32>,
            %w[c, k] : memref<4x3xf32>) outs(%y[c, p] init 0.0 : memref<4x6xf32>) {
        ^bb0(%0: f32, %1: f32, %2: f32):
          %3 = arith.mulf %0, %1 : f32
          %4 = arith.addf %2, %3 : f32
          loop.yield %4 : f32
        }
        func.return
      }
    }"""
    check_semantics(text, pipeline="schedule-nests", compiled=True)
