"""A model in parts: each compiled, run and compared with the definitions of its ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from inarch.core.errors import InarchError, InternalError
from inarch.core.lazy import Array
from inarch.core.limits import RUN_BYTES
from inarch.definitions.compare import Expected
from inarch.diagnosis.allowed import expected_values
from inarch.diagnosis.compare import Crash, Difference
from inarch.diagnosis.contained import CrashError
from inarch.diagnosis.fewest import failing_part, fewest, widened
from inarch.diagnosis.locate import FaultPlace, compiled_part, place_of
from inarch.diagnosis.network import differing, explained, network_verdict
from inarch.diagnosis.slices import Slice, cut, main_block, steps, value_names
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.driver.options import DEFAULT_HOST, Options
from inarch.ir.location import location_text
from inarch.offload.tolerance import Tolerance
from inarch.testing import execute

MOST_BOUNDED = 8
"""Steps of a part whose every value is bounded from one to the next; of more it is that of a network."""

OFFLOADED = ("backends", "backend_options", "measure_regions", "fallback", "checked")
"""Keywords of a compilation that say who takes parts over."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Fault:
    """A part that is wrong on some values, and what it should have given."""

    difference: Difference | Crash
    part: Slice
    inputs: Mapping[str, Array]
    expected: Mapping[str, Expected]
    keywords: Mapping[str, Any]
    """As what it was compiled."""
    found: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """What it gave."""


@dataclass
class Program:
    """A model that was imported, and how it is compiled."""

    module: ModuleOp
    context: Context
    keywords: Mapping[str, Any]
    progress: Progress
    seconds: float = 0.0
    """That compiled code may take."""
    tolerances: Sequence[Tolerance] = ()
    """Any of which is enough for an output, as backends have a part in it."""
    steps: list[Operation] = field(init=False)
    names: Mapping[Any, str] = field(init=False)
    whole: Slice = field(init=False)
    """All steps, giving all their values."""

    def __post_init__(self) -> None:
        self.steps = steps(self.module)
        self.names = value_names(self.module)
        self.whole = cut(self.module, self.steps, every_value=True)

    def evaluate(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Every value of the model by the definitions of its ops, and the inputs."""
        given = [inputs[name] for name in self.whole.takes]
        values = execute(self.whole.module, given, self.context)
        return {**inputs, **dict(zip(self.whole.gives, values, strict=True))}

    def check_bytes(self) -> None:
        """Raises InarchError, at the largest, where the values of the model take too much memory."""
        values = [
            *main_block(self.module).args,
            *(each for op in self.steps for each in op.results),
        ]
        if not values:
            return
        largest = max(values, key=_nbytes)
        maker = largest.owner if isinstance(largest.owner, Operation) else None
        where = (maker and location_text(maker)) or f"value '{self.names[largest]}'"
        RUN_BYTES.check(sum(map(_nbytes, values)), where=where)

    def of_host(self) -> dict[str, Any]:
        """How parts are compiled where no backend takes part."""
        return {key: value for key, value in self.of_parts().items() if key not in OFFLOADED}

    def of_parts(self) -> dict[str, Any]:
        """How parts are compiled: what is demanded of the whole is not demanded of each."""
        whole = ("give", "require_offload")
        return {key: value for key, value in self.keywords.items() if key not in whole}

    # -- faults

    def fault(
        self,
        chosen: Sequence[Operation],
        values: Mapping[str, Array],
        keywords: Mapping[str, Any],
        *,
        of_network: bool,
    ) -> Fault | None:
        """What is wrong with these steps as a program of their own; None of what cannot be compiled alone.

        All their values, each within what rounding explains of it; `of_network`: what others use of them,
        as the outputs of a network.
        """
        return self._judged(chosen, values, keywords, of_network=of_network)[0]

    def _judged(
        self,
        chosen: Sequence[Operation],
        values: Mapping[str, Array],
        keywords: Mapping[str, Any],
        *,
        of_network: bool,
    ) -> tuple[Fault | None, bool]:
        """What `fault` says; and whether nothing is far away, so that nothing can hide behind rounding."""
        self.progress(f"compile {len(chosen)} of {len(self.steps)} steps", 0, 1)
        part = cut(self.module, chosen, every_value=not of_network)
        inputs = {name: values[name] for name in part.takes}
        try:
            made = compiled_part(part, self.context, keywords, self.progress)
            found = made.run(inputs, self.seconds)
        except CrashError as error:
            return Fault(Crash(str(error)), part, inputs, {}, keywords), False
        except InternalError:
            raise
        except InarchError:
            return None, True
        if of_network or len(chosen) > MOST_BOUNDED:
            tolerances = self.tolerances if of_network else ()
            given = [inputs[name] for name in part.takes]
            own = dict(zip(part.gives, execute(part.module, given, self.context), strict=True))
            explain = partial(explained, part, self.context, inputs, made.taken)
            seen = network_verdict(own, found, explain, tolerances)
            one, expected, is_near = seen.difference, seen.expected, seen.is_near
        else:
            expected = expected_values(part, self.context, inputs, made.taken)
            one = differing(expected, found)
            is_near = one is None
        if one is None:
            return None, is_near
        return Fault(one, part, inputs, expected, keywords, found), is_near

    def fault_of_outputs(
        self, values: Mapping[str, Array], keywords: Mapping[str, Any]
    ) -> Fault | None:
        """What is wrong with the outputs of the model as it is compiled, in the fewest steps that are."""
        first, is_near = self._judged(self.steps, values, keywords, of_network=True)
        if first is not None:
            return self.smallest(values, first, of_network=True)
        # Rounding, which a network may amplify, hides no other fault.
        starts = () if is_near else range(0, len(self.steps), MOST_BOUNDED // 2)
        for begin in starts:
            chosen = self.steps[begin : begin + MOST_BOUNDED]
            found = self.fault(chosen, values, keywords, of_network=True)
            if found is not None:
                return self._reduced(
                    chosen,
                    found,
                    lambda some: self.fault(some, values, keywords, of_network=True),
                )
        return None

    def cut_out(
        self, step: Operation, values: Mapping[str, Array], keywords: Mapping[str, Any]
    ) -> Fault | None:
        """The fewest steps around one that are wrong on the values that enter them; None: no such are."""

        def tried(chosen: Sequence[Operation]) -> Fault | None:
            return self.fault(chosen, values, keywords, of_network=False)

        for chosen in widened(step, self.steps):
            if (found := tried(chosen)) is not None:
                return self._reduced(chosen, found, tried)
        return None

    def smallest(self, values: Mapping[str, Array], first: Fault, *, of_network: bool) -> Fault:
        """The fault of all steps together, in the fewest of them that have one."""

        def tried(chosen: Sequence[Operation]) -> Fault | None:
            return self.fault(chosen, values, first.keywords, of_network=of_network)

        def is_wrong(begin: int, end: int) -> bool:
            return tried(self.steps[begin:end]) is not None

        begin, end = failing_part(len(self.steps), is_wrong)
        found = tried(self.steps[begin:end])
        # It may depend on more than the inputs: then what was seen stands.
        return first if found is None else self._reduced(self.steps[begin:end], found, tried)

    def _reduced(
        self,
        chosen: Sequence[Operation],
        first: Fault,
        tried: Callable[[Sequence[Operation]], Fault | None],
    ) -> Fault:
        found = first

        def is_wrong(some: Sequence[Operation]) -> bool:
            nonlocal found
            one = tried(some)
            found = found if one is None else one
            return one is not None

        fewest(chosen, is_wrong)
        return found

    # -- whose they are

    def locate(self, fault: Fault) -> FaultPlace:
        """The op, and the pass or the compiled function at fault."""
        # On the host: what backends make of their parts is no pass's fault.
        wish = {
            key: fault.keywords[key]
            for key in ("host", "pipeline", "places")
            if key in fault.keywords
        }
        expected = fault.expected or expected_values(fault.part, self.context, fault.inputs)
        place = place_of(
            fault.part,
            self.context,
            fault.inputs,
            [expected[name] for name in fault.part.gives],
            tuple(self.place_of(step) for step in steps(fault.part.module)),
            self.progress,
            self.seconds,
            Options(**wish),
            [fault.found[name] for name in fault.part.gives if name in fault.found],
        )
        asked = ", ".join(map(str, fault.keywords.get("backends", ())))
        if place.stage == "together" and asked and self._is_right_by_host(fault):
            return replace(place, stage="backend", backend=asked)
        return place

    def _is_right_by_host(self, fault: Fault) -> bool:
        """Whether a part is right where no backend takes part."""
        try:
            made = compiled_part(fault.part, self.context, self.of_host(), self.progress)
            found = made.run(fault.inputs, self.seconds)
        except CrashError:
            return False
        return differing(fault.expected, found) is None

    def place_of(self, step: Operation) -> str:
        """`graph.relu at m.mlir:3:3`."""
        return f"{step.name} at {location_text(step) or step.results[0].name_hint}"

    @property
    def host(self) -> str:
        """Who compiles what no backend takes."""
        return self.keywords.get("host", DEFAULT_HOST)


def _nbytes(value: SSAValue) -> int:
    return prod(shape_of(value)) * tensor_dtype(value).nbytes
