"""A backend's `emit`: what it hands back is the host's, what it raises an error of the one function."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from inarch.backends.emitted import Site, backend_error
from inarch.core.blame import raised
from inarch.core.cache import keep_log
from inarch.core.code import digest_of_code
from inarch.core.errors import InarchError, InarchWarning
from inarch.core.plugins import Origin
from inarch.dialects.graph.call import CallOp
from inarch.ir.edit import erase
from inarch.offload.backend import BACKENDS, Emission, EmitRequest
from inarch.offload.hand_back import EmitError, HandBackError
from inarch.offload.instance import Asked
from inarch.passes.graph.inline_calls import inline_call
from inarch.passes.partition.decide.release import dissolve_matches

Emit = Callable[[EmitRequest], Emission]


@dataclass(frozen=True)
class HandedBack:
    """A function that a backend has given back to the host."""

    backend: str
    site: Site
    reason: str

    @property
    def text(self) -> str:
        """One line."""
        return f"backend '{self.backend}' hands back {self.site}: {self.reason}; the host has it"


@dataclass(frozen=True)
class Answer:
    """What became of the functions of a backend."""

    emission: Any
    """What it gave for `functions`, unchecked: the code is anybody's."""
    functions: tuple[FuncOp, ...]
    handed_back: tuple[tuple[FuncOp, HandedBack], ...]


def request_of(asked: Asked, functions: Sequence[FuncOp]) -> EmitRequest:
    """What an instance is asked with to emit `functions`."""
    known = asked.request
    return EmitRequest(
        functions=tuple(functions),
        context=known.context,
        target=known.target,
        machine=known.machine,
        options=known.options,
        instance=asked.name,
        backend=asked.instance.backend.name,
        version=asked.backend.version,
        source=code_of(asked) if asked.backend.version else "",
    )


def code_of(asked: Asked) -> str:
    """Tells the code of a backend from what it was before; empty of an object that is in no file."""
    modules = (BACKENDS.origin(asked.instance.backend.name).module, asked.backend.emit.__module__)
    return digest_of_code(modules)


def ask(emit: Emit, request: EmitRequest, origin: Origin, sites: Mapping[str, Site]) -> Answer:
    """Has a backend emit its functions, again without each that it hands back.

    `sites` has for each symbol where in the model it is from. Raises InarchError for whatever it raises, of
    the function that it is about, as far as that can be found.
    """
    left: list[FuncOp] = list(request.functions)
    back: list[tuple[FuncOp, HandedBack]] = []
    while left:
        asked = replace(request, functions=tuple(left))
        try:
            emission = emit(asked)
        except HandBackError as error:
            given = list(left)
            if error.symbol is not None:
                given = [_named(asked, origin, error.symbol, "hands back")]
            left = [function for function in left if function not in given]
            back += [
                (one, HandedBack(request.instance, sites[one.sym_name.data], error.reason))
                for one in given
            ]
            continue
        except EmitError as error:
            guilty = _named(asked, origin, error.symbol, "raises an error about")
            places = [sites[guilty.sym_name.data]]
            raise backend_error(request.instance, origin.source, places, error.message) from error
        except InarchError as error:
            if not error.message.startswith("backend '"):
                error.message = f"backend '{request.instance}': {error.message}"
            raise
        except Exception as error:
            # A backend may be anybody's: whatever it raises is reported as its own, in one line.
            log = keep_log(traceback.format_exc())
            message = f"emit {raised(error, origin)}; the traceback is in {log}"
            guilty = _guilty(emit, asked, type(error))
            places = [sites[function.sym_name.data] for function in guilty]
            raise backend_error(request.instance, origin.source, places, message) from error
        return Answer(emission, tuple(left), tuple(back))
    return Answer(None, (), tuple(back))


def _named(request: EmitRequest, origin: Origin, symbol: str, what: str) -> FuncOp:
    for function in request.functions:
        if function.sym_name.data == symbol:
            return function
    known = ", ".join(request.names())
    raise InarchError(
        f"backend '{request.instance}' [{origin.source}] {what} '{symbol}', which it was not asked for; "
        f"its functions: {known}"
    )


def _guilty(emit: Emit, request: EmitRequest, kind: type[Exception]) -> Sequence[FuncOp]:
    """The functions of which `emit` raises the same alone; all, where none does."""
    found: list[FuncOp] = []
    for function in request.functions if len(request.functions) > 1 else ():
        try:
            emit(replace(request, functions=(function,)))
        except Exception as error:  # noqa: BLE001 - it is looked for
            found += [function] if type(error) is kind else []
    return found or request.functions


def give_back(module: ModuleOp, functions: Sequence[FuncOp]) -> None:
    """Puts the ops of private functions, those of matches too, where they are called; the functions go."""
    for function in functions:
        dissolve_matches(function)
    by_name = {function.sym_name.data: function for function in functions}
    for call in [op for op in module.walk() if isinstance(op, CallOp)]:
        if (function := by_name.get(call.callee.string_value())) is not None:
            inline_call(call, function)
    erase(*functions)


def warn_of(back: Sequence[HandedBack]) -> None:
    """One warning for each function: nothing goes to the host in silence."""
    for one in back:
        warnings.warn(InarchWarning(one.text), stacklevel=2)
