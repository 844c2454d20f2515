"""Resize and Upsample: along each axis, a weighted sum of what a few constant positions gather.

Positions are ratios of whole numbers: in f64 `k * (m / n)` is just below, or above, one that is whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError

_COORDINATES = (
    "align_corners",
    "asymmetric",
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "tf_crop_and_resize",
)
_NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@dataclass(frozen=True)
class _Axis:
    """How one axis is resized."""

    index: int
    size: int
    """Elements before."""
    result: int
    """Elements after."""
    scale: Fraction
    region: tuple[float, float] = (0.0, 1.0)
    """What part of the axis tf_crop_and_resize takes."""


@dataclass(frozen=True)
class _Method:
    """What all axes share."""

    mode: str
    coordinates: str
    nearest: str = "floor"
    cubic: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    outside: float = 0.0


def _resize(node: Node) -> SSAValue:
    if node.opset < 11:
        return _upsample(node)
    method = _Method(
        node.text("mode", "nearest"),
        node.text("coordinate_transformation_mode", "half_pixel"),
        node.text("nearest_mode", "round_prefer_floor"),
        node.float("cubic_coeff_a", -0.75),
        node.flag("exclude_outside", default=False),
        node.flag("antialias", default=False),
        node.float("extrapolation_value", 0.0),
    )
    return _apply(node, node.x(), method, _axes(node, method))


def _upsample(node: Node) -> SSAValue:
    """Upsample, and Resize of opset 10: the scale of every axis; positions are `x / scale`.

    The nearest is the next one where an axis shrinks, as ONNX's test of opset 10 and onnxruntime have it
    (`[1, 2, 3, 4]` by 0.6 is `[1, 3]`), else the one before.
    """
    if node.op == "Upsample" and node.opset < 9:
        attribute = node.attribute("scales")
        scales = list(attribute.floats) if attribute is not None else []
    else:
        scales = _floats(node, 1, "scales")
    shape = node.shape()
    _check_count("scales", scales, len(shape))
    axes = [
        _scaled(d, size, scale) for d, (size, scale) in enumerate(zip(shape, scales, strict=True))
    ]
    x, mode = node.x(), node.text("mode", "nearest")
    for axis in axes:
        method = _Method(mode, "asymmetric", "ceil" if axis.scale < 1 else "floor")
        x = _apply(node, x, method, [axis])
    return x


def _apply(node: Node, x: SSAValue, method: _Method, axes: Sequence[_Axis]) -> SSAValue:
    if method.mode not in ("nearest", "linear", "cubic"):
        raise InarchError(f"expected mode nearest, linear or cubic, found '{method.mode}'")
    if method.coordinates not in _COORDINATES:
        raise InarchError(
            f"expected coordinate_transformation_mode {', '.join(_COORDINATES)}, "
            f"found '{method.coordinates}'"
        )
    if method.nearest not in _NEAREST:
        raise InarchError(f"expected nearest_mode {', '.join(_NEAREST)}, found '{method.nearest}'")
    if method.mode != "nearest" and not node.dtype().is_float:
        raise NotSupportedError(f"mode {method.mode} on {node.dtype().name}")
    for axis in axes:
        if axis.result == axis.size and axis.scale == 1 and axis.region == (0.0, 1.0):
            continue
        if not axis.size and axis.result:
            raise InarchError(f"expected elements along axis {axis.index}, found none")
        x = _along(node, x, method, axis)
    return x


def _along(node: Node, x: SSAValue, method: _Method, axis: _Axis) -> SSAValue:
    taps = 1 if method.mode == "nearest" else 2 * _reach(method, axis)
    node.room(max(1, axis.result), taps)
    node.builder.expect(3 * taps)
    if taps > 2 * axis.size + 4 and axis.result:
        raise InarchError(
            f"expected a scale that leaves more of axis {axis.index}, found {float(axis.scale)}"
        )
    positions = _positions(method.coordinates, axis)
    rank = len(shape_of(x))
    column = [axis.result if d == axis.index else 1 for d in range(rank)]
    if method.mode == "nearest":
        indices = np.clip(positions.nearest(method.nearest), 0, max(axis.size - 1, 0))
        result = node.graph.gather(x, node.constant(indices), axis=axis.index)
    else:
        indices, weights = _taps(positions, method, axis)
        parts = [
            node.graph.mul(
                node.graph.gather(x, node.constant(taken), axis=axis.index),
                node.constant(weight.astype(node.dtype().numpy).reshape(column)),
            )
            for taken, weight in zip(indices, weights, strict=True)
        ]
        result = reduce(node.graph.add, parts)
    outside = positions.outside(axis.size)
    if method.coordinates != "tf_crop_and_resize" or not outside.any():
        return result
    mask = node.constant(outside.reshape(column))
    return node.graph.select(mask, method.outside, result)


@dataclass(frozen=True)
class _Positions:
    """Where each element of the result is among those of the input: `above[k] / below`."""

    above: Sequence[int]
    below: int

    def floor(self) -> Array:
        """The elements before."""
        return np.array([above // self.below for above in self.above], np.int64)

    def rest(self) -> Array:
        """How far behind them, from 0 to below 1."""
        return np.array([above % self.below / self.below for above in self.above], np.float64)

    def nearest(self, mode: str) -> Array:
        """The element that `mode` takes for the nearest one."""
        below = self.below
        match mode:
            case "floor":
                found = [above // below for above in self.above]
            case "ceil":
                found = [-(-above // below) for above in self.above]
            case "round_prefer_floor":
                found = [-((below - 2 * above) // (2 * below)) for above in self.above]
            case _:
                found = [(2 * above + below) // (2 * below) for above in self.above]
        return np.array(found, np.int64)

    def outside(self, size: int) -> Array:
        """Which are before the first of `size` elements or behind the last."""
        last = (size - 1) * self.below
        return np.array([not 0 <= above <= last for above in self.above], bool)


def _positions(mode: str, axis: _Axis) -> _Positions:
    """ONNX's Resize, `coordinate_transformation_mode`: `first + k * step` for element k of the result."""
    if not axis.result:
        return _Positions([], 1)
    half = Fraction(1, 2)
    width = axis.scale * axis.size  # as ONNX's reference has it: before it is rounded down
    start, end = (Fraction(edge) for edge in axis.region)
    step, last = 1 / axis.scale, axis.size - 1
    match mode:
        case "align_corners":
            first, step = Fraction(0), Fraction(0) if width == 1 else last / (width - 1)
        case "asymmetric":
            first = Fraction(0)
        case "tf_crop_and_resize" if width == 1:
            first, step = half * (start + end) * last, Fraction(0)
        case "tf_crop_and_resize":
            first, step = start * last, (end - start) * last / (width - 1)
        case "pytorch_half_pixel" if width == 1:
            first, step = Fraction(0), Fraction(0)
        case "half_pixel_symmetric":
            first = Fraction(axis.size, 2) * (1 - axis.result / width) + half * step - half
        case _:
            first = half * step - half
    below = math.lcm(first.denominator, step.denominator)
    begin, by = int(first * below), int(step * below)
    return _Positions([begin + k * by for k in range(axis.result)], below)


def _taps(positions: _Positions, method: _Method, axis: _Axis) -> tuple[list[Array], list[Array]]:
    """Per tap, the index and the weight at each position; taps that weigh nothing are left out."""
    stretch, reach = _stretch(method, axis), _reach(method, axis)
    offsets = np.arange(1 - reach, reach + 1)
    distance = (offsets[:, None] - positions.rest()) * stretch
    weights = _linear(distance) if method.mode == "linear" else _cubic(distance, method.cubic)
    indices = positions.floor() + offsets[:, None]
    if method.exclude_outside:
        weights = np.where((indices < 0) | (indices >= axis.size), 0.0, weights)
    if method.exclude_outside or method.antialias:
        total = weights.sum(0)
        weights = weights / np.where(total == 0, 1.0, total)
    indices = np.clip(indices, 0, max(axis.size - 1, 0))
    kept = [tap for tap, weight in enumerate(weights) if weight.any()] or [0]
    return [indices[tap] for tap in kept], [weights[tap] for tap in kept]


def _stretch(method: _Method, axis: _Axis) -> float:
    """By how much the kernel is narrower than its neighbours are apart: less than 1, it is wider."""
    return min(float(axis.scale), 1.0) if method.antialias else 1.0


def _reach(method: _Method, axis: _Axis) -> int:
    """Taps on each side of a position."""
    return math.ceil((1 if method.mode == "linear" else 2) / _stretch(method, axis))


def _linear(distance: Array) -> Array:
    return np.maximum(0.0, 1.0 - np.abs(distance))


def _cubic(distance: Array, a: float) -> Array:
    """Keys' convolution kernel (IEEE Trans. ASSP 29, 1981, equation 4) with coefficient a."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _axes(node: Node, method: _Method) -> list[_Axis]:
    shape = node.shape()
    names = node.ints("axes", range(len(shape)))
    names = [node.axis(axis, len(shape)) for axis in names]
    if len(set(names)) != len(names):
        raise InarchError(f"expected different axes, found {names}")
    scales = _floats(node, 2, "scales") if node.has(2) else []
    sizes = node.numbers(3, "sizes") if node.has(3) else []
    if bool(scales) == bool(sizes):
        raise InarchError(f"expected either scales or sizes, found {scales} and {sizes}")
    regions = [(0.0, 1.0)] * len(names)
    if method.coordinates == "tf_crop_and_resize":
        if scales:
            raise NotSupportedError("tf_crop_and_resize by scales")
        region = _floats(node, 1, "roi")
        _check_count("numbers of roi", region, 2 * len(names))
        regions = list(zip(region[: len(names)], region[len(names) :], strict=True))
    if scales:
        _check_count("scales", scales, len(names))
        return [_scaled(d, shape[d], scale) for d, scale in zip(names, scales, strict=True)]
    _check_count("sizes", sizes, len(names))
    if min(sizes) < 0 or any(size and not shape[d] for d, size in zip(names, sizes, strict=True)):
        raise InarchError(f"expected sizes that {shape} can be resized to, found {sizes}")
    ratios = [Fraction(size, max(shape[d], 1)) for d, size in zip(names, sizes, strict=True)]
    policies = ("stretch", "not_larger", "not_smaller")
    policy = node.choice("keep_aspect_ratio_policy", policies, "stretch")
    if policy != "stretch":
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        ratios = [ratio] * len(names)
        sizes = [math.floor(ratio * shape[d] + Fraction(1, 2)) for d in names]
    found = zip(names, sizes, ratios, regions, strict=True)
    return [_Axis(d, shape[d], size, ratio, region) for d, size, ratio, region in found]


def _scaled(index: int, size: int, scale: float) -> _Axis:
    if not 0 < scale < math.inf:
        raise InarchError(f"expected scales > 0, found {scale}")
    exact = Fraction(scale)
    return _Axis(index, size, math.floor(size * exact), exact)


def _floats(node: Node, index: int, what: str) -> list[float]:
    """Input `index` as constant numbers; none when it is left out."""
    if not node.has(index):
        return []
    array = node.array(index, what)
    if array.dtype.kind != "f" or array.ndim != 1:
        raise InarchError(
            f"expected {what} to be a list of floats, "
            f"found {array.dtype.name} of shape {array.shape}"
        )
    return [float(value) for value in array]


def _check_count(what: str, values: Sequence[float], count: int) -> None:
    if len(values) != count:
        raise InarchError(f"expected {count} {what}, found {list(values)}")


CONVERTERS: dict[str, Converter] = {"Resize": _resize, "Upsample": _upsample}
