"""Unifying the body of a nest with a meaning's expression, modulo commutativity.

`expression_of` reads a region of a nest as a tree; `unify` finds every way in which the elements of
a meaning can stand for reads of the nest so that both trees are equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from inarch.core.dtypes import DTYPES
from inarch.core.scalars.functions import is_commutative, of_op
from inarch.dialects.loop.access import number_of
from inarch.dialects.loop.nest import NestOp
from inarch.dialects.loop.rounding import ROUNDED
from inarch.ir.types import dtype_of, is_supported
from inarch.meaning import Apply, Element, Expression, Number, expression_text

MAX_NODES = 256
"""Of a body as a tree, in which a value that is used twice stands twice."""

ACCUMULATOR = -1
"""The position of the accumulator among the reads."""


@dataclass(frozen=True)
class Leaf:
    """The element of read `position`, or the accumulator."""

    position: int


@dataclass(frozen=True)
class Literal:
    """A number."""

    value: float


@dataclass(frozen=True)
class FunctionCall:
    """A function of `inarch.meaning`, a cast, or (matching nothing) any other op by its name."""

    function: str
    arguments: tuple[Tree, ...]
    dtype: str
    """Of the arguments; the signed name where the op does not say (`i32` for an addition)."""
    is_signed: bool | None = None
    """Whether the op treats its arguments as signed; None: it makes no difference."""


Tree = Leaf | Literal | FunctionCall

_CASTS: Mapping[type[Operation], tuple[bool | None, bool | None]] = {
    arith.ExtFOp: (None, None),
    arith.TruncFOp: (None, None),
    arith.ExtSIOp: (True, None),
    arith.ExtUIOp: (False, None),
    arith.TruncIOp: (None, None),
    arith.SIToFPOp: (True, None),
    arith.UIToFPOp: (False, None),
    arith.FPToSIOp: (None, True),
    arith.FPToUIOp: (None, False),
}
"""Whether the source and the result are signed; None: it makes no difference."""


def expression_of(nest: NestOp, region: Region) -> Tree | None:
    """What a region with one result yields; None where the tree would have more than `MAX_NODES`."""
    budget = [MAX_NODES]
    return _tree(nest.yielded(region)[0], len(nest.ins), budget)


def _tree(value: SSAValue, reads: int, budget: list[int]) -> Tree | None:
    budget[0] -= 1
    if budget[0] < 0:
        return None
    if isinstance(value, BlockArgument):
        return Leaf(value.index if value.index < reads else ACCUMULATOR)
    op = value.owner
    assert isinstance(op, Operation)
    if isinstance(op, arith.ConstantOp):
        number = number_of(op.value)
        if number is None or (isinstance(number, int) and float(number) != number):
            return FunctionCall(op.name, (), "", None)  # a double holds not every i64
        return Literal(float(number))
    arguments: list[Tree] = []
    for operand in op.operands:
        part = _tree(operand, reads, budget)
        if part is None:
            return None
        arguments.append(part)
    found = _node(op, tuple(arguments))
    return FunctionCall("rounded", (found,), found.dtype) if ROUNDED in op.attributes else found


def _node(op: Operation, arguments: tuple[Tree, ...]) -> FunctionCall:
    element = op.operands[0].type if op.operands else op.results[0].type
    source = dtype_of(element).name if is_supported(element) else str(element)
    row, is_signed = of_op(op.name)
    if row.in_meanings:
        return FunctionCall(row.name, arguments, source, is_signed)
    if type(op) in _CASTS:
        is_signed, makes_signed = _CASTS[type(op)]
        result = dtype_of(op.results[0].type).name
        unsigned = makes_signed is False and isinstance(op.results[0].type, IntegerType)
        return FunctionCall(f"u{result}" if unsigned else result, arguments, source, is_signed)
    return FunctionCall(op.name, arguments, source)


# ------------------------------------------------------------------------------------ unification


Binding = Mapping[Element, int]
"""Which read of the nest each element of the meaning is."""


def unify(
    pattern: Expression,
    tree: Tree,
    dtypes: Mapping[str, str] | None,
    element_dtypes: tuple[str, ...],
    known: Binding | None = None,
) -> Iterator[Binding]:
    """Every binding, an extension of `known`, for which `pattern` is `tree`.

    `dtypes` are those of the meaning's operands (None: of any dtype); `element_dtypes`, signless,
    those of the reads and last of the accumulator. The written element stands for the accumulator
    where `known` says so.
    """
    return _Unifier(dtypes, element_dtypes).unify(pattern, tree, known or {})


@dataclass(frozen=True)
class _Unifier:
    dtypes: Mapping[str, str] | None
    element_dtypes: tuple[str, ...]

    def unify(self, pattern: Expression, tree: Tree, known: Binding) -> Iterator[Binding]:
        match pattern, tree:
            case Number(value), Literal(found):
                if value == found and math.copysign(1, value) == math.copysign(1, found):
                    yield known
            case Element(), Leaf(position):
                if known.get(pattern, position) == position and self._fits(pattern, position):
                    yield {**known, pattern: position}
            case Apply(function, arguments), FunctionCall():
                yield from self._apply(function, arguments, tree, known)
            case _:
                return

    def _fits(self, element: Element, position: int) -> bool:
        dtypes = self.dtypes
        return dtypes is None or storage(dtypes[element.operand]) == self.element_dtypes[position]

    def _apply(
        self, function: str, arguments: tuple[Expression, ...], tree: FunctionCall, known: Binding
    ) -> Iterator[Binding]:
        if function == "relu":
            function, arguments = "max", (*arguments, Number(0.0))
        if not self._is_function(function, arguments, tree):
            return
        yield from self._all(arguments, tree.arguments, known)
        if is_commutative(function) and tree.arguments[0] != tree.arguments[1]:
            yield from self._all(arguments, tree.arguments[::-1], known)

    def _is_function(
        self, function: str, arguments: tuple[Expression, ...], tree: FunctionCall
    ) -> bool:
        same = function == tree.function or (
            function in DTYPES and tree.function in DTYPES and _same_cast(function, tree)
        )
        if not same or len(arguments) != len(tree.arguments):
            return False
        if self.dtypes is None:
            return True
        dtype = self.dtype_of(arguments)
        if dtype is None:
            return True
        signed = not DTYPES[dtype].is_unsigned
        agrees = tree.is_signed is None or tree.is_signed == signed
        return agrees and storage(dtype) == tree.dtype

    def _all(
        self, patterns: tuple[Expression, ...], trees: tuple[Tree, ...], known: Binding
    ) -> Iterator[Binding]:
        if not patterns:
            yield known
            return
        for binding in self.unify(patterns[0], trees[0], known):
            yield from self._all(patterns[1:], trees[1:], binding)

    def dtype_of(self, arguments: tuple[Expression, ...]) -> str | None:
        """The dtype of the first argument that has one of its own (numbers take that of others)."""
        for argument in arguments:
            match argument:
                case Element(operand, _) if self.dtypes is not None:
                    return self.dtypes[operand]
                case Apply(function, _) if function in DTYPES:
                    return function
                case Apply(_, parts) if (dtype := self.dtype_of(parts)) is not None:
                    return dtype
                case _:
                    pass
        return None


def _same_cast(function: str, tree: FunctionCall) -> bool:
    """A cast to `ui8` from an integer is the op of a cast to `i8`; from a float it is its own."""
    from_float = tree.dtype in DTYPES and DTYPES[tree.dtype].is_float
    return not from_float and storage(function) == storage(tree.function)


def storage(dtype: str) -> str:
    """The signless dtype of the same width: `ui8` is stored as `i8`."""
    return dtype.removeprefix("u")


def split_update(tree: Tree, operator: str) -> Tree | None:
    """What `tree` combines with the accumulator by `operator`; None where it is not of that form."""
    if not isinstance(tree, FunctionCall) or tree.function != operator or len(tree.arguments) != 2:
        return None
    left, right = tree.arguments
    if left == Leaf(ACCUMULATOR) and not uses(right, ACCUMULATOR):
        return right
    if right == Leaf(ACCUMULATOR) and not uses(left, ACCUMULATOR):
        return left
    return None


def uses(tree: Tree, position: int) -> bool:
    """Whether the element of read `position` stands in `tree`."""
    if isinstance(tree, FunctionCall):
        return any(uses(part, position) for part in tree.arguments)
    return tree == Leaf(position)


# ------------------------------------------------------------------------------------ messages


def tree_text(tree: Tree, names: tuple[str, ...]) -> str:
    """As a meaning would write it; `names` are the reads', then the accumulator's."""
    return expression_text(_written(tree, names)).replace("[]", "")


def _written(tree: Tree, names: tuple[str, ...]) -> Expression:
    match tree:
        case Leaf(position):
            return Element(names[position], ())
        case Literal(value):
            return Number(value)
        case FunctionCall(function, arguments):
            return Apply(function, tuple(_written(part, names) for part in arguments))


def difference(pattern: Expression, tree: Tree, names: tuple[str, ...]) -> str:
    """The outermost place at which the two differ when read from left to right."""
    match pattern, tree:
        case Apply(function, arguments), FunctionCall() if function == tree.function and len(
            arguments
        ) == len(tree.arguments):
            for part, found in zip(arguments, tree.arguments, strict=True):
                if not isinstance(part, Element) or not isinstance(found, Leaf):
                    return difference(part, found, names)
        case _:
            pass
    return f"expected {expression_text(pattern)}, found {tree_text(tree, names)}"
