"""Constants in C: static arrays in the order of the program, under their names, with exact values."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import DenseResourceAttr

from inarch.backends.ccompiler._types import c_type
from inarch.core.lazy import np
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import tensor_dtype
from inarch.ir.context import ConstantStore
from inarch.ir.location import location_text
from inarch.ir.payload.constants import constant_array

_A_LINE = 8


def constant_text(op: ConstantOp, name: str, number: int, store: ConstantStore) -> str:
    """`static const float name[] = {...};` after a comment with the constant's number and name."""
    array = constant_array(op.value, store)
    values = [_literal(value) for value in array.ravel()] or ["0"]  # C has no array of no elements
    lines = [", ".join(values[i : i + _A_LINE]) for i in range(0, len(values), _A_LINE)]
    rows = ",\n    ".join(lines)
    kind = c_type(tensor_dtype(op.out))
    title = f"/* constant {number}: {_name_of(op)} */"
    return f"\n{title}\nstatic const {kind} {name}[{len(values)}] = {{\n    {rows}\n}};\n"


def _name_of(op: ConstantOp) -> str:
    """What the model calls the constant: its resource, its name in the text, or its place."""
    if isinstance(op.value, DenseResourceAttr):
        return op.value.resource_handle.data
    name = op.out.name_hint or location_text(op) or "unnamed"
    return name.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ")


def _literal(value: Any) -> str:
    """A NumPy scalar as a C literal of its C type, exact; integers as what they are modulo 2^bits."""
    if value.dtype.kind == "f":
        return _float_literal(value)
    bits = 8 * value.dtype.itemsize
    suffix = "ull" if bits == 64 else "u"
    return f"{int(value) % (1 << bits)}{suffix}"


def _float_literal(value: Any) -> str:
    suffix = "f" if value.dtype.itemsize == 4 else ""
    if np.isnan(value):
        return "NAN"
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = np.format_float_scientific(value, unique=True, trim="0")
    return f"{text}{suffix}"
