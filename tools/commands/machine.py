"""`inarch machine`: what a machine is made of, as far as choices depend on it; this computer, measured."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.tools.commands import Command
from inarch.tools.extensions import load_files
from inarch.tools.options import many

if TYPE_CHECKING:
    from inarch.machine.machine import Machine


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "machine",
        nargs="?",
        metavar="NAME|FILE",
        help="a machine's name or file (default: whom a compilation for this computer is made for)",
    )
    parser.add_argument(
        "--measure",
        action="store_true",
        help="measure this computer, in less than a minute; compilations for native use it from then on",
    )
    parser.add_argument(
        "--fit",
        **many("FILE", type=Path),
        help="the machine as records of `inarch tune` say that this computer is: costs come as near as they "
        "can to what was measured (repeatable)",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--load", **many("FILE", type=Path), help="also load a file")


def _execute(arguments: argparse.Namespace) -> int:
    from inarch.machine.machine_file import machine_text, table_of

    load_files(arguments.load)
    machine = _machine(arguments)
    if arguments.json:
        print(json.dumps(table_of(machine), indent=1))
    else:
        sys.stdout.write(machine_text(machine))
    return 0


def _machine(arguments: argparse.Namespace) -> Machine:
    from inarch.core.errors import UsageError
    from inarch.machine.find import find_machine, keep_measured, this_machine
    from inarch.machine.target import native

    if arguments.measure and arguments.fit:
        raise UsageError("--measure, --fit: expected one of them, found both")
    if arguments.fit:
        from inarch.driver.keep.records import merged, read_records
        from inarch.tuning.fit import fit

        base = find_machine(arguments.machine) if arguments.machine is not None else None
        found = fit(merged(*map(read_records, arguments.fit)), base)
        print(f"note: {found.text}", file=sys.stderr)
        return found.machine
    if arguments.measure:
        from inarch.benchmark.probe.machine import measure_machine

        if arguments.machine is not None:
            raise UsageError(
                f"--measure: it is for this computer; expected no machine, found '{arguments.machine}'"
            )
        machine = measure_machine(native())
        folder = keep_measured(machine)
        print(
            f"note: kept in {folder}; compilations for native use it from here on",
            file=sys.stderr,
        )
        return machine
    if arguments.machine is not None:
        return find_machine(arguments.machine)
    return this_machine() or native().machine


COMMAND = Command(
    description="Print a machine (caches, ports, latencies) as the TOML that --machine takes.",
    epilog="""example:
  inarch machine --measure > mine.toml
  inarch machine zen4 --json
  inarch machine --fit records.json > mine.toml
  inarch compile model.onnx --machine mine.toml
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
