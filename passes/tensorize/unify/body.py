"""Unifying the body of a nest with what a kernel computes: block with block, modulo commutativity.

`unify` finds every way in which the elements of a meaning can stand for reads of the nest so that both
blocks yield the same. `said` reads what a nest yields as an expression: for messages, for templates, and for
epilogues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from inarch.core.scalars.functions import of_op
from inarch.dialects.kernel.body import Body
from inarch.dialects.loop.access import number_of
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.rounding import ROUNDED
from inarch.ir.types import dtype_of, i1, is_supported
from inarch.meaning import Apply, Element, Expression, Number, expression_text

MAX_NODES = 256
"""Of an expression that is said, in which a value that is used twice stands twice."""

ACCUMULATOR = -1
"""The position of the accumulator among the reads."""

_CASTS = (
    arith.ExtFOp, arith.TruncFOp, arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.SIToFPOp,
    arith.UIToFPOp, arith.FPToSIOp, arith.FPToUIOp,
)  # fmt: skip
_OF_UNSIGNED = (arith.ExtUIOp, arith.UIToFPOp)
"""The casts whose source is unsigned."""


# ------------------------------------------------------------------------------------ unification


Binding = Mapping[Element, int]
"""Which read of the nest each element of the meaning is."""


def unify(
    pattern: Body,
    value: SSAValue,
    reads: int,
    known: Binding | None = None,
    *,
    of_any_dtype: bool = False,
) -> Iterator[Binding]:
    """Every binding, an extension of `known`, for which `pattern` yields `value` of a nest's region.

    The region has an argument for each of `reads`, then the accumulator, for which the written element
    stands where `known` says so.
    """
    return _Unifier(pattern, reads, of_any_dtype).unify(pattern.result, value, known or {})


@dataclass(frozen=True)
class _Unifier:
    pattern: Body
    reads: int
    of_any_dtype: bool

    def unify(self, wanted: SSAValue, found: SSAValue, known: Binding) -> Iterator[Binding]:
        if isinstance(wanted, BlockArgument):
            element = self.pattern.elements[wanted.index]
            if not isinstance(found, BlockArgument):
                return
            position = position_of(found, self.reads)
            fits = self.of_any_dtype or wanted.type == found.type
            if fits and known.get(element, position) == position:
                yield {**known, element: position}
            return
        op, other = wanted.owner, found.owner
        if not (isinstance(op, Operation) and isinstance(other, Operation)):
            return
        if not self._is_same(op, other):
            return
        yield from self._all(op.operands, other.operands, known)
        if of_op(op.name)[0].commutes and not _is_equal(*other.operands):
            yield from self._all(op.operands, other.operands[::-1], known)

    def _is_same(self, op: Operation, other: Operation) -> bool:
        if not self.of_any_dtype:
            return _signature(op) == _signature(other)
        if isinstance(op, arith.ConstantOp) and isinstance(other, arith.ConstantOp):
            return number_of(op.value) == number_of(other.value)
        return name_of(op) == name_of(other) and len(op.operands) == len(other.operands)

    def _all(
        self, wanted: Sequence[SSAValue], found: Sequence[SSAValue], known: Binding
    ) -> Iterator[Binding]:
        if not wanted:
            yield known
            return
        for binding in self.unify(wanted[0], found[0], known):
            yield from self._all(wanted[1:], found[1:], binding)


def _signature(op: Operation) -> tuple[object, ...]:
    """What an op does with its operands: equal for ops that do the same."""
    types = [value.type for value in (*op.operands, *op.results)]
    # By their text -0 is not 0, and a NaN is one.
    settings = [
        repr(number_of(op.properties[key]))
        for key in ("value", "predicate")
        if key in op.properties
    ]
    return (op.name, *types, *settings, ROUNDED in op.attributes)


def _is_equal(left: SSAValue, right: SSAValue) -> bool:
    """Whether two values of a region are computed alike."""
    op, other = left.owner, right.owner
    if left is right or not (isinstance(op, Operation) and isinstance(other, Operation)):
        return left is right
    return _signature(op) == _signature(other) and all(map(_is_equal, op.operands, other.operands))


def position_of(argument: BlockArgument, reads: int) -> int:
    """The read that an argument of a nest's region holds, or `ACCUMULATOR`."""
    return argument.index if argument.index < reads else ACCUMULATOR


def storage(dtype: str) -> str:
    """The signless dtype of the same width: `ui8` is stored as `i8`."""
    return dtype.removeprefix("u")


def split_update(value: SSAValue, operator: str, reads: int) -> SSAValue | None:
    """What `value` combines with the accumulator by `operator`; None where it is not of that form."""
    op = value.owner
    if not isinstance(op, Operation) or name_of(op) != operator or ROUNDED in op.attributes:
        return None
    left, right = op.operands
    if _is_accumulator(left, reads) and not _uses_accumulator(right, reads):
        return right
    if _is_accumulator(right, reads) and not _uses_accumulator(left, reads):
        return left
    return None


def _is_accumulator(value: SSAValue, reads: int) -> bool:
    return isinstance(value, BlockArgument) and position_of(value, reads) == ACCUMULATOR


def _uses_accumulator(value: SSAValue, reads: int) -> bool:
    return _is_accumulator(value, reads) or any(
        _is_accumulator(operand, reads) for op in operations_of(value) for operand in op.operands
    )


def operations_of(value: SSAValue) -> list[Operation]:
    """The ops that a value is made by, each once, from the last to the first, from left to right."""
    found: dict[Operation, None] = {}

    def visit(value: SSAValue) -> None:
        op = value.owner
        if isinstance(op, Operation) and op not in found:
            found[op] = None
            for operand in op.operands:
                visit(operand)

    visit(value)
    return list(found)


# ------------------------------------------------------------------------------------ expressions


def yielded(nest: NestOp, region: Region) -> SSAValue:
    """What a region with one result yields."""
    return nest.yielded(region)[0]


def name_of(op: Operation) -> str:
    """The function of meanings, or the cast, that an op is; of another op its own name."""
    row, _ = of_op(op.name)
    if row.in_meanings:
        return row.name
    if not isinstance(op, _CASTS):
        return op.name
    return f"{'u' * isinstance(op, arith.FPToUIOp)}{dtype_of(op.results[0].type).name}"


def said(value: SSAValue, reads: int, element: Callable[[int], Element]) -> Expression | None:
    """The expression of a value of a nest's region; `element` is called for each read and accumulator.

    None where it has more than `MAX_NODES`. What no meaning says (`unsaid`) has the name of its op.
    """
    budget = MAX_NODES

    def write(value: SSAValue) -> Expression | None:
        nonlocal budget
        budget -= 1
        if budget < 0:
            return None
        op = value.owner
        if isinstance(value, BlockArgument) or not isinstance(op, Operation):
            assert isinstance(value, BlockArgument), "a value has an op or is an argument"
            return element(position_of(value, reads))
        number = _number(op)
        if number is not None:
            return number
        parts: list[Expression] = []
        for operand in op.operands:
            part = write(operand)
            if part is None:
                return None
            parts.append(part)
        if isinstance(op, _OF_UNSIGNED):  # buffers are signless
            kind = op.operands[0].type
            if not is_supported(kind):
                return None
            parts = [
                part if kind == i1 else Apply(f"u{dtype_of(kind).name}", (part,)) for part in parts
            ]
        found = Apply(name_of(op), tuple(parts))
        return Apply("rounded", (found,)) if ROUNDED in op.attributes else found

    return write(value)


def _number(op: Operation) -> Number | None:
    """A constant that a meaning can say: a double holds not every i64."""
    value = number_of(op.value) if isinstance(op, arith.ConstantOp) else None
    is_lost = value is None or (isinstance(value, int) and float(value) != value)
    return None if is_lost else Number(float(value))


def unsaid(value: SSAValue) -> str | None:
    """Why no meaning says a value: of which op it has no function of that dtype; None where one may."""
    for op in operations_of(value):
        if _number(op) is not None:
            continue
        kind = op.operands[0].type if op.operands else op.results[0].type
        is_unsigned = (isinstance(op, _OF_UNSIGNED) and kind == i1) or of_op(op.name)[1] is False
        if not is_supported(kind) or is_unsigned:
            name = dtype_of(kind).name if is_supported(kind) else str(kind)
            return f"a meaning cannot say {name_of(op)} of {name}"
    return None


# ------------------------------------------------------------------------------------ messages


def named(value: SSAValue, names: tuple[str, ...]) -> Expression | None:
    """As `said`, of elements without indices; `names` are the reads', then the accumulator's."""
    return said(value, len(names) - 1, lambda position: Element(names[position], ()))


def text_of(expression: Expression) -> str:
    """Of what `named` says."""
    return expression_text(expression).replace("[]", "")


def difference(pattern: Expression, found: Expression) -> str:
    """The outermost place at which the two differ when read from left to right; `found` is `named`."""
    match pattern, found:
        case Apply(function, arguments), Apply(name, parts) if function == name and len(
            arguments
        ) == len(parts):
            for argument, part in zip(arguments, parts, strict=True):
                if not isinstance(argument, Element) or not isinstance(part, Element):
                    return difference(argument, part)
        case _:
            pass
    return f"expected {expression_text(pattern)}, found {text_of(found)}"
