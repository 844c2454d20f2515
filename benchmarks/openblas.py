"""Products by OpenBLAS, of the package scipy-openblas32, in a process that answers each line with a time.

    python benchmarks/openblas.py M N K THREADS        (then a line on the standard input for each turn)

It has the kernels of this CPU: on some it takes older ones by itself, and is told otherwise unless
OPENBLAS_CORETYPE is set. Times are as those of the other peers: of one thread CPU time, of several by the
clock, after a rest.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from inarch.backends.cblas.library import library
from inarch.benchmark.measure import calls_of
from inarch.benchmark.peers import wall_ns

ROW_MAJOR, NO_TRANSPOSE = 101, 111


def core_type() -> str:
    """The kernels that this CPU can run; empty: OpenBLAS knows them itself."""
    try:
        flags = Path("/proc/cpuinfo").read_text().split("flags", 2)[1].split("\n")[0].split()
    except (OSError, IndexError):
        return ""
    return "SkylakeX" if {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= {*flags} else ""


def serve(m: int, n: int, k: int, threads: int) -> None:
    """Answers each line with the nanoseconds of a product, and begins with the name of the kernels."""
    blas = ctypes.CDLL(str(library()))
    blas.scipy_openblas_set_num_threads(threads)
    blas.scipy_openblas_get_corename.restype = ctypes.c_char_p
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n)))
    c = np.empty((m, n), np.float32)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, c)]
    one, zero = ctypes.c_float(1), ctypes.c_float(0)

    def run() -> None:
        blas.scipy_cblas_sgemm(
            *(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k),
            *(one, pointers[0], k, pointers[1], n, zero, pointers[2], n),
        )

    run()
    assert np.allclose(c[0], a[0] @ b, rtol=1e-3, atol=1e-2), "it is no product"
    print(blas.scipy_openblas_get_corename().decode(), flush=True)
    least = 1e9
    for _ in sys.stdin:
        count = calls_of(least)
        if threads > 1:
            took = wall_ns(run, count)
        else:
            run()
            start = time.thread_time_ns()
            for _ in range(count):
                run()
            took = (time.thread_time_ns() - start) / count
        least = min(least, took)
        print(took, flush=True)


class OpenBLAS:
    """A product in a process of its own, which takes turns with others."""

    def __init__(self, m: int, n: int, k: int, threads: int) -> None:
        given = {"OPENBLAS_CORETYPE": core_type()} if core_type() else {}
        self._process = subprocess.Popen(
            [sys.executable, __file__, *map(str, (m, n, k, threads))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**given, **os.environ},
        )
        self.core = self._answer()
        self.times: list[float] = []

    def turn(self) -> None:
        """One more time, in nanoseconds."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self.times.append(float(self._answer()))

    def end(self) -> None:
        """Ends the process."""
        self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise SystemExit(f"error: OpenBLAS ended with {self._process.wait()}; see above")
        return line


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:5]))
