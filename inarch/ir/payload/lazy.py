"""xDSL's dialects of scalar ops, imported when first used.

They take 50 ms, and programs in `graph` have none: its ops say by them what they are lowered to.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from inarch.core.lazy import lazy_module

if TYPE_CHECKING:
    from xdsl.dialects import arith, math
else:
    arith = lazy_module("xdsl.dialects.arith")
    math = lazy_module("xdsl.dialects.math")


def scalar_op(name: str) -> type[Operation]:
    """The op of a name, such as `math.exp`."""
    return _scalar_ops()[name]


@cache
def _scalar_ops() -> dict[str, type[Operation]]:
    return {op.name: op for op in (*arith.Arith.operations, *math.Math.operations)}
