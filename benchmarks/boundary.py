"""What a boundary between the host and a compiled region costs.

    python benchmarks/boundary.py [--regions 200] [--rounds 200]

Two programs with the same functions in them: one calls `regions` functions of the backend `ccompiler`
through import slots (each a subtraction of 4 floats, a relu on the host between them), the other has
no calls. Their difference in CPU time, divided by the number of calls, is the cost of one region:
DLTensors built on the stack, the call, its own malloc-free body. Medians over interleaved rounds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import inarch

CALLS = 20


def program(regions: int) -> str:
    """`x = relu(x - b)`, `regions` times, on 4 floats."""
    kind = "tensor<4xf32>"
    lines = [
        f'func.func @main(%v0: {kind} {{inarch.name = "x"}}, %b: {kind} {{inarch.name = "b"}}) -> {kind} {{'
    ]
    for n in range(regions):
        lines.append(f"  %s{n} = graph.sub %v{n}, %b : {kind}, {kind} -> {kind}")
        lines.append(f"  %v{n + 1} = graph.relu %s{n} : {kind} -> {kind}")
    return "\n".join([*lines, f"  func.return %v{regions} : {kind}", "}"])


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--regions", type=int, default=200)
    options.add_argument("--rounds", type=int, default=200)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.mlir"
        path.write_text(program(arguments.regions))
        host = inarch.compile(path)
        mixed = inarch.compile(path, backends=("ccompiler",), require_offload=True)
    x = np.full(4, 1e6, np.float32)
    b = np.ones(4, np.float32)
    assert np.array_equal(np.asarray(host(x, b)), np.asarray(mixed(x, b)))
    times: dict[str, list[float]] = {"host": [], "mixed": []}
    for _ in range(arguments.rounds):
        for name, module in (("host", host), ("mixed", mixed)):
            start = time.thread_time_ns()
            for _ in range(CALLS):
                module(x, b)
            times[name].append((time.thread_time_ns() - start) / CALLS)
    medians = {name: statistics.median(values) for name, values in times.items()}
    per_region = (medians["mixed"] - medians["host"]) / arguments.regions
    print(f"host only            {medians['host'] / 1e3:8.2f} us a call")
    print(f"{arguments.regions} regions          {medians['mixed'] / 1e3:8.2f} us a call")
    print(f"one region           {per_region:8.1f} ns")
    return 0


if __name__ == "__main__":
    sys.exit(main())
