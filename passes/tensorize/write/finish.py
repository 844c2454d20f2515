"""What a nest does with its result: into the kernel, where that has an epilogue for all of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inarch.dialects.loop.memory import memref_of
from inarch.ir.types import dtype_of
from inarch.meaning import Apply, Element, Expression, Index, Number, Term
from inarch.microkernel import AtLeast, functions_of
from inarch.passes.tensorize.unify.body import (
    ACCUMULATOR,
    said,
    unsaid,
    yielded,
)
from inarch.passes.tensorize.unify.strided import StridedAccess
from inarch.passes.tensorize.weigh.operands import Demands, Matched
from inarch.passes.tensorize.weigh.tiles import Params


@dataclass(frozen=True)
class Finish:
    """An epilogue: an expression of the output's element and of `extras`, operand -> access, dtype."""

    expression: Expression
    accesses: Mapping[str, StridedAccess]
    dtypes: Mapping[str, str]
    iterators: Mapping[str, tuple[str, ...]]
    """Extra operand -> the iterators of its dimensions."""


def absorbed_finish(matched: Matched, params: Params, demands: Demands) -> Finish | str | None:
    """The nest's `finish` as an epilogue of the kernel; why not, or None where there is no finish.

    `demands` are those of the member with `params`.
    """
    nest, pattern = matched.nest.nest, matched.pattern
    if nest.finish is None:
        return None
    if pattern.normal.finish is not None:
        return None  # it has been unified with the meaning's own
    if not pattern.kernel.epilogue:
        return "the kernel has no epilogue"
    value, extras = yielded(nest, nest.finish), _Extras(matched, {}, {})
    expression = said(value, len(nest.ins), extras.element)
    if expression is None:
        return "finish is too long"
    if (reason := unsaid(value)) is not None:
        return reason
    expression = _said(expression, pattern.kernel.epilogue)
    missing = [name for name in functions_of(expression) if name not in pattern.kernel.epilogue]
    if missing:
        return f"the kernel's epilogue has no {missing[0]}"
    accesses = {name: matched.nest.reads[at] for at, name in extras.names.items()}
    for access in accesses.values():
        if (reason := _misfit(matched, access, params, demands)) is not None:
            return reason
    dtypes = {
        name: dtype_of(memref_of(access.buffer).element_type).name
        for name, access in accesses.items()
    }
    return Finish(expression, accesses, dtypes, extras.iterators)


def _misfit(
    matched: Matched, access: StridedAccess, params: Params, demands: Demands
) -> str | None:
    """Why an extra operand cannot be read by the kernel; None where it can."""
    if not access.is_inside:
        return "finish reads outside of a buffer"
    if min(access.strides, default=0) < 0:
        return "finish reads backwards"
    if not _follows(matched, access, params, demands):
        return "an operand of finish does not lie as the output's layout demands"
    return None


def _follows(matched: Matched, access: StridedAccess, params: Params, demands: Demands) -> bool:
    """Along an iterator at which the output's stride is demanded, an extra operand has that one too."""
    target, parallel = matched.pattern.normal.target, matched.pattern.normal.parallel
    sizes = {each.name: each.size for each in parallel}
    for iterator, demanded in zip(parallel, demands[target.operand], strict=True):
        axis = matched.assignment.axis_of(iterator.name)
        if demanded is None or isinstance(demanded, AtLeast):
            continue
        if axis is None or not access.strides[axis]:
            continue
        taken = matched.assignment.taken[axis]
        # What stands inside of it on its axis is of a member's size, or a number.
        inside = (sizes[name] for name in taken[taken.index(iterator.name) + 1 :])
        step = access.strides[axis] * math.prod(params.get(str(size), size) for size in inside)
        if step != demanded:
            return False
    return True


@dataclass(frozen=True)
class _Extras:
    """Names for what a finish reads beside the accumulator, and the iterators of their dimensions."""

    matched: Matched
    names: dict[int, str]
    iterators: dict[str, tuple[str, ...]]

    def element(self, position: int) -> Element:
        """What a read, or the accumulator, is to the kernel."""
        if position == ACCUMULATOR:
            return self.matched.pattern.normal.target
        if position not in self.names:
            name = self._fresh()
            access = self.matched.nest.reads[position]
            self.names[position] = name
            self.iterators[name] = tuple(
                iterator.name
                for iterator in self.matched.pattern.normal.parallel
                if (axis := self.matched.assignment.axis_of(iterator.name)) is not None
                and access.strides[axis]
            )
        name = self.names[position]
        indices: list[Index] = [(Term((), iterator),) for iterator in self.iterators[name]]
        return Element(name, tuple(indices))

    def _fresh(self) -> str:
        """`E0`, `E1`, ... without the kernel's own operands."""
        number = len(self.names)
        while f"E{number}" in self.matched.pattern.kernel.dtypes:
            number += len(self.matched.pattern.kernel.dtypes)
        return f"E{number}"


def _said(expression: Expression, epilogue: Sequence[str]) -> Expression:
    """In the words of the epilogue: `max(x, 0)` is `relu(x)` where it has that and no `max`."""
    if not isinstance(expression, Apply):
        return expression
    arguments = tuple(_said(part, epilogue) for part in expression.arguments)

    zeros = [part for part in arguments if _is_zero(part)]
    if (
        expression.function == "max"
        and "max" not in epilogue
        and "relu" in epilogue
        and len(zeros) == 1
    ):
        (rest,) = [part for part in arguments if not _is_zero(part)]
        return Apply("relu", (rest,))
    return Apply(expression.function, arguments)


def _is_zero(expression: Expression) -> bool:
    return isinstance(expression, Number) and str(expression.value) in ("0", "0.0")
