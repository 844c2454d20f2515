"""C that converts from and to dtypes that are only stored: a helper each, made of the dtype's row."""

from __future__ import annotations

from inarch.backends.c.text import Names, Writer
from inarch.backends.c.types import element
from inarch.backends.c.write.scope import Scope, Unit, evaluate
from inarch.core.dtypes import DTYPES, DType
from inarch.dialects.scalar import conversion


def conversion_texts() -> dict[str, str]:
    """The helpers of all dtypes that are only stored, by name."""
    found: dict[str, str] = {}
    for dtype in DTYPES.values():
        if dtype.is_stored:
            number = DTYPES[dtype.arithmetic]
            for source, target in ((dtype, number), (number, dtype)):
                name = f"inarch_{source.name}_to_{target.name}"
                found[name] = _text(name, source, target)
    return found


def _text(name: str, source: DType, target: DType) -> str:
    widens = source.is_stored
    block = conversion(source if widens else target, widens=widens)
    writer = Writer(1)
    (argument,) = block.args
    scope = Scope(writer, Names(), Unit(0), {})
    given = scope.declare(element(argument.type).c, "bits" if widens else "number", "x")
    (result,) = evaluate(block, {argument: given}, scope)
    writer.line(f"return {result};")
    lines = "\n".join(writer.lines)
    return f"\nstatic inline {target.c} {name}({source.c} x)\n{{\n{lines}\n}}\n"
