"""Networks that are lowered to see what they would cost: `FEW` of few layers, `WHOLE` with all of them.

`tests/unit/driver/test_networks.py` holds their properties.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import bert_base
import lenet
import mlp
import mobilenetv2
import nsnet2
import numpy as np
import resnet50
from model_builder import ModelBuilder

if TYPE_CHECKING:
    import onnx

Network = Callable[[], "onnx.ModelProto"]


def _conv(b: ModelBuilder, x: str, inputs: int, outputs: int, k: int, **attributes: Any) -> str:
    groups = attributes.get("group", 1)
    weight = b.weight(b.normal(outputs, inputs // groups, k, k, scale=0.1))
    bias = b.weight(b.normal(outputs, scale=0.1))
    return b.op("Conv", x, weight, bias, kernel_shape=[k, k], **attributes)


def unet() -> onnx.ModelProto:
    """Down by strides, up by transposed convolutions, and what lies beside each other in between."""
    b = ModelBuilder("unet", 1)
    x = b.input("input", [1, 3, 128, 128])
    kept: list[tuple[str, int]] = []
    channels = 3
    for width in (32, 64):
        x = b.op("Relu", _conv(b, x, channels, width, 3, pads=[1] * 4))
        kept.append((x, width))
        x, channels = b.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), width
    for before, width in reversed(kept):
        weight = b.weight(b.normal(channels, width, 2, 2, scale=0.1))
        x = b.op("ConvTranspose", x, weight, kernel_shape=[2, 2], strides=[2, 2])
        x = b.op("Concat", x, before, axis=1)
        x, channels = b.op("Relu", _conv(b, x, 2 * width, width, 3, pads=[1] * 4)), width
    b.output(_conv(b, x, channels, 4, 1), [1, 4, 128, 128])
    return b.model()


def densenet() -> onnx.ModelProto:
    """Layers that add their channels to what was before, behind a first convolution and pooling."""
    b = ModelBuilder("densenet", 1)
    x = b.op(
        "Relu", _conv(b, b.input("input", [1, 3, 224, 224]), 3, 64, 7, strides=[2, 2], pads=[3] * 4)
    )
    x = b.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for _ in range(3):
        y = b.op("Relu", _conv(b, b.op("Relu", x), channels, 128, 1))
        x = b.op("Concat", x, _conv(b, y, 128, 32, 3, pads=[1] * 4), axis=1)
        channels += 32
    b.output(b.op("GlobalAveragePool", b.op("Relu", x)), [1, channels, 1, 1])
    return b.model()


def convnext() -> onnx.ModelProto:
    """A patch of 4 x 4, windows of 7 x 7 a channel, a norm over channels, and a product with Gelu."""
    b = ModelBuilder("convnext", 1)
    x = _conv(b, b.input("input", [1, 3, 224, 224]), 3, 96, 4, strides=[4, 4])
    for _ in range(2):
        y = _conv(b, x, 96, 96, 7, pads=[3] * 4, group=96)
        y = b.op("Transpose", y, perm=[0, 2, 3, 1])
        y = b.op("LayerNormalization", y, b.weight(b.normal(96)), b.weight(b.normal(96)), axis=-1)
        y = _dense(b, y, 96, 384)
        half = b.op("Div", y, b.weight(float(np.sqrt(2))))
        gate = b.op("Mul", b.op("Add", b.op("Erf", half), b.weight(1.0)), b.weight(0.5))
        y = _dense(b, b.op("Mul", y, gate), 384, 96)
        x = b.op("Add", x, b.op("Transpose", y, perm=[0, 3, 1, 2]))
    b.output(x, [1, 96, 56, 56])
    return b.model()


def _dense(b: ModelBuilder, x: str, inputs: int, outputs: int) -> str:
    weight, bias = b.weight(b.normal(inputs, outputs, scale=0.05)), b.weight(b.normal(outputs))
    return b.op("Add", b.op("MatMul", x, weight), bias)


def decoder(tokens: int = 256, width: int = 256, heads: int = 4) -> onnx.ModelProto:
    """A layer of a decoder: a causal mask, a norm by roots, a product with a gate of Sigmoid."""
    b = ModelBuilder("decoder", 1)
    x = b.input("input", [1, tokens, width])
    mask = b.weight(np.triu(np.full((1, 1, tokens, tokens), -1e9, np.float32), 1))
    size = width // heads

    def part() -> str:
        y = b.op("Reshape", _dense(b, x, width, width), b.sizes(1, tokens, heads, size))
        return b.op("Transpose", y, perm=[0, 2, 1, 3])

    q, k, v = part(), part(), part()
    scores = b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2]))
    weights = b.op("Softmax", b.op("Add", scores, mask), axis=-1)
    y = b.op("Transpose", b.op("MatMul", weights, v), perm=[0, 2, 1, 3])
    x = b.op("Add", x, _dense(b, b.op("Reshape", y, b.sizes(1, tokens, width)), width, width))
    mean = b.op("ReduceMean", b.op("Mul", x, x), axes=[-1], keepdims=1)
    y = b.op("Div", x, b.op("Sqrt", b.op("Add", mean, b.weight(1e-6))))
    gate = _dense(b, y, width, 3 * width)
    y = b.op("Mul", b.op("Mul", gate, b.op("Sigmoid", gate)), _dense(b, y, width, 3 * width))
    b.output(b.op("Add", x, _dense(b, y, 3 * width, width)), [1, tokens, width])
    return b.model()


def squeezed() -> onnx.ModelProto:
    """Channels weighed by what is left of them: squeeze and excitation around depthwise windows."""
    b = ModelBuilder("squeezed", 1)
    x = b.op(
        "Relu", _conv(b, b.input("input", [1, 3, 160, 160]), 3, 32, 3, strides=[2, 2], pads=[1] * 4)
    )
    for _ in range(2):
        y = b.op("Relu", _conv(b, x, 32, 96, 1))
        y = b.op("Relu", _conv(b, y, 96, 96, 5, pads=[2] * 4, group=96))
        s = b.op("Relu", _conv(b, b.op("GlobalAveragePool", y), 96, 24, 1))
        y = b.op("Mul", y, b.op("Sigmoid", _conv(b, s, 24, 96, 1)))
        x = b.op("Add", x, _conv(b, y, 96, 32, 1))
    b.output(x, [1, 32, 80, 80])
    return b.model()


FEW: dict[str, Network] = {
    "lenet": partial(lenet.build),
    "mlp": partial(mlp.build),
    "mobilenetv2": partial(
        mobilenetv2.build, stages=((1, 16, 1, 1), (6, 24, 2, 2), (6, 96, 1, 2), (6, 160, 1, 2))
    ),
    "resnet50": partial(resnet50.build, blocks=(2, 1, 1, 1)),
    "bert_base": partial(bert_base.build, layers=1, vocabulary=64),
    "nsnet2": partial(nsnet2.build, frames=12),
    "unet": unet,
    "densenet": densenet,
    "convnext": convnext,
    "decoder": decoder,
    "squeezed": squeezed,
}
"""The benchmark networks, of fewer layers that are alike, and five more."""
WHOLE: dict[str, Network] = FEW | {
    "mobilenetv2": partial(mobilenetv2.build),
    "resnet50": partial(resnet50.build),
    "bert_base": partial(bert_base.build, vocabulary=64),
    "nsnet2": partial(nsnet2.build),
}
"""The same with all of their layers."""
