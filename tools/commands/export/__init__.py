"""`inarch export`: a model to a folder of C that builds without Inarch."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from inarch.tools.commands import Command
from inarch.tools.flags import MODEL, OFFLOAD, add_options, compile_options
from inarch.tools.progress import progress


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="the model: .onnx, or .mlir text")
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="the folder to write, new or empty"
    )
    parser.add_argument(
        "--freestanding",
        action="store_true",
        help="one C file with a static arena: no allocation, no threads, nothing of libc but mathematics",
    )
    add_options(parser, *MODEL, *OFFLOAD)
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def _execute(arguments: argparse.Namespace) -> int:
    from inarch.driver.artifact.export import check_folder, export

    check_folder(arguments.folder)
    options = compile_options(arguments)
    start = time.perf_counter()
    with progress(quiet=arguments.quiet, verbose=False) as report:
        made = export(
            arguments.model,
            arguments.folder,
            options,
            freestanding=arguments.freestanding,
            progress=report,
        )
    seconds = time.perf_counter() - start
    if arguments.json:
        facts = {
            "path": str(made.folder),
            "name": made.name,
            "target": made.target,
            "files": list(made.files),
            **made.facts,
            "seconds": round(seconds, 3),
        }
        print(json.dumps(facts))
    elif not arguments.quiet:
        print(
            f"{made.folder}: {made.name} for {made.target}, {', '.join(made.files)}, in {seconds:.1f} s"
        )
        for line in made.says:
            print(f"  {line}")
    return 0


COMMAND = Command(
    description="Write a model as C that builds with nothing but a C compiler.",
    epilog="""examples:
  inarch export model.onnx model-c && make -C model-c
  inarch export model.onnx firmware --freestanding --target aarch64
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
