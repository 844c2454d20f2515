"""A part of the search, its units, and what one of them came to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """What a unit is told: its seed, how many processes it may have, and a folder of its own."""

    seed: int
    jobs: int
    folder: Path
    found: Path
    """Where new files of findings go."""


@dataclass(frozen=True)
class Done:
    """How its command ended."""

    code: int
    out: str
    err: str
    run: Run


@dataclass(frozen=True)
class Finding:
    """Something that must not be."""

    what: str
    again: str
    """The command that shows it again."""
    keep: Callable[[], Path] | None = None
    """Writes its file in tests/found."""


@dataclass
class Result:
    """What a unit came to."""

    cases: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])
    skipped: str = ""
    """Why nothing ran."""
    mended: list[str] = field(default_factory=list[str])
    """A word of each finding of earlier units that is none any more."""


@dataclass(frozen=True)
class Unit:
    """One command. `{seed}`, `{jobs}` and `{folder}` stand for those of the run."""

    name: str
    command: tuple[str, ...]
    read: Callable[[Done], Result]
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    missing: str = ""
    """What this machine lacks for it."""
    aim: str = ""
    """Which of its part's `musts` its cases count for."""

    def words(self, run: Run) -> list[str]:
        """The command of a run."""
        given = {"{seed}": str(run.seed), "{jobs}": str(run.jobs), "{folder}": str(run.folder)}
        return [given.get(word, word) for word in self.command]


@dataclass(frozen=True)
class Part:
    """A kind of search."""

    name: str
    about: str
    units: Callable[[], Iterable[Unit]]
    is_seeded: bool = True
    """Whether another seed runs other cases."""
    musts: Mapping[str, int] = field(default_factory=dict[str, int])
    """Aim -> cases that it must have had, in all runs together."""
    must_be_clean: float = 0.0
    """The least share of them without a finding, where not each finding is a fault to mend."""
