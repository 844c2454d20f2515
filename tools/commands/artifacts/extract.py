"""`inarch extract`: the parts of an artifact as files."""

from __future__ import annotations

import argparse
import json
from hashlib import sha256
from pathlib import Path

from inarch.core.errors import EnvironmentFault, UsageError, unknown
from inarch.core.outside.printable import printable_name
from inarch.tools.commands import Command
from inarch.tools.options import many


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("artifact", type=Path, help="a file that `inarch compile` wrote")
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        metavar="DIR",
        help="where to write, made if it is not there (default: the artifact's name)",
    )
    parser.add_argument(
        "--member",
        **many("NAME"),
        help="only this part: library.so, weights.bin, manifest.json, or a member such as source.ccompiler "
        "(repeatable; default: all)",
    )
    parser.add_argument("--json", action="store_true", help="the names, sizes and hashes as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def _execute(arguments: argparse.Namespace) -> int:
    from inarch.artifact import Artifact
    from inarch.core.cache import replacing
    from inarch.tools.artifacts.parts import parts

    folder = arguments.folder or Path(arguments.artifact.stem or "artifact")
    with Artifact.open(arguments.artifact) as artifact:
        known = parts(artifact)
        for name in arguments.member:
            if name not in known:
                raise unknown("member", name, known, within=str(arguments.artifact))
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"expected a folder to write to, found the file '{folder}'")
        artifact.verify()
        written: list[dict[str, object]] = []
        for name in dict.fromkeys(arguments.member) or known:
            path, content = folder / name, known[name]()
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise EnvironmentFault(f"cannot write '{path}': {error.strerror}") from error
            with replacing(path) as file:
                file.write(content)
            digest = sha256(content).hexdigest()
            written.append({"path": str(path), "bytes": len(content), "sha256": digest})
            if not (arguments.json or arguments.quiet):
                print(f"{printable_name(str(path))}: {len(content)} bytes")
    if arguments.json:
        print(json.dumps(written, indent=1))
    return 0


COMMAND = Command(
    description="Write the parts of an artifact as files: the library, the weights, the manifest, submodules "
    "and sources. Their hashes are compared first.",
    epilog="example:\n  inarch extract model.inarch parts\n"
    "  inarch extract model.inarch --member library.so && objdump -d model/library.so\n",
    add_arguments=_add_arguments,
    execute=_execute,
)
