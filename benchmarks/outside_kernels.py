"""A ResNet-50 convolution and a BERT matmul by kernels from outside, against the plain path and ours.

    python benchmarks/outside_kernels.py [--rounds 20]

`sgemm-openblas` is a library's symbol, `gemm-tile` a C file (both in examples/microkernels/), `registered`
the same matmul by NumPy through the function registry. All are demanded by name, so they do what they
match. GFLOP/s of the call, minima over interleaved rounds of CPU time, one thread.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import inarch
from inarch.microkernels import MICROKERNELS
from inarch.plugins import load_file
from inarch.runtime.registry import register

EXAMPLES = Path(__file__).parents[1] / "examples" / "microkernels"
REGISTERED = """from inarch.microkernel import Microkernel
MICROKERNEL = Microkernel(
    "for m in M, n in N, k in K: C[m, n] += A[m, k] * B[k, n]", {"A": "f32", "B": "f32", "C": "f32"},
    registered="numpy-matmul",
)
"""


def conv(channels: int, size: int) -> tuple[str, float]:
    """A 3x3 convolution with weights in the program, and its floating-point operations."""
    x = f"tensor<1x{channels}x{size}x{size}xf32>"
    w = f"tensor<{channels}x{channels}x3x3xf32>"
    body = f"""  %y = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1
    : {x}, {w} -> {x}"""
    return _program(x, w, x, body), 2.0 * channels * channels * 9 * size * size


def matmul(m: int, k: int, n: int) -> tuple[str, float]:
    """A matmul with weights in the program, and its floating-point operations."""
    x, w, y = f"tensor<{m}x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<{m}x{n}xf32>"
    return _program(x, w, y, f"  %y = graph.matmul %x, %w : {x}, {w} -> {y}"), 2.0 * m * k * n


def _program(x: str, w: str, y: str, body: str) -> str:
    return f"""func.func @main(%x: {x}) -> {y} {{
  %w = graph.constant dense<0.5> : {w}
{body}
  func.return %y : {y}
}}"""


def _matmul(a: Any, b: Any, c: Any) -> None:
    c += a @ b


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=20)
    rounds = options.parse_args().rounds
    table: dict[str, tuple[str, float]] = {
        "ResNet-50 conv 64, 56x56, 3x3": conv(64, 56),
        "BERT matmul 128x768x768": matmul(128, 768, 768),
    }
    register("numpy-matmul", _matmul)
    with tempfile.TemporaryDirectory() as folder, MICROKERNELS.scope(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a slot in a loop costs is seen here
        registered = Path(folder) / "registered.py"
        registered.write_text(REGISTERED)
        programs: dict[str, dict[str, inarch.Module]] = {}
        for number, (title, (text, _)) in enumerate(table.items()):
            path = Path(folder) / f"model{number}.mlir"
            path.write_text(text)
            with MICROKERNELS.scope():
                modules = {"plain": inarch.compile(path)}
                own = "gemm-f32" if "matmul" in title else "conv-f32"
                modules[own] = inarch.compile(path, microkernels=[own])
            for file in (EXAMPLES / "sgemm_openblas.py", EXAMPLES / "gemm_tile.c", registered):
                name = file.stem.replace("_", "-")
                with MICROKERNELS.scope():
                    load_file(file, {"microkernel": MICROKERNELS})
                    modules[name] = inarch.compile(path, microkernels=[name])
            programs[title] = modules
        for title, modules in programs.items():
            _measure(title, table[title][1], modules, rounds)
    return 0


def _measure(title: str, flops: float, modules: dict[str, inarch.Module], rounds: int) -> None:
    (port,) = modules["plain"].signature.inputs
    x = np.random.default_rng(0).standard_normal(port.shape).astype(np.float32)
    best = dict.fromkeys(modules, float("inf"))
    wanted = np.asarray(modules["plain"](x))
    for module in modules.values():
        np.testing.assert_allclose(np.asarray(module(x)), wanted, rtol=1e-3, atol=1e-3)
    for _ in range(rounds):
        for name, module in modules.items():
            start = time.thread_time_ns()
            module(x)
            best[name] = min(best[name], time.thread_time_ns() - start)
    for name, nanoseconds in best.items():
        print(
            f"{title:<32} {name:<16} {nanoseconds / 1e3:10.0f} us {flops / nanoseconds:8.1f} GFLOP/s"
        )


if __name__ == "__main__":
    sys.exit(main())
