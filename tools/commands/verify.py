"""`inarch verify`: every value of a model against the definitions of its ops, down to who made it wrong."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.core.errors import EnvironmentFault, UsageError
from inarch.tools.commands import Command
from inarch.tools.options import (
    add_model_options,
    add_offload_options,
    compile_options,
    count,
)
from inarch.tools.progress import progress

if TYPE_CHECKING:
    from inarch.core.lazy import Array
    from inarch.diagnosis import ModelVerdict


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="a model (.onnx, .mlir)")
    parser.add_argument(
        "--against",
        choices=["onnxruntime"],
        help="also compare the import, value by value, with what this program computes",
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="FILE",
        help="a .npz of inputs by name; those that are missing are random",
    )
    parser.add_argument("--seed", type=count, default=0, help="seed of inputs that are not given")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where to write a reproducer when something differs (default: <model>-reproducer)",
    )
    add_model_options(parser)
    add_offload_options(parser)
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def _execute(arguments: argparse.Namespace) -> int:
    from inarch.diagnosis import VerifyOptions, verify_model

    folder = arguments.output or Path(f"{arguments.model.stem}-reproducer")
    if folder.exists():
        raise EnvironmentFault(
            "exists already; remove it, or name another folder with -o", where=str(folder)
        )
    inputs: dict[str, Array] = {}
    for path in arguments.input:
        inputs |= _read(path)
    with progress(quiet=arguments.quiet) as report:
        options = VerifyOptions(
            keywords=compile_options(arguments).given(),
            inputs=inputs,
            seed=arguments.seed,
            against=arguments.against,
            reproducer=folder,
            load=[*arguments.load_first, *arguments.load],
        )
        verdict = verify_model(arguments.model, options, progress=report)
    if arguments.json:
        print(json.dumps(_facts(verdict)))
    elif not arguments.quiet or not verdict.is_right:
        print(_text(verdict, arguments.against))
    return 0 if verdict.is_right else 1


def _read(path: str) -> Mapping[str, Array]:
    from inarch.core.npz import read_arrays

    found = read_arrays(Path(path))
    if not isinstance(found, dict):
        raise UsageError(f"--input: expected a .npz of inputs by name, found '{path}'")
    return found


def _facts(verdict: ModelVerdict) -> dict[str, object]:
    place, difference = verdict.place, verdict.difference
    return {
        "right": verdict.is_right,
        "steps": verdict.steps,
        "values": verdict.values,
        "peer_values": verdict.peer_values,
        "difference": difference.as_json() if difference is not None else None,
        "place": place.as_json() if place is not None else None,
        "reproducer": str(verdict.reproducer) if verdict.reproducer is not None else None,
    }


def _text(verdict: ModelVerdict, against: str | None) -> str:
    if verdict.difference is None or verdict.place is None:
        peers = f", {verdict.peer_values} of them by {against}" if against else ""
        return (
            f"right: {_count(verdict.values, 'value')} of {_count(verdict.steps, 'op')}{peers}, "
            "and the outputs as compiled"
        )
    lines = [f"wrong: {verdict.difference.text}", f"  by {verdict.place.text}"]
    if verdict.reproducer is not None:
        lines.append(f"  reproduce: python {verdict.reproducer}/reproduce.py")
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


COMMAND = Command(
    description="Compare every value of a model with the definitions of its ops, and find what is wrong.",
    epilog="example: inarch verify model.onnx --against onnxruntime",
    add_arguments=_add_arguments,
    execute=_execute,
)
