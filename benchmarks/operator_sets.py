"""The models of `operators.py`: one operator each, or a few that belong together, in sets."""

# The models' neighbours are found when it runs:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false
from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "models"))

import numpy as np
from model_builder import FLOAT, INT64, ModelBuilder

PRODUCTS = (256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
ATTENTION = ((12, 128, 64), (12, 384, 64), (12, 1024, 64), (16, 2048, 128))
CHANNELS = ((64, 64), (128, 64), (128, 128), (256, 128), (256, 256))
IMAGES = (16, 32, 64)
TOPK = (
    (64, 1000, 5),
    (1, 100000, 100),
    (1000, 1000, 1000),
    (1000, 1000, 100),
    (32, 32000, 50),
    (1, 1000000, 10000),
)
"""Rows, elements of each, k."""
UNITS = 256
STEPS = (20, 500)
GATES = {"LSTM": 4, "GRU": 3}
MASKED = (12, 1024, 64)
WINDOWS = (128,)
"""Keys that a row sees, its own the last one."""


@dataclass(frozen=True)
class Operator:
    """A model of one operator, or of a few that belong together."""

    name: str
    build: Callable[[ModelBuilder], str]
    """Writes it; the output's name."""
    shape: tuple[int, ...]
    """Of the output."""
    operations: int
    dtype: int = FLOAT
    """Of the output."""
    product: tuple[int, int, int] | None = None
    """Of two matrices, for those that do nothing else: M, N and K."""

    def save(self, path: Path) -> None:
        """As an ONNX file."""
        builder = ModelBuilder("operator", seed=0)
        builder.output(self.build(builder), self.shape, dtype=self.dtype)
        path.write_bytes(builder.model().SerializeToString())


def products() -> Iterator[Operator]:
    """Of two matrices that a call gives: cubes, and a flat one both ways."""
    shapes = [(size, size, size) for size in PRODUCTS]
    for m, n, k in [*shapes, (64, 4096, 4096), (4096, 64, 4096)]:

        def build(b: ModelBuilder, m: int = m, n: int = n, k: int = k) -> str:
            return b.op("MatMul", b.input("a", (m, k)), b.input("b", (k, n)))

        yield Operator(f"{m} x {n} x {k}", build, (m, n), 2 * m * n * k, product=(m, n, k))


def attention() -> Iterator[Operator]:
    """softmax(Q K' / sqrt(d)) V of each head."""
    for heads, length, depth in ATTENTION:
        shape = (1, heads, length, depth)

        def build(b: ModelBuilder, shape: tuple[int, ...] = shape) -> str:
            q, k, v = (b.input(name, shape) for name in "qkv")
            scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
            scaled = b.op("Mul", scores, b.weight(shape[-1] ** -0.5))
            return b.op("MatMul", b.op("Softmax", scaled, axis=-1), v)

        name = f"{heads} x {length} x {depth}"
        yield Operator(name, build, shape, 4 * heads * length * length * depth)


def masks() -> Iterator[Operator]:
    """Attention with a constant mask: of nothing, of keys behind a row, and of those before a window, too."""
    heads, length, depth = MASKED
    shape = (1, heads, length, depth)
    distance = np.arange(length)[None, :] - np.arange(length)[:, None]
    hidden = {"nothing": distance > length, "causal": distance > 0}
    hidden |= {f"window {w}": (distance > 0) | (distance <= -w) for w in WINDOWS}
    for name, hides in hidden.items():

        def build(b: ModelBuilder, hides: Any = hides) -> str:
            q, k, v = (b.input(name, shape) for name in "qkv")
            scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
            scaled = b.op("Mul", scores, b.weight(depth**-0.5))
            mask = b.weight(np.where(hides, -np.inf, 0).astype(np.float32))
            return b.op("MatMul", b.op("Softmax", b.op("Add", scaled, mask), axis=-1), v)

        seen = int((~hides).sum())
        yield Operator(
            f"{heads} x {length} x {depth} {name}", build, shape, 4 * heads * seen * depth
        )


def transposed() -> Iterator[Operator]:
    """Convolutions that double an image, 3x3 and 4x4, with a bias."""
    for window in (3, 4):
        for channels, filters in CHANNELS:
            for size in IMAGES:
                yield _transposed(window, channels, filters, size)


def _transposed(window: int, channels: int, filters: int, size: int) -> Operator:
    def build(b: ModelBuilder) -> str:
        scale = 1 / math.sqrt(channels * window)
        weights = b.weight(b.normal(channels, filters, window, window, scale=scale))
        attributes = {"strides": [2, 2], "pads": [1] * 4, "output_padding": [4 - window] * 2}
        x = b.input("x", (1, channels, size, size))
        return b.op("ConvTranspose", x, weights, b.weight(b.normal(filters)), **attributes)

    name = f"{window}x{window} {channels}->{filters} {size}x{size}"
    operations = 2 * channels * filters * (window * size) ** 2
    return Operator(name, build, (1, filters, 2 * size, 2 * size), operations)


def topk() -> Iterator[Operator]:
    """The first elements of each row; an element is an operation."""
    for rows, count, k in TOPK:

        def build(b: ModelBuilder, shape: tuple[int, int] = (rows, count), k: int = k) -> str:
            return b.first(2, "TopK", b.input("x", shape), b.sizes(k))

        yield Operator(f"{rows} x {count} k {k}", build, (rows, k), rows * count)


def rows() -> Iterator[Operator]:
    """Softmax, layer norm, argmax and cumulative sums; an element is an operation."""
    for count, size in ((256, 1024), (16384, 1024), (1536, 128)):

        def softmax(b: ModelBuilder, shape: tuple[int, int] = (count, size)) -> str:
            return b.op("Softmax", b.input("x", shape), axis=-1)

        yield Operator(f"softmax {count} x {size}", softmax, (count, size), count * size)
    for count, size in ((128, 768), (21504, 768)):

        def norm(b: ModelBuilder, shape: tuple[int, int] = (count, size)) -> str:
            weights = (b.weight(b.normal(shape[1])) for _ in range(2))
            return b.op("LayerNormalization", b.input("x", shape), *weights, epsilon=1e-5)

        yield Operator(f"layer norm {count} x {size}", norm, (count, size), count * size)
    for count, size in ((64, 262144), (16384, 1024)):
        for axis in (1, 0):
            shape, where = (count, size), f"{count} x {size} axis {axis}"

            def argmax(b: ModelBuilder, shape: tuple[int, int] = shape, axis: int = axis) -> str:
                return b.op("ArgMax", b.input("x", shape), axis=axis, keepdims=0)

            def cumsum(b: ModelBuilder, shape: tuple[int, int] = shape, axis: int = axis) -> str:
                number = b.weight(np.array(axis, np.int64))
                return b.op("CumSum", b.input("x", shape), number)

            yield Operator(f"argmax {where}", argmax, (shape[1 - axis],), count * size, INT64)
            yield Operator(f"cumsum {where}", cumsum, shape, count * size)


def recurrent() -> Iterator[Operator]:
    """LSTM and GRU, of one sequence, with constant weights."""
    for kind in GATES:
        for steps in STEPS:
            yield recurrence(kind, steps)


def recurrence(kind: str, steps: int) -> Operator:
    """One of them."""
    gates = GATES[kind]

    def build(b: ModelBuilder) -> str:
        w, r = (b.weight(b.normal(1, gates * UNITS, UNITS, scale=0.06)) for _ in range(2))
        bias = b.weight(b.normal(1, 2 * gates * UNITS, scale=0.1))
        x = b.input("x", (steps, 1, UNITS))
        return b.op(kind, x, w, r, bias, hidden_size=UNITS)

    operations = 4 * steps * gates * UNITS * UNITS
    return Operator(f"{kind} {UNITS}, {steps} steps", build, (steps, 1, 1, UNITS), operations)


SETS: Mapping[str, Callable[[], Iterator[Operator]]] = {
    "products": products,
    "attention": attention,
    "masks": masks,
    "transposed": transposed,
    "topk": topk,
    "rows": rows,
    "recurrent": recurrent,
}
