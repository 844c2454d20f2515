"""The threads in `inarch explain`: which loops they share, and what that can bring at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inarch.passes.loop.threads.sharing import SharingReport

_COUNTS = (2, 4, 8)


def summary(report: SharingReport) -> list[str]:
    """`threads share 85 of 150 loops, 99.6 % of the work: 1.95 times as fast by 2, ... at most`, as lines."""
    total = report.total_us
    shared = [one for one in report.ops if one.loop is not None]
    if not shared:
        return [f"threads share none of {len(report.ops)} loops"]
    share = 100 * sum(one.work_us for one in shared) / total
    gains = ", ".join(f"{total / report.least_us(n):.2f} times by {n}" for n in _COUNTS)
    return [
        f"threads share {len(shared)} of {len(report.ops)} loops, {share:.1f} % of the work: at most {gains}"
    ]


def of_places(report: SharingReport, places: Iterable[str]) -> list[str]:
    """A line for each op from one of `places`."""
    wanted = set(places)
    return [f"{one.location}: {one.text()}" for one in report.ops if one.location in wanted]
