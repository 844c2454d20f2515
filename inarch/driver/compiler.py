"""From a model to a running module: the pipeline as one readable list.

module = compile("model.onnx")              # import, lower, emit C, compile it, load
build("model.onnx", "model.inarch")         # the same into a file
lower(context, module, "loop")              # the IR at any level
"""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp

from inarch.core.cache import check_writable
from inarch.core.errors import InarchError, UsageError, unknown
from inarch.dialects import new_context
from inarch.ir.location import location_text
from inarch.ir.verify import verify_module
from inarch.machine.target import Target, native
from inarch.machine.target import parse as parse_target
from inarch.passes import PASSES

if TYPE_CHECKING:
    from inarch.driver.offload import Offload
    from inarch.driver.offload_check import Emitted
    from inarch.driver.watch import Watch
    from inarch.passes.tensorize.report import Report
    from inarch.runtime.module import Module

PREPARE = ("inline-calls", "fold-constants", "simplify-graph", "fold-batch-norm")
"""What runs before backends take their parts: patterns see composites."""
GRAPH = (*PREPARE, "decompose-composites", "fold-constants", "simplify-graph", "choose-layout")
LOOP = ("graph-to-loop", "drop-unit-iterators", "fold-scalars", "fuse-nests")
KERNEL = (
    "materialize-padding",
    "split-padding",
    "drop-padding-taps",
    "split-dilation",
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


class Observer(Protocol):
    """What looks at a program on its way through the passes; it may raise."""

    def after(self, name: str, module: ModuleOp) -> None:
        """Called after each pass, with its name."""
        ...


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
    microkernels: Mapping[str, int]
    """Microkernel -> the loop nests that it does."""


@dataclass(frozen=True)
class _Lowered:
    """What the passes have left beside the program."""

    emitted: tuple[Emitted, ...]
    kernels: Report | None

    def microkernels(self) -> dict[str, int]:
        """The nests that each microkernel does; the busiest first."""
        nests = self.kernels.nests if self.kernels is not None else ()
        return dict(Counter(n.taken.kernel for n in nests if n.taken is not None).most_common())


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
    verify_semantics: int | None = None,
    note: Callable[[str], None] | None = None,
) -> Built:
    """Compiles a model into the artifact `output`, which appears whole or not at all.

    With a seed in `verify_semantics`, the program runs after each pass, and at last compiled, on random
    inputs; where it computes something else than at first, InternalError says after which pass, and there
    is no artifact. `note` gets a line about each such run that takes long.
    """
    from inarch.backends.c import emit, registry_notes
    from inarch.driver.assemble import assemble, target_text
    from inarch.driver.offload import Offload, check_offload

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
    watch: Watch | None = None
    if verify_semantics is not None:
        from inarch.driver.watch import watch_program

        watch = watch_program(ctx, module, verify_semantics, note)
    lowered = _run(ctx, module, PIPELINE, progress, offload, watch)
    verify_module(module)
    program = emit(ctx, module)
    for line in registry_notes(program):
        warnings.warn(line, stacklevel=2)
    if watch is None:
        assemble(ctx, module, program, lowered.emitted, Path(output), progress)
    else:
        with tempfile.TemporaryDirectory(prefix="inarch-", dir=Path(output).parent) as folder:
            trial = Path(folder) / "trial.inarch"
            assemble(ctx, module, program, lowered.emitted, trial, progress)
            watch.check_artifact(trial)
            trial.replace(output)
    return Built(
        path=Path(output),
        name=program.prefix,
        target=target_text(module),
        kernels=len(program.unit_kernels) - 1,  # one of the units is model.c
        weights_bytes=program.weights_bytes,
        workspace_bytes=max((f.workspace_bytes for f in program.functions), default=0),
        offloaded={one.backend: one.emission.symbols for one in lowered.emitted},
        microkernels=lowered.microkernels(),
    )


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
    from inarch.core.arguments import checked_dims, checked_shapes, checked_text
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
    from inarch.core.arguments import checked_text

    if not checked_text("name", name, "model").isidentifier() or not name.isascii():
        raise UsageError(f"expected a name that is a C identifier, found '{name}'")
    from inarch.frontends.names import MAX_PREFIX

    if len(name) > MAX_PREFIX:
        raise UsageError(f"expected a name of at most {MAX_PREFIX} characters, found {len(name)}")


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
    from inarch.driver.offload import Offload, is_wanted, partition

    if level not in LEVELS:
        raise unknown("level", level, LEVELS)
    wish = offload or Offload()
    passes = PREPARE if level == "graph" and is_wanted(module, wish) else LEVELS[level]
    lowered = _run(context, module, passes, progress, wish)
    if passes is PREPARE:
        partition(context, module, wish)
    verify_module(module)
    return lowered.emitted


def kernel_report(context: Context, module: ModuleOp) -> Report:
    """Which microkernel does which nest of an imported module, which is lowered as far as that.

    Its functions of backends are declared already. Raises InarchError as `compile`.
    """
    from inarch.driver.offload import Offload

    passes = PIPELINE[: PIPELINE.index("tensorize") + 1]
    report = _run(context, module, passes, None, Offload()).kernels
    assert report is not None, "tensorize is one of the passes"
    return report


def observe_passes(context: Context, module: ModuleOp, observer: Observer) -> None:
    """Runs all passes on an imported module, which is planned then; `observer` sees it after each."""
    from inarch.driver.offload import Offload

    _run(context, module, PIPELINE, None, Offload(), observer)


def _run(
    context: Context,
    module: ModuleOp,
    passes: Sequence[str],
    progress: Progress | None,
    wish: Offload,
    watch: Observer | None = None,
) -> _Lowered:
    """Runs `passes`, which begin as `PIPELINE` does; backends get and emit their parts after `PREPARE`.

    `watch` sees the program after each.
    """
    from inarch.driver.kernel_choice import choose_kernels
    from inarch.driver.offload import emit_offloaded, partition

    emitted: tuple[Emitted, ...] = ()
    kernels: Report | None = None
    for index, name in enumerate(passes):
        if progress is not None:
            progress(name, index, len(passes))
        if index == len(PREPARE):
            partition(context, module, wish)
            if watch is not None:
                watch.after("partition", module)
            emitted = emit_offloaded(context, module, wish.options)
        if name == "tensorize":
            kernels = choose_kernels(module)
        else:
            PASSES[name]().apply(context, module)
        if watch is not None:
            watch.after(name, module)
    return _Lowered(emitted, kernels)
