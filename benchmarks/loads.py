"""What loading programs costs, and that it leaves nothing behind.

    python benchmarks/loads.py [--count 1000] [--calls 10000] [--artifact resnet50.inarch]
    python benchmarks/loads.py --count 10000 --held 1000 --calls 1000000       # the whole, some minutes

Loads, calls and drops `count` distinct artifacts, `count` times one file, and one that has a submodule and
a callback; holds `held` distinct ones at once, of which each still computes, and drops them; calls one
`calls` times. Prints what the process has more of than after the first tenth: descriptors, mappings,
resident memory. Leaves with 1 when that is not flat (0 descriptors, 0 mappings, 2 MiB).

With `--artifact` (of `inarch compile`), prints what its loading costs, without the drop: first in a
process of its own, then in a warm one: checked, unchecked (`check=False`), verified (`verify=True`), and
again while a module of it is held.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import inarch
from inarch.artifact import Artifact, write_artifact
from inarch.core.scratch import scratch
from inarch.driver.compiler import build

LIMIT = 2 << 20
ROUNDS = 9

MODEL = """
func.func private @twice(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.call @twice(%x) : tensor<4xf32> -> tensor<4xf32>
  %1 = graph.add %0, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %2 = graph.exp %1 : tensor<4xf32> -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
"""
PLAIN = """
func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %w = graph.constant dense<1.0> : tensor<4096xf32>
  %0 = graph.add %x, %w : tensor<4096xf32>, tensor<4096xf32> -> tensor<4096xf32>
  func.return %0 : tensor<4096xf32>
}
"""


ZEROS = np.zeros(4096, np.float32)


def state() -> tuple[int, int, int]:
    """Descriptors, mappings, resident bytes."""
    gc.collect()
    maps = len(Path("/proc/self/maps").read_text().splitlines())
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return len(list(Path("/proc/self/fd").iterdir())), maps, pages * os.sysconf("SC_PAGESIZE")


def is_flat(name: str, work: Callable[[int], None], count: int) -> bool:
    """Prints what `count` turns leave behind; whether that is nothing."""
    warm = max(count // 10, 1)
    for number in range(warm):
        work(number)
    before, start = state(), time.thread_time()
    for number in range(warm, count):
        work(number)
    elapsed = (time.thread_time() - start) / (count - warm)
    opened, mapped, resident = (new - old for new, old in zip(state(), before, strict=True))
    print(
        f"{name:40} {opened:+4} descriptors {mapped:+4} mappings {resident / 1024:+7.0f} KiB, "
        f"{elapsed * 1e3:.4g} ms each"
    )
    return opened == 0 and mapped == 0 and resident <= LIMIT


def distinct(folder: Path) -> Callable[[int], Path]:
    """Writes programs that differ in their members, and so in every hash."""
    (folder / "plain.mlir").write_text(PLAIN)
    build(folder / "plain.mlir", folder / "plain.inarch")
    with Artifact.open(folder / "plain.inarch") as artifact:
        library, weights = bytes(artifact.library), bytes(artifact.weights)
        manifest = artifact.manifest.data

    def write(number: int) -> Path:
        path = folder / f"distinct{number}.inarch"
        members = {"source.note": str(number).encode()}
        write_artifact(path, library, manifest, [(0, weights)], len(weights), members)
        return path

    return write


def all_at_once(write: Callable[[int], Path], held: int) -> Callable[[int], None]:
    """Holds many distinct programs, each of which computes while the others are there; then drops them."""

    def work(_number: int) -> None:
        paths = [write(number) for number in range(held)]
        modules = [inarch.load(path) for path in paths]
        for module in modules:
            assert np.asarray(module(ZEROS)).all()
        for path in paths:
            path.unlink()

    return work


def with_submodule(folder: Path) -> Callable[[int], None]:
    """Loads one program with a submodule and a callback, each time another one."""
    (folder / "model.mlir").write_text(MODEL)
    path = folder / "model.inarch"
    build(folder / "model.mlir", path, backends=("examplejson",), keep=("exp=examplejson",))
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)

    def work(number: int) -> None:
        def scale(a: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> None:
            np.multiply(a, number / 1e4, out=out)

        module = inarch.load(path, imports={"twice": scale})
        np.testing.assert_allclose(module(x, y), np.exp(x * (number / 1e4)), rtol=1e-6)

    return work


def print_times(path: Path, folder: Path) -> None:
    """The cost of loading the artifact at `path`: CPU time of a process, then of calls."""
    code = "import sys, time; import inarch; inarch.load(sys.argv[1]); print(time.process_time())"
    command = [sys.executable, "-c", code, str(path)]
    fresh = [float(subprocess.check_output(command)) for _ in range(ROUNDS)]
    print(f"first of a process {min(fresh) * 1e3:8.2f} ms")
    copy, first = (folder / name for name in ("copy.inarch", "first.inarch"))
    for each in (copy, first):
        each.write_bytes(path.read_bytes())
    load = inarch.load
    load(first)  # whose pool of threads all others share, and which stays
    ways: dict[str, Callable[[], object]] = {
        "checked once": lambda: load(path),
        "check=False": lambda: load(path, check=False),
        "verify=True": lambda: load(path, verify=True),
    }

    def unknown() -> object:
        os.utime(copy)
        return load(copy)

    for name, work in {"checked": unknown, **ways}.items():
        print(f"{name:18} {_median(work):8.2f} ms")
    held = inarch.load(path)
    print(f"{'while it is held':18} {_median(ways['checked once']):8.2f} ms")
    del held


def _median(work: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        made = work()
        times.append((time.thread_time() - start) * 1e3)
        del made  # the end of what was loaded is no part of it
    return statistics.median(times)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--held", type=int, default=100)
    options.add_argument("--calls", type=int, default=10_000)
    options.add_argument("--artifact", type=Path)
    arguments = options.parse_args()
    with scratch("inarch-loads-") as folder:
        if arguments.artifact is not None:
            print_times(arguments.artifact, folder)
        write = distinct(folder)
        first = inarch.load(write(-1))  # whose pool of threads all others share, and which stays

        def once(path: Path) -> None:
            assert np.asarray(inarch.load(path)(ZEROS)).all()

        def anew(number: int) -> None:
            path = write(number)
            once(path)
            path.unlink()

        same = write(-2)
        out = np.empty_like(ZEROS)
        bound = first.bind(ZEROS, out=out)

        def called(_number: int) -> None:
            first(ZEROS)
            bound()

        flat = [
            is_flat("distinct artifacts", anew, arguments.count),
            is_flat("one file", lambda _: once(same), arguments.count),
            is_flat("one with a submodule, callbacks", with_submodule(folder), arguments.count),
            is_flat(f"{arguments.held} at once", all_at_once(write, arguments.held), 3),
            is_flat("calls, plain and bound", called, arguments.calls),
        ]
    return 0 if all(flat) else 1


if __name__ == "__main__":
    sys.exit(main())
