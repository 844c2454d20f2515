"""The process in which cases run: `python -m inarch.fuzz.child`, started by `parent.py`."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import mmap
import resource
import struct
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from inarch.fuzz import MEMORY, PARSERS
from inarch.fuzz.case import Finding, make_case, run_case

STATUS = struct.Struct("<qddqq")
"""The case that runs, when it began (monotonic, and processor time), how many were read, and refused."""


def main() -> None:
    """Runs the cases from `start` to before `end`; what is found goes out as lines of JSON."""
    name, seed, start, end, status, seeds_file = sys.argv[1:]
    faulthandler.enable()  # for the signal that ends a case which hangs in C
    warnings.simplefilter("ignore")
    parser = PARSERS[name]
    seeds: list[bytes] = json_seeds(Path(seeds_file))
    for data in seeds[:3]:  # imports what is imported late
        with contextlib.suppress(Exception):
            parser.check(data)
    limit_memory()
    with Path(status).open("r+b") as file, mmap.mmap(file.fileno(), STATUS.size) as shared:
        read = refused = 0
        for case in range(int(start), int(end)):
            # Not `pack_into`, which zeroes first what the parent reads meanwhile.
            shared[:] = STATUS.pack(case, time.monotonic(), time.process_time(), read, refused)
            data = make_case(name, parser, seeds, int(seed), case)
            outcome = run_case(parser, data)
            if isinstance(outcome, Finding):
                line = {"case": case, **vars(outcome)}
                sys.stdout.write(json.dumps(line) + "\n")
                sys.stdout.flush()
            elif outcome:
                read += 1
            else:
                refused += 1
        shared[:] = STATUS.pack(int(end), time.monotonic(), time.process_time(), read, refused)


def write_seeds(path: Path, seeds: Sequence[bytes]) -> None:
    """Writes what `json_seeds` reads: making seeds takes some parsers longer than many cases."""
    path.write_text(json.dumps([seed.decode("latin-1") for seed in seeds]))


def json_seeds(path: Path) -> list[bytes]:
    """The seeds of a run."""
    return [text.encode("latin-1") for text in json.loads(path.read_text())]


def limit_memory() -> None:
    """No more than `MEMORY` bytes of address space beyond what there is now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * mmap.PAGESIZE + MEMORY
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


if __name__ == "__main__":
    main()
