"""The child process of a check: batches of programs, one line of JSON for each thing that happens."""

from __future__ import annotations

import gc
import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inarch.core.outside.value import Value
from inarch.driver.extensions import load_files
from inarch.testing.generate.check.check import (
    Finding,
    How,
    check_programs,
    smaller,
    write_case,
)
from inarch.testing.generate.check.offloaded import options_for
from inarch.testing.generate.program import GeneratedProgram
from inarch.testing.generate.public import programs


@dataclass(frozen=True)
class Job:
    """What a worker is to do: `count` programs from `start` on, `batch` in one library."""

    level: str
    seed: int
    start: int
    count: int
    batch: int
    targets: tuple[str, ...]
    flags: tuple[str, ...]
    folder: str
    shrink: float
    large: bool
    full: bool
    backends: tuple[str, ...] = ()
    load: tuple[str, ...] = ()
    """Files that define backends, as `--load` of `inarch` takes them."""
    rotate_targets: bool = False
    """Each library is for one of the targets, the next one for the next: more programs in that time."""

    def targets_of(self, start: int) -> tuple[str, ...]:
        """Those of the library whose first program is `start`."""
        if not self.rotate_targets:
            return self.targets
        return (self.targets[start // self.batch % len(self.targets)],)

    @property
    def options(self) -> dict[str, Any]:
        """What programs are made with."""
        return {"large": self.large, "full": self.full, **options_for(self.backends)}

    @property
    def how(self) -> How:
        """How they are compiled."""
        return How(self.flags, self.backends)


def work(job: Job) -> None:
    """Does it; what happens is said on stdout."""
    warnings.simplefilter("ignore")
    load_files([Path(path) for path in job.load])
    gc.freeze()  # what is imported stays; programs are trees with parents, which only the collector frees
    gc.set_threshold(20_000, 20, 50)
    for start in range(job.start, job.start + job.count, job.batch):
        count = min(job.batch, job.start + job.count - start)
        _batch(job, start, count)


def _say(what: str, index: int, target: str) -> None:
    _line({"event": what, "index": index, "target": target})


def _line(content: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


def _batch(job: Job, start: int, count: int) -> None:
    made: list[GeneratedProgram] = []
    for index in range(start, start + count):
        _say("make", index, "")
        made += programs(job.level, job.seed, 1, start=index, **job.options)
    found = check_programs(made, job.targets_of(start), how=job.how, say=_say)
    for finding in found:
        _report(job, made[finding.index - start], finding)
    _line({"event": "done", "index": start + count, "count": count})


def _report(job: Job, program: GeneratedProgram, finding: Finding) -> None:
    _say("shrink", finding.index, finding.target)
    small = smaller(program, finding, job.shrink, job.how, **job.options)
    path = write_case(Path(job.folder), small, finding)
    _line({"event": "finding", **finding.json(), "path": str(path)})


def main(arguments: Sequence[str]) -> int:
    """`python -m inarch.testing.generate.check.worker JSON`."""
    work(Value(json.loads(arguments[0])).read(Job))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
