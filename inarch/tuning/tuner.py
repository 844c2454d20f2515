"""The tuner: measures choices of passes, and the ways to do nests, in jobs, until the time is over.

A variant of the model has each nest done by its next way, all at once, and each step of it is timed in its
place: one compilation serves all nests, and caches are as in a call. A job has the model as it is so far and
some variants, measured by turns in one process: what counts is the ratio. A way that is faster in one job is
tried once more, with all others that are, in a new process; what does not hold then is dropped.

Choices of passes come first (layouts, which nests are fused), a variant for each pass. Those of the first
pass that gains are settled, and the others are looked at anew, as they are of another program then. Nests
come next, and at last, with several threads, which loops are shared. What the tuner claims is a measurement
of all that stayed, beside the untuned model.

A job is begun where the time is enough for it, and for trying the best once more. An interrupt ends all at
once: each measurement was handed to `keep` as it was made, and the next run goes on from them.

A job that dies is done again, then cut into its variants, and they into their decisions, until who is at
fault is alone; it is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from inarch.core.errors import EnvironmentFault
from inarch.driver.keep.records import Record, demand_text
from inarch.passes.tuned import TunedWay
from inarch.tuning.executor import Pool
from inarch.tuning.job import Job, Result, Ways
from inarch.tuning.outcome import LISTING, Outcome
from inarch.tuning.queue import Progress, Queue
from inarch.tuning.space import NESTS, Space
from inarch.tuning.units import Unit, units_of

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
CHOSEN, CONFIRMED, SHARED = 0.3, 0.7, 0.85
"""Of the time: then no more choices before nests, ways of nests, and loops to share are tried.

What is left is for trying the best once more."""
TOGETHER = 2
"""Variants of the measurement at the end, for which there is to be time, too."""


Look = Callable[[Ways], Sequence[Space]]
"""What is decided of a model -> what passes decide of it then, in their order."""


@dataclass
class Tuner:
    """One run."""

    job: Job
    """With the untuned model alone."""
    look: Look
    pool: Pool
    budget: float
    progress: Progress
    known: Mapping[str, TunedWay] = field(default_factory=dict[str, TunedWay])
    """What has a record already: choices of passes hold, nests are as they are without records."""
    workers: int = 1
    keep: Callable[[Sequence[Record]], None] = lambda _: None
    """Given each record as it is measured: whatever ends the process, it was."""
    unsure: Sequence[Record] = ()
    """Of a search that was ended before it measured them together: they are tried once more."""
    begun: float = field(default_factory=time.monotonic)
    faults: dict[str, str] = field(default_factory=dict[str, str])
    cpu: str = ""
    compiler: str = ""
    given: dict[str, TunedWay] = field(default_factory=dict[str, TunedWay])
    """What is decided so far."""
    threads: int = 1
    """By which is measured what is looked at now."""
    _spaces: dict[str, Space] = field(default_factory=dict[str, Space])
    _records: list[Record] = field(default_factory=list[Record])
    _best: dict[Unit, tuple[float, Ways]] = field(default_factory=dict[Unit, tuple[float, Ways]])
    _tried: dict[Unit, int] = field(default_factory=dict[Unit, int])
    _shares: dict[Unit, float] = field(default_factory=dict[Unit, float])
    _trials: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    _untried: dict[str, None] = field(default_factory=dict[str, None])
    _spent: dict[str, float] = field(default_factory=dict[str, float])
    _build: float = 0.0
    """Seconds of work of a job with the untuned model alone, without the wait for a worker."""
    _choices: tuple[int, int] = 0, 0
    """How many were measured, and were not."""
    _saved: float = 0.0
    """The part of the time that is saved by what is settled."""
    _base: Mapping[str, float] = field(default_factory=dict[str, float])
    """Seconds of the ops, with what is decided so far."""
    _claim: tuple[Ways, int, float, float] | None = None
    """Ways, threads, and seconds of the untuned model and with them, where they were measured so."""

    def __post_init__(self) -> None:
        self._queue = Queue(
            self.pool, self.workers, self.budget, self.job.seconds, self.begun, self.progress
        )

    @property
    def passed(self) -> float:
        """Seconds since the beginning."""
        return self._queue.passed

    def run(self) -> Outcome:
        """Tunes until nothing is left or the time is over.

        Raises EnvironmentFault where not even the untuned model can be measured.
        """
        (result,) = self._measured([self._job([{}])], is_needed=True)
        self._build = sum(result.spent.values())
        if result.times[0] is None:
            raise EnvironmentFault(f"the model cannot be measured: {result.errors[0]}")
        self._base = result.times[0]
        self.given = {address: way for address, way in self.known.items() if way.choice is not None}
        self._claim = {}, 1, (whole := sum(self._base.values())), whole
        settled: set[str] = set()
        while batch := self._next(settled):
            self._search(batch)
            self._leave(batch)
            for space, units in batch.items():
                settled.add(space)
                if self._settle(units) and space != NESTS:
                    break  # the others see another program
        return self._outcome()

    def _next(self, settled: set[str]) -> dict[str, list[Unit]]:
        """What is tuned at once: all choices before the nests, the nests, or those after them."""
        if self._spaces and settled.issuperset(self._spaces):
            return {}
        if self.passed >= self.budget:
            late = [one for one in self._spaces.values() if one.by not in settled]
            self._leave({one.by: self._worth(units_of(one)) for one in late})
            return {}
        begun = self.passed
        spaces = self.look(self.given)
        self._spend({LISTING: self.passed - begun})
        self._spaces = {one.by: one for one in spaces}
        while left := [one for one in spaces if one.by not in settled]:
            at = next((n for n, one in enumerate(left) if one.by == NESTS), 0)
            batch = {one.by: self._worth(units_of(one)) for one in left[: at or 1]}
            if any(batch.values()):
                self._recall(one for units in batch.values() for one in units)
                self.threads = max(self._spaces[by].threads for by in batch)
                return batch
            settled |= batch.keys()
        return {}

    def _recall(self, units: Iterable[Unit]) -> None:
        """What was found before of units is the best that is known of them."""
        before = {one.address: one for one in self.unsure}
        for one in units:
            own = [before[address] for address in one.addresses if address in before]
            ratio = min((each.seconds / each.untuned for each in own), default=1.0)
            if ratio < 1 - GAIN:
                ways = {each.address: TunedWay(each.way, each.identity) for each in own}
                self._best[one], self._tried[one] = (ratio, ways), max(each.trials for each in own)

    def _worth(self, units: Sequence[Unit]) -> list[Unit]:
        """Those that take a part of the time that is worth it, and have no record yet."""
        whole = sum(self._base.values())
        self._shares |= {one: one.seconds(self._base) / whole for one in units}
        return [
            one
            for one in units
            if self._shares[one] >= LEAST_SHARE and not self.known.keys() >= {*one.addresses}
        ]

    def _search(self, batch: Mapping[str, Sequence[Unit]]) -> None:
        """All units by their next ways, a few variants a job, until there are none or the time is over.

        First the second ways of all passes, one pass a variant, then the third ones ...
        """
        ways = {one: self._spaces[one].nests for one in batch}
        most = max((len(way.ways) for one in batch for way in ways[one].values()), default=1)
        variants: list[Ways] = []
        for number in range(1, most):
            for space, units in batch.items():
                variant = {
                    address: own[number]
                    for one in units
                    for address in one.addresses
                    if len(own := ways[space][address].ways) > number
                }
                if variant:
                    variants.append(variant)
        units = [one for some in batch.values() for one in some]
        self._each(
            self._jobs_of(variants),
            lambda job, result: self._learn(units, job, result),
            until=self._until(next(iter(batch))),
        )

    def _jobs_of(self, variants: Sequence[Ways]) -> Iterator[Job]:
        """Jobs of a few variants each, while there is time for one and for the measurement at the end."""
        at = 0
        while at < len(variants) and (fit := self._fitting()) > 0:
            yield self._job([{}, *variants[at : at + fit]])
            at += fit

    def _fitting(self) -> int:
        """How many variants a job may have that is begun now."""
        builds = (self.budget - self.passed) / self._build if self._build else float("inf")
        return int(min(VARIANTS, builds - 1 - TOGETHER))

    def _leave(self, batch: Mapping[str, Sequence[Unit]]) -> None:
        """Counts choices that were not measured; names the ops of which no alternative was."""
        measured, left = self._choices
        for space, units in batch.items():
            for one in units:
                others = sum(
                    max(0, len(self._spaces[space].nests[at].ways) - 1) for at in one.addresses
                )
                left += others
                if others and one not in self._tried:
                    self._untried[one.places[0]] = None
        self._choices = measured, left

    def _until(self, by: str) -> float:
        """When the search for what a pass decides is over."""
        is_before = by != NESTS and self._spaces[by].threads == 1
        return self.budget * (CHOSEN if is_before else CONFIRMED if by == NESTS else SHARED)

    def _learn(self, units: Sequence[Unit], job: Job, result: Result) -> None:
        base = result.times[0] if result.times else None
        if base is None:
            return
        if base:
            self._base = base
        found: list[Record] = []
        for ways, times, error in zip(
            job.variants[1:], result.times[1:], result.errors[1:], strict=True
        ):
            own_ways = {a: way for a, way in ways.items() if self.given.get(a) is not way}
            if times is None:
                self._blame(units, own_ways, error)
                continue
            self._count(len(own_ways))
            for one in units:
                own = {a: own_ways[a] for a in one.addresses if a in own_ways}
                if not own:
                    continue
                is_first = one not in self._tried
                self._tried[one] = self._tried.get(one, 0) + 1
                before, after = one.seconds(base), one.seconds(times)
                ratio = (
                    after / before if after and before else 1.0
                )  # of 0 it is part of another step
                if ratio < min(1 - GAIN, self._best.get(one, (1.0, {}))[0]):
                    self._best[one] = ratio, own
                    found += self._records_of(one, own, base, times)
                elif is_first:
                    found += self._records_of(one, {}, base, base)
        if found:
            self.keep([replace(one, is_sure=False) for one in found])
        saved = sum(
            self._shares[one] * (1 - self._best[one][0]) for one in units if one in self._best
        )
        self._trials.append((self.passed, (1 - self._saved) * (1 - saved)))

    def _blame(self, units: Sequence[Unit], ways: Ways, error: str) -> None:
        """A variant that cannot be measured: of several decisions halves are tried, one alone is left out."""
        if len(ways) == 1:
            ((address, way),) = ways.items()
            place = next(one.places[0] for one in units if address in one.addresses)
            what = way.kernel if way.choice is None else f"{way.kernel}, {way.choice}"
            self.faults[place] = f"{what}: {error}"
            self._count(1)
            return
        items = list(ways.items())
        halves = [dict(items[: len(items) // 2]), dict(items[len(items) // 2 :])]
        self._each(
            (self._job([{}, half]) for half in halves if self._fitting() > 0),
            lambda job, result: self._learn(units, job, result),
            until=self._until(units[0].space),
        )

    def _count(self, choices: int) -> None:
        measured, left = self._choices
        self._choices = measured + choices, left - choices

    def _spend(self, seconds: Mapping[str, float]) -> None:
        for what, own in seconds.items():
            self._spent[what] = self._spent.get(what, 0.0) + own

    def _settle(self, units: Sequence[Unit]) -> bool:
        """The best ways of units together, beside the model without them; whether any stays.

        What is not faster is dropped, until all is.
        """
        if not self._tried.keys() & set(units):
            return False
        chosen = {one: self._best[one][1] for one in units if one in self._best}
        base = tuned = self._base
        while chosen or (units and units[0].space == NESTS):
            every = {a: way for ways in chosen.values() for a, way in ways.items()}
            job = replace(self._job([{}, every]), rounds=2 * ROUNDS)
            (result,) = self._measured([job], is_needed=False)
            if not result.times or result.times[0] is None or result.times[1] is None:
                self.faults["all together"] = result.error or "; ".join(filter(None, result.errors))
                return False
            base, tuned = result.times[0], result.times[1]
            lost = [one for one in chosen if one.seconds(tuned) > (1 - HOLDS) * one.seconds(base)]
            if not lost and sum(tuned.values()) > sum(base.values()):
                lost = list(chosen)  # others are slower for it
            if not lost:
                if not self.given:
                    whole = sum(base.values())
                    best = sum(tuned.values()) if every else whole
                    self._claim = every, self.threads, whole, best
                break
            for one in lost:
                del chosen[one]
        found = [
            record
            for one in units
            if self._tried.get(one)
            for record in self._records_of(one, chosen.get(one, {}), base, tuned)
        ]
        if found:
            self._records += found
            self.keep(found)
        if chosen:
            self.given |= {a: way for ways in chosen.values() for a, way in ways.items()}
            self._base = tuned
            self._saved = 1 - (1 - self._saved) * sum(tuned.values()) / sum(base.values())
        return bool(chosen)

    def _outcome(self) -> Outcome:
        """All that stayed, beside the untuned model."""
        assert self._claim is not None, "the untuned model was measured"
        if self._records and self._claim[:2] != (self.given, self.threads):
            job = replace(
                self.job, variants=({}, self.given), rounds=2 * ROUNDS, threads=self.threads
            )
            (result,) = self._measured([job], is_needed=False)
            if not result.times or result.times[0] is None or result.times[1] is None:
                self.faults["all together"] = result.error or "; ".join(filter(None, result.errors))
                return self._came_of((), 0.0, 0.0)
            whole, best = sum(result.times[0].values()), sum(result.times[1].values())
            self._claim = self.given, self.threads, whole, best
        _, _, whole, best = self._claim
        if best > whole:  # each was faster, and all together are not
            self._records = []
            best = whole
        return self._came_of(tuple(self._records), whole, best)

    def _came_of(self, records: tuple[Record, ...], whole: float, best: float) -> Outcome:
        return Outcome(
            records,
            whole,
            best,
            tuple(self._trials),
            self.faults,
            self._queue.jobs,
            tuple(self._untried),
            self._choices[0],
            self._choices[1] if self._spaces else None,
            self._build,
            self._spent,
            self.passed,
        )

    def _records_of(
        self, unit: Unit, ways: Ways, base: Mapping[str, float], tuned: Mapping[str, float]
    ) -> list[Record]:
        every = (self._record(unit, ways, base, tuned, address) for address in unit.addresses)
        return [one for one in every if one is not None]

    def _record(
        self,
        unit: Unit,
        ways: Ways,
        base: Mapping[str, float],
        tuned: Mapping[str, float],
        address: str,
    ) -> Record | None:
        """Of what was tuned; where nothing is faster, of the way that it has anyway."""
        space = self._spaces[unit.space]
        nest = space.nests[address]
        if not nest.ways:
            return None
        way: TunedWay = ways.get(address, nest.ways[0])
        machine = space.machine
        calls, around = self._costs(space, unit, ways) if machine is not None else (0.0, 0.0)
        untuned = unit.seconds(base)
        seconds = unit.seconds(tuned) if ways else untuned
        if not untuned or not seconds:
            return None  # what it was is a part of other steps now
        return Record(
            address,
            self.cpu,
            self.compiler,
            way.kernel,
            way.identity,
            way.way,
            seconds,
            untuned,
            self._tried.get(unit, 0),
            space.target,
            self.job.model,
            unit.places[0],
            nest.nest if way.choice is None else f"{way.choice}, {nest.nest}",
            machine.name if machine is not None else "",
            machine.ghz if machine is not None else 0.0,
            calls,
            around,
            self._runs(space, unit, address),
            space.threads,
            demand_text(self.job.options.get("microkernels", ())),
        )

    def _runs(self, space: Space, unit: Unit, address: str) -> float:
        """How often a nest runs, or a choice is made, in the time of a unit."""
        own = [place for place in unit.places if address in space.places[place]]
        return sum(space.iterations.get((place, address), 1) for place in own)

    def _costs(self, space: Space, unit: Unit, ways: Ways) -> tuple[float, float]:
        """Cycles in calls of kernels and around them that all nests of a unit cost, done so."""
        calls = around = 0.0
        for place in unit.places:
            for address in space.places[place]:
                own = space.nests[address].ways
                if own:
                    way = ways.get(address, own[0]).way
                    iterations = space.iterations.get((place, address), 1)
                    calls += iterations * (way["cost"] - way["around"])
                    around += iterations * way["around"]
        return calls, around

    def _job(self, variants: Sequence[Ways]) -> Job:
        """A job of variants, that differ so from what is decided so far."""
        every = tuple({**self.given, **one} for one in variants)
        return replace(self.job, variants=every, rounds=ROUNDS, threads=self.threads)

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
        """Has jobs done, each begun before `until`. Raises EnvironmentFault for a fault where `is_needed`."""

        def finished(job: Job, result: Result, fault: str) -> None:
            self._take(job, result, fault, done, is_needed=is_needed)

        def given_up(job: Job, reason: str) -> None:
            if is_needed:
                raise EnvironmentFault(f"the model cannot be measured: {reason}")
            done(job, Result(job.key, reason))

        self._queue.run(jobs, finished, given_up, until=until)

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
            self._spend(result.spent)
            done(job, result)
            return
        if is_needed:
            raise EnvironmentFault(f"the model cannot be measured: {reason}")
        if len(job.variants) > 2:
            alone = (self._job([{}, ways]) for ways in job.variants[1:] if self._fitting() > 0)
            self._each(alone, done, until=SHARED * self.budget)
            return
        # Nothing is known of the untuned model in this job: the variant alone is at fault.
        done(job, Result(job.key, "", result.cpu, result.compiler, ({}, None), ("", reason)))
