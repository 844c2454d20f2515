"""`inarch sign`: an artifact, signed with a private key."""

from __future__ import annotations

import argparse
from pathlib import Path

from inarch.tools.commands import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("artifact", type=Path, help="a file that `inarch compile` wrote")
    parser.add_argument(
        "--key",
        type=Path,
        required=True,
        metavar="PRIVATE",
        help="an Ed25519 key without a password: PEM, or of OpenSSH",
    )
    parser.add_argument(
        "-o", "--output", type=Path, help="where to write (default: in the artifact's place)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def _execute(arguments: argparse.Namespace) -> int:
    from inarch.artifact.signature import Signer

    by = Signer(arguments.key).sign(arguments.artifact, arguments.output)
    if not arguments.quiet:
        print(f"{arguments.output or arguments.artifact}: signed, key {by}")
    return 0


COMMAND = Command(
    description="Sign an artifact: whoever has the public key can refuse another one, or one that was "
    "changed (`inarch inspect --check --key`, `inarch run --verify-key`, `inarch.load(verify_key=...)`).",
    epilog="""example:
  openssl genpkey -algorithm ed25519 -out release.key
  openssl pkey -in release.key -pubout -out release.pub
  inarch sign model.inarch --key release.key
  inarch inspect model.inarch --check --key release.pub
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
