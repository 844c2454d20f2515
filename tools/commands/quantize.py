"""`inarch quantize`: a model in 8 bits by the installed quantizer, and what it loses and gains here."""

from __future__ import annotations

import argparse
import json
import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inarch.core.errors import UsageError
from inarch.core.outside.printable import printable_name
from inarch.tools.commands import Command
from inarch.tools.flags import add_options, compile_options
from inarch.tools.options import at_least_one, check_output, many
from inarch.tools.progress import progress

if TYPE_CHECKING:
    from onnx import ModelProto

    from inarch.quantization import Gains, Samples

SCHEMA = "inarch.quantize/1"
MOST_LAYERS = 5
"""That are shown; `--json` has them all."""
_COMPILE = (
    "host", "target", "machine", "microkernels", "algorithms", "numerics", "records", "threads", "load",
)  # fmt: skip
"""How both are compiled."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="a model of floats (.onnx)")
    parser.add_argument(
        "--calibrate",
        type=Path,
        metavar="DATA",
        help="samples by which ranges are found: a .npz with an array of each input, by its name, whose "
        "first axis counts samples; or a folder of such files",
    )
    parser.add_argument(
        "--dynamic",
        action="store_true",
        help="find the range of activations at each call instead: of products of matrices, without samples",
    )
    parser.add_argument(
        "--check",
        type=Path,
        metavar="DATA",
        help="compare on these samples (default: those of --calibrate; with --dynamic one that is random)",
    )
    parser.add_argument(
        "--method",
        choices=["minmax", "entropy", "percentile"],
        default="minmax",
        help="how a range is found from samples (default: minmax, all that was seen)",
    )
    parser.add_argument(
        "--only",
        **many("NODE"),
        help="quantize this node and no other, by its name or a pattern such as '/encoder/*' (repeatable)",
    )
    parser.add_argument(
        "--exclude",
        **many("NODE"),
        help="leave this node in floats, by its name or a pattern (repeatable)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT.onnx",
        help="what to write (default: <model>.int8.onnx)",
    )
    parser.add_argument(
        "--rounds",
        type=at_least_one,
        default=10,
        metavar="N",
        help="how often both are measured (10)",
    )
    add_options(parser, *_COMPILE)
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def _execute(arguments: argparse.Namespace) -> int:
    model: Path = arguments.model
    output: Path = arguments.output or Path(f"{model.stem or 'model'}.int8.onnx")
    _check(arguments)
    check_output(output, model)
    from inarch.quantization import Settings, quantize_model

    settings = Settings(arguments.dynamic, arguments.method, arguments.only, arguments.exclude)

    def samples(proto: ModelProto) -> tuple[Samples | None, Samples]:
        return _samples(arguments, proto)

    with progress(quiet=arguments.quiet) as report:
        found = quantize_model(
            model,
            output,
            settings,
            samples,
            compile_options(arguments),
            rounds=arguments.rounds,
            progress=report,
        )
    if arguments.json:
        print(json.dumps(_facts(found, model, output)))
    elif not arguments.quiet:
        print(_text(found, model, output))
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Raises UsageError for options that do not go together."""
    if arguments.model.suffix != ".onnx":
        raise UsageError(f"expected a model in .onnx, found '{arguments.model}'")
    if arguments.dynamic and arguments.calibrate is not None:
        raise UsageError(
            "--calibrate: it does not go with --dynamic, which takes ranges at each call"
        )
    if not arguments.dynamic and arguments.calibrate is None:
        raise UsageError(
            "expected --calibrate DATA.npz, samples by which ranges are found, or --dynamic; found neither"
        )


def _samples(arguments: argparse.Namespace, model: ModelProto) -> tuple[Samples | None, Samples]:
    """To calibrate with, and to compare with."""
    from inarch.quantization import drawn_sample, read_samples

    given = None
    if arguments.calibrate is not None:
        given = read_samples(arguments.calibrate, model, "--calibrate")
    if arguments.check is not None:
        return given, read_samples(arguments.check, model, "--check")
    return given, given or drawn_sample(model, "--check")


def _facts(found: Gains, model: Path, output: Path) -> dict[str, Any]:
    float_time, time = found.times
    return {
        "schema": SCHEMA,
        "model": str(model),
        "output": str(output),
        "nodes": found.nodes,
        "quantized": dict(found.quantized),
        "samples": found.samples,
        "bytes": {"float": found.sizes[0], "quantized": found.sizes[1]},
        "call_ms": {"float": float_time.json(), "quantized": time.json()},
        "outputs": [
            {
                "name": each.name,
                "snr": _finite(each.loss.decibels),
                "top1": each.same / each.rows if each.rows else None,
            }
            for each in found.outputs
        ],
        "layers": [
            {
                "node": each.layer.name,
                "operator": each.layer.op,
                "snr_alone": _finite(each.alone.decibels),
                "snr_within": _finite(each.within.decibels),
            }
            for each in found.worst(len(found.layers))
        ],
    }


def _finite(decibels: float) -> float | None:
    return decibels if math.isfinite(decibels) else None


def _text(found: Gains, model: Path, output: Path) -> str:
    kinds = ", ".join(f"{name} {count}" for name, count in found.quantized.items())
    many_samples = f"{found.samples} sample" + "s" * (found.samples > 1)
    (big, small), (slow, fast) = found.sizes, (each.min * 1e-6 for each in found.times)
    lines = [
        f"{model}: {sum(found.quantized.values())} of {found.nodes} nodes in bytes ({kinds})",
        f"  size: {_size(big)}, now {_size(small)} ({small / big:.2f})",
        f"  time: {slow:.3f} ms, now {fast:.3f} ms ({fast / slow:.2f})",
    ]
    for end in found.outputs:
        top = f", the largest is the same in {end.same} of {end.rows} rows" if end.rows else ""
        lines.append(f"  output '{end.name}': {end.loss.decibels:.1f} dB{top}")
    if fast > slow:
        lines.append(
            "  slower here: inarch compile --remarks=keep-integers says of which products, and why"
        )
    worst = found.worst(MOST_LAYERS)
    lines.append(f"loses most, of {many_samples}, alone and with all that was lost before:")
    width = max((len(each.layer.name) + len(each.layer.op) for each in worst), default=0) + 3
    for each in worst:
        title = f"{each.layer.name} ({each.layer.op})"
        lines.append(f"  {title:<{width}}{_db(each.alone)}{_db(each.within)}")
    if worst:
        lines.append(f"  in floats again: --exclude {shlex.quote(worst[0].layer.name)}")
    lines.append(f"{output}: written")
    return "\n".join(map(printable_name, lines))


def _size(nbytes: int) -> str:
    return f"{nbytes / 1e6:.2f} MB" if nbytes >= 1e6 else f"{nbytes / 1e3:.1f} kB"


def _db(loss: Any) -> str:
    return f"{loss.decibels:>8.1f} dB"


COMMAND = Command(
    description="Quantize a model to 8 bits by onnxruntime's quantizer; say what it loses and gains here.",
    epilog="""example:
  inarch quantize model.onnx --calibrate samples.npz -o model.int8.onnx
  inarch quantize model.onnx --calibrate samples.npz --exclude /head/Conv --exclude '/stem/*'
  inarch quantize bert.onnx --dynamic --check samples.npz
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
