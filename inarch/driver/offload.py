"""Offloading: what backends were asked for gets its functions, and is checked before it is used.

`offloading` puts who is asked into a pipeline. `emit_offloaded` calls each backend once with
all its functions, checks what it promised, and leaves private declarations: the import slots of the
host's library. Whatever a backend does wrong becomes one error that names it, its functions and the
nodes of the model in them; the compiler itself goes on.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Region

from inarch.backends.emitted import Emitted
from inarch.backends.host import HOSTS
from inarch.core.errors import InarchError, InarchWarning, UsageError, unknown
from inarch.driver.describe import described
from inarch.driver.offload_check import check_emission, check_submodule, owner_text, site_of
from inarch.driver.offloaded.emission import HandedBack, ask, give_back, request_of, warn_of
from inarch.driver.offloaded.fallback import add_host_version, check_fallback
from inarch.driver.offloaded.linked_weights import pass_weights, widen
from inarch.driver.offloaded.names import rename
from inarch.ir.edit import erase
from inarch.ir.functions import functions as functions_of
from inarch.ir.location import location_text
from inarch.ir.payload.constants import ConstantAttr
from inarch.machine.architecture import architectures
from inarch.offload.backend import BACKENDS, Backend, Instance
from inarch.offload.instance import Instances, clash, read_instances
from inarch.passes.partition.match.own import on_functions
from inarch.pipeline.pipeline import Pipeline
from inarch.pipeline.registry import find_pass

_GIVE = "partition.give"


@dataclass(frozen=True)
class Offload:
    """What a compilation is asked to give to backends."""

    backends: Sequence[str | Backend | Instance] = ()
    """By priority: names, instances (`big=npu:array=32`, `npu.configure("big", array=32)`), backends."""
    options: Mapping[str, Mapping[str, object]] = field(
        default_factory=dict[str, Mapping[str, object]]
    )
    """Instance -> option -> value; of an instance that is not asked, for what is given to it."""
    require: bool = False
    """A backend of `backends` that gets nothing is an error instead of a warning."""
    give: Sequence[str] = ()
    """`SELECTOR=backend`: ops that it must take."""
    keep: Sequence[str] = ()
    """`SELECTOR=backend`: ops that it must not get (`*`: nobody)."""
    fallback: str = ""
    """`host`: it keeps a version of each part, for when a device is missing or fails."""
    measure: bool = False
    """Regions are run, on their backend and on the host, and what they take decides in place of estimates."""

    def __post_init__(self) -> None:
        check_fallback(self.fallback)
        for name in ("backends", "give", "keep"):
            given = getattr(self, name)
            if isinstance(given, str):  # whose letters would be taken for names
                raise UsageError(f"{name}: expected a list, found '{given}'; write ['{given}']")
            object.__setattr__(self, name, tuple(given))

    def asked(self) -> dict[str, Instance]:
        """The instances of `backends` by name, with their `options`, all checked.

        Raises UsageError for a backend, a name or an option that is wrong, and for two of one name.
        """
        found: dict[str, Instance] = {}
        for given in self.backends:
            for one in _instances_of(given):
                if (known := found.setdefault(one.name, one)) != one:
                    raise clash(known, one)
        return {name: self._with_options(one) for name, one in found.items()}

    def others(self) -> list[Instance]:
        """The instances that are not asked and have options, for ops that are given to them."""
        names = [name for name in self.options if name not in self.asked()]
        return [self._with_options(Instance(name, find_backend(name))) for name in names]

    def _with_options(self, instance: Instance) -> Instance:
        own = dict(instance.given)
        more = Instance.of(instance.backend, instance.name, self.options.get(instance.name, {}))
        for option, value in more.given:
            if own.setdefault(option, value) != value:
                raise UsageError(
                    f"option '{option}' of backend '{instance.name}' is given twice: {own[option]} "
                    f"and {value}"
                )
        return Instance.of(instance.backend, instance.name, own)


def _instances_of(given: object) -> list[Instance]:
    """What an item of `backends` asks for. Raises UsageError."""
    if isinstance(given, Backend):
        given = given.configure()
    if isinstance(given, Instance):
        BACKENDS.register(given.backend)
        return [_checked(given)]
    if not isinstance(given, str):
        raise UsageError(
            f"backends: expected names, backends and instances, found {type(given).__name__}"
        )
    written = read_instances(given, "backend")
    return [_checked(one.configured(find_backend(one.backend))) for one in written]


def _checked(instance: Instance) -> Instance:
    """Raises UsageError for the name of a host, whose source an artifact keeps under it."""
    if instance.name != instance.backend.name and instance.name in HOSTS:
        raise UsageError(
            f"the name '{instance.name}' is a host's; give the instance of backend "
            f"'{instance.backend.name}' another one"
        )
    return instance


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
    offload.asked()
    offload.others()


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
    instances, others = offload.asked(), offload.others()
    asked = {
        "annotate": {
            "backends": tuple(map(str, instances.values())),
            "instances": tuple(map(str, others)),
            "give": tuple(offload.give),
            "keep": tuple(offload.keep),
        },
        "partition": {"require": offload.require},
        "emit-offloaded": {"require": offload.require, "fallback": offload.fallback},
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
    """A fact: what backends have emitted, and what they have handed back."""

    parts: tuple[Emitted, ...]
    handed_back: tuple[HandedBack, ...] = ()


def emit_offloaded(
    context: Context, module: ModuleOp, *, require: bool = False, fallback: str = ""
) -> Emissions:
    """Lets every backend emit its functions of `module`, which become declarations.

    Functions are a backend's by their attribute `compiler`. What it hands back goes into those that call it,
    with a warning; with `fallback`, the others stay as public functions of the host, too. Raises UsageError
    for a backend that does not exist, InarchError for one that fails or does not keep what it promises, and
    with `require` for one that hands back everything.
    """
    instances = Instances(context, module)
    parts: dict[str, list[FuncOp]] = {}
    for function in functions_of(module):
        if (owner := _owner(function)) is not None and function.body.blocks:
            parts.setdefault(owner, []).append(function)
    shared: dict[tuple[object, ...], ConstantAttr] = {}
    made: list[Emitted] = []
    back: list[HandedBack] = []
    for name, functions in parts.items():
        emitted, own = _emit_part(context, instances, module, name, functions, shared, fallback)
        if emitted is None and require:
            raise InarchError(
                f"backend '{name}' was asked for and hands everything back: {own[0].reason}; give it "
                "something that it takes, or do not require it"
            )
        made += [emitted] if emitted is not None else []
        back += own
    warn_of(back)
    return Emissions(tuple(made), tuple(back))


def declare_offloaded(module: ModuleOp) -> None:
    """Leaves declarations of the functions that backends have, and asks no backend."""
    for function in functions_of(module):
        if _owner(function) is not None and function.body.blocks:
            _declare(function, None)


def emit_text(
    context: Context,
    module: ModuleOp,
    name: str,
    options: Mapping[str, str] | None = None,
    *,
    whole: bool = True,
) -> str:
    """What backend, or instance, `name` emits for its functions of `module`, without building anything.

    A module in which nothing is marked for any backend is taken as a `whole`: its functions are called
    `<name>_0`, `<name>_1`, ..., as partitioned ones are. Raises UsageError for a backend that does not
    exist, InarchError for a module without a function for it.
    """
    instances = Instances(context, module)
    instances.override(name, options or {})
    every = [function for function in functions_of(module) if function.body.blocks]
    marked = [function for function in every if _owner(function) is not None]
    chosen = [function for function in marked if _owner(function) == name]
    functions = every if whole and not marked else chosen
    if functions and not marked:
        rename(module, functions, name.replace("-", "_"))
    if not functions:
        raise InarchError(f"expected a function for backend '{name}', found none: it got nothing")
    emitted, back = _emit(instances, module, name, functions)
    if emitted is None:
        raise InarchError(f"backend '{name}' hands everything back: {back[0].reason}")
    if emitted.emission.data:
        raise emitted.error(f"emits bytes of the format {emitted.emission.format}, not text")
    text = emitted.emission.text
    return f"{text}\n{described(emitted, functions)}" if emitted.is_linked else text


def _emit_part(
    context: Context,
    instances: Instances,
    module: ModuleOp,
    name: str,
    given: Sequence[FuncOp],
    shared: dict[tuple[object, ...], ConstantAttr],
    fallback: str,
) -> tuple[Emitted | None, list[HandedBack]]:
    try:
        if name not in instances:
            find_backend(name)
    except UsageError as error:
        error.where = location_text(given[0])
        raise
    emitted, back = _emit(instances, module, name, given)
    symbols = emitted.emission.symbols if emitted is not None else ()
    functions = [function for function in given if function.sym_name.data in symbols]
    give_back(module, [function for function in given if function not in functions])
    if emitted is None:
        return None, back
    backend = instances.asked(name).instance.backend
    status = backend.status()
    if status != "ready":
        warnings.warn(
            f"backend '{name}' [{emitted.origin}]: {status}; compiled for machines that have it",
            InarchWarning,
            stacklevel=2,
        )
    if not emitted.is_linked:
        check_submodule(emitted, functions, is_ready=status == "ready")
    for function in functions:
        function.attributes["inarch.owner"] = StringAttr(owner_text(function, name))
        version = add_host_version(module, function) if fallback else None
        declared = _declare(function, name if emitted.is_linked else None)
        if emitted.emission.state:
            declared.attributes["inarch.state"] = StringAttr(emitted.emission.state)
        if emitted.is_linked and emitted.emission.arrays:
            pass_weights(context, module, declared, emitted.emission, shared)
            if version is not None:
                kinds = declared.function_type.inputs.data[len(version.function_type.inputs) :]
                widen(version, kinds)
    return emitted, back


def _emit(
    instances: Instances, module: ModuleOp, name: str, functions: Sequence[FuncOp]
) -> tuple[Emitted | None, list[HandedBack]]:
    asked = instances.asked(name)
    if prefix := asked.request.options.get("prefix"):
        rename(module, functions, str(prefix))
    origin = BACKENDS.origin(asked.instance.backend.name)
    sites = {function.sym_name.data: site_of(function) for function in functions}
    with on_functions(asked, module, functions) as mine:
        request = request_of(asked, mine)
        answer = ask(asked.backend.emit, request, origin, sites)
    back = [each for _, each in answer.handed_back]
    if not answer.functions:
        return None, back
    emitted = Emitted(
        name,
        origin.source,
        answer.emission,
        tuple(sites[function.sym_name.data] for function in answer.functions),
        asked.instance.backend.name,
        asked.instance.texts,
        asked.backend.version,
        tuple(request.reused),
    )
    check_emission(emitted)
    return emitted, back


# ---------------------------------------------------------------------------------- functions


def _owner(function: FuncOp) -> str | None:
    compiler = function.attributes.get("compiler")
    return compiler.data if isinstance(compiler, StringAttr) else None


def _declare(function: FuncOp, linked: str | None) -> FuncOp:
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
    erase(function)
    return declaration
