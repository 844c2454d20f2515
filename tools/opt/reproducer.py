"""When a pass crashes: its input in a file, and the command that crashes again."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from inarch.core.errors import EnvironmentFault, InarchError, InternalError, PluginError
from inarch.ir.context import store_of
from inarch.ir.payload.files import resources_of, write_atomically
from inarch.ir.text import print_module
from inarch.pipeline.pipeline import Phase, Pipeline
from inarch.tools.extensions import blamed
from inarch.tools.opt.arguments import OptArguments


@dataclass(frozen=True)
class Source:
    """The program before the first pass: its text, and a function that parses it afresh."""

    text: str
    parse: Callable[[], tuple[Context, ModuleOp]]


def crash(
    options: OptArguments,
    passes: Sequence[ModulePass],
    index: int,
    error: Exception,
    source: Source,
) -> InarchError:
    """The error to report for the crash of `passes[index]`; writes the reproducer on the way.

    It is an InternalError, unless the code of a plugin raised it.

    The program before the crash is made by running the passes again, so that runs which do not
    crash pay nothing.
    """
    what = str(error) if isinstance(error, InternalError) else _describe(error)
    kind: type[InarchError] = InternalError
    message = f"internal error in pass '{passes[index].name}': {what}"
    if not isinstance(error, InternalError) and (theirs := blamed(error)) is not None:
        kind, message = PluginError, theirs.message
    elif _is_of_xdsl(passes[index]) and _is_of_xdsl(error):
        kind, message = PluginError, f"pass '{passes[index].name}' [xDSL] raises {what}"
    try:
        command = _write(options, passes, index, source)
    except EnvironmentFault as fault:
        return kind(f"{message}; its input could not be kept: {fault.message}")
    return kind(f"{message}; the input is in {options.reproducer}, run: {command}")


def _is_of_xdsl(what: ModulePass | Exception) -> bool:
    """Whether a pass is one of xDSL's; whether its code raised the error."""
    if isinstance(what, ModulePass):
        return type(what).__module__.startswith("xdsl.")
    *_, (frame, _) = traceback.walk_tb(what.__traceback__)
    return str(frame.f_globals.get("__name__")).startswith("xdsl.")


def _describe(error: Exception) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _write(options: OptArguments, passes: Sequence[ModulePass], index: int, source: Source) -> str:
    """Writes the reproducer and, when it has constants, its side file; returns the command."""
    path, resources = options.reproducer, options.resources
    try:
        context, module = source.parse()
        for one in passes[:index]:
            one.apply(context, module)
        program, remaining = print_module(module), passes[index:]
        constants = resources_of(module, store_of(context))
        if constants is not None:
            resources = path.with_suffix(".npz")
            write_atomically(resources, constants)
    except EnvironmentFault:
        raise
    except Exception:  # noqa: BLE001 - a pass that depends on chance; the whole run reproduces it
        program, remaining = source.text, passes
    command = _command(options, path, remaining, resources)
    write_atomically(path, f"// RUN-able: {command}\n{program}".encode())
    return command


def _command(
    options: OptArguments, path: Path, passes: Sequence[ModulePass], resources: Path | None
) -> str:
    from shlex import quote

    words = ["inarch-opt", str(path), "-p", str(Pipeline((Phase("", tuple(passes)),)))]
    words += [f"--load={file}" for file in options.load]
    words += ["--allow-unregistered-dialect"] if options.allow_unregistered_dialect else []
    words += [f"--resources={resources}"] if resources is not None else []
    quoted = [quote(word) for word in words]
    quoted[3] = f"'{words[3]}'" if "'" not in words[3] else quoted[3]
    return " ".join(quoted)
