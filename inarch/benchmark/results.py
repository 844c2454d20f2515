"""What a measurement gives, as data; every time is in nanoseconds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from inarch.benchmark.layers import Layer
from inarch.benchmark.subject.steps import Step

SCHEMA = "inarch.bench.layers/1"
"""What the JSON is; the number changes when a field changes its meaning."""


@dataclass
class Series:
    """One quantity in each round."""

    values: list[float] = field(default_factory=list[float])

    @property
    def min(self) -> float:
        """The smallest: of times, that with the least disturbance."""
        return min(self.values)

    @property
    def max(self) -> float:
        """The largest: of speeds, that with the least disturbance."""
        return max(self.values)

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.values)

    def json(self, scale: float = 1e-6) -> dict[str, float] | None:
        """`min` and `median`, times `scale` (nanoseconds to milliseconds); None without values."""
        if not self.values:
            return None
        return {"min": _rounded(self.min * scale), "median": _rounded(self.median * scale)}


@dataclass
class PeerResult:
    """One layer in one peer."""

    call: Series = field(default_factory=Series)
    kernel: Series = field(default_factory=Series)
    variant: str = ""
    implementation: str = ""
    error: str = ""

    def json(self) -> dict[str, Any]:
        """As in the schema."""
        return {
            "kernel_ms": self.kernel.json(),
            "call_ms": self.call.json(),
            "variant": self.variant,
            "implementation": self.implementation,
            "error": self.error,
        }


@dataclass
class LayerResult:
    """One layer: ours, the peak in the same moments, and the peers."""

    set: str
    layer: Layer
    steps: tuple[Step, ...]
    executed_flops: int
    kernel: Series = field(default_factory=Series)
    call: Series = field(default_factory=Series)
    python: Series = field(default_factory=Series)
    peak: Series = field(default_factory=Series)
    """GFLOP/s."""
    each_step: list[Series] = field(default_factory=list[Series])
    peers: dict[str, PeerResult] = field(default_factory=dict[str, PeerResult])

    @property
    def gflops(self) -> float:
        """Nominal operations by the least time of the kernels alone."""
        return self.layer.flops / self.kernel.min

    @property
    def executed_gflops(self) -> float:
        """The same of the operations that are executed."""
        return self.executed_flops / self.kernel.min

    @property
    def percent_of_peak(self) -> float:
        """Executed operations against the highest peak of this layer's rounds."""
        return 100 * self.executed_gflops / self.peak.max

    def ratio(self, peer: str, what: str) -> float | None:
        """How many times as fast ours is: the peer's least `kernel` or `call` time by ours."""
        found = self.peers.get(peer)
        theirs: Series = getattr(found, what) if found else Series()
        ours: Series = getattr(self, what)
        return theirs.min / ours.min if theirs.values else None

    def best_ratio(self, what: str) -> float | None:
        """The same against the fastest peer."""
        found = [self.ratio(peer, what) for peer in self.peers]
        return min((ratio for ratio in found if ratio is not None), default=None)

    def kernel_by_call(self) -> float | None:
        """Our kernel against the fastest call of a peer: what a network of blocked layers spares."""
        calls = [peer.call.min for peer in self.peers.values() if peer.call.values]
        return min(calls) / self.kernel.min if calls else None

    def json(self) -> dict[str, Any]:
        """As in the schema."""
        return {
            "set": self.set,
            "name": self.layer.name,
            "shape": self.layer.shape,
            "count": self.layer.count,
            "nominal_flops": self.layer.flops,
            "executed_flops": self.executed_flops,
            "bytes": self.layer.bytes,
            "kernel_ms": self.kernel.json(),
            "call_ms": self.call.json(),
            "python_ms": self.python.json(),
            "gflops": _rounded(self.gflops),
            "executed_gflops": _rounded(self.executed_gflops),
            "peak_gflops": _rounded(self.peak.max),
            "percent_of_peak": _rounded(self.percent_of_peak),
            "steps": [
                {
                    "kernel": step.kernel,
                    "computes": step.computes,
                    "executed_flops": step.flops,
                    "ms": series.json(),
                }
                for step, series in zip(self.steps, self.each_step, strict=True)
            ],
            "peers": {name: peer.json() for name, peer in self.peers.items()},
            "ratios": {
                name: {what: _maybe(self.ratio(name, what)) for what in ("kernel", "call")}
                for name in self.peers
            },
        }


@dataclass(frozen=True)
class PeerInfo:
    """A peer that was asked for. `version` is empty where it is not installed, and `missing` why."""

    version: str
    settings: str
    missing: tuple[str, ...] = ()


@dataclass
class Results:
    """A whole run."""

    target: str
    machine: dict[str, str]
    rounds: int
    layers: list[LayerResult]
    peers: dict[str, PeerInfo]
    peak_gflops: float = 0.0
    bandwidths: dict[str, float] = field(default_factory=dict[str, float])
    """GB/s of a triad by where its arrays fit: `L2`, `L3`, `DRAM`."""

    def of_set(self, name: str) -> list[LayerResult]:
        """The layers of one set."""
        return [result for result in self.layers if result.set == name]

    @property
    def sets(self) -> list[str]:
        """The names of the sets, in order."""
        return list(dict.fromkeys(result.set for result in self.layers))

    @property
    def present(self) -> list[str]:
        """The peers that ran."""
        return [name for name, info in self.peers.items() if not info.missing]

    def json(self) -> dict[str, Any]:
        """The whole as JSON values, by the schema `SCHEMA`."""
        return {
            "schema": SCHEMA,
            "target": self.target,
            "machine": self.machine,
            "threads": 1,
            "rounds": self.rounds,
            "peak_gflops": _rounded(self.peak_gflops),
            "bandwidths_gbps": {name: _rounded(value) for name, value in self.bandwidths.items()},
            "peers": {
                name: {
                    "installed": not info.missing,
                    "version": info.version,
                    "settings": info.settings,
                    "missing": list(info.missing),
                }
                for name, info in self.peers.items()
            },
            "layers": [result.json() for result in self.layers],
            "summary": {name: summary(self.of_set(name), self.present) for name in self.sets},
        }


def summary(layers: list[LayerResult], peers: list[str]) -> dict[str, Any]:
    """Of one set: geometric means over layers, and weighted by how often the network has them.

    Sums are those of the network's layers, in milliseconds.
    """

    def means(values: list[tuple[float | None, int]]) -> dict[str, float | None]:
        return {
            "geomean": _maybe(geomean((v, 1) for v, _ in values)),
            "weighted": _maybe(geomean(values)),
        }

    counts = [result.layer.count for result in layers]

    def total(series: list[Series]) -> float | None:
        if not all(one.values for one in series):
            return None
        parts = (n * one.min for n, one in zip(counts, series, strict=True))
        return _rounded(sum(parts) * 1e-6)

    ratios: dict[str, Any] = {}
    for what in ("kernel", "call"):
        by_peer = {
            peer: [(result.ratio(peer, what), result.layer.count) for result in layers]
            for peer in peers
        }
        best = [(result.best_ratio(what), result.layer.count) for result in layers]
        ratios[what] = {name: means(row) for name, row in {**by_peer, "best": best}.items()}
    mixed = means([(result.kernel_by_call(), result.layer.count) for result in layers])
    ratios["kernel_by_call"] = {"best": mixed}
    return {
        "percent_of_peak": means([(r.percent_of_peak, r.layer.count) for r in layers]),
        "ratios": ratios,
        "sum_ms": {
            "inarch": {
                "kernel": total([r.kernel for r in layers]),
                "call": total([r.call for r in layers]),
            },
            **{
                peer: {
                    "kernel": total([r.peers[peer].kernel for r in layers]),
                    "call": total([r.peers[peer].call for r in layers]),
                }
                for peer in peers
            },
        },
    }


def geomean(values: Iterable[tuple[float | None, int]]) -> float | None:
    """The geometric mean of `(value, weight)`; of those without a value there is none.

    >>> geomean([(2.0, 1), (8.0, 1), (None, 5)])
    4.0
    """
    known = [(value, weight) for value, weight in values if value is not None]
    if not known:
        return None
    total = sum(weight * math.log(value) for value, weight in known)
    return math.exp(total / sum(weight for _, weight in known))


def _maybe(value: float | None) -> float | None:
    return None if value is None else _rounded(value)


def _rounded(value: float) -> float:
    """Five significant digits: more than the measurement has."""
    return float(f"{value:.5g}")
