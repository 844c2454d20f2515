"""How far right values may be apart: the one definition of an allowed rounding difference.

    gamma(n, dtype) * sum |a| |b|    a sum of products in any order, with or without FMA
    ULPS of a function               exp, log, ...
    WHOLE * max |value|              two evaluations of a whole network, or what it is measured to amplify
    DRAWN * max(1, |value|)          of a random graph of a few operators

Bounds of single values are made of the first two by `inarch.definitions.bounded`; those of kernels are twice
as wide (`inarch.verification.cases.expected`). The others are for what no bound can be had of. docs/verify.md
says it in words.
"""

from __future__ import annotations

import math
from typing import Any

from inarch.core.dtypes import DTYPES, float_limits, is_float_array
from inarch.core.lazy import Array, np

WHOLE = 1e-4
"""Of a value's largest magnitude: how far two evaluations of a whole network may be apart.

Rounding is amplified from layer to layer by what the network is, not by how it is compiled: what is farther
apart is right where that explains it (`inarch.diagnosis.network`).
"""

WAYS = 1e-3
"""The same between programs that are only measured: far above rounding, far below what is wrong."""


def ways(precision: str) -> float:
    """`WAYS` where products round their factors to a float (`--precision`): 16 of its unit roundoffs."""
    if precision == "f32":
        return WAYS
    return 16 * unit(np.dtype(DTYPES[precision].numpy))


DRAWN = {"float32": 3e-5, "float64": 1e-9}
"""The same of a random graph of a few operators, by dtype; of 1 where the value is smaller: its operators
are of numbers about 1, of which differences may be all that is left."""

OURS_ULPS = 2.0
"""What our own C of functions of f32 (`backends/c/write/value/elementary.py`) promises, in ulps."""

LIBRARY_ULPS = 4.0
"""What C libraries keep to: the manual of glibc, "Errors in Math Functions", lists at most 4.

Kernels of others are held to it."""


def unit(dtype: np.dtype[Any]) -> float:
    """The unit roundoff of a dtype of floats: half of an ulp of 1."""
    return float_limits(dtype).unit


def denormal(dtype: np.dtype[Any]) -> float:
    """The least denormal: what a product loses at most below the normal numbers."""
    return float_limits(dtype).least


def gamma(count: float, dtype: np.dtype[Any]) -> float:
    """What `count` roundings, one after the other, may change relatively.

    N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1.
    """
    return count * unit(dtype) / (1 - count * unit(dtype))


def probable(value: Array, count: float) -> float:
    """What `count` roundings of random sign change, as a rule: `sqrt(count)` units of the root mean square.

    N. J. Higham and T. Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019.
    """
    wide = np.asarray(value, np.float64)
    finite = wide[np.isfinite(wide)]
    size = math.sqrt(float(np.mean(finite * finite))) if finite.size else 0.0
    return math.sqrt(count) * unit(value.dtype) * size


def distance(expected: Array, found: Array) -> Array:
    """By element: 0 where both are NaN, or one infinity; infinite where only one is finite."""
    wide, other = (np.asarray(each, np.float64) for each in (expected, found))
    if not is_float_array(expected.dtype) and not is_float_array(
        found.dtype
    ):  # float64 has not all integers
        return np.where(expected == found, 0.0, np.maximum(np.abs(other - wide), 1.0))
    same = (wide == other) | (np.isnan(wide) & np.isnan(other))
    with np.errstate(invalid="ignore", over="ignore"):
        away = np.where(same, 0.0, np.abs(other - wide))
    return np.where(np.isnan(away), np.inf, away)


def largest(value: Array) -> float:
    """The largest finite magnitude of a value; 0 where there is none."""
    wide = np.asarray(value, np.float64)
    finite = np.abs(wide[np.isfinite(wide)])
    return float(finite.max(initial=0.0))


def relative(expected: Array, found: Array) -> float:
    """The largest distance, of the largest magnitude that is expected (of 1 where all are 0)."""
    away = float(distance(expected, found).max(initial=0.0))
    return away / (largest(expected) or 1.0) if away else 0.0


def whole(value: Array, share: float = WHOLE) -> Array:
    """What is allowed of a value of a whole network; integers and bools are exact."""
    return np.asarray(share * largest(value) if is_float_array(value.dtype) else 0.0)


def drawn(value: Array) -> Array:
    """What is allowed of a value of a random graph; integers and bools are exact."""
    share = DRAWN.get(value.dtype.name, WHOLE) if is_float_array(value.dtype) else 0.0
    return np.asarray(share * max(1.0, largest(value)))
