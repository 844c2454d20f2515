"""`inarch verify-kernel`: checks that microkernels do what they say they do."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.core.errors import EnvironmentFault, UsageError
from inarch.tools.commands import Command
from inarch.tools.extensions import load_files
from inarch.tools.options import many
from inarch.tools.progress import progress

if TYPE_CHECKING:
    from inarch.verification import Verdict


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="kernels, or files that define one (default: those of the --load files)",
    )
    parser.add_argument(
        "--load",
        **many("FILE", type=Path),
        help="add the kernel that a file defines (repeatable)",
    )
    parser.add_argument(
        "--param",
        **many("NAME=VALUE"),
        help="only members with this parameter (repeatable)",
    )
    parser.add_argument(
        "--target", default="native", help="CPU to compile for (default: this machine's)"
    )
    parser.add_argument("--quick", action="store_true", help="fewer and smaller shapes")
    parser.add_argument(
        "--all",
        action="store_true",
        help="every member of a family with every init and epilogue (default: a dozen of them)",
    )
    parser.add_argument("--json", action="store_true", help="the verdicts as JSON")


def _execute(arguments: argparse.Namespace) -> int:
    from inarch.machine.target import native, parse
    from inarch.microkernel.table import MICROKERNELS
    from inarch.verification import verify_family

    files = [Path(name) for name in arguments.names if Path(name).is_file()]
    load_files([*arguments.load, *files])
    asked = [name for name in arguments.names if not Path(name).is_file()]
    for name in asked:
        if name not in MICROKERNELS and (Path(name).suffix or os.sep in name):
            raise UsageError(f"no such file: '{name}'; name a kernel, or a file that defines one")
    asked += [path.stem.replace("_", "-") for path in files]
    # Also one that takes the place of a kernel of its name.
    names: Sequence[str] = asked or sorted(MICROKERNELS.loaded)
    if not names:
        raise UsageError(
            "expected the name of a kernel, or --load FILE; see `inarch list microkernels`"
        )
    target = native() if arguments.target == "native" else parse(arguments.target)
    params = dict(_param(text) for text in arguments.param)
    verdicts: list[Verdict] = []
    with progress(quiet=arguments.json) as report:
        for name in names:
            verdicts += verify_family(
                MICROKERNELS[name],
                name,
                target,
                params=params,
                every=arguments.all,
                quick=arguments.quick,
                progress=report,
            )
    if arguments.json:
        print(json.dumps([asdict(verdict) for verdict in verdicts], indent=1))
    else:
        _show(verdicts)
    if any(not verdict.ok and verdict.is_checked for verdict in verdicts):
        return 1
    return 0 if all(verdict.ok for verdict in verdicts) else EnvironmentFault.exit_code


def _show(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        print(verdict.line())
    failed = sum(not verdict.ok and verdict.is_checked for verdict in verdicts)
    unchecked = sum(not verdict.is_checked for verdict in verdicts)
    words = [f"{len(verdicts) - failed - unchecked} of {len(verdicts)} instances pass"]
    words += [f"{failed} fail"] if failed else []
    words += [f"{unchecked} cannot be checked here"] if unchecked else []
    calls = sum(verdict.calls for verdict in verdicts)
    print(f"{', '.join(words)} ({calls} calls)")


def _param(text: str) -> tuple[str, int]:
    name, equals, value = text.partition("=")
    if not equals or not value.lstrip("-").isdigit():
        raise UsageError(f"--param: expected NAME=VALUE with a whole number, found '{text}'")
    return name, int(value)


COMMAND = Command(
    description="Check that microkernels compute what they declare, and touch nothing else.",
    epilog="""examples:
  inarch verify-kernel gemm-f32
  inarch verify-kernel my_gemm.c --quick
  inarch verify-kernel gemm-f32 --param MR=4 --target x86-64-v3 --json

A kernel is compiled and called in a child process on many shapes, strides, alignments and numbers,
between pages that cannot be touched, and again with AddressSanitizer. The report names the kernel,
the instance, the call (sizes, strides), and the first element that differs or the byte that was touched.

exit code: 0 all pass, 1 a kernel fails, 2 usage, 3 something lacks here (a CPU feature, a library)
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
