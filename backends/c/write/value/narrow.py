"""C on lanes that converts from and to dtypes that are only stored, by one instruction where there is one.

Each is a helper, `INARCH_WIDEN_V8F16(bits)` and `INARCH_NARROW_V8F16(numbers)`: by F16C where there is that,
else by the dtype's row. The numbers are the same; the bits of a NaN may differ.
"""

from __future__ import annotations

import re

from xdsl.ir import SSAValue

from inarch.backends.c.text import Names, Writer
from inarch.backends.c.types import element
from inarch.backends.c.write.scope import Scope, Unit, VectorType
from inarch.backends.c.write.value.vectors import (
    INSTRUCTIONS,
    Value,
    evaluate_lanes,
    narrowed_name,
    widened_name,
)
from inarch.core.dtypes import DTYPES, DType
from inarch.dialects.scalar import conversion


def converting_texts(lanes: int) -> dict[str, str]:
    """The helpers on so many lanes, by name."""
    return {
        name(lanes, dtype): _text(lanes, dtype, name(lanes, dtype), widens=widens)
        for dtype in DTYPES.values()
        if dtype.is_stored
        for widens, name in ((True, widened_name), (False, narrowed_name))
    }


def _text(lanes: int, dtype: DType, name: str, *, widens: bool) -> str:
    block, number = conversion(dtype, widens=widens), DTYPES[dtype.arithmetic]
    (argument,) = block.args
    scope = Scope(writer := Writer(1), Names(["x", "y"]), unit := Unit(0), {})
    bits, wide = VectorType(dtype.name, lanes), VectorType(number.name, lanes)
    given, result = (bits, wide) if widens else (wide, bits)
    own = unit.vector(element(argument.type), lanes)
    known: dict[SSAValue, Value] = {
        argument: Value(scope.declare(own.c, "given", f"({own.c})x"), is_vector=True)
    }
    (found,) = evaluate_lanes(block, known, lanes, scope)
    lines = [*writer.lines, f"    return ({name.lower()}_to){found.text};"]
    named = set(re.findall(r"\w+", "\n".join(lines)))
    types = [each.typedefs for each in sorted(unit.vectors, key=str)]
    lines = [
        *(f"    {text}" for own in types for kind, text in own.items() if kind in named),
        *lines,
    ]
    if dtype.name in INSTRUCTIONS:
        instruction = INSTRUCTIONS[dtype.name][not widens]
        guard = "defined(__F16C__)" + (" && defined(__AVX512F__)" if lanes == 16 else "")
        kind = "v" if lanes == 16 else "x"
        lines = [
            f"#if {guard}",
            f"    {name.lower()}_to y;",
            f'    __asm__("{instruction} %1, %0" : "={kind}"(y) : "{kind}"(x));',
            "    return y;",
            "#else",
            *lines,
            "#endif",
        ]
    function = name.lower()
    return "\n".join(
        [
            f"#ifndef {name}",
            f"#define {name} {function}",
            *(
                f"typedef {DTYPES[kind.dtype].c} {function}_{way} __attribute__((vector_size({size})));"
                for way, kind in (("from", given), ("to", result))
                for size in [lanes * DTYPES[kind.dtype].nbytes]
            ),
            "static inline __attribute__((always_inline))",
            f"{function}_to {function}({function}_from x)",
            "{",
            *lines,
            "}",
            "#endif\n",
        ]
    )
