"""Running a pipeline: each pass in turn, watched by instruments. `inarch compile` and `inarch-opt` run this.

An instrument sees the program before and after each pass, and where one fails; it may raise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, ParseError

from inarch.core.errors import InarchError, reason
from inarch.ir.report.analyses import analyses_of
from inarch.ir.report.facts import facts_of
from inarch.ir.verify import Verified, verify_module
from inarch.passes.lower.trial import END, FIRST, Lowering


@dataclass(frozen=True)
class Step:
    """One pass of a pipeline that runs."""

    index: int
    count: int
    """Of the passes of the pipeline."""
    one: ModulePass

    @property
    def name(self) -> str:
        """The pass's."""
        return self.one.name


class Instrument:
    """What watches a program on its way through passes; each method may raise."""

    def wants(self, step: Step) -> bool:
        """Whether the pass is to run; every instrument must say so."""
        del step
        return True

    def before(self, step: Step, module: ModuleOp) -> None:
        """The program before a pass that will run."""

    def after(self, step: Step, module: ModuleOp) -> None:
        """The program that a pass left."""

    def failed(self, step: Step, module: ModuleOp, error: Exception) -> None:
        """The program as a pass left it that raised `error`, which is raised again."""


def run_pipeline(
    context: Context,
    module: ModuleOp,
    passes: Iterable[ModulePass],
    instruments: Sequence[Instrument] = (),
) -> None:
    """Runs passes on `module` in place. Instruments are asked in order, and in reverse after a pass.

    Raises InarchError for what a pass reports; other exceptions of a pass are bugs of the pass and come
    through as they are.
    """
    every = tuple(passes)
    if {FIRST, END} <= {one.name for one in every}:
        facts_of(context).put(Lowering(every))
    for index, one in enumerate(every):
        step = Step(index, len(every), one)
        wishes = [each.wants(step) for each in instruments]  # each is asked, also after a no
        if not all(wishes):
            continue
        for each in instruments:
            each.before(step, module)
        try:
            apply_pass(context, module, one)
        except Exception as error:
            for each in instruments:
                each.failed(step, module, error)
            raise
        analyses_of(context).forget_gone(module)
        for each in reversed(instruments):
            each.after(step, module)


def apply_pipeline(context: Context, module: ModuleOp, passes: Iterable[ModulePass]) -> None:
    """Runs `passes` on `module` in place, and verifies it after each. Raises as `run_pipeline`."""
    run_pipeline(context, module, passes, [Verifier()])


def apply_pass(context: Context, module: ModuleOp, one: ModulePass) -> None:
    """Runs one pass; xDSL's diagnostics become InarchErrors that name the pass."""
    try:
        one.apply(context, module)
    except ParseError as error:  # of a file that the pass reads
        place = error.span.get_location()
        where = f"{error.span.input.name}:{place.line}:{place.col}"
        raise InarchError(f"pass '{one.name}': {error.msg.strip()}", where=where) from error
    except DiagnosticException as error:
        raise InarchError(f"pass '{one.name}': {reason(error)}") from error


class Verifier(Instrument):
    """Verifies what each pass has changed, or only those of `names`; the error names the pass."""

    def __init__(self, names: Collection[str] | None = None) -> None:
        self._names = names
        self._verified = Verified()

    def after(self, step: Step, module: ModuleOp) -> None:
        if self._names is not None and step.name not in self._names:
            return
        try:
            verify_module(module, self._verified)
        except InarchError as error:
            told = [
                InarchError(f"{each.message} (after pass '{step.name}')", where=each.where)
                for each in (error, *error.more)
            ]
            told[0].more = told[1:]
            told[0].after = step.name
            raise told[0] from error
