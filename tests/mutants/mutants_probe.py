"""Loaded into each run of tests, by pytest and by lit: which test runs which
function, and the first failure.

The environment says what is wanted. INARCH_MUTANTS_LOG: a file for what is seen. INARCH_MUTANTS_TESTS: a
file that lists the tests to run, in this order. INARCH_MUTANTS_CPU: after so many seconds no other test
begins. INARCH_MUTANTS_RECORD: a failure does not end the run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_LOG = os.environ.get("INARCH_MUTANTS_LOG")
_CPU = float(os.environ.get("INARCH_MUTANTS_CPU", "inf"))
_seen: set[int] = set()
_failed: set[str] = set()


def hit(number: int) -> None:
    """A function with a probe begins; processes that a test starts tell it, too."""
    if number not in _seen:
        _seen.add(number)
        _log("hit", str(number), os.environ.get("INARCH_MUTANTS_TEST", ""))


def _log(*words: str) -> None:
    if _LOG:
        with Path(_LOG).open("a") as file:
            file.write("\t".join(words) + "\n")


def _cpu() -> float:
    return sum(os.times()[:4])


def begin(test: str) -> float:
    """What is hit from now on is hit by this test."""
    os.environ["INARCH_MUTANTS_TEST"] = test
    _seen.clear()
    return _cpu()


def end(test: str, start: float, *, failed: bool) -> None:
    """The test is over."""
    os.environ["INARCH_MUTANTS_TEST"] = ""
    _seen.clear()
    _log("failed" if failed else "passed", f"{_cpu() - start:.3f}", test)


def watch_lit(format_of_lit: Any) -> None:
    """Each test of lit begins and ends."""
    execute = format_of_lit.execute

    def watched(self: Any, test: Any, config: Any) -> Any:
        name = "/".join(("tests/lit", *test.path_in_suite))
        start = begin(name)
        result: Any = execute(self, test, config)
        code: Any = result.code if hasattr(result, "code") else result[0]
        end(name, start, failed=code.isFailure)
        return result

    format_of_lit.execute = watched


def pytest_runtestloop(session: pytest.Session) -> None:
    """What is listed, and nothing else; or all, the first case of every test before any second one."""
    items = {item.nodeid: item for item in session.items}
    if listed := os.environ.get("INARCH_MUTANTS_TESTS"):
        names = [name for name in Path(listed).read_text().split("\n") if name in items]
    else:
        cases = Counter[str]()
        turns: dict[str, int] = {}
        for name in items:
            cases[name.partition("[")[0]] += 1
            turns[name] = cases[name.partition("[")[0]]
        names = sorted(items, key=lambda name: turns[name])
    session.items[:] = [items[name] for name in names]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    start = begin(item.nodeid)
    result = yield
    end(item.nodeid, start, failed=item.nodeid in _failed)
    if _cpu() > _CPU:
        os._exit(0)  # the time is over
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if not report.passed:
        _failed.add(report.nodeid)  # or skipped: nothing that could see a fault
    if report.failed:
        _stop(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _stop(report.nodeid)


def _stop(test: str) -> None:
    """One failure is enough to see a fault."""
    if not os.environ.get("INARCH_MUTANTS_RECORD"):
        _log("seen", "", test)
        os._exit(1)
