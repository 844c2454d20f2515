"""A pytest that has collected its tests, and runs some in a child process for each request.

Imports and collection are done once for all faults of a file. Requests and replies are lines of JSON; the
file that INARCH_MUTANTS_WARM names says by which pipes they come, which tests of lit are among the tests, and
which files get faults. A fault stands in its file already, for processes that tests start; in the child, the
code of the functions that this process has imported is replaced.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import mutants_probe
import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Answers until there are no more requests."""
    gc.unfreeze()  # or its functions are not found
    told: dict[str, Any] = json.loads(Path(os.environ["INARCH_MUTANTS_WARM"]).read_text())
    room = _Room(
        session.items,
        _of_lit(told["lit"]),
        {path: _names(path) for path in told["paths"]},
        _functions({_real(path) for path in told["paths"]}),
        frozenset(_real(file) for one in [*sys.modules.values()] if (file := _file_of(one))),
    )
    gc.collect()
    gc.freeze()  # so that a child copies no page of it
    with os.fdopen(told["requests"]) as requests, os.fdopen(told["replies"], "w") as replies:
        for line in requests:
            print(json.dumps(room.answer(json.loads(line))), file=replies, flush=True)
    return True


@dataclass(frozen=True)
class _Room:
    items: Sequence[pytest.Item]
    lit: dict[str, Any]
    """Its tests by name, each a function that runs it, and says whether it failed."""
    names: dict[str, list[tuple[str, int]]]
    """Of each file, its functions and classes as they were imported, in order."""
    functions: dict[str, list[FunctionType]]
    """The functions that this process has, by the real path of their file."""
    imported: frozenset[str]
    """The real paths of the modules that this process has."""

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The exit code of the child, or "hang"."""
        child = os.fork()
        if not child:
            code = 70
            try:
                code = self._run(request)
            except BaseException:  # noqa: BLE001 - nothing of the child may go on
                traceback.print_exc()
            finally:
                os._exit(code)
        end = time.monotonic() + 4 * request["limit"] + 60
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            if time.monotonic() > end:
                os.kill(child, signal.SIGXCPU)
            time.sleep(0.005)
        _kill_group(child)
        code = os.waitstatus_to_exitcode(status)
        return {"code": "hang" if code == -signal.SIGXCPU else code}

    def _run(self, request: dict[str, Any]) -> int:
        os.setsid()
        limit = int(request["limit"])
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        mutants_probe.tell(**request["tell"])
        if request["put"] and not self._put(request["put"]):
            return CANNOT
        by_name = {item.nodeid: item for item in self.items}
        every = [*self.lit, *(item.nodeid for item in mutants_probe.ordered(self.items))]
        asked: list[str] = request["tests"] or every
        names = [
            name for one in asked for name in (_cases(one, by_name) if one.endswith("[") else [one])
        ]
        items = [by_name[name] for name in names if name in by_name]
        following = dict(zip(items, [*items[1:], None], strict=True)) if items else {}
        for name in names:
            if name in self.lit:
                if self.lit[name]():
                    mutants_probe.stop(name)
                if mutants_probe.is_late():
                    return 0
            elif name in by_name:
                item = by_name[name]
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following[item])
        return 0

    def _put(self, path: str) -> bool:
        """The functions of the file get the code that it has now; False if one of them cannot."""
        after = _codes(path)
        if len(after) != len(self.names[path]):
            return False
        codes = dict(zip(self.names[path], after, strict=True))
        functions = self.functions.get(_real(path), ())
        if not functions and _real(path) in self.imported:
            return False
        for function in functions:
            old = function.__code__
            new = codes.get((old.co_qualname, old.co_firstlineno))
            if new is None or len(new.co_freevars) != len(old.co_freevars):
                return False
            function.__code__ = new
        return True


def _cases(test: str, names: Iterable[str]) -> list[str]:
    """All cases of a test that is named up to its bracket."""
    return [name for name in names if name.startswith(test)]


CANNOT = 71
"""Exit code of a child whose functions cannot be replaced."""


def _kill_group(child: int) -> None:
    try:
        os.killpg(child, signal.SIGKILL)  # with the compilers that it started
    except ProcessLookupError:
        return


def _file_of(module: Any) -> str:
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else ""


def _functions(paths: set[str]) -> dict[str, list[FunctionType]]:
    found: dict[str, list[FunctionType]] = {}
    for each in gc.get_objects():
        # Lambdas cannot be told apart by name.
        if type(each) is FunctionType and each.__code__.co_name != "<lambda>":
            path = _real(each.__code__.co_filename)
            if path in paths:
                found.setdefault(path, []).append(each)
    return found


def _names(path: str) -> list[tuple[str, int]]:
    return [(code.co_qualname, code.co_firstlineno) for code in _codes(path)]


def _codes(path: str) -> list[CodeType]:
    """The functions and classes of a file, in order."""
    return [
        *_within(compile(Path(path).read_text("utf-8"), _real(path), "exec", dont_inherit=True))
    ]


def _within(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if not each.co_name.startswith("<"):  # a comprehension, a lambda
                yield each
            yield from _within(each)


@cache
def _real(path: str) -> str:
    return os.path.realpath(path)


def _of_lit(files: Sequence[str]) -> dict[str, Any]:
    if not files:
        return {}
    no = False
    options: Any = ("lit", [], "error", no, no, [], no, no, no, None, {})
    config = import_module("lit.LitConfig").LitConfig(*options)
    tests: list[Any] = import_module("lit.discovery").find_tests_for_inputs(config, list(files))
    form = import_module("inarch.testing.lit_format").InProcessFormat
    mutants_probe.watch_lit(form)
    execute = import_module("lit.worker")._execute

    def runner(test: Any) -> Any:
        return lambda: execute(test, config).code.isFailure

    return {"/".join(("tests/lit", *test.path_in_suite)): runner(test) for test in tests}
