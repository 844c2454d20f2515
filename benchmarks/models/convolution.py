"""A convolution with its batch normalization, kept apart or folded into the weights."""

from __future__ import annotations

import math

import numpy as np
from model_builder import ModelBuilder

EPSILON = 1e-5


def conv_norm(
    b: ModelBuilder,
    x: str,
    inputs: int,
    outputs: int,
    kernel: int,
    *,
    stride: int = 1,
    groups: int = 1,
    gain: float = 1.0,
    folded: bool = True,
) -> str:
    """A square convolution of "same" padding, then a batch normalization.

    Weights are of He et al. 2015, so that activations of mean square 1 give values of variance 2,
    which the statistics of the normalization are around. `gain` scales its result.
    """
    fan_in = inputs // groups * kernel * kernel
    weight = b.normal(outputs, inputs // groups, kernel, kernel, scale=math.sqrt(2 / fan_in))
    scale = (1 + b.normal(outputs, scale=0.1)) * np.float32(gain)
    bias = b.normal(outputs, scale=0.1)
    mean = b.normal(outputs, scale=0.1)
    variance = 2 + np.abs(b.normal(outputs, scale=0.2))
    attributes = {
        "kernel_shape": [kernel, kernel],
        "strides": [stride, stride],
        "pads": [kernel // 2] * 4,
        "group": groups,
    }
    if not folded:
        y = b.op("Conv", x, b.weight(weight), **attributes)
        vectors = [b.weight(vector) for vector in (scale, bias, mean, variance)]
        return b.op("BatchNormalization", y, *vectors, epsilon=EPSILON)
    factor = scale / np.sqrt(variance + np.float32(EPSILON))
    folded_weight = b.weight(weight * factor[:, None, None, None])
    return b.op("Conv", x, folded_weight, b.weight(bias - mean * factor), **attributes)
