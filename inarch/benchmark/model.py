"""A whole model against the peers that read ONNX: calls in turn, each by as many threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inarch.artifact import Artifact, is_artifact
from inarch.benchmark.machine import describe
from inarch.benchmark.measure import Progress, calls_of, check_peers, start_peers
from inarch.benchmark.peers import wall_ns
from inarch.benchmark.peers.process import PeerProcess
from inarch.benchmark.results import PeerInfo, PeerResult, Series
from inarch.benchmark.subject.arrays import sample
from inarch.core.errors import EnvironmentFault, UsageError
from inarch.core.lazy import Array, np
from inarch.core.rounding import ways
from inarch.core.scratch import scratch
from inarch.driver.compiler import build
from inarch.driver.host import find_host
from inarch.driver.options import Options
from inarch.machine.target import parse
from inarch.runtime.calls.fits import said

if TYPE_CHECKING:
    from inarch.runtime.function import Function

SCHEMA = "inarch.bench.model/1"


@dataclass
class ModelResult:
    """One model: our call from Python, and those of the peers."""

    model: str
    host: str
    target: str
    machine: dict[str, str]
    threads: int
    rounds: int
    call: Series
    peers: dict[str, PeerResult]
    infos: dict[str, PeerInfo]

    def ratio(self, peer: str) -> float | None:
        """How many times as fast ours is, by least times."""
        theirs = self.peers[peer].call
        return theirs.min / self.call.min if theirs.values else None

    def json(self) -> dict[str, Any]:
        """As JSON values, by the schema `SCHEMA`."""
        return {
            "schema": SCHEMA,
            "model": self.model,
            "host": self.host,
            "target": self.target,
            "machine": self.machine,
            "threads": self.threads,
            "rounds": self.rounds,
            "call_ms": self.call.json(),
            "peers": {
                name: {
                    "installed": not info.missing,
                    "version": info.version,
                    "call_ms": self.peers[name].call.json() if name in self.peers else None,
                    "ratio": self.ratio(name) if name in self.peers else None,
                    "error": self.peers[name].error if name in self.peers else "",
                }
                for name, info in self.infos.items()
            },
        }

    def text(self) -> str:
        """A table: least and median milliseconds a call: of CPU time, of several threads by the clock."""
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        lines = [
            f"{self.model}: {self.machine['cpu']}, {self.machine['compiler']}",
            f"host {self.host}, target {self.target}, {threads}, {self.rounds} rounds, interleaved",
            "",
            f"{'':<24}{'least ms':>10}{'median ms':>11}{'x':>7}",
            _row("inarch", self.call, None),
        ]
        for name, info in self.infos.items():
            if info.missing:
                lines.append(f"{name}: not installed (pip install {' '.join(info.missing)})")
            elif self.peers[name].error:
                lines.append(f"{name}: {self.peers[name].error}")
            else:
                title = f"{name} {info.version}"
                lines.append(_row(title, self.peers[name].call, self.ratio(name)))
        return "\n".join([*lines, "", "x: how many times as fast ours is."])


def _row(name: str, series: Series, ratio: float | None) -> str:
    last = "" if ratio is None else f"{ratio:>7.2f}"
    return f"{name:<24}{series.min * 1e-6:>10.3f}{series.median * 1e-6:>11.3f}{last}"


@dataclass
class ModelResults:
    """One model for several targets, by several numbers of threads."""

    runs: list[ModelResult]
    skipped: dict[str, str]
    """Targets that this computer cannot run -> why."""

    def json(self) -> dict[str, Any]:
        """Of one run its own; else all of them, by the schema `inarch.bench.models/1`."""
        if len(self.runs) == 1 and not self.skipped:
            return self.runs[0].json()
        runs = [run.json() for run in self.runs]
        return {"schema": "inarch.bench.models/1", "runs": runs, "skipped": self.skipped}

    def rows(self) -> list[list[str]]:
        """Target, threads, our least milliseconds, and of each peer its own and the ratio."""
        found: list[list[str]] = []
        for run in self.runs:
            row = [run.target, str(run.threads), f"{run.call.min * 1e-6:.3f}"]
            for name in self.measured:
                ratio, theirs = run.ratio(name), run.peers[name].call
                row += ["-", "-"] if ratio is None else [f"{theirs.min * 1e-6:.3f}", f"{ratio:.2f}"]
            found.append(row)
        return found

    @property
    def measured(self) -> list[str]:
        """The peers that are installed."""
        return list(self.runs[0].peers)

    def text(self) -> str:
        """Of one run its own table; of several a row each."""
        if len(self.runs) == 1 and not self.skipped:
            return self.runs[0].text()
        said = [f"{target}: not measured: {why}" for target, why in self.skipped.items()]
        first = self.runs[0]
        head = ["target", "threads", "least ms"]
        for name in self.measured:
            head += [f"{name} {first.infos[name].version}", "x"]
        table = [head, *self.rows()]
        widths = [max(len(row[at]) for row in table) for at in range(len(head))]
        lines = [
            "  ".join(
                cell.rjust(width) if at else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in table
        ]
        errors = {
            f"{name}: {peer.error}": None
            for run in self.runs
            for name, peer in run.peers.items()
            if peer.error
        }
        return "\n".join(
            [
                f"{first.model}: {first.machine['cpu']}, {first.machine['compiler']}",
                f"host {first.host}, {first.rounds} rounds, interleaved",
                "",
                *lines,
                *said,
                *errors,
                "",
                "x: how many times as fast ours is. Peers take what the CPU has, whatever the target is.",
            ]
        )


@dataclass
class _Ours:
    """A model compiled for a target, and loaded for so many threads."""

    target: str
    machine: dict[str, str]
    artifact: Path
    call: Callable[[], object] = lambda: None
    outputs: Sequence[Array] = ()
    times: Series = field(default_factory=Series)

    def load(self, arrays: Sequence[Array], threads: int, dims: Mapping[str, int]) -> None:
        """Calls it once."""
        main = function_of(self.artifact, dims).with_threads(threads)
        outputs = [np.empty(port.shape, port.dtype.numpy) for port in main.outputs]
        self.times = Series()
        self.call = lambda: main(*arrays, out=outputs)
        results: Any = main(*arrays, out=outputs)  # of computed sizes what counts
        self.outputs = (
            cast("tuple[Array, ...]", results) if isinstance(results, tuple) else (results,)
        )


def measure_model(
    path: Path,
    options: Options,
    *,
    targets: Sequence[str] = (),
    peers: Sequence[str] = (),
    threads: Sequence[int] = (1,),
    rounds: int = 10,
    progress: Progress | None = None,
) -> ModelResults:
    """Compiles a model for each target, and calls it in turn with the `peers` that are installed.

    An artifact is called as it is, of several sizes at those of `options.dims`, by default the first.
    `targets`: instead of that of `options`; of several those are measured that this computer can run.
    Inputs are random, from a fixed seed: standard normal floats, integers of 0 and 1. Raises what
    `inarch.driver.compiler.build` raises, and UsageError for a peer that nobody knows, or where this
    computer can run none of several targets.
    """
    check_peers(peers)
    with scratch("inarch-bench-") as folder:
        if is_artifact(path):
            with Artifact.open(path) as artifact:
                target = parse(artifact.manifest.target)
            compiled, skipped = [_Ours(str(target), describe(target), path)], {}
            dims = options.dims or {}
        else:
            compiled, skipped = _compiled(path, options, targets, Path(folder), progress)
            dims = {}
        arrays = _inputs(function_of(compiled[0].artifact, dims), folder / "inputs.npz")
        runs: list[ModelResult] = []
        for count in dict.fromkeys(threads):
            for each in compiled:
                each.load(arrays, count, dims)
            with ExitStack() as stack:
                infos, processes = start_peers(peers, stack, count)
                found = {process.name: PeerResult() for process in processes}
                saved, output = folder / "inputs.npz", compiled[0].outputs[0]
                near = ways(options.precision)
                indices = {
                    process.name: _prepare(process, path, saved, output, found[process.name], near)
                    for process in processes
                }
                for iteration in range(rounds):
                    if progress is not None:
                        progress(f"round {iteration + 1} of {rounds}", iteration, rounds)
                    for each in compiled:
                        number = calls_of(each.times.min if each.times.values else 1e9)
                        each.times.values.append(_call_ns(each.call, number, count))
                    for process in processes:
                        _measure(process, indices[process.name], found[process.name])
            runs += [
                ModelResult(
                    path.name,
                    options.host,
                    each.target,
                    each.machine,
                    count,
                    rounds,
                    each.times,
                    found,
                    infos,
                )
                for each in compiled
            ]
    return ModelResults(runs, skipped)


def _compiled(
    path: Path,
    options: Options,
    targets: Sequence[str],
    folder: Path,
    progress: Progress | None,
) -> tuple[list[_Ours], dict[str, str]]:
    """The model for each target, and why it is not measured for the others."""
    names = list(dict.fromkeys(targets)) or [options.target]
    skipped: dict[str, str] = {}
    if len(names) > 1:
        lacking = {name: find_host(options.host).machine(name).missing_here() for name in names}
        skipped = {name: f"it lacks {', '.join(each)}" for name, each in lacking.items() if each}
        if len(skipped) == len(names):
            raise UsageError(
                f"--target: expected one that this computer can run, found {', '.join(names)}"
            )
    compiled: list[_Ours] = []
    for name in names:
        if name in skipped:
            continue
        target = find_host(options.host).machine(name)
        artifact = folder / f"{len(compiled)}.inarch"
        build(path, artifact, replace(options, target=name), progress=progress)
        compiled.append(_Ours(str(target), describe(target), artifact))
    return compiled, skipped


def function_of(artifact: Path, dims: Mapping[str, int]) -> Function:
    """`main` of an artifact, of several sizes at `dims`. Raises UsageError where it has none for these."""
    from inarch.runtime.module import load

    main = load(artifact)["main"]
    if not dims:
        return main.alone()
    found = main.fits.given(dims, {}) if main.fits is not None else None
    if found is None:
        known = "; ".join(map(said, main.sizes)) or "one size"
        raise UsageError(f"--dim: expected sizes that '{artifact}' is compiled for ({known})")
    return found


def _inputs(main: Function, file: Path) -> list[Array]:
    """Arrays for a function, also written to `file` by name."""
    ports = main.signature.inputs
    found = {port.name: random_array(port.shape, port.dtype.numpy) for port in ports}
    np.savez(file, **found)  # pyright: ignore[reportArgumentType] - names
    return list(found.values())


def _call_ns(run: Callable[[], object], count: int, threads: int) -> float:
    """Nanoseconds a call: of CPU time, of several threads by the clock."""
    if threads > 1:
        return wall_ns(run, count)
    run()
    start = time.thread_time_ns()
    for _ in range(count):
        run()
    return (time.thread_time_ns() - start) / count


def random_array(shape: Sequence[int], dtype: str) -> Array:
    """From a fixed seed: standard normal floats, integers (good as indices) of 0 and 1."""
    rng = np.random.default_rng(0)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)


def _prepare(
    process: PeerProcess, path: Path, inputs: Path, output: Array, result: PeerResult, near: float
) -> int:
    """The model's index in the peer; what it cannot do, or is not as `near` to ours, is its error."""
    try:
        answer = process.prepare_model(path.absolute(), inputs)
    except EnvironmentFault as error:
        result.error = error.message
        return -1
    ours = sample(output)
    scale = max(1e-30, *map(abs, ours))
    differences = (abs(a - b) for a, b in zip(ours, answer["sample"], strict=True))
    difference = max(differences, default=0.0) / scale
    if not difference <= near:
        result.error = f"its result differs from ours by {difference:.1e} of the maximum"
    return int(answer["index"])


def _measure(process: PeerProcess, index: int, result: PeerResult) -> None:
    if result.error:
        return
    count = calls_of(result.call.min if result.call.values else 1e9)
    try:
        result.call.values.append(process.call_ns(index, count))
    except EnvironmentFault as error:
        result.error = error.message
