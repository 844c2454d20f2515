"""`inarch tune`: measures choices of passes and ways to do loop nests, and keeps the fastest as records."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inarch.core.errors import EnvironmentFault, UsageError
from inarch.core.outside.printable import printable_name, with_short_names
from inarch.tools.commands import Command
from inarch.tools.flags import MODEL, add_options, compile_options
from inarch.tools.options import at_least_one
from inarch.tools.progress import progress

if TYPE_CHECKING:
    from inarch.driver.options import Options
    from inarch.tuning.outcome import Outcome
    from inarch.tuning.queue import Progress

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
WAYS = 11
"""Of a nest, beside the one that it has without records."""
SHOWN = 15
_SECONDS = 600.0
"""That a job may take."""


def _budget(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if found is None or not (seconds := float(found[1]) * _UNITS[found[2]]):
        raise argparse.ArgumentTypeError(f"expected a time such as 90s, 10m or 1h, found '{text}'")
    return seconds


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="the model, as `inarch compile` takes it")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="the records; those that it has stay",
    )
    parser.add_argument(
        "--budget",
        type=_budget,
        default=600.0,
        metavar="TIME",
        help="how long: 90s, 10m (default), 1h",
    )
    parser.add_argument(
        "--executor",
        default="pool",
        metavar="NAME",
        help="who measures: pool (default), dask, submitit; see `inarch list executors`",
    )
    parser.add_argument("--address", default="", metavar="WHERE", help="where the executor is")
    parser.add_argument(
        "--workers",
        type=at_least_one,
        default=1,
        metavar="N",
        help="jobs at a time (default: 1; on one computer more disturb each other)",
    )
    parser.add_argument(
        "--memory",
        type=at_least_one,
        default=0,
        metavar="MB",
        help="that a job may have (default: all)",
    )
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE",
        help="draw the run: .svg or .html (time over trials, gains)",
    )
    parser.add_argument("--json", action="store_true", help="print what came of it as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    add_options(parser, *MODEL)


def _execute(arguments: argparse.Namespace) -> int:
    from inarch.core.cache import check_writable
    from inarch.driver.keep.records import Record, add_records, append_records, read_records
    from inarch.tuning.executor import EXECUTORS
    from inarch.tuning.space import Space, spaces_of
    from inarch.tuning.tuner import Ways

    options = compile_options(arguments)
    output: Path = arguments.output
    for path in filter(None, (output, arguments.picture)):
        check_writable(path)
    _check_picture(arguments.picture)
    known = read_records(output) if output.exists() else []
    executor = EXECUTORS[arguments.executor]
    if options.records:
        raise UsageError("--records: expected none; `tune` measures against what is chosen without")
    with (
        progress(quiet=arguments.quiet) as report,
        executor.open(arguments.address, arguments.workers) as pool,
    ):

        def look(given: Ways) -> list[Space]:
            if report is not None:
                report("looking at the model", 0, 1)
            return spaces_of(arguments.model, options, WAYS, given)

        kept: list[Record] = []

        def keep(records: Sequence[Record]) -> None:
            append_records(output, records)
            kept.extend(records)

        try:
            outcome = _tuned(arguments, options, look, pool, known, _shown(report), keep)
        except KeyboardInterrupt:
            _note(_what_stays(output, len(kept)))
            raise
    every = add_records(output, outcome.records, instead=kept)
    _tell(arguments, outcome, len(every))
    return 0


def _tuned(
    arguments: argparse.Namespace,
    options: Options,
    look: Any,
    pool: Any,
    known: Any,
    report: Progress,
    keep: Any,
) -> Outcome:
    from inarch.driver.keep.records import compiler_name, demand_text, ways_of
    from inarch.machine.find import cpu_name
    from inarch.tuning.files import files_of
    from inarch.tuning.job import Job
    from inarch.tuning.tuner import Tuner
    from inarch.tuning.version import version

    try:
        files, loads, settings = files_of(arguments.model, arguments.load, options)
    except OSError as error:
        raise EnvironmentFault(f"cannot read '{error.filename}': {error.strerror}") from error
    job = Job(
        arguments.model.name,
        files,
        loads,
        settings,
        ({},),
        1,
        min(_SECONDS, max(60.0, arguments.budget)),
        version(),
        megabytes=arguments.memory,
    )
    own = cpu_name(), compiler_name()
    wish = demand_text(options.microkernels)
    ours = [one for one in known if (one.cpu, one.compiler, one.demanded) == (*own, wish)]
    here = ways_of(one for one in ours if one.is_sure)
    unsure = [one for one in ours if not one.is_sure]
    workers, budget = arguments.workers, arguments.budget
    tuner = Tuner(job, look, pool, budget, report, here, workers, keep, unsure)
    return tuner.run()


def _what_stays(output: Path, count: int) -> str:
    if not count:
        return "there are no records yet"
    return f"{count} records are in {output}; the next run continues from them"


def _note(text: str) -> None:
    print(f"note: {with_short_names(text)}", file=sys.stderr, flush=True)


def _shown(report: Any) -> Progress:
    def show(what: str, passed: float, whole: float) -> None:
        if report is not None:
            left = max(0.0, whole - passed)
            report(f"{what}, {left:.0f} s left", min(int(passed), int(whole)), max(1, int(whole)))

    return show


def _check_picture(path: Path | None) -> None:
    if path is not None and path.suffix not in (".svg", ".html"):
        raise UsageError(f"--picture: expected a file .svg or .html, found '{path}'")


def _tell(arguments: argparse.Namespace, outcome: Outcome, count: int) -> None:
    from inarch.core.cache import replacing
    from inarch.tuning.picture import gains, html, svg

    title = f"{arguments.model.name}: {outcome.gain:.3f} times as fast"
    if arguments.picture is not None:
        draw = html if arguments.picture.suffix == ".html" else svg
        with replacing(arguments.picture) as file:
            file.write(draw(title, outcome).encode())
    for place, fault in outcome.faults.items():
        _note(f"{place}: a way was left out: {fault}")
    if arguments.json:
        facts = asdict(outcome) | {"gain": outcome.gain, "path": str(arguments.output)}
        print(json.dumps(facts, indent=1))
        return
    if arguments.quiet:
        return
    if not outcome.records:
        print(f"{arguments.output}: {count} records; {outcome.why_none(arguments.budget)}")
        print(outcome.time_said(arguments.budget))
        return
    faster = [row for row in gains(outcome.records) if row[2] < row[1]]
    if faster:
        print(f"{'us':>9} {'tuned':>9} {'gain':>6}  op")
    for where, before, after in faster[:SHOWN]:
        print(
            f"{before * 1e6:>9.1f} {after * 1e6:>9.1f} {before / after:>6.3f}  {printable_name(where)}"
        )
    if len(faster) > SHOWN:
        print(f"... and {len(faster) - SHOWN} more")
    print(
        f"{arguments.output}: {count} records; {len(faster)} ops faster: {outcome.tuned * 1e3:.3f} ms, were "
        f"{outcome.untuned * 1e3:.3f} ms ({outcome.gain:.3f} times as fast), in {outcome.jobs} jobs"
        + (f"; for {len(outcome.untried)} ops there was no time" if outcome.untried else "")
    )
    print(outcome.time_said(arguments.budget))


COMMAND = Command(
    description="Measure layouts, fusion and the ways to do each loop nest of a model; keep the fastest "
    "as records.",
    epilog="""example:
  inarch tune model.onnx -o records.json --budget 10m
  inarch compile model.onnx --records records.json
  inarch tune model.onnx -o records.json --threads 4
  inarch tune model.onnx -o records.json --load my_gemm.c --picture tune.html
  inarch tune model.onnx -o records.json --executor dask --address tcp://HOST:8786 --workers 8
  inarch tune model.onnx -o records.json --executor submitit --address /shared/tune --workers 8
""",
    add_arguments=_add_arguments,
    execute=_execute,
)
