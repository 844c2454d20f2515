"""`inarch bench layers`: which layers, and the files that the results go to."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.core.errors import UsageError
from inarch.tools.options import chosen_machine, microkernel_names
from inarch.tools.progress import progress

if TYPE_CHECKING:
    from inarch.benchmark.results import Results

PICTURES = (".svg", ".html")


def bench_layers(arguments: argparse.Namespace, peers: list[str] | None) -> int:
    """Measures the layers of the command line, and writes and prints the results; None: all peers."""
    from inarch.benchmark.layers import select
    from inarch.benchmark.peers import PEERS

    if arguments.threads:
        raise UsageError("--threads: it is for a model; layers are measured on one thread")
    if arguments.schedule:
        raise UsageError("--schedule: it is for a model")
    if arguments.algorithm or arguments.numerics != "bounded":
        raise UsageError("--algorithm, --numerics: they are for a model")
    if arguments.records:
        raise UsageError("--records: it is for a model")
    if arguments.overhead:
        raise UsageError("--overhead: it is for a model or an artifact")
    if arguments.profile:
        raise UsageError("--profile: it is for a model; layers list their steps with --json")
    if arguments.list:
        return _list(arguments.sets)
    kernels = microkernel_names(arguments.microkernel, "--microkernel")
    layers = select(arguments.sets, arguments.layer, arguments.shape)
    document = _check_files(arguments)
    from inarch.benchmark.measure import measure
    from inarch.driver.host import find_host
    from inarch.driver.options import DEFAULT_HOST

    host = arguments.host or DEFAULT_HOST
    with progress(quiet=arguments.quiet) as report:
        results = measure(
            layers,
            find_host(host).machine(arguments.target),
            host=host,
            machine=chosen_machine(arguments),
            peers=list(PEERS) if peers is None else peers,
            kernels=kernels,
            rounds=arguments.rounds,
            progress=report,
        )
    _write(arguments, results, document)
    return 0


def _list(sets: list[str]) -> int:
    from inarch.benchmark.layers import LAYER_SETS
    from inarch.core.errors import unknown

    for name in sets or LAYER_SETS:
        if name not in LAYER_SETS:
            raise unknown("layer set", name, LAYER_SETS)
        print(f"{name}: {LAYER_SETS[name].description}")
        for layer in LAYER_SETS[name].layers:
            print(f"  {layer.name:<20} {layer.shape:<28} x{layer.count}")
    return 0


def _check_files(arguments: argparse.Namespace) -> tuple[str, str] | None:
    """Refuses files that cannot be written, before minutes of work; the document around its markers."""
    from inarch.benchmark.report import BEGIN, END
    from inarch.core.cache import check_writable

    picture: Path | None = arguments.picture
    if picture is not None and picture.suffix not in PICTURES:
        raise UsageError(f"--picture: expected a file .svg or .html, found '{picture}'")
    written: list[Path | None] = [picture, arguments.json, arguments.markdown]
    for path in written:
        if path is not None and str(path) != "-":
            check_writable(path)
    document: Path | None = arguments.markdown
    if document is None:
        return None
    try:
        text = document.read_text()
    except OSError as error:
        raise UsageError(f"--markdown: '{document}': {error.strerror}") from error
    if picture is not None:
        relative(picture, document)
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UsageError(f"--markdown: expected the lines '{BEGIN}' and '{END}' in '{document}'")
    return before, after


def _write(
    arguments: argparse.Namespace, results: Results, document: tuple[str, str] | None
) -> None:
    from inarch.benchmark.report import markdown, text
    from inarch.core.cache import replacing

    table = text(results)
    content = json.dumps(results.json(), indent=1)
    if arguments.json is not None and str(arguments.json) != "-":
        with replacing(arguments.json) as file:
            file.write(f"{content}\n".encode())
    pictures = draw(arguments.picture, results, table)
    if document is not None:
        path: Path = arguments.markdown
        links = {name: relative(picture, path) for name, picture in pictures.items()}
        made = markdown(results, _command(arguments), links)
        with replacing(path) as file:
            file.write(f"{document[0]}{made}{document[1]}".encode())
    if str(arguments.json) == "-":
        print(content)
    elif not arguments.quiet:
        print(table)
    for name, info in results.peers.items():
        if info.missing and not arguments.quiet:
            packages = ", ".join(info.missing)
            print(f"note: peer '{name}' is not installed ({packages})", file=sys.stderr)


def draw(picture: Path | None, results: Results, table: str) -> dict[str, Path]:
    """Writes the picture of each set; of several to FILE-SET.svg. A page has all of them."""
    from inarch.benchmark.roofline import html, svg
    from inarch.core.cache import replacing

    if picture is None:
        return {}
    if picture.suffix == ".html":
        with replacing(picture) as file:
            file.write(html(results, table).encode())
        return {}
    paths = dict.fromkeys(results.sets, picture)
    if len(paths) > 1:
        paths = {name: picture.with_stem(f"{picture.stem}-{name}") for name in paths}
    for name, path in paths.items():
        with replacing(path) as file:
            file.write(svg(results, name).encode())
    return paths


def relative(picture: Path, document: Path) -> str:
    """The picture as a link of the document. Raises UsageError when it is not below its folder."""
    try:
        return picture.resolve().relative_to(document.resolve().parent).as_posix()
    except ValueError as error:
        raise UsageError(
            f"--picture: expected a file in the folder of '{document}', found '{picture}'"
        ) from error


def _command(arguments: argparse.Namespace) -> str:
    """The command line that measures the same again."""
    words = ["inarch", "bench", "layers", *arguments.sets]
    words += [word for path in arguments.load for word in ("--load", str(path))]
    for option in ("layer", "shape", "microkernel"):
        words += [word for value in getattr(arguments, option) for word in (f"--{option}", value)]
    if arguments.peers is not None:
        words += ["--peers", arguments.peers]
    if arguments.target != "native":
        words += ["--target", arguments.target]
    if arguments.machine is not None:
        words += ["--machine", arguments.machine]
    words += ["--rounds", str(arguments.rounds)]
    for option in ("picture", "markdown"):
        if (value := getattr(arguments, option)) is not None:
            words += [f"--{option}", str(value)]
    return shlex.join(words)
