"""The subcommands of `inarch`, one file each, here or in `artifacts/`, found by the file's name.

A file defines `COMMAND = Command(description, add_arguments, execute, epilog)`; `execute` gets the
parsed arguments and returns the exit code. Its test is `tests/lit/tools/<name>.mlir` or a unit test.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from inarch.core.plugins import Extensions


@dataclass(frozen=True)
class Command:
    """One subcommand; `epilog` shows an example."""

    description: str
    epilog: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    execute: Callable[[argparse.Namespace], int]
    api: int = 1


COMMANDS: Extensions[Command] = Extensions(
    "inarch.tools.commands", "COMMAND", more=("inarch.tools.commands.artifacts",)
)
