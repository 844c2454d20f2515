"""ResNet-50 v1.5: the stride of a block is in its 3x3 convolution (He et al. 2016, Goyal et al. 2017)."""

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
    width: int = 64,
    blocks: Sequence[int] = (3, 4, 6, 3),
    classes: int = 1000,
    folded: bool = True,
    seed: int = 50,
) -> onnx.ModelProto:
    """Input [batch, 3, image, image]; output, logits [batch, classes].

    `folded` folds the batch normalizations into the weights; smaller nets have fewer `blocks`.
    """
    b = ModelBuilder("resnet50", seed)
    x = b.input("input", [batch, 3, image, image])
    x = b.op("Relu", conv_norm(b, x, 3, width, 7, stride=2, folded=folded))
    x = b.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = width
    for stage, count in enumerate(blocks):
        inner = width << stage
        for index in range(count):
            stride = 2 if stage and index == 0 else 1
            x = _block(b, x, channels, inner, stride=stride, folded=folded)
            channels = 4 * inner
    x = b.op("Flatten", b.op("GlobalAveragePool", x))
    b.output(b.linear(x, channels, classes, 0.02), [batch, classes])
    return b.model()


def _block(b: ModelBuilder, x: str, channels: int, inner: int, *, stride: int, folded: bool) -> str:
    """A bottleneck, around which x is added; it is projected where its shape changes."""
    wide = 4 * inner
    y = b.op("Relu", conv_norm(b, x, channels, inner, 1, folded=folded))
    y = b.op("Relu", conv_norm(b, y, inner, inner, 3, stride=stride, folded=folded))
    y = conv_norm(b, y, inner, wide, 1, gain=0.3, folded=folded)
    if channels != wide or stride != 1:
        x = conv_norm(b, x, channels, wide, 1, stride=stride, folded=folded)
    return b.op("Relu", b.op("Add", y, x))


if __name__ == "__main__":
    main(build)
