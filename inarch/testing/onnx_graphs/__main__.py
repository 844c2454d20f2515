"""Random small ONNX models, and whether Inarch computes what the ONNX reference evaluator does."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from inarch.testing.onnx_graphs.across import (
    FLAGS,
    TARGETS,
    Finding,
    Tally,
    check_across,
    smaller,
)
from inarch.testing.onnx_graphs.compare import check
from inarch.testing.onnx_graphs.kept import read, write
from inarch.testing.onnx_graphs.nodes import graph


def main(words: Sequence[str] | None = None) -> int:
    """Prints each difference, and writes its model."""
    asked = _parser().parse_args(words)
    if asked.file:
        return _of_file(asked)
    begin = time.monotonic()
    first, step = asked.seed + asked.run * asked.count, asked.batch if asked.across else 1
    findings, tried, tally = list[dict[str, Any]](), 0, Tally()
    for start in range(first, first + asked.count, step):
        if time.monotonic() - begin > asked.seconds:
            break
        seeds = range(start, min(start + step, first + asked.count))
        tried += len(seeds)
        for found in _across(seeds, asked, tally) if asked.across else _alone(seeds, asked):
            findings.append(_written(found, asked))
            if not asked.json:
                sys.stdout.write(f"{found.case.seed}: {found.message}\n")
                sys.stdout.flush()
    told: dict[str, Any] = {"graphs": tried, "findings": findings}
    if asked.across:
        told |= {"values": tally.values, "sure": tally.sure, "bounds": tally.asked}
        told |= {"explained": dict(tally.explained.most_common())}
    line = f"{tried} graphs, {len(findings)} differ"
    if asked.across:
        line += f"; {tally.sure} of {tally.values} values have one right answer"
    sys.stdout.write((json.dumps(told) if asked.json else line) + "\n")
    return int(bool(findings))


def _of_file(asked: argparse.Namespace) -> int:
    case = read(asked.file)
    said = [found.message for found in check_across([case], asked.target, FLAGS)]
    sys.stdout.write("".join(f"{asked.file}: {message}\n" for message in said))
    return int(bool(said))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m inarch.testing.onnx_graphs", description=__doc__
    )
    add = parser.add_argument
    add("--seed", type=int, default=0, help="of the first model (0)")
    add("--count", type=int, default=100, help="how many models (100)")
    add("--run", type=int, default=0, help="begin behind as many runs (0)")
    add("--compiled", action="store_true", help="compile, instead of by definition")
    add("--across", action="store_true", help="larger models, in all their forms (see `across.py`)")
    add("--file", type=Path, help="compare the forms of the model in this file, which was found")
    add("--target", action="append", help=f"of --across, repeatable ({', '.join(TARGETS)})")
    add("--flag", action="append", help=f"of --across, of the C compiler ({' '.join(FLAGS)})")
    add("--batch", type=int, default=10, help="of --across: models in one library (10)")
    add(
        "--shrink", type=float, default=30, help="of --across: seconds to make a model smaller (30)"
    )
    add("--seconds", type=float, default=float("inf"), help="stop after as many")
    add("--out", type=Path, default=Path("generated-failures"), help="for models")
    add("--json", action="store_true", help="print the findings as JSON at the end")
    return parser


def _alone(seeds: Iterable[int], asked: argparse.Namespace) -> Iterator[Finding]:
    for seed in seeds:
        case = graph(seed)
        if said := check(case, is_compiled=asked.compiled):
            yield Finding(case, said)


def _across(seeds: Iterable[int], asked: argparse.Namespace, tally: Tally) -> Iterator[Finding]:
    targets, flags = asked.target, asked.flag or FLAGS
    cases = [graph(seed, is_large=True) for seed in seeds]
    for found in check_across(cases, targets, flags, tally):
        yield smaller(found, targets, flags, asked.shrink)


def _written(found: Finding, asked: argparse.Namespace) -> dict[str, Any]:
    """The finding as JSON; its model is a file, with its inputs."""
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / f"onnx-{found.case.seed}.onnx"
    write(found.case, path)
    return {"seed": found.case.seed, "message": found.message, "file": os.fspath(path)}


if __name__ == "__main__":
    sys.exit(main())
