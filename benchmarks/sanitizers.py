"""Counts what the sanitizers report of compiled programs: networks, and random graphs.

    python benchmarks/sanitizers.py [--programs 12] [--seed 0] [--target native --target x86-64-v3] [--json]

Each is compiled with -fsanitize=address,undefined and called twice, on buffers of exactly their sizes: at
aligned addresses, and one element behind. The exit code is 1 where anything is reported. `magika` and
`silero-vad-ifless` are downloaded.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.core.errors import EnvironmentFault, InarchError
from inarch.core.lazy import Array, np
from inarch.core.scratch import scratch
from inarch.definitions.functions import public_functions
from inarch.dialects import new_context
from inarch.driver.compiler import import_model
from inarch.machine.target import parse
from inarch.testing.generate import inputs, programs
from inarch.testing.sanitize import caller, report, sanitized

TARGETS = ("native", "x86-64-v3")
SHIFTS = (0, 1)


@dataclass(frozen=True)
class Fetched:
    """A model of `models/fetch.py`: its dimensions, and the inputs of each call."""

    dims: Mapping[str, int]
    calls: Callable[[np.random.Generator], Sequence[list[Array]]]


def _bytes(generator: np.random.Generator) -> Sequence[list[Array]]:
    """256 is padding: `examples/demo.py`."""
    return [[generator.integers(0, 257, (1, 2048), np.int32)]]


def _speech(generator: np.random.Generator) -> Sequence[list[Array]]:
    """Its `If` asks for 16 kHz: both branches."""
    wave = generator.standard_normal((1, 576)).astype(np.float32)
    state = generator.standard_normal((2, 1, 128)).astype(np.float32)
    return [[wave, np.array(rate, np.int64), state] for rate in (16_000, 8_000)]


FETCHED = {
    "magika": Fetched({"unk__214": 1}, _bytes),
    "silero-vad-ifless": Fetched({"batch": 1, "sequence": 576}, _speech),
}
BUILT = ("lenet", "mobilenetv2")
MODELS = (*BUILT, *FETCHED)


@dataclass(frozen=True)
class Count:
    """What became of one program on one target."""

    name: str
    target: str
    kernels: int
    calls: int
    reports: tuple[str, ...]
    seconds: float


Made = tuple[Context, ModuleOp]
Subject = tuple[str, Callable[[str], Made]]
"""A name, and what makes the program for a target, as each compilation consumes one."""


def models(names: Sequence[str]) -> Iterator[Subject]:
    """The networks called `names`."""
    folder = str(Path(__file__).parent / "models")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    for name in names:
        yield name, _fetcher(name) if name in FETCHED else _builder(name)


def _builder(name: str) -> Callable[[str], Made]:
    model = importlib.import_module(name).build()

    def make(target: str) -> Made:
        context = new_context()
        return context, import_model(model, context, target=target, name=name)

    return make


def _fetcher(name: str) -> Callable[[str], Made]:
    path = importlib.import_module("fetch").fetch(name)

    def make(target: str) -> Made:
        context = new_context()
        dims = FETCHED[name].dims
        return context, import_model(path, context, target=target, dims=dims, name="model")

    return make


def graphs(seed: int, count: int) -> Iterator[Subject]:
    """Random programs of the sequence `seed`."""
    for program in programs("graph", seed, count):
        yield program.name, lambda _target, program=program: program.parse()


def calls_of(name: str, module: ModuleOp, seed: int) -> list[tuple[str, list[Array]]]:
    """Functions with random inputs, special ones too where it is no network."""
    if name in FETCHED:
        generator = np.random.default_rng(seed)
        return [("main", arrays) for arrays in FETCHED[name].calls(generator)]
    special = name not in BUILT
    functions = public_functions(module)
    return [(each, inputs(module, seed, function=each, special=special)) for each in functions]


def count(executable: Path, subject: Subject, target: str, seed: int, folder: Path) -> Count:
    """Compiles one program for one target, and calls it."""
    begin = time.perf_counter()
    name, make = subject
    context, module = make(target)
    calls = calls_of(name, module, seed)
    compiled = sanitized(context, module, folder / f"{name}-{target}.so", target)
    found = [
        report(executable, compiled, function, given, shift=shift)
        for function, given in calls
        for shift in SHIFTS
    ]
    return Count(
        name,
        target,
        compiled.native.program.kernel_count,
        len(found),
        tuple(one for one in found if one),
        round(time.perf_counter() - begin, 2),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--programs", type=int, default=12, metavar="N", help="random graphs (12)")
    add("--seed", type=int, default=0, help="of the random graphs, and of all inputs (0)")
    add("--model", action="append", choices=[*MODELS, "none"], help="repeatable (all of them)")
    add("--target", action="append", metavar="NAME", help=f"repeatable ({', '.join(TARGETS)})")
    add("--json", action="store_true", help="the counts as JSON on stdout")
    return parser


def summary(counts: Sequence[Count]) -> Mapping[str, int]:
    """Programs, calls and reports, in all."""
    return {
        "programs": len({one.name for one in counts}),
        "libraries": len(counts),
        "kernels": sum(one.kernels for one in counts),
        "calls": sum(one.calls for one in counts),
        "reports": sum(len(one.reports) for one in counts),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Counts and prints; the exit code: 1 where something is reported, else that of an error."""
    given = _parser().parse_args(arguments)
    try:
        counts = _counts(given)
    except InarchError as error:
        print(error.line(), file=sys.stderr)
        return error.exit_code
    _print(counts, as_json=given.json)
    return 1 if any(one.reports for one in counts) else 0


def _counts(given: argparse.Namespace) -> list[Count]:
    asked: list[str] = given.target or list(TARGETS)
    targets = [target for target in asked if not parse(target).missing_here()]
    for target in asked:
        if target not in targets:
            print(f"{target}: left out, this machine does not run it", file=sys.stderr)
    if not targets:
        raise EnvironmentFault(
            f"expected a target that this machine runs, found {', '.join(asked)}"
        )
    counts: list[Count] = []
    with scratch("inarch-sanitizers-") as folder:
        executable = caller(folder)
        networks = [model for model in given.model or MODELS if model != "none"]
        subjects = [*models(networks), *graphs(given.seed, given.programs)]
        for subject, target in product(subjects, targets):
            one = count(executable, subject, target, given.seed, folder)
            counts.append(one)
            _progress(one, len(counts), len(subjects) * len(targets))
    return counts


def _progress(one: Count, done: int, all_of_them: int) -> None:
    said = "; ".join(one.reports) or "no report"
    line = f"{done} of {all_of_them}: {one.name} ({one.target}, {one.kernels} kernels): {said}"
    print(f"{line} ({one.seconds:.1f} s)", file=sys.stderr, flush=True)


def _print(counts: Sequence[Count], *, as_json: bool) -> None:
    total = summary(counts)
    if as_json:
        content: dict[str, Any] = {**total, "of": [asdict(one) for one in counts]}
        print(json.dumps(content, indent=1))
        return
    print(", ".join(f"{value} {name}" for name, value in total.items()))


if __name__ == "__main__":
    sys.exit(main())
