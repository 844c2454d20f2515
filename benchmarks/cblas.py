"""OpenBLAS (the backend cblas) against our own kernels, and what OPENBLAS_CORETYPE changes: one table.

    python benchmarks/cblas.py [--rounds 15] [--cores ,SkylakeX,Haswell] [--threads 1]

Every column is a process of its own, since OpenBLAS chooses its kernels when it is loaded. The processes
take turns, one call a round; a figure is the median over the rounds of GFLOP/s by the CPU time of all of
the process's threads, and ratios are of these medians (above 1: OpenBLAS is faster than backend c).
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from inarch.backends.cblas.library import library
from inarch.core.scratch import scratch
from inarch.dialects import new_context
from inarch.driver.compiler import build
from inarch.ir.text import parse_module
from inarch.runtime.module import load

MATMUL = """
func.func @main(%x: tensor<{m}x{k}xf32>) -> tensor<{m}x{n}xf32> {{
  %w = graph.constant dense<0.5> : tensor<{k}x{n}xf32>
  %0 = graph.matmul %x, %w : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32> -> tensor<{m}x{n}xf32>
  func.return %0 : tensor<{m}x{n}xf32>
}}
"""

CONV = """
func.func @main(%x: tensor<1x{k}x{s}x{s}xf32>) -> tensor<1x{m}x{s}x{s}xf32> {{
  %w = graph.constant dense<0.5> : tensor<{m}x{k}x1x1xf32>
  %b = graph.constant dense<0.5> : tensor<{m}xf32>
  %0 = graph.conv %x, %w bias %b strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1
    : tensor<1x{k}x{s}x{s}xf32>, tensor<{m}x{k}x1x1xf32>, tensor<{m}xf32> -> tensor<1x{m}x{s}x{s}xf32>
  %1 = graph.relu %0 : tensor<1x{m}x{s}x{s}xf32> -> tensor<1x{m}x{s}x{s}xf32>
  func.return %1 : tensor<1x{m}x{s}x{s}xf32>
}}
"""

PROGRAMS = {
    "matmul 1024 x 1024 x 1024": (MATMUL.format(m=1024, n=1024, k=1024), 1024**3),
    "matmul 128 x 3072 x 768 (bert)": (MATMUL.format(m=128, n=3072, k=768), 128 * 3072 * 768),
    "matmul 1 x 1000 x 2048 (a classifier)": (MATMUL.format(m=1, n=1000, k=2048), 1000 * 2048),
    "conv 64 -> 256, 56 x 56 (resnet)": (CONV.format(k=64, m=256, s=56), 64 * 256 * 56**2),
    "conv 512 -> 128, 28 x 28 (resnet)": (CONV.format(k=512, m=128, s=28), 512 * 128 * 28**2),
    "conv 256 -> 1024, 14 x 14 (resnet)": (CONV.format(k=256, m=1024, s=14), 256 * 1024 * 14**2),
    "conv 2048 -> 512, 7 x 7 (resnet)": (CONV.format(k=2048, m=512, s=7), 2048 * 512 * 7**2),
}
"""Program, and multiplications in it."""


class Column:
    """A process that loads an artifact and calls it once for each line that it is sent."""

    def __init__(self, artifact: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--worker", str(artifact)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self.core = self._line()
        self.seconds: list[float] = []

    def call(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("call\n")
        self._process.stdin.flush()
        self.seconds.append(float(self._line()))

    def close(self) -> float:
        """Ends the process; the median of its calls."""
        self._process.communicate()
        return statistics.median(self.seconds)

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise SystemExit(f"error: a worker ended with {self._process.wait()}")
        return line


def work(artifact: str) -> None:
    """A worker: prints which kernels OpenBLAS would use, then the CPU seconds of each call."""
    module = load(artifact)
    openblas = ctypes.CDLL(str(library()))
    openblas.scipy_openblas_get_corename.restype = ctypes.c_char_p
    print(openblas.scipy_openblas_get_corename().decode(), flush=True)
    inputs = [np.ones(port.shape, port.dtype.numpy) for port in module.signature.inputs]
    outputs = [np.empty(port.shape, port.dtype.numpy) for port in module.signature.outputs]
    for _ in range(3):  # pages, caches and the clock
        module(*inputs, out=outputs)
    for _ in sys.stdin:
        start, calls = time.process_time(), 0
        while calls == 0 or time.process_time() - start < 0.01:  # its resolution is 1 us
            module(*inputs, out=outputs)
            calls += 1
        print((time.process_time() - start) / calls, flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cores", default=",SkylakeX,Haswell", help="'' is OpenBLAS's own choice")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    if arguments.worker:
        work(arguments.worker)
        return
    cores = arguments.cores.split(",")
    for title, (program, products) in PROGRAMS.items():
        print(title)
        with scratch("inarch-cblas-") as folder:
            measure(program, products, cores, arguments, folder)


def measure(
    program: str, products: int, cores: list[str], arguments: argparse.Namespace, folder: Path
) -> None:
    """Prints the rows of one program."""
    artifacts = {"c": folder / "c.inarch", "cblas": folder / "cblas.inarch"}
    for backend, path in artifacts.items():
        context = new_context()
        module = parse_module(context, program)
        chosen = [backend] if backend != "c" else []
        build(module, path, context=context, backends=chosen, require_offload=bool(chosen))
    threads = {
        "OPENBLAS_NUM_THREADS": arguments.threads,
        "INARCH_NUM_THREADS": arguments.threads,
    }
    columns = [Column(artifacts["c"], {})]
    columns += [
        Column(artifacts["cblas"], {**threads, **({"OPENBLAS_CORETYPE": core} if core else {})})
        for core in cores
    ]
    for _ in range(arguments.rounds):
        for column in columns:
            column.call()
    rates = [2e-9 * products / column.close() for column in columns]
    print(f"  {'backend c':<34}{rates[0]:8.1f} GFLOP/s")
    for core, column, rate in zip(cores, columns[1:], rates[1:], strict=True):
        asked = f"OPENBLAS_CORETYPE={core}" if core else "no OPENBLAS_CORETYPE"
        name = f"cblas, {asked}"
        print(f"  {name:<34}{rate:8.1f} GFLOP/s  {rate / rates[0]:5.2f}x  kernels: {column.core}")


if __name__ == "__main__":
    main()
