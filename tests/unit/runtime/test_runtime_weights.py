"""Convolutions whose weights are inputs, at the layer shapes of real networks, equal NumPy at every level.

The numbers are small integers, whose sums float32 holds exactly: results are equal, in whatever order a
kernel adds. All layers are functions of one program, which is built once a target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.benchmark.layers import LAYER_SETS, Conv
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from targets import here

Array = np.ndarray[Any, Any]
TARGETS = here("generic", "x86-64-v3", "x86-64-v4")

RAGGED = (
    Conv("c192", 192, 12, 12, 192, 3),
    Conv("c256", 256, 14, 14, 256, 3),
    Conv("c320", 320, 10, 10, 64, 3),
    Conv("k7", 64, 7, 7, 48, 7),
    Conv("k5", 48, 5, 5, 160, 5, 2),
    Conv("small-image", 70, 3, 3, 33, 5),
    Conv("beyond", 35, 9, 9, 17, 2, 4),
    Conv("one", 1, 8, 8, 1, 3),
)
"""Channels and windows of which no tile is a divisor; an image smaller than its window; gaps."""
VGG = tuple(
    Conv(f"vgg{c}x{size}", c, size, size, o, 3)
    for c, size, o in [(3, 64, 64), (64, 56, 128), (128, 56, 256), (256, 28, 512), (512, 14, 512)]
)
NETWORKS = tuple(
    layer
    for name in ("resnet50", "mobilenetv2")
    for layer in LAYER_SETS[name].layers
    if isinstance(layer, Conv)
)


def text_of(layers: Sequence[Conv], target: str) -> str:
    """A function a layer: with and without an activation by turns."""
    return "\n".join(
        [
            f'builtin.module attributes {{inarch.target = "{target}"}} {{',
            *(_function(at, layer) for at, layer in enumerate(layers)),
            "}",
        ]
    )


def _function(at: int, layer: Conv) -> str:
    shapes = layer.input_shape, layer.weight_shape, layer.output_shape
    x, w, y = (f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in shapes)
    pads = ", ".join([str(layer.pad)] * 4)
    by = f"strides = [{layer.stride}, {layer.stride}] pads = [{pads}] dilations = [1, 1]"
    relu = f"%1 = graph.relu %0 : {y} -> {y}" if at % 2 else ""
    return f"""  func.func @f{at}(%x: {x}, %w: {w}) -> {y} {{
    %0 = graph.conv %x, %w {by} groups = {layer.groups} : {x}, {w} -> {y}
    {relu}
    func.return %{at % 2} : {y}
  }}"""


def convolution(x: Array, w: Array, layer: Conv) -> Array:
    """The definition, by windows."""
    p, s = layer.pad, layer.stride
    image = np.pad(x[0], ((0, 0), (p, p), (p, p)))
    windows = np.lib.stride_tricks.sliding_window_view(image, w.shape[2:], axis=(1, 2))
    windows = windows[:, ::s, ::s]
    if layer.groups == layer.channels == layer.outputs:
        return np.einsum("cpqrs,crs->cpq", windows, w[:, 0])[None]
    assert layer.groups == 1
    return np.tensordot(w, windows, ((1, 2, 3), (0, 3, 4)))[None]


def check(layers: Sequence[Conv], target: str) -> None:
    """Builds the program for `target`, and compares every layer."""
    context = new_context()
    module = inarch.compile(parse_module(context, text_of(layers, target)), target=target)
    for at, layer in enumerate(layers):
        generator = np.random.default_rng(at)
        x, w = (
            generator.integers(-2, 3, shape).astype(np.float32)
            for shape in (layer.input_shape, layer.weight_shape)
        )
        expected = convolution(x, w, layer)
        expected = np.maximum(expected, 0) if at % 2 else expected
        np.testing.assert_array_equal(module[f"f{at}"](x, w), expected, layer.name)


def test_ragged_layers_with_weights_at_run_time() -> None:
    """On the machine's own level: what no tile divides is cut, padded and summed as it should."""
    check(RAGGED[2::3], "native")


@pytest.mark.slow
@pytest.mark.sampled(
    5, reason="all layers of two networks take 20 s a target; --cases all runs nine"
)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layers", [RAGGED, VGG, NETWORKS], ids=["ragged", "vgg", "networks"])
def test_layers_of_networks_with_weights_at_run_time(layers: Sequence[Conv], target: str) -> None:
    """Every distinct layer, at every level that this machine runs."""
    check(layers, target)
