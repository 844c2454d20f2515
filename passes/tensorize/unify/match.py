"""Whether a nest computes what a kernel computes: the bodies' unification, then the iterators'."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.dialects.loop.buffer import root
from inarch.dialects.loop.memory import memref_of
from inarch.dialects.loop.nest import NestOp
from inarch.ir.types import dtype_of
from inarch.meaning import OPERATORS, element_text, expression_text
from inarch.passes.tensorize.unify.body import (
    ACCUMULATOR,
    Binding,
    difference,
    named,
    split_update,
    storage,
    text_of,
    unify,
    yielded,
)
from inarch.passes.tensorize.unify.iterators import Assignment, assignments
from inarch.passes.tensorize.unify.pattern import KernelPattern
from inarch.passes.tensorize.unify.strided import StridedNest
from inarch.passes.tensorize.weigh.operands import Matched


@dataclass(frozen=True)
class Miss:
    """Why a kernel does not fit a nest: a difference, how far the attempt got, and what would help."""

    reason: str
    progress: int
    """0: target. 1: the body differs. 2: iterators. 3: tiles and strides. 4: init and finish. 5: build."""
    likeness: float = 0.0
    """How much the nest looks like what the kernel computes (`unify/likeness.py`)."""


def bindings(nest: StridedNest, pattern: KernelPattern) -> list[Binding] | Miss:
    """Every way in which the elements of the meaning are reads of the nest; or the first difference."""
    op, shape = nest.nest, pattern.normal
    names = names_of(op)
    dtypes = tuple(dtype_of(memref_of(value).element_type).name for value in (*op.ins, op.outs[0]))
    wanted = pattern.kernel.dtypes[pattern.output]
    if storage(wanted) != dtypes[-1]:
        return Miss(
            f"the output {names[-1]} has dtype {dtypes[-1]}, "
            f"{element_text(shape.target)} is {wanted}",
            1,
        )
    reads, body = len(op.ins), yielded(op, op.body)
    value = body if shape.operator is None else split_update(body, shape.operator, reads)
    sign = next(sign for sign, name in OPERATORS.items() if name == shape.operator)
    update = f"{element_text(shape.target)} {sign} {expression_text(shape.update)}"
    if value is None:
        whole = named(body, names)
        if whole is None:
            return Miss(_LONG, 1)
        return Miss(f"the body is {names[-1]} = {text_of(whole)}, the meaning {update}", 1)
    if shape.operator is None and any(axis.is_reduction for axis in nest.axes):
        return Miss(f"the nest reduces, the meaning {update} does not", 1)
    found = list(unify(pattern.update, value, reads))
    if not found:
        return Miss(_body_difference(pattern, value, names, dtypes), 1)
    if shape.finish is not None and pattern.finish is not None:
        if op.finish is None:
            return Miss(
                f"the meaning ends in {expression_text(shape.finish)}, the nest does not", 4
            )
        finish = yielded(op, op.finish)
        found = [
            whole
            for known in found
            for whole in unify(pattern.finish, finish, reads, {**known, shape.target: ACCUMULATOR})
        ]
        if not found:
            last = named(finish, names)
            if last is None:
                return Miss("finish is longer than any kernel's", 4)
            return Miss(f"finish: {difference(shape.finish, last)}", 4)
    kept = [binding for binding in found if _unusable(nest, binding) is None]
    return kept or Miss(_unusable(nest, found[0]) or "", 2)


def matches(nest: StridedNest, pattern: KernelPattern, binding: Binding) -> list[Matched] | Miss:
    """The assignments of iterators under one binding, those that cover most first; or a difference."""
    moves = {
        operand: [
            max((abs(s) for s in along), default=0)
            for along in zip(
                *(
                    Matched(pattern, nest, binding, _NONE).access_of(element).strides
                    for element in elements
                ),
                strict=True,
            )
        ]
        for operand, elements in pattern.elements.items()
    }
    plain = Matched(pattern, nest, binding, _NONE)
    packed = [
        operand
        for operand, elements in pattern.elements.items()
        if operand != pattern.output and plain.access_of(elements[0]).is_constant
    ]
    found = assignments(pattern, nest, moves, packed)
    if not found:
        fixed = [
            each.name
            for each in pattern.iterators
            if not pattern.is_free(each.size) and 1 not in pattern.values(each.size)
        ]
        kinds = {name: "reduction" if name in pattern.reductions else "parallel" for name in fixed}
        wanted = ", ".join(
            f"{name} ({kinds[name]}, of {', '.join(sorted(pattern.users[name]))})" for name in fixed
        )
        return Miss(f"no iterators of the nest for {wanted}; it has {axes_text(nest)}", 2)
    return [Matched(pattern, nest, binding, assignment) for assignment in found]


_NONE = Assignment(())
_LONG = "the body is longer than any kernel's"


def names_of(nest: NestOp) -> tuple[str, ...]:
    """What messages call the reads, then the output: the buffers' names, else `in0` ... and `out`."""
    ins = [value.name_hint or f"in{at}" for at, value in enumerate(nest.ins)]
    return (*ins, nest.outs[0].name_hint or "out")


def axes_text(nest: StridedNest) -> str:
    """`m = 4, k = 8 reduction`."""
    said = [f"{a.name} = {a.size}{' reduction' if a.is_reduction else ''}" for a in nest.axes]
    return ", ".join(said) or "none"


def _body_difference(
    pattern: KernelPattern, value: SSAValue, names: tuple[str, ...], dtypes: tuple[str, ...]
) -> str:
    if any(True for _ in unify(pattern.update, value, len(names) - 1, of_any_dtype=True)):
        have = ", ".join(f"{name} {dtype}" for name, dtype in zip(names, dtypes, strict=True))
        wants = ", ".join(f"{name} {dtype}" for name, dtype in pattern.kernel.dtypes.items())
        return f"the dtypes are {have}, the meaning's {wants}"
    found = named(value, names)
    if found is None:
        return _LONG
    return f"the body differs: {difference(pattern.normal.update, found)}"


def _unusable(nest: StridedNest, binding: Binding) -> str | None:
    """Why reads that a kernel would do cannot be done by one."""
    names = names_of(nest.nest)
    if not nest.write.is_inside:
        return f"{names[-1]} is clipped: a kernel writes every element"
    for position in dict.fromkeys(binding.values()):
        if position == ACCUMULATOR:
            continue
        access = nest.reads[position]
        if not access.is_inside:
            return (
                f"{names[position]} is read outside of its buffer (pad); "
                "materialize-padding makes a padded copy"
            )
    for position, access in enumerate(
        nest.reads
    ):  # those of `finish` too: a kernel writes before it
        if _same_memory(access.buffer, nest.write.buffer):
            return f"{names[position]} is the buffer that the nest writes"
    return None


def _same_memory(left: SSAValue, right: SSAValue) -> bool:
    return root(left) is root(right)
