"""`python -m inarch.fuzz`: runs mutated inputs through a parser, and keeps what is wrong."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inarch.core.errors import InarchError
from inarch.fuzz import PARSERS
from inarch.fuzz.case import Finding, make_case, run_case
from inarch.fuzz.child import limit_memory
from inarch.fuzz.parent import Tally, run

KEPT = 3
"""Reproducers of one fault."""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 1 when anything was found."""
    parser = argparse.ArgumentParser(
        prog="python -m inarch.fuzz", description="Mutated inputs for parsers."
    )
    parser.add_argument("--parser", required=True, help=f"one of {', '.join(sorted(PARSERS))}")
    parser.add_argument("--count", type=int, default=10_000, help="cases (default: 10000)")
    parser.add_argument("--seed", type=int, default=1, help="which cases (default: 1)")
    parser.add_argument("--start", type=int, default=0, help="the first case (default: 0)")
    parser.add_argument("--json", action="store_true", help="the result as one line of JSON")
    parser.add_argument("--file", type=Path, help="read this file instead, as a case is read")
    parser.add_argument(
        "--save", type=Path, default=Path("build/fuzz"), help="folder of reproducers (build/fuzz)"
    )
    arguments = parser.parse_args(argv)
    try:
        if arguments.file is not None:
            return _one(arguments.parser, arguments.file)
        return _many(arguments)
    except InarchError as error:
        sys.stderr.write(f"{error.line()}\n")
        return error.exit_code


def _one(name: str, path: Path) -> int:
    parser = PARSERS[name]
    limit_memory()
    outcome = run_case(parser, path.read_bytes())
    if isinstance(outcome, Finding):
        sys.stdout.write(f"{outcome.kind} at {outcome.place}\n{outcome.detail}\n")
        return 1
    sys.stdout.write("read\n" if outcome else "refused\n")
    return 0


def _many(arguments: argparse.Namespace) -> int:
    began = time.monotonic()
    last = began
    known = 0

    def report(case: int, tally: Tally) -> None:
        nonlocal last, known
        if len(tally.faults) > known:  # at once: a long run may be stopped
            known = len(tally.faults)
            (kind, place), cases = list(tally.faults.items())[-1]
            sys.stderr.write(f"{arguments.parser}: case {cases[0]['case']}: {kind} at {place}\n")
        if time.monotonic() - last < 5:
            return
        last = time.monotonic()
        done = case - arguments.start
        sys.stderr.write(
            f"{arguments.parser}: {done} of {arguments.count}, {tally.read} read, {tally.refused} "
            f"refused, {tally.findings} findings, {done / (last - began):.0f}/s\n"
        )

    name = arguments.parser
    parser = PARSERS[name]
    seeds = list(parser.seeds())
    tally = run(name, seeds, arguments.count, arguments.seed, start=arguments.start, report=report)
    faults: list[dict[str, Any]] = []
    for (kind, place), cases in tally.faults.items():
        files: list[str] = []
        for found in cases[:KEPT]:
            path = arguments.save / name / f"{kind}-{arguments.seed}-{found['case']}{parser.suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(make_case(name, parser, seeds, arguments.seed, found["case"]))
            files.append(str(path))
        faults.append(
            {
                "kind": kind,
                "place": place,
                "cases": len(cases),
                "files": files,
                "detail": cases[0]["detail"],
            }
        )
    seconds = time.monotonic() - began
    result = {
        "parser": name, "seed": arguments.seed, "start": arguments.start, "count": arguments.count,
        "read": tally.read, "refused": tally.refused, "findings": tally.findings,
        "seconds": round(seconds, 1), "faults": faults,
    }  # fmt: skip
    sys.stdout.write(json.dumps(result) + "\n" if arguments.json else _text(result, faults))
    return int(bool(faults))


def _text(result: Mapping[str, object], faults: Sequence[dict[str, Any]]) -> str:
    lines = [
        "{parser}: {count} cases from {start} of seed {seed} in {seconds} s: {read} read, "
        "{refused} refused, {findings} findings".format(**result)
    ]
    for fault in faults:
        lines.append("\n{kind} at {place}, {cases} cases".format(**fault))
        lines += [f"  {file}" for file in fault["files"]]
        lines.append(str(fault["detail"]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
