"""Parts of backends as `inarch explain --regions` prints them: what they move and cost, what was decided."""

from __future__ import annotations

from collections.abc import Sequence

from inarch.passes.partition.decide.ask import Decided
from inarch.passes.partition.decide.cost import spoken
from inarch.passes.partition.traffic import RegionBytes
from inarch.passes.partitioning import PartitionReport

_HEADS = (
    "region",
    "owner",
    "ops",
    "bytes in",
    "bytes out",
    "resident",
    "multiply-adds",
    "takes",
    "host",
)
_TEXTS = 2
"""How many of the first columns are text."""


def table(report: PartitionReport) -> str:
    """One line a region, the largest traffic first; then what went back, and what crosses all boundaries."""
    regions = sorted(report.traffic, key=lambda one: -(one.bytes_in + one.bytes_out))
    rows = [list(_HEADS), *map(_row, regions)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    notes = ["why", *(one.reason for one in regions)]
    if not any(notes[1:]):
        notes[0] = ""
    lines: list[str] = []
    for row, note in zip(rows, notes, strict=True):
        texts = map(str.ljust, row[:_TEXTS], widths[:_TEXTS])
        numbers = map(str.rjust, row[_TEXTS:], widths[_TEXTS:])
        lines.append("  ".join([*texts, *numbers, note]).rstrip())
    return "\n".join(
        [
            *lines,
            *map(_decision, _gone(report)),
            *_sources(regions),
            f"across boundaries: {report.bytes_across} bytes in a call",
            "",
        ]
    )


def _row(one: RegionBytes) -> list[str]:
    counts = (one.ops, one.bytes_in, one.bytes_out, one.bytes_resident, one.multiply_adds)
    times = (one.seconds, one.host_seconds)
    return [
        one.region,
        one.owner,
        *map(str, counts),
        *("-" if seconds is None else spoken(seconds) for seconds in times),
    ]


def _gone(report: PartitionReport) -> list[Decided]:
    """What is not in the table: what went back."""
    stayed = {"split", "merge", "kept"}
    return [one for one in report.decided if one.what not in stayed]


def _decision(one: Decided) -> str:
    """`npu gave up 3 ops of conv1, conv2 and others (veto): takes 64 numbers`."""
    places = ", ".join(one.places)
    of = f" of {places}{' and others' if one.ops > len(one.places) else ''}" if places else ""
    count = "1 op" if one.ops == 1 else f"{one.ops} ops"
    return f"{one.owner} gave up {count}{of} ({one.what}): {one.reason}"


def _sources(regions: Sequence[RegionBytes]) -> list[str]:
    """Where the seconds are from: one line for each way."""
    found: dict[str, int] = {}
    for one in regions:
        if one.source:
            found[one.source] = found.get(one.source, 0) + 1
    if not found:
        return []
    ways = ", ".join(
        source if len(found) == 1 else f"{source} ({count} of {len(regions)})"
        for source, count in found.items()
    )
    return [f"seconds of a call: {ways}"]
