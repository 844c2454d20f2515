"""What operands hold when a kernel is called: numbers that make different faults show."""

from __future__ import annotations

from typing import Literal

from inarch.core.dtypes import float_limits
from inarch.core.lazy import Array, np

Kind = Literal["integers", "reals", "special", "tiny", "large", "sparse", "lowest", "highest"]
"""What the elements are.

    integers  small whole numbers: sums of products are exact in any order
    reals     the normal distribution (integers of 8 bits: all; of 32 and 64: all that cannot overflow)
    special   small whole numbers, zeros of both signs, and few NaN and infinities
    tiny      denormals and the smallest normals; one operand, or none, has numbers around 1
    large     of magnitude 2^30, of both signs, so that sums cancel (integers of 8 bits: mostly 127)
    sparse    odd numbers of 12 bits among zeros: few terms, so that little precision shows
    lowest    all -infinity, where a maximum is reduced: no number is where it begins (integers: large)
    highest   all infinity, the same for a minimum
"""
KINDS: tuple[Kind, ...] = ("integers", "reals", "special", "tiny", "large", "sparse")
EXTREMES: dict[str, Kind] = {"max=": "lowest", "min=": "highest"}
"""What is also tried of meanings that have these operators."""
INFINITE: frozenset[Kind] = frozenset({"special", "lowest", "highest"})
"""The kinds with infinities or NaN."""

_DENSITIES = (0.06, 0.3)
"""Of sparse operands: with the first a product of long rows has few terms, the second is for short ones."""
_FEW = 4
_SPECIAL = (np.nan, np.inf, -np.inf)


def values(
    kind: Kind, count: int, dtype: np.dtype, random: np.random.Generator, magnitude: int = 0
) -> Array:
    """`count` elements of `dtype`; of integers of 32 bits and more `magnitude` bounds the large kinds."""
    if dtype.kind == "b":
        return random.integers(0, 2, count).astype(dtype)
    if dtype.kind in "iu":
        if magnitude and kind in ("reals", "large"):
            low = 0 if dtype.kind == "u" else -magnitude
            return random.integers(low, magnitude, count, dtype, endpoint=True)
        return _integers(kind, count, dtype, random)
    if kind == "integers":
        return _small(count, random).astype(dtype)
    if kind == "reals":
        return random.standard_normal(count).astype(dtype)
    if kind == "large":
        size = min(2.0**30, float_limits(dtype).most ** 0.25)
        return (random.standard_normal(count) * size).astype(dtype)
    if kind == "sparse":
        is_kept = random.random(count) < random.choice(_DENSITIES)
        odd = 2 * random.integers(-1024, 1024, count) + 1
        return np.where(is_kept, odd, 0).astype(dtype)
    if kind in ("lowest", "highest"):
        return np.full(count, -np.inf if kind == "lowest" else np.inf, dtype)
    if kind == "tiny":
        # Around the smallest normal number; below it are the denormals.
        return (float_limits(dtype).normal * random.uniform(-2, 2, count)).astype(dtype)
    return _with_specials(_small(count, random), random).astype(dtype)


def poison(
    count: int, dtype: np.dtype, random: np.random.Generator, *, is_written: bool, as_nan: bool
) -> Array:
    """What stands in the gaps: where it must not be read NaN, or large numbers; else small ones.

    Gaps of an operand that is written must stay as they are, and NaN would stay NaN.
    """
    if dtype.kind == "b":
        return random.integers(0, 2, count).astype(dtype)
    if dtype.kind in "iu":
        return np.frombuffer(random.bytes(count * dtype.itemsize), dtype)
    if is_written:
        return random.uniform(0.1, 0.9, count).astype(dtype)
    if as_nan:
        return np.frombuffer(b"\xff" * (count * dtype.itemsize), dtype)
    most = float_limits(dtype).most
    numbers = random.uniform(most**0.5, most**0.78, count)
    return (numbers * random.choice([-1, 1], count)).astype(dtype)


def _small(count: int, random: np.random.Generator) -> Array:
    """From -8 to 8, without 0, which would hide a fault."""
    return random.integers(1, 9, count) * random.choice([-1.0, 1.0], count)


def _integers(kind: Kind, count: int, dtype: np.dtype, random: np.random.Generator) -> Array:
    limits = np.iinfo(dtype)
    # Sums of products of 16 bits must fit 32: what they are otherwise, C leaves undefined.
    low, high = max(limits.min, -2048), min(limits.max, 2047)
    if kind == "reals" and dtype.itemsize <= 2:
        return random.integers(low, high, count, dtype, endpoint=True)
    if kind in ("large", "lowest", "highest") and dtype.itemsize <= 2:
        return random.choice([low, high, high, high], count).astype(dtype)
    return random.integers(max(-8, limits.min), 9, count).astype(dtype)


def _with_specials(found: Array, random: np.random.Generator) -> Array:
    zero = random.random(len(found)) < 0.2
    found = np.where(zero, random.choice([0.0, -0.0], len(found)), found)
    # Of few elements none may be special: a factor of 0 must not hide the NaN that it meets.
    least = 1 if len(found) >= _FEW else int(random.integers(2))
    for _ in range(least + len(found) // 64):
        found[random.integers(len(found))] = random.choice(_SPECIAL)
    return found
