"""`inarch inspect`: what is in an artifact."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.tools.commands import Command

if TYPE_CHECKING:
    from inarch.artifact import Artifact


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("artifact", type=Path, help="a file that `inarch compile` wrote")
    parser.add_argument("--json", action="store_true", help="the whole manifest as JSON")
    parser.add_argument(
        "--verify", action="store_true", help="also compare the SHA-256 of all parts"
    )


def _execute(arguments: argparse.Namespace) -> int:
    from inarch.artifact import Artifact

    with Artifact.open(arguments.artifact) as artifact:
        return _show(artifact, arguments)


def _show(artifact: Artifact, arguments: argparse.Namespace) -> int:
    if arguments.verify:
        artifact.verify()
    manifest = artifact.manifest
    if arguments.json:
        print(json.dumps(manifest.data, indent=1))
        return 0
    print(f"name       {manifest.name}")
    print(f"host       {manifest.host}")
    print(f"target     {manifest.target}")
    print(f"machine    {manifest.data.get('machine', 'unknown')}")
    print(f"weights    {manifest.weights.nbytes} bytes")
    imports = [f"{i.name} ({i.linked})" if i.linked else i.name for i in manifest.imports]
    print(f"imports    {', '.join(imports) or 'none'}")
    if len(manifest.loaders) > 1:
        print(f"modules    {', '.join(manifest.loaders[1:])}")
    for library in manifest.libraries:
        symbols = f": {', '.join(library.symbols)}" if library.symbols else ""
        print(f"library    {library.path}, called by {library.user}{symbols}")
    for name, function in manifest.functions.items():
        inputs = ", ".join(map(str, function.inputs))
        outputs = ", ".join(map(str, function.outputs))
        print(f"{name}({inputs}) -> ({outputs})")
        print(f"  workspace {function.workspace_bytes} bytes")
    if arguments.verify:
        print("verified   library, members and weights")
    return 0


COMMAND = Command(
    description="Show an artifact's functions, shapes, target and sizes.",
    epilog="example:\n  inarch inspect model.inarch --json\n",
    add_arguments=_add_arguments,
    execute=_execute,
)
