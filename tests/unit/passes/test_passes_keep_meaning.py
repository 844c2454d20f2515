"""Every registered pass alone, and the pipeline as a whole, against the definitions of the ops.

There is no list: a pass is tested by being registered, on every program of tests/lit/passes that it takes.
Each program's outputs are computed once, with their bounds, before any pass; nothing is compiled.
"""

from __future__ import annotations

import re
import shlex
import zlib
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.passes import ModulePass

from effort import SEED, effort
from inarch.backends import BACKENDS
from inarch.core.errors import InarchError, InternalError
from inarch.core.plugins import load_file
from inarch.definitions.compare import compare
from inarch.definitions.expected import kept_constants
from inarch.definitions.functions import Array, functions_of, public_functions
from inarch.dialects import DIALECTS, new_context
from inarch.driver.watch import Watch
from inarch.ir.report.facts import facts_of
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module
from inarch.microkernel.table import MICROKERNELS
from inarch.passes import PASSES
from inarch.passes.lower.graph_to_loop import RULES
from inarch.passes.partition.report import Recorder
from inarch.pipeline.default import default_pipeline
from inarch.pipeline.manager import Verifier, run_pipeline
from inarch.pipeline.text import parse_pipeline
from inarch.testing import Expected, execute, expected_of, generate, random_inputs

LIT = Path(__file__).parents[2] / "lit" / "passes"
SAMPLE = effort(3, 12)
"""Programs of other passes' files on which a pass is tried in the fast part."""

TARGETS = ("generic", "x86-64-v2", "x86-64-v3", "x86-64-v4")
"""Definitions need no machine of these."""


@dataclass(frozen=True)
class Program:
    """A piece of a lit test; `index` counts the pieces of the file."""

    path: Path
    index: int
    text: str

    @property
    def name(self) -> str:
        return f"{self.path.relative_to(LIT).with_suffix('')}-{self.index}"


@dataclass(frozen=True)
class Meant:
    """A program that verifies and runs, and what its functions give."""

    context: Context
    module: ModuleOp
    inputs: dict[str, list[Array]]
    expected: dict[str, list[Expected]]


@cache
def programs() -> tuple[Program, ...]:
    found: list[Program] = []
    for path in sorted(LIT.rglob("*.mlir")):
        if path.stem.endswith("-invalid"):
            continue
        pieces = re.split(r"^// -----$", path.read_text(), flags=re.MULTILINE)
        found += [Program(path, index, piece) for index, piece in enumerate(pieces)]
    return tuple(found)


@cache
def meant(program: Program) -> Meant | None:
    """None where the program is one that must be refused, has nothing to run, or calls an import."""
    context = new_context()
    try:
        module = parse_module(context, program.text, program.name)
        verify_module(module)
        inputs = {
            name: random_inputs(module, 0, function=name) for name in public_functions(module)
        }
        expected = {name: expected_of(context, module, x, name) for name, x in inputs.items()}
    except (InternalError, AssertionError):
        raise
    except InarchError:
        return None
    return Meant(context, module, inputs, expected) if any(expected.values()) else None


def options_of(name: str) -> list[ModulePass]:
    """The pass as it is used in RUN lines of its lit tests, and with its defaults, if it has them."""
    made = {} if PASSES[name].required_fields() else {name: next(iter(parse_pipeline(name)))}
    for program in programs():
        for line in re.findall(r"^// RUN: (.*)$", program.text, flags=re.MULTILINE):
            words = shlex.split(line)
            if "-p" not in words or "not" in words:
                continue
            text = words[words.index("-p") + 1]
            try:
                passes = parse_pipeline(text)
            except InarchError:
                continue
            made |= {str(one.pipeline_pass_spec()): one for one in passes if one.name == name}
    return list(made.values())


def applied(one: ModulePass, given: Meant) -> ModuleOp | None:
    """The program after the pass; None where the pass refuses it."""
    module = given.module.clone()
    try:
        one.apply(given.context, module)
    except InternalError:
        raise
    except InarchError:
        return None
    verify_module(module)
    return module


def check(one: ModulePass, program: Program) -> bool:
    """Whether the pass does something with the program, which then still means the same."""
    given = meant(program)
    if given is None:
        return False
    forget(given)
    with kept_constants(given.context):
        module = applied(one, given)
        if module is None or print_module(module) == print_module(given.module):
            return False
        compare_all(f"{one.pipeline_pass_spec()} on {program.name}", module, given)
    return True


def forget(given: Meant) -> None:
    """What `annotate` has found out about another copy, `partition` is not to tell of this one."""
    facts_of(given.context).take(Recorder)


def compare_all(what: str, module: ModuleOp, given: Meant) -> None:
    """Every function of `module` does what it is to do."""
    for name, wanted in given.expected.items():
        assert name in public_functions(module), f"{what}: function @{name} is gone"
        found = execute(module, given.inputs[name], given.context, function=name)
        compare(f"{name}, {what}", wanted, found)


def own(name: str) -> list[Program]:
    """The programs of the pass's own tests."""
    return [each for each in programs() if each.path.stem.startswith(name)]


def others(name: str) -> Iterator[Program]:
    """The rest, in an order of its own for each pass."""
    rest = [each for each in programs() if not each.path.stem.startswith(name)]
    return iter(sorted(rest, key=lambda each: zlib.crc32(f"{name} {each.name}".encode())))


@pytest.fixture
def loaded(name: str) -> Generator[None]:
    """What the RUN lines of the pass's own tests `--load`."""
    tables: dict[str, Any] = {
        table.kind: table for table in (PASSES, DIALECTS, RULES, BACKENDS, MICROKERNELS)
    }
    files = {
        (program.path.parent / word).resolve()
        for program in own(name)
        for word in re.findall(r"--load %S/(\S+)", program.text)
    }
    with ExitStack() as stack:
        for table in tables.values():
            stack.enter_context(table.scope())
        for path in sorted(files):
            load_file(path, tables)
        yield


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("name", list(PASSES))
def test_a_pass_alone_keeps_what_programs_mean(name: str) -> None:
    """... and it does something on at least one of them, so that this says something of it.

    A pass that says it is an analysis does nothing to any.
    """
    ways, rest = options_of(name), list(others(name))
    done = [check(one, each) for one in ways for each in (*own(name), *rest[:SAMPLE])]
    if getattr(PASSES[name], "is_analysis", False):
        assert not any(done), f"pass '{name}' changes a program, and says that it is an analysis"
        return
    further = (check(one, each) for each in rest[SAMPLE:] for one in ways)
    assert any(done) or any(further), (
        f"no program of {LIT} exercises pass '{name}'; add one that runs"
    )


@pytest.mark.slow
@pytest.mark.sampled(
    8, reason="every program of tests/lit takes 5 s a pass; --cases all runs all passes"
)
@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("name", list(PASSES))
def test_a_pass_alone_keeps_what_every_program_means(name: str) -> None:
    for one in options_of(name):
        for program in others(name):
            check(one, program)


def on_tensors() -> list[Program]:
    """The programs at the level where the pipeline begins."""
    return [program for program in programs() if "graph." in program.text]


def check_pipeline(program: Program, target: str) -> None:
    """Each pass at its place, after those before it."""
    given = meant(program)
    if given is None:
        return
    module = given.module.clone()
    types = [t for f in functions_of(module).values() for t in f.function_type.inputs]
    if not all(isinstance(each, TensorType) for each in types):
        return
    module.attributes["inarch.target"] = StringAttr(target)
    forget(given)
    with kept_constants(given.context):
        watch = Watch(given.context)
        watch.begin(module)
        try:
            run_pipeline(given.context, module, default_pipeline(), [watch, Verifier()])
        except InternalError:
            raise
        except InarchError:
            return


@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
def test_the_pipeline_keeps_what_programs_mean(target: str) -> None:
    chosen = sorted(on_tensors(), key=lambda each: zlib.crc32(f"{target}{each.name}".encode()))
    for program in chosen[:SAMPLE]:
        check_pipeline(program, target)


@pytest.mark.slow
@pytest.mark.sampled(
    2, reason="every program of tests/lit takes 10 s a target; --cases all runs four"
)
@pytest.mark.parametrize("target", TARGETS)
def test_the_pipeline_keeps_what_every_program_means(target: str) -> None:
    for program in on_tensors():
        check_pipeline(program, target)


# ---------------------------------------------------------------------------------- generated


@cache
def generated(level: str, seed: int, index: int) -> tuple[generate.GeneratedProgram, Meant | None]:
    """A random program, and what it means; None where that is an error, which it must not be at seed 0."""
    (program,) = generate.programs(level, seed, 1, start=index)
    context, module = program.parse()
    arrays = {name: generate.inputs(program, seed, function=name) for name in program.functions()}
    expected = {name: expected_of(context, module, x, name) for name, x in arrays.items()}
    return program, Meant(context, module, arrays, expected)


def check_generated(one: ModulePass, level: str, seed: int, index: int) -> None:
    program, given = generated(level, seed, index)
    if given is None:
        return
    forget(given)
    with kept_constants(given.context):
        module = applied(one, given)
        if module is None or print_module(module) == print_module(given.module):
            return
        compare_all(f"{one.pipeline_pass_spec()} on {program.name}", module, given)


@pytest.mark.parametrize("level", generate.LEVELS)
def test_passes_alone_keep_what_random_programs_mean(level: str) -> None:
    for index in range(effort(1, 2)):
        for name in PASSES:
            if not PASSES[name].required_fields():
                check_generated(next(iter(parse_pipeline(name))), level, 0, index)


@pytest.mark.fuzz
@pytest.mark.parametrize("level", generate.LEVELS)
def test_passes_alone_keep_what_many_random_programs_mean(level: str) -> None:
    """Other ones with each run of the search; the seed is in the message of a failure."""
    for index in range(8):
        for name in PASSES:
            if not PASSES[name].required_fields():
                check_generated(next(iter(parse_pipeline(name))), level, SEED, index)
