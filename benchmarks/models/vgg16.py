"""VGG-16, configuration D: thirteen 3x3 convolutions in five stages (Simonyan and Zisserman 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from convolution import conv_norm
from model_builder import ModelBuilder, main

if TYPE_CHECKING:
    import onnx


def build(
    *,
    batch: int = 1,
    image: int = 224,
    stages: Sequence[Sequence[int]] = ((64,) * 2, (128,) * 2, (256,) * 3, (512,) * 3, (512,) * 3),
    hidden: int = 4096,
    classes: int = 1000,
    seed: int = 16,
) -> onnx.ModelProto:
    """Input [batch, 3, image, image]; output, logits [batch, classes].

    Each of `stages` has the channels of its convolutions, and halves the image; smaller nets have fewer.
    """
    b = ModelBuilder("vgg16", seed)
    x, channels = b.input("input", [batch, 3, image, image]), 3
    for stage in stages:
        for outputs in stage:
            x = b.op("Relu", conv_norm(b, x, channels, outputs, 3))
            channels = outputs
        x = b.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    size = image >> len(stages)
    x, features = b.op("Flatten", x), channels * size * size
    for _ in range(2):
        x = b.op("Relu", b.linear(x, features, hidden, (2 / features) ** 0.5))
        features = hidden
    b.output(b.linear(x, features, classes, 0.02), [batch, classes])
    return b.model()


if __name__ == "__main__":
    main(build)
