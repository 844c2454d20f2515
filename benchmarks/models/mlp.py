"""A perceptron of three layers on 28x28 images: 784, 512, 512, 10."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from model_builder import ModelBuilder, main

if TYPE_CHECKING:
    import onnx


def build(
    *, batch: int = 1, sizes: tuple[int, ...] = (784, 512, 512, 10), seed: int = 7
) -> onnx.ModelProto:
    """Input [batch, sizes[0]]; output, probabilities [batch, sizes[-1]]."""
    b = ModelBuilder("mlp", seed)
    x = b.input("input", [batch, sizes[0]])
    for index, (inputs, outputs) in enumerate(pairwise(sizes)):
        x = b.linear(x, inputs, outputs, math.sqrt(2 / inputs))
        x = b.op("Softmax", x, axis=1) if index == len(sizes) - 2 else b.op("Relu", x)
    b.output(x, [batch, sizes[-1]])
    return b.model()


if __name__ == "__main__":
    main(build)
