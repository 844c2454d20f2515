"""Transposed convolutions: what the op means, its phases as nests, and what is fused into them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from effort import effort
from inarch.dialects import new_context
from inarch.dialects.loop.nest import nest_ops
from inarch.driver.compiler import kernel_report
from inarch.ir.text import parse_module
from inarch.machine.target import parse
from inarch.testing import check_semantics, execute, run_pass

Array = np.ndarray[Any, Any]

TARGET = next((n for n in ("x86-64-v3", "x86-64-v2") if not parse(n).missing_here()), "native")
LOWERED = "graph-to-loop,drop-unit-iterators,fuse-nests,materialize-padding,split-padding,drop-padding-taps"


@dataclass(frozen=True)
class Case:
    """A transposed convolution of some spatial dimensions, a ReLU behind it if `relu`."""

    batch: int
    groups: int
    channels: int
    filters: int
    sizes: tuple[int, ...]
    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    extra: tuple[int, ...]
    bias: bool = False
    relu: bool = False

    @property
    def x(self) -> tuple[int, ...]:
        return (self.batch, self.groups * self.channels, *self.sizes)

    @property
    def w(self) -> tuple[int, ...]:
        return (self.groups * self.channels, self.filters, *self.window)

    @property
    def y(self) -> tuple[int, ...]:
        spatial = [
            (n - 1) * s + (k - 1) * d + 1 + e - b - c
            for n, k, s, d, e, b, c in zip(
                self.sizes, self.window, self.strides, self.dilations, self.extra, self.begins,
                self.ends, strict=True,
            )
        ]  # fmt: skip
        return (self.batch, self.groups * self.filters, *spatial)

    def program(self, *, constant: bool, dtype: str = "f32") -> str:
        """With weights that are known, or given."""
        x, w, b, y = (
            f"tensor<{'x'.join(map(str, shape))}x{dtype}>"
            for shape in (self.x, self.w, self.y[1:2], self.y)
        )
        rng = np.random.default_rng(3)
        given = "" if constant else f", %w: {w}" + (f", %b: {b}" if self.bias else "")
        known = ""
        if constant:
            known = f"%w = graph.constant dense<{rng.standard_normal(self.w).round(2).tolist()}> : {w}\n"
            if self.bias:
                bias = rng.standard_normal(self.y[1]).round(2).tolist()
                known += f"    %b = graph.constant dense<{bias}> : {b}"
        end = f"%y = graph.relu %c : {y} -> {y}" if self.relu else ""
        return f"""builtin.module attributes {{inarch.target = "{TARGET}"}} {{
  func.func @main(%x: {x}{given}) -> {y} {{
    {known}
    %c = graph.conv_transpose %x, %w {"bias %b " if self.bias else ""}strides = {list(self.strides)} \
pads = {[*self.begins, *self.ends]} output_padding = {list(self.extra)} dilations = {list(self.dilations)} \
groups = {self.groups} : {x}, {w}{f", {b}" if self.bias else ""} -> {y}
    {end}
    func.return {"%y" if self.relu else "%c"} : {y}
  }}
}}"""

    def scattered(self, x: Array, w: Array, bias: Array | None = None) -> Array:
        """Its meaning, element by element: each of x adds to the result by each tap."""
        y = np.zeros(self.y, x.dtype)
        for n, c, f in product(range(self.batch), range(x.shape[1]), range(self.filters)):
            channel = c // self.channels * self.filters + f
            for point in np.ndindex(self.sizes):
                for tap in np.ndindex(self.window):
                    to = tuple(
                        i * s + k * d - b
                        for i, k, s, d, b in zip(
                            point, tap, self.strides, self.dilations, self.begins, strict=True
                        )
                    )
                    if all(0 <= at < size for at, size in zip(to, self.y[2:], strict=True)):
                        y[(n, channel, *to)] += x[(n, c, *point)] * w[(c, f, *tap)]
        if bias is not None:
            y += bias.reshape(-1, *[1] * len(self.sizes))
        return np.maximum(y, 0) if self.relu else y


@st.composite
def cases(draw: st.DrawFn, *, blocked: bool = False) -> Case:
    """Any: windows below and above the stride, cut beyond the window, padded beyond the stride."""
    rank = draw(st.integers(1, 2 if blocked else 3))
    most = {1: 5, 2: 4, 3: 2}[rank]

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(rank))

    sizes, window, strides, extra = each(1, most + 1), each(1, most), each(1, most), each(0, 2)
    dilations = each(1, 3)
    begins, ends = list[int](), list[int]()
    for n, k, s, d, e in zip(sizes, window, strides, dilations, extra, strict=True):
        full = (n - 1) * s + (k - 1) * d + 1 + e
        begins.append(draw(st.integers(0, min(full - 1, 5))))
        ends.append(draw(st.integers(0, min(full - 1 - begins[-1], 5))))
    channels = st.sampled_from([8, 12, 16] if blocked else [1, 2, 3])
    depthwise = draw(st.booleans())
    return Case(
        batch=draw(st.integers(1, 2)),
        groups=draw(channels) if depthwise else 1 if blocked else draw(st.integers(1, 3)),
        channels=1 if depthwise else draw(channels),
        filters=1 if depthwise and blocked else draw(channels),
        sizes=sizes,
        window=window,
        strides=strides,
        dilations=dilations,
        begins=tuple(begins),
        ends=tuple(ends),
        extra=extra,
        bias=draw(st.booleans()),
        relu=draw(st.booleans()),
    )


@settings(max_examples=effort(15, 60), deadline=None)
@given(case=cases())
def test_the_reference_scatters(case: Case) -> None:
    rng = np.random.default_rng(0)
    shapes = (case.x, case.w, case.y[1:2])[: 3 if case.bias else 2]
    arrays = [rng.integers(-4, 5, shape).astype(np.int32) for shape in shapes]
    (found,) = execute(case.program(constant=False, dtype="i32"), arrays)
    np.testing.assert_array_equal(found, case.scattered(*arrays))


COMMON = Case(1, 1, 1, 1, (5,), (5,), (4,), (2,), (3,), (0,), (1,))
"""Stride and dilation have a factor in common: every second output has no tap."""


@settings(max_examples=effort(10, 40), deadline=None)
@given(case=cases())
@example(case=COMMON)
def test_its_phases_are_all_of_it(case: Case) -> None:
    """Bit by bit on integers: each output has its own products, each once."""
    rng = np.random.default_rng(0)
    shapes = (case.x, case.w, case.y[1:2])[: 3 if case.bias else 2]
    arrays = [rng.integers(-4, 5, shape).astype(np.int32) for shape in shapes]
    text = run_pass(case.program(constant=False, dtype="i32"), LOWERED)
    (found,) = execute(text, arrays)
    np.testing.assert_array_equal(found, case.scattered(*arrays))


@settings(max_examples=effort(3, 10), deadline=None)
@given(case=cases(), constant=st.booleans())
def test_any_is_compiled(case: Case, constant: bool) -> None:
    """Row-major."""
    check_semantics(case.program(constant=constant), pipeline=LOWERED, compiled=True)


@settings(max_examples=effort(3, 15), deadline=None)
@given(case=cases(blocked=True))
def test_any_is_compiled_in_blocks(case: Case) -> None:
    pipeline = f"choose-layout{{always=true}},{LOWERED},split-dilation"
    check_semantics(case.program(constant=True), pipeline=pipeline, compiled=True)


NETWORK = Case(1, 1, 32, 16, (9, 8), (3, 4), (2, 2), (1, 1), (1, 1), (0, 1), (0, 0), True, True)


def test_what_follows_is_computed_in_every_phase() -> None:
    """The ReLU, and the zeros around the image once for all of them."""
    text = run_pass(NETWORK.program(constant=False), LOWERED)
    nests = nest_ops(parse_module(new_context(), text))
    phases = [nest for nest in nests if nest.has_reduction]
    assert len(phases) == 4
    assert all(nest.finish is not None for nest in phases)
    assert len({nest.outs[0] for nest in phases}) == 1
    assert len({nest.ins[0] for nest in phases}) == 1
    assert all("maximumf" in str(nest) for nest in phases)


def test_microkernels_do_it() -> None:
    """All phases."""
    context = new_context()
    report = kernel_report(context, parse_module(context, NETWORK.program(constant=True)))
    done = [nest.taken.kernel for nest in report.nests if nest.taken is not None]
    assert len(done) == 4, str(report)


@pytest.mark.parametrize("relu", [False, True])
def test_a_window_below_the_stride_leaves_the_bias(relu: bool) -> None:
    case = Case(1, 1, 2, 3, (2, 2), (1, 2), (2, 3), (1, 1), (0, 0), (0, 0), (0, 1), True, relu)
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-4, 5, shape).astype(np.int32) for shape in (case.x, case.w, (3,))]
    text = run_pass(case.program(constant=False, dtype="i32"), LOWERED)
    (found,) = execute(text, arrays)
    np.testing.assert_array_equal(found, case.scattered(*arrays))
    empty = np.broadcast_to(arrays[2][:, None], (3, 6))
    np.testing.assert_array_equal(found[0, :, 1], np.maximum(empty, 0) if relu else empty)
