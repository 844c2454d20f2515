"""`inarch compile`: a model to an artifact, or to the text of any level."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from inarch.errors import UsageError
from inarch.tools._commands import Command
from inarch.tools._commands._options import add_model_options, check_output, model_keywords
from inarch.tools._commands._progress import progress

EMITS = ("graph", "loop", "kernel", "c")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="the model: .onnx, or .mlir text")
    parser.add_argument(
        "-o", "--output", type=Path, help="where to write (default: the model's name + .inarch)"
    )
    parser.add_argument(
        "--emit",
        choices=EMITS,
        help="write the program's text at this level instead (default output: the terminal)",
    )
    add_model_options(parser)
    parser.add_argument("--json", action="store_true", help="print what was made as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def _execute(arguments: argparse.Namespace) -> int:
    if arguments.emit is not None:
        return _emit(arguments)
    from inarch.compiler import build

    output = arguments.output or Path(arguments.model.with_suffix(".inarch").name)
    check_output(output, arguments.model)
    start = time.perf_counter()
    with progress(quiet=arguments.quiet) as report:
        built = build(arguments.model, output, progress=report, **model_keywords(arguments))
    seconds = time.perf_counter() - start
    if arguments.json:
        facts = {
            "path": str(built.path),
            "name": built.name,
            "target": built.target,
            "kernels": built.kernels,
            "weights_bytes": built.weights_bytes,
            "workspace_bytes": built.workspace_bytes,
            "seconds": round(seconds, 3),
        }
        print(json.dumps(facts))
    elif not arguments.quiet:
        print(
            f"{output}: {built.name} for {built.target}, {built.kernels} kernels, "
            f"{_size(built.weights_bytes)} of weights, {_size(built.workspace_bytes)} of workspace, "
            f"in {seconds:.1f} s"
        )
    return 0


def _emit(arguments: argparse.Namespace) -> int:
    from inarch._xdsl import print_module
    from inarch.cache import replacing
    from inarch.compiler import import_model, lower
    from inarch.dialects import new_context

    if arguments.json:
        raise UsageError("--json describes an artifact; it does not go with --emit")
    if arguments.output is not None:
        check_output(arguments.output, arguments.model)
    context = new_context()
    module = import_model(arguments.model, context, **model_keywords(arguments))
    lower(context, module, "kernel" if arguments.emit == "c" else arguments.emit)
    if arguments.emit == "c":
        from inarch.backends.c import emit

        text = emit(context, module).text
    else:
        text = print_module(module)
    if arguments.output is None:
        sys.stdout.write(text)
        return 0
    if arguments.emit != "c":
        from inarch.frontends.mlir import write_resources

        write_resources(arguments.output.with_suffix(".npz"), module, context)
    with replacing(arguments.output) as file:
        file.write(text.encode())
    return 0


def _size(count: int) -> str:
    if count < 1 << 20:
        return f"{count / 1024:.1f} KiB"
    return f"{count / (1 << 20):.1f} MiB"


COMMAND = Command(
    description="Compile a model into one file that `inarch run` and `inarch.load` take.",
    epilog="""example:
  inarch compile model.onnx -o model.inarch --dim batch=1
  inarch compile model.onnx --emit=loop | less
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
