"""How far what a backend computes may be from its definition: a metric, and what is still right by it.

    Backend("npu", ..., tolerance="snr=20")           at least 20 dB of signal to noise
    Backend("npu", ..., tolerance="steps=1,snr=30")   integers within one step, floats within 30 dB
    inarch verify model.onnx --backend npu --tolerance top1=0.99

Each kind of dtype has its own: a step of integers says nothing of a float. A tolerance that zeros would meet
is none, and is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from inarch.core.errors import UsageError, unknown
from inarch.core.lazy import Array, np
from inarch.core.rounding import WHOLE, largest

METRICS = {
    "relative": "the largest difference, by the largest magnitude of the value; at most",
    "absolute": "the largest difference; at most",
    "steps": "the largest difference of integers; at most",
    "snr": "10 log10(sum e^2 / sum (f - e)^2) of expected e and found f, in dB; at least",
    "cosine": "sum e f / sqrt(sum e^2 sum f^2); at least",
    "top1": "the share of rows, along the last axis, whose largest element is at the same place; at least",
}
"""What is measured of a value, by name."""

_RANGES = {"relative": (0.0, 1.0), "snr": (0.0, 1000.0), "cosine": (0.0, 1.0), "top1": (0.0, 1.0)}
"""What limits lie in: behind the first (at `relative`: before the last), up to the second."""
_AT_MOST = ("relative", "absolute", "steps")


@dataclass(frozen=True)
class Tolerance:
    """A metric and its limit; as text `snr=20`."""

    metric: str
    limit: float

    @classmethod
    def parse(cls, text: str, what: str) -> Tolerance:
        """The tolerance that `text` says. Raises UsageError, which begins with `what`."""
        metric, equals, number = text.partition("=")
        if not equals:
            raise UsageError(f"{what}: expected METRIC=NUMBER such as snr=20, found '{text}'")
        if metric not in METRICS:
            raise unknown("metric", metric, METRICS, within=what)
        try:
            limit = float(number)
        except ValueError:
            limit = math.nan
        low, high = _RANGES.get(metric, (0.0, math.inf))
        is_open = metric in _AT_MOST
        if not (low <= limit < high if is_open else low < limit <= high):
            span = (
                f"from {low:g} to below {high:g}" if is_open else f"above {low:g}, up to {high:g}"
            )
            raise UsageError(f"{what}: expected {metric} {span}, found '{number}'")
        return cls(metric, limit)

    def __str__(self) -> str:
        return f"{self.metric}={self.limit:g}"

    def measure(self, expected: Array, found: Array) -> float:
        """What the metric says of a value. NaN where one is not finite and the other is another thing.

        Elements that are equal, infinite or NaN in both count as no difference.
        """
        wide, other = (np.asarray(each, np.float64) for each in (expected, found))
        if self.metric == "top1":
            return _top1(wide, other)
        same = (wide == other) | (np.isnan(wide) & np.isnan(other))
        if not (same | (np.isfinite(wide) & np.isfinite(other))).all():
            return math.nan
        finite = np.isfinite(wide)
        wide, other = np.where(finite, wide, 0.0), np.where(finite, other, 0.0)
        return _MEASURES[self.metric](wide, other)

    def allows(self, measured: float) -> bool:
        """Whether a value of which the metric says `measured` is right."""
        return measured <= self.limit if self.metric in _AT_MOST else measured >= self.limit

    def shown(self, measured: float) -> str:
        """`snr 31.4 dB`."""
        return f"{self.metric} {measured:.3g}{' dB' if self.metric == 'snr' else ''}"

    def worse(self, one: float, other: float) -> float:
        """The worse of two measures; NaN is the worst."""
        if math.isnan(one) or math.isnan(other):
            return math.nan
        return max(one, other) if self.metric in _AT_MOST else min(one, other)


ROUNDING = Tolerance("relative", WHOLE)
"""Where a backend declares nothing of floats: what is left of the rounding of some ops together."""

EXACT = Tolerance("steps", 0.0)
"""Where it declares nothing of integers; bools are never anything else."""


@dataclass(frozen=True)
class Tolerances:
    """One by kind of dtype."""

    floats: Tolerance = ROUNDING
    integers: Tolerance = EXACT

    @classmethod
    def parse(cls, text: str, what: str) -> Tolerances:
        """Of `steps=1,snr=30`: `steps` is of integers, anything else of floats, and alone of both.

        Raises UsageError, which begins with `what`.
        """
        steps: Tolerance | None = None
        other: Tolerance | None = None
        for one in text.split(","):
            found = Tolerance.parse(one, what)
            if (steps if found.metric == "steps" else other) is not None:
                raise UsageError(
                    f"{what}: expected one metric of integers and one of floats, found '{text}'"
                )
            steps, other = (found, other) if found.metric == "steps" else (steps, found)
        return cls(other or ROUNDING, steps or other or EXACT)

    def of(self, dtype: np.dtype[Any]) -> Tolerance:
        """What holds for values of a dtype."""
        return {"f": self.floats, "b": EXACT}.get(dtype.kind, self.integers)

    def in_steps(self) -> Tolerances:
        """For a backend that gives integers: `absolute` is in their steps, and floats have rounding."""
        if self.floats.metric != "absolute" or self.integers != self.floats:
            return self
        return Tolerances(ROUNDING, Tolerance("steps", self.integers.limit))

    def __str__(self) -> str:
        both = self.integers == self.floats
        return str(self.floats) if both else f"{self.integers},{self.floats}"


def tolerance_of(declared: str, backend: str) -> Tolerances:
    """What a backend declares (`Backend.tolerance`). Raises UsageError."""
    if not declared:
        return Tolerances()
    return Tolerances.parse(declared, f"tolerance of backend '{backend}'")


def network_tolerance(used: Tolerance, values: Iterable[Array]) -> Tolerance | None:
    """What a whole network may be off by, of which one part may be off by `used` at such values.

    A metric without a unit holds for any value. What has one is taken relatively, and is nothing where it
    is half as large as the values, or more.
    """
    if used.metric not in ("absolute", "steps"):
        return used
    size = max(map(largest, values), default=0.0)
    share = used.limit / size if size else math.inf
    return Tolerance("relative", share) if 0 < share < MOST_SHARE else None


MOST_SHARE = 0.5
"""Of its values: beyond, an absolute tolerance says nothing of what is computed from them."""


def _absolute(expected: Array, found: Array) -> float:
    return float(np.abs(found - expected).max(initial=0.0))


def _relative(expected: Array, found: Array) -> float:
    difference = _absolute(expected, found)
    size = float(np.abs(expected).max(initial=0.0))
    return 0.0 if difference == 0 else difference / size if size else math.inf


def _snr(expected: Array, found: Array) -> float:
    noise, signal = float(((found - expected) ** 2).sum()), float((expected**2).sum())
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


def _cosine(expected: Array, found: Array) -> float:
    sizes = float((expected**2).sum()) * float((found**2).sum())
    if not sizes:
        return 1.0 if (expected == found).all() else 0.0
    return float((expected * found).sum()) / math.sqrt(sizes)


def _top1(expected: Array, found: Array) -> float:
    if not expected.size:
        return 1.0
    rows = [each.reshape(-1, each.shape[-1] if each.ndim else 1) for each in (expected, found)]
    if np.isnan(rows[1]).sum() > np.isnan(rows[0]).sum():
        return math.nan
    # Of equal largest elements any may be found: that the one it names is as large counts.
    places = rows[1].argmax(axis=1)
    chosen = rows[0][np.arange(len(places)), places]
    return float((chosen == rows[0].max(axis=1)).mean())


_MEASURES = {
    "absolute": _absolute,
    "steps": _absolute,
    "relative": _relative,
    "snr": _snr,
    "cosine": _cosine,
}
