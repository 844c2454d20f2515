"""Loaded into each run of tests, by pytest and by lit: which test runs which
function, and the first failure.

The environment says what is wanted. INARCH_MUTANTS_LOG: a file for what is seen. INARCH_MUTANTS_TESTS: a
file that lists the tests to run, in this order. INARCH_MUTANTS_CPU: after so many seconds no other test
begins. INARCH_MUTANTS_RECORD: a failure does not end the run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

PREFIX = "INARCH_MUTANTS_"
told = {name: value for name, value in os.environ.items() if name.startswith(PREFIX)}
"""Settings; lit's format empties the environment while a test runs."""
_seen: set[int] = set()
_failed: set[str] = set()


def tell(**values: str) -> None:
    """Changes settings of this process and of processes that it starts; an empty text deletes one."""
    for name, value in values.items():
        told[PREFIX + name] = os.environ[PREFIX + name] = value


def _wanted(name: str) -> str:
    return told.get(PREFIX + name, "")


def hit(number: int) -> None:
    """A function with a probe begins; processes that a test starts tell it, too."""
    if number not in _seen:
        _seen.add(number)
        _log("hit", str(number), _wanted("TEST"))


def _log(*words: str) -> None:
    if log := _wanted("LOG"):
        with Path(log).open("a") as file:
            file.write("\t".join(words) + "\n")


def _cpu() -> float:
    return sum(os.times()[:4])


def begin(test: str) -> float:
    """What is hit from now on is hit by this test."""
    tell(TEST=test)
    _seen.clear()
    return _cpu()


def end(test: str, start: float, *, failed: bool) -> None:
    """The test is over."""
    tell(TEST="")
    _seen.clear()
    _log("failed" if failed else "passed", f"{_cpu() - start:.3f}", test)


def is_late() -> bool:
    """Whether no other test begins."""
    return _cpu() > float(_wanted("CPU") or "inf")


def watch_lit(format_of_lit: Any) -> None:
    """Each test of lit begins and ends."""
    execute = format_of_lit.execute

    def watched(self: Any, test: Any, config: Any) -> Any:
        name = "/".join(("tests/lit", *test.path_in_suite))
        start = begin(name)
        for each in ("PYTHONPATH", *told):  # of the processes that lit starts
            test.config.environment[each] = os.environ[each]
        result: Any = execute(self, test, config)
        code: Any = result.code if hasattr(result, "code") else result[0]
        end(name, start, failed=code.isFailure)
        return result

    format_of_lit.execute = watched


def ordered(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The first case of every test before any second one."""
    cases = Counter[str]()
    rank: dict[pytest.Item, int] = {}
    for item in items:
        cases[item.nodeid.partition("[")[0]] += 1
        rank[item] = cases[item.nodeid.partition("[")[0]]
    return sorted(items, key=lambda item: rank[item])


def pytest_runtestloop(session: pytest.Session) -> None:
    """Runs the listed tests alone; without a list, all."""
    items = {item.nodeid: item for item in session.items}
    if listed := _wanted("TESTS"):
        names = Path(listed).read_text().split("\n")
        session.items[:] = [items[name] for name in names if name in items]
    else:
        session.items[:] = ordered(session.items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    start = begin(item.nodeid)
    result = yield
    end(item.nodeid, start, failed=item.nodeid in _failed)
    if is_late():
        os._exit(0)
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if not report.passed:
        _failed.add(report.nodeid)  # or skipped: nothing that could see a fault
    if report.failed:
        stop(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        stop(report.nodeid)


def stop(test: str) -> None:
    """One failure is enough to see a fault."""
    if not _wanted("RECORD"):
        _log("seen", "", test)
        os._exit(1)
