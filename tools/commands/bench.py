"""`inarch bench`: layers of named sets, or a model, against installed peers; layers also against the peak."""

from __future__ import annotations

import argparse
from pathlib import Path

from inarch.core.errors import UsageError
from inarch.tools.commands import Command
from inarch.tools.extensions import load_files
from inarch.tools.flags import BACKENDS, add_options
from inarch.tools.options import at_least_one, count, many


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        metavar="layers|MODEL|ARTIFACT",
        help="the word layers, a model (.onnx, .mlir), or what is compiled (.inarch)",
    )
    parser.add_argument(
        "sets",
        nargs="*",
        metavar="SET",
        help="sets of layers, before any option (default: resnet50); see --list",
    )
    parser.add_argument(
        "--layer",
        **many("NAME"),
        help="only this layer of the sets, or of all where none is given (repeatable)",
    )
    parser.add_argument(
        "--shape",
        **many("SHAPE"),
        help="a layer of your own: 64x56x56->256k1s1 is a convolution (channels x height x width -> "
        "channels, window, stride; g64: 64 groups), 128x768x3072 a product M x N x K; of a model's "
        "input: INPUT=1x3x224x224 (repeatable)",
    )
    parser.add_argument(
        "--dim",
        **many("NAME=VALUE"),
        help="bind a symbolic dimension of a model; pick the size of an artifact for several (repeatable)",
    )
    parser.add_argument(
        "--load",
        **many("FILE", type=Path),
        help="add the set of layers, microkernel or other thing that a file defines (repeatable)",
    )
    parser.add_argument(
        "--microkernel",
        **many("NAME"),
        help="of layers: measure each by this microkernel, too; of a model: demand it (repeatable)",
    )
    add_options(parser, "records")
    parser.add_argument("--list", action="store_true", help="list the sets and their layers")
    parser.add_argument(
        "--peers",
        default=None,
        metavar="NAME[,NAME...]",
        help="whom to measure as well: onnxruntime, openvino, torch, or none (default: all that are "
        "installed; pip install 'inarch[bench]')",
    )
    parser.add_argument(
        "--rounds", type=count, default=10, metavar="N", help="how often all is measured (10)"
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="of a model: the time of each kernel in one run of it, instead of comparing",
    )
    parser.add_argument(
        "--overhead",
        action="store_true",
        help="of a model or an artifact: what a call from Python costs beside one from C, by each way",
    )
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="with --profile: also write what ran when as a trace, which ui.perfetto.dev opens",
    )
    add_options(parser, *BACKENDS, "schedule", "algorithms", "numerics", "precision")
    parser.add_argument(
        "--threads",
        type=lambda text: [at_least_one(each) for each in text.split(",")],
        metavar="N[,N...]",
        help="threads of a model's calls, ours and the peers' (default: 1); several are measured one by one",
    )
    add_options(parser, "host")
    parser.add_argument(
        "--target",
        default="native",
        metavar="TARGET[,TARGET...]",
        help="CPU to compile for: native (default), or another that this machine can run; of a model "
        "several, measured in turn, as far as the machine can run them",
    )
    add_options(parser, "machine")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write everything as JSON (-: to the terminal)"
    )
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE",
        help="draw the roofline of layers: .svg (of several sets FILE-SET.svg), or .html with the table",
    )
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE.md",
        help="write the tables of layers (and the picture's link) into a document, between its markers",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def _execute(arguments: argparse.Namespace) -> int:
    if arguments.rounds < 1:
        raise UsageError("--rounds: expected a whole number >= 1, found '0'")
    load_files(arguments.load)
    peers: list[str] | None = None
    if arguments.peers is not None:
        peers = [name for name in arguments.peers.split(",") if name and name != "none"]
    if arguments.what == "layers":
        from inarch.tools.bench.layers import bench_layers

        return bench_layers(arguments, peers)
    from inarch.tools.bench.model import bench_model

    return bench_model(arguments, peers)


COMMAND = Command(
    description="Measure layers, or a model: ours and installed peers in turn; or an artifact.",
    epilog="""example:
  inarch bench layers resnet50 --rounds 20 --picture roofline.svg
  inarch bench layers --layer l3.c2 --peers onnxruntime,torch
  inarch bench layers --shape '64x56x56->64k3s1' --shape 128x768x3072 --json -
  inarch bench layers resnet50 --load my_gemm.c --microkernel my-gemm
  inarch bench layers --list
  inarch bench model.onnx --dim batch=1 --peers onnxruntime
  inarch bench model.inarch --threads 1,2
  inarch bench model.onnx --target x86-64-v2,x86-64-v3,x86-64-v4 --threads 1,2
  inarch bench model.onnx --profile --threads 2 --schedule mine.schedule
  inarch bench model.onnx --profile
  inarch bench model.onnx --overhead
  inarch bench model.onnx --profile --backend npu --trace trace.json
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
