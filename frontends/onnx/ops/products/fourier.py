"""DFT, STFT and MelWeightMatrix: of lengths that are known, products with matrices that are constant."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.onnx.tensors import element_dtype


def _dft(node: Node) -> SSAValue:
    """`y[k] = sum of x[n] exp(-2 pi i k n / N)` along an axis; the inverse has exp(+...) / N.

    x: [..., 1], real, or [..., 2], complex. y: [..., 2], along the axis N long, or N // 2 + 1 if `onesided`.
    The inverse of what is onesided is real, [..., 1]; N is `dft_length`, else what fits x, an even number.
    """
    shape = node.shape()
    if len(shape) < 2 or shape[-1] not in (1, 2):
        raise InarchError(
            f"expected an input of rank 2 or more whose last size is 1 or 2, found shape {shape}"
        )
    axis = node.axis(_dft_axis(node), len(shape))
    if axis == len(shape) - 1:
        raise InarchError(f"expected an axis before the last of {len(shape)}, found {axis}")
    inverse = node.flag("inverse", default=False)
    onesided = node.flag("onesided", default=False)
    halved = onesided and inverse
    length = shape[axis] if not halved else 2 * (shape[axis] - 1)
    length = int(node.scalar(1, "dft_length")) if node.has(1) else length
    if length < 1 or (onesided and shape[-1] != 1 + inverse):
        kind = "complex" if inverse else "real"
        raise InarchError(
            f"expected a length >= 1, and {kind} input of what is onesided, found {length} and {shape}"
        )
    x = _of_length(node, node.x(), axis, length // 2 + 1 if halved else length)
    order = [*(d for d in range(len(shape) - 1) if d != axis), axis, len(shape) - 1]
    x = x if order == sorted(order) else node.graph.transpose(x, perm=order)
    if halved:
        found = _real(node, x, length)
    else:
        found = _transform(node, x, onesided=onesided, inverse=inverse)
    back = [order.index(d) for d in range(len(shape))]
    return found if back == sorted(back) else node.graph.transpose(found, perm=back)


def _dft_axis(node: Node) -> int:
    """An attribute before opset 20, then an input."""
    if node.opset < 20:
        return node.int("axis", 1)
    return int(node.scalar(2, "axis")) if node.has(2) else -2


def _of_length(node: Node, x: SSAValue, axis: int, length: int) -> SSAValue:
    """X cut to a length along an axis, or with zeros behind it."""
    shape = shape_of(x)
    if shape[axis] > length:
        return node.part(x, axis, 0, length)
    if shape[axis] < length:
        more = [length - size if d == axis else 0 for d, size in enumerate(shape)]
        return node.graph.pad(x, low=[0 for _ in shape], high=more, value=0.0)
    return x


def _transform(
    node: Node, x: SSAValue, *, onesided: bool, inverse: bool = False, window: Array | None = None
) -> SSAValue:
    """x: [..., N, 1 or 2] as [..., count, 2]; `window`, [N], is what x is first multiplied with."""
    *rest, length, parts = shape_of(x)
    count = length // 2 + 1 if onesided else length
    node.room(length * parts, 2 * count)
    matrix = _twiddles(length, count, parts, inverse=inverse)
    if window is not None:
        matrix = matrix * window.reshape(length, 1, 1, 1)
    matrix = matrix.reshape(length * parts, 2 * count).astype(tensor_dtype(x).numpy)
    rows = node.reshape(x, (math.prod(rest), length * parts))
    product = node.graph.matmul(rows, node.constant(matrix))
    return node.reshape(product, (*rest, count, 2))


def _real(node: Node, x: SSAValue, length: int) -> SSAValue:
    """The real numbers, [..., N, 1], whose DFT begins with x, [..., N // 2 + 1, 2], and goes on mirrored."""
    *rest, count, _ = shape_of(x)
    node.room(2 * count, length)
    matrix = _twiddles(length, length, 2, inverse=True)[:count, :, :, 0]
    twice = np.full(count, 2.0)
    twice[0] = 1
    if length % 2 == 0:
        twice[-1] = 1
    matrix = (matrix * twice.reshape(-1, 1, 1)).reshape(2 * count, length)
    rows = node.reshape(x, (math.prod(rest), 2 * count))
    product = node.graph.matmul(rows, node.constant(matrix.astype(tensor_dtype(x).numpy)))
    return node.reshape(product, (*rest, length, 1))


def _twiddles(length: int, count: int, parts: int, *, inverse: bool) -> Array:
    """[N, 1 or 2, count, 2]: what the real, and the imaginary, part of x[n] adds to both of y[k]; f64."""
    iterations = np.outer(np.arange(length), np.arange(count)) % length
    angle = iterations * (2 * np.pi / length) * (1 if inverse else -1)
    cos, sin = np.cos(angle), np.sin(angle)
    found = np.stack([np.stack([cos, sin], -1), np.stack([-sin, cos], -1)], axis=1)[:, :parts]
    return found / length if inverse else found


def _stft(node: Node) -> SSAValue:
    """DFTs of frames: [batch, frames, count, 2] of a signal [batch, length, 1 or 2]; `window`, [frame]."""
    shape, step = node.shape(), int(node.scalar(1, "frame_step"))
    if len(shape) != 3 or shape[2] not in (1, 2):
        raise InarchError(f"expected a signal [batch, length, 1 or 2], found shape {shape}")
    length = shape[1]
    if node.has(2):
        length = node.shape(2)[0] if len(node.shape(2)) == 1 else 0
    if node.has(3):
        said = int(node.scalar(3, "frame_length"))
        if node.has(2) and said != length:
            raise InarchError(f"expected a window of {said}, as frame_length, found {length}")
        length = said
    onesided = node.flag("onesided", default=True)
    if not 1 <= length <= shape[1] or step < 1 or (onesided and shape[2] == 2):
        raise InarchError(
            f"expected frames within {shape[1]}, frame_step >= 1, and a real signal of what is onesided, "
            f"found frames of {length}, {step} and shape {shape}"
        )
    frames = (shape[1] - length) // step + 1
    node.room(frames, length)
    places = np.arange(frames).reshape(-1, 1) * step + np.arange(length)
    cut = node.graph.gather(node.x(), node.constant(places.astype(np.int64)), axis=1)
    if not node.has(2):
        return _transform(node, cut, onesided=onesided)
    window = node.builder.arrays.get(node.x(2))
    if window is not None:
        return _transform(node, cut, onesided=onesided, window=window.astype(np.float64))
    cut = node.graph.mul(cut, node.reshape(node.x(2), (length, 1)))
    return _transform(node, cut, onesided=onesided)


def _mel_weight_matrix(node: Node) -> SSAValue:
    """Triangles, [dft_length // 2 + 1, bins]: from edge i up to 1 at edge i + 1, and down to edge i + 2.

    The edges are even steps of `2595 log10(1 + f / 700)`, as bins of the DFT; the inputs are constants.
    """
    names = ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")
    bins, length, rate, low, high = (node.scalar(index, name) for index, name in enumerate(names))
    if bins < 1 or length < 1 or rate < 1 or low <= -700 or high < low:
        raise InarchError(
            f"expected {', '.join(names)} > 0, found {[bins, length, rate, low, high]}"
        )
    dtype = element_dtype(node.int("output_datatype", 1))
    rows = length // 2 + 1
    node.room(rows, bins, itemsize=dtype.nbytes)
    edges = _edges(int(bins), int(length), int(rate), float(low), float(high))
    if edges[0] < 0 or edges[-2] >= rows:
        raise InarchError(
            f"expected edges within half of the sample rate {rate}, found {low} and {high}"
        )
    return node.constant(_triangles(rows, edges).astype(dtype.numpy))


def _edges(bins: int, length: int, rate: int, low: float, high: float) -> Array:
    """[bins + 2], i64."""
    first, last = (2595 * math.log10(1 + edge / 700) for edge in (low, high))
    step = (last - first) / (bins + 2)
    hertz = [700 * (10 ** ((first + index * step) / 2595) - 1) for index in range(bins + 2)]
    return np.array([int((length + 1) * each // rate) for each in hertz], np.int64)


def _triangles(rows: int, edges: Array) -> Array:
    """[rows, bins], f64; of no width, 1 at the middle."""
    places = np.arange(rows).reshape(-1, 1)
    left, peak, right = edges[:-2], edges[1:-1], edges[2:]
    up = (places - left) / np.maximum(peak - left, 1)
    down = (right - places) / np.maximum(right - peak, 1)
    rises = (places >= left) & (places <= peak)
    falls = (places >= peak) & (places < right)
    found = np.where(falls, down, np.where(rises, up, 0))
    found[peak, np.arange(len(peak))] = 1
    return found


CONVERTERS: dict[str, Converter] = {
    "DFT": _dft,
    "MelWeightMatrix": _mel_weight_matrix,
    "STFT": _stft,
}
