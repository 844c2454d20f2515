"""Offloading: what backends were asked for gets its functions, and is checked before it is used.

`offloading` puts who is asked into a pipeline. `emit_offloaded` calls each backend once with
all its functions, checks what it promised, and leaves private declarations: the import slots of the
host's library. Whatever a backend does wrong becomes one error that names it, its functions and the
nodes of the model in them; the compiler itself goes on.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Region

from inarch.backends.emitted import Emitted, backend_error
from inarch.backends.host import HOSTS
from inarch.core.blame import raised
from inarch.core.cache import keep_log
from inarch.core.errors import InarchError, UsageError, unknown
from inarch.dialects.graph.call import CallOp
from inarch.driver.offload_check import check_emission, check_submodule, site_of
from inarch.ir.location import location_text
from inarch.ir.target import GENERIC, target_name
from inarch.machine.architecture import architectures
from inarch.passes.backend import BACKENDS, Backend, EmitRequest
from inarch.pipeline.pipeline import Pipeline
from inarch.pipeline.registry import find_pass

_GIVE = "partition.give"


@dataclass(frozen=True)
class Offload:
    """What a compilation is asked to give to backends."""

    backends: Sequence[str] = ()
    """By priority."""
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """Backend -> option -> value."""
    require: bool = False
    """A backend of `backends` that gets nothing is an error instead of a warning."""
    give: Sequence[str] = ()
    """`SELECTOR=backend`: ops that it must take."""
    keep: Sequence[str] = ()
    """`SELECTOR=backend`: ops that it must not get (`*`: nobody)."""

    def __post_init__(self) -> None:
        for name in ("backends", "give", "keep"):
            given = getattr(self, name)
            if isinstance(given, str):  # whose letters would be taken for names
                raise UsageError(f"{name}: expected a list, found '{given}'; write ['{given}']")
            object.__setattr__(self, name, tuple(given))


# ---------------------------------------------------------------------------------- names


def find_backend(name: str) -> Backend:
    """The backend `name`.

    Raises UsageError for a host, for a host target, and for a name that nothing has.
    """
    if name not in BACKENDS:
        if name in HOSTS:
            raise UsageError(
                f"'{name}' is a host, not a backend: it compiles whatever no backend takes; leave it out, "
                f"or write --host {name} (in Python: host='{name}')"
            )
        if name.partition("+")[0] in (*architectures(), "native"):
            raise UsageError(
                f"'{name}' is a host target, not a backend; write --target {name} "
                f"(in Python: target='{name}')"
            )
        message = unknown("backend", name, BACKENDS).message
        raise UsageError(
            f"{message}. To register one, give its file with --load FILE.py, put it into backends/, "
            "or install it with an entry point of the group inarch.backends"
        )
    found = BACKENDS[name]
    if not isinstance(found, Backend):  # pyright: ignore[reportUnnecessaryIsInstance] - a plugin's
        raise InarchError(
            f"backend '{name}' [{BACKENDS.origin(name).source}]: expected BACKEND to be a Backend, "
            f"found {type(found).__name__}"
        )
    return found


def check_offload(offload: Offload) -> None:
    """Raises UsageError for a backend or an option that does not exist, before any work."""
    for name in offload.backends:
        find_backend(name)
    for name in offload.options:
        backend_options(name, offload.options)


def backend_options(name: str, given: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The options of backend `name`, defaults filled in. Raises UsageError for an unknown one."""
    known = find_backend(name).options
    own = given.get(name, {})
    for option in own:
        if option not in known:
            raise unknown("option", option, known, within=f"backend '{name}'")
    return {**known, **own}


def parse_option(text: str, where: str) -> tuple[str, str, str]:
    """`(backend, option, value)` of `npu:array=16`. Raises UsageError, which begins with `where`."""
    backend, colon, setting = text.partition(":")
    option, equals, value = setting.partition("=")
    if not (backend and colon and option and equals):
        raise UsageError(f"{where}: expected BACKEND:OPTION=VALUE, found '{text}'")
    return backend, option, value


# ---------------------------------------------------------------------------------- partitioning


def is_wanted(module: ModuleOp, offload: Offload) -> bool:
    """Whether some backend may get a part of `module`: it was asked, or an op is given to one."""
    asked = offload.backends or offload.give or offload.keep
    return bool(asked) or any(_GIVE in op.attributes for op in module.walk())


def offloading(pipeline: Pipeline, offload: Offload) -> Pipeline:
    """`pipeline`, whose phase `offload` gives backends what `offload` asks for.

    Raises UsageError for a backend or an option that does not exist, and where the pipeline asks nobody.
    """
    check_offload(offload)
    asked = {
        "annotate": {
            "backends": tuple(offload.backends),
            "give": tuple(offload.give),
            "keep": tuple(offload.keep),
        },
        "partition": {"require": offload.require},
        "emit-offloaded": {
            "options": tuple(
                f"{backend}:{option}={value}"
                for backend, options in offload.options.items()
                for option, value in options.items()
            )
        },
    }
    for name, options in asked.items():
        if not any(options.values()):
            continue
        if name not in pipeline:
            raise UsageError(
                f"expected the pass '{name}' in the pipeline, where backends are asked for, found {pipeline}"
            )
        pipeline = pipeline.replace(name, find_pass(name)(**options))
    return pipeline


# ---------------------------------------------------------------------------------- emission


@dataclass(frozen=True)
class Emissions:
    """A fact: what backends have emitted."""

    parts: tuple[Emitted, ...]


def emit_offloaded(
    context: Context, module: ModuleOp, options: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[Emitted, ...]:
    """Lets every backend emit its functions of `module`, which become declarations.

    Functions are a backend's by their attribute `compiler`. Raises UsageError for a backend that does
    not exist, InarchError for one that fails or does not keep what it promises.
    """
    given = options or {}
    parts: dict[str, list[FuncOp]] = {}
    for function in _functions(module):
        if (owner := _owner(function)) is not None and function.body.blocks:
            parts.setdefault(owner, []).append(function)
    return tuple(
        _emit_part(context, module, name, functions, given) for name, functions in parts.items()
    )


def declare_offloaded(module: ModuleOp) -> None:
    """Leaves declarations of the functions that backends have, and asks no backend."""
    for function in _functions(module):
        if _owner(function) is not None and function.body.blocks:
            _declare(function, None)


def emit_text(
    context: Context,
    module: ModuleOp,
    name: str,
    options: Mapping[str, Mapping[str, str]] | None = None,
    *,
    whole: bool = True,
) -> str:
    """What backend `name` emits for its functions of `module`, without building anything.

    A module in which nothing is marked for any backend is taken as a `whole`: its functions are called
    `<name>_0`, `<name>_1`, ..., as partitioned ones are. Raises UsageError for a backend that does not
    exist, InarchError for a module without a function for it.
    """
    every = [function for function in _functions(module) if function.body.blocks]
    marked = [function for function in every if _owner(function) is not None]
    chosen = [function for function in marked if _owner(function) == name]
    functions = every if whole and not marked else chosen
    if functions and not marked:
        _rename(module, functions, name.replace("-", "_"))
    if not functions:
        find_backend(name)
        raise InarchError(f"expected a function for backend '{name}', found none: it got nothing")
    emitted = _emit(context, module, name, functions, options or {})
    if emitted.emission.data:
        raise emitted.error(f"emits bytes of the format {emitted.emission.format}, not text")
    return emitted.emission.text


def _emit_part(
    context: Context,
    module: ModuleOp,
    name: str,
    functions: Sequence[FuncOp],
    options: Mapping[str, Mapping[str, str]],
) -> Emitted:
    try:
        find_backend(name)
    except UsageError as error:
        error.where = location_text(functions[0])
        raise
    emitted = _emit(context, module, name, functions, options)
    if not emitted.is_linked:
        check_submodule(emitted, functions)
    for function in functions:
        _declare(function, name if emitted.is_linked else None)
    return emitted


def _emit(
    context: Context,
    module: ModuleOp,
    name: str,
    functions: Sequence[FuncOp],
    options: Mapping[str, Mapping[str, str]],
) -> Emitted:
    backend = find_backend(name)
    own = backend_options(name, options)
    if own.get("prefix"):
        _rename(module, functions, own["prefix"])
    sites = tuple(site_of(function) for function in functions)
    request = EmitRequest(
        tuple(functions),
        context,
        target_name(module) or GENERIC,
        own,
    )
    origin = BACKENDS.origin(name)
    try:
        emission = backend.emit(request)
    except InarchError as error:
        if not error.message.startswith("backend '"):
            error.message = f"backend '{name}': {error.message}"
        raise
    except Exception as error:
        # A backend may be anybody's: whatever it raises is reported as its own, in one line.
        log = keep_log(traceback.format_exc())
        message = f"emit {raised(error, origin)}; the traceback is in {log}"
        raise backend_error(name, origin.source, sites, message) from error
    emitted = Emitted(name, origin.source, emission, sites)
    check_emission(emitted)
    return emitted


# ---------------------------------------------------------------------------------- functions


def _functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.body.ops if isinstance(op, FuncOp)]


def _owner(function: FuncOp) -> str | None:
    compiler = function.attributes.get("compiler")
    return compiler.data if isinstance(compiler, StringAttr) else None


def _declare(function: FuncOp, linked: str | None) -> None:
    """Replaces a function by its declaration, `inarch.linked` where the library will define it."""
    declaration = FuncOp(
        function.sym_name.data,
        function.function_type,
        Region(),
        StringAttr("private"),
        arg_attrs=function.arg_attrs,
        res_attrs=function.res_attrs,
    )
    declaration.attributes |= function.attributes
    if linked is not None:
        declaration.attributes["inarch.linked"] = StringAttr(linked)
    declaration.location = function.location
    block = function.parent_block()
    assert block is not None, "the function is one of a module"
    block.insert_op_before(declaration, function)
    function.detach()
    function.erase()


def _rename(module: ModuleOp, functions: Sequence[FuncOp], prefix: str) -> None:
    """Calls the functions `<prefix>_0`, `<prefix>_1`, ... Raises UsageError for a bad prefix."""
    if not (prefix.isidentifier() and prefix.isascii()):
        raise UsageError(f"option 'prefix': expected a C identifier, found '{prefix}'")
    names = {f.sym_name.data: f"{prefix}_{number}" for number, f in enumerate(functions)}
    others = {f.sym_name.data for f in _functions(module)} - set(names)
    for name in names.values():
        if name in others:
            raise UsageError(f"option 'prefix': another function is called @{name}")
    for function in functions:
        function.sym_name = StringAttr(names[function.sym_name.data])
    for op in module.walk():
        if isinstance(op, CallOp) and (name := names.get(op.callee.string_value())) is not None:
            op.callee = SymbolRefAttr(name)
