"""A run of a model as a trace in the format of Chrome, which Perfetto (ui.perfetto.dev) opens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

HOST = "host"


@dataclass(frozen=True)
class Span:
    """What ran from `begin_ns` on, for `ns`, on a track: `host`, or the name of a backend's instance."""

    name: str
    track: str
    begin_ns: float
    ns: float
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What is shown when one selects it: nodes, bytes."""


def trace(model: str, spans: Sequence[Span]) -> dict[str, Any]:
    """The JSON value of a trace: a process for the model, a thread for each track, times in microseconds."""
    tracks = list(dict.fromkeys([HOST, *(span.track for span in spans)]))
    events: list[dict[str, Any]] = [_named("process_name", 0, model)]
    events += [_named("thread_name", number, track) for number, track in enumerate(tracks)]
    events += [
        {
            "ph": "X",
            "name": span.name,
            "cat": "kernel" if span.track == HOST else "region",
            "pid": 1,
            "tid": tracks.index(span.track),
            "ts": span.begin_ns / 1000,
            "dur": span.ns / 1000,
            "args": dict(span.facts),
        }
        for span in spans
    ]
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _named(what: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": 1, "tid": track, "args": {"name": name}}


def one_after_the_other(
    named: Sequence[tuple[str, str, Mapping[str, Any]]], nanoseconds: Sequence[float]
) -> list[Span]:
    """Spans of `(name, track, facts)` that begin where the one before ends."""
    spans: list[Span] = []
    begin = 0.0
    for (name, track, facts), ns in zip(named, nanoseconds, strict=True):
        spans.append(Span(name, track, begin, ns, facts))
        begin += ns
    return spans
