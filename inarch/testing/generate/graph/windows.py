"""Convolutions and pooling of random windows, and layers of real networks with what follows them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inarch.core.dtypes import DType
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.windows import pool
from inarch.dialects.graph.windows.conv_transpose import MAX_PHASES, phase_count
from inarch.testing.generate.choices import Choices
from inarch.testing.generate.graph.builder import GraphBuilder, Recipe, is_float, is_number
from inarch.testing.generate.graph.layers import CONVOLUTIONS, PRODUCTS
from inarch.testing.generate.graph.products import follow

CHANNELS = (1, 2, 3, 4, 8, 16, 5, 7, 17, 32, 33, 48, 64, 70)


@dataclass(frozen=True)
class _Window:
    sizes: list[int]
    strides: list[int]
    begins: list[int]
    ends: list[int]
    dilations: list[int]

    @property
    def pads(self) -> list[int]:
        return [*self.begins, *self.ends]


def _window(choices: Choices, spatial: Sequence[int], *, most_pad: int | None) -> _Window:
    """A window that fits the padded image: the pads make up what the image lacks.

    `most_pad`: no pad is larger than the window less this (pooling needs an element in each).
    """
    found = _Window([], [], [], [], [])
    for size in spatial:
        window = choices.pick((3, 1, 2, 5, 4, 7))
        dilation = choices.weighted([(8, 1), (3, 2), (1, 3)])
        if most_pad is not None:
            window = min(window, max(size, 1))
            dilation = 1 if (window - 1) * dilation >= size else dilation
        stride = choices.weighted([(8, 1), (4, 2), (1, 3), (1, 8)])
        extent = (window - 1) * dilation + 1
        limit = extent - 1 if most_pad is None or dilation > 1 else window - 1
        limit = 0 if most_pad is not None and dilation > 1 else min(limit, size)
        kind = choices.pick(("none", "same", "any"))
        begin, end = {
            "none": (0, 0),
            "same": (extent // 2, extent // 2),
            "any": (choices.integer(0, extent - 1), choices.integer(0, extent)),
        }[kind]
        if most_pad is not None:
            begin, end = min(begin, limit), min(end, limit)
        end += max(0, extent - size - begin - end)
        found.sizes.append(window)
        found.dilations.append(dilation)
        found.strides.append(stride)
        found.begins.append(begin)
        found.ends.append(end)
    return found


def _image(b: GraphBuilder) -> tuple[int, ...]:
    rank = b.choices.weighted([(2, 2), (8, 2), (3, 1), (1, 3)])
    sizes = [b.choices.pick((5, 1, 2, 3, 7, 8, 9, 14, 17)) for _ in range(rank)]
    batch = b.choices.weighted([(6, 1), (2, 2), (1, 3)])
    return b.bounded([batch, _channels(b), *sizes])


def _channels(b: GraphBuilder) -> int:
    """Below, at and above every vector; any number to 70, as blocks of channels have remainders."""
    return b.choices.integer(1, 70) if b.choices.chance(30) else b.choices.pick(CHANNELS)


def _fits(shape: tuple[int, ...]) -> bool:
    return 3 <= len(shape) <= 5 and math.prod(shape) > 0 and math.prod(shape[2:]) <= 4096


def conv(b: GraphBuilder) -> None:
    """A convolution: of any rank, grouped, dilated, strided beyond its window, on images below it."""
    x = b.value(is_number, _fits, lambda: _image(b))
    if not _fits(shape_of(x)):
        return
    batch, channels, *spatial = shape_of(x)
    window = _window(b.choices, spatial, most_pad=None)
    if b.choices.chance(20):  # pointwise: a matrix product, and half of a network
        ones, zeros = [1] * len(spatial), [0] * len(spatial)
        window = _Window(ones, ones, zeros, zeros, ones)
    kind = b.choices.weighted([(6, "dense"), (3, "depthwise"), (2, "grouped")])
    divisors = [g for g in range(1, channels + 1) if channels % g == 0]
    groups = {"dense": 1, "depthwise": channels, "grouped": b.choices.pick(divisors)}[kind]
    filters = groups * b.choices.pick((1, 2)) if groups > 1 else _channels(b)
    taps = math.prod(window.sizes)
    outputs = [
        (size + begin + end - (k - 1) * d - 1) // s + 1
        for size, begin, end, k, d, s in zip(
            spatial, window.begins, window.ends, window.sizes, window.dilations, window.strides,
            strict=True,
        )
    ]  # fmt: skip
    points = batch * math.prod(outputs)
    if points * filters > 4 * b.most_elements or (
        points * filters * (channels // groups) * taps > 2 * b.most_work
    ):
        filters = groups
    dtype = tensor_dtype(x)
    operands = [x, b.fresh(dtype, (filters, channels // groups, *window.sizes), 60)]
    if b.choices.chance(40):
        operands.append(b.fresh(dtype, (filters,), 70))
    y = b.graph.conv(
        *operands,
        strides=window.strides,
        pads=window.pads,
        dilations=window.dilations,
        groups=groups,
    )
    follow(b, y)


def conv_transpose(b: GraphBuilder) -> None:
    """A transposed convolution: of any rank, grouped, dilated, with a stride beyond its window, and cut."""
    x = b.value(is_number, _fits, lambda: _image(b))
    if not _fits(shape_of(x)):
        return
    batch, channels, *spatial = shape_of(x)
    choices = b.choices
    window, extra, outputs = _window(choices, spatial, most_pad=None), list[int](), list[int]()
    for d, (size, stride) in enumerate(zip(spatial, window.strides, strict=True)):
        extent = (window.sizes[d] - 1) * window.dilations[d] + 1
        extra.append(choices.weighted([(6, 0), (3, 1), (1, stride + 2)]))
        full = (size - 1) * stride + extent + extra[d]
        window.begins[d] = min(window.begins[d], full - 1)
        window.ends[d] = min(window.ends[d], full - 1 - window.begins[d])
        outputs.append(full - window.begins[d] - window.ends[d])
    if phase_count(window.strides, outputs) > MAX_PHASES:
        return
    divisors = [g for g in range(1, channels + 1) if channels % g == 0]
    kind = choices.weighted([(6, "dense"), (2, "depthwise"), (2, "grouped")])
    groups = {"dense": 1, "depthwise": channels, "grouped": choices.pick(divisors)}[kind]
    filters = choices.pick((1, 2)) if groups > 1 else _channels(b)
    points, taps = batch * math.prod(outputs), math.prod(window.sizes)
    if points * filters * groups > 4 * b.most_elements or (
        batch * math.prod(spatial) * filters * channels * taps > 2 * b.most_work
    ):
        filters = 1
    dtype = tensor_dtype(x)
    operands = [x, b.fresh(dtype, (channels, filters, *window.sizes), 60)]
    if choices.chance(40):
        operands.append(b.fresh(dtype, (groups * filters,), 70))
    y = b.graph.conv_transpose(
        *operands,
        strides=window.strides,
        pads=window.pads,
        output_padding=extra,
        dilations=window.dilations,
        groups=groups,
    )
    follow(b, y)


def pooling(kind: type[pool.PoolOp]) -> Recipe:
    """The recipe of a pooling op; each of its windows has an element of the image."""

    def recipe(b: GraphBuilder) -> None:
        def takes(dtype: DType) -> bool:
            return dtype.is_float or (kind is pool.MaxPoolOp and is_number(dtype))

        x = b.value(takes, _fits, lambda: _image(b))
        if not _fits(shape_of(x)) or not takes(tensor_dtype(x)):
            return
        window = _window(b.choices, shape_of(x)[2:], most_pad=1)
        properties: dict[str, Any] = {
            "window": window.sizes,
            "strides": window.strides,
            "pads": window.pads,
            "dilations": window.dilations,
            "ceil_mode": b.choices.chance(30),
        }
        if kind is pool.AvgPoolOp:
            properties["count_include_pad"] = b.choices.chance(40)
        b.add(kind.make(x, **properties))

    return recipe


def layer(b: GraphBuilder) -> None:
    """A layer of a real network with its weights at run time, and what follows it."""
    if b.choices.chance(70):
        shape = b.choices.pick(CONVOLUTIONS)
        if not b.full:
            shape = shape.narrow(b.most_work) if b.choices.chance(40) else shape.small()
        x = b.argument(b.any_dtype(is_float), (1, shape.channels, shape.size, shape.size))
        dtype = tensor_dtype(x)
        kernel = (shape.filters, shape.channels // shape.groups, shape.window, shape.window)
        weights = b.argument(dtype, kernel)
        bias = [b.argument(dtype, (shape.filters,))] if b.choices.chance(30) else []
        y = b.graph.conv(
            x,
            weights,
            *bias,
            strides=[shape.stride] * 2,
            pads=[shape.pad] * 4,
            groups=shape.groups,
        )
    else:
        product = b.choices.pick(PRODUCTS)
        product = product if b.full else product.small()
        batch = (product.batch,) if product.batch else ()
        x = b.argument(b.any_dtype(is_float), (*batch, product.rows, product.depth))
        weights = b.argument(tensor_dtype(x), (*batch, product.depth, product.columns))
        y = b.graph.matmul(x, weights)
    follow(b, y)
