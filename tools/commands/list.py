"""`inarch list`: everything that can be named, and where it comes from."""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inarch.core.errors import InarchError, unknown
from inarch.core.plugins import Extensions
from inarch.machine.machine import Machine
from inarch.microkernel import Microkernel
from inarch.passes.schedule.language.step import Step
from inarch.pipeline.default import PHASES
from inarch.tools.commands import Command
from inarch.tools.extensions import kinds, load_files
from inarch.tools.options import many

if TYPE_CHECKING:
    from inarch.backends import Backend


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        nargs="?",
        help="one of algorithms, backends, commands, definitions, dialects, dtypes, executors, frontends, "
        "functions, hosts, layer-sets, loaders, lowerings, machines, microkernels, onnx-operators, passes, "
        "steps, targets, templates (default: all)",
    )
    parser.add_argument("--load", **many("FILE", type=Path), help="also load a file")
    parser.add_argument("--json", action="store_true", help="as JSON")


def _execute(arguments: argparse.Namespace) -> int:
    load_files(arguments.load)
    tables = kinds()
    if arguments.kind is not None and arguments.kind not in tables:
        raise unknown("kind", arguments.kind, tables)
    wanted = [arguments.kind] if arguments.kind else list(tables)
    rows = {kind: [_row(tables[kind], name) for name in sorted(tables[kind])] for kind in wanted}
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return 0
    for kind in wanted:
        print(f"{kind}:")
        width = max((len(row["name"]) for row in rows[kind]), default=0)
        for row in rows[kind]:
            print(f"  {row['name']:{width}}  {row['summary']}  [{row['origin']}]")
            for line in _details(row):
                print(f"  {'':{width}}    {line}")
    return 0


def _row(table: Extensions[object], name: str) -> dict[str, Any]:
    """Name, first docstring line and origin; a broken thing says what is wrong with it."""
    from inarch.backends import Backend, Host

    try:
        origin = table.origin(name).source
        thing = table[name]
        if isinstance(thing, Host):
            return {"name": name, "summary": thing.description, "origin": origin}
        if isinstance(thing, Backend):
            return {"name": name, "summary": thing.description, "origin": origin, **_facts(thing)}
        summary = _summary(table, name)
    except InarchError as error:
        return {"name": name, "summary": f"BROKEN: {error}", "origin": "?"}
    found: dict[str, Any] = {"name": name, "summary": summary, "origin": origin}
    if isinstance(thing, Mapping):
        return {**found, "of": _keys(cast("Mapping[Any, Any]", thing))}
    runs = _runs(name, thing) if table.kind == "pass" else ""
    return {**found, "runs": runs} if runs else found


def _keys(family: Mapping[Any, Any]) -> list[str]:
    """What a family is of: ops, by their names or classes, or operators."""
    return [str(getattr(key, "name", None) or getattr(key, "__name__", key)) for key in family]


def _runs(name: str, thing: object) -> str:
    """Where a pass runs in every compilation; empty where it does not."""
    phases = [phase for phase, names in PHASES.items() if name in names]
    return f"in {', '.join(phases)}" if phases else str(getattr(thing, "runs", ""))


def _facts(backend: Backend) -> dict[str, Any]:
    """What a backend takes, its options with their defaults, and whether it works on this machine."""
    try:
        status = backend.status()
    except Exception as error:  # noqa: BLE001 - a plugin's; the others are listed all the same
        status = f"BROKEN: {type(error).__name__}: {error}"
    declared = backend.declared()
    return {
        "ops": list(backend.ops),
        "patterns": [pattern.name for pattern in backend.patterns],
        "options": {name: each.text(each.default) for name, each in declared.items()},
        "declared": {
            name: {"kind": each.kind, "values": each.expected, "help": each.help}
            for name, each in declared.items()
        },
        "status": status,
    }


def _details(row: dict[str, Any]) -> list[str]:
    """The lines below a backend's own."""
    options = [f"{name}={value}" for name, value in row.get("options", {}).items()]
    lines = [("patterns", row.get("patterns")), ("ops", row.get("ops")), ("options", options)]
    text = [f"{label}: {', '.join(values)}" for label, values in lines if values]
    for name, each in row.get("declared", {}).items():
        said = [word for word in (each["values"], each["help"]) if word and word != "text"]
        text += [f"  {name}: {'; '.join(said)}"] if said else []
    if "runs" in row:
        return [f"runs {row['runs']}"]
    if "of" in row:
        return [f"of: {', '.join(row['of'])}"]
    return [*text, f"status: {row['status']}"] if "status" in row else []


def _summary(table: Extensions[object], name: str) -> str:
    """Of kernels, machines and sets what they are; else its docstring's first line."""
    from inarch.benchmark.layers import LayerSet

    thing = table[name]
    if isinstance(thing, LayerSet):
        return thing.description
    if isinstance(thing, Microkernel):
        return " ".join(thing.computes.split())
    if isinstance(thing, Machine):
        return thing.summary
    if isinstance(thing, Step):
        return thing.usage
    documented = thing if isinstance(thing, type) else import_module(table.origin(name).module)
    text = inspect.getdoc(documented) or ""
    return text.strip().splitlines()[0] if text.strip() else ""


COMMAND = Command(
    description="List everything that can be added, of us and of others, with its origin.",
    epilog="example:\n  inarch list passes\n",
    add_arguments=_add_arguments,
    execute=_execute,
)
