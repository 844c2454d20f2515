"""`inarch bench MODEL`: what a whole model is measured with, and its results."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from inarch.core.errors import UsageError
from inarch.tools.options import chosen_machine, dims_of, shapes_of
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
    from inarch.benchmark.model import measure_model
    from inarch.benchmark.peers import PEERS
    from inarch.benchmark.profile import profile
    from inarch.core.cache import check_writable, replacing
    from inarch.driver.host import find_host
    from inarch.driver.options import DEFAULT_HOST

    if peers is None:
        readers = [name for name in PEERS if PEERS[name].prepare_model is not None]
        peers = readers if path.suffix == ".onnx" else []
    output: Path | None = arguments.json
    if output is not None and str(output) != "-":
        check_writable(output)
    host = arguments.host or DEFAULT_HOST
    target, dims, shapes = (
        find_host(host).machine(arguments.target),
        dims_of(arguments.dim),
        shapes_of(arguments.shape),
    )
    machine = chosen_machine(arguments)
    with progress(quiet=arguments.quiet) as report:
        if arguments.profile:
            result = profile(
                path,
                target,
                machine=machine,
                dims=dims,
                shapes=shapes,
                host=host,
                rounds=arguments.rounds,
                progress=report,
            )
        else:
            result = measure_model(
                path,
                target,
                machine=machine,
                dims=dims,
                shapes=shapes,
                host=host,
                peers=peers,
                rounds=arguments.rounds,
                progress=report,
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
