"""Random small ONNX models, and whether Inarch computes what the ONNX reference evaluator does."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
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
from inarch.testing.onnx_graphs.quantized import QUANTIZED
from inarch.testing.seeds import Search, add_seeds


def main(words: Sequence[str] | None = None) -> int:
    """Prints each difference, and writes its model."""
    asked = _parser().parse_args(words)
    if asked.file:
        return _of_file(asked)
    search, tally = Search(asked), Tally()
    for seeds in search.seeds(asked.batch if asked.across else 1):
        for found in _across(seeds, asked, tally) if asked.across else _alone(seeds, asked):
            search.found(f"{found.case.seed}: {found.message}", **_written(found, asked))
    line = f"{search.tried} graphs, {len(search.findings)} differ"
    if not asked.across:
        return search.end(line)
    return search.end(
        f"{line}; {tally.sure} of {tally.values} values have one right answer",
        values=tally.values,
        sure=tally.sure,
        bounds=tally.asked,
        explained=dict(tally.explained.most_common()),
    )


def _of_file(asked: argparse.Namespace) -> int:
    case = read(asked.file)
    said = [found.message for found in check_across([case], asked.target, FLAGS)]
    sys.stdout.write("".join(f"{asked.file}: {message}\n" for message in said))
    return int(bool(said))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m inarch.testing.onnx_graphs", description=__doc__
    )
    add_seeds(parser, count=100)
    add = parser.add_argument
    add("--compiled", action="store_true", help="compile, instead of by definition")
    add("--across", action="store_true", help="larger models, in all their forms (see `across.py`)")
    add(
        "--quantized",
        choices=[*QUANTIZED],
        help="with --across: quantized models, and what we state",
    )
    add("--file", type=Path, help="compare the forms of the model in this file, which was found")
    add("--target", action="append", help=f"of --across, repeatable ({', '.join(TARGETS)})")
    add("--flag", action="append", help=f"of --across, of the C compiler ({' '.join(FLAGS)})")
    add("--batch", type=int, default=10, help="of --across: models in one library (10)")
    add(
        "--shrink", type=float, default=30, help="of --across: seconds to make a model smaller (30)"
    )
    add("--out", type=Path, default=Path("generated-failures"), help="for models")
    return parser


def _alone(seeds: Iterable[int], asked: argparse.Namespace) -> Iterator[Finding]:
    for seed in seeds:
        case = graph(seed)
        if said := check(case, is_compiled=asked.compiled):
            yield Finding(case, said)


def _across(seeds: Iterable[int], asked: argparse.Namespace, tally: Tally) -> Iterator[Finding]:
    targets, flags = asked.target, asked.flag or FLAGS
    draw = QUANTIZED.get(asked.quantized, partial(graph, is_large=True))
    cases = [draw(seed) for seed in seeds]
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
