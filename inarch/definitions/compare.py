"""What was computed against what is expected, within its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inarch.core.dtypes import is_float_array
from inarch.core.lazy import np
from inarch.definitions.functions import Array


@dataclass(frozen=True)
class Expected:
    """One output: `value` to report; what is found must be within `bound` of `center`."""

    value: Array
    center: Array
    """In float64 for floats, else of the value's dtype."""
    bound: Array
    """In float64; infinity: anything is right."""

    def at(self, mask: Array) -> Expected:
        """The elements that `mask` has, one after the other."""
        return Expected(self.value[mask], self.center[mask], self.bound[mask])

    def accepts(self, found: Array) -> Array:
        """Which elements of `found`, of the value's dtype, are right."""
        if not is_float_array(self.value.dtype):
            with np.errstate(all="ignore"):
                away = np.abs(found.astype(np.float64) - self.center.astype(np.float64))
            return (found == self.center) | ((self.bound > 0) & (away <= self.bound))
        wide = found.astype(np.float64)
        with np.errstate(all="ignore"):
            near = np.abs(wide - self.center) <= self.bound
        same = (wide == self.center) | (np.isnan(wide) & np.isnan(self.center))
        return near | same | np.isinf(self.bound)


def compare(name: str, expected: Sequence[Expected], found: Sequence[Array]) -> None:
    """Raises AssertionError at the first element that is not as expected."""
    assert len(expected) == len(found), (
        f"function @{name}: expected {len(expected)} outputs, found {len(found)}"
    )
    for number, (each, array) in enumerate(zip(expected, found, strict=True)):
        difference = difference_of(each, array)
        assert difference is None, f"function @{name}, output {number}{difference}"


def difference_of(expected: Expected, found: Array) -> str | None:
    """What is wrong with `found`: `, index (0, 1): expected 1.0, found 2.0, allowed 1e-07 (...)`; or None."""
    value = expected.value
    if value.shape != found.shape:
        return f": expected shape {value.shape}, found {found.shape}"
    if not _same_storage(value.dtype, found.dtype):
        return f": expected dtype {value.dtype.name}, found {found.dtype.name}"
    same = np.ascontiguousarray(found).view(value.dtype).reshape(value.shape)
    right = expected.accepts(same)
    if np.all(right):
        return None
    differing = np.argwhere(~right)
    index = tuple(int(i) for i in differing[0])
    return (
        f", index {index}: expected {value[index]}, found {same[index]}, allowed "
        f"{float(expected.bound[index]):.3g} ({len(differing)} of {value.size} elements differ)"
    )


def _same_storage(left: np.dtype[Any], right: np.dtype[Any]) -> bool:
    """Whether both are one dtype below `graph`, where integers are signless."""
    return left.itemsize == right.itemsize and is_float_array(left) == is_float_array(right)
