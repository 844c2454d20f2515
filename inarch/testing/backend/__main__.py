"""The command: `python -m inarch.testing.backend NAME --load FILE`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from inarch.core.errors import InarchError
from inarch.testing.backend.check import COUNT, check_backend

_EPILOG = """examples:
  python -m inarch.testing.backend npu --load npu.py
  python -m inarch.testing.backend npu:array=16 --count 200 --seed 1
  python -m inarch.testing.backend npu --program conv.mlir --json
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m inarch.testing.backend",
        description="Tries a backend: random programs, options at their ends, save, load, threads, faults.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("backend", metavar="[NAME=]BACKEND[:OPTION=VALUE,...]", help="what to try")
    add("--load", action="append", default=[], metavar="FILE", help="a file that defines it")
    add(
        "--program",
        action="append",
        default=[],
        metavar="MODEL",
        help="a model of your own, for ops that random programs do not have (repeatable)",
    )
    add("--count", type=int, default=COUNT, help=f"random programs ({COUNT})")
    add("--seed", type=int, default=0, help="of the random programs (0)")
    add("--seconds", type=float, default=120, help="before a silent process is a hang (120)")
    add("--out", default="backend-failures", help="folder for failing programs")
    add("--json", action="store_true", help="the result as JSON on stdout")
    return parser


def _say(text: str) -> None:
    sys.stderr.write(f"trying {text}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 when something failed or nothing was tried, 2 for wrong usage."""
    arguments = _parser().parse_args(argv)
    try:
        report = check_backend(
            arguments.backend,
            load=arguments.load,
            programs=arguments.program,
            count=arguments.count,
            seed=arguments.seed,
            folder=arguments.out,
            seconds=arguments.seconds,
            progress=_say,
        )
    except InarchError as error:
        sys.stderr.write(error.line() + "\n")
        return error.exit_code
    if arguments.json:
        sys.stdout.write(json.dumps(report.as_json(), indent=1) + "\n")
    else:
        sys.stdout.write("".join(f"{one.text}\n" for one in report.checks))
        sys.stdout.write(f"{report.summary}\n")
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
