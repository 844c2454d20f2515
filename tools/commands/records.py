"""`inarch records`: lists, merges and prunes files of records, and says which are the best."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.core.errors import UsageError
from inarch.tools.commands import Command

if TYPE_CHECKING:
    from inarch.driver.keep.records import Record

ACTIONS = ("list", "merge", "prune", "best")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=ACTIONS,
        help="list: all; best: those that gain most; merge: of several files one; prune: leave out what this "
        "computer and compiler cannot use, and what gains nothing",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="files of records")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="where merge and prune write"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def _execute(arguments: argparse.Namespace) -> int:
    from inarch.driver.keep.records import (
        add_records,
        compiler_name,
        merged,
        read_records,
        write_records,
    )
    from inarch.machine.find import cpu_name

    records = merged(*map(read_records, arguments.files))
    if arguments.action == "best":
        records = sorted((one for one in records if one.gain > 1), key=lambda one: -one.gain)
    if arguments.action == "prune":
        own = cpu_name(), compiler_name()
        records = [one for one in records if (one.cpu, one.compiler) == own and one.gain > 1]
    if arguments.action in ("merge", "prune"):
        output: Path | None = arguments.output
        if output is None:
            raise UsageError(f"records {arguments.action}: expected -o FILE, found none")
        if arguments.action == "merge":
            records = add_records(output, records)
        else:
            write_records(output, records)
        print(f"{output}: {len(records)} records")
        return 0
    if arguments.json:
        print(json.dumps([asdict(one) | {"gain": one.gain} for one in records], indent=1))
        return 0
    print(_table(records))
    return 0


def _table(records: list[Record]) -> str:
    lines = [f"{'us':>9} {'gain':>6}  {'kernel':<18} {'target':<14} {'op':<24} nest"]
    lines += [
        f"{one.seconds * 1e6:>9.1f} {one.gain:>6.3f}  {one.kernel:<18} {one.target[:14]:<14} "
        f"{one.where[-24:]:<24} {one.nest}{f' ({one.demanded} demanded)' if one.demanded else ''}"
        for one in records
    ]
    machines = sorted({(one.cpu, one.compiler) for one in records})
    said = "; ".join(f"{cpu}, {compiler}" for cpu, compiler in machines)
    return "\n".join([*lines, f"{len(records)} records{f' of {said}' if said else ''}"])


COMMAND = Command(
    description="List, merge and prune records of `inarch tune`.",
    epilog="""example:
  inarch records list records.json
  inarch records best records.json --json
  inarch records merge a.json b.json -o all.json
  inarch records prune all.json -o here.json
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
