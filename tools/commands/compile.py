"""`inarch compile`: a model to an artifact, or to the text of any level."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inarch.core.errors import UsageError, unknown
from inarch.driver.keep.kept import Entry, Found, has_foreign
from inarch.tools.artifacts.signer import signer_of
from inarch.tools.commands import Command
from inarch.tools.explain.dump_regions import add_dump_option, check_dump_folder, dump_regions
from inarch.tools.flags import MODEL, OFFLOAD, add_options, compile_options
from inarch.tools.options import check_output
from inarch.tools.passes import Watchers, add_instruments, add_pipeline_options
from inarch.tools.progress import progress

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from inarch.backends.emitted import Emitted
    from inarch.driver.built import Built
    from inarch.driver.offload import Offload
    from inarch.driver.options import Options
    from inarch.ir.report.remarks import Remark
    from inarch.pipeline.manager import Instrument
    from inarch.pipeline.pipeline import Pipeline

LEVELS = ("graph", "loop", "kernel")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="the model: .onnx, or .mlir text")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="where to write (default: the model's name + .inarch; -: text to the terminal)",
    )
    parser.add_argument(
        "--emit",
        metavar="LEVEL",
        help=f"write the program's text at this level instead: {', '.join(LEVELS)}, or the name of a host "
        "(c) or backend for what it emits (default output: the terminal)",
    )
    add_options(parser, *MODEL, *OFFLOAD)
    add_dump_option(parser)
    add_pipeline_options(parser.add_argument)
    add_options(parser, "places")
    add_instruments(parser.add_argument)
    add_options(parser, "verify_each", "verify_semantics")
    parser.add_argument(
        "--print-debuginfo",
        action="store_true",
        help="with --emit of a level: where each op is from, so that stages resume with the model's names",
    )
    add_options(parser, "metadata", "relocatable", "embed")
    parser.add_argument(
        "--sign",
        type=Path,
        metavar="KEY",
        help="sign the artifact with this private Ed25519 key, as `inarch sign` does",
    )
    add_options(parser, "specialize")
    parser.add_argument("--json", action="store_true", help="print what was made as JSON")
    how = "print each step as it begins, with the seconds"
    parser.add_argument("-v", "--verbose", action="store_true", help=how)
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def _execute(arguments: argparse.Namespace) -> int:
    if arguments.print_debuginfo and arguments.emit not in LEVELS:
        raise UsageError(f"--print-debuginfo: expected --emit={'|'.join(LEVELS)} beside it")
    if arguments.emit is not None:
        if arguments.sign is not None:
            raise UsageError("--sign signs an artifact; it does not go with --emit")
        if arguments.dump_regions is not None:
            raise UsageError("--dump-regions goes with an artifact, not with --emit")
        return _emit(arguments)
    signer = signer_of(arguments.sign)
    output = arguments.output or Path(f"{arguments.model.stem or 'model'}.inarch")
    check_output(output, arguments.model)
    check_dump_folder(arguments.dump_regions)
    start = time.perf_counter()
    options = compile_options(arguments)
    dump_regions(arguments, options)
    remarks: list[Remark] | None = [] if arguments.json and arguments.remarks is not None else None
    watchers = Watchers(arguments, remarks=remarks)
    entry = None
    is_known = not arguments.load or not has_foreign(besides_kernels=True)
    if arguments.is_process and is_known and not watchers.are_asked:
        entry = Entry.of(arguments.model, options)
    found = entry.restore(output) if entry is not None else None
    if found is None:
        found = _built(arguments, options, output, watchers, entry)
    if signer is not None:
        signer.sign(output)
    built = found.built
    seconds = time.perf_counter() - start
    if arguments.json:
        facts: dict[str, Any] = {
            "path": str(built.path),
            "name": built.name,
            "host": built.host,
            "target": built.target,
            "machine": built.machine,
            "kernels": built.kernels,
            "weights_bytes": built.weights_bytes,
            "workspace_bytes": built.workspace_bytes,
            "seconds": round(seconds, 3),
            "offloaded": built.offloaded,
            "reused": built.reused,
            "shipped_bytes": built.shipped_bytes,
            "microkernels": built.microkernels,
            "tuned": built.tuned,
            "chosen": built.chosen,
            "passes": built.passes,
            "variants": built.variants,
            "pipeline": found.pipeline,
        }
        facts |= _defaults(built.path)
        if remarks is not None:
            facts["remarks"] = [remark.to_json() for remark in remarks]
        print(json.dumps(facts))
    elif not arguments.quiet:
        offloaded = "".join(
            f"{len(own)} of {name}{_reused(built.reused.get(name, ()))}, "
            for name, own in built.offloaded.items()
        )
        shipped = f"{_size(built.shipped_bytes)} of backends, " if built.shipped_bytes else ""
        used = ", ".join(f"{name} {count}" for name, count in built.microkernels.items())
        microkernels = f" (microkernels: {used})" if used else ""
        if built.tuned is not None:
            chosen = "".join(f"{name} {count}, " for name, count in built.chosen.items())
            microkernels += ", {}{} of {} nests by records".format(chosen, *built.tuned)
        theirs = "".join(f"pass {name}, " for name in built.passes)
        sizes = (
            f"{_size(built.weights_bytes)} of weights, {_size(built.workspace_bytes)} of workspace"
        )
        from inarch.machine.target import parse

        usual = parse(built.target).machine.name
        others = "".join(f" and {one['target']}" for one in built.variants)
        machine = f" on {built.machine}" if built.machine != usual else ""
        print(
            f"{output}: {built.name} for {built.target}{machine}{others}, "
            f"{built.kernels} kernel{'s' * (built.kernels != 1)}{microkernels}, "
            f"{theirs}{offloaded}{shipped}{sizes}, in {seconds:.1f} s"
        )
    return 0


def _defaults(path: Path) -> dict[str, Any]:
    """The inputs whose own values are compiled in, as the manifest has them; empty where there are none."""
    from inarch.artifact import Artifact

    with Artifact.open(path) as artifact:
        source = artifact.manifest.data.get("source", {})
    return {"defaults": source["defaults"]} if "defaults" in source else {}


def _reused(functions: Sequence[str]) -> str:
    return f" ({len(functions)} from the cache)" if functions else ""


def _built(
    arguments: argparse.Namespace,
    options: Options,
    output: Path,
    watchers: Watchers,
    entry: Entry | None,
) -> Found:
    """Compiles the model, and keeps what was made in `entry`."""
    from inarch.dialects import new_context
    from inarch.driver.compiler import build

    pipeline = options.passes()
    watchers.check(pipeline)
    watchers.dump(pipeline)
    context = new_context()

    def make(path: Path) -> Built:
        with progress(quiet=arguments.quiet, verbose=arguments.verbose) as report:
            return build(
                arguments.model,
                path,
                options,
                context=context,
                progress=report,
                instruments=watchers.instruments(context, pipeline),
                note=None if arguments.quiet else _note,
            )

    if entry is None:
        found = Found(make(output), str(pipeline))
    else:
        found = entry.made(output, make, context, str(pipeline))
    watchers.report()
    return found


def _note(line: str) -> None:
    print(f"note: {line}", file=sys.stderr, flush=True)


def _emit(arguments: argparse.Namespace) -> int:
    from inarch.dialects import new_context
    from inarch.driver.compiler import import_model, lower
    from inarch.driver.options import DEFAULT_HOST
    from inarch.pipeline.manager import Verifier

    if arguments.json:
        raise UsageError("--json describes an artifact; it does not go with --emit")
    if arguments.verify_semantics is not None:
        raise UsageError(
            "--verify-semantics runs what is compiled; it does not go with --emit (inarch-opt has it, too)"
        )
    output = arguments.output if arguments.output != Path("-") else None
    if output is not None:
        check_output(output, arguments.model)
    options = _of_host(arguments, compile_options(arguments))
    context = new_context()  # with the dialects of the files that were loaded
    offload = _offload(arguments, options)
    pipeline = None
    if options.pipeline is not None or options.places or options.host != DEFAULT_HOST:
        pipeline = replace(options, backends=()).passes()
    module = import_model(arguments.model, context, options)
    watchers = Watchers(arguments)

    def watch(chosen: Pipeline) -> list[Instrument]:
        watchers.check(chosen)
        watchers.dump(chosen)
        verifier = [Verifier()] if arguments.verify_each else []
        return [*verifier, *watchers.instruments(context, chosen)]

    lowered = partial(lower, offload=offload, pipeline=pipeline, watch=watch)
    if arguments.emit in LEVELS:
        text, side = _level(context, module, arguments, lowered)
    else:
        text, side = _text(context, module, arguments.emit, options.host, lowered)
    watchers.report()
    if output is not None:
        _write_text(output, text, side, quiet=arguments.quiet)
        return 0
    sys.stdout.write(text)
    if side is not None and not arguments.quiet:
        print(f"note: weights are not in the text; {side.advice}", file=sys.stderr)
    return 0


@dataclass(frozen=True)
class _Side:
    """The file beside a text that has its weights."""

    suffix: str
    advice: str
    write: Callable[[Path], object]


def _write_text(output: Path, text: str, side: _Side | None, *, quiet: bool) -> None:
    from inarch.core.cache import replacing

    beside = output.with_suffix(side.suffix) if side is not None else None
    if side is not None and beside is not None:
        if beside == output:
            raise UsageError(
                f"-o: expected another name than that of the constants, found '{beside}'"
            )
        side.write(beside)
    with replacing(output) as file:
        file.write(text.encode())
    if not quiet and output.is_file():
        print(f"wrote {output}" + (f" and {beside}" if beside else ""), file=sys.stderr)


def _of_host(arguments: argparse.Namespace, options: Options) -> Options:
    """`--emit=<host>` compiles by that host."""
    from inarch.backends import HOSTS

    if arguments.emit not in HOSTS:
        return options
    if arguments.host not in (None, arguments.emit):
        raise UsageError(
            f"--emit: expected '{arguments.host}', the host that --host names, found the host "
            f"'{arguments.emit}'"
        )
    return replace(options, host=arguments.emit)


def _offload(arguments: argparse.Namespace, options: Options) -> Offload:
    """What `--backend` and the like ask for; `--emit=<backend>` asks for that backend as well."""
    from inarch.backends import BACKENDS, HOSTS
    from inarch.driver.offload import check_offload, find_backend

    offload = options.offload()
    asked = offload.asked()
    if arguments.emit not in (*LEVELS, *HOSTS, *asked):
        if arguments.emit not in BACKENDS:
            known = {*LEVELS, *HOSTS, *BACKENDS, *asked}
            raise unknown("level, host or backend", arguments.emit, known, within="--emit")
        find_backend(arguments.emit)
        offload = replace(offload, backends=(*offload.backends, arguments.emit))
    check_offload(offload)
    return offload


def _level(
    context: Context,
    module: ModuleOp,
    arguments: argparse.Namespace,
    lower: Callable[[Context, ModuleOp, str], object],
) -> tuple[str, _Side | None]:
    """The program at a level, and the weights that are not in the text."""
    from inarch.frontends.mlir import resource_keys, write_resources
    from inarch.ir.text import print_module

    lower(context, module, arguments.emit)
    text = print_module(module, locations=arguments.print_debuginfo)
    if not resource_keys(module):
        return text, None
    advice = "use -o FILE.mlir to write FILE.npz beside it"
    return text, _Side(".npz", advice, lambda path: write_resources(path, module, context))


def _text(
    context: Context,
    module: ModuleOp,
    level: str,
    host: str,
    lower: Callable[[Context, ModuleOp, str], Sequence[Emitted]],
) -> tuple[str, _Side | None]:
    """What a host or a backend emits of the program, and the weights that are not in the text."""
    from inarch.core.cache import replacing
    from inarch.driver.host import check_parts, emit, find_host
    from inarch.driver.offload import emit_text

    if level != host:
        lower(context, module, "graph")
        return emit_text(context, module, level, whole=False), None
    emitted, writer = lower(context, module, "kernel"), find_host(host)
    check_parts(writer, emitted)
    program = emit(writer, context, module)
    text = program.joined(emitted)
    fill = program.weights
    if fill is None:
        return text, None

    def write(path: Path) -> None:
        with replacing(path) as file:
            fill(file)

    advice = "use -o FILE.c to write FILE.bin beside it, or `inarch export`"
    return text, _Side(".bin", advice, write)


def _size(count: int) -> str:
    if count < 1 << 20:
        return f"{count / 1024:.1f} KiB"
    return f"{count / (1 << 20):.1f} MiB"


COMMAND = Command(
    description="Compile a model into one file that `inarch run` and `inarch.load` take.",
    epilog="""example:
  inarch compile model.onnx -o model.inarch --dim batch=1
  inarch compile model.onnx --specialize batch=1,8 --specialize seq=64,128
  inarch compile model.onnx --emit=loop | less
  inarch compile model.onnx --backend ccompiler --emit=graph
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
