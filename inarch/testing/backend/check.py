"""All that is checked of a backend, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from inarch.core.errors import InarchError, UsageError
from inarch.driver.extensions import load_files
from inarch.driver.offload import Offload
from inarch.machine.target import native
from inarch.passes.backend import Instance
from inarch.testing.backend.ends import at_their_ends
from inarch.testing.backend.faults import FAULTS
from inarch.testing.backend.samples import Sample, SkipCheck, not_reached, samples
from inarch.testing.backend.uses import USES, right
from inarch.testing.generate.check.driver import check as check_random
from inarch.testing.generate.check.offloaded import check_backends
from inarch.testing.generate.check.worker import Job

Progress = Callable[[str], None]
_SHRINK_SECONDS = 20.0


@dataclass(frozen=True)
class Check:
    """One thing that was tried."""

    instance: str
    name: str
    outcome: Literal["passed", "failed", "skipped"]
    message: str = ""

    @property
    def text(self) -> str:
        """One line."""
        return f"{self.outcome:<8}{self.instance}: {self.name}{f': {self.message}' * bool(self.message)}"


@dataclass(frozen=True)
class BackendReport:
    """What came out."""

    checks: tuple[Check, ...]

    @property
    def failed(self) -> tuple[Check, ...]:
        """What did."""
        return tuple(one for one in self.checks if one.outcome == "failed")

    def require(self) -> None:
        """Raises AssertionError with all that failed, a line each."""
        assert not self.failed, "\n" + "\n".join(one.text for one in self.failed)

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"passed": not self.failed, "checks": [asdict(one) for one in self.checks]}


@dataclass(frozen=True)
class _Wish:
    seed: int
    count: int
    load: tuple[str, ...]
    programs: tuple[Path, ...]
    folder: Path
    seconds: float


def check_backend(
    name: str,
    *,
    load: Sequence[Path | str] = (),
    programs: Sequence[Path | str] = (),
    count: int = 60,
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
    )
    found: list[Check] = []
    for number, text in enumerate([str(instance), *at_their_ends(instance)]):
        progress(text)
        # All of it of the defaults; of the ends, whether they compute what they should.
        found += _of_instance(text, wish, is_first=number == 0)
    return BackendReport(tuple(found))


def _of_instance(text: str, wish: _Wish, *, is_first: bool) -> list[Check]:
    try:
        (instance,) = Offload([text]).asked().values()
        own = samples(instance, wish.seed, wish.count, wish.programs)
    except InarchError as error:
        return [Check(text, "partitioning", "failed", str(error))]
    found = [_random(text, wish, wish.count if is_first else max(1, wish.count // 5), own)]
    if is_first:
        missing = not_reached(instance, own)
        said = f"no program had {', '.join(missing)}" if missing else "all that it lists"
        found.append(Check(text, "reached", "passed", said))
    given = [one for one in own if one.is_given]
    found += [_tried(text, f"program {one.name}", _bound(right, instance, one)) for one in given]
    tried = max((one for one in own if one.regions), key=lambda one: one.regions, default=None)
    if is_first and tried is not None:
        found += [
            _tried(text, name, _bound(use, instance, tried))
            for name, use in {**USES, **FAULTS}.items()
        ]
    return found


def _bound(
    use: Callable[[Instance, Sample], str], instance: Instance, sample: Sample
) -> Callable[[], str]:
    return lambda: use(instance, sample)


def _random(text: str, wish: _Wish, count: int, own: Sequence[Sample]) -> Check:
    """Random programs against their definition, in processes that may crash or hang."""
    job = Job(
        "graph", wish.seed, 0, count, 5, (native().level,), ("-O1",), str(wish.folder),
        _SHRINK_SECONDS, large=False, full=False, backends=(text,), load=wish.load,
    )  # fmt: skip
    outcome = check_random(job, seconds_each=wish.seconds)
    name = "random programs"
    if outcome.findings:
        one = outcome.findings[0]
        where = f" ({one['path']})" if one["path"] else ""
        more = f"; and {len(outcome.findings) - 1} more" if len(outcome.findings) > 1 else ""
        return Check(text, name, "failed", f"{one['kind']}: {one['message']}{where}{more}")
    if not outcome.taken and not any(one.is_given for one in own):
        said = f"none of {count} had a part for it; give programs that have, with --program"
        return Check(text, name, "failed", said)
    return Check(text, name, "passed", f"{len(outcome.taken)} of {count} had parts for it")


def _tried(text: str, name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(text, name, "passed", check())
    except SkipCheck as reason:
        return Check(text, name, "skipped", str(reason))
    except UsageError:
        raise
    except (AssertionError, InarchError) as error:
        return Check(text, name, "failed", str(error))
    except Exception as error:  # noqa: BLE001 - a backend may be anybody's
        return Check(text, name, "failed", f"{type(error).__name__}: {error}")
