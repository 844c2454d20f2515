"""Algorithms over drawn shapes are the definitions of their ops in NumPy, whatever they cost (K16)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import inarch
from effort import seeds
from inarch.core.errors import UsageError
from inarch.machine.machine import Machine
from inarch.passes.lower.algorithms import conv_transpose_col2im
from inarch.testing import check_semantics, run_pass
from inarch.tools import cli
from tests.unit.passes.algorithms import TARGET, taken, written
from tests.unit.passes.test_conv_transpose import Case


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
    """Without steps, without windows: with the reason."""
    reason = "expected windows of several taps and a stride above 1"
    for window, stride in ((3, 1), (1, 2)):
        shape = (1, 48, 8, 8)
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


def _transposed(seed: int) -> Case:
    """Windows shorter and longer than strides, cut by pads, of one to three dimensions."""
    rng = np.random.default_rng(seed)
    rank = (2, 1, 2, 3)[seed % 4]

    def draw(low: int, high: int) -> tuple[int, ...]:
        return tuple(map(int, rng.integers(low, high, rank)))

    window, strides, dilations = draw(1, 5), draw(1, 4 if rank < 3 else 3), draw(1, 3)
    extra = tuple(int(rng.integers(0, max(s, d))) for s, d in zip(strides, dilations, strict=True))
    begins, ends = draw(0, 3), draw(0, 3)
    sizes = draw(3, 7)
    none = (0,) * rank
    case = Case(
        int(rng.integers(1, 3)), 1, 5, 3, sizes, window, strides, dilations, begins, ends, extra,
        bias=bool(seed % 3),
    )  # fmt: skip
    return case if min(case.y) > 0 else replace(case, begins=none, ends=none)


@pytest.mark.parametrize("seed", seeds(8, 200))
def test_transposed_convolutions_by_columns(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in blocks of rows that read rows of x once more, and with rows of x that are copied apart."""
    case = _transposed(seed)
    room, aliased = ((1 << 62, 4096), (1500, 4096), (1, 4))[seed % 3]
    monkeypatch.setattr(conv_transpose_col2im, "_room", lambda _: room)
    monkeypatch.setattr(conv_transpose_col2im, "_ALIASED", aliased)
    text = case.program(constant=bool(seed % 2))
    named = text.replace("groups = 1 :", 'groups = 1 {inarch.algorithm = "col2im"} :')
    assert named != text
    check_semantics(named, pipeline="graph-to-loop")


def test_columns_are_chosen_where_results_have_few_channels(tmp_path: Path) -> None:
    """By cost under `bounded`, within the bound of sums in any order; `strict` is the op's own phases."""
    case = Case(1, 1, 96, 2, (9, 10), (4, 4), (2, 2), (1, 1), (1, 1), (1, 1), (0, 0), bias=True)
    text = re.sub(r"(groups = 1 :.*)", r'\1 loc("up")', case.program(constant=False))
    path = written(tmp_path / "up.mlir", text)
    assert taken(path)["up"][0] == "col2im"
    assert taken(path, numerics="strict") == {"up": ["direct"]}
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(shape).astype("f4") for shape in (case.x, case.w, case.y[1:2]))
    found = inarch.compile(path, target=TARGET)(x, w, b)
    exact, sizes = (
        case.scattered(*(one(each.astype("f8")) for each in (x, w, b)))
        for one in (np.array, np.abs)
    )
    terms = 96 * 4 + 1
    assert (np.abs(found - exact) <= terms * 2.0**-24 * sizes).all()


def test_transposed_convolutions_of_many_nests_are_refused() -> None:
    """Of many phases in several dimensions, and of long windows: with the reason."""
    none, two = (0, 0, 0), (0, 0)
    for case, reason in (
        (Case(1, 1, 8, 2, (5, 5, 5), (8, 8, 8), (4, 4, 4), (1, 1, 1), none, none, none), "96 nests of sums"),
        (Case(1, 1, 8, 2, (5, 5), (2, 80), (1, 32), (1, 1), two, two, two), "128 terms a nest, found 160"),
    ):  # fmt: skip
        text = case.program(constant=False)
        text = text.replace("groups = 1 :", 'groups = 1 {inarch.algorithm = "col2im"} :')
        with pytest.raises(
            UsageError, match=f"'col2im' does not apply .*: expected at most {reason}"
        ):
            run_pass(text, "graph-to-loop")
