"""Measuring layers: ours, each peer and the machine's peak in turn, round after round.

A round goes over the layers; at each it measures the peak, our kernels, our call, then each peer's call and
kernel, one after the other, so that a change of the clock or a busy neighbour meets all of them alike. A
figure is CPU time; each is an average over some milliseconds of calls on warm data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from inarch.benchmark.harness import Harness
from inarch.benchmark.layers import Layer
from inarch.benchmark.machine import bandwidths, describe
from inarch.benchmark.peers import PEERS
from inarch.benchmark.peers.process import PeerProcess
from inarch.benchmark.results import LayerResult, PeerInfo, PeerResult, Results, Series
from inarch.benchmark.subject.subject import Guest, Subject, compile_guest, compile_layer
from inarch.core.errors import EnvironmentFault, InarchError, unknown
from inarch.core.rounding import WHOLE
from inarch.driver.options import DEFAULT_HOST
from inarch.machine.machine import Machine
from inarch.machine.target import Target

Progress = Callable[[str, int, int], None]

_BUDGET_NS = 3e6
"""About how long one figure of one round is averaged over."""
_MOST_CALLS = 500


@dataclass
class Runner:
    """A layer in a peer."""

    process: PeerProcess
    index: int
    count: int
    result: PeerResult


@dataclass
class _Row:
    """A layer, compiled by us and prepared by the peers, and what is known of it so far."""

    subject: Subject
    result: LayerResult
    runners: list[Runner]
    guests: list[tuple[Guest, PeerResult]]
    """The layer by microkernels that are demanded, and what is known of it so."""


def measure(
    layers: Sequence[tuple[str, Layer]],
    target: Target,
    *,
    host: str = DEFAULT_HOST,
    machine: Machine | None = None,
    peers: Sequence[str] = (),
    kernels: Sequence[str] = (),
    rounds: int = 10,
    progress: Progress | None = None,
) -> Results:
    """Compiles each `(set, layer)` for `target` and measures it against the `peers` that are installed.

    `kernels` are microkernels: each is demanded in a version of the layer of its own, beside the peers, and
    has no part in ours. Raises UsageError for a peer that nobody knows, EnvironmentFault when this machine
    cannot run the target, and InarchError when a compiled layer is wrong.
    """
    check_peers(peers)
    harness = Harness(target, host, machine)
    steps, total = 0, len(layers) * (rounds + 1)

    def report(what: str) -> None:
        nonlocal steps
        if progress is not None:
            progress(what, steps, total)
        steps += 1

    with ExitStack() as stack:
        infos, processes = start_peers(peers, stack)
        rows: list[_Row] = []
        for name, layer in layers:
            report(f"compile {layer.name}")
            rows.append(_prepare_layer(name, layer, harness, processes, kernels))
        infos |= {name: PeerInfo("", "demanded", ()) for name in kernels}
        for iteration in range(rounds):
            for row in rows:
                report(f"round {iteration + 1} of {rounds}: {row.subject.layer.name}")
                _measure_ours(row, harness)
                for subject, result in row.guests:
                    _measure_guest(subject, result)
                for runner in row.runners:
                    measure_peer(runner)
    results = [row.result for row in rows]
    peak = max(result.peak.max for result in results)
    return Results(str(target), describe(target), rounds, results, infos, peak, bandwidths(harness))


def check_peers(names: Sequence[str]) -> None:
    """Raises UsageError for a peer that nobody knows."""
    for name in names:
        if name not in PEERS:
            raise unknown("peer", name, PEERS)


def start_peers(
    names: Sequence[str], stack: ExitStack, threads: int = 1
) -> tuple[dict[str, PeerInfo], list[PeerProcess]]:
    """Starts the peers that are installed; `stack` ends them."""
    infos: dict[str, PeerInfo] = {}
    processes: list[PeerProcess] = []
    for name in dict.fromkeys(names):
        peer = PEERS[name]
        version = ""
        if not peer.missing():
            processes.append(PeerProcess(name, threads))
            stack.callback(processes[-1].close)
            version = processes[-1].version()
        infos[name] = PeerInfo(version, peer.settings, tuple(peer.missing()))
    return infos, processes


def _prepare_layer(
    name: str,
    layer: Layer,
    harness: Harness,
    processes: Sequence[PeerProcess],
    kernels: Sequence[str],
) -> _Row:
    subject = compile_layer(layer, harness, kernels)
    result = LayerResult(name, layer, subject.steps, subject.executed_flops)
    result.each_step = [Series() for _ in subject.steps]
    runners = [_prepare(process, layer, subject) for process in processes]
    result.peers = {runner.process.name: runner.result for runner in runners}
    guests: list[tuple[Guest, PeerResult]] = []
    for kernel in kernels:
        found = result.peers[kernel] = PeerResult()
        others = [one for one in kernels if one != kernel]
        try:
            guests.append((compile_guest(layer, harness, kernel, others), found))
        except InarchError as error:
            found.error = str(error)
    return _Row(subject, result, runners, guests)


def _measure_guest(subject: Guest, result: PeerResult) -> None:
    """One figure each of the layer by a microkernel that is demanded."""
    count = calls_of(subject.call_ns(1))
    result.kernel.values.append(subject.kernel_ns(count))
    result.call.values.append(subject.call_ns(count))


def _prepare(process: PeerProcess, layer: Layer, subject: Subject) -> Runner:
    found = PeerResult()
    try:
        answer = process.prepare(layer)
    except EnvironmentFault as error:
        found.error = error.message
        return Runner(process, -1, 0, found)
    found.variant = answer["variant"]
    ours = subject.samples()
    scale = max(1e-30, *map(abs, ours))
    difference = max(abs(a - b) for a, b in zip(ours, answer["sample"], strict=True)) / scale
    if not difference <= WHOLE:
        found.error = f"its result differs from ours by {difference:.1e} of the maximum"
    return Runner(process, answer["index"], calls_of(answer["ns"]), found)


def calls_of(nanoseconds: float) -> int:
    """How many calls a figure is averaged over."""
    return max(1, min(_MOST_CALLS, round(_BUDGET_NS / max(nanoseconds, 1.0))))


def _measure_ours(row: _Row, harness: Harness) -> None:
    subject, result = row.subject, row.result
    count = calls_of(subject.call_ns(1))
    result.peak.values.append(harness.peak_gflops())
    result.kernel.values.append(subject.kernel_ns(count))
    for series, value in zip(result.each_step, subject.steps_ns(count), strict=True):
        series.values.append(value)
    result.call.values.append(subject.call_ns(count))
    result.python.values.append(subject.python_ns(count))


def measure_peer(runner: Runner) -> None:
    """One figure each; a layer that the peer has not, or has wrong, keeps its error."""
    if runner.result.error:
        return
    try:
        call = runner.process.call_ns(runner.index, runner.count)
        kernel = runner.process.kernel(runner.index, runner.count)
    except EnvironmentFault as error:
        runner.result.error = error.message
        return
    runner.result.call.values.append(call)
    if kernel is not None:
        # Profilers read the wall clock, which runs on while others have the processor. A kernel is
        # a part of its call, whose time is CPU time.
        runner.result.kernel.values.append(min(kernel[0], call))
        runner.result.implementation = kernel[1]
