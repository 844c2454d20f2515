"""How messages about a match name ops and values: in the words of the source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from inarch.dialects.graph.constant import ConstantOp
from inarch.ir.location import location_text

Words = Callable[["Names"], str]
"""A message that is only put into words when somebody reads it."""


class Names:
    """Names of values as the printed program has them: `%conv0`, or the number that it shows."""

    def __init__(self) -> None:
        self._numbers: dict[SSAValue, int] = {}
        self._numbered: set[Block] = set()

    def value(self, value: SSAValue) -> str:
        """`%x`, and for the result of an op where it came from: `%3 (conv0)`."""
        name = self.short(value)
        place = location_text(value.op) if isinstance(value, OpResult) else None
        return f"{name} ({place})" if place else name

    def short(self, value: SSAValue) -> str:
        """`%x`, or `%3`."""
        return f"%{value.name_hint}" if value.name_hint else f"%{self._number(value)}"

    def _number(self, value: SSAValue) -> int:
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        assert block is not None
        if block not in self._numbered:
            self._numbered.add(block)
            results = (result for op in block.ops for result in op.results)
            nameless = [v for v in (*block.args, *results) if not v.name_hint]
            self._numbers.update((v, number) for number, v in enumerate(nameless))
        return self._numbers[value]


def op_text(op: Operation) -> str:
    """`graph.conv (conv0)`: an op and where it came from."""
    place = location_text(op)
    return f"{op.name} ({place})" if place else op.name


def maker_text(value: SSAValue) -> str:
    """What makes `value`, in a few words: an op, a constant, an argument of the function."""
    if isinstance(value.owner, Block):
        return "an argument of the function"
    return "a constant" if isinstance(value.owner, ConstantOp) else value.owner.name


def python_value(attribute: Attribute | None) -> object:
    """A property as the Python value that patterns compare it with; others in their text."""
    match attribute:
        case None:
            return None
        case IntegerAttr():
            number = attribute.value.data
            return bool(number) if str(attribute.type) == "i1" else number
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case DenseArrayBase():
            return tuple(cast("DenseArrayBase[Any]", attribute).get_values())
        case _:
            return str(attribute)


def value_text(value: object) -> str:
    """A Python value as reports print it: tuples as lists, bools as MLIR's."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, frozenset):
        return " or ".join(sorted(map(value_text, value)))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, tuple):
        return str(list(value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return f'"{value}"' if isinstance(value, str) else str(value)


def constantly(text: str) -> Words:
    """A message that is there already."""
    return lambda _: text


def shared_value(result: OpResult, user: Operation) -> Words:
    """That `result`, inside of a match, has another user."""
    return lambda names: (
        f"interior value {names.value(result)} has a user outside of the match: {op_text(user)}"
    )


def too_few(op: Operation, count: int) -> str:
    """That `op` has fewer operands than a pattern."""
    return f"{op.name} has {len(op.operands)} operands, expected {count} or more"


def wrong_attribute(op: Operation, name: str, expected: object) -> str:
    """That a property is another one than a pattern expects."""
    if name not in op.properties:
        known = ", ".join(sorted(op.properties)) or "none"
        return f"{op.name} has no {name}, expected {value_text(expected)}; it has {known}"
    found = value_text(python_value(op.properties[name]))
    return f"{op.name} {name} = {found}, expected {value_text(expected)}"


def other_value(names: Names, user: Operation, index: int, known: SSAValue, value: SSAValue) -> str:
    """That an operand is another value than the pattern's part was before."""
    return (
        f"operand {index} of {user.name} is {names.value(value)}, "
        f"expected the same value as before, {names.value(known)}"
    )
