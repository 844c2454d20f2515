"""What compiling recurrences costs, and whether it depends on their steps.

    python benchmarks/recurrences.py [--only LSTM] [--rounds 3] [--most 3] [--json]

LSTM and GRU of 256 units at 20, 500 and 2,000 steps, networks shaped as NSNet2 at 100 and 2,000 frames,
and the voice detector `silero-vad-ifless` (downloaded). Each is compiled by `inarch compile` in a fresh
process with an empty cache: seconds by the clock from its start to its end (the least of the rounds), those
of CPU time of all its processes, and how many kernels there are: of more steps the product of all inputs has
other tiles, and that is all. The exit code is 1 where one takes more than `--most` seconds, or where a model
has more than half as many kernels again at more steps.
"""

# The models' neighbours are found when it runs:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "models"))

import nsnet2
import operator_sets
from fetch import fetch

from inarch.core.scratch import scratch

STEPS = (20, 500, 2000)
FRAMES = (100, 2000)


@dataclass(frozen=True)
class Compiled:
    """A model at a number of steps."""

    model: str
    steps: int
    seconds: float
    cpu_seconds: float
    kernels: int


def models(folder: Path, only: str) -> Iterator[tuple[str, int, Path, list[str]]]:
    """Name, steps, file and options of each."""
    for kind, steps in ((kind, steps) for kind in ("LSTM", "GRU") for steps in STEPS):
        path = folder / f"{kind}-{steps}.onnx"
        if only in kind:
            operator_sets.recurrence(kind, steps).save(path)
            yield kind, steps, path, []
    for frames in FRAMES if only in "nsnet2" else ():
        path = folder / f"nsnet2-{frames}.onnx"
        path.write_bytes(nsnet2.build(frames).SerializeToString())
        yield "nsnet2", frames, path, []
    if only in "silero-vad-ifless":
        dims = ["--dim", "batch=1", "--dim", "sequence=576"]
        yield "silero-vad-ifless", 1, fetch("silero-vad-ifless"), dims


def compiled(path: Path, options: list[str]) -> tuple[float, float, int]:
    """Seconds by the clock and of CPU time, and kernels, with an empty cache."""
    with scratch("inarch-recurrences-") as cache:
        command = [sys.executable, "-m", "inarch", "compile", str(path), *options]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        done = subprocess.run(
            [*command, "-o", str(cache / "out.inarch")],
            env={**os.environ, "INARCH_CACHE_DIR": str(cache / "cache")},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        seconds = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = re.search(r"(\d+) kernels?\b", done.stdout)
    assert found is not None, done.stdout
    return seconds, spent, int(found[1])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="models whose name contains this")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=float, default=3.0, metavar="SECONDS")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows: list[Compiled] = []
    with scratch("inarch-recurrences-") as folder:
        for name, steps, path, options in models(folder, given.only):
            once = partial(compiled, path, options)
            rounds = [once() for _ in range(given.rounds)]
            least, cpu = min(one[0] for one in rounds), min(one[1] for one in rounds)
            rows.append(Compiled(name, steps, least, cpu, rounds[0][2]))
            if not given.json:
                print(
                    f"{name:<20}{steps:>6} steps {least:7.2f} s {cpu:7.2f} s of CPU time "
                    f"{rows[-1].kernels:4} kernels",
                    flush=True,
                )
    if given.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    kernels = {row.model: {one.kernels for one in rows if one.model == row.model} for row in rows}
    depends = any(max(counts) > 1.5 * min(counts) for counts in kernels.values())
    return int(depends or any(row.seconds > given.most for row in rows))


if __name__ == "__main__":
    sys.exit(main())
