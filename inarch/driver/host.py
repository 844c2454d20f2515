"""Hosts as compilations use them: found by name, asked, and blamed for what they do wrong."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

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
from inarch.core.blame import raised
from inarch.core.cache import keep_log
from inarch.core.errors import InarchError, UnsupportedError, UsageError, unknown
from inarch.core.lazy import Array

DEFAULT_HOST = "c"
"""Who compiles where nobody is named."""

T = TypeVar("T")


def find_host(name: str) -> Host[Any]:
    """The host `name`. Raises UsageError for a name that nothing has."""
    if name not in HOSTS:
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
    """A lowered module as `host` writes it. Raises InarchError, that of the host where it fails."""
    program = _asked(host, "emit", lambda: host.emit(context, module))
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
    _asked(host, "build", lambda: host.build(program, request))
    if not request.output.exists():
        raise InarchError(
            f"{_label(host.name)}: expected build to write {request.output}, found none"
        )
    if not request.output.is_file():
        return  # a device, which keeps nothing
    with Artifact.open(request.output, check=False) as artifact:
        if artifact.manifest.host != host.name:
            raise InarchError(
                f"{_label(host.name)}: expected the artifact to say host '{host.name}', found "
                f"'{artifact.manifest.host}'; begin its manifest with BuildRequest.manifest"
            )


def run(
    host: Host[Any], context: Context, module: ModuleOp, name: str, arrays: Sequence[Array]
) -> None:
    """Calls function `name` of a lowered module in this process. Raises InarchError."""
    _asked(host, "run", lambda: host.run(context, module, name, arrays))


def native(host: Host[Any], request: NativeRequest) -> Native:
    """The program as machine code that others call. Raises UnsupportedError where `host` makes none."""
    compiled = machine_code(host)
    return _asked(host, "native", lambda: compiled(request))


def machine_code(host: Host[Any]) -> Callable[[NativeRequest], Native]:
    """How `host` compiles for others. Raises UnsupportedError where it cannot."""
    if host.native is None:
        able = ", ".join(name for name in HOSTS if HOSTS[name].native is not None)
        raise UnsupportedError(
            f"expected a host that makes machine code, found '{host.name}'; take one of: {able}"
        )
    return host.native


def _asked(host: Host[Any], what: str, call: Callable[[], T]) -> T:
    """What a function of a host gives; whatever it raises is reported as its own, in one line."""
    try:
        return call()
    except InarchError:
        raise
    except Exception as error:
        if not _is_foreign(host.name):
            raise
        log = keep_log(traceback.format_exc())
        told = raised(error, HOSTS.origin(host.name))
        message = f"{_label(host.name)}: {what} {told}; the traceback is in {log}"
        raise InarchError(message) from error


def _is_foreign(name: str) -> bool:
    return any(name == other for other, _ in HOSTS.foreign())


def _label(name: str) -> str:
    return f"host '{name}' [{HOSTS.origin(name).source}]"
