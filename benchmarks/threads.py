"""What a second thread brings: Inarch, onnxruntime and OpenVINO on one thread and on several.

    python benchmarks/threads.py [--models resnet50,bert_base] [--threads 2] [--rounds 10] [--busy 1] [--json]

Each contender runs in a process of its own, one at a time, interleaved: a call that is not timed after a rest
(the pools of others spin on for a while, and what is timed meanwhile runs at half speed), then timed ones;
wall time. Minima are compared, and medians shown. `--busy N`: beside N processes that never rest, where
Inarch on several threads is compared with itself on one, by medians. Beside the ratios stands that of
arithmetic alone, by as many processes as there are threads: what this machine gives at best.
"""

# Onnxruntime and OpenVINO are untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from inarch.core.scratch import scratch

HERE = Path(__file__).parent
MODELS = ("resnet50", "mobilenetv2", "bert_base")
PEERS = ("onnxruntime", "openvino")
REST_S = 0.06
CALLS = 4
"""Timed calls of a turn."""


def prepared(
    who: str, threads: int, model: Path, inputs: Mapping[str, Any]
) -> Callable[[], object]:
    """A call of the model by one of the contenders."""
    if who == "inarch":
        import inarch

        main = inarch.load(model.with_suffix(".inarch"), threads=threads)["main"]
        arrays = [inputs[spec.name] for spec in main.signature.inputs]
        return lambda: main(*arrays)
    if who == "onnxruntime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        session: Any = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
        return lambda: session.run(None, dict(inputs))
    openvino: Any = import_module("openvino")
    hints = {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
    }
    request = openvino.Core().compile_model(str(model), "CPU", hints).create_infer_request()
    return lambda: request.infer(dict(inputs))


def serve(who: str, threads: int, model: Path) -> int:
    """Answers each line with the milliseconds of some calls."""
    with np.load(model.with_suffix(".npz")) as found:
        inputs = {name: found[name] for name in found.files}
    call = prepared(who, threads, model, inputs)
    call()
    for _ in sys.stdin:
        time.sleep(REST_S)
        call()
        times: list[float] = []
        for _ in range(CALLS):
            start = time.perf_counter()
            call()
            times.append((time.perf_counter() - start) * 1e3)
        print(json.dumps(times), flush=True)
    return 0


class Contender:
    """A process that calls the model when it is asked to."""

    def __init__(self, who: str, threads: int, model: Path) -> None:
        self.name = f"{who} {threads}"
        command = [sys.executable, __file__, "--serve", who, "--threads", str(threads)]
        self._process = subprocess.Popen(
            [*command, "--model", str(model)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.times: list[float] = []

    def turn(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended with {self._process.wait()}")
        self.times += json.loads(line)

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


BURN = """
import sys, time
start = time.perf_counter()
total = 0
for number in range(6_000_000):
    total += number * number
print(time.perf_counter() - start)
"""


def peak_ratio(processes: int) -> float:
    """How much arithmetic so many processes do at once, in units of one alone."""

    def seconds(count: int) -> float:
        running = [
            subprocess.Popen([sys.executable, "-c", BURN], stdout=subprocess.PIPE, text=True)
            for _ in range(count)
        ]
        return max(float(one.communicate()[0]) for one in running)

    return max(processes * seconds(1) / seconds(processes) for _ in range(3))


def measure(name: str, folder: Path, threads: int, rounds: int, busy: int) -> dict[str, Any]:
    """Every contender's times on one model."""
    model = folder / f"{name}.onnx"
    subprocess.run(
        [sys.executable, str(HERE / "models" / f"{name}.py"), str(model)], check=True, cwd=folder
    )
    artifact = model.with_suffix(".inarch")
    command = [
        sys.executable,
        "-m",
        "inarch",
        "compile",
        str(model),
        "-q",
        "-o",
        str(artifact),
    ]
    subprocess.run(command, check=True)
    import inarch

    rng = np.random.default_rng(0)
    inputs: dict[str, Any] = {
        spec.name: rng.standard_normal(spec.shape).astype(np.float32)
        if spec.dtype.is_float
        else rng.integers(0, 2, spec.shape).astype(spec.dtype.numpy)
        for spec in inarch.load(artifact).signature.inputs
    }
    np.savez(model.with_suffix(".npz"), **inputs)
    names = ["inarch"] if busy else ["inarch", *PEERS]
    contenders = [Contender(who, n, model) for who in names for n in (1, threads)]
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        for _ in range(rounds):
            for one in contenders:
                one.turn()
    finally:
        for other in others:
            other.kill()
    for one in contenders:
        one.end()
    times = {
        one.name: {"min": min(one.times), "median": statistics.median(one.times)}
        for one in contenders
    }
    return {"model": name, "busy": busy, "ms": times, **_ratios(times, threads)}


def _ratios(times: Mapping[str, Mapping[str, float]], threads: int) -> dict[str, float]:
    alone, together = times["inarch 1"], times[f"inarch {threads}"]
    found = {
        "gain": alone["min"] / together["min"],
        "gain_median": alone["median"] / together["median"],
    }
    for label, count in (("alone", 1), ("together", threads)):
        peers = [times[f"{who} {count}"]["min"] for who in PEERS if f"{who} {count}" in times]
        if peers:
            found[f"best_peer_{label}"] = min(peers) / times[f"inarch {count}"]["min"]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--busy", type=int, default=0, help="processes that never rest")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--model", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        return serve(given.serve, given.threads, given.model)
    os.environ.pop("INARCH_NUM_THREADS", None)
    rows: list[dict[str, Any]] = []
    peak = peak_ratio(given.threads)
    if not given.json:
        print(f"arithmetic alone: {peak:.2f}x by {given.threads} processes")
    with scratch("inarch-threads-") as folder:
        for name in given.models.split(","):
            row = measure(name, folder, given.threads, given.rounds, given.busy)
            rows.append({**row, "arithmetic": peak})
            if not given.json:
                _print(row)
    if given.json:
        print(json.dumps(rows, indent=1))
    return 0


def _print(row: dict[str, Any]) -> None:
    print(f"{row['model']}:")
    for name, found in row["ms"].items():
        print(f"  {name:<14} least {found['min']:8.2f} ms, median {found['median']:8.2f} ms")
    ratios = {key: value for key, value in row.items() if isinstance(value, float)}
    print("  " + ", ".join(f"{key} {value:.2f}" for key, value in ratios.items()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
