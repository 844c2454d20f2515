"""Every member of a microkernel's family alone: cycles a call, GFLOP/s and % of the FMA peak of the same run.

    python benchmarks/microkernels.py depthwise-f32 --param R=3 --param SH=1 [--param P=1,2,4]
    python benchmarks/microkernels.py gemv-f32 --size K=512 --bytes 16M

Operands are dense where the kernel's layout does not say otherwise. Without `--bytes` each call has the same
ones, which are then in L1 or L2; with it, calls go through copies of them that take so many bytes
together, and GB/s are compared with a loop that only reads as many. `--finish` is an epilogue:
`--finish "max(C[p, q, l] + E0[l], 0)"`. Members are measured interleaved, in CPU time of
the thread; a figure is the minimum over the rounds. At the end: how well `cost` ranks the members.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from inarch.benchmark.members import Row, run
from inarch.core.errors import InarchError, UsageError
from inarch.core.plugins import load_file
from inarch.machine.target import parse as parse_target
from inarch.meaning import normal, operands, parse
from inarch.microkernel import Microkernel, instantiate, members
from inarch.microkernel.table import MICROKERNELS
from inarch.verification.subject import Subject, subject_of

Array = np.ndarray[Any, Any]

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's: 1 where both rank alike; ties share their mean rank. NaN where one is constant."""
    ranked = [_ranks(np.asarray(each, np.float64)) for each in (a, b)]
    x, y = (each - each.mean() for each in ranked)
    norm = math.sqrt(float((x * x).sum() * (y * y).sum()))
    return float((x * y).sum()) / norm if norm else math.nan


def _ranks(values: Array) -> Array:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[inverse]


def subjects_of(arguments: argparse.Namespace) -> list[Subject]:
    """The members that the command line asks for."""
    kernel: Microkernel = MICROKERNELS[arguments.name]
    target = parse_target(arguments.target)
    wanted = {name: {int(v) for v in values.split(",")} for name, values in arguments.param}
    for name in wanted:
        if name not in kernel.params:
            raise UsageError(f"expected --param of {', '.join(kernel.params)}, found {name}")
    sizes = {name: int(value) for name, value in arguments.size}
    finish, extras = None, {}
    if arguments.finish:
        element = normal(parse(kernel.computes)).target
        names = [term.iterator for index in element.indices for term in index]
        loops = ", ".join(f"{name} in 1" for name in names)
        written = f"{element.operand}[{', '.join(map(str, names))}]"
        statement = parse(f"for {loops}: {written} = {arguments.finish}", "--finish")
        finish = statement.statements[0].value
        extras = {name: "f32" for name in operands(statement) if name != element.operand}
    chosen = [
        instantiate(
            kernel,
            arguments.name,
            params,
            target=target,
            init=arguments.init or kernel.inits[0],
            finish=finish,
            extras=extras,
            sizes=sizes,
        )
        for params in members(kernel, target)
        if all(params[name] in values for name, values in wanted.items())
    ]
    if not chosen:
        raise UsageError(f"no member of '{arguments.name}' for {target} has these parameters")
    return [subject_of(instance, sizes) for instance in chosen]


def report(limits: Mapping[str, float], rows: Sequence[Row]) -> str:
    """The table, best members first, and the quality of the predictions."""
    lines = [f"peak {limits['gflops']:.1f} GFLOP/s at {limits['ghz']:.2f} GHz"]
    if limits["read_gbytes"]:
        lines[0] += f", reading {limits['read_gbytes']:.1f} GB/s"
    lines.append(
        f"{'% peak':>7} {'GFLOP/s':>8} {'cycles':>9} {'cost':>9} {'GB/s':>7} {'% read':>7}  member"
    )
    for row in sorted(rows, key=lambda row: -row.percent_of_peak):
        cost = "" if row.predicted is None else f"{row.predicted:.0f}"
        read = "" if row.percent_of_read is None else f"{row.percent_of_read:.0f}"
        member = " ".join(f"{name}={value}" for name, value in row.params.items())
        lines.append(
            f"{row.percent_of_peak:7.1f} {row.gflops:8.1f} {row.cycles:9.0f} {cost:>9} "
            f"{row.gbytes:7.1f} {read:>7}  {member}"
        )
    pairs = [(row.predicted, row.cycles) for row in rows if row.predicted is not None]
    if len(pairs) > 2:
        predicted, measured = zip(*pairs, strict=True)
        ratios = sorted(m / p for p, m in pairs if p > 0)
        lines.append(
            f"cost against cycles: rank correlation {rank_correlation(predicted, measured):.3f}, "
            f"measured / predicted {ratios[0]:.2f} .. {ratios[-1]:.2f}, "
            f"median {ratios[len(ratios) // 2]:.2f}"
            if ratios
            else "cost is 0"
        )
    return "\n".join(lines)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, found '{text}'")
    return name, value


def _bytes(text: str) -> int:
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    if unit not in UNITS or not number.isdigit():
        raise argparse.ArgumentTypeError(f"expected bytes as 16M, found '{text}'")
    return int(number) * UNITS[unit]


def arguments_of(argv: Sequence[str]) -> argparse.Namespace:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("name", help="the kernel: depthwise-f32")
    options.add_argument("--param", type=_pair, action="append", default=[], help="P=1,2")
    options.add_argument("--size", type=_pair, action="append", default=[], help="K=256")
    options.add_argument("--init", choices=("accumulate", "zero"))
    options.add_argument("--finish", help="an epilogue: max(C[m, n] + E0[n], 0)")
    options.add_argument("--target", default="native")
    options.add_argument("--bytes", type=_bytes, default=0, help="copies of the operands: 16M")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--load", type=Path, action="append", default=[], help="a kernel's file")
    options.add_argument("--json", action="store_true")
    return options.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = arguments_of(sys.argv[1:] if argv is None else argv)
    try:
        for path in arguments.load:
            load_file(path, {"microkernels": MICROKERNELS})
        limits, rows = run(subjects_of(arguments), arguments.rounds, arguments.bytes)
    except InarchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if arguments.json:
        print(json.dumps({"limits": limits, "members": [asdict(row) for row in rows]}, indent=1))
        return 0
    print(report(limits, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
