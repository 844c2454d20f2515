"""The numbers that a layer is measured with: equal in every process, from a fixed seed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inarch.benchmark.layers import Conv, Layer
from inarch.core.lazy import Array, np

_SEED = 2026


@dataclass(frozen=True)
class Arrays:
    """Operands of a layer in float32: `w` is the second operand of a product."""

    x: Array
    w: Array
    bias: Array | None


def arrays_of(layer: Layer) -> Arrays:
    """Standard normal input, weights that keep its magnitude, and a small bias."""
    rng = np.random.default_rng(_SEED)
    if isinstance(layer, Conv):
        terms, width = layer.channels // layer.groups * layer.window**2, layer.outputs
    else:
        terms, width = layer.k, layer.n
    x = rng.standard_normal(layer.input_shape, np.float32)
    w = rng.standard_normal(layer.weight_shape, np.float32) * np.float32(1 / math.sqrt(terms))
    has_bias = isinstance(layer, Conv) or layer.bias
    bias = rng.standard_normal(width, np.float32) * np.float32(0.1) if has_bias else None
    return Arrays(x, w, bias)


def sample(output: Array) -> list[float]:
    """64 elements of an output, spread over it: enough to tell a wrong result from a right one."""
    flat = np.asarray(output, np.float32).reshape(-1)
    places = np.linspace(0, flat.size - 1, min(64, flat.size)).astype(np.int64)
    return [float(value) for value in flat[places]]
