"""The search: runs what the gate leaves out, in units, until the time is over; the next run goes on behind.

    make soak MINUTES=30                                    # all parts in turn, at nice 19
    python tests/soak/soak.py --part programs --part parsers --minutes 5
    python tests/soak/soak.py --report  # by part: age, and cases still to run
    python tests/soak/soak.py --list  # the parts, their units, and what is missing here

A unit that has ended is a line in `tests/soak.jsonl`, which is committed: what ran, with which seed, and what
was found. Each unit takes the seed behind the greatest that its part has there. `build/soak` has where this
clone is: what is stopped, at any time, is run again and nothing else. A unit that has begun runs to its end,
also behind the last minute. What programs and parsers find is a new file in `tests/found`, one a fault.

Exit codes: 0, nothing was found; 1, something was; 2, wrong usage; 130, it was stopped.
Of --report: 1, a part is older than 100 commits or has never run, and is red.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # compilers, targets

from soak_finds import known, plain, same
from soak_ledger import Home, add_line, lines_of, next_seed, processor
from soak_parts import PARTS
from soak_report import report, show
from soak_units import Done, Finding, Part, Run, Unit

LIMIT_S = 3600.0
"""Of a unit: what takes so long hangs, also at nice 19."""
_DIES_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl."""


def behind(names: Sequence[str], last: str | None) -> Sequence[str]:
    """The names from behind `last` on, then the others; as they are where it is none of them."""
    at = names.index(last) + 1 if last in names else 0
    return [*names[at:], *names[:at]]


# ------------------------------------------------------------------------------------ running


class Search:
    """A run of the search."""

    def __init__(self, home: Home, parts: Sequence[Part], jobs: int) -> None:
        self._home, self._jobs = home, jobs
        self._ledger, self._state = lines_of(home.ledger), lines_of(home.state / "units.jsonl")
        self._units = {
            (part.name, unit.name): (part, unit) for part in parts for unit in part.units()
        }
        self.found: list[Finding] = []

    def turns(self) -> Iterator[tuple[Part, Unit]]:
        """Parts in turn, from behind the last one; of each the unit behind its last one; for ever."""
        able: dict[str, list[str]] = {}
        missing: dict[tuple[str, str], list[str]] = {}
        for (name, of_part), (_, unit) in self._units.items():
            if unit.missing:
                missing.setdefault((name, unit.missing), []).append(of_part)
            else:
                able.setdefault(name, []).append(of_part)
        for (name, why), names in missing.items():
            self._leave_out(name, ", ".join(names), why)
        last: dict[str, str] = {line["part"]: line["unit"] for line in self._state}
        latest = self._state[-1]["part"] if self._state else None
        while able:
            for name in behind(list(able), latest):
                last[name] = behind(able[name], last.get(name))[0]
                yield self._units[name, last[name]]
            latest = None

    def run(self, part: Part, unit: Unit) -> None:
        """Runs one unit to its end, and writes down what it came to."""
        seed = next_seed(part.name, [*self._ledger, *self._state]) if part.is_seeded else None
        folder = self._home.state / "work"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        before = _cpu_s()
        done = self._done(unit, Run(seed or 0, self._jobs, folder, self._home.found))
        used, result = _cpu_s() - before, unit.read(done)
        if result.skipped:
            line = self._leave_out(part.name, unit.name, result.skipped)
        else:
            entries: list[dict[str, str]] = []
            numbers: dict[str, Any] = {"cases": result.cases, "cpu_s": round(used, 1)}
            if result.mended:
                numbers["mended"] = result.mended
            line = self._line(part.name, unit.name, seed, **numbers, findings=entries)
            for one in result.findings:
                entries += [self._entry(one, [*self._ledger, line])]
            self._add(line, to_ledger=True)
            print(
                f"{result.cases} cases, {len(result.findings)} findings, {used:.0f} s of CPU",
                flush=True,
            )
        self._add(line, to_ledger=False)
        if result.findings:
            name = re.sub(r"\W+", "-", f"{part.name}-{seed}-{unit.name}")
            shutil.copytree(folder, self._home.state / "logs" / name, dirs_exist_ok=True)
        for one in result.findings:
            print(f"  {plain(one.what)}", flush=True)
        self.found += result.findings

    def _done(self, unit: Unit, run: Run) -> Done:
        out, err = run.folder / "stdout.log", run.folder / "stderr.log"
        variables = {**os.environ, "INARCH_SOAK": "1", "INARCH_SEED": str(run.seed)}
        variables.pop("INARCH_NATIVE", None)  # the gate's one target; the search has what is here
        variables |= unit.variables
        with out.open("wb") as stdout, err.open("wb") as stderr:
            child = subprocess.Popen(
                unit.words(run), cwd=self._home.root, env=variables, stdin=subprocess.DEVNULL,
                stdout=stdout, stderr=stderr, process_group=0,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - there are no threads
            )  # fmt: skip
            try:
                code = child.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                code = -1
                stderr.write(f"\nno end after {LIMIT_S:g} s\n".encode())
            finally:
                _end(child)
        return Done(code, out.read_text(errors="replace"), err.read_text(errors="replace"), run)

    def _line(self, part: str, unit: str, seed: int | None, **more: Any) -> dict[str, Any]:
        return {
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
            "commit": self._home.commit,
            "cpu": processor(),
            "part": part,
            "unit": unit,
            "seeds": None if seed is None else [seed, seed],
            **more,
        }

    def _entry(self, one: Finding, lines: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """What the ledger has of a finding; a fault whose file is there, and open, gets no second one."""
        entry = {"what": plain(one.what)}
        if one.keep is not None:
            entry["file"] = known(lines, self._home.found).get(same(one.what)) or one.keep().name
        return entry

    def _leave_out(self, part: str, unit: str, why: str) -> dict[str, Any]:
        """Tells what cannot run here; in the ledger once a kind of machine; its line."""
        print(f"left out: {part} {unit}: {why}", flush=True)
        line = self._line(part, unit, None, skipped=plain(why))
        old = [{**one, "date": line["date"], "commit": line["commit"]} for one in self._ledger]
        if line not in old:
            self._add(line, to_ledger=True)
        return line

    def _add(self, line: dict[str, Any], *, to_ledger: bool) -> None:
        """To the ledger first: stopped between the two, the unit is run again, with the next seed."""
        add_line(self._home.ledger if to_ledger else self._home.state / "units.jsonl", line)
        (self._ledger if to_ledger else self._state).append(line)


def _cpu_s() -> float:
    """Of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _die_with_parent() -> None:
    """What is started goes when the search does, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends a unit and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


# ------------------------------------------------------------------------------------ the command


def _print_list(parts: Sequence[Part]) -> None:
    for part in parts:
        units = list(part.units())
        print(f"{part.name:12} {len(units):4} units  {part.about}")
        for unit in units:
            if unit.missing:
                print(f"{'':12} left out: {unit.name}: {unit.missing}")


def _minutes(text: str) -> float:
    """Raises ArgumentTypeError for other text."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < math.inf:
        raise argparse.ArgumentTypeError(f"expected minutes >= 0, found '{text}'")
    return found


def _parser(parts: Sequence[Part]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog=(__doc__ or "").partition("\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [part.name for part in parts]
    add = parser.add_argument
    add(
        "--minutes", type=_minutes, default=30, metavar="N", help="then no further unit begins (30)"
    )
    add(
        "--part",
        action="append",
        choices=names,
        metavar="NAME",
        help=f"repeatable (all: {', '.join(names)})",
    )
    add("--jobs", type=int, default=1, metavar="N", help="processes of one unit (1)")
    add(
        "--list",
        action="store_true",
        help="the parts, how many units they have, what is missing here",
    )
    add(
        "--report",
        action="store_true",
        help="what has run and been found, by part, and what is old",
    )
    add("--json", action="store_true", help="of --report: as JSON")
    return parser


@contextmanager
def _alone(home: Home) -> Generator[bool]:
    """Whether no other search runs in this clone: two would take the same seeds."""
    home.state.mkdir(parents=True, exist_ok=True)
    with (home.state / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def main(
    arguments: Sequence[str] | None = None, parts: Sequence[Part] = PARTS, home: Home | None = None
) -> int:
    """The command line; see the module's docstring."""
    options, home = _parser(parts).parse_args(arguments), home or Home()
    chosen = [part for part in parts if not options.part or part.name in options.part]
    if options.list:
        _print_list(chosen)
        return 0
    if options.report:
        return show(report(lines_of(home.ledger), chosen, home), as_json=options.json)
    with _alone(home) as is_alone:
        if not is_alone:
            print(
                "error: expected no other search in this clone, found one that runs",
                file=sys.stderr,
            )
            return 2
        return _search(Search(home, chosen, options.jobs), options.minutes * 60)


def _search(search: Search, seconds: float) -> int:
    end = time.monotonic() + seconds
    try:
        for part, unit in search.turns():
            left = max(0.0, end - time.monotonic()) / 60
            print(f"[{left:5.1f} min left] {part.name} {unit.name}: ", end="", flush=True)
            search.run(part, unit)
            if time.monotonic() > end:
                break
    except KeyboardInterrupt:
        print("\nstopped: the next run begins with this unit", flush=True)
        return 130
    print(f"{len(search.found)} findings" + ":" * bool(search.found))
    for one in search.found:
        print(f"  {plain(one.what)}\n    {one.again}")
    return 1 if search.found else 0


def _yield_to_others() -> None:
    """Takes what others leave.

    Linux weighs sessions first, and nice values only within one (sched(7), "The autogroup feature"). Where
    this process leads its session (`setsid make soak`), the session yields; else it is the user's terminal.
    """
    os.nice(19)
    if os.getsid(0) == os.getpid():
        with suppress(OSError):  # no Linux, or without autogroups
            Path("/proc/self/autogroup").write_text("19", encoding="ascii")


if __name__ == "__main__":
    _yield_to_others()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    sys.exit(main())
