"""The command: shows programs, compares them with their definition, measures what they reach."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inarch.core.errors import InarchError, UsageError
from inarch.driver.extensions import load_files
from inarch.machine.target import parse as parse_target
from inarch.testing.generate.check.check import How, check_programs
from inarch.testing.generate.check.driver import Outcome, check
from inarch.testing.generate.check.offloaded import check_backends
from inarch.testing.generate.check.worker import Job
from inarch.testing.generate.program import LEVELS, read_program
from inarch.testing.generate.public import programs

_EPILOG = """examples:
  python -m inarch.testing.generate --show loop --seed 3 --start 17 --count 1
  python -m inarch.testing.generate --check graph --count 200 --target x86-64-v3 --target generic
  python -m inarch.testing.generate --check graph --load npu.py --backend npu
  python -m inarch.testing.generate --file generated-failures/graph-3-17-generic.mlir --start 17
  python -m inarch.testing.generate --coverage 300
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m inarch.testing.generate",
        description="Random programs at all levels: shown, compared with their definition, measured.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--show", choices=LEVELS, help="print programs")
    what.add_argument(
        "--check", choices=LEVELS, help="compile programs, and compare them with their definition"
    )
    what.add_argument("--file", type=Path, help="compare the program of this file, as --check does")
    what.add_argument(
        "--coverage",
        type=int,
        metavar="N",
        help="what N programs of each level reach, and what not",
    )
    add = parser.add_argument
    add("--seed", type=int, default=0, help="of the sequence of programs (0)")
    add(
        "--start",
        type=int,
        default=0,
        help="the first program of the sequence (0); of --file: which inputs",
    )
    add("--count", type=int, default=100, help="how many programs (100)")
    add("--large", action="store_true", help="up to 60 nodes a program instead of 20")
    add("--full", action="store_true", help="layers of networks at their full sizes")
    add(
        "--target",
        action="append",
        metavar="NAME",
        help="of --check, --file; may be repeated (generic)",
    )
    add(
        "--backend",
        action="append",
        default=[],
        metavar="NAME[,NAME...]",
        help="of --check graph: these backends have what they take; programs are made of their ops",
    )
    add("--load", action="append", default=[], metavar="FILE", help="a file that defines a backend")
    add("--optimize", choices="0123", default="1", help="-O of the C compiler (1)")
    add("--batch", type=int, default=10, help="programs in one library (10)")
    add(
        "--rotate-targets",
        action="store_true",
        help="each library for one of the targets, not for all",
    )
    add("--jobs", type=int, default=1, help="processes at once (1)")
    add("--seconds", type=float, default=120, help="before a silent process is a hang (120)")
    add("--shrink", type=float, default=30, help="seconds to make a failing program smaller (30)")
    add("--out", default="generated-failures", help="folder for failing programs")
    add("--json", action="store_true", help="the result as JSON on stdout")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 when something was found, 2 for wrong usage."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.show:
            return _show(arguments)
        if arguments.check:
            return _check(arguments)
        if arguments.file:
            return _file(arguments)
        from inarch.testing.generate.check.coverage import coverage_command

        return coverage_command(arguments.coverage, arguments.seed, as_json=arguments.json)
    except InarchError as error:
        sys.stderr.write(error.line() + "\n")
        return error.exit_code


def _show(arguments: Any) -> int:
    options = {"large": arguments.large, "full": arguments.full}
    for program in programs(
        arguments.show, arguments.seed, arguments.count, start=arguments.start, **options
    ):
        sys.stdout.write(f"// {program.name}\n{program.text}\n")
    return 0


def _where(arguments: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The targets and the backends. Raises InarchError for what this machine, or nobody, has."""
    targets = tuple(arguments.target or ["generic"])
    load_files([Path(path) for path in arguments.load])
    backends = tuple(name for text in arguments.backend for name in text.split(",") if name)
    if backends and arguments.check not in ("graph", None):
        raise UsageError(f"--backend: expected --check graph, found --check {arguments.check}")
    check_backends(backends)
    for target in targets:
        if missing := parse_target(target).missing_here():
            raise UsageError(
                f"expected a target that this machine runs, found {target}, which needs {missing[0]}"
            )
    return targets, backends


def _file(arguments: Any) -> int:
    """In this process: one that crashes or hangs is seen by who looks."""
    targets, backends = _where(arguments)
    program = read_program(arguments.file, arguments.start)
    found = check_programs([program], targets, how=How((f"-O{arguments.optimize}",), backends))
    if arguments.json:
        sys.stdout.write(json.dumps([one.json() for one in found], indent=1) + "\n")
    for one in found if not arguments.json else ():
        sys.stdout.write(f"{one.kind}: {arguments.file} {one.target}: {one.message}\n")
    return 1 if found else 0


def _check(arguments: Any) -> int:
    targets, backends = _where(arguments)
    job = Job(
        arguments.check, arguments.seed, arguments.start, arguments.count, arguments.batch, targets,
        (f"-O{arguments.optimize}",), arguments.out, arguments.shrink, arguments.large, arguments.full,
        backends, tuple(arguments.load), arguments.rotate_targets,
    )  # fmt: skip
    outcome = check(job, jobs=arguments.jobs, seconds_each=arguments.seconds, progress=_progress)
    sys.stderr.write("\n")
    if arguments.json:
        sys.stdout.write(json.dumps(_summary(arguments, backends, outcome), indent=1) + "\n")
    else:
        _print(arguments, targets, backends, outcome)
    return 1 if outcome.findings else 0


def _summary(arguments: Any, backends: Sequence[str], outcome: Outcome) -> dict[str, Any]:
    return {
        "level": arguments.check,
        "seed": arguments.seed,
        "start": arguments.start,
        "programs": outcome.done,
        "targets": arguments.target or ["generic"],
        "backends": list(backends),
        "taken": len(outcome.taken),
        "seconds": round(outcome.seconds, 1),
        "findings": outcome.findings,
    }


def _print(
    arguments: Any, targets: Sequence[str], backends: Sequence[str], outcome: Outcome
) -> None:
    for one in outcome.findings:
        sys.stdout.write(
            f"{one['kind']}: {one['level']} seed {one['seed']} program {one['index']} "
            f"{one['target']}: {one['message']}\n"
        )
        if one.get("path"):
            sys.stdout.write(f"  {one['path']}\n")
    if backends:
        sys.stdout.write(f"{', '.join(backends)}: parts of {len(outcome.taken)} programs\n")
    rate = outcome.done / max(outcome.seconds, 1e-9) * 60
    sys.stdout.write(
        f"{outcome.done} programs of {arguments.check}, seed {arguments.seed}, on {', '.join(targets)}: "
        f"{len(outcome.findings)} findings in {outcome.seconds:.0f} s ({rate:.0f} programs a minute)\n"
    )


def _progress(done: int, count: int, findings: int) -> None:
    sys.stderr.write(f"\r{done} of {count} programs, {findings} findings")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
