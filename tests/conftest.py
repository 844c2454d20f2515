"""What every test run does: samples the cases of long parametrised tests, and hides plugins of others.

A test of more than `SAMPLE` cases runs a fixed sample of them, so that `make test` is short enough for every
commit. `--cases all` runs all, `--cases rest` those that the sample leaves out (a part of `make soak`),
`--cases few` at most `FEW` of each test (`make wheel`: the same code, installed). Tests
that are `slow` or `fuzz` run whole, but for those with a mark of their own, which `make slow` samples too.
The sample is the same in each run and on each machine: a mark says where it should be larger:

    @pytest.mark.sampled(80, reason="each op once")
    @pytest.mark.every_case(reason="each is a message of its own")
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from effort import SEED, SOAK, let_children_hear, shard_of
from inarch.machine.target import parse

SAMPLE = 8
"""How many cases of a test run by default."""
FEW = 1

_GOLDEN = (5**0.5 - 1) / 2

_LEFT_OUT = pytest.StashKey[int]()

# No clock decides, and nothing is remembered from run to run: the same commit has the same cases.
settings.register_profile("gate", derandomize=True, deadline=None, database=None)
settings.register_profile("soak", deadline=None, database=None, print_blob=True)
settings.load_profile("soak" if SOAK else "gate")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cases",
        choices=("sample", "few", "all", "rest"),
        default="sample",
        help="of parametrised tests: a fixed sample, one case, all, or those beside the sample",
    )

    parser.addoption(
        "--shard",
        metavar="K/N",
        help="of N parts of the files the one of number K from 0; a file's name says which",
    )
    parser.addoption(
        "--report", type=Path, metavar="FILE", help="a JSON line for each case, as it ends"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "sampled(size, reason): how many of its cases run without `--cases all`"
    )
    config.addinivalue_line(
        "markers", "cpu(target): needs a CPU that runs code for the target; INARCH_NATIVE limits it"
    )
    config.addinivalue_line("markers", "every_case(reason): all of its cases always run")
    config.stash[_LEFT_OUT] = 0
    let_children_hear()
    if SOAK and config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(SEED)
    if report := config.getoption("report"):
        config.pluginmanager.register(_Report(report), "report")
    # What is installed beside Inarch is not under test; those that test plugins ask for them.
    os.environ["INARCH_PLUGINS"] = "none"


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("cpu"):
        if missing := parse(mark.args[0]).missing_here():
            pytest.skip(f"needs {mark.args[0]}: this CPU lacks {', '.join(missing)}")


class _Report:
    """For tests/gate.py: `{"name"}` when a case begins, `{"name", "outcome", "cpu", "text"}` when it ends."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1, encoding="utf-8")
        self._phases: list[pytest.TestReport] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._write({"name": item.nodeid})
        self._phases.clear()
        before = os.times()[:4]  # of this process and of the children that ended
        result = yield
        cpu = sum(os.times()[:4]) - sum(before)
        outcomes = [phase.outcome for phase in self._phases]
        outcome = next((one for one in ("failed", "skipped") if one in outcomes), "passed")
        text = "".join(phase.longreprtext for phase in self._phases if phase.outcome == "failed")
        self._write({"name": item.nodeid, "outcome": outcome, "cpu": round(cpu, 2), "text": text})
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._phases.append(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome == "failed":
            text = str(report.longrepr)
            self._write({"name": report.nodeid, "outcome": "failed", "cpu": 0.0, "text": text})

    def _write(self, line: dict[str, object]) -> None:
        self._file.write(json.dumps(line) + "\n")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of other shards are not even imported."""
    shard: str | None = config.getoption("shard")
    if shard is None or not collection_path.name.startswith("test_"):
        return None
    number, _, count = shard.partition("/")
    name = collection_path.relative_to(Path(__file__).parent).as_posix()
    return None if shard_of(name, int(count)) == int(number) else True


@pytest.hookimpl(trylast=True)  # of what -m and -k leave
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    which = config.getoption("cases")
    if which == "all":
        return
    sample = sampled(items, FEW if which == "few" else None)
    kept = [item for item in items if (item in sample) == (which != "rest")]
    chosen = set(kept)
    left_out = [item for item in items if item not in chosen]
    config.stash[_LEFT_OUT] = len(left_out)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def sampled(items: Sequence[pytest.Item], most: int | None = None) -> set[pytest.Item]:
    """The items that run by default, or `most` of each test."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    found: set[pytest.Item] = set()
    for cases in functions.values():
        size = most or _size(cases[0])
        if size is None or len(cases) <= size:
            found.update(cases)
            continue
        parameters = [getattr(item, "callspec").params for item in cases]  # noqa: B009 - untyped
        found.update(cases[index] for index in spread(parameters, size))
    return found


def _size(item: pytest.Item) -> int | None:
    """How many cases of the test run; None for all."""
    for name in ("sampled", "every_case"):
        mark = item.get_closest_marker(name)
        if mark is not None and not mark.kwargs.get("reason"):
            raise pytest.UsageError(f"{item.nodeid}: expected a reason in the mark {name}")
    mark = item.get_closest_marker("sampled")
    if mark is not None:
        return int(mark.args[0])
    whole = any(item.get_closest_marker(name) for name in ("every_case", "slow", "fuzz"))
    return None if whole else SAMPLE


def _told(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # Python writes no integer of more than 4300 digits
        return type(value).__name__


def spread(cases: Sequence[Mapping[str, Any]], size: int) -> list[int]:
    """The indices of `size` cases: each next one has most values of parameters that none had yet.

    Of those that are equal in this it is the first in the order of the golden ratio's multiples, any
    beginning of which is spread evenly.
    """
    values = [{(name, _told(value)) for name, value in case.items()} for case in cases]
    order = sorted(range(len(cases)), key=lambda index: index * _GOLDEN % 1)
    seen: set[tuple[str, str]] = set()
    found: list[int] = []
    for _ in range(min(size, len(cases))):
        best = max(order, key=lambda index: len(values[index] - seen))
        order.remove(best)
        seen |= values[best]
        found.append(best)
    return found


def pytest_collection_finish() -> None:
    """The ten thousand cases stay until the end: the garbage collector need not look at them again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


# ------------------------------------------------------------------------------------ what was left out


def pytest_sessionfinish(session: pytest.Session) -> None:
    output: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if output is not None:  # a worker of pytest-xdist tells the one that prints
        output["left_out"] = session.config.stash[_LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output: Mapping[str, int] = getattr(node, "workeroutput", {})
    config: pytest.Config = node.config
    config.stash[_LEFT_OUT] = max(config.stash[_LEFT_OUT], output.get("left_out", 0))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if number := config.stash[_LEFT_OUT]:
        other = "rest" if config.getoption("cases") != "rest" else "sample"
        terminalreporter.write_line(
            f"{number} cases of parametrised tests left out (--cases {other} runs them, "
            "--cases all everything)"
        )
