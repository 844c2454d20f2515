"""`inarch completion`: what a shell needs to complete commands and options of `inarch` and `inarch-opt`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from inarch.core.errors import unknown
from inarch.tools.commands import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", help="bash, zsh, fish, tcsh or powershell")


def _execute(arguments: argparse.Namespace) -> int:
    import shtab  # it serves here only

    from inarch.tools.cli import parser
    from inarch.tools.opt.arguments import new_parser

    if arguments.shell not in shtab.SUPPORTED_SHELLS:
        raise unknown("shell", arguments.shell, shtab.SUPPORTED_SHELLS)

    def mark(action: Any) -> None:
        """What takes a path is completed with files."""
        if action.type is Path:
            action.complete = shtab.FILE

    for one in (parser(mark=mark), new_parser(mark)):
        print(shtab.complete(one, arguments.shell))
    return 0


COMMAND = Command(
    description="Print what completes the commands and options of `inarch` and `inarch-opt` in a shell.",
    epilog="""example:
  inarch completion bash > ~/.local/share/bash-completion/completions/inarch
  source <(inarch completion bash)
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
