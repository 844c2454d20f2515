"""A whole model against the peers that read ONNX: calls in turn, each by as many threads."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inarch.benchmark.machine import describe
from inarch.benchmark.measure import Progress, calls_of, check_peers, start_peers
from inarch.benchmark.peers import wall_ns
from inarch.benchmark.peers.process import PeerProcess
from inarch.benchmark.results import PeerInfo, PeerResult, Series
from inarch.benchmark.subject.arrays import sample
from inarch.core.errors import EnvironmentFault
from inarch.core.lazy import Array, np
from inarch.driver.compiler import build
from inarch.driver.host import find_host
from inarch.driver.options import Options

SCHEMA = "inarch.bench.model/1"
TOLERANCE = 1e-3
"""Between two programs, of the largest element that is compared."""


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


def measure_model(
    path: Path,
    options: Options,
    *,
    peers: Sequence[str] = (),
    threads: int = 1,
    rounds: int = 10,
    progress: Progress | None = None,
) -> ModelResult:
    """Compiles a model and calls it in turn with the `peers` that are installed.

    Inputs are random, from a fixed seed: standard normal floats, integers of 0 and 1. Raises what
    `inarch.driver.compiler.build` raises, and UsageError for a peer that nobody knows.
    """
    from inarch.runtime.module import load

    check_peers(peers)
    target = find_host(options.host).machine(options.target)
    with tempfile.TemporaryDirectory(prefix="inarch-bench-") as folder, ExitStack() as stack:
        artifact = Path(folder) / "model.inarch"
        build(path, artifact, options, progress=progress)
        main = load(artifact, threads=threads)["main"]
        inputs = {
            port.name: random_array(port.shape, port.dtype.numpy) for port in main.signature.inputs
        }
        outputs = [np.empty(port.shape, port.dtype.numpy) for port in main.signature.outputs]
        arrays = list(inputs.values())
        main(*arrays, out=outputs)
        np.savez(Path(folder) / "inputs.npz", **inputs)  # pyright: ignore[reportArgumentType] - names
        infos, processes = start_peers(peers, stack, threads)
        found: dict[str, PeerResult] = {}
        indices: dict[str, int] = {}
        for process in processes:
            found[process.name] = PeerResult()
            indices[process.name] = _prepare(
                process, path, Path(folder) / "inputs.npz", outputs[0], found[process.name]
            )
        ours = Series()
        for turn in range(rounds):
            if progress is not None:
                progress(f"round {turn + 1} of {rounds}", turn, rounds)
            count = calls_of(ours.min if ours.values else 1e9)
            ours.values.append(_call_ns(lambda: main(*arrays, out=outputs), count, threads))
            for process in processes:
                _measure(process, indices[process.name], found[process.name])
    return ModelResult(
        path.name, options.host, str(target), describe(target), threads, rounds, ours, found, infos
    )


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
    process: PeerProcess, path: Path, inputs: Path, output: Array, result: PeerResult
) -> int:
    """The model's index in the peer; what it cannot do, or does otherwise than we, is its error."""
    try:
        answer = process.prepare_model(path.absolute(), inputs)
    except EnvironmentFault as error:
        result.error = error.message
        return -1
    ours = sample(output)
    scale = max(1e-30, *map(abs, ours))
    differences = (abs(a - b) for a, b in zip(ours, answer["sample"], strict=True))
    difference = max(differences, default=0.0) / scale
    if not difference <= TOLERANCE:
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
