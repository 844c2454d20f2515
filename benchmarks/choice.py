"""How good the choice of tiles and loop orders is: each layer by the candidate chosen, and by others.

    python benchmarks/choice.py [--set resnet50] [--layer NAME] [--others 9] [--rounds 12]

For each layer, the kernels of the candidate that `tensorize` takes and of the best others by the model
(tiles, and their loops in another order) are measured in one process, in turn, on warm data; minima of CPU
time. A layer's figure is the time of the fastest divided by that of the chosen one.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from inarch.benchmark.harness import Harness
from inarch.benchmark.layers import Layer, select
from inarch.benchmark.measure import calls_of
from inarch.benchmark.subject.subject import kernels_ns
from inarch.machine.target import native
from inarch.passes.tensorize import tensorize as pass_
from inarch.passes.tensorize.unify.strided import StridedNest
from inarch.passes.tensorize.weigh.candidates import Candidate
from inarch.passes.tensorize.weigh.search import sweep

WITHIN = 0.05
"""A choice is good when it is at most so much slower than the best that was found."""


@dataclass(frozen=True)
class Result:
    """A layer: what was measured of each candidate, the chosen one first."""

    layer: str
    names: tuple[str, ...]
    nanoseconds: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Best divided by chosen: 1 when the best was chosen."""
        return min(self.nanoseconds) / self.nanoseconds[0]

    def __str__(self) -> str:
        best = self.nanoseconds.index(min(self.nanoseconds))
        chosen = f"{self.nanoseconds[0] / 1e3:9.1f} us  {self.names[0]}"
        other = f"; best {min(self.nanoseconds) / 1e3:.1f} us  {self.names[best]}" if best else ""
        return f"{self.layer:12} {100 * self.ratio:6.1f} %  {chosen}{other}"


class _Pick:
    """Tensorizes with candidate `number` of the largest nest: 0 is the one that is chosen."""

    def __init__(self, number: int, others: int) -> None:
        self._number, self._others = number, others
        self.names: list[str] = []

    def __call__(self, module: ModuleOp) -> None:
        pass_.tensorize(module, None, pick=self._pick)

    def _pick(self, nest: StridedNest, chosen: Candidate) -> Candidate:
        if not any(axis.is_reduction for axis in nest.axes):
            return chosen
        every = [chosen, *sweep(nest, chosen.family, chosen, self._others)]
        self.names = [_name(nest, one) for one in every]
        return every[min(self._number, len(every) - 1)]


def _name(nest: StridedNest, candidate: Candidate) -> str:
    sizes = "x".join(
        str(value) for name, value in candidate.params.items() if name not in ("VL", "R", "S")
    )
    loops = [nest.axes[axis].name for axis in candidate.order if not nest.axes[axis].is_reduction]
    return f"{candidate.family.pattern.name} {sizes} ({', '.join(loops)})"


def measure(layer: Layer, harness: Harness, others: int, rounds: int) -> Result:
    """The layer by each candidate, in turn."""
    first = _Pick(0, others)
    runs: list[Callable[[int], float]] = [kernels_ns(layer, harness, first)]
    rest = range(1, len(first.names))
    runs += [kernels_ns(layer, harness, _Pick(number, others)) for number in rest]
    counts = [calls_of(run(1)) for run in runs]
    best = [math.inf] * len(runs)
    for _ in range(rounds):
        times = [run(count) for run, count in zip(runs, counts, strict=True)]
        best = [min(pair) for pair in zip(best, times, strict=True)]
    return Result(layer.name, tuple(first.names), tuple(best))


def summary(results: list[Result]) -> str:
    """`within 5 % of the best on 22 of 23`."""
    good = sum(result.ratio >= 1 / (1 + WITHIN) for result in results)
    return f"within {100 * WITHIN:.0f} % of the best on {good} of {len(results)}"


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--set", default="resnet50")
    parser.add_argument("--layer", action="append", default=[])
    parser.add_argument("--others", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=12)
    given = parser.parse_args()
    harness = Harness(native())
    results: list[Result] = []
    for _, layer in select([given.set], given.layer):
        results.append(measure(layer, harness, given.others, given.rounds))
        print(results[-1], flush=True)
    print(summary(results), f"(load average {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
