"""Programs that have a part for a backend, with inputs and what they must give."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from inarch.core.lazy import Array
from inarch.definitions.execute import random_inputs
from inarch.definitions.expected import Expected, expected_of
from inarch.definitions.functions import public_functions
from inarch.dialects import new_context
from inarch.driver.compiler import import_model
from inarch.driver.options import Options
from inarch.ir.report.facts import facts_of
from inarch.offload.backend import Instance
from inarch.passes.partition.report import PartitionReport
from inarch.pipeline.manager import run_pipeline
from inarch.testing.generate.check.offloaded import options_for
from inarch.testing.generate.check.tolerances import told_apart, tolerances_of
from inarch.testing.generate.inputs import inputs
from inarch.testing.generate.program import GeneratedProgram, program_of
from inarch.testing.generate.public import programs


class SkipCheck(Exception):  # noqa: N818 - it says why a check is not made
    """What a check is about, the backend does not have."""


@dataclass(frozen=True)
class Sample:
    """A program of which the backend has a part."""

    name: str
    program: GeneratedProgram
    instance: Instance
    taken: frozenset[str]
    """Ops and patterns that the backend has of it."""
    regions: int
    """In how many functions."""
    is_given: bool
    """Whether it is one of the user's."""

    def parse(self) -> tuple[Context, ModuleOp]:
        """A new module, which a compilation may consume."""
        return self.program.parse()

    def functions(self) -> list[str]:
        """The public ones."""
        return list(public_functions(self.parse()[1]))

    def inputs(self, function: str, seed: int = 0) -> list[Array]:
        """Of a function."""
        if self.is_given:
            return random_inputs(self.parse()[1], seed, function=function)
        return inputs(self.program, self.program.index, function=function)

    def expected(self, function: str, arrays: Sequence[Array]) -> list[Expected]:
        """By definition."""
        context, module = self.parse()
        return expected_of(context, module, arrays, function)

    def compare(self, function: str, arrays: Sequence[Array], found: Sequence[Array]) -> None:
        """Raises AssertionError where the outputs are not what the backend promises."""
        expected = self.expected(function, arrays)
        for number, (one, array) in enumerate(zip(expected, found, strict=True)):
            said = told_apart(one, array, tolerances_of([str(self.instance)]))
            assert said is None, f"@{function}, output {number}{said}"


def samples(instance: Instance, seed: int, count: int, given: Sequence[Path]) -> list[Sample]:
    """The user's programs, and random ones of which the backend has a part. Raises as partitioning does."""
    found: list[Sample] = []
    for path in given:
        context = new_context()
        module = import_model(path, context)
        program = program_of("graph", context, module)
        found.append(Sample(path.name, program, instance, *_taken(program, instance), True))
    for program in programs("graph", seed, count, **options_for([str(instance)])):
        taken, regions = _taken(program, instance)
        if regions:
            found.append(Sample(program.name, program, instance, taken, regions, False))
    return found


def _taken(program: GeneratedProgram, instance: Instance) -> tuple[frozenset[str], int]:
    context, module = program.parse()
    pipeline = Options(backends=[instance]).passes().until("partition")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it takes nothing
        run_pipeline(context, module, pipeline)
    report = facts_of(context).get(PartitionReport)
    owned = report.owned_by(instance.name) if report is not None else ()
    count = len(report.regions(instance.name)) if report is not None else 0
    return frozenset(op.pattern or op.op for op in owned), count


def not_reached(instance: Instance, own: Sequence[Sample]) -> list[str]:
    """What the backend lists, ops and patterns, and no program has."""
    listed = [*(one.name for one in instance.backend.patterns), *instance.backend.op_names()]
    reached = {name for one in own for name in one.taken}
    return [name for name in listed if name not in reached]
