"""Where the time of a model goes: each of its kernels, timed in one run after the other.

The steps of the compiled function (`steps.py`) are called in order, each once a round, so that a kernel finds
caches as it does in a call: its input warm, its weights cold.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inarch.benchmark.harness import Harness, aligned
from inarch.benchmark.machine import describe
from inarch.benchmark.measure import Progress
from inarch.benchmark.model import random_array
from inarch.benchmark.results import Series
from inarch.benchmark.subject.steps import Step, split_steps
from inarch.benchmark.subject.trace import HOST, Span, one_after_the_other
from inarch.core.lazy import np
from inarch.dialects import new_context
from inarch.driver.compiler import import_model, lower
from inarch.driver.host import find_host
from inarch.driver.options import Options

SCHEMA = "inarch.bench.profile/1"


@dataclass(frozen=True)
class Profile:
    """The steps of a model in their order, with their times in nanoseconds."""

    model: str
    target: str
    machine: dict[str, str]
    rounds: int
    peak_gflops: float
    steps: tuple[Step, ...]
    times: tuple[Series, ...]

    @property
    def total_ns(self) -> float:
        """The sum of the least times."""
        return sum(series.min for series in self.times)

    @property
    def spans(self) -> list[Span]:
        """The steps one after the other, each as long as its least time."""
        named = [
            (step.kernel, HOST, {"where": step.where, "flops": step.flops}) for step in self.steps
        ]
        return one_after_the_other(named, [series.min for series in self.times])

    def json(self) -> dict[str, Any]:
        """As JSON values, by the schema `SCHEMA`."""
        return {
            "schema": SCHEMA,
            "model": self.model,
            "target": self.target,
            "machine": self.machine,
            "threads": 1,
            "rounds": self.rounds,
            "peak_gflops": self.peak_gflops,
            "total_ms": self.total_ns * 1e-6,
            "steps": [
                {
                    "kernel": step.kernel,
                    "where": step.where,
                    "computes": step.computes,
                    "executed_flops": step.flops,
                    "shared_iterations": step.shared_iterations,
                    "ms": series.json(),
                }
                for step, series in zip(self.steps, self.times, strict=True)
            ],
        }

    def text(self) -> str:
        """A table of the steps, the slowest first."""
        rows = sorted(zip(self.steps, self.times, strict=True), key=lambda row: -row[1].min)
        copies = sum(series.min for step, series in rows if not step.computes)
        lines = [
            f"{self.model}: {self.machine['cpu']}, {self.machine['compiler']}",
            f"target {self.target}, 1 thread, {self.rounds} rounds; peak {self.peak_gflops:.1f} GF/s",
            f"{len(rows)} kernels, {self.total_ns * 1e-6:.3f} ms; copies {copies * 1e-6:.3f} ms",
            "",
            f"{'ms':>9} {'%':>5} {'GF/s':>7} {'% peak':>7} {'iterations':>6}  kernel",
        ]
        for step, series in rows:
            speed = step.flops / series.min
            work = (
                f"{speed:>7.1f} {100 * speed / self.peak_gflops:>7.1f}" if step.flops else " " * 15
            )
            share = 100 * series.min / self.total_ns
            place = f"  {step.where}" if step.where else ""
            lines.append(
                f"{series.min * 1e-6:>9.4f} {share:>5.1f} {work} {step.shared_iterations or '-':>6}  "
                f"{step.kernel}{place}"
            )
        return "\n".join(
            [*lines, "", "iterations: of the loop that threads share in a call; -: none."]
        )


def profile(
    path: Path, options: Options, *, rounds: int = 10, progress: Progress | None = None
) -> Profile:
    """Compiles a model and times each step of its `main`, on inputs from a fixed seed.

    Raises what `inarch.driver.compiler` raises, and UnsupportedError for a model that calls imports.
    """
    target = find_host(options.host).machine(options.target)
    harness = Harness(target, options.host)
    context = new_context()
    module = import_model(path, context, options)
    lower(context, module, "kernel", pipeline=options.passes(), progress=progress)
    steps = tuple(split_steps(module))
    made, library = harness.native(context, module)
    entries = [getattr(library, made.symbols[step.function]) for step in steps]
    main = made.entries["main"]
    buffers = [aligned(random_array(port.shape, port.dtype.numpy)) for port in main.ports]
    weights = aligned(np.frombuffer(made.weights, np.uint8))
    workspace = aligned(np.zeros(main.workspace_bytes, np.uint8))
    memory = (harness.pointers(buffers), harness.pointer(weights), harness.pointer(workspace))
    times = tuple(Series() for _ in steps)
    peaks = Series()
    harness.sequence_ns(entries, *memory)
    for iteration in range(rounds):
        if progress is not None:
            progress(f"round {iteration + 1} of {rounds}", iteration, rounds)
        peaks.values.append(harness.peak_gflops())
        for series, value in zip(times, harness.sequence_ns(entries, *memory), strict=True):
            series.values.append(value)
    described = describe(target)
    return Profile(path.name, str(target), described, rounds, peaks.max, steps, times)
