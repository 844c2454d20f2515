"""What functions take, in operations of a vector unit: one table for all that weigh code.

Counted of our own functions of f32 (`backends/c/write/value/elementary.py`), where a division or a root
counts as many multiply-adds as could have begun meanwhile. What is not in the table is one operation,
or is of the C library, which does one number after the other.
"""

from __future__ import annotations

OPERATIONS = {
    "exp": 22,
    "log": 34,
    "tanh": 44,
    "erf": 48,
    "expm1": 26,
    "log1p": 40,
    "sqrt": 10,
    "rsqrt": 20,
    "rounded": 0,
}
"""Of one vector."""
LIBRARY = 100
"""Of one vector of what the C library does, such as sin or pow."""


def operations(function: str) -> int:
    """Of a function of meanings, or of an op of the IR (`math.exp`, `arith.addf`), on one vector.

    >>> operations("add"), operations("math.exp"), operations("math.powf")
    (1, 22, 100)
    """
    dialect, _, name = function.rpartition(".")
    return OPERATIONS.get(name, LIBRARY if dialect == "math" and name not in _SINGLE else 1)


_SINGLE = frozenset({"absf", "absi", "fma", "floor", "ceil", "trunc", "roundeven", "copysign"})
"""Of the dialect `math`, what is one instruction."""
