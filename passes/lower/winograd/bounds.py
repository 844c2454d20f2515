"""How far rounding takes Winograd's convolutions from the exact ones: by element, and beside direct's.

With u the unit roundoff, and d roundings in the transforms of a tile:

    |error| <= (C + d) u |A^T| [ (|G| |w| |G^T|) (|B^T| |x| |B|) ] |A|          of F(m x m)
    |error| <= 9 C u (|w| * |x|)                                                of direct

Both sums are of C channels; a product of one channel has d roundings more in F(m x m), and one in direct.
What the second transform adds are sums of those, so the roundings on the longest way count (N. J. Higham,
Accuracy and Stability of Numerical Algorithms, 2002, lemma 3.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from inarch.core.lazy import Array, np
from inarch.core.rounding import denormal, gamma
from inarch.passes.lower.winograd.points import WINDOW, Matrix, Winograd


def error_of(
    winograd: Winograd,
    operands: Sequence[Array],
    pads: Sequence[int],
    *,
    at_run_time: bool = False,
) -> Array:
    """By element of the result [N, K, H, W]: at most so far from the exact one, with or without FMA.

    `operands`: x [N, C, H, W], w [K, C, 3, 3] and the bias [K], where there is one; finite or not. Infinite
    where a number on the way may be beyond the dtype's range: nothing is said of a finite one there.
    """
    x, w, *bias = operands
    outputs, weights, inputs = winograd.outputs, winograd.weights, winograd.inputs
    count = w.shape[1] + roundings(winograd, at_run_time=at_run_time) + len(bias)
    largest = float(np.finfo(w.dtype).max)
    with np.errstate(all="ignore"):
        v = _transformed(inputs, _tiles(np.abs(x.astype(np.float64)), outputs, pads))
        u = _transformed(weights, np.abs(w.astype(np.float64)))
        for each in (u, v):
            each[~(each <= largest)] = np.inf
        products = np.einsum("kcij,nctsij->nktsij", u, v, optimize=True)
        products[~(products <= largest)] = np.inf
        size = _transformed(outputs, products)
        # Below the normal numbers each operand, and each product of a sum, is off by a denormal.
        gain = _gain(winograd) * w.shape[1] * (1 + np.max(np.abs(x)) + np.max(np.abs(w)))
        found = gamma(count, w.dtype) * size + count * denormal(w.dtype) * gain
        found[~(found + size <= largest)] = np.inf
        for each in bias:
            found = (
                found
                + gamma(1, w.dtype) * np.abs(each.astype(np.float64))[:, None, None, None, None]
            )
    return _image(found, _sizes(x.shape[2:], pads))


def ratio(
    winograd: Winograd,
    channels: int,
    image: Sequence[int],
    pads: Sequence[int],
    w: Array | None,
    *,
    at_run_time: bool = False,
) -> float:
    """The greatest error of an output channel over all |x| <= 1, of direct's greatest; of the worst channel.

    Both are proved bounds. w None: weights of one size, as nothing is known of them. Infinity: there is none,
    as a weight is not finite, or all are 0.
    """
    if w is not None and not np.all(np.isfinite(w)):
        return math.inf
    outputs = winograd.outputs
    m, least = len(outputs), 3 * (len(outputs) + WINDOW)
    # Tiles in the middle are alike.
    sizes = [size if size <= least else least + (size - least) % m for size in image]
    taps = np.ones((1, 1, WINDOW, WINDOW)) if w is None else np.abs(w.astype(np.float64)).sum(1)
    taps = taps.reshape(-1, WINDOW, WINDOW)
    x = np.ones((1, 1, *sizes))
    v = _transformed(winograd.inputs, _tiles(x, outputs, pads))[0, 0]
    u = _transformed(winograd.weights, taps)
    ours = _image(_transformed(outputs, u[:, None, None] * v)[None], _sizes(sizes, pads))
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x[0, 0], ((pads[0], pads[2]), (pads[1], pads[3]))), (WINDOW, WINDOW)
    )
    theirs = np.einsum("kab,hwab->khw", taps, windows, optimize=True)
    least_sum, most = theirs.max((1, 2)), ours[0].max((1, 2))
    some = least_sum > 0
    if not np.any(some):
        return math.inf
    worst = float(np.max(most[some] / least_sum[some]))
    extra = roundings(winograd, at_run_time=at_run_time)
    return worst * (channels + extra) / (WINDOW**2 * channels)


def roundings(winograd: Winograd, *, at_run_time: bool = False) -> int:
    """On the longest way through the transforms: of rows, then of columns.

    The compiler rounds transformed weights once; at run time f32 has not all coefficients of G.
    """
    outputs, weights, inputs = winograd.outputs, winograd.weights, winograd.inputs
    is_rounded = any(one.denominator & (one.denominator - 1) for row in weights for one in row)
    own = 2 * (_steps(weights) + is_rounded) if at_run_time else 1
    return 2 * _steps(inputs) + own + 2 * _steps(outputs)


def _steps(matrix: Matrix) -> int:
    """Of the longest row: its additions, and a product by a number that is no power of two."""

    def of(row: Sequence[Fraction]) -> int:
        terms = [abs(one) for one in row if one]
        is_scaled = any(math.log2(one) % 1 for one in terms)
        return len(terms) - 1 + is_scaled

    return max(map(of, matrix))


def _gain(winograd: Winograd) -> float:
    """How much larger than x and w a number on the way may be."""
    outputs, weights, inputs = winograd.outputs, winograd.weights, winograd.inputs
    one = max(
        sum(
            abs(a) * sum(map(abs, weights[j])) * sum(map(abs, inputs[j])) for j, a in enumerate(row)
        )
        for row in outputs
    )
    return float(one * one)


def _transformed(matrix: Matrix, each: Array) -> Array:
    """`|M| x |M^T|` of the last two dimensions. What M does not use may be infinite."""
    for axis in (-1, -2):
        rows = [
            sum(abs(float(k)) * each.take(at, axis) for at, k in enumerate(row) if k)
            for row in matrix
        ]
        each = np.stack(rows, axis)  # pyright: ignore[reportArgumentType]  # no row is zeros
    return each


def _sizes(image: Sequence[int], pads: Sequence[int]) -> tuple[int, int]:
    """Of the result."""
    height, width = (image[at] + pads[at] + pads[at + 2] - WINDOW + 1 for at in (0, 1))
    return height, width


def _tiles(x: Array, outputs: Matrix, pads: Sequence[int]) -> Array:
    """[N, C, rows, columns, n, n] of x [N, C, H, W]: 0 outside of the image."""
    m = len(outputs)
    n = m + WINDOW - 1
    full = np.where(np.isnan(x), np.inf, x)
    around = [(0, 0), (0, 0)]
    for at, size in enumerate(_sizes(x.shape[2:], pads)):
        whole = -(-size // m) * m + WINDOW - 1
        around.append((pads[at], whole - pads[at] - x.shape[2 + at]))
    full = np.pad(full, [(low, max(high, 0)) for low, high in around])
    windows = np.lib.stride_tricks.sliding_window_view(full, (n, n), (2, 3))
    return windows[:, :, ::m, ::m]


def _image(tiles: Array, sizes: tuple[int, int]) -> Array:
    """[N, K, H, W] of tiles [N, K, rows, columns, m, m]."""
    batch, channels, rows, columns, m, _ = tiles.shape
    full = tiles.transpose(0, 1, 2, 4, 3, 5).reshape(batch, channels, rows * m, columns * m)
    return full[:, :, : sizes[0], : sizes[1]]
