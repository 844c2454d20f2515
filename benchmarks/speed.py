"""How fast Inarch is against onnxruntime, and what compiling costs: one table, made in one run.

    python benchmarks/speed.py [--models resnet50,mobilenetv2] [--rounds 30] [--json]

Each model is compiled, checked against onnxruntime, and then both are called interleaved on one thread;
a round's figure is CPU time of the calling thread, and medians over rounds are compared, so that a
noisy machine slows both alike.
"""

# Onnxruntime is untyped:
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from inarch.core.scratch import scratch

HERE = Path(__file__).parent
PEAK = """
def peak_mib():
    # Not ru_maxrss: the kernel starts it with that of the process which started this one.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
"""
"""What a measured process asks for its peak of resident memory (Linux)."""

MODELS = ("mlp", "lenet", "mobilenetv2", "resnet50", "bert_base")


def make_model(name: str, folder: Path) -> Path:
    """Writes a benchmark model with its generator; returns its path."""
    path = folder / f"{name}.onnx"
    command = [sys.executable, str(HERE / "models" / f"{name}.py"), str(path)]
    subprocess.run(command, check=True)
    return path


def compile_cold(path: Path, output: Path, cache: Path) -> dict[str, float]:
    """Compiles in a fresh process with an empty cache: seconds, our Python's share, peak RSS."""
    script = PEAK + (
        "import json, sys, time\n"
        "start, cpu = time.perf_counter(), time.process_time()\n"
        "from inarch.driver.compiler import build\n"
        "build(sys.argv[1], sys.argv[2])\n"
        "print(json.dumps({'seconds': time.perf_counter() - start,\n"
        "  'python_cpu_seconds': time.process_time() - cpu, 'peak_mib': peak_mib()}))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(path), str(output)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "INARCH_CACHE_DIR": str(cache)},
    )
    return json.loads(run.stdout)


def load_and_run_rss(artifact: Path) -> float:
    """MiB of resident memory of a process that only loads an artifact and calls it twice."""
    script = PEAK + (
        "import sys, numpy as np, inarch\n"
        "module = inarch.load(sys.argv[1])\n"
        "main = module['main']\n"
        "xs = [np.zeros(s.shape, s.dtype.numpy) for s in main.signature.inputs]\n"
        "main(*xs); main(*xs)\n"
        "print(peak_mib())\n"
    )
    command = [sys.executable, "-c", script, str(artifact)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def random_inputs(main: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Seeded inputs by signature: normal floats, small integers."""
    rng = np.random.default_rng(0)
    found: dict[str, np.ndarray[Any, Any]] = {}
    for spec in main.signature.inputs:
        kind = np.dtype(spec.dtype.numpy)
        if kind.kind == "f":
            found[spec.name] = rng.standard_normal(spec.shape).astype(kind)
        else:
            found[spec.name] = rng.integers(0, 2, spec.shape).astype(kind)
    return found


def interleaved(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median CPU milliseconds of each call, interleaved."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.thread_time()
            call()
            times[name].append((time.thread_time() - start) * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def measure(name: str, folder: Path, rounds: int) -> dict[str, Any]:
    """Everything about one model."""
    import onnxruntime

    import inarch

    path = make_model(name, folder)
    artifact = folder / f"{name}.inarch"
    row: dict[str, Any] = {"model": name, **compile_cold(path, artifact, folder / f"cache-{name}")}
    module = inarch.load(artifact, threads=1)
    main = module["main"]
    inputs = random_inputs(main)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session: Any = onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"]
    )
    expected = session.run(None, inputs)
    found = list(module.run(inputs).values())
    row["difference"] = max(
        float(np.abs(a.astype(np.float64) - b).max() / max(float(np.abs(b).max()), 1e-30))
        for a, b in zip(found, expected, strict=True)
    )
    arrays = [inputs[spec.name] for spec in main.signature.inputs]
    times = interleaved(
        {"inarch": lambda: main(*arrays), "onnxruntime": lambda: session.run(None, inputs)}, rounds
    )
    row["inarch_ms"], row["onnxruntime_ms"] = times["inarch"], times["onnxruntime"]
    row["ratio"] = times["inarch"] / times["onnxruntime"]
    row["weights_mib"] = path.stat().st_size / (1 << 20)
    row["run_rss_mib"] = load_and_run_rss(artifact)
    return row


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--models", default=",".join(MODELS))
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--json", action="store_true")
    arguments = options.parse_args()
    rows: list[dict[str, Any]] = []
    with scratch("inarch-speed-") as folder:
        for name in arguments.models.split(","):
            rows.append(measure(name, folder, arguments.rounds))
            if not arguments.json:
                _print(rows[-1], header=len(rows) == 1)
    if arguments.json:
        print(json.dumps(rows, indent=1))
    return 0


def _print(row: dict[str, Any], *, header: bool) -> None:
    columns = (
        ("model", "{:<12}"),
        ("inarch_ms", "{:>10.2f}"),
        ("onnxruntime_ms", "{:>15.2f}"),
        ("ratio", "{:>6.2f}"),
        ("difference", "{:>11.1e}"),
        ("seconds", "{:>8.1f}"),
        ("python_cpu_seconds", "{:>19.1f}"),
        ("peak_mib", "{:>9.0f}"),
        ("weights_mib", "{:>12.0f}"),
        ("run_rss_mib", "{:>12.0f}"),
    )
    if header:
        widths = [len(form.format(0 if name != "model" else "")) for name, form in columns]
        print(" ".join(f"{name:>{w}}" for (name, _), w in zip(columns, widths, strict=True)))
    print(" ".join(form.format(row[name]) for name, form in columns), flush=True)


if __name__ == "__main__":
    sys.exit(main())
