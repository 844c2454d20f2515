"""Winograd's convolutions are as near, and not finite where, their algorithms say (K16)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from effort import effort
from inarch.machine.machine import Machine
from inarch.machine.machine_file import MACHINES

TARGET = "x86-64-v3"
ALGORITHMS = ("direct", "winograd-2x2", "winograd-4x4")
ZEN3 = MACHINES["zen3"]
BY_BLOCKS = replace(ZEN3, l2=replace(ZEN3.l2, bytes=ZEN3.l1.bytes), l3=None)
"""Caches that hold few tiles."""
Array = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Convolution:
    """Of 3x3 windows, with a bias; its weights are constants, or arguments of each call."""

    x: tuple[int, ...]
    outputs: int
    pads: tuple[int, ...]
    is_constant: bool = True
    machine: Machine = ZEN3

    @property
    def w(self) -> tuple[int, ...]:
        return self.outputs, self.x[1], 3, 3

    def compiled(self, folder: Path, w: Array, b: Array) -> Callable[..., dict[str, Array]]:
        """Of an image, what each algorithm gives, three ops of one program; or of other weights, too."""
        x, kind, bias = _type(self.x), _type(self.w), _type((self.outputs,))
        top, left, bottom, right = self.pads
        size = (self.x[2] + top + bottom - 2, self.x[3] + left + right - 2)
        y = _type((self.x[0], self.outputs, *size))
        held = [
            f"%{name} = graph.constant dense_resource<{name}> : {of}"
            for name, of in (("w", kind), ("b", bias))
        ]
        convolutions = [
            f"%{at} = graph.conv %x, %w bias %b strides = [1, 1] pads = {list(self.pads)} dilations = [1, 1] "
            f'groups = 1 {{inarch.algorithm = "{name}"}} : {x}, {kind}, {bias} -> {y}'
            for at, name in enumerate(ALGORITHMS)
        ]
        given = f"%x: {x}" if self.is_constant else f"%x: {x}, %w: {kind}, %b: {bias}"
        body = [*(held if self.is_constant else []), *convolutions]
        path = folder / "convolution.mlir"
        path.write_text(
            f"func.func @main({given}) -> ({y}, {y}, {y}) {{\n"
            + "\n".join(body)
            + f"\nfunc.return %0, %1, %2 : {y}, {y}, {y}\n}}\n"
        )
        if self.is_constant:
            np.savez(path.with_suffix(".npz"), w=w, b=b)
        program = inarch.compile(path, target=TARGET, numerics="fast", machine=self.machine)
        usual = () if self.is_constant else (w, b)

        def call(image: Array, *others: Array) -> dict[str, Array]:
            return dict(zip(ALGORITHMS, program(image, *(others or usual)), strict=True))

        return call

    def expected(self, image: Array, w: Array, b: Array) -> np.ndarray[Any, Any]:
        """In float64."""
        top, left, bottom, right = self.pads
        padded = np.pad(image.astype("f8"), ((0, 0), (0, 0), (top, bottom), (left, right)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
        y = np.einsum("nchwab,kcab->nkhw", windows, w.astype("f8"), optimize=True)
        return y + b.astype("f8")[:, None, None]


def _type(shape: tuple[int, ...]) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def _drawn(seed: int) -> tuple[Convolution, np.random.Generator]:
    """Any sizes of edges, in blocks of tiles; channels of part blocks where weights are constants."""
    rng = np.random.default_rng(seed)
    is_constant = seed % 3 != 2
    step = 1 if is_constant else 8
    channels = [step * int(rng.integers(32 // step, 72 // step + 1)) for _ in range(2)]
    sizes = map(int, rng.integers(4, 20, 2))
    pads = tuple(map(int, rng.integers(0, 3, 4)))
    x = (int(rng.integers(1, 3)), channels[0], *sizes)
    return Convolution(x, channels[1], pads, is_constant, BY_BLOCKS), rng


def _weights(one: Convolution, rng: np.random.Generator) -> tuple[Array, Array]:
    w = rng.standard_normal(one.w) * np.sqrt(2 / 9 / one.x[1])
    return w.astype("f4"), rng.standard_normal(one.outputs).astype("f4")


def _errors(found: dict[str, Array], expected: np.ndarray[Any, Any]) -> dict[str, float]:
    """The greatest of each algorithm."""
    return {name: float(abs(y - expected).max()) for name, y in found.items()}


@pytest.mark.parametrize("case", range(effort(3, 250)))
def test_drawn_convolutions_are_as_near_as_they_say(case: int, tmp_path: Path) -> None:
    """Of the greatest error of direct: F(2x2) at most 4, F(4x4) its stated bound."""
    one, rng = _drawn(case)
    w, b = _weights(one, rng)
    program = one.compiled(tmp_path, w, b)
    for draw in range(4):
        normal = rng.standard_normal(one.x).astype("f4")
        image = (normal, np.maximum(normal, 0), rng.random(one.x, "f4"), normal)[draw]
        error = _errors(program(image), one.expected(image, w, b))
        assert error["winograd-2x2"] <= 4 * error["direct"]
        assert error["winograd-4x4"] <= 8 * error["direct"]


def _reached(m: int, place: int, outputs: int) -> list[int]:
    """Outputs that are not finite where the input at `place`, pads counted, is not: along one dimension.

    Of a tile all but where it is the first or last one that the tile reads: then the first or last.
    """
    found: list[int] = []
    for first in range(0, outputs, m):
        within = place - first
        if 0 <= within < m + 2:
            ends = {0: [0], m + 1: [m - 1]}.get(within, range(m))
            found += [first + at for at in ends if first + at < outputs]
    return found


def test_infinities_and_nan_are_in_the_places_that_are_stated(tmp_path: Path) -> None:
    """At each place of the image: those of direct for F(2x2), of whole tiles for F(4x4)."""
    one = Convolution((1, 35, 11, 9), 33, (1, 1, 1, 1))
    w, b = _weights(one, np.random.default_rng(0))
    program = one.compiled(tmp_path, w, b)
    for at, (i, j) in enumerate(np.ndindex(11, 9)):
        image = np.random.default_rng(at).standard_normal(one.x).astype("f4")
        image[0, at % 35, i, j] = (np.inf, -np.inf, np.nan)[at % 3]
        found = {name: np.isfinite(y) for name, y in program(image).items()}
        for m, name in ((2, "winograd-2x2"), (4, "winograd-4x4")):
            expected = np.ones((1, 33, 11, 9), bool)
            expected[..., *np.ix_(_reached(m, i + 1, 11), _reached(m, j + 1, 9))] = False
            assert np.array_equal(found[name], expected), (name, i, j)
        assert np.array_equal(found["winograd-2x2"], found["direct"]), (i, j)


FINITE = {
    1.0e37: ALGORITHMS,
    3.0e37: ("direct", "winograd-2x2"),
    8.0e37: ("direct", "winograd-2x2"),
    9.0e37: ("direct",),
}
"""Of inputs so large, with signs that make the numbers of a tile the largest: which algorithms hold."""


def test_large_and_denormal_inputs(tmp_path: Path) -> None:
    """What docs/algorithms.md states of both."""
    one = Convolution((1, 32, 14, 14), 32, (0, 0, 0, 0), is_constant=False)
    rng = np.random.default_rng(0)
    w = (rng.uniform(-1, 1, one.w) * 1e-3).astype("f4")
    zeros = np.zeros(32, "f4")
    signs = np.array([1, -1, -1, 1, 1, 1, *[0] * 8], "f4")
    program = one.compiled(tmp_path, w, zeros)
    for size, finite in FINITE.items():
        image = np.broadcast_to(np.outer(signs, signs) * np.float32(size), one.x).copy()
        expected = one.expected(image, w, zeros)
        found = program(image)
        assert tuple(name for name, y in found.items() if np.isfinite(y).all()) == finite
        for name in finite:
            assert abs(found[name] - expected).max() <= 16 * 9 * 32 * 2**-24 * 1e-3 * size
    normal = [rng.standard_normal(shape).astype("f4") for shape in (one.x, one.w)]
    for at, (two, four) in enumerate(((4, 30), (8, 80))):  # denormal images, denormal weights
        image, w = (part * np.float32(1e-41 if n == at else 1) for n, part in enumerate(normal))
        error = _errors(program(image, w, zeros), one.expected(image, w, zeros))
        assert error["winograd-2x2"] <= two * error["direct"]
        assert error["winograd-4x4"] <= four * error["direct"]
