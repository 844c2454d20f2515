"""A lit test format that runs `inarch-opt ... | filecheck ...` inside the worker of lit.

    # lit.cfg.py
    from inarch.testing.lit_format import InProcessFormat
    config.test_format = InProcessFormat()

A test whose RUN lines consist of known tools, pipes, `not` and `2>&1` runs in process, about fifty
times faster; any other one (redirections, `&&`, other commands), and every one with
`-Dsubprocess=1`, runs the classic way. A tool is a function
`run(argv, stdin) -> (exit code, stdout, stderr)`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

Tool = Callable[[Sequence[str], str | None], tuple[int, str, str]]

TOOLS: Mapping[str, str] = {
    "inarch-opt": "inarch.tools.opt:run",
    "inarch": "inarch.tools.cli:run",
    "filecheck": "inarch.testing.lit_format:filecheck",
}
"""The known tools, as `module:function`; imported when first used."""

# lit has no types.
_runner: Any = import_module("lit.TestRunner")
_test: Any = import_module("lit.Test")
_ShTest: Any = import_module("lit.formats").ShTest

_CONTROL = frozenset("<>&|;()`")


@dataclass(frozen=True)
class Stage:
    """One command of a pipe: its words, whether `not` precedes it, whether `2>&1` follows it."""

    words: tuple[str, ...]
    inverted: bool = False
    merged: bool = False


def filecheck(argv: Sequence[str], stdin: str | None) -> tuple[int, str, str]:
    """The `filecheck` command on `stdin`."""
    from filecheck.error import ParseError
    from filecheck.finput import FInput
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options
    from filecheck.parser import Parser

    errors = StringIO()
    try:
        options = parse_argv_options(["filecheck", *argv])
        if options.input_file == "-":
            source = FInput("<stdin>", stdin or "")
        else:
            source = FInput.from_opts(options)
        matcher = Matcher(options, source, Parser.from_opts(options))
        matcher.stderr = errors
        with contextlib.redirect_stdout(errors), contextlib.redirect_stderr(errors):
            code = matcher.run()
    except (RuntimeError, OSError, ParseError) as error:
        return 2, "", f"filecheck: {error}\n{errors.getvalue()}"
    return code, "", errors.getvalue()


def parse_command(command: str, tools: Mapping[str, str]) -> list[Stage] | None:
    """The stages of a RUN line, or None when it needs a shell or a tool that is not known.

    >>> parse_command("not inarch-opt a.mlir 2>&1 | filecheck a.mlir", TOOLS)
    [Stage(words=('inarch-opt', 'a.mlir'), inverted=True, merged=True), \
Stage(words=('filecheck', 'a.mlir'), inverted=False, merged=False)]
    >>> parse_command("inarch-opt a.mlir > b.mlir", TOOLS) is None
    True
    """
    marked = re.sub(r"\s2>&1(?=\s|$)", " \0", command)
    lexer = shlex.shlex(marked, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # an open quote: the shell's message is better
        return None
    stages: list[Stage] = []
    current: list[str] = []
    for word in [*words, "|"]:
        if word != "|":
            current.append(word)
            continue
        stage = _stage(current, tools)
        if stage is None:
            return None
        stages.append(stage)
        current = []
    return stages


def _stage(words: list[str], tools: Mapping[str, str]) -> Stage | None:
    merged = words[-1:] == ["\0"]
    words = words[:-1] if merged else words
    inverted = words[:1] == ["not"]
    words = words[1:] if inverted else words
    if not words or words[0] not in tools or "\0" in words:
        return None
    if any(set(word) <= _CONTROL for word in words if word):
        return None
    return Stage(tuple(words), inverted, merged)


class InProcessFormat(_ShTest):  # pyright: ignore[reportUntypedBaseClass]
    """lit's ShTest, except that tests which use known tools only run within the worker.

    `tools` adds tools of your own: `{"my-opt": "my_package.opt:run"}`.
    """

    def __init__(self, tools: Mapping[str, str] | None = None) -> None:
        _ShTest.__init__(self)
        self.tools = {name: target for name, target in TOOLS.items() if _is_there(target)}
        for name, target in (tools or {}).items():
            _load(target)  # once, in the parent: workers are forked
            self.tools[name] = target

    def execute(self, test: Any, litConfig: Any) -> Any:  # noqa: N803 - lit's names
        if test.config.unsupported or litConfig.noExecute or _wants_processes(litConfig):
            return _ShTest.execute(self, test, litConfig)
        script = _runner.parseIntegratedTestScript(test)
        if isinstance(script, _test.Result):
            return script
        directory, base = _runner.getTempPaths(test)
        substitutions = _runner.getDefaultSubstitutions(test, directory, base)
        lines = _runner.applySubstitutions(
            script,
            substitutions,
            dict.fromkeys(test.config.available_features, True),
            recursion_limit=test.config.recursiveExpansionLimit,
        )
        commands = [re.sub(r"^%dbg\([^)]*\)\s*", "", line) for line in lines]
        pipes = [parse_command(command, self.tools) for command in commands]
        if any(pipe is None for pipe in pipes):
            return _ShTest.execute(self, test, litConfig)
        Path(directory).mkdir(parents=True, exist_ok=True)
        with _surroundings(Path(test.getExecPath()).parent, test.config.environment):
            for command, pipe in zip(commands, pipes, strict=True):
                failure = _run_pipe(pipe or [], self.tools)
                if failure is not None:
                    text = f"$ {command}\n{failure}"
                    return _test.Result(_test.FAIL, text)
        return _test.Result(_test.PASS, "")


def _wants_processes(config: Any) -> bool:
    return str(config.params.get("subprocess", "0")).lower() not in ("", "0", "false", "no")


def _is_there(target: str) -> bool:
    """Whether the tool can be used in process; one that cannot is run as a process."""
    try:
        _load(target)
    except (ImportError, AttributeError):
        return False
    return True


def _load(target: str) -> Tool:
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


@contextlib.contextmanager
def _surroundings(folder: Path, environment: Mapping[str, str]) -> Generator[None]:
    """The working directory and the environment that a process of the test would have."""
    old_folder, old_environment = Path.cwd(), dict(os.environ)
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(old_environment)
        os.chdir(old_folder)


def _run_pipe(stages: Sequence[Stage], tools: Mapping[str, str]) -> str | None:
    """Runs the stages, each on the last one's output; what to report when any fails (pipefail)."""
    data = ""
    report: list[str] = []
    failed = False
    for stage in stages:
        code, data, errors = _run_tool(_load(tools[stage.words[0]]), stage.words[1:], data)
        if stage.merged:
            data, errors = errors + data, ""
        bad = (code == 0) if stage.inverted else (code != 0)
        failed = failed or bad
        expected = "not " if stage.inverted else ""
        report.append(f"# {expected}{stage.words[0]}: exit code {code}\n{errors}")
    return "".join(report) + (f"# output:\n{data}" if data else "") if failed else None


def _run_tool(tool: Tool, argv: Sequence[str], stdin: str) -> tuple[int, str, str]:
    """Runs one tool; what it prints besides its result is kept, and an exception is a failure."""
    extra_out, extra_err = StringIO(), StringIO()
    with contextlib.redirect_stdout(extra_out), contextlib.redirect_stderr(extra_err):
        try:
            code, out, err = tool(argv, stdin)
        except SystemExit as leaving:
            code, out, err = leaving.code if isinstance(leaving.code, int) else 1, "", ""
        except Exception:  # noqa: BLE001 - a crash of a tool is a failed test, not a failed run
            code, out, err = 134, "", traceback.format_exc()
    return code, extra_out.getvalue() + out, extra_err.getvalue() + err
