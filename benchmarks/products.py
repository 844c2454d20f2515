"""Products of two matrices that are arguments, and NumPy's, interleaved: the least time of each.

    python benchmarks/products.py [--threads 1] [--rounds 9] [MxKxN ...]     MxKxNt: the second is transposed

Prints milliseconds of both, and the median of NumPy's time by Inarch's: CPU time of one thread, or wall time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path

_ARGUMENTS = argparse.ArgumentParser()
_ARGUMENTS.add_argument("sizes", nargs="*", default=["2048x2048x2048", "2048x2048x2048t"])
_ARGUMENTS.add_argument("--threads", type=int, default=1)
_ARGUMENTS.add_argument("--rounds", type=int, default=9)
CHOSEN = _ARGUMENTS.parse_args()
os.environ["OPENBLAS_NUM_THREADS"] = str(CHOSEN.threads)

import numpy as np  # noqa: E402 - OpenBLAS reads its threads when it is loaded

import inarch  # noqa: E402
from inarch.core.scratch import scratch  # noqa: E402

_FLOPS = 1_500_000_000
"""Of the calls that are timed at once, at least."""


def _program(m: int, k: int, n: int, *, is_transposed: bool) -> str:
    a, b, c = (f"tensor<{p}x{q}xf32>" for p, q in ((m, k), (k, n), (m, n)))
    given, moved = b, ""
    if is_transposed:
        given = f"tensor<{n}x{k}xf32>"
        moved = f"  %b = graph.transpose %w perm = [1, 0] : {given} -> {b}\n"
    second = "%b" if is_transposed else "%w"
    return (
        f"func.func @main(%a: {a}, %w: {given}) -> {c} {{\n{moved}"
        f"  %y = graph.matmul %a, {second} : {a}, {b} -> {c}\n  func.return %y : {c}\n}}\n"
    )


def _measure(size: str, path: Path) -> str:
    m, k, n = map(int, size.removesuffix("t").split("x"))
    is_transposed = size.endswith("t")
    path.write_text(_program(m, k, n, is_transposed=is_transposed))
    product = inarch.compile(path, threads=CHOSEN.threads)
    rng = np.random.default_rng(0)
    a = rng.standard_normal((m, k), dtype=np.float32)
    w = rng.standard_normal((n, k) if is_transposed else (k, n), dtype=np.float32)
    b = w.T if is_transposed else w
    found, expected = np.empty((m, n), np.float32), np.empty((m, n), np.float32)
    clock = time.thread_time if CHOSEN.threads == 1 else time.perf_counter
    times: dict[str, list[float]] = {"inarch": [], "numpy": []}
    calls = {
        "inarch": lambda: product(a, w, out=found),
        "numpy": lambda: np.matmul(a, b, out=expected),
    }
    repeats = max(1, _FLOPS // (2 * m * k * n))
    for _ in range(CHOSEN.rounds + 1):
        for name, call in calls.items():
            begun = clock()
            for _ in range(repeats):
                call()
            times[name].append((clock() - begun) / repeats)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-2)
    ratio = statistics.median(
        t / o for t, o in zip(times["numpy"][1:], times["inarch"][1:], strict=True)
    )
    least = [min(times[name][1:]) * 1e3 for name in calls]
    return f"{size:20}{least[0]:10.3f}{least[1]:10.3f}{ratio:8.3f}"


def main() -> None:
    """Prints a line for each size."""
    print(f"{'':20}{'inarch':>10}{'numpy':>10}{'ratio':>8}")
    with scratch("inarch-products-") as folder:
        for size in CHOSEN.sizes:
            print(_measure(size, folder / "product.mlir"), flush=True)


if __name__ == "__main__":
    main()
