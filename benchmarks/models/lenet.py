"""LeNet-5 with ReLU and max pooling (LeCun et al. 1998), on 28x28 images."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from model_builder import ModelBuilder, main

if TYPE_CHECKING:
    import onnx


def build(*, batch: int = 1, seed: int = 5) -> onnx.ModelProto:
    """Input [batch, 1, 28, 28]; output, logits [batch, 10]."""
    b = ModelBuilder("lenet", seed)
    x = b.input("input", [batch, 1, 28, 28])
    for inputs, outputs, pad in ((1, 6, 2), (6, 16, 0)):
        weight = b.weight(b.normal(outputs, inputs, 5, 5, scale=math.sqrt(2 / (25 * inputs))))
        bias = b.weight(b.normal(outputs, scale=0.1))
        x = b.op("Conv", x, weight, bias, kernel_shape=[5, 5], pads=[pad] * 4)
        x = b.op("MaxPool", b.op("Relu", x), kernel_shape=[2, 2], strides=[2, 2])
    x = b.op("Flatten", x)
    sizes = (400, 120, 84, 10)
    for index, (inputs, outputs) in enumerate(pairwise(sizes)):
        x = b.linear(x, inputs, outputs, math.sqrt(2 / inputs))
        x = b.op("Relu", x) if index < 2 else x
    b.output(x, [batch, 10])
    return b.model()


if __name__ == "__main__":
    main(build)
