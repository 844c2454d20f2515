"""What an op is but for names of values and locations: equal structures print equal texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from xdsl.ir import Attribute, Operation, SSAValue

from inarch.ir.report.walk import ops_within

Structure = tuple[object, ...]
"""Equal for two ops only if their texts are, with values named in the order in which they are made."""


def structure_of(
    op: Operation, operands: Sequence[SSAValue], before: Sequence[Operation] = ()
) -> Structure:
    """The structure of `op`, behind the ops `before` it, as code of its own with arguments for `operands`.

    What else they use of outside is itself, and no other value. Takes a walk of the ops.
    """
    numbers: dict[SSAValue, int] = {}

    def number(values: Iterable[SSAValue]) -> tuple[Attribute, ...]:
        """Their types."""
        for value in values:
            numbers.setdefault(value, len(numbers))
        return tuple(value.type for value in values)

    parts: list[object] = [number(operands)]
    for outer in (*before, op):
        for inner in ops_within(outer):
            parts += (inner.name, *(numbers.get(value, value) for value in inner.operands))
            parts += (tuple(inner.properties.items()), tuple(inner.attributes.items()))
            parts += (number(inner.results), *inner.successors)
            for region in inner.regions:
                parts.append(len(region.blocks))
                parts += ((len(block.ops), number(block.args)) for block in region.blocks)
    return tuple(parts)


def structure_text(structure: Structure) -> str:
    """A structure as the IR's printer has it: keys of files must not depend on names of Python classes."""
    return " ".join(map(_text, structure))


def _text(part: object) -> str:
    if isinstance(part, tuple):
        return f"({' '.join(map(_text, part))})"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return printed(part) if isinstance(part, Attribute) else str(part)


@lru_cache(maxsize=4096)  # a program has few different ones, and xDSL makes a printer for each
def printed(attribute: Attribute) -> str:
    """The text of an attribute."""
    return str(attribute)
