"""`inarch-opt`: reads MLIR text, runs passes on it, prints it, and checks what is asked for.

Its `run` is the command within a process (lit tests use it); `main` is the console script.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from io import StringIO
from pathlib import Path
from typing import TextIO

from inarch import __version__
from inarch.core.errors import EnvironmentFault, InarchError, InternalError, PluginError
from inarch.core.outside.printable import printing
from inarch.core.plugins import load_file
from inarch.dialects import new_context
from inarch.ir.payload.files import decode, read_text, write_atomically
from inarch.ir.report.remarks import Remark
from inarch.pipeline.registry import pass_cards, pass_help
from inarch.pipeline.text import parse_pipeline
from inarch.tools.extensions import blamed, kinds
from inarch.tools.opt.arguments import OptArguments, new_parser, parse_arguments
from inarch.tools.opt.diagnostics import Diagnostic, expectations, mismatches
from inarch.tools.opt.driver import (
    SEPARATOR,
    Piece,
    Session,
    check_target,
    process,
    split,
)
from inarch.tools.opt.lists import cards_text, dialect_cards
from inarch.tools.outcome import Outcome
from inarch.tools.passes import Watchers
from inarch.tools.snippet import tell
from inarch.tools.warnings import plain_warnings, told_warnings


def run(argv: Sequence[str], stdin: str | None = None) -> Outcome:
    """Runs `inarch-opt` with the arguments `argv` (without the program's name) in this process.

    Never raises for what the command line or the program gets wrong; files given with `--load` are
    forgotten afterwards.
    """
    out, err = StringIO(), StringIO()
    code = _run(argv, lambda: stdin or "", out, err)
    return Outcome(code, out.getvalue(), err.getvalue())


def main() -> int:
    """What the console script does: the exit code."""
    out, err = StringIO(), printing(sys.stderr)
    code = _run(sys.argv[1:], lambda: decode(sys.stdin.buffer.read(), "<stdin>"), out, err)
    try:
        printing(sys.stdout).write(out.getvalue())
        sys.stdout.flush()
    except BrokenPipeError:  # `inarch-opt ... | head`
        sys.stderr.close()
    except OSError as error:  # a full disk under the standard output: the machine, not a bug
        sys.stderr.write(f"error: cannot write the output: {error.strerror}\n")
        # Python would write once more when it leaves, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EnvironmentFault.exit_code
    return code


def _run(argv: Sequence[str], stdin: Callable[[], str], out: TextIO, err: TextIO) -> int:
    """The exit code; writes to `out` and `err`. Nothing but these and files is changed."""
    try:
        options = parse_arguments(argv)
        with ExitStack() as stack:
            stack.enter_context(plain_warnings(err))
            _load(options, stack)
            if (text := _information(options)) is not None:
                out.write(text)
                return 0
            return _process(options, stdin, out, err)
    except InarchError as error:
        tell(err, error)
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - a bug of ours is one line, too
        found = blamed(error) or _internal(error, argv, err)
        tell(err, found)
        return found.exit_code


def _internal(error: Exception, argv: Sequence[str], err: TextIO) -> InternalError:
    what = f"internal error: {type(error).__name__}: {error}"
    if "--debug" not in argv:
        return InternalError(f"{what}; --debug prints where")
    from traceback import format_exception

    err.write("".join(format_exception(error)))
    return InternalError(what)


def _load(options: OptArguments, stack: ExitStack) -> None:
    """Adds what `--load`ed files define to the tables, until `stack` unwinds."""
    if not options.load:
        return
    tables = kinds()
    for table in tables.values():
        stack.enter_context(table.scope())
    for path in options.load:
        load_file(path, tables)


def _information(options: OptArguments) -> str | None:
    """What was asked instead of a run, if anything was."""
    if options.help:
        return new_parser().format_help()
    if options.version:
        return f"inarch-opt {__version__}\n"
    if options.list_passes:
        return cards_text(pass_cards([*new_context().registered_dialect_names]))
    if options.list_dialects:
        return cards_text(dialect_cards())
    return pass_help(options.pass_help) if options.pass_help is not None else None


def _process(options: OptArguments, stdin: Callable[[], str], out: TextIO, err: TextIO) -> int:
    pipeline = parse_pipeline(",".join(options.pipeline))
    remarks: list[Remark] | None = [] if options.verify_diagnostics else None
    watchers = Watchers(options, err, remarks)
    watchers.check(pipeline)
    watchers.dump(pipeline)
    check_target(options.target)
    session = Session(options, pipeline, watchers, err)
    if options.input == "-":
        name, text = "<stdin>", stdin()
    else:
        name, text = options.input, read_text(Path(options.input))
    programs = list(split(name, text)) if options.split_input_file else [Piece(name, text)]
    code = 0
    results: list[str] = []
    for program in programs:
        result, program_code = _one(session, program, remarks)
        code = max(code, program_code)
        results += [result] if result is not None else []
    watchers.report()
    joined = f"{SEPARATOR}\n".join(results)
    if options.output is None:
        out.write(joined)
    elif code == 0:
        write_atomically(options.output, joined.encode())
    return code


def _one(session: Session, program: Piece, remarks: list[Remark] | None) -> tuple[str | None, int]:
    """Its text (None: it has an error) and its exit code; what is said of it is printed, or matched."""
    if remarks is None:
        result, errors = _processed(session, program)
        return result, _tell(session, errors)
    found: list[Diagnostic] = []
    remarks.clear()
    with told_warnings(lambda where, text: found.append(Diagnostic("warning", text, where))):
        result, errors = _processed(session, program)
    if _is_ours(errors):
        return result, _tell(session, errors)
    found += [Diagnostic("remark", each.text, each.where) for each in remarks]
    found += [Diagnostic("error", each.message, each.where) for each in errors]
    expected = expectations(program.text, program.name, program.line_offset)
    tolerated = ("remark",) if session.options.remarks is None else ()
    messages = mismatches(program.name, expected, found, tolerated)
    for message in messages:
        session.err.write(f"{message}\n")
    return result, int(bool(messages))


def _processed(session: Session, program: Piece) -> tuple[str | None, list[InarchError]]:
    try:
        return process(session, program), []
    except InarchError as error:
        return None, [error, *error.more]


def _tell(session: Session, errors: Sequence[InarchError]) -> int:
    """Prints errors; their exit code."""
    tell(session.err, *errors)
    return max((error.exit_code for error in errors), default=0)


def _is_ours(errors: Sequence[InarchError]) -> bool:
    """Whether an error is a crash or a missing file, which no program can expect."""
    return any(
        isinstance(error, PluginError) or error.exit_code != InarchError.exit_code
        for error in errors
    )
