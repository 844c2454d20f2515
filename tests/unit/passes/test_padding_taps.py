"""Taps on padding are left out where they are 0 times a finite number, and nothing else changes."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from effort import effort
from inarch.backends.c import run_function
from inarch.benchmark.layers import parse_shape
from inarch.benchmark.subject.arrays import arrays_of
from inarch.benchmark.subject.blocked import lower_blocked
from inarch.benchmark.subject.program import program_of
from inarch.core.lazy import Array
from inarch.dialects import new_context
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.loop.nest import NestOp, nest_ops
from inarch.driver.compiler import import_model
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_attribute
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.machine.target import parse
from inarch.passes import PASSES
from inarch.passes.graph.choose_layout import ChooseLayoutPass
from inarch.passes.padding.drop_padding_taps import DropPaddingTapsPass
from inarch.passes.padding.materialize_padding import MaterializePaddingPass
from inarch.testing import check_semantics, run_pass

LOWERED = "graph-to-loop,drop-unit-iterators,fuse-nests,materialize-padding,split-padding"
DROPPED = f"{LOWERED},drop-padding-taps{{least=0}}"
BLOCKED = f"choose-layout{{always=true}},{DROPPED}"
JOINED = f"choose-layout{{always=true}},{LOWERED},join-rows{{always=true}}"
"""Copies of images and outputs instead: of windows of one pixel."""
TARGET = next((n for n in ("x86-64-v3", "x86-64-v2") if not parse(n).missing_here()), "native")


def conv(
    size: tuple[int, int],
    channels: tuple[int, int],
    window: tuple[int, int],
    strides: tuple[int, int],
    pads: tuple[int, int, int, int],
    dilations: tuple[int, int] = (1, 1),
    groups: int = 1,
    images: int = 1,
) -> str | None:
    """A program of one convolution by random weights, with bias and ReLU; None where it has no output."""
    inner, outer = channels
    extents = [
        n + before + behind - d * (k - 1) - 1
        for n, before, behind, d, k in zip(size, pads[:2], pads[2:], dilations, window, strict=True)
    ]
    if min(extents) < 0:
        return None
    out = "x".join(str(n // s + 1) for n, s in zip(extents, strides, strict=True))
    weights = np.random.default_rng(7).standard_normal((outer * groups, inner, *window))
    x = f"tensor<{images}x{inner * groups}x{size[0]}x{size[1]}xf32>"
    w = f"tensor<{outer * groups}x{inner}x{window[0]}x{window[1]}xf32>"
    y, b = f"tensor<{images}x{outer * groups}x{out}xf32>", f"tensor<{outer * groups}xf32>"
    return f"""builtin.module attributes {{inarch.target = "{TARGET}"}} {{
func.func @main(%x: {x}, %b: {b}) -> {y} {{
  %w = graph.constant dense<{weights.round(3).tolist()}> : {w}
  %c = graph.conv %x, %w bias %b strides = {list(strides)} pads = {list(pads)} \
dilations = {list(dilations)} groups = {groups} : {x}, {w}, {b} -> {y}
  %y = graph.relu %c : {y} -> {y}
  func.return %y : {y}
}}
}}"""


PAIRS = st.tuples(st.integers(1, 3), st.integers(1, 3))


@settings(max_examples=effort(5, 16), deadline=None)
@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    channels=st.tuples(*[st.sampled_from([1, 3, 8, 12])] * 2),
    window=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    strides=PAIRS,
    pads=st.tuples(*[st.integers(0, 4)] * 4),
    dilations=PAIRS,
    groups=st.integers(1, 2),
    images=st.integers(1, 2),
    pipeline=st.sampled_from([DROPPED, BLOCKED, JOINED]),
)
def test_any_convolution_stays_what_it_is(
    size: tuple[int, int],
    channels: tuple[int, int],
    window: tuple[int, int],
    strides: tuple[int, int],
    pads: tuple[int, int, int, int],
    dilations: tuple[int, int],
    groups: int,
    images: int,
    pipeline: str,
) -> None:
    """Up to rounding: the terms of a sum are added in another order."""
    text = conv(size, channels, window, strides, pads, dilations, groups, images)
    if text is not None:
        check_semantics(text, pipeline=pipeline, compiled=True)


def test_sizes_are_not_walked() -> None:
    """Of 200,000 rows of padding and of points: closed forms, not a step for each (13 s of CPU time)."""
    text = conv((100, 100), (1, 1), (3, 3), (1000, 1), (100_000, 0, 100_000, 0), (1, 1))
    assert text is not None
    start = time.process_time()
    run_pass(text, f"{LOWERED},drop-padding-taps{{least=1}}")
    assert time.process_time() - start < 3


def contractions(module: ModuleOp) -> list[NestOp]:
    return [nest for nest in nest_ops(module) if nest.has_reduction]


def lowered(text: str | None, weights: Array | None = None) -> list[NestOp]:
    """The contractions that are left of a convolution, by `weights` in the place of its own."""
    assert text is not None
    context = new_context()
    module = parse_module(context, text)
    if weights is not None:
        (constant,) = (op for op in module.walk() if isinstance(op, ConstantOp))
        constant.properties["value"] = constant_attribute(weights, store_of(context), "w")
    ChooseLayoutPass(always=True).apply(context, module)
    for name in LOWERED.split(","):
        PASSES[name]().apply(context, module)
    DropPaddingTapsPass(least=0).apply(context, module)
    return contractions(module)


def test_a_window_that_is_larger_than_the_image_meets_what_there_is_of_it() -> None:
    """1x1 pixels: of the nine taps one is left, and no part is added."""
    (nest,) = lowered(conv((1, 1), (4, 4), (3, 3), (1, 1), (1, 1, 1, 1)))
    sizes = [n for n, i in zip(nest.sizes, nest.iterators, strict=True) if i.is_reduction]
    assert np.prod(sizes) == 4


@pytest.mark.parametrize(("value", "parts"), [(1.0, 9), (np.inf, 1), (np.nan, 1)])
def test_weights_that_are_not_finite_meet_their_padding(value: float, parts: int) -> None:
    weights = np.ones((8, 8, 3, 3), np.float32)
    weights[1, 0, 2, 1] = value
    text = conv((7, 7), (8, 8), (3, 3), (1, 1), (1, 1, 1, 1))
    assert len(lowered(text, weights)) == parts


@pytest.mark.parametrize(
    ("shape", "target", "parts"),
    [
        ("512x7x7->512k3s1", "x86-64-v3", 9),
        ("512x14x14->512k3s2", "x86-64-v3", 4),
        ("256x14x14->256k3s1", "x86-64-v4", 9),
        (
            "256x14x14->256k3s1",
            "x86-64-v3",
            1,
        ),  # rows of 13 pixels fill tiles of 6 worse than those of 14
        ("64x56x56->64k3s1", "x86-64-v3", 1),  # too few terms are on padding
        ("96x7x7->96k3s1g96", "x86-64-v3", 1),  # depthwise: nine terms in all
    ],
)
def test_parts_are_made_where_they_pay(shape: str, target: str, parts: int) -> None:
    """Also in a layer that is measured alone: its caller has written the halo."""
    found: list[int] = []
    layer, context = parse_shape(shape), new_context()
    program = program_of(layer, arrays_of(layer), context)
    module = import_model(program, context, target=target, numerics="strict")
    lower_blocked(context, module, lambda m: found.append(len(contractions(m))))
    assert found == [parts]


def test_padded_reads_in_a_loop_are_of_copies_of_each_iteration() -> None:
    """Maxima of windows of 3 over each row, whose ends are outside; a row is one iteration."""
    context = new_context()
    kind = "memref<1x5xf32, strided<[5, 1], offset: ?>>"
    text = f"""func.func @main(%x: memref<3x5xf32>, %y: memref<3x5xf32> {{inarch.result}}) {{
  loop.for %n = 0 to 3 {{
    %row = memref.subview %x[%n, 0] [1, 5] [1, 1] : memref<3x5xf32> to {kind}
    %out = memref.subview %y[%n, 0] [1, 5] [1, 1] : memref<3x5xf32> to {kind}
    loop.nest (o = 5, k = 3 reduction)
      ins(%row[0, o + k - 1] pad -inf : {kind}) outs(%out[0, o] init -inf : {kind}) {{
    ^bb0(%e: f32, %acc: f32):
      %s = arith.maximumf %acc, %e : f32
      loop.yield %s : f32
    }}
    loop.yield
  }}
  func.return
}}
"""
    module = parse_module(context, text)
    MaterializePaddingPass().apply(context, module)
    verify_module(module)
    assert not any(
        read.is_padded for nest in nest_ops(module) if nest.has_reduction for read in nest.reads
    )
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    y = np.zeros_like(x)
    run_function(context, module, "main", [x, y])
    wide = np.pad(x, ((0, 0), (1, 1)), constant_values=-np.inf)
    np.testing.assert_array_equal(y, np.max([wide[:, k : k + 5] for k in range(3)], axis=0))
