"""`inarch`: compile, run, inspect and list, for people who deploy models."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, cast

from inarch import __version__
from inarch.core.errors import EnvironmentFault, InarchError, UsageError, unknown, without_compiler
from inarch.core.outside.printable import printing, with_short_names
from inarch.core.plugins import Extensions
from inarch.runtime.installed import check_alone
from inarch.tools.alone import with_defaults
from inarch.tools.commands import COMMANDS
from inarch.tools.extensions import blamed, kinds, load_files
from inarch.tools.outcome import Outcome
from inarch.tools.snippet import tell
from inarch.tools.warnings import plain_warnings

EPILOG = """examples:
  inarch compile model.onnx -o model.inarch
  inarch run model.inarch --seed 0
  inarch compile model.onnx --emit=c -o model.c
  inarch list passes
"""


Mark = Callable[[argparse.Action], None]
"""What sees every argument of a command line, to say how a shell completes it."""


class _Parser(argparse.ArgumentParser):
    """argparse, except that a wrong command line is a UsageError like any other."""

    def __init__(self, *given: Any, mark: Mark | None = None, **settings: Any) -> None:
        self._mark = mark
        self.options: list[str] = []
        """Their long names."""
        super().__init__(*given, **settings)

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """As argparse's; `mark` sees it."""
        action = super().add_argument(*names, **settings)
        self.options += [name for name in names if name.startswith("--")]
        if self._mark is not None:
            self._mark(action)
        return action

    def error(self, message: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise UsageError(f"{message}; see '{self.prog} --help'")


def parser(command: str | None = None, mark: Mark | None = None) -> argparse.ArgumentParser:
    """The command line: one subcommand a module of `tools/commands`.

    Only `command` gets its options and is imported, so that running an artifact needs no compiler;
    None: all. `mark` is called with each argument, of the subcommands as well.
    """
    top = _Parser(
        prog="inarch",
        description="Compile models, run them, and see what is in them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        mark=mark,
    )
    top.add_argument(
        "--load",
        dest="load_first",
        metavar="FILE",
        help="before the command: add what a file defines, a command of your own too (repeatable)",
    )
    top.add_argument("--version", action="version", version=f"inarch {__version__}")
    commands = top.add_subparsers(
        dest="command",
        metavar="COMMAND",
        required=True,
        parser_class=cast("type[_Parser]", partial(_Parser, mark=mark)),
    )
    for name in COMMANDS:
        if command in (None, name):
            _add_command(commands, name, is_asked=command == name)
    return top


def _add_command(commands: Any, name: str, *, is_asked: bool) -> None:
    try:
        module = COMMANDS[name]
    except InarchError as error:
        if is_asked:
            raise
        commands.add_parser(name, help=f"({error.message})")  # in the list of all
        return
    sub = commands.add_parser(
        name,
        help=(module.description or "").splitlines()[0],
        description=module.description,
        epilog=module.epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(sub)
    sub.add_argument("--debug", action="store_true", help="show the traceback of an error")
    sub.set_defaults(execute=module.execute, parser=sub)


def _command_of(arguments: Sequence[str]) -> str | None:
    """The command that is asked for, if one is. Raises UsageError for an unknown one."""
    if not arguments or arguments[0].startswith("-"):
        return None
    if arguments[0] not in COMMANDS:
        raise unknown("command", arguments[0], COMMANDS)
    return arguments[0]


def _stray(arguments: Sequence[str], parsed: argparse.Namespace) -> UsageError:
    """Of arguments that a command does not have: the option that was meant."""
    own: _Parser = parsed.parser
    name = next((one.partition("=")[0] for one in arguments if one.startswith("--")), "")
    near = get_close_matches(name, own.options, n=1) if name else []
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return UsageError(
        f"unrecognized arguments: {' '.join(arguments)}{hint}; see '{own.prog} --help'"
    )


def _load_first(arguments: Sequence[str]) -> tuple[list[str], list[Path]]:
    """Loads the files of each `--load FILE` before the command; the arguments without them, and they."""
    rest, files = list(arguments), list[Path]()
    while rest and rest[0].partition("=")[0] == "--load":
        option, equals, value = rest.pop(0).partition("=")
        if not equals and not rest:
            raise UsageError(f"{option}: expected a file behind it; see 'inarch --help'")
        files.append(Path(value if equals else rest.pop(0)))
    load_files(files)
    return rest, files


def run(argv: Sequence[str], stdin: str | None = None) -> Outcome:  # noqa: ARG001 - as all tools
    """Runs `inarch` with the arguments `argv` (without the program's name) in this process.

    No command reads `stdin`. Files that a command loads are forgotten afterwards.
    """
    out, err = StringIO(), StringIO()
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        for table in _tables():
            stack.enter_context(table.scope())
        try:
            code = _run(argv)
        except SystemExit as leaving:  # --help and --version
            code = leaving.code if isinstance(leaving.code, int) else 1
    return Outcome(code, out.getvalue(), err.getvalue())


def _tables() -> list[Extensions[object]]:
    """What a command may load into."""
    return list(kinds().values())


def main() -> int:
    """What the console script does: the exit code (0, 1 program, 2 usage, 3 environment, 70 internal)."""
    try:
        code = _run(sys.argv[1:], is_process=True)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would flush once more and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk under the standard output
        print(f"error: cannot write the output: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EnvironmentFault.exit_code
    return code


def _run(arguments: Sequence[str], *, is_process: bool = False) -> int:
    """The exit code; `is_process`: nothing has run before, and nobody else has changed anything here."""
    debug = "--debug" in arguments
    try:
        with (
            contextlib.redirect_stdout(printing(sys.stdout)),
            contextlib.redirect_stderr(printing(sys.stderr)),
            plain_warnings(sys.stderr),
        ):
            check_alone()
            rest, files = _load_first(arguments)
            parsed, stray = parser(_command_of(rest)).parse_known_args(with_defaults(rest))
            if stray:
                raise _stray(stray, parsed)
            parsed.load_first = files
            parsed.is_process = is_process and not files
            return int(parsed.execute(parsed))
    except BrokenPipeError:
        raise
    except InarchError as error:
        if debug:
            traceback.print_exc(file=printing(sys.stderr))
        tell(sys.stderr, error, *error.more)
        return error.exit_code
    except (OSError, MemoryError) as error:
        # A full disk under the standard output, a file that vanished, no memory: the machine, not a bug.
        if debug:
            traceback.print_exc(file=printing(sys.stderr))
        what = "expected more memory: " if isinstance(error, MemoryError) else ""
        print(f"error: {what}{with_short_names(str(error))}", file=printing(sys.stderr))
        return EnvironmentFault.exit_code
    except Exception as error:  # noqa: BLE001 - whatever else escapes is our bug, said in one line
        if debug:
            traceback.print_exc(file=printing(sys.stderr))
        if (fault := without_compiler(error, f"inarch {' '.join(arguments)}")) is not None:
            tell(sys.stderr, fault)
            return fault.exit_code
        if (theirs := blamed(error)) is not None:
            tell(sys.stderr, theirs)
            return theirs.exit_code
        said = (
            f"error: internal error: {type(error).__name__}: {error}; "
            f"please report it with the output of: inarch {' '.join(arguments)} --debug"
        )
        print(with_short_names(said), file=printing(sys.stderr))
        return 70


if __name__ == "__main__":
    from inarch.tools.start import guarded

    sys.exit(guarded(main))
