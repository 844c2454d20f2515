"""From a model to an artifact.

build("model.onnx", "model.inarch")         # import, run the pipeline, emit, build
lower(context, module, "loop")              # the IR at any level
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp

from inarch.backends.host import BuildRequest, Program, Progress, shipped_parts
from inarch.core.arguments import checked_metadata, checked_text
from inarch.core.cache import check_writable
from inarch.core.collector import collected_rarely
from inarch.core.errors import (
    InarchError,
    InternalError,
    UsageError,
    unknown,
)
from inarch.core.scratch import scratch
from inarch.dialects import new_context
from inarch.dialects.loop.keep import check_marks
from inarch.driver.artifact.provenance import provenance_of
from inarch.driver.artifact.variants import build_variants, names_of
from inarch.driver.built import Built, microkernels_of, tuned_choices_of, tuned_nests_of
from inarch.driver.host import build as build_program
from inarch.driver.host import check_parts, emit, find_host, machine_for, resolve
from inarch.driver.keep.kept import FilesNamed
from inarch.driver.offload import Emissions, Offload, is_wanted, offloading
from inarch.driver.options import DEFAULT_HOST, Options, Settings
from inarch.driver.weighing import prepare_weighing
from inarch.ir.location import location_text
from inarch.ir.report.facts import facts_of
from inarch.ir.target import (
    DEMANDED,
    ESTIMATED,
    MACHINE,
    PRECISION,
    WITHOUT,
    checked_precision,
    demanded_kernels,
    machine_of,
    set_machine,
    set_target,
    set_threads,
    target_name,
    target_of,
)
from inarch.ir.verify import verify_module
from inarch.passes import PASSES
from inarch.passes.lower.algorithm import ASKED, NUMERICS, checked_policy
from inarch.passes.lower.count import check_count
from inarch.passes.lower.weighed import Algorithms, numerics_of
from inarch.passes.partition.match.own import passes_of_backends
from inarch.passes.tuned import warn_of_refused
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import Instrument, Step, Verifier, run_pipeline
from inarch.pipeline.pipeline import Pipeline
from inarch.pipeline.places import placed
from inarch.pipeline.text import parse_pipeline

if TYPE_CHECKING:
    from inarch.backends.emitted import Emitted
    from inarch.driver.watch import Watch
    from inarch.passes.tensorize.report import KernelReport

LEVELS = ("graph", "loop", "kernel")
"""What `--emit` shows; `graph` still has the composites in it."""

Source = Any
"""A path (.onnx, .mlir), the bytes of an ONNX file, an `onnx.ModelProto`, or an xDSL ModuleOp."""


@collected_rarely()
def build(
    source: Source,
    output: str | Path,
    options: Options | None = None,
    *,
    context: Context | None = None,
    progress: Progress | None = None,
    instruments: Sequence[Instrument] = (),
    note: Callable[[str], None] | None = None,
    **settings: Unpack[Settings],
) -> Built:
    """Compiles a model into the artifact `output`, which appears whole or not at all.

    With `verify_semantics`, where the program computes something else than at first, InternalError says
    after which pass, and there is no artifact; `note` gets a line about each such run that takes long.
    `instruments` see the program around each pass.
    """
    check_writable(Path(output))
    chosen = Options.of(options, settings)

    def make(one: Source, own: Options, path: Path) -> Built:
        return Compilation(one, path, own, context, progress, instruments, note).run()

    names = names_of(checked_text("target", chosen.target, "x86-64-v3"))
    if len(names) == 1:
        return make(source, chosen, Path(output))
    host = find_host(chosen.host)
    wanted = [(name, resolve(host, name)) for name in names]
    return build_variants(source, Path(output), wanted, chosen, make)


class Compilation:
    """One model on its way into one artifact, for one target."""

    def __init__(
        self,
        source: Source,
        output: Path,
        options: Options,
        context: Context | None = None,
        progress: Progress | None = None,
        instruments: Sequence[Instrument] = (),
        note: Callable[[str], None] | None = None,
    ) -> None:
        """As `build`. Raises UsageError for options that are wrong by themselves."""
        self._source = source
        self._output = output
        self._options = options
        self._metadata = checked_metadata(options.metadata)
        self._host = find_host(options.host)
        self._pipeline = options.passes()
        self._context = context if context is not None else new_context()
        self._progress = progress
        self._instruments = instruments
        self._note = note

    def run(self) -> Built:
        """The steps, each once. Raises InarchError."""
        module = import_model(self._source, self._context, self._options)
        provenance = provenance_of(self._source, self._context, self._metadata)
        if not isinstance(self._source, str | Path):
            self._source = None  # it may be large, and nothing needs it any more
        _check_functions(module)
        watch = self._watch(module)
        self._lower(module, watch)
        emitted = _emitted(self._context)
        program = self._emit(module, emitted)
        request = BuildRequest(
            self._host.name,
            self._context,
            module,
            emitted,
            self._output,
            self._progress,
            jobs=self._options.jobs,
            timeout=self._options.timeout,
            provenance={
                **provenance,
                **numerics_of(module, facts_of(self._context).get(Algorithms)),
            },
            is_relocatable=self._options.relocatable,
            is_embedding=self._options.embed,
        )
        with _calls_beside(module):
            self._build(program, request, watch)
        return self._built(module, program, emitted)

    def _watch(self, module: ModuleOp) -> Watch | None:
        """Who runs the program after each pass, where that is asked for."""
        if self._options.verify_semantics is None:
            return None
        from inarch.driver.watch import watch_program

        return watch_program(self._context, module, self._options.verify_semantics, self._note)

    def _lower(self, module: ModuleOp, watch: Watch | None) -> None:
        """Runs the pipeline, and verifies what it made. Raises the error of the pass that broke it."""
        options = self._options
        watching = [*self._instruments, *([watch] if watch is not None else [])]
        meter = build if options.measure_regions else None
        prepare_weighing(self._context, options.host, measure=meter)
        try:
            everyone = [*watching, *_progress(self._progress)]
            _run(self._context, module, self._pipeline, options, everyone)
            verify_module(module)
        except Exception as error:
            if (blamed := self._blamed(error, module)) is None:
                raise
            raise blamed from error
        _warn_of_idle_passes(self._context, self._pipeline)

    def _blamed(self, error: Exception, module: ModuleOp) -> InarchError | None:
        """The error of the pass that left a wrong program, where that may be why `error` was raised.

        The model is read once more, and verified after each pass; no backend emits again.
        """
        options, path = self._options, self._source
        told = isinstance(error, InarchError) and not isinstance(error, InternalError)
        is_sound = told and not _is_wrong(module)  # it is said of the program, or of what was asked
        is_watched = options.verify_each or options.verify_semantics is not None
        if path is None or is_sound or is_watched:
            return None
        context = new_context()
        passes = [one for one in self._pipeline if one.name != "emit-offloaded"]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                again = import_model(path, context, options)
                run_pipeline(context, again, passes, [Verifier()])
        except InarchError as found:
            return found if found.after else None
        except Exception:  # noqa: BLE001 - the crash again, which `error` tells of
            return None
        return None

    def _emit(self, module: ModuleOp, emitted: Sequence[Emitted]) -> Program:
        """What the host writes; the files that backends named are a fact."""
        said = [(*one.emission.libraries, *one.emission.include_dirs) for one in emitted]
        facts_of(self._context).put(FilesNamed(tuple(Path(path) for path in chain(*said))))
        check_parts(self._host, emitted)
        program = emit(self._host, self._context, module)
        for line in program.notes:
            warnings.warn(line, stacklevel=2)
        return program

    def _build(self, program: Program, request: BuildRequest, watch: Watch | None) -> None:
        """Writes the artifact; under watch only where it computes what the program meant at first."""
        if watch is None:
            build_program(self._host, program, request)
            return
        with scratch(".inarch-", self._output.parent) as folder:
            trial = folder / "trial.inarch"
            build_program(self._host, program, replace(request, output=trial))
            watch.check_artifact(trial)
            trial.replace(self._output)

    def _built(self, module: ModuleOp, program: Program, emitted: Sequence[Emitted]) -> Built:
        return Built(
            path=self._output,
            name=program.name,
            host=self._host.name,
            target=str(target_of(module)),
            machine=machine_of(module).name,
            kernels=program.kernel_count,
            weights_bytes=program.weights_bytes,
            workspace_bytes=program.workspace_bytes,
            offloaded={one.backend: one.emission.symbols for one in emitted},
            reused={one.backend: one.reused for one in emitted if one.reused},
            shipped_bytes=sum(map(len, shipped_parts(emitted).values())),
            microkernels=microkernels_of(self._context),
            tuned=tuned_nests_of(self._context),
            chosen=tuned_choices_of(self._context),
            passes=_foreign(self._pipeline),
        )


@contextmanager
def _calls_beside(module: ModuleOp) -> Generator[None]:
    """Whoever calls what is compiled meanwhile, and runs here, has compiled calls from the first one on."""
    from inarch.runtime.calls.compiled import COMPILED  # not where IR alone is asked for

    builder = COMPILED.begin() if not target_of(module).missing_here() else None
    yield
    if builder is not None:
        builder.join()


def _is_wrong(module: ModuleOp) -> bool:
    try:
        verify_module(module)
    except InarchError:
        return True
    return False


def _emitted(context: Context) -> tuple[Emitted, ...]:
    emissions = facts_of(context).take(Emissions)
    return emissions.parts if emissions is not None else ()


def _foreign(pipeline: Pipeline) -> dict[str, str]:
    """The passes of others in `pipeline`, and where they come from."""
    origins = {name: origin.source for name, origin in PASSES.foreign()}
    return {one.name: origins[one.name] for one in pipeline if one.name in origins}


def _warn_of_idle_passes(ctx: Context, pipeline: Pipeline) -> None:
    """A pass that was loaded for this run, and is in no place of it, is not left out in silence."""
    ran = {one.name for one in pipeline} | passes_of_backends(ctx)
    for name in PASSES.loaded:
        if name not in ran:
            warnings.warn(
                f"pass '{name}' ({PASSES.origin(name).source}) was loaded and never ran; say where: "
                f"runs = 'after prepare' in its class, --place {name}='after prepare', or a pipeline (-p)",
                stacklevel=3,
            )


def import_model(
    source: Source,
    context: Context,
    options: Options | None = None,
    **settings: Unpack[Settings],
) -> ModuleOp:
    """Reads a model into `graph`, verified, with what `options` say of it as module attributes.

    Raises UsageError for a kind of file that no frontend reads, and for an argument of another type.
    """
    chosen = Options.of(options, settings)
    host = find_host(chosen.host)
    resolved = resolve(host, checked_text("target", chosen.target, "x86-64-v3"))
    module = _read(source, context, chosen)
    check_count(module)
    _set_wishes(module, chosen)
    if chosen.records:
        from inarch.driver.keep.records import tuned_of

        tuned, said = tuned_of(chosen.records, demanded_kernels(module))
        facts_of(context).put(tuned)
        for warning in said:
            warnings.warn(warning, stacklevel=2)
    own = target_name(module)
    is_native = chosen.target == "native" and own is None
    if own is None or chosen.target != "native":
        set_target(module, resolved)
    else:
        host.machine(own)  # raises where it has no such machine
    if (machine := machine_for(chosen.machine, is_native)) is not None and (
        chosen.machine is not None or MACHINE not in module.attributes
    ):
        set_machine(module, machine)
    verify_module(module)
    check_marks(module)
    return module


def _read(source: Source, context: Context, chosen: Options) -> ModuleOp:
    """The program, with the sizes and values that are asked for; of several sets of sizes, all functions."""
    from inarch.core.arguments import checked_dims, checked_shapes, checked_values
    from inarch.driver.sizes import joined, sets_of
    from inarch.frontends import Sizes, read_model
    from inarch.frontends.values import fix_arguments

    sizes = Sizes(
        checked_dims(chosen.dims), checked_shapes(chosen.shapes), checked_values(chosen.values)
    )
    if isinstance(source, ModuleOp):
        fix_arguments(source, sizes.values, context)
        if chosen.specialize:
            raise UsageError("specialize: expected a model with open sizes, found a module")
        return source

    def read(dims: Mapping[str, int]) -> ModuleOp:
        return read_model(source, context, replace(sizes, dims={**sizes.dims, **dims}))

    sets = sets_of(chosen.specialize)
    return joined(sets, read) if sets else read({})


def _set_wishes(module: ModuleOp, chosen: Options) -> None:
    """What is asked of a program, as its attributes, but for whom it is compiled."""
    if chosen.name is not None:
        from inarch.frontends.names import check_name

        check_name(chosen.name)
        module.attributes["inarch.name"] = StringAttr(chosen.name)
    module.attributes.setdefault("inarch.name", StringAttr("model"))
    if chosen.microkernels:
        names = ArrayAttr(StringAttr(kernel) for kernel in chosen.microkernels)
        module.attributes[DEMANDED] = names
    if chosen.without:
        module.attributes[WITHOUT] = ArrayAttr(StringAttr(kernel) for kernel in chosen.without)
    if chosen.algorithms:
        given: Any = chosen.algorithms
        if isinstance(given, str) or not all(isinstance(one, str) for one in given):
            raise UsageError(
                f"algorithms: expected a list such as ['conv=direct'], found {given!r}"
            )
        asked = [StringAttr(text) for text in chosen.algorithms]
        module.attributes[ASKED] = ArrayAttr(asked)
    if chosen.numerics != Options().numerics:
        module.attributes[NUMERICS] = StringAttr(checked_policy(chosen.numerics))
    if chosen.precision != Options().precision:
        module.attributes[PRECISION] = StringAttr(checked_precision(chosen.precision))
    if not chosen.measure:
        module.attributes[ESTIMATED] = UnitAttr()
    if chosen.schedule is not None:
        from inarch.passes.schedule.apply_schedule import set_schedule

        set_schedule(module, chosen.schedule)
    if chosen.checked:
        module.attributes["inarch.checked"] = UnitAttr()
    if chosen.threads:
        set_threads(module, chosen.threads)


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


def lower(
    context: Context,
    module: ModuleOp,
    level: str,
    *,
    progress: Progress | None = None,
    offload: Offload | None = None,
    pipeline: Pipeline | None = None,
    watch: Callable[[Pipeline], Sequence[Instrument]] | None = None,
) -> tuple[Emitted, ...]:
    """Runs the passes that take an imported module to `level` (`graph`, `loop` or `kernel`).

    Backends take their parts by `offload`. At `graph` the program is partitioned, and has their
    functions in it; below, they have been emitted, and that is returned. Of a `pipeline` without the
    phase that ends at the level, all runs. `watch` makes the instruments for what will run.
    """
    if level not in LEVELS:
        raise unknown("level", level, LEVELS)
    wish = offload or Offload()
    whole = asked = offloading(pipeline or placed(default_pipeline()), wish)
    last = {"graph": "partition", "loop": "loop", "kernel": "memory"}[level]
    if level == "graph" and not is_wanted(module, wish) and pipeline is None:
        whole = parse_pipeline("simplify-graph")
    elif last in whole:
        whole = whole.until(last).closed()
    watching: Sequence[Instrument] = watch(whole) if watch is not None else ()
    prepare_weighing(context, measure=build if wish.measure else None)
    _run(context, module, whole, Options(), [*watching, *_progress(progress)])
    _warn_of_idle_passes(context, asked)
    verify_module(module)
    return _emitted(context)


def kernel_report(context: Context, module: ModuleOp, host: str = DEFAULT_HOST) -> KernelReport:
    """Which microkernel does which nest of an imported module, which is lowered as far as that.

    Its functions of backends are declared already. Raises InarchError as `compile`.
    """
    from inarch.passes.tensorize.report import KernelReport

    pipeline = find_host(host).lower(placed(default_pipeline()))
    if "tensorize" not in pipeline:
        raise UsageError(
            f"host '{host}' takes no microkernels: expected the pass 'tensorize' in its pipeline, "
            f"found {pipeline}"
        )
    last = "parallelize" if "parallelize" in pipeline else "tensorize"
    _run(context, module, pipeline.until(last), Options(), [])
    report = facts_of(context).get(KernelReport)
    assert report is not None, "tensorize is one of the passes"
    return report


class _Progress(Instrument):
    """Tells what is being done."""

    def __init__(self, report: Progress) -> None:
        self._report = report

    def before(self, step: Step, module: ModuleOp) -> None:
        self._report(step.name, step.index, step.count)


def _progress(report: Progress | None) -> list[Instrument]:
    return [_Progress(report)] if report is not None else []


def _run(
    context: Context,
    module: ModuleOp,
    pipeline: Pipeline,
    options: Options,
    instruments: Sequence[Instrument],
) -> None:
    verifier = Verifier(None if options.verify_each else frozenset(_foreign(pipeline)))
    run_pipeline(context, module, pipeline, [*instruments, verifier])
    warn_of_refused(context)
