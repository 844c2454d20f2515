"""One program through `inarch-opt`: parse, verify, passes, verify, print."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.core.errors import InarchError, InternalError, UsageError, unknown
from inarch.dialects import new_context
from inarch.ir.context import store_of
from inarch.ir.payload.files import read_resources, resources_of, write_atomically
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module
from inarch.pipeline.instruments import Timed
from inarch.pipeline.manager import Instrument, Step, Verifier, run_pipeline
from inarch.pipeline.pipeline import Pipeline
from inarch.tools.opt.arguments import OptArguments
from inarch.tools.opt.reproducer import Source, crash
from inarch.tools.passes import Watchers

if TYPE_CHECKING:
    from inarch.driver.watch import Watch

SEPARATOR = "// -----"


@dataclass(frozen=True)
class Piece:
    """A piece of the input file `name`; its first line is number `line_offset + 1`."""

    name: str
    text: str
    line_offset: int = 0


@dataclass(frozen=True)
class Session:
    """What all programs of one run share."""

    options: OptArguments
    pipeline: Pipeline
    watchers: Watchers
    err: TextIO


def split(name: str, text: str) -> Iterator[Piece]:
    """The programs between the lines `// -----`."""
    lines: list[str] = []
    offset = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() != SEPARATOR:
            lines.append(line)
            continue
        yield Piece(name, "\n".join(lines), offset)
        lines, offset = [], number
    yield Piece(name, "\n".join(lines), offset)


def process(session: Session, program: Piece) -> str:
    """The text of the program after the passes. Raises InarchError at the first thing wrong."""
    options, timer = session.options, session.watchers.timer
    with timer.measure("import"):
        context = _context(options, program)
    with timer.measure("parse"):
        module = _parse(options, program, context)
    if options.verify_each == "each":
        with timer.measure("verify"):
            verify_module(module)
    passes = tuple(session.pipeline)
    instruments: list[Instrument] = [_Crashes(session, program)]
    if options.verify_semantics is not None:
        watch = _watch(options.verify_semantics, context, session.err)
        with timer.measure("verify semantics"):
            watch.begin(module)
        instruments.append(Timed(watch, "verify semantics", timer))
    if options.verify_each == "each":
        instruments.append(Timed(Verifier(), "verify", timer))
    instruments += session.watchers.instruments(context, passes)
    run_pipeline(context, module, passes, instruments)
    if options.verify_each == "end":
        with timer.measure("verify"):
            verify_module(module)
    with timer.measure("print"):
        return _print(options, context, module)


class _Crashes(Instrument):
    """A crash of a pass becomes an error that says where its input is."""

    def __init__(self, session: Session, program: Piece) -> None:
        self._session, self._program = session, program

    def failed(self, step: Step, module: ModuleOp, error: Exception) -> None:
        if isinstance(error, InarchError) and not isinstance(error, InternalError):
            error.where = error.where or self._program.name
            return
        raise _crash(self._session, self._program, step.index, error) from error


def _watch(seed: int, context: Context, stream: TextIO) -> Watch:
    """What checks that passes keep the meaning."""
    from inarch.driver.watch import Watch

    return Watch(context, seed, lambda line: print(f"note: {line}", file=stream, flush=True))


def _context(options: OptArguments, program: Piece) -> Context:
    """With the dialects that the text names, so that parsing is not charged with importing them."""
    context = new_context()
    context.allow_unregistered = options.allow_unregistered_dialect
    named = set(re.findall(r"\b([a-z]\w*)\.", program.text))
    loaded = {dialect.name for dialect in context.loaded_dialects}
    for name in sorted(named.intersection(context.registered_dialect_names) - loaded):
        context.load_registered_dialect(name)
    return context


def _parse(options: OptArguments, program: Piece, context: Context) -> ModuleOp:
    if options.resources is not None:
        read_resources(options.resources, store_of(context))
    elif options.input != "-" and (side := Path(options.input).with_suffix(".npz")).is_file():
        read_resources(side, store_of(context))  # as `inarch compile` reads it
    text, name = program.text, program.name
    module = parse_module(context, text, name, line_offset=program.line_offset)
    if options.machine is not None:
        from inarch.ir.target import set_machine
        from inarch.machine.find import find_machine

        set_machine(module, find_machine(options.machine))
    return module


def _crash(session: Session, program: Piece, index: int, error: Exception) -> InarchError:
    options = session.options
    if options.debug:
        session.err.write("".join(traceback.format_exception(error)))

    def parse() -> tuple[Context, ModuleOp]:
        context = _context(options, program)
        return context, _parse(options, program, context)

    source = Source(program.text, parse)
    return crash(options, tuple(session.pipeline), index, error, source)


def _print(options: OptArguments, context: Context, module: ModuleOp) -> str:
    if options.target != "mlir":
        return _emit(options.target, context, module)
    if options.write_resources is not None:
        write_atomically(options.write_resources, resources_of(module, store_of(context)) or _EMPTY)
    return print_module(module, generic=options.print_op_generic, locations=options.print_debuginfo)


_EMPTY = b"PK\x05\x06" + bytes(18)
"""A zip file without members."""


def check_target(target: str) -> None:
    """Raises UsageError unless `target` is `mlir`, a host, or a backend that emits text."""
    name, options = _target_spec(target)
    if name == "mlir":
        if options:
            raise UsageError(f"-t: mlir has no options, found '{target}'")
        return
    from inarch.backends import BACKENDS, HOSTS

    known = ["mlir", *HOSTS, *BACKENDS]
    instance, _, name = name.rpartition("=")
    if name not in known or (instance and name not in BACKENDS):
        raise unknown("target", name, known)
    if options and name not in BACKENDS:
        raise UsageError(f"-t: {name} has no options, found '{target}'")


def _emit(target: str, context: Context, module: ModuleOp) -> str:
    """The program in a host's language, or a backend's functions; all, where nothing is partitioned."""
    from inarch.backends import BACKENDS, HOSTS
    from inarch.driver.host import emit, find_host
    from inarch.driver.offload import emit_text

    name, options = _target_spec(target)
    instance, _, name = name.rpartition("=")
    if name in HOSTS:
        return emit(find_host(name), context, module).text
    own = BACKENDS[name].emit_text
    return (
        own(context, module)
        if own and not options and not instance
        else emit_text(context, module, instance or name, options)
    )


def _target_spec(text: str) -> tuple[str, dict[str, str]]:
    """`name`, or `name{option=value option=value}`; the name may be `instance=backend`. Raises UsageError."""
    name, brace, rest = text.partition("{")
    settings = [setting.partition("=") for setting in rest.removesuffix("}").split()]
    if brace and not (rest.endswith("}") and all(k and equals for k, equals, _ in settings)):
        raise UsageError(f"-t: expected BACKEND{{OPTION=VALUE ...}}, found '{text}'")
    return name, {option: value for option, _, value in settings}
