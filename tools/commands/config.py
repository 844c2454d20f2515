"""`inarch config`: what a C or C++ program needs to open artifacts; as llvm-config, python-config."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path

from inarch.core.errors import UsageError
from inarch.runtime.c import FLAGS, INCLUDE, LIBS, sources
from inarch.tools.commands import Command

_PARTS: dict[str, tuple[str, Callable[[], list[str]]]] = {
    "include": (
        "the folder of inarch.h, inarch_runtime.h and inarch.hpp",
        lambda: [str(INCLUDE)],
    ),
    "cflags": ("how C sources are compiled", lambda: [*FLAGS, f"-I{INCLUDE}"]),
    "sources": ("the C sources of libinarch", lambda: [str(path) for path in sources()]),
    "libs": ("what they are linked with", lambda: list(LIBS)),
}
"""By option, in the order in which they are printed."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    for name, (what, _) in _PARTS.items():
        parser.add_argument(f"--{name}", action="store_true", help=f"print {what}")
    parser.add_argument(
        "--install",
        type=Path,
        metavar="DIR",
        help="compile libinarch and inarch-run into DIR/include, DIR/lib and DIR/bin",
    )
    parser.add_argument(
        "--target",
        default="native",
        help="with --install: the CPU that they are for, such as aarch64 (default: native)",
    )


def _execute(arguments: argparse.Namespace) -> int:
    asked = [name for name in _PARTS if getattr(arguments, name)]
    if not asked and arguments.install is None:
        raise UsageError(
            "config: expected --cflags, --sources, --libs, --include or --install, found none"
        )
    if arguments.install is not None:
        from inarch.machine.compilers import compiler_for
        from inarch.machine.target import parse
        from inarch.runtime.c.install import install

        for path in install(arguments.install, compiler_for(parse(arguments.target))):
            print(path)
    if asked:
        words = [word for name in asked for word in _PARTS[name][1]()]
        print(shlex.join(words))
    return 0


COMMAND = Command(
    description="Print what a C or C++ program needs to open artifacts, or install it.",
    epilog="""examples:
  cc main.c $(inarch config --cflags --sources --libs) -o main
  inarch config --install /usr/local
  inarch config --install board --target aarch64
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
