"""The others that layers are measured against, one file each: it defines `PEER` and is called as its package.

A peer's package is imported in a process of its own, by `prepare`. Every peer gets float32, one thread (of a
model as many as are asked for), and what its makers advise for latency; weights are constants that it may
pack. `call` takes row-major arrays and gives them (torch may choose its own layout for both), `kernel` is
what its own profiler says of the operator alone, without conversions of layouts.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from inarch.benchmark.layers import Layer
from inarch.benchmark.subject.arrays import Arrays
from inarch.core.lazy import Array
from inarch.core.plugins import Extensions

REST_S = 0.06


@dataclass(frozen=True)
class Kernel:
    """The time of an operator alone, and what the peer calls the code that ran."""

    nanoseconds: float
    implementation: str


class Prepared(ABC):
    """A layer in a peer, ready to run."""

    variant: str = ""
    """Which way of calling it was taken, where there are several."""

    @abstractmethod
    def run(self) -> None:
        """One call."""

    @abstractmethod
    def output(self) -> Array:
        """What the last call gave, row-major; of several outputs the first."""

    @abstractmethod
    def kernel(self, count: int) -> Kernel | None:
        """The fastest of `count` runs of the operator alone; None: the profiler does not say."""

    def call_ns(self, count: int, threads: int = 1) -> float:
        """Nanoseconds of CPU time a call, in which nothing hides in other threads; of several `wall_ns`."""
        if threads > 1:
            return wall_ns(self.run, count)
        self.run()
        start = time.process_time_ns()
        for _ in range(count):
            self.run()
        return (time.process_time_ns() - start) / count


def wall_ns(run: Callable[[], object], count: int) -> float:
    """Nanoseconds by the clock a call, after a rest: until then the threads of others may spin."""
    time.sleep(REST_S)
    run()
    start = time.perf_counter_ns()
    for _ in range(count):
        run()
    return (time.perf_counter_ns() - start) / count


@dataclass(frozen=True)
class Peer:
    """Another program that runs layers. `settings` says in words how it is set."""

    package: str
    settings: str
    prepare: Callable[[Layer, Arrays], Prepared]
    prepare_model: Callable[[Path, Mapping[str, Array], int], Prepared] | None = None
    """For a whole ONNX model in a file, its inputs by name, and threads; None: it reads no such file."""
    needs: tuple[str, ...] = ()
    """Packages that it is no use without, besides its own."""
    api: int = 1

    def missing(self) -> list[str]:
        """The packages that are not installed."""
        return [name for name in (self.package, *self.needs) if find_spec(name) is None]


PEERS: Extensions[Peer] = Extensions("inarch.benchmark.peers", "PEER")
"""By name."""
