"""Writes a speech enhancer shaped as NSNet2 with random weights: two GRUs of 400 units between dense layers.

    python benchmarks/models/nsnet2.py OUT.onnx [FRAMES]      (100 frames of 161 frequencies)

The shape is that of the baseline of the Deep Noise Suppression Challenge (Braun and Tashev, 2020).
"""

from __future__ import annotations

import sys
from functools import partial

import onnx
from model_builder import Array, ModelBuilder, main

FREQUENCIES = 161
UNITS = 400
DENSE = 600


def build(frames: int = 100) -> onnx.ModelProto:
    """The model, for so many frames."""
    b = ModelBuilder("nsnet2", seed=0)
    x = _dense(b, b.input("input", (1, frames, FREQUENCIES)), FREQUENCIES, UNITS)
    x = b.op("Transpose", x, perm=[1, 0, 2])
    for _ in range(2):
        x = _gru(b, x)
    x = b.op("Transpose", x, perm=[1, 0, 2])
    x = b.op("Relu", _dense(b, x, UNITS, DENSE))
    x = b.op("Relu", _dense(b, x, DENSE, DENSE))
    x = b.op("Sigmoid", _dense(b, x, DENSE, FREQUENCIES))
    b.output(x, (1, frames, FREQUENCIES))
    return b.model()


def _dense(b: ModelBuilder, x: str, inputs: int, outputs: int) -> str:
    product = b.op("MatMul", x, b.weight(b.normal(inputs, outputs, scale=inputs**-0.5)))
    return b.op("Add", product, b.weight(b.normal(outputs, scale=0.1)))


def _gru(b: ModelBuilder, x: str) -> str:
    def weight(*shape: int) -> Array:
        return b.normal(1, 3 * UNITS, *shape, scale=UNITS**-0.5)

    w, r = b.weight(weight(UNITS)), b.weight(weight(UNITS))
    bias = b.weight(b.normal(1, 6 * UNITS, scale=0.1))
    y = b.op("GRU", x, w, r, bias, hidden_size=UNITS, linear_before_reset=1)
    return b.op("Squeeze", y, b.sizes(1))


if __name__ == "__main__":
    frames = int(sys.argv.pop()) if len(sys.argv) == 3 else 100
    main(partial(build, frames))
