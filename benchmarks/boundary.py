"""What a boundary between the host and a compiled region costs.

    python benchmarks/boundary.py [--regions 200] [--rounds 200] [--json]

Programs with the same functions in them: some call `regions` functions of a backend (each a subtraction
of 4 floats, a relu on the host between them), one has no calls. Their difference in CPU time, divided by the
number of calls, is the cost of one region: DLTensors built on the stack, the call, its own malloc-free body.
Medians over interleaved rounds. The backends: `ccompiler`, whose C is linked; `steps` of examples/loader, a
format of its own, by its loader in C and by the one in Python.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import inarch
from inarch.core.scratch import scratch
from inarch.driver.extensions import load_files
from inarch.machine.compilers import find_compiler
from inarch.runtime.c import INCLUDE

CALLS = 20
EXAMPLE = Path(__file__).parents[1] / "examples" / "loader"


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


def of_steps(path: Path) -> dict[str, inarch.Module]:
    """The program with regions of the backend `steps`, by both loaders."""
    load_files([EXAMPLE / "steps.py"])
    in_python = inarch.compile(path, backends=("steps",), require_offload=True)
    in_python.save(path.with_suffix(".inarch"))
    loader = path.with_name("inarch-loader-steps.so")
    command = [*find_compiler().command, "-std=gnu11", "-O2", "-shared", "-fPIC", f"-I{INCLUDE}"]
    subprocess.run([*command, str(EXAMPLE / "steps.c"), "-o", str(loader)], check=True)
    in_c = inarch.load(path.with_suffix(".inarch"))
    assert in_c["main"].c_entry is not None
    return {"loader in C": in_c, "loader in Python": in_python}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--regions", type=int, default=200)
    options.add_argument("--rounds", type=int, default=200)
    options.add_argument("--json", action="store_true", help="nanoseconds of a region by name")
    arguments = options.parse_args()
    with scratch("inarch-boundary-") as folder:
        path = folder / "chain.mlir"
        path.write_text(program(arguments.regions))
        modules = {
            "host only": inarch.compile(path),
            "ccompiler": inarch.compile(path, backends=("ccompiler",), require_offload=True),
            **of_steps(path),
        }
    x = np.full(4, 1e6, np.float32)
    b = np.ones(4, np.float32)
    wanted = np.asarray(modules["host only"](x, b))
    assert all(np.array_equal(np.asarray(module(x, b)), wanted) for module in modules.values())
    times: dict[str, list[float]] = {name: [] for name in modules}
    for _ in range(arguments.rounds):
        for name, module in modules.items():
            calls = CALLS if "Python" not in name else 1
            start = time.thread_time_ns()
            for _ in range(calls):
                module(x, b)
            times[name].append((time.thread_time_ns() - start) / calls)
    medians = {name: statistics.median(values) for name, values in times.items()}
    costs = {
        name: (median - medians["host only"]) / arguments.regions
        for name, median in medians.items()
    }
    if arguments.json:
        print(json.dumps(costs))
        return 0
    print(f"{'':20} us a call   ns a region")
    for name, median in medians.items():
        one = "" if name == "host only" else f"{costs[name]:13.1f}"
        print(f"{name:20} {median / 1e3:9.2f} {one}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
