"""`inarch verify`: every value of a model against the definitions of its ops, down to who made it wrong."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.core.errors import UsageError
from inarch.core.outside.printable import printable_name
from inarch.tools.commands import Command
from inarch.tools.explain.dump_regions import add_dump_option, check_dump_folder
from inarch.tools.flags import MODEL, OFFLOAD, add_options, compile_options
from inarch.tools.options import (
    arrays_of,
    at_least_one,
    count,
    many,
)
from inarch.tools.progress import progress

if TYPE_CHECKING:
    from inarch.core.lazy import Array
    from inarch.diagnosis import ModelVerdict


MOST_OPS = 8
"""Of a region, that are shown; `--json` has them all."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        type=Path,
        help="a model (.onnx, .mlir), or the folder of a region that --dump-regions wrote",
    )
    parser.add_argument(
        "--against",
        choices=["onnxruntime"],
        help="also compare the import, value by value, with what this program computes",
    )
    parser.add_argument(
        "--input",
        **many("FILE"),
        help="a .npz of inputs by name; those that are missing are random",
    )
    parser.add_argument("--seed", type=count, default=0, help="seed of inputs that are not given")
    parser.add_argument(
        "--seeds",
        type=at_least_one,
        default=1,
        metavar="N",
        help="compare ops and outputs with N seeds, --seed and those behind it",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where to write a reproducer when something differs, in the place of another one "
        "(default: <model>-reproducer)",
    )
    parser.add_argument(
        "--tolerance",
        **many("[NAME:]METRIC=NUMBER"),
        help="how far a backend's regions may be from their definition, in place of what it declares: "
        "relative=1e-3, absolute=0.1, snr=20 (dB), cosine=0.999, top1=0.99; steps=1 of integers (repeatable)",
    )
    add_options(parser, *MODEL, *OFFLOAD)
    add_dump_option(parser)
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def _execute(arguments: argparse.Namespace) -> int:
    from inarch.diagnosis import VerifyOptions, verify_model, verify_region
    from inarch.diagnosis.folders import check_free

    folder = arguments.output or Path(f"{arguments.model.stem}-reproducer")
    is_folder = arguments.model.is_dir()
    if not is_folder:
        check_free(folder)
    check_dump_folder(arguments.dump_regions)
    inputs: dict[str, Array] = {}
    for path in arguments.input:
        inputs |= _read(path)
    with progress(quiet=arguments.quiet) as report:
        options = VerifyOptions(
            keywords=compile_options(arguments).given(),
            inputs=inputs,
            seed=arguments.seed,
            seeds=arguments.seeds,
            against=arguments.against,
            reproducer=folder,
            load=[*arguments.load_first, *arguments.load],
            tolerances=_tolerances(arguments.tolerance),
            regions_folder=arguments.dump_regions,
        )
        check = verify_region if is_folder else verify_model
        verdict = check(arguments.model, options, progress=report)
    if arguments.json:
        print(json.dumps(_facts(verdict)))
    elif not arguments.quiet or not verdict.is_right:
        print(_text(verdict, arguments.against))
    return 0 if verdict.is_right else 1


def _read(path: str) -> Mapping[str, Array]:
    found = arrays_of("--input", "FILE.npz", path)
    if not isinstance(found, dict):
        raise UsageError(f"--input: expected a .npz of inputs by name, found '{path}'")
    return found


def _tolerances(texts: Sequence[str]) -> dict[str, str]:
    """By the name of an instance; `""` is for all. Raises UsageError."""
    from inarch.offload.tolerance import Tolerances

    found: dict[str, str] = {}
    for text in texts:
        name, colon, said = text.rpartition(":")
        Tolerances.parse(said, "--tolerance")
        if colon and not name:
            raise UsageError(f"--tolerance: expected [NAME:]METRIC=NUMBER, found '{text}'")
        if found.setdefault(name, said) != said:
            raise UsageError(
                f"--tolerance: '{name or text}' is given twice: {found[name]} and {said}"
            )
    return found


def _facts(verdict: ModelVerdict) -> dict[str, object]:
    place, difference = verdict.place, verdict.difference
    return {
        "right": verdict.is_right,
        "steps": verdict.steps,
        "values": verdict.values,
        "seeds": verdict.seeds,
        "peer_values": verdict.peer_values,
        "difference": difference.as_json() if difference is not None else None,
        "place": place.as_json() if place is not None else None,
        "regions": [one.as_json() for one in verdict.regions],
        "reproducer": str(verdict.reproducer) if verdict.reproducer is not None else None,
        "no_reproducer": verdict.unseen,
    }


def _text(verdict: ModelVerdict, against: str | None) -> str:
    place, regions = verdict.place, verdict.regions
    lines = [one.text for one in regions]
    if place is None:
        peers = f", {verdict.peer_values} of them by {against}" if against else ""
        alone = f"{_count(len(regions), 'region')} alone, " if regions else ""
        seeds = f" with each of {verdict.seeds} seeds" if verdict.seeds > 1 else ""
        if verdict.steps:
            lines.append(
                f"right{seeds}: {alone}{_count(verdict.values, 'value')} of "
                f"{_count(verdict.steps, 'op')}{peers}, and the outputs as compiled"
            )
        else:
            lines.append("right: the region alone")
        return _joined(lines)
    if place.stage == "region":
        return _joined([*lines, *_wrong_regions(verdict)])
    assert verdict.difference is not None, "what is wrong differs, or crashes"
    lines += [f"wrong: {verdict.difference.text}", f"  by {place.text}"]
    if verdict.reproducer is not None:
        lines.append(f"  reproduce: {_command('python', verdict.reproducer / 'reproduce.py')}")
    elif verdict.unseen:
        lines.append(f"  no reproducer: {verdict.unseen}")
    return _joined(lines)


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(map(printable_name, lines))


def _wrong_regions(verdict: ModelVerdict) -> list[str]:
    wrong = [one for one in verdict.regions if not one.is_right]
    lines = [f"wrong: {len(wrong)} of {_count(len(verdict.regions), 'region')}"]
    for one in wrong:
        found = one.difference.text if one.difference is not None else one.message
        lines.append(f"  {one.region}: {found}")
        more = f" and {len(one.ops) - MOST_OPS} more" if len(one.ops) > MOST_OPS else ""
        lines.append(f"    made of {', '.join(one.ops[:MOST_OPS])}{more}")
        if one.suspects != one.ops:
            lines.append(f"    wrong by itself: {', '.join(one.suspects)}")
        if verdict.reproducer is not None:
            lines.append(
                f"    reproduce: {_command('inarch', 'verify', verdict.reproducer / one.region)}"
            )
    return lines


def _command(*words: str | Path) -> str:
    """A line for the shell."""
    return shlex.join(map(str, words))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


COMMAND = Command(
    description="Compare every value of a model with the definitions of its ops, and find what is wrong.",
    epilog="""example:
  inarch verify model.onnx --against onnxruntime
  inarch verify model.onnx --backend npu --tolerance npu:snr=20    each region alone, too
  inarch verify model.onnx --backend npu --dump-regions regions    and inarch verify regions/npu_0
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
