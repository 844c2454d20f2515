"""`inarch`: compile, run, inspect and list, for people who deploy models."""

from __future__ import annotations

import argparse
import gc
import sys
import traceback
from collections.abc import Sequence

from inarch import __version__
from inarch.errors import InarchError, UsageError
from inarch.tools._commands import COMMANDS

EPILOG = """examples:
  inarch compile model.onnx -o model.inarch
  inarch run model.inarch --seed 0
  inarch compile model.onnx --emit=c -o model.c
  inarch list passes
"""


class _Parser(argparse.ArgumentParser):
    """argparse, except that a wrong command line is a UsageError like any other."""

    def error(self, message: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise UsageError(f"{message}; see '{self.prog} --help'")


def parser() -> argparse.ArgumentParser:
    """The command line: one subcommand a module of `tools/_commands`."""
    top = _Parser(
        prog="inarch",
        description="Compile models, run them, and see what is in them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"inarch {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        module = COMMANDS[name]
        summary = (module.description or "").splitlines()[0]
        sub = commands.add_parser(
            name,
            help=summary,
            description=module.description,
            epilog=module.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(sub)
        sub.add_argument("--debug", action="store_true", help="show the traceback of an error")
        sub.set_defaults(execute=module.execute)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code (0, 1 program, 2 usage, 3 environment, 70 internal)."""
    gc.set_threshold(100_000, 50, 100)  # IR is long-lived: collecting it young finds nothing
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    try:
        parsed = parser().parse_args(arguments)
        return int(parsed.execute(parsed))
    except InarchError as error:
        if debug:
            traceback.print_exc()
        print(error.line(), file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader (head, less) has seen enough; there is nobody to tell.
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except Exception as error:  # noqa: BLE001 - whatever else escapes is our bug, said in one line
        if debug:
            traceback.print_exc()
        command = " ".join(arguments)
        print(
            f"error: internal error: {type(error).__name__}: {error}; "
            f"please report it with the output of: inarch {command} --debug",
            file=sys.stderr,
        )
        return 70


if __name__ == "__main__":
    sys.exit(main())
