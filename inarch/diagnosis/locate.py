"""Where a fault is: the fewest steps that show it, then the pass, or the compiled function and its kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.definitions.compare import Expected, compare
from inarch.definitions.expected import expected_of
from inarch.diagnosis.allowed import Taken, expected_values, taken_by
from inarch.diagnosis.contained import CrashError, contained, run_contained
from inarch.diagnosis.slices import Slice
from inarch.dialects import new_context
from inarch.dialects.kernel.call import CallOp
from inarch.driver.compile import compile as compile_model
from inarch.driver.options import Options
from inarch.ir.context import store_of
from inarch.ir.edit import erase
from inarch.ir.functions import is_public
from inarch.ir.report.facts import facts_of
from inarch.ir.text import print_module
from inarch.passes.lower.algorithm import IdleAlgorithmError, drop_selection, selections_of
from inarch.passes.lower.graph_to_loop import GraphToLoopPass
from inarch.passes.lower.weighed import Algorithms
from inarch.passes.tensorize.tensorize import IdleKernelError
from inarch.pipeline.manager import Instrument, Step, run_pipeline
from inarch.runtime.module import Module
from inarch.testing import check_compiled, execute

COMPILE_SECONDS = 120.0
"""Beside what the code of one function takes: its definition, and the C compiler."""


@dataclass(frozen=True)
class FaultPlace:
    """What is at fault, as far as it is known: `steps` are one op of the model, or a few together."""

    stage: str
    """`import`, `region` (of a backend), `backend` (whose regions are right alone), `pass`, `bound` (of an
    algorithm, whose nests round by more), `code` (what the host made), or `together` (no part of it is wrong
    alone)."""
    steps: tuple[str, ...]
    pass_name: str | None = None
    function: str | None = None
    kernel: str | None = None
    backend: str | None = None
    algorithms: tuple[str, ...] = ()
    """Of a pass that lowers by algorithms, which are not the ops' own: those, and where they come from."""

    @property
    def text(self) -> str:
        """One line."""
        where = " .. ".join(dict.fromkeys((self.steps[0], self.steps[-1])))
        culprit = {
            "import": "its import",
            "region": f"region '{self.function}' of backend '{self.backend}'",
            "backend": f"backend '{self.backend}', whose regions are right alone",
            "pass": f"pass '{self.pass_name}'",
            "bound": "a declared bound of errors below the rounding of its nests",
            "code": f"compiled function '{self.function}'",
            "together": "no pass and no compiled function alone",
        }[self.stage]
        kernel = f", microkernel '{self.kernel}'" if self.kernel else ""
        by = f", algorithm {' and '.join(self.algorithms)}" if self.algorithms else ""
        return f"{where}: {culprit}{kernel}{by}"

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "stage": self.stage,
            "ops": list(self.steps),
            "pass": self.pass_name,
            "function": self.function,
            "microkernel": self.kernel,
            "backend": self.backend,
            "algorithms": list(self.algorithms),
        }


@dataclass(frozen=True)
class CompiledPart:
    """A part as it is compiled, and the algorithms by which its ops are computed."""

    part: Slice
    module: Module
    taken: Taken

    def run(self, inputs: Mapping[str, Array], seconds: float) -> dict[str, Array]:
        """Its values by name. Raises CrashError where its code crashes, or takes longer than `seconds`."""
        given = {name: inputs[name] for name in self.part.takes}
        return run_contained(self.module, given, seconds)


def compiled_part(
    part: Slice,
    context: Context,
    keywords: Mapping[str, Any],
    progress: Callable[[str, int, int], None],
    *,
    is_whole: bool = False,
) -> CompiledPart:
    """A part as it is compiled. Backends that get nothing of it are no news.

    What is demanded of the whole and is of no use here is not demanded of the part any more. Raises
    IdleAlgorithmError for an algorithm that is named where it applies to no op of the whole.
    """
    wish: dict[str, Any] = {**keywords, "progress": progress}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while True:
            try:
                own = own_context(part, context)
                made = compile_model(part.module.clone(), context=own, **wish)
                return CompiledPart(part, made, taken_by(facts_of(own).get(Algorithms)))
            except IdleKernelError:
                del part.module.attributes["inarch.microkernels"]
            except IdleAlgorithmError as idle:
                if is_whole:
                    raise
                if idle.selection in selections_of(part.module):
                    drop_selection(part.module, idle.selection)
                elif wish.pop("schedule", None) is None:
                    raise


def own_context(part: Slice, context: Context) -> Context:
    """A context that passes may take constants out of: those of `part` alone."""
    own = new_context()
    source, target = store_of(context), store_of(own)
    for op in part.module.walk():
        value = op.properties.get("value")
        if isinstance(value, DenseResourceAttr):
            key = value.resource_handle.data
            target.set(key, source.get(key))
    return own


def place_of(
    part: Slice,
    context: Context,
    inputs: Mapping[str, Array],
    expected: Sequence[Expected],
    inside: tuple[str, ...],
    progress: Callable[[str, int, int], None],
    seconds: float,
    options: Options,
    found: Sequence[Array] = (),
) -> FaultPlace:
    """Who makes `part`, which must give `expected`, wrong: a pass, or what the host makes of one function.

    The passes are those of a compilation with `options`, those of others among them. None is at fault where
    the definitions give something else before the first one: then `expected` is. `found`: what the part gave.
    """
    given = [inputs[name] for name in part.takes]
    own = own_context(part, context)
    module = part.module.clone()
    comparison = _Comparison(own, given, expected, progress, found)
    if not comparison.accepts(module):  # an algorithm may declare less than the ops' own rounding
        stated = expected_values(part, context, inputs)
        comparison.expected = _wider(expected, [stated[name] for name in part.gives])
    watching = [comparison] if comparison.accepts(module) else []
    try:
        run_pipeline(own, module, options.passes(), watching)
    except _Guilty as guilty:
        taken = comparison.algorithms if guilty.step == GraphToLoopPass.name else ()
        return FaultPlace(guilty.stage, inside, pass_name=guilty.step, algorithms=taken)
    wrong = _wrong_function(own, module, progress, seconds, options.host)
    if wrong is None:
        return FaultPlace("together", inside)
    return FaultPlace("code", inside, function=wrong[0], kernel=wrong[1])


@dataclass
class _Comparison(Instrument):
    """Runs the program after each pass that has changed it."""

    context: Context
    inputs: Sequence[Array]
    expected: Sequence[Expected]
    progress: Callable[[str, int, int], None]
    found: Sequence[Array] = ()
    known: str = ""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """That are taken so far, but for direct, with their sources."""
        report = facts_of(self.context).get(Algorithms)
        return tuple(report.taken) if report is not None else ()

    def after(self, step: Step, module: ModuleOp) -> None:
        """Raises _Guilty where the program means something else."""
        self.progress(f"check after {step.name}", 0, 1)
        text = print_module(module)
        if text == self.known:
            return  # other constants have other keys, which are in the text
        self.known = text
        if step.name == GraphToLoopPass.name and self.algorithms:
            self._judge_nests(module)
        elif not self.accepts(module):
            raise _Guilty(step.name)

    def _judge_nests(self, module: ModuleOp) -> None:
        """Raises _Guilty where the nests of algorithms mean something else, or round by more than is allowed.

        From there on the program is allowed what they round by.
        """
        try:
            nests = expected_of(self.context, module, self.inputs)
        except (AssertionError, InarchError):
            raise _Guilty(GraphToLoopPass.name) from None
        wider = _wider(self.expected, nests)
        if not all(map(_accepts, wider, [nest.center for nest in nests])):
            raise _Guilty(GraphToLoopPass.name)
        if self.found and all(map(_accepts, nests, self.found)):
            raise _Guilty(GraphToLoopPass.name, "bound")
        self.expected = wider

    def accepts(self, module: ModuleOp) -> bool:
        """Whether the program means what is expected, and anything."""
        try:
            compare("main", self.expected, execute(module, self.inputs, self.context))
        except (AssertionError, InarchError):
            return False
        return True


def _wider(some: Sequence[Expected], others: Sequence[Expected]) -> list[Expected]:
    """The values of `some`, with the larger bounds of both."""
    return [
        replace(one, bound=np.maximum(one.bound, other.bound))
        for one, other in zip(some, others, strict=True)
    ]


def _accepts(expected: Expected, found: Array) -> bool:
    return bool(expected.accepts(found).all())


class _Guilty(Exception):  # noqa: N818 - it is caught here
    """The first pass whose output means something else, or rounds by more than is allowed."""

    def __init__(self, step: str, stage: str = "pass") -> None:
        super().__init__(step)
        self.step, self.stage = step, stage


def _wrong_function(
    context: Context,
    planned: ModuleOp,
    progress: Callable[[str, int, int], None],
    seconds: float,
    host: str,
) -> tuple[str, str | None] | None:
    """The first function of a lowered program that `host` makes something else of, and its microkernel.

    The functions into which it was cut, or where it was not, those that are public.
    """
    every = [op for op in planned.body.ops if isinstance(op, FuncOp) and op.body.blocks]
    cut = [op for op in every if "inarch.kernel" in op.attributes]
    functions = cut or [op for op in every if is_public(op)]
    for number, function in enumerate(functions):
        progress(f"check {function.sym_name.data}", number, len(functions))
        program = planned.clone()
        name = function.sym_name.data
        _leave_only(program, name)
        try:
            check = partial(check_compiled, program, host=host, ctx=context)
            contained(check, seconds + COMPILE_SECONDS)
        except InarchError:
            continue  # on random arguments it has no meaning
        except (AssertionError, CrashError):
            calls = (op for op in function.walk() if isinstance(op, CallOp))
            kernels = [call.callee.root_reference.data for call in calls]
            return name, next(iter(kernels), None)
    return None


def _leave_only(program: ModuleOp, name: str) -> None:
    """Makes function `name` the public one; those that call it go."""
    for op in list(program.body.ops):
        if not isinstance(op, FuncOp) or not op.body.blocks:
            continue
        if op.sym_name.data == name:
            op.sym_visibility = StringAttr("public")
        elif op.sym_visibility is None or op.sym_visibility.data == "public":
            erase(op)
