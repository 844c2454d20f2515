"""`inarch bench MODEL`: what a whole model is measured with, and its results."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.core.errors import UsageError
from inarch.tools.flags import CALLS, FLAGS, compile_options
from inarch.tools.progress import progress

if TYPE_CHECKING:
    from inarch.backends.host import Progress
    from inarch.benchmark.profile import Profile
    from inarch.benchmark.regions import RegionProfile
    from inarch.driver.options import Options

_ONLY_LAYERS = ("sets", "layer", "list", "picture", "markdown")


def bench_model(arguments: argparse.Namespace, peers: list[str] | None) -> int:
    """Measures the model of the command line, and writes and prints the results.

    None: all peers that read ONNX, or none for another kind of model.
    """
    from inarch.benchmark.model import measure_model
    from inarch.benchmark.overhead import measure_overhead

    path = Path(arguments.what)
    _check(path, arguments)
    from inarch.benchmark.peers import PEERS
    from inarch.core.cache import check_writable, replacing

    if peers is None:
        readers = [name for name in PEERS if PEERS[name].prepare_model is not None]
        peers = readers if path.suffix == ".onnx" else []
    output: Path | None = arguments.json
    for path_of in (output, arguments.trace):
        if path_of is not None and str(path_of) != "-":
            check_writable(path_of)
    targets = arguments.target.split(",")
    options = replace(
        compile_options(arguments, load=False, without=["threads"]), target=targets[0]
    )
    with progress(quiet=arguments.quiet) as report:
        result = (
            _profile(path, options, arguments, report)
            if arguments.profile
            else measure_overhead(path, options, rounds=arguments.rounds, progress=report)
            if arguments.overhead
            else measure_model(
                path,
                options,
                targets=targets,
                peers=peers,
                threads=arguments.threads or [1],
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


def _check(path: Path, arguments: argparse.Namespace) -> None:
    """Raises UsageError for options that do not go with a model, or with each other."""
    from inarch.artifact import is_artifact

    if not path.exists():
        raise UsageError(f"expected 'layers' or the file of a model, found '{arguments.what}'")
    for option in _ONLY_LAYERS:
        if getattr(arguments, option):
            name = "SET" if option == "sets" else f"--{option}"
            raise UsageError(f"{name}: it is for layers; '{path}' is a model")
    for option, given in (("target", arguments.target.split(",")), ("threads", arguments.threads)):
        if arguments.profile and given and len(given) > 1:
            raise UsageError(f"--{option}: expected one with --profile, found {len(given)}")
    if arguments.overhead:
        _check_overhead(arguments)
    for option in ("trace", "backend", "give"):
        if getattr(arguments, option) and not arguments.profile:
            raise UsageError(f"--{option}: it goes with --profile")
    if not is_artifact(path):
        return
    given = {
        "--peers": arguments.peers not in (None, "none"),
        "--profile": arguments.profile,
        **{one.flag: one.is_given(arguments) for name, one in FLAGS.items() if name not in CALLS},
    }
    for option, is_given in given.items():
        if is_given:
            raise UsageError(f"{option}: it is for a model; '{path}' is compiled")


def _check_overhead(arguments: argparse.Namespace) -> None:
    """Raises UsageError for what the measurement of calls would leave out without a word."""
    if arguments.profile:
        raise UsageError("--overhead: it does not go with --profile")
    if arguments.peers is not None:
        raise UsageError(
            "--peers: it does not go with --overhead, which compares ways to call one model"
        )
    if arguments.threads not in (None, [1]):
        raise UsageError("--threads: --overhead measures calls of one thread")
    if "," in arguments.target:
        raise UsageError("--target: expected one with --overhead, found several")


def _profile(
    path: Path, options: Options, arguments: argparse.Namespace, report: Progress | None
) -> Profile | RegionProfile:
    """Of the host's kernels, by the clock with threads or backends; its trace is written."""
    from inarch.benchmark.profile import profile
    from inarch.benchmark.regions import profile_regions
    from inarch.benchmark.subject.trace import trace
    from inarch.core.cache import replacing

    rounds, threads = arguments.rounds, (arguments.threads or [1])[0]
    found: Profile | RegionProfile
    if options.backends or options.give or threads > 1:
        found = profile_regions(path, options, count=threads, rounds=rounds, progress=report)
    else:
        found = profile(path, options, rounds=rounds, progress=report)
    if arguments.trace is not None:
        with replacing(arguments.trace) as file:
            file.write(json.dumps(trace(path.name, found.spans)).encode())
    return found
