"""The tuner against workers that are known: what it finds, and what it survives (K9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from inarch.core.errors import EnvironmentFault
from inarch.driver.keep.records import Record
from inarch.passes.tuned import Point, TunedWay
from inarch.tuning.job import Job, Result
from inarch.tuning.outcome import COMPILING, Outcome
from inarch.tuning.space import NESTS, Space, Tunable, space_of_points
from inarch.tuning.tuner import Tuner
from inarch.tuning.units import units_of

WAYS = 4
"""Of each nest; way 0 is the untuned one."""


def _way(nest: str, number: int) -> TunedWay:
    return TunedWay({"kernel": f"{nest}-{number}"}, "id")


def _space(places: Mapping[str, tuple[str, ...]]) -> Space:
    addresses = dict.fromkeys(a for own in places.values() for a in own)
    nests = {a: Tunable(a, "m = 4", tuple(_way(a, n) for n in range(WAYS))) for a in addresses}
    return Space(NESTS, nests, places, "x86-64-v3")


SPACE = _space({"conv1": ("a",), "conv2": ("b",), "conv3": ("b", "c"), "relu": ("d",)})
SECONDS = {
    "a": (100.0, 90.0, 50.0, 120.0),
    "b": (200.0, 190.0, 250.0, 199.9),
    "c": (10.0, 11.0, 12.0, 13.0),
    "d": (0.1, 0.01, 0.01, 0.01),
}
"""Nest -> what each way takes."""


class Pool:
    """Does jobs at once, as `model` says."""

    def __init__(self, model: Callable[[Job, int], Any]) -> None:
        self.model = model
        self.jobs: list[Job] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        del function
        (job,) = arguments
        self.jobs.append(job)
        future: Future[Any] = Future()
        try:
            future.set_result(self.model(job, len(self.jobs)))
        except Exception as error:  # noqa: BLE001 - as an executor hands it on
            future.set_exception(error)
        return future


def times_of(ways: Mapping[str, TunedWay]) -> dict[str, float]:
    """Each op takes what its nests take."""

    def seconds(address: str) -> float:
        way = ways.get(address)
        number = 0 if way is None else int(way.kernel.rpartition("-")[2])
        return SECONDS[address][number]

    return {place: sum(map(seconds, own)) for place, own in SPACE.places.items()}


def done(job: Job, _: int = 0) -> Result:
    times = tuple(times_of(ways) for ways in job.variants)
    return Result(job.key, "", "cpu", "gcc", times, ("",) * len(times))


def tune(model: Callable[[Job, int], Any], **changes: Any) -> tuple[Outcome, Pool]:
    pool, space = Pool(model), changes.pop("space", SPACE)
    look = changes.pop("look", lambda _: [space])  # pyright: ignore[reportUnknownLambdaType]
    job = Job("m.onnx", {}, (), {}, ({},), 1, 1.0, "1")
    budget = changes.pop("budget", 60.0)

    def silent(what: str, passed: float, whole: float) -> None:
        del what, passed, whole

    return Tuner(job, look, pool, budget, silent, **changes).run(), pool


def test_ops_that_share_a_nest_are_tuned_together() -> None:
    assert [(one.places, one.addresses) for one in units_of(SPACE)] == [
        (("conv1",), ("a",)),
        (("conv2", "conv3"), ("b", "c")),
        (("relu",), ("d",)),
    ]


def test_the_fastest_ways_are_found() -> None:
    """Of what takes too little of the time nothing is tried; nothing that is not faster gets another way."""
    outcome, _ = tune(done)
    taken = {one.address: one.kernel for one in outcome.records}
    assert taken == {"a": "a-2", "b": "b-1", "c": "c-1"}
    assert outcome.gain == pytest.approx(510.1 / 441.1)
    (first,) = [one for one in outcome.records if one.address == "a"]
    assert (first.untuned, first.seconds, first.where, first.trials) == (100.0, 50.0, "conv1", 3)
    assert (first.cpu, first.compiler, first.target) == ("cpu", "gcc", "x86-64-v3")


def test_what_does_not_hold_is_dropped() -> None:
    """A way looks fast once, and is not in the measurement that counts."""

    def once(job: Job, _: int) -> Result:
        found = done(job)
        if job.rounds > 30:  # the last one
            return found
        times = [dict(one) for one in found.times if one is not None]
        for one, ways in zip(times, job.variants, strict=True):
            if ways.get("a") is not None and ways["a"].kernel == "a-3":
                one["conv1"] = 1.0
        return replace(found, times=tuple(times))

    outcome, _ = tune(once)
    taken = {one.address: (one.kernel, one.gain) for one in outcome.records}
    assert taken["a"] == ("a-0", 1.0)


def test_a_worker_that_is_lost_or_raves_costs_its_job_a_retry() -> None:
    def unsteady(job: Job, number: int) -> Any:
        if number % 3 == 1:
            raise ConnectionError("the worker is gone")
        found = done(job)
        if number % 3 == 2:
            bad = [{place: float("nan") for place in one or {}} for one in found.times]
            return replace(found, times=tuple(bad))
        return found

    outcome, pool = tune(unsteady)
    steady, _ = tune(done)
    assert outcome.records == steady.records
    assert len(pool.jobs) > 2


@pytest.mark.parametrize("how", ["crash", "wrong"])
def test_a_way_that_fails_is_found_and_left_out(how: str) -> None:
    """Of a variant that dies as a whole, or is wrong, the nests are tried by halves."""

    def fragile(job: Job, _: int) -> Result:
        is_bad = [ways.get("a", _way("a", 0)).kernel == "a-2" for ways in job.variants]
        if how == "crash":
            return Result(job.key, "the process ended with signal 11") if any(is_bad) else done(job)
        found = done(job)
        times = [None if bad else one for bad, one in zip(is_bad, found.times, strict=True)]
        errors = ["it computes something else" if bad else "" for bad in is_bad]
        return replace(found, times=tuple(times), errors=tuple(errors))

    outcome, _ = tune(fragile)
    assert {one.address: one.kernel for one in outcome.records} == {
        "a": "a-1",
        "b": "b-1",
        "c": "c-1",
    }
    reason = "it computes something else" if how == "wrong" else "the process ended with signal 11"
    assert outcome.faults == {"conv1": f"a-2: {reason}"}


def test_what_has_a_record_is_not_tried_again() -> None:
    outcome, pool = tune(done, known={nest: _way(nest, 0) for nest in "abcd"})
    assert outcome.records == ()
    assert len(pool.jobs) == 1


def test_each_measurement_is_kept_at_once_and_the_next_run_goes_on_from_it() -> None:
    kept: list[Record] = []
    outcome, _ = tune(done, keep=kept.extend)
    unsure = {one.address: one for one in kept if not one.is_sure}
    assert {one.address: one.kernel for one in unsure.values()} == {
        "a": "a-2", "b": "b-1", "c": "c-1",
    }  # fmt: skip
    assert [one for one in kept if one.is_sure] == list(outcome.records)
    assert not kept[0].is_sure
    # Killed then: the search is done again, of no way but the first.
    none = replace(
        SPACE, nests={a: replace(one, ways=one.ways[:1]) for a, one in SPACE.nests.items()}
    )
    again, _ = tune(done, space=none, unsure=list(unsure.values()))
    assert {one.address: one.kernel for one in again.records} == {
        "a": "a-2",
        "b": "b-1",
        "c": "c-1",
    }
    assert all(one.is_sure for one in again.records)


def test_a_model_that_cannot_be_measured() -> None:
    with pytest.raises(EnvironmentFault) as caught:
        tune(lambda job, _: Result(job.key, "the worker has Inarch 2, the tuner 1; install one"))
    assert caught.value.message == (
        "the model cannot be measured: the worker has Inarch 2, the tuner 1; install one"
    )


def test_an_interrupt_ends_all_and_what_was_measured_is_kept() -> None:
    def interrupted(job: Job, number: int) -> Result:
        if number == 3:
            raise KeyboardInterrupt
        return done(job)

    space = replace(
        SPACE,
        nests={
            address: replace(one, ways=(*one.ways, *(_way(address, 0) for _ in range(3))))
            for address, one in SPACE.nests.items()
        },
    )
    kept: list[Record] = []
    with pytest.raises(KeyboardInterrupt):
        tune(interrupted, space=space, keep=kept.extend)
    assert {one.address: one.kernel for one in kept} == {"a": "a-2", "b": "b-1", "c": "c-1"}


@pytest.mark.parametrize(
    ("build", "budget", "variants", "choices"),
    [
        (7.0, 6.0, [1], (0, None)),  # not even listed
        (7.0, 34.0, [1], (0, 9)),  # a variant and the measurement at the end end at 35 s
        (7.0, 35.0, [1, 2, 2], (3, 6)),
        (7.0, 90.0, [1, 4, 2], (9, 0)),
    ],
)
def test_a_job_is_begun_where_there_is_time_for_it(
    build: float,
    budget: float,
    variants: list[int],
    choices: tuple[int, int | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And for the measurement at the end: the budget is kept but for the first build, which nobody knows."""
    now = [0.0]
    monkeypatch.setattr("inarch.tuning.tuner.time.monotonic", lambda: now[0])

    def slow(job: Job, _: int) -> Result:
        spent = build * len(job.variants)
        now[0] += spent
        return replace(done(job), spent={COMPILING: spent})

    outcome, pool = tune(slow, budget=budget, begun=0.0)
    assert [len(job.variants) for job in pool.jobs] == variants
    assert (outcome.measured, outcome.left) == choices
    assert outcome.passed <= max(budget, build)
    assert sum(outcome.spent.values()) == outcome.passed == now[0]


# ------------------------------------------------------------------------------- choices of passes


def _point(by: str, address: str, *places: str) -> Point:
    return Point(by, address, "usual", ("other",), places, "usual")


LAYOUT = _point("choose-layout", "layout", "conv1", "conv2", "conv3", "relu")
FUSED = _point("fuse-nests", "fused", "conv2", "relu")
SHARED = _point("parallelize{threads=2}", "shared", "conv1")


class Passes:
    """A model whose layout is wrong by default: its nests are others then, and so is what is fused."""

    def __init__(self, layout: float, fused: float) -> None:
        self.layout, self.fused = layout, fused
        """What the other choice makes of the seconds of its ops."""
        self.looked: list[tuple[str, ...]] = []

    def look(self, given: Mapping[str, TunedWay]) -> list[Space]:
        self.looked.append(tuple(given))
        layout = given.get("layout")
        after = "-rows" if layout is not None and layout.choice == "other" else ""
        fused = replace(FUSED, address=FUSED.address + after)
        nests = Tunable(f"a{after}", "m = 4", tuple(_way("a", n) for n in range(3)))
        return [
            space_of_points("choose-layout", [LAYOUT], "x86-64-v3", 1),
            space_of_points("fuse-nests", [fused], "x86-64-v3", 1),
            Space(NESTS, {nests.address: nests}, {"conv1": (nests.address,)}, "x86-64-v3"),
            space_of_points(SHARED.by, [SHARED], "x86-64-v3", 2),
        ]

    def done(self, job: Job, _: int = 0) -> Result:
        return Result(
            job.key,
            "",
            "cpu",
            "gcc",
            tuple(self.times(ways, job.threads) for ways in job.variants),
            ("",) * len(job.variants),
        )

    def times(self, ways: Mapping[str, TunedWay], threads: int) -> dict[str, float]:
        by = {address: way.choice for address, way in ways.items() if way.choice is not None}
        times = {"conv1": 100.0, "conv2 + relu": 100.0, "conv3": 10.0}
        is_rows = by.get("layout") == "other"
        after = "-rows" if is_rows else ""
        for place in times:
            times[place] *= self.layout if is_rows else 1
        if by.get(f"fused{after}") == "other":
            whole = self.fused * times.pop("conv2 + relu")
            times |= {"conv2": 0.9 * whole, "relu": 0.1 * whole}
        if (own := ways.get(f"a{after}")) is not None:
            times["conv1"] *= (1, 0.9, 1.1)[int(own.kernel[-1])]
        if threads > 1 and by.get("shared") != "other":
            times["conv1"] *= 2  # sharing costs more than it saves
        return times


def tune_passes(layout: float, fused: float, **more: Any) -> tuple[Outcome, Pool, Passes]:
    passes = Passes(layout, fused)
    outcome, pool = tune(passes.done, look=passes.look, **more)
    return outcome, pool, passes


def test_what_passes_choose_is_settled_in_their_order() -> None:
    """What is fused, and the nests, are looked at again in the layout that is faster; threads come last."""
    outcome, pool, passes = tune_passes(0.5, 0.8)
    taken = {one.address: one.way.get("choice", one.kernel) for one in outcome.records}
    assert taken == {
        "layout": "other",
        "fused-rows": "other",
        "a-rows": "a-1",
        "shared": "other",
    }
    assert passes.looked[:3] == [(), ("layout",), ("layout", "fused-rows")]
    assert [job.threads for job in pool.jobs][-3:] == [2, 2, 2]
    assert (outcome.untuned, outcome.tuned) == (310.0, pytest.approx(45 + 40 + 5))
    (record,) = [one for one in outcome.records if one.address == "layout"]
    assert (record.kernel, record.untuned, record.seconds) == ("choose-layout", 210.0, 105.0)
    assert record.nest == "other, usually usual"


def test_choices_that_are_right_stay() -> None:
    outcome, _, _ = tune_passes(1.5, 1.2)
    taken = {one.address: one.way.get("choice", one.kernel) for one in outcome.records}
    assert taken == {"layout": "usual", "fused": "usual", "a": "a-1", "shared": "other"}
    known = {one.address: TunedWay(one.way, one.identity) for one in outcome.records}
    outcome, pool, _ = tune_passes(1.5, 1.2, known=known)
    assert (outcome.records, len(pool.jobs)) == ((), 1)


def test_a_choice_that_slows_others_is_dropped() -> None:
    """Its own ops are faster, and all of the model is slower."""

    class Far(Passes):
        def times(self, ways: Mapping[str, TunedWay], threads: int) -> dict[str, float]:
            is_other = any(own.choice == "other" and at == "fused" for at, own in ways.items())
            return super().times(ways, threads) | {"far": 100.0 if is_other else 1.0}

    passes = Far(1.5, 0.8)
    outcome, _ = tune(passes.done, look=passes.look)
    assert {one.address: one.way.get("choice") for one in outcome.records}["fused"] == "usual"
