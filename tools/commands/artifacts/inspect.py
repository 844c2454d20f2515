"""`inarch inspect`: what is in an artifact."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.core.errors import UsageError
from inarch.core.outside.printable import printable_name
from inarch.tools.commands import Command

if TYPE_CHECKING:
    from inarch.artifact import Artifact


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("artifact", type=Path, help="a file that `inarch compile` wrote")
    parser.add_argument("--json", action="store_true", help="the whole manifest as JSON")
    parser.add_argument(
        "--check",
        action="store_true",
        help="also compare the SHA-256 of all parts with the manifest",
    )
    parser.add_argument(
        "--key",
        type=Path,
        metavar="PUBLIC",
        help="with --check: refuse what is not signed with this public Ed25519 key",
    )
    parser.add_argument("--verify", action="store_true", help=argparse.SUPPRESS)


def _execute(arguments: argparse.Namespace) -> int:
    from inarch.artifact import Artifact

    if arguments.verify:
        raise UsageError("--verify is now --check")
    if arguments.key is not None and not arguments.check:
        raise UsageError("--key: expected --check beside it")
    with Artifact.open(arguments.artifact) as artifact:
        return _show(artifact, arguments)


def _show(artifact: Artifact, arguments: argparse.Namespace) -> int:
    from inarch.artifact.signature import check_signature, signer_of
    from inarch.tools.artifacts.text import lines

    by = signer_of(artifact)
    if arguments.key is not None:
        check_signature(artifact, arguments.key)
    elif arguments.check:
        artifact.verify()
    if arguments.json:
        signed = {} if by is None else {"signed_by": by}
        print(json.dumps({**artifact.manifest.data, **signed}, indent=1))
        return 0
    for line in lines(artifact.manifest):
        print(printable_name(line))
    if by is not None:
        proof = "compared" if arguments.key is not None else "not compared: --check --key PUBLIC"
        print(f"signature  Ed25519, key {by} ({proof})")
    if arguments.check:
        print("checked    library, members and weights")
    return 0


COMMAND = Command(
    description="Show an artifact's functions, shapes, targets and sizes, and where it is from.",
    epilog="example:\n  inarch inspect model.inarch --json\n  inarch inspect model.inarch --check\n"
    "  inarch inspect model.inarch --check --key release.pub\n",
    add_arguments=_add_arguments,
    execute=_execute,
)
