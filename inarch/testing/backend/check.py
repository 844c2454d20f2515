"""All that is checked of a backend, and what came out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from inarch.core.errors import InarchError, UsageError
from inarch.driver.extensions import load_files
from inarch.driver.offload import Offload
from inarch.machine.target import native
from inarch.offload.backend import Instance
from inarch.testing.backend.ends import at_their_ends
from inarch.testing.backend.faults import FAULTS
from inarch.testing.backend.samples import Sample, SkipCheck, not_reached, samples
from inarch.testing.backend.uses import USES, right
from inarch.testing.generate.check.driver import check as check_random
from inarch.testing.generate.check.offloaded import check_backends
from inarch.testing.generate.check.worker import Job
from inarch.testing.generate.graph.units import unknown_ops

Progress = Callable[[str], None]
COUNT = 20
"""Random programs, where nobody says how many: some minutes."""
_SHRINK_SECONDS = 20.0
_SAY_SECONDS = 5.0
_ADVICE = "give programs that have, with --program"


@dataclass(frozen=True)
class Check:
    """One thing that was tried."""

    instance: str
    name: str
    outcome: Literal["passed", "failed", "not tried"]
    message: str = ""

    @property
    def text(self) -> str:
        """One line."""
        return f"{self.outcome:<10}{self.instance}: {self.name}{f': {self.message}' * bool(self.message)}"


@dataclass(frozen=True)
class BackendReport:
    """What came out."""

    checks: tuple[Check, ...]

    @property
    def failed(self) -> tuple[Check, ...]:
        """What did."""
        return tuple(one for one in self.checks if one.outcome == "failed")

    @property
    def not_tried(self) -> tuple[Check, ...]:
        """Of which nobody knows."""
        return tuple(one for one in self.checks if one.outcome == "not tried")

    @property
    def passed(self) -> bool:
        """Whether nothing failed, and something was tried at all: a part of the backend has run."""
        return not self.failed and any(one.outcome == "passed" for one in self.checks)

    @property
    def summary(self) -> str:
        """One line."""
        failed, left = len(self.failed), len(self.not_tried)
        return f"{failed} of {len(self.checks)} checks failed, {left} not tried"

    def require(self) -> None:
        """Raises AssertionError with all that failed, a line each; where nothing was tried, with that."""
        shown = self.failed or self.checks
        assert self.passed, "\n" + "\n".join(one.text for one in shown)

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        counts = {"failed": len(self.failed), "not_tried": len(self.not_tried)}
        return {"passed": self.passed, **counts, "checks": [asdict(one) for one in self.checks]}


@dataclass(frozen=True)
class _Wish:
    seed: int
    count: int
    load: tuple[str, ...]
    programs: tuple[Path, ...]
    folder: Path
    seconds: float
    progress: Progress


def check_backend(
    name: str,
    *,
    load: Sequence[Path | str] = (),
    programs: Sequence[Path | str] = (),
    count: int = COUNT,
    seed: int = 0,
    folder: Path | str = "backend-failures",
    seconds: float = 120.0,
    progress: Progress = lambda _: None,
) -> BackendReport:
    """Tries backend `name`, or the instance that the text asks for, on this machine.

    `load` are files that define it, as `--load` takes them; what is registered in this process alone is not
    known to those that run random programs. `programs` are models of your own, for ops that random
    programs do not have. `count`: random programs for the defaults, a fifth of it for each end of an
    option. What fails is written to `folder`. `seconds`: before a process that says nothing hangs.

    Raises UsageError for a name that no backend has, EnvironmentFault for one that is not ready here.
    """
    load_files([Path(path) for path in load])
    check_backends([name])
    (instance,) = Offload([name]).asked().values()
    wish = _Wish(
        seed,
        count,
        tuple(str(Path(path).resolve()) for path in load),
        tuple(map(Path, programs)),
        Path(folder),
        seconds,
        progress,
    )
    found: list[Check] = []
    for number, text in enumerate([str(instance), *at_their_ends(instance)]):
        progress(f"{text}: programs that have parts for it")
        # All of it of the defaults; of the ends, whether they compute what they should.
        found += _of_instance(text, wish, is_first=number == 0)
    return BackendReport(tuple(found))


def _of_instance(text: str, wish: _Wish, *, is_first: bool) -> list[Check]:
    try:
        (instance,) = Offload([text]).asked().values()
        own = samples(instance, wish.seed, wish.count, wish.programs)
    except InarchError as error:
        return [Check(text, "partitioning", "failed", str(error))]
    found = [_random(text, wish, wish.count if is_first else max(1, wish.count // 5))]
    if is_first:
        found.append(_reached(instance, own))
    given = [one for one in own if one.is_given]
    found += [_tried(instance, f"program {one.name}", right, one, wish.progress) for one in given]
    most = max((one for one in own if one.regions), key=lambda one: one.regions, default=None)
    for name, use in {**USES, **FAULTS}.items() if is_first else ():
        found.append(_tried(instance, name, use, most, wish.progress))
    return found


def _reached(instance: Instance, own: Sequence[Sample]) -> Check:
    """Whether each op and pattern that it lists was in some program."""
    missing = not_reached(instance, own)
    if not missing:
        return Check(str(instance), "reached", "passed", "all that it lists")
    said = f"no program had {', '.join(missing)}; {_ADVICE}"
    for pattern in instance.backend.patterns:
        if (names := unknown_ops(pattern)) and pattern.name in missing:
            said += f" (none can be drawn from pattern {pattern.name}, for {', '.join(names)})"
    return Check(str(instance), "reached", "not tried", said)


def _random(text: str, wish: _Wish, count: int) -> Check:
    """Random programs against their definition, in processes that may crash or hang."""
    job = Job(
        "graph", wish.seed, 0, count, 5, (native().level,), ("-O1",), str(wish.folder),
        _SHRINK_SECONDS, large=False, full=False, backends=(text,), load=wish.load,
    )  # fmt: skip
    last = time.monotonic()

    def say(done: int, of: int, findings: int) -> None:
        nonlocal last
        if time.monotonic() - last > _SAY_SECONDS:
            last = time.monotonic()
            wish.progress(f"{text}: {done} of {of} random programs, {findings} wrong")

    outcome = check_random(job, seconds_each=wish.seconds, progress=say)
    name = "random programs"
    if outcome.findings:
        one = outcome.findings[0]
        where = f" ({one['path']})" if one["path"] else ""
        more = f"; and {len(outcome.findings) - 1} more" if len(outcome.findings) > 1 else ""
        return Check(text, name, "failed", f"{one['kind']}: {one['message']}{where}{more}")
    if not outcome.taken:
        return Check(text, name, "not tried", f"none of {count} had a part for it; {_ADVICE}")
    return Check(text, name, "passed", f"{len(outcome.taken)} of {count} had parts for it")


def _tried(
    instance: Instance,
    name: str,
    check: Callable[[Instance, Sample], str],
    sample: Sample | None,
    progress: Progress,
) -> Check:
    text = str(instance)
    if sample is None or not sample.regions:
        return Check(text, name, "not tried", f"no program has a part for it; {_ADVICE}")
    progress(f"{text}: {name}")
    try:
        return Check(text, name, "passed", check(instance, sample))
    except SkipCheck as reason:
        return Check(text, name, "not tried", str(reason))
    except UsageError:
        raise
    except (AssertionError, InarchError) as error:
        return Check(text, name, "failed", str(error))
    except Exception as error:  # noqa: BLE001 - a backend may be anybody's
        return Check(text, name, "failed", f"{type(error).__name__}: {error}")
