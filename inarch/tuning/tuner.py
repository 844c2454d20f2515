"""The tuner: measures the ways to do the nests of a model, in jobs, until the time is over.

A variant of the model has each nest done by its next way, all at once, and each step of it is timed in its
place: one compilation serves all nests, and caches are as in a call. A job has the untuned model and some
variants, measured by turns in one process: what counts is the ratio. A way that is faster in one job is
tried once more, with all others that are, beside the untuned model in a new process. What does not hold then
is dropped, and the last such measurement is what the tuner claims. A job that dies is done again, then cut
into its variants, and they into their nests, until who is at fault is alone; it is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from inarch.core.errors import EnvironmentFault
from inarch.driver.keep.records import Record
from inarch.passes.tensorize.keep.tuned import TunedWay
from inarch.tuning.executor import Pool
from inarch.tuning.job import Job, Result, Ways, fault_of, measure
from inarch.tuning.space import Space

Progress = Callable[[str, float, float], None]
"""What is done, seconds since the beginning, seconds in all."""

VARIANTS = 3
"""Of one job, beside the untuned model."""
ROUNDS = 30
"""Measurements of each step, by turns."""
GAIN = 0.02
"""A way must be faster by so much to be tried once more: measurements differ by as much."""
HOLDS = 0.005
"""And by so much to stay."""
LEAST_SHARE = 0.002
"""Of the time of the model: what takes less is not tuned."""
TRIES = 3
"""Of a job whose worker is lost, or gives nonsense."""
CONFIRMED = 0.7
"""Of the time: then no more ways are tried, and what is left is for trying the best once more."""


@dataclass(frozen=True)
class Unit:
    """Ops of the model that are tuned together, because nests of theirs are alike."""

    places: tuple[str, ...]
    addresses: tuple[str, ...]

    def seconds(self, times: Mapping[str, float]) -> float:
        """Of all its ops."""
        return sum(times.get(place, 0.0) for place in self.places)


@dataclass(frozen=True)
class Outcome:
    """What a tuner found."""

    records: tuple[Record, ...]
    untuned: float
    """Seconds of the steps of a call, in the last measurement."""
    tuned: float
    trials: tuple[tuple[float, float], ...]
    """Seconds since the beginning, and the best time of the model that is known then, by the untuned one."""
    faults: Mapping[str, str]
    """Op of the model -> why a way of it was left out."""
    jobs: int

    @property
    def gain(self) -> float:
        """How many times faster."""
        return self.untuned / self.tuned if self.tuned else 1.0


def units_of(space: Space) -> list[Unit]:
    """Ops that share a nest are one unit."""
    owner: dict[str, set[str]] = {}
    for place, addresses in space.places.items():
        joined = {place}
        for other in {id(owner[a]): owner[a] for a in addresses if a in owner}.values():
            joined |= other
        for each in joined:
            for address in space.places[each]:
                owner[address] = joined
        for address in addresses:
            owner[address] = joined
    groups = {id(group): group for group in owner.values()}.values()
    found: list[Unit] = []
    for group in groups:
        places = [place for place in space.places if place in group]
        addresses = dict.fromkeys(a for place in places for a in space.places[place])
        found.append(Unit(tuple(places), tuple(addresses)))
    return found


@dataclass
class Tuner:
    """One run."""

    job: Job
    """With the untuned model alone."""
    space: Space
    pool: Pool
    budget: float
    progress: Progress
    known: frozenset[str] = frozenset()
    """Addresses that have a record already."""
    workers: int = 1
    begun: float = field(default_factory=time.monotonic)
    faults: dict[str, str] = field(default_factory=dict[str, str])
    jobs: int = 0
    cpu: str = ""
    compiler: str = ""
    _best: dict[Unit, tuple[float, Ways]] = field(default_factory=dict[Unit, tuple[float, Ways]])
    _tried: dict[Unit, int] = field(default_factory=dict[Unit, int])
    _shares: dict[Unit, float] = field(default_factory=dict[Unit, float])
    _trials: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    @property
    def passed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.begun

    def run(self) -> Outcome:
        """Tunes; Ctrl-C ends the search, and what was found is measured together all the same.

        Raises EnvironmentFault where not even the untuned model can be measured.
        """
        units, whole = self._worth(units_of(self.space))
        if not units:
            return Outcome((), whole, whole, (), self.faults, self.jobs)
        with suppress(KeyboardInterrupt):
            self._search(units)
        return self._outcome(units)

    def _worth(self, units: Sequence[Unit]) -> tuple[list[Unit], float]:
        """Those that take a part of the time that is worth it, and have no record yet; seconds of all."""
        (result,) = self._measured([self._job([{}])], is_needed=True)
        times = result.times[0]
        if times is None:
            raise EnvironmentFault(f"the model cannot be measured: {result.errors[0]}")
        whole = sum(times.values())
        self._shares = {one: one.seconds(times) / whole for one in units}
        worth = [
            one
            for one in units
            if self._shares[one] >= LEAST_SHARE and not self.known.issuperset(one.addresses)
        ]
        return worth, whole

    def _search(self, units: Sequence[Unit]) -> None:
        """All units by their next ways, a few variants a job, until there are none or the time is over."""
        most = max(
            (len(self.space.nests[a].ways) for one in units for a in one.addresses), default=1
        )
        variants: list[Ways] = []
        for number in range(1, most):
            variant = {
                address: ways[number]
                for one in units
                for address in one.addresses
                if len(ways := self.space.nests[address].ways) > number
            }
            variants.append(variant)
        jobs = [variants[at : at + VARIANTS] for at in range(0, len(variants), VARIANTS)]
        self._each(
            (self._job([{}, *some]) for some in jobs),
            lambda job, result: self._learn(units, job, result),
            until=CONFIRMED * self.budget,
        )

    def _learn(self, units: Sequence[Unit], job: Job, result: Result) -> None:
        base = result.times[0] if result.times else None
        if base is None:
            return
        for ways, times, error in zip(
            job.variants[1:], result.times[1:], result.errors[1:], strict=True
        ):
            if times is None:
                self._blame(ways, error)
                continue
            for one in units:
                own = {address: ways[address] for address in one.addresses if address in ways}
                if not own:
                    continue
                self._tried[one] = self._tried.get(one, 0) + 1
                ratio = one.seconds(times) / max(one.seconds(base), 1e-12)
                if ratio < min(1 - GAIN, self._best.get(one, (1.0, {}))[0]):
                    self._best[one] = ratio, own
        saved = sum(self._shares[one] * (1 - ratio) for one, (ratio, _) in self._best.items())
        self._trials.append((self.passed, 1 - saved))

    def _blame(self, ways: Ways, error: str) -> None:
        """A variant that cannot be measured: of several nests halves are tried, one alone is left out."""
        if len(ways) == 1:
            (address,) = ways
            place = next(p for p, own in self.space.places.items() if address in own)
            self.faults[place] = f"{ways[address].kernel}: {error}"
            return
        items = list(ways.items())
        halves = [dict(items[: len(items) // 2]), dict(items[len(items) // 2 :])]
        if self.passed < CONFIRMED * self.budget:
            self._each(
                (self._job([{}, half]) for half in halves),
                lambda job, result: self._learn([*self._shares], job, result),
                until=CONFIRMED * self.budget,
            )

    def _outcome(self, units: Sequence[Unit]) -> Outcome:
        """The best ways together, beside the untuned model; what is not faster is dropped, until all is."""
        chosen = {one: ways for one, (_, ways) in self._best.items()}
        base: Mapping[str, float] = {}
        tuned: Mapping[str, float] = {}
        while True:
            every = {a: way for ways in chosen.values() for a, way in ways.items()}
            job = replace(self._job([{}, every]), rounds=2 * ROUNDS)
            (result,) = self._measured([job], is_needed=False)
            if not result.times or result.times[0] is None or result.times[1] is None:
                self.faults["all together"] = result.error or "; ".join(filter(None, result.errors))
                base = tuned = {}
                break
            base, tuned = result.times[0], result.times[1]
            lost = [one for one in chosen if one.seconds(tuned) > (1 - HOLDS) * one.seconds(base)]
            if not lost:
                break
            for one in lost:
                del chosen[one]
        records = [
            self._record(one, chosen.get(one, {}), base, tuned, address)
            for one in units
            for address in one.addresses
            if base and self._tried.get(one)
        ]
        found = tuple(record for record in records if record is not None)
        whole, best = sum(base.values()), sum(tuned.values())
        return Outcome(found, whole, best, tuple(self._trials), self.faults, self.jobs)

    def _record(
        self,
        unit: Unit,
        ways: Ways,
        base: Mapping[str, float],
        tuned: Mapping[str, float],
        address: str,
    ) -> Record | None:
        """Of a nest that was tuned; where nothing is faster, of the way that it has anyway."""
        nest = self.space.nests[address]
        if not nest.ways:
            return None
        way: TunedWay = ways.get(address, nest.ways[0])
        untuned = unit.seconds(base)
        return Record(
            address,
            self.cpu,
            self.compiler,
            way.kernel,
            way.identity,
            way.way,
            unit.seconds(tuned) if ways else untuned,
            untuned,
            self._tried.get(unit, 0),
            self.space.target,
            self.job.model,
            unit.places[0],
            nest.nest,
        )

    def _job(self, variants: Sequence[Ways]) -> Job:
        return replace(self.job, variants=tuple(variants), rounds=ROUNDS)

    def _measured(self, jobs: Sequence[Job], *, is_needed: bool) -> list[Result]:
        found: list[Result] = []
        self._each(
            jobs, lambda _, result: found.append(result), until=float("inf"), is_needed=is_needed
        )
        return found or [Result("", "nobody did it")]

    def _each(
        self,
        jobs: Iterable[Job],
        done: Callable[[Job, Result], None],
        *,
        until: float,
        is_needed: bool = False,
    ) -> None:
        """Has jobs done, so many at once as there are workers; each is begun before `until`."""
        left = iter(jobs)
        running: dict[Future[Any], tuple[Job, int]] = {}
        try:
            while True:
                while len(running) < self.workers and self.passed < until:
                    job = next(left, None)
                    if job is None:
                        break
                    running[self._submit(job)] = job, 1
                if not running:
                    return
                self.progress(f"job {self.jobs}", self.passed, self.budget)
                finished, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
                for future in finished:
                    job, tries = running.pop(future)
                    result, fault = _result(job, future)
                    if fault and tries < TRIES:
                        running[self._submit(job)] = job, tries + 1
                        continue
                    self._take(job, result, fault, done, is_needed=is_needed)
        finally:
            for future in running:
                future.cancel()

    def _submit(self, job: Job) -> Future[Any]:
        self.jobs += 1
        return self.pool.submit(measure, job)

    def _take(
        self,
        job: Job,
        result: Result,
        fault: str,
        done: Callable[[Job, Result], None],
        *,
        is_needed: bool,
    ) -> None:
        """A job that came back; one that did not is cut into its variants."""
        reason = fault or result.error
        if not reason:
            self.cpu, self.compiler = result.cpu, result.compiler
            done(job, result)
            return
        if is_needed:
            raise EnvironmentFault(f"the model cannot be measured: {reason}")
        if len(job.variants) > 2:
            for ways in job.variants[1:]:
                self._each([self._job([{}, ways])], done, until=CONFIRMED * self.budget)
            return
        # Nothing is known of the untuned model in this job: the variant alone is at fault.
        done(job, Result(job.key, "", result.cpu, result.compiler, ({}, None), ("", reason)))


def _result(job: Job, future: Future[Any]) -> tuple[Result, str]:
    """What came back, and why it is nothing: a worker that is lost, or gives nonsense."""
    try:
        found = future.result()
    except Exception as error:  # noqa: BLE001 - whatever an executor raises where a worker is gone
        text = str(error).splitlines()[0] if str(error) else ""
        return Result(job.key), f"the worker is lost: {type(error).__name__}: {text}"
    fault = fault_of(job, found)
    return (found, "") if not fault else (Result(job.key), fault)
