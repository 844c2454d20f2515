"""Where the time of a model with backends goes: each kernel of the host, each region, and the bytes of these.

The steps of `main` (`subject/steps.py`) are functions of one artifact, which is loaded as any: a region is
run by its own loader. They run in order, each once a round, on the buffers that they have in a call.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inarch.backends.host import BuildRequest
from inarch.benchmark.machine import describe
from inarch.benchmark.measure import Progress
from inarch.benchmark.model import random_array
from inarch.benchmark.results import Series
from inarch.benchmark.subject.steps import Step, split_steps
from inarch.benchmark.subject.trace import HOST, Span
from inarch.core.scratch import scratch
from inarch.dialects import new_context
from inarch.driver.compiler import import_model, lower
from inarch.driver.host import build, emit, find_host
from inarch.driver.options import Options
from inarch.ir.report.facts import facts_of
from inarch.passes.partition.report import PartitionReport
from inarch.passes.partition.traffic import RegionBytes
from inarch.runtime.module import load
from inarch.runtime.threads import threads

SCHEMA = "inarch.bench.regions/1"


@dataclass(frozen=True)
class RegionProfile:
    """The steps of a model in their order, with their times in nanoseconds."""

    model: str
    target: str
    machine: dict[str, str]
    rounds: int
    steps: tuple[Step, ...]
    times: tuple[Series, ...]
    regions: dict[str, RegionBytes]
    """Of the steps that are regions of backends, by symbol."""
    spans: tuple[Span, ...]
    """Of the quickest round."""
    threads: int = 1
    """That a call had at most."""

    @property
    def total_ns(self) -> float:
        """The sum of the least times."""
        return sum(series.min for series in self.times)

    def owner(self, step: Step) -> str:
        """The instance that has a step; `host`."""
        return self.regions[step.kernel].owner if step.kernel in self.regions else HOST

    def json(self) -> dict[str, Any]:
        """As JSON values, by the schema `SCHEMA`."""
        return {
            "schema": SCHEMA,
            "model": self.model,
            "target": self.target,
            "machine": self.machine,
            "threads": self.threads,
            "rounds": self.rounds,
            "total_ms": self.total_ns * 1e-6,
            "steps": [
                {
                    "kernel": step.kernel,
                    "owner": self.owner(step),
                    "where": step.where,
                    "shared_iterations": step.shared_iterations,
                    "ms": series.json(),
                    **_bytes(self.regions.get(step.kernel)),
                }
                for step, series in zip(self.steps, self.times, strict=True)
            ],
        }

    def text(self) -> str:
        """What each owner takes, then a table of the steps, the slowest first."""
        rows = sorted(zip(self.steps, self.times, strict=True), key=lambda row: -row[1].min)
        across = sum(one.bytes_in + one.bytes_out for one in self.regions.values())
        owners = dict.fromkeys([HOST, *(one.owner for one in self.regions.values())])
        shares = [
            f"{name} {sum(s.min for step, s in rows if self.owner(step) == name) * 1e-6:.3f} ms"
            for name in owners
        ]
        lines = [
            f"{self.model}: {self.machine['cpu']}, {self.machine['compiler']}",
            (
                f"target {self.target}, {self.threads} thread{'s' * (self.threads > 1)}, "
                f"{self.rounds} rounds; {across} bytes across boundaries a call"
            ),
            f"{len(rows)} steps, {self.total_ns * 1e-6:.3f} ms: {', '.join(shares)}",
            "",
            f"{'ms':>9} {'%':>5} {'iterations':>6} {'bytes in':>10} {'out':>10} {'resident':>10}  step",
        ]
        for step, series in rows:
            region = self.regions.get(step.kernel)
            sizes = f"{'':>10} {'':>10} {'':>10}"
            if region is not None:
                sizes = f"{region.bytes_in:>10} {region.bytes_out:>10} {region.bytes_resident:>10}"
            owner = f" [{region.owner}]" if region is not None else ""
            place = f"  {step.where}" if step.where else ""
            share = 100 * series.min / self.total_ns
            lines.append(
                f"{series.min * 1e-6:>9.4f} {share:>5.1f} {step.shared_iterations or '-':>6} {sizes}  "
                f"{step.kernel}{owner}{place}"
            )
        return "\n".join(
            [*lines, "", "iterations: of the loop that threads share in a call; -: none."]
        )


def _bytes(region: RegionBytes | None) -> dict[str, int]:
    if region is None:
        return {}
    return {
        "bytes_in": region.bytes_in,
        "bytes_out": region.bytes_out,
        "bytes_resident": region.bytes_resident,
        "ops": region.ops,
    }


def profile_regions(
    path: Path,
    options: Options,
    *,
    count: int = 1,
    rounds: int = 10,
    progress: Progress | None = None,
) -> RegionProfile:
    """Compiles a model with its backends and times each step of `main`, on inputs from a fixed seed.

    By the clock, with `count` threads. The time of a step has its call in it, some 0.2 us. Raises what
    `inarch.compile` raises.
    """
    context = new_context()
    module = import_model(path, context, options)
    emitted = lower(context, module, "kernel", pipeline=options.passes(), progress=progress)
    report = facts_of(context).get(PartitionReport)
    known = {one.region: one for one in report.traffic} if report is not None else {}
    host = find_host(options.host)
    target = host.machine(options.target)
    steps = tuple(split_steps(module))
    with scratch("inarch-profile-") as folder:
        made = folder / "profiled.inarch"
        request = BuildRequest(host.name, context, module, emitted, made, progress)
        build(host, emit(host, context, module), request)
        loaded = load(made)
    main = loaded.get_function("main").signature
    inputs = [random_array(port.shape, port.dtype.numpy) for port in main.inputs]
    outputs = [random_array(port.shape, port.dtype.numpy) for port in main.outputs]
    calls = [loaded.get_function(step.function).bind(*inputs, out=outputs) for step in steps]
    times = tuple(Series() for _ in steps)
    best: list[tuple[int, int]] = []
    with threads(count), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of NumPy, in an engine
        for call in calls:
            call()
        for iteration in range(rounds):
            if progress is not None:
                progress(f"round {iteration + 1} of {rounds}", iteration, rounds)
            found: list[tuple[int, int]] = []
            for call, series in zip(calls, times, strict=True):
                begin = time.perf_counter_ns()
                call()
                end = time.perf_counter_ns()
                found.append((begin, end))
                series.values.append(float(end - begin))
            if not best or found[-1][1] - found[0][0] < best[-1][1] - best[0][0]:
                best = found
    regions = {step.kernel: known[step.kernel] for step in steps if step.kernel in known}
    start = best[0][0] if best else 0
    spans = tuple(
        Span(
            step.kernel,
            regions[step.kernel].owner if step.kernel in regions else HOST,
            begin - start,
            end - begin,
            {"where": step.where, **_bytes(regions.get(step.kernel))},
        )
        for step, (begin, end) in zip(steps, best, strict=True)
    )
    described = describe(target)
    return RegionProfile(
        path.name, str(target), described, rounds, steps, times, regions, spans, count
    )
