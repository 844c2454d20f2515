"""Expressions of a meaning in C, of any dtype: on numbers, and on all lanes of vector registers at once.

An expression is a block of scalar IR (`dialects/kernel/body.py`), which `write/value/vectors.py` writes. Both
forms do the same arithmetic in the same order, so that a lane of a vector and what remains beside it agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from inarch.backends.c.text import Names
from inarch.backends.c.text import Writer as Lines
from inarch.backends.c.types import literal
from inarch.backends.c.write.scope import Scope, Unit
from inarch.backends.c.write.value.blocks import BLOCK, BLOCK_OF_PRODUCTS
from inarch.backends.c.write.value.elementary import TOGETHER
from inarch.backends.c.write.value.math import with_own_helpers
from inarch.backends.c.write.value.vectors import (
    Value,
    evaluate_lanes,
    fused,
    on_several,
    splat,
)
from inarch.core.dtypes import DTYPES, DType
from inarch.dialects.kernel.body import Body, body_of
from inarch.meaning import Apply, Element, Expression
from inarch.microkernel import Instance, prototype

At = Callable[[Element], Value]
"""What holds an element: a scalar, or a vector."""

_LEFT, _RIGHT = Element("left", ()), Element("right", ())


class Writer:
    """The C function of an instance while it is written, on `lanes` lanes."""

    def __init__(self, instance: Instance, lanes: int) -> None:
        self.instance, self.lanes = instance, lanes
        self.dtypes: Mapping[str, str] = instance.kernel.dtypes
        names = Names(re.findall(r"\w+", prototype(instance)))
        self.scope = Scope(Lines(depth=1), names, Unit(instance.target.vector_bytes), {})
        self.line, self.close = self.scope.writer.line, self.scope.writer.close
        self.open = self.scope.writer.open
        self._bodies: dict[tuple[int, str], tuple[Expression, Body]] = {}

    def variable(self, kind: str, name: str, value: str) -> None:
        """A variable of this name."""
        self.scope.names.reserve(name)
        self.line(f"{kind} {name} = {value};")

    def named(self, kind: str, value: str) -> str:
        """A new constant."""
        return self.scope.declare(kind, "t", value)

    def vector(self, dtype: DType) -> str:
        """The vector type of `lanes` elements."""
        return self.scope.unit.vector(dtype, self.lanes).c

    def memory(self, dtype: DType) -> str:
        """The same at any element's address."""
        return self.scope.unit.vector(dtype, self.lanes).memory

    def function(self) -> str:
        """The C function with the lines as its body.

        Always inlined, so that strides and sizes are the constants of the call.
        """
        instance, unit = self.instance, self.scope.unit
        head = prototype(instance).replace(" *", " *__restrict ")
        body = "\n".join(self.scope.writer.lines)
        named = set(re.findall(r"\w+", body))
        types = [pair for kind in sorted(unit.vectors) for pair in kind.typedefs.items()]
        unused = [name for name in re.findall(r"(\w+)(?=[,)])", head) if name not in named]
        text = "\n".join(
            [
                f"static inline __attribute__((always_inline)) {head}",
                "{",
                *(f"    {line}" for name, line in types if name in named),
                *(f"    (void){name};" for name in unused),
                body,
                "}",
                "",
            ]
        )
        return with_own_helpers(unit.helpers, text, instance.symbol)

    # -- values

    def value(self, expression: Expression, dtype: DType, at: At) -> Value:
        """The expression, of `dtype`."""
        key = id(expression), dtype.name  # not by what it says, of which -0.0 would be 0.0
        if key not in self._bodies:
            self._bodies[key] = expression, body_of(expression, self.dtypes, dtype.name)
        return self._value(self._bodies[key][1], at)

    def combined(self, operator: str, left: Value, right: Value, dtype: DType) -> Value:
        """`left operator right`."""
        return self._value(_pair(operator, dtype), {_LEFT: left, _RIGHT: right}.__getitem__)

    def _value(self, body: Body, at: At) -> Value:
        arguments = {argument: at(element) for element, argument in body.arguments.items()}
        return evaluate_lanes(body.block, arguments, self.lanes, self.scope)[0]

    def together(self, function: str, values: Sequence[Value], dtype: DType) -> list[Value]:
        """A function of `OURS` of several vectors of f32, `TOGETHER` at a time."""
        texts = [self.splat(value, dtype) for value in values]
        return [
            found
            for first in range(0, len(texts), TOGETHER)
            for found in on_several(
                function, texts[first : first + TOGETHER], self.lanes, self.scope
            )
        ]

    def updated(self, operator: str, old: Value, update: Expression, dtype: DType, at: At) -> Value:
        """`old operator update`; a product that is added to a sum of floats with one rounding."""
        if not is_fused(operator, update, dtype):
            return self.combined(operator, old, self.value(update, dtype, at), dtype)
        assert isinstance(update, Apply), "it is a product"
        factors = [self.value(part, dtype, at) for part in update.arguments]
        return fused([*factors, old], dtype, self.lanes, self.scope)

    def splat(self, value: Value, dtype: DType) -> str:
        """A vector with the value in every lane."""
        if value.is_vector:
            return value.text
        kind = self.scope.unit.vector(dtype, self.lanes)
        return f"({kind.c}){splat(value.text, kind)}"


@cache
def _pair(operator: str, dtype: DType) -> Body:
    both = {"left": dtype.name, "right": dtype.name}
    return body_of(Apply(operator, (_LEFT, _RIGHT)), both, dtype.name)


def is_fused(operator: str, update: Expression, dtype: DType) -> bool:
    """Whether what is added is a product that is not rounded before."""
    is_product = isinstance(update, Apply) and update.function == "mul"
    return is_product and operator == "add" and dtype.is_float


def block_of(operator: str, update: Expression, dtype: DType) -> int | None:
    """How many terms of a sum of floats are added one after the other; None: any number, of others."""
    if operator != "add" or not dtype.is_float:
        return None
    return BLOCK_OF_PRODUCTS if is_fused(operator, update, dtype) else BLOCK


def identity(operator: str, dtype: DType) -> str:
    """The literal e for which `e operator x` is x."""
    if operator == "add":
        return literal(-0.0 if dtype.is_float else 0, dtype)
    if operator == "mul":
        return literal(1, dtype)
    return literal(dtype.least if operator == "max" else dtype.greatest, dtype)


def widest(dtypes: Mapping[str, str]) -> int:
    """Bytes of the widest element: what lanes are counted in."""
    return max(DTYPES[dtype].nbytes for dtype in dtypes.values())
