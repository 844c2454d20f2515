"""Hosts as compilations use them: found by name, and what they give looked at.

What the code of one raises comes through as it is; the commands say whose it was (`inarch.core.blame`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.artifact import Artifact
from inarch.backends.emitted import Emitted
from inarch.backends.host import (
    HOSTS,
    BuildRequest,
    Host,
    Native,
    NativeRequest,
    Program,
)
from inarch.core.arguments import checked_text
from inarch.core.errors import InarchError, UnsupportedError, UsageError, unknown
from inarch.machine.find import find_machine, this_machine
from inarch.machine.machine import Machine
from inarch.machine.target import Target


def find_host(name: str) -> Host[Any]:
    """The host `name`. Raises UsageError for a name that nothing has."""
    if checked_text("host", name, "c") not in HOSTS:
        raise UsageError(
            f"{unknown('host', name, HOSTS).message}. To register one, give its file with --load FILE.py, "
            "put it into backends/, or install it with an entry point of the group inarch.hosts"
        )
    found = HOSTS[name]
    if not isinstance(found, Host):  # pyright: ignore[reportUnnecessaryIsInstance] - a plugin's
        raise InarchError(
            f"{_label(name)}: expected HOST to be a Host, found {type(found).__name__}"
        )
    return found


def emit(host: Host[Any], context: Context, module: ModuleOp) -> Program:
    """A lowered module as `host` writes it. Raises InarchError."""
    program = host.emit(context, module)
    if not isinstance(program, Program):  # pyright: ignore[reportUnnecessaryIsInstance] - a plugin's
        raise InarchError(
            f"{_label(host.name)}: expected emit to return a Program, found {type(program).__name__}"
        )
    return program


def check_parts(host: Host[Any], emitted: Sequence[Emitted]) -> None:
    """Raises InarchError for what a backend emitted and `host` cannot call."""
    for one in emitted:
        reason = host.accepts(one)
        if reason is not None:
            others = " or ".join(f"--host {name}" for name in HOSTS if name != host.name)
            raise one.error(
                f"host '{host.name}' {reason}; leave the backend out, or compile with {others}"
            )


def build(host: Host[Any], program: Program, request: BuildRequest) -> None:
    """Lets `host` write the artifact, and looks at what it wrote. Raises InarchError."""
    host.build(program, request)
    if not request.output.exists():
        raise InarchError(
            f"{_label(host.name)}: expected build to write {request.output}, found none"
        )
    if not request.output.is_file():
        return  # a device, which keeps nothing
    with Artifact.open(request.output, check=False) as artifact:
        said = artifact.manifest.host
    if said != host.name:
        request.output.unlink()
        raise InarchError(
            f"{_label(host.name)}: expected the artifact to say host '{host.name}', found '{said}'; begin "
            "its manifest with BuildRequest.manifest"
        )


def machine_code(host: Host[Any]) -> Callable[[NativeRequest], Native]:
    """How `host` makes machine code for others. Raises UnsupportedError where it cannot."""
    if host.native is None:
        able = ", ".join(name for name in HOSTS if HOSTS[name].native is not None)
        raise UnsupportedError(
            f"expected a host that makes machine code, found '{host.name}'; take one of: {able}"
        )
    return host.native


def resolve(host: Host[Any], target: str) -> Target:
    """The machine to compile for. Raises UsageError; a backend's name is what it is in the message."""
    if "," in target:
        raise UsageError(
            f"target: expected one, found '{target}'; only an artifact holds code for several"
        )
    try:
        return host.machine(target)
    except UsageError as error:
        from inarch.backends import BACKENDS

        if target not in BACKENDS:
            raise
        raise UsageError(
            f"'{target}' is a backend, not a host target; write --backend {target} "
            f"(in Python: backends=['{target}'])"
        ) from error


def machine_for(given: str | Machine | None, is_native: bool) -> Machine | None:
    """Who will run the program, where that is not the target's own machine. Raises UsageError."""
    if given is None:
        return this_machine() if is_native else None
    return given if isinstance(given, Machine) else find_machine(given)


def _label(name: str) -> str:
    return f"host '{name}' [{HOSTS.origin(name).source}]"
