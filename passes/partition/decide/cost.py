"""What a region costs its backend and the host: as both say, or as it was measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from inarch.core.blame import raised
from inarch.core.errors import InarchError
from inarch.ir.location import location_text
from inarch.offload.backend import BACKENDS
from inarch.offload.instance import Asked, wants_request
from inarch.offload.region import Region

ESTIMATED = "estimated"
MEASURED = "measured"


@dataclass(frozen=True)
class Price:
    """What a region costs on either side, in seconds a call."""

    seconds: float | None
    """Its backend; None: it states no cost."""
    host_seconds: float
    source: str = ESTIMATED
    """`estimated`, `measured`, or why it could not be measured."""

    @property
    def loses(self) -> bool:
        """Whether the host would be faster."""
        return self.seconds is not None and self.seconds > self.host_seconds

    def __str__(self) -> str:
        """`12.0 us here, 5.1 us on the host (estimated)`."""
        own = "no cost" if self.seconds is None else spoken(self.seconds)
        return f"{own} here, {spoken(self.host_seconds)} on the host ({self.source})"


class Meter(Protocol):
    """A fact of the class `Measuring`: it runs regions."""

    def __call__(self, region: Region, asked: Asked) -> tuple[float, float] | str:
        """Seconds a call on the backend and on the host; or why it cannot be measured."""
        ...


@dataclass(frozen=True)
class Measuring:
    """A fact: regions are run to see what they cost, in place of estimates."""

    meter: Meter


def price_of(region: Region, asked: Asked, measuring: Measuring | None = None) -> Price:
    """What the region costs. Raises InarchError, located, for a backend's cost that is no number of seconds.

    Measured, where somebody measures and can; also of a backend that states no cost.
    """
    if measuring is None:
        return Price(own_cost(region, asked), region.host_seconds)
    found = measuring.meter(region, asked)
    if isinstance(found, str):
        source = f"{ESTIMATED}; not measured: {found}"
        return Price(own_cost(region, asked), region.host_seconds, source)
    return Price(*found, MEASURED)


def own_cost(region: Region, asked: Asked) -> float | None:
    """What the backend says, checked."""
    cost = asked.backend.cost
    if cost is None:
        return None
    whole = cast("Callable[..., Any]", cost)
    origin = BACKENDS.origin(asked.instance.backend.name)
    label, where = f"backend '{asked.name}' [{origin.source}]: cost", location_text(region.ops[0])
    try:
        found = whole(region, asked.request) if wants_request(cost) else whole(region)
    except InarchError:
        raise
    except Exception as error:
        raise InarchError(f"{label} {raised(error, origin)}", where=where) from error
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    if not is_number or math.isnan(found) or found < 0:
        raise InarchError(
            f"{label}: expected seconds of a call, a number from 0 on (inf: never), found {found!r}",
            where=where,
        )
    return float(found)


def spoken(seconds: float) -> str:
    """A time for people.

    >>> spoken(0.0), spoken(2.5e-7), spoken(3.14159e-5), spoken(0.25), spoken(math.inf)
    ('0 us', '0.25 us', '31.4 us', '250 ms', 'no end')
    """
    if math.isinf(seconds):
        return "no end"
    for unit, scale in (("us", 1e6), ("ms", 1e3), ("s", 1.0)):
        if seconds * scale < 1000 or unit == "s":
            return f"{seconds * scale:.3g} {unit}"
    raise AssertionError
