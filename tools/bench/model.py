"""`inarch bench MODEL`: what a whole model is measured with, and its results."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from inarch.core.errors import UsageError
from inarch.tools.options import dims_of, shapes_of
from inarch.tools.progress import progress

_ONLY_LAYERS = ("sets", "layer", "list", "picture", "markdown")


def bench_model(arguments: argparse.Namespace, peers: list[str] | None) -> int:
    """Measures the model of the command line, and writes and prints the results.

    None: all peers that read ONNX, or none for another kind of model.
    """
    path = Path(arguments.what)
    if not path.exists():
        raise UsageError(f"expected 'layers' or the file of a model, found '{arguments.what}'")
    for option in _ONLY_LAYERS:
        if getattr(arguments, option):
            name = "SET" if option == "sets" else f"--{option}"
            raise UsageError(f"{name}: it is for layers; '{path}' is a model")
    if arguments.threads and arguments.profile:
        raise UsageError("--threads: the kernels of --profile are measured on one thread")
    from inarch.benchmark.model import measure_model
    from inarch.benchmark.peers import PEERS
    from inarch.benchmark.profile import profile
    from inarch.core.cache import check_writable, replacing
    from inarch.driver.options import DEFAULT_HOST, Options

    if peers is None:
        readers = [name for name in PEERS if PEERS[name].prepare_model is not None]
        peers = readers if path.suffix == ".onnx" else []
    output: Path | None = arguments.json
    if output is not None and str(output) != "-":
        check_writable(output)
    options = Options(
        dims=dims_of(arguments.dim),
        shapes=shapes_of(arguments.shape),
        host=arguments.host or DEFAULT_HOST,
        target=arguments.target,
        machine=arguments.machine,
    )
    with progress(quiet=arguments.quiet) as report:
        result = (
            profile(path, options, rounds=arguments.rounds, progress=report)
            if arguments.profile
            else measure_model(
                path,
                options,
                peers=peers,
                threads=arguments.threads or 1,
                rounds=arguments.rounds,
                progress=report,
            )
        )
    content = json.dumps(result.json(), indent=1)
    if output is not None and str(output) != "-":
        with replacing(output) as file:
            file.write(f"{content}\n".encode())
    if str(output) == "-":
        print(content)
    elif not arguments.quiet:
        print(result.text())
    return 0
