"""MobileNetV2 1.0 (Sandler et al. 2018): inverted residuals with depthwise convolutions and ReLU6."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from convolution import conv_norm
from model_builder import ModelBuilder, main

if TYPE_CHECKING:
    import onnx

STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Table 2 of the paper: expansion, channels, blocks, stride of the first block."""


def build(
    *,
    batch: int = 1,
    image: int = 224,
    stages: Sequence[tuple[int, int, int, int]] = STAGES,
    features: int = 1280,
    classes: int = 1000,
    folded: bool = True,
    seed: int = 22,
) -> onnx.ModelProto:
    """Input [batch, 3, image, image]; output, logits [batch, classes]."""
    b = ModelBuilder("mobilenetv2", seed)
    limits = (b.weight(0.0), b.weight(6.0))
    x = b.input("input", [batch, 3, image, image])
    x = b.op("Clip", conv_norm(b, x, 3, 32, 3, stride=2, folded=folded), *limits)
    channels = 32
    for expansion, outputs, count, first in stages:
        for index in range(count):
            stride, inner, y = first if index == 0 else 1, channels * expansion, x
            if expansion != 1:
                y = b.op("Clip", conv_norm(b, y, channels, inner, 1, folded=folded), *limits)
            y = conv_norm(b, y, inner, inner, 3, stride=stride, groups=inner, folded=folded)
            y = conv_norm(b, b.op("Clip", y, *limits), inner, outputs, 1, folded=folded)
            x = b.op("Add", x, y) if stride == 1 and channels == outputs else y
            channels = outputs
    x = b.op("Clip", conv_norm(b, x, channels, features, 1, folded=folded), *limits)
    x = b.op("Flatten", b.op("GlobalAveragePool", x))
    b.output(b.linear(x, features, classes, 0.03), [batch, classes])
    return b.model()


if __name__ == "__main__":
    main(build)
