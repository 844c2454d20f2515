"""From a model to a running module: the pipeline as one readable list.

module = compile("model.onnx")              # import, lower, emit C, compile it, load
build("model.onnx", "model.inarch")         # the same into a file
lower(context, module, "loop")              # the IR at any level
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp

from inarch import __version__
from inarch._xdsl import location_text, store_of, verify_module
from inarch.cache import check_writable
from inarch.dialects import new_context
from inarch.errors import InarchError, UsageError, unknown
from inarch.passes import PASSES
from inarch.target import Target, native
from inarch.target import parse as parse_target

if TYPE_CHECKING:
    from inarch._offload_check import Emitted
    from inarch.backends.c import CProgram
    from inarch.offload import Offload
    from inarch.runtime.module import Module

PREPARE = ("fold-constants", "simplify-graph", "fold-batch-norm")
"""What runs before backends take their parts: patterns see composites."""
GRAPH = (*PREPARE, "decompose-composites", "fold-constants", "simplify-graph", "choose-layout")
LOOP = ("graph-to-loop", "drop-unit-iterators", "fuse-nests")
KERNEL = (
    "materialize-padding",
    "split-padding",
    "tensorize",
    "schedule-nests",
    "drop-unit-iterators",
    "fold-packs",
    "outline-nests",
    "plan-memory",
)
PIPELINE = (*GRAPH, *LOOP, *KERNEL)

LEVELS: Mapping[str, tuple[str, ...]] = {
    "graph": ("simplify-graph",),
    "loop": (*GRAPH, *LOOP),
    "kernel": PIPELINE,
}
"""What `--emit` shows: the passes that have run. `graph` still has the composites in it."""

Progress = Callable[[str, int, int], None]
"""Called with (what is being done, steps done, steps in all)."""

Source = Any
"""A path (.onnx, .mlir), the bytes of an ONNX file, an `onnx.ModelProto`, or an xDSL ModuleOp."""


@dataclass(frozen=True)
class Built:
    """What `build` made."""

    path: Path
    name: str
    target: str
    kernels: int
    weights_bytes: int
    workspace_bytes: int
    offloaded: Mapping[str, tuple[str, ...]]
    """Backend -> the functions that it emitted."""


def compile(  # noqa: A001 - the verb of a compiler; users write inarch.compile
    source: Source,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    target: str = "native",
    name: str | None = None,
    context: Context | None = None,
    progress: Progress | None = None,
    backends: Sequence[str] = (),
    backend_options: Mapping[str, Mapping[str, str]] | None = None,
    require_offload: bool = False,
    give: Sequence[str] = (),
    keep: Sequence[str] = (),
    microkernels: Sequence[str] = (),
    checked: bool = False,
) -> Module:
    """Compiles a model and loads it.

    `shapes` gives shapes to inputs by name, `dims` values to symbolic dimensions. `target` is
    `native` or a name such as `x86-64-v3`. `context` is that of a ModuleOp `source`; the module is
    consumed.

    `backends` take what they can, the first one first; the host compiles the rest. `backend_options`
    are by backend. One that gets nothing is a warning, with `require_offload` an error. `give` and
    `keep` (`SELECTOR=backend`) say by hand which ops a backend must take, or must not get.
    `microkernels` are those that must be used, the first one preferred: one that cannot is an error. With
    `checked` a call fails when an offloaded or imported function leaves an output unwritten.

    Raises InarchError for a bad model or backend, EnvironmentFault when there is no C compiler.
    """
    from inarch.runtime.module import load

    with tempfile.TemporaryDirectory(prefix="inarch-") as folder:
        path = Path(folder) / "model.inarch"
        build(
            source,
            path,
            shapes=shapes,
            dims=dims,
            target=target,
            name=name,
            context=context,
            progress=progress,
            backends=backends,
            backend_options=backend_options,
            require_offload=require_offload,
            give=give,
            keep=keep,
            microkernels=microkernels,
            checked=checked,
        )
        return load(path)  # which maps the file: its name is not needed any more


def build(
    source: Source,
    output: str | Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    target: str = "native",
    name: str | None = None,
    context: Context | None = None,
    progress: Progress | None = None,
    backends: Sequence[str] = (),
    backend_options: Mapping[str, Mapping[str, str]] | None = None,
    require_offload: bool = False,
    give: Sequence[str] = (),
    keep: Sequence[str] = (),
    microkernels: Sequence[str] = (),
    checked: bool = False,
) -> Built:
    """Compiles a model into the artifact `output`, which appears whole or not at all."""
    from inarch.backends.c import emit, registry_notes
    from inarch.offload import Offload, check_offload

    check_writable(Path(output))
    offload = Offload(backends, backend_options or {}, require_offload, give, keep)
    check_offload(offload)
    ctx = context if context is not None else new_context()
    module = import_model(
        source,
        ctx,
        shapes=shapes,
        dims=dims,
        target=target,
        name=name,
        microkernels=microkernels,
    )
    del source
    _check_functions(module)
    if checked:
        module.attributes["inarch.checked"] = UnitAttr()
    emitted = lower(ctx, module, "kernel", progress=progress, offload=offload)
    program = emit(ctx, module)
    for note in registry_notes(program):
        warnings.warn(note, stacklevel=2)
    return _write(ctx, module, program, emitted, Path(output), progress)


def import_model(
    source: Source,
    context: Context,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    target: str = "native",
    name: str | None = None,
    microkernels: Sequence[str] = (),
) -> ModuleOp:
    """Reads a model into `graph`, verified, with its target and name as module attributes.

    `microkernels` are demanded by name.

    Raises UsageError for a kind of file that no frontend reads, and for an argument of another type.
    """
    from inarch._arguments import checked_dims, checked_shapes, checked_text
    from inarch.frontends import read_model

    dims, shapes = checked_dims(dims), checked_shapes(shapes)
    resolved = _resolve(checked_text("target", target, "x86-64-v3"))
    if isinstance(source, ModuleOp):
        module = source
    else:
        module = read_model(source, context, dims=dims, shapes=shapes)
    if name is not None:
        _check_name(name)
        module.attributes["inarch.name"] = StringAttr(name)
    module.attributes.setdefault("inarch.name", StringAttr("model"))
    if microkernels:
        names = ArrayAttr(StringAttr(kernel) for kernel in microkernels)
        module.attributes["inarch.microkernels"] = names
    if target != "native" or "inarch.target" not in module.attributes:
        module.attributes["inarch.target"] = StringAttr(str(resolved))
    verify_module(module)
    return module


def _resolve(target: str) -> Target:
    """The machine to compile for. Raises UsageError; a backend's name is what it is in the message."""
    if target == "native":
        return native()
    try:
        return parse_target(target)
    except UsageError as error:
        from inarch.backends import BACKENDS

        if target not in BACKENDS:
            raise
        raise UsageError(
            f"'{target}' is a backend, not a host target; write --backend {target} "
            f"(in Python: backends=['{target}'])"
        ) from error


def _check_functions(module: ModuleOp) -> None:
    """Raises InarchError for a program that has nothing to call."""
    functions = [op for op in module.body.ops if isinstance(op, FuncOp)]
    for function in functions:
        visibility = function.sym_visibility
        if visibility is None or visibility.data != "private":
            return
    raise InarchError(
        "no public function to compile: expected a func.func such as @main that is not private",
        where=location_text(module),
    )


def _check_name(name: str) -> None:
    from inarch._arguments import checked_text

    if not checked_text("name", name, "model").isidentifier() or not name.isascii():
        raise UsageError(f"expected a name that is a C identifier, found '{name}'")


def lower(
    context: Context,
    module: ModuleOp,
    level: str,
    *,
    progress: Progress | None = None,
    offload: Offload | None = None,
) -> tuple[Emitted, ...]:
    """Runs the passes that take an imported module to `level` (`graph`, `loop` or `kernel`).

    Backends take their parts by `offload`. At `graph` the program is partitioned, and has their
    functions in it; below, they have been emitted, and that is returned.
    """
    from inarch._kernel_choice import choose_kernels
    from inarch.offload import Offload, emit_offloaded, is_wanted, partition

    if level not in LEVELS:
        raise unknown("level", level, LEVELS)
    wish = offload or Offload()
    passes = PREPARE if level == "graph" and is_wanted(module, wish) else LEVELS[level]
    emitted: tuple[Emitted, ...] = ()
    for index, name in enumerate(passes):
        if progress is not None:
            progress(name, index, len(passes))
        if index == len(PREPARE):
            partition(context, module, wish)
            emitted = emit_offloaded(context, module, wish.options)
        if name == "tensorize":
            choose_kernels(module)
        else:
            PASSES[name]().apply(context, module)
    if passes is PREPARE:
        partition(context, module, wish)
    verify_module(module)
    return emitted


def _write(
    context: Context,
    module: ModuleOp,
    program: CProgram,
    emitted: Sequence[Emitted],
    output: Path,
    progress: Progress | None,
) -> Built:
    from inarch._offload_c import explained, linked_units
    from inarch.artifact import write_artifact
    from inarch.backends.c import kernel_error, link_libraries
    from inarch.toolchain import CompilerError, compile_library

    target = parse_target(_text(module, "inarch.target"))

    def report(done: int, total: int, unit: str) -> None:
        if progress is not None:
            progress(f"compile {unit}", done, total)

    with tempfile.TemporaryDirectory(prefix="inarch-build-") as folder:
        library = Path(folder) / f"{program.prefix}.so"
        foreign = linked_units(emitted)
        linked = link_libraries(program.kernels, target)
        try:
            compile_library(
                {**program.units, **foreign.units},
                library,
                target=target,
                unit_flags={**program.unit_flags, **foreign.flags},
                libraries=tuple(dict.fromkeys([*linked.libraries, *foreign.libraries])),
                exports=f"{program.prefix}_*" if linked.embeds else None,
                progress=report,
            )
        except CompilerError as error:
            of_kernel = kernel_error(error, program.unit_kernels)
            raise (explained(error, emitted) if of_kernel is error else of_kernel) from error
        if progress is not None:
            progress(f"write {output.name}", 0, 1)
        write_artifact(
            output,
            library,
            _manifest(program, target, emitted, linked.externals),
            _weights(context, module),
            program.weights_bytes,
            _members(emitted),
        )
    return Built(
        path=output,
        name=program.prefix,
        target=str(target),
        kernels=len(program.units) - 1,
        weights_bytes=program.weights_bytes,
        workspace_bytes=max((f.workspace_bytes for f in program.functions), default=0),
        offloaded={one.backend: one.emission.symbols for one in emitted},
    )


def _manifest(
    program: CProgram,
    target: Target,
    emitted: Sequence[Emitted],
    externals: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The artifact's manifest; each submodule adds its loader, C the libraries that it calls."""
    manifest = program.manifest(str(target), sorted(target.features))
    formats = [one.emission.format for one in emitted if not one.is_linked]
    libraries: list[Mapping[str, Any]] = [
        {"path": str(path.absolute()), "backend": one.backend, "package": one.emission.package}
        for one in emitted
        if one.is_linked
        for path in one.emission.libraries
    ]
    libraries += externals
    return {
        "inarch": __version__,
        **manifest,
        "loaders": [*manifest["loaders"], *formats],
        **({"libraries": libraries} if libraries else {}),
    }


def _members(emitted: Sequence[Emitted]) -> dict[str, bytes]:
    """The submodules by index, and the source of what was linked."""
    modules = [one.emission.content for one in emitted if not one.is_linked]
    sources = {f"source.{one.backend}": one.emission.content for one in emitted if one.is_linked}
    return {**{f"modules/{n}": content for n, content in enumerate(modules, 1)}, **sources}


def _text(module: ModuleOp, attribute: str) -> str:
    return cast("StringAttr", module.attributes[attribute]).data


def _weights(context: Context, module: ModuleOp) -> Iterator[tuple[int, memoryview]]:
    """`(offset, bytes)` of every constant of a planned module, each offset once, in order."""
    from inarch.dialects._constants import ConstantAttr, constant_array
    from inarch.dialects.loop.buffer import ConstantOp
    from inarch.lazy import np

    store = store_of(context)
    constants: dict[int, ConstantAttr] = {}
    for op in module.walk():
        if isinstance(op, ConstantOp):
            assert op.offset is not None  # plan-memory has run
            constants[op.offset.value.data] = op.value
    for offset in sorted(constants):
        array = np.ascontiguousarray(constant_array(constants[offset], store))
        yield offset, array.reshape(-1).view(np.uint8).data
