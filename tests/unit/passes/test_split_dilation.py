"""Dilated depthwise convolutions: what they compute stays, and a kernel does them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from inarch.dialects import new_context
from inarch.driver.compiler import kernel_report
from inarch.ir.text import parse_module
from inarch.machine.target import parse
from inarch.testing import check_semantics

TARGET = next((n for n in ("x86-64-v3", "x86-64-v2") if not parse(n).missing_here()), "native")
PIPELINE = (
    "choose-layout{always=true},graph-to-loop,drop-unit-iterators,fuse-nests,materialize-padding,"
    "split-padding,drop-padding-taps,split-dilation"
)


def program(
    channels: int,
    size: tuple[int, int],
    window: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
) -> str:
    """A depthwise convolution, padded by what half of its window spans, with ReLU."""
    pads = [d * (k // 2) for d, k in zip(dilations, window, strict=True)]
    out = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(size, pads, dilations, window, strides, strict=True)
    ]
    weights = np.random.default_rng(3).standard_normal((channels, 1, *window)).round(3)
    x, w = (
        f"tensor<1x{channels}x{size[0]}x{size[1]}xf32>",
        f"tensor<{channels}x1x{window[0]}x{window[1]}xf32>",
    )
    y = f"tensor<1x{channels}x{out[0]}x{out[1]}xf32>"
    return f"""builtin.module attributes {{inarch.target = "{TARGET}"}} {{
  func.func @main(%x: {x}) -> {y} {{
    %w = graph.constant dense<{weights.tolist()}> : {w}
    %c = graph.conv %x, %w strides = {list(strides)} pads = {pads * 2} dilations = {list(dilations)} \
groups = {channels} : {x}, {w} -> {y}
    %y = graph.relu %c : {y} -> {y}
    func.return %y : {y}
  }}
}}"""


PAIRS = st.tuples(st.integers(1, 4), st.integers(1, 4))


@settings(max_examples=effort(3, 10), deadline=None)
@given(
    channels=st.sampled_from([8, 12, 16]),
    size=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    window=st.sampled_from([(3, 3), (1, 3), (5, 1)]),
    strides=PAIRS,
    dilations=PAIRS,
)
def test_any_depthwise_convolution_stays_what_it_is(
    channels: int,
    size: tuple[int, int],
    window: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
) -> None:
    """Up to rounding: a tile of a part adds its terms in another order than NumPy."""
    text = program(channels, size, window, strides, dilations)
    check_semantics(text, pipeline=PIPELINE, compiled=True)


@pytest.mark.sampled(effort(1, 3), reason="each is a layer of its own")
@pytest.mark.parametrize("dilations", [(3, 2), (1, 1), (2, 2)])
def test_a_kernel_does_it(dilations: tuple[int, int]) -> None:
    context = new_context()
    text = program(64, (14, 7), (3, 3), (1, 1), dilations)  # planned, and not run
    module = parse_module(context, text.replace(f'"{TARGET}"', '"x86-64-v3"'))
    report = kernel_report(context, module)
    done = report.taken_by("depthwise-f32")
    assert len(done) == dilations[0] * dilations[1], str(report)
