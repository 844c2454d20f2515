"""What a backend is told of a region of its ops, and what it may decide of it.

    def cost(region, request):
        return 20e-6 + (region.bytes_in + region.bytes_out) / 4e9 + region.multiply_adds / 1e12

    def decide(regions, request):
        for region in regions:
            if region.bytes_resident > (most := request.options["memory"]):
                yield Veto(region, f"takes {most} bytes of weights, found {region.bytes_resident}")

`docs/backends.md` walks through both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from xdsl.ir import Operation, OpResult, SSAValue

from inarch.core.once import cached_property
from inarch.dialects.graph.composites.quantize import DequantizeOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.facts.work import element_bytes_of, multiply_adds_of, points_of
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.machine.estimate import Work

if TYPE_CHECKING:
    from inarch.offload.backend import Request


@dataclass(frozen=True, eq=False)
class Region:
    """Ops that would become one function of a backend; of the program, which nobody may change here."""

    owner: str
    """The instance that has them."""
    ops: tuple[Operation, ...]
    """In program order; what matched a pattern is a `graph.composite`."""
    is_given: bool
    """Whether some of them were given to it by hand: such a region stays as it is."""
    bind_constants: bool = field(default=True, repr=False)
    """Whether constants stay in it (`Backend.bind_constants`)."""
    host: Callable[[Work], float] = field(default=lambda _: 0.0, repr=False)
    """The host's estimate."""

    @cached_property
    def inputs(self) -> tuple[SSAValue, ...]:
        """What is passed in each call, in the order of first use."""
        made = {result for op in self.ops for result in op.results}
        needed = dict.fromkeys(value for op in self.ops for value in op.operands)
        return tuple(
            value
            for value in needed
            if value not in made and not (self.bind_constants and _is_constant(value))
        )

    @cached_property
    def outputs(self) -> tuple[OpResult, ...]:
        """What leaves it, in program order."""
        inside = set(self.ops)
        return tuple(
            result
            for op in self.ops
            for result in op.results
            if any(use.operation not in inside for use in result.uses)
        )

    @cached_property
    def bytes_in(self) -> int:
        """Of the inputs, in each call."""
        return sum(map(_nbytes, self.inputs))

    @cached_property
    def bytes_out(self) -> int:
        """Of the outputs, in each call."""
        return sum(map(_nbytes, self.outputs))

    @cached_property
    def bytes_resident(self) -> int:
        """Of the constants in it, which go there once."""
        own = dict.fromkeys(value for op in self.ops for value in op.operands)
        bound = [value for value in own if self.bind_constants and _is_constant(value)]
        inner = (each for op in self.ops for each in op.walk() if each is not op)
        constants = [each.results[0] for each in inner if isinstance(each, ConstantOp)]
        return sum(map(_nbytes, [*bound, *constants]))

    @cached_property
    def multiply_adds(self) -> int:
        """Products that are summed in one call."""
        return sum(map(multiply_adds_of, self.ops))

    @cached_property
    def host_seconds(self) -> float:
        """What the host says that it would take for the same ops, in seconds a call."""
        return self.host(self.work)

    @cached_property
    def work(self) -> Work:
        """What the host would have to do, which runs quantized weights as the floats that they stand for."""
        widened = sum(map(_widened, self.ops))
        return Work(
            self.multiply_adds,
            sum(map(points_of, self.ops)),
            self.bytes_in + self.bytes_out + self.bytes_resident + widened,
            max((1, *map(element_bytes_of, self.ops))),
        )


# ---------------------------------------------------------------------------------- decisions


@dataclass(frozen=True, eq=False)
class Veto:
    """The region goes back: to another backend that takes its ops, or to the host."""

    region: Region
    reason: str
    """One line, with values, for `inarch explain`."""


@dataclass(frozen=True, eq=False)
class Shrink:
    """The region keeps `ops`, of its own; the others go back."""

    region: Region
    ops: Sequence[Operation]
    reason: str


@dataclass(frozen=True, eq=False)
class Split:
    """The region becomes one region for each of `parts`, which are all of its ops."""

    region: Region
    parts: Sequence[Sequence[Operation]]
    reason: str


@dataclass(frozen=True, eq=False)
class Merge:
    """The regions, of one function of the program, become one; they need not be neighbours."""

    regions: Sequence[Region]
    reason: str


Decision = Veto | Shrink | Split | Merge

Cost = Callable[[Region], float] | Callable[[Region, "Request"], float]
Decide = (
    Callable[[Sequence[Region]], Iterable[Decision]]
    | Callable[[Sequence[Region], "Request"], Iterable[Decision]]
)


def _widened(op: Operation) -> int:
    """By how many bytes the host's constants are more than those of the program."""
    inner = [each for each in op.walk() if isinstance(each, DequantizeOp) and _is_constant(each.x)]
    return sum(_nbytes(each.results[0]) - _nbytes(each.x) for each in inner)


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value, OpResult) and isinstance(value.op, ConstantOp)


def _nbytes(value: SSAValue) -> int:
    return prod(shape_of(value)) * tensor_dtype(value).nbytes
