"""Algorithms over drawn shapes are the definitions of their ops in NumPy, whatever they cost (K16)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import inarch
from effort import seeds
from inarch.core.errors import UsageError
from inarch.machine.machine import Machine
from inarch.testing import check_semantics, run_pass
from inarch.tools import cli


def _tensor(shape: Sequence[int], layout: str = "") -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}f32{layout}>"


def _conv(
    x: tuple[int, ...],
    outputs: int,
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    *,
    bias: bool,
    halo: bool,
    algorithm: str = "gemm",
) -> str:
    """A convolution of an image in blocks of 8 channels, with a halo of its pads where `halo`."""
    rank = len(window)
    sizes = [
        (size + pads[at] + pads[rank + at] - (window[at] - 1) * dilations[at] - 1) // strides[at]
        + 1
        for at, size in enumerate(x[2:])
    ]
    blocks = [0, 8, *[0] * rank]
    margins = [*pads] if halo and any(pads) else []
    inside = f", #graph.layout<block = {blocks}, halo = {margins}>"
    outside = f", #graph.layout<block = {blocks}, halo = []>"
    y = (x[0], outputs, *sizes)
    w, b = _tensor((outputs, x[1], *window)), _tensor((outputs,))
    return f"""
func.func @main(%x: {_tensor(x)}, %w: {w}, %b: {b}) -> {_tensor(y)} {{
  %i = graph.relayout %x : {_tensor(x)} -> {_tensor(x, inside)}
  %c = graph.conv %i, %w {"bias %b " if bias else ""}strides = {list(strides)} pads = {list(pads)}
    dilations = {list(dilations)} groups = 1 {{inarch.algorithm = "{algorithm}"}} :
    {_tensor(x, inside)}, {w}{f", {b}" if bias else ""} -> {_tensor(y, outside)}
  %y = graph.relayout %c : {_tensor(y, outside)} -> {_tensor(y)}
  func.return %y : {_tensor(y)}
}}"""


@pytest.mark.parametrize("seed", seeds(6, 100))
def test_strided_convolutions_as_products(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one to three dimensions, with and without halo and bias, the matrix in blocks of any size."""
    rng = np.random.default_rng(seed)
    rank = int(rng.choice([1, 2, 2, 3]))
    window = [int(size) for size in rng.integers(2, 4, rank)]
    strides = [int(rng.integers(2, 4)), *map(int, rng.integers(1, 4, rank - 1))]
    dilations = [int(size) for size in rng.integers(1, 3, rank)]
    pads = [int(size) for size in rng.integers(0, 3, 2 * rank)]
    channels = 8 * -(-384 // (8 * int(np.prod(window))))
    x = (int(rng.integers(1, 3)), channels, *map(int, rng.integers(5, 9, rank)))
    own = int(rng.choice([1, 40_000, 80_000, 1 << 22]))
    monkeypatch.setattr(Machine, "own", property(lambda _: own))
    text = _conv(x, 16, window, strides, dilations, pads, bias=bool(seed % 2), halo=bool(seed % 3))
    check_semantics(text, pipeline="graph-to-loop")


def test_what_no_product_gains_is_refused() -> None:
    """Without steps, without windows, with few terms: with the reason."""
    steps = "expected windows of several taps and a stride above 1"
    for channels, window, stride, reason in (
        (48, 3, 1, steps),
        (48, 1, 2, steps),
        (8, 3, 2, "expected 384 terms or more, found 72"),
    ):
        shape = (1, channels, 8, 8)
        text = _conv(shape, 8, [window] * 2, [stride] * 2, [1, 1], [0] * 4, bias=False, halo=False)
        with pytest.raises(UsageError, match=f"'gemm' does not apply to 'graph.conv': {reason}"):
            run_pass(text, "graph-to-loop")


def _reduction(kind: str, shape: Sequence[int], axes: Sequence[int], *, keeps: bool) -> str:
    kept = [size for at, size in enumerate(shape) if at not in axes]
    result = [1 if at in axes else size for at, size in enumerate(shape)] if keeps else kept
    return f"""
func.func @main(%x: {_tensor(shape)}) -> {_tensor(result)} {{
  %y = graph.reduce_{kind} %x axes = {list(axes)} {"keepdims = true" if keeps else ""}
    {{inarch.algorithm = "tree"}} : {_tensor(shape)} -> {_tensor(result)} loc("all")
  func.return %y : {_tensor(result)}
}}"""


@pytest.mark.parametrize("seed", seeds(6, 100))
def test_reductions_by_partial_results(seed: int) -> None:
    """Short rows and long ones, before kept axes and around them."""
    rng = np.random.default_rng(seed)
    rows = 24 * int(rng.integers(22, 30))
    last = int(rng.integers(2, 6))
    shape, axes = (
        ((rows, last), (0,)),
        ((3, rows, last), (1,)),
        ((32 * rows,), (0,)),
        ((rows // 4, 5, last + 4), (0, 2)),
        ((2, rows // 4, last, 3, 4), (1, 3, 4)),
        ((2, rows // 8, last, 12), (0, 1, 3)),
    )[seed % 6]
    kind = ("sum", "mean", "max", "min")[seed % 4]
    text = _reduction(kind, shape, axes, keeps=bool(rng.integers(2)))
    check_semantics(text, pipeline="graph-to-loop")


def test_a_long_sum_by_partial_sums_keeps_its_bound(tmp_path: Path) -> None:
    """Of numbers of one sign, whose sum in one chain is far off: the ratio is of direct's bound."""
    path = tmp_path / "sum.mlir"
    path.write_text(_reduction("sum", (49152,), (0,), keeps=False))
    x = np.random.default_rng(0).uniform(1, 2, 49152).astype("f4")
    found = inarch.compile(path, target="x86-64-v3")(x)
    exact = x.astype("f8").sum()
    ratio = (49152 / 32 + 32) / 49152
    assert abs(found - exact) <= ratio * 49152 * 2.0**-24 * exact
    said = cli.run(f"explain {path} --target x86-64-v3".split()).out
    assert f"greatest error at most {ratio:.2f} of direct's" in said


@pytest.mark.parametrize(
    ("shape", "axes", "reason"),
    [
        ((16000,), (0,), "expected 16384 terms or more, found 16000"),
        ((500, 3), (0,), "expected 512 terms or more, found 500"),
        ((600, 40), (0,), "expected at most 32 neighbouring elements .* found 40"),
        ((600, 3, 40), (0, 2), "expected at most 32 neighbouring elements .* found 40"),
        ((601, 3), (0,), "expected a number of rows that 10 or less divides, found 601"),
    ],
)
def test_reductions_that_gain_nothing_are_refused(
    shape: Sequence[int], axes: Sequence[int], reason: str
) -> None:
    with pytest.raises(UsageError, match=f"'tree' does not apply to 'graph.reduce_sum': {reason}"):
        run_pass(_reduction("sum", shape, axes, keeps=False), "graph-to-loop")
