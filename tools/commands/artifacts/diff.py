"""`inarch diff`: what differs between two artifacts."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from inarch.core.outside.printable import printable_name
from inarch.tools.commands import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", type=Path, metavar="A", help="an artifact")
    parser.add_argument("b", type=Path, metavar="B", help="another one")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print nothing: the exit code says it"
    )


def _execute(arguments: argparse.Namespace) -> int:
    from inarch.artifact import Artifact
    from inarch.core.errors import InarchError
    from inarch.tools.artifacts.difference import NotComparedError, as_json, differences

    try:
        with Artifact.open(arguments.a) as a, Artifact.open(arguments.b) as b:
            found = differences(a, b)
    except InarchError as error:
        raise NotComparedError(error.message, where=error.where) from error
    if arguments.json:
        print(json.dumps({"equal": not found, "differences": as_json(found)}, indent=1))
    elif not arguments.quiet:
        for one in found:
            print(printable_name(str(one)))
    return 1 if found else 0


COMMAND = Command(
    description="Show what differs between two artifacts: fields of the manifest, functions, kernels by "
    "name, weights by range, members. The exit code is 0 where nothing does, 1 where something does, 2 where "
    "one cannot be read.",
    epilog="example:\n  inarch diff yesterday.inarch today.inarch\n  inarch diff a.inarch b.inarch --json\n",
    add_arguments=_add_arguments,
    execute=_execute,
)
