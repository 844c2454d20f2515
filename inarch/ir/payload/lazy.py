"""xDSL's dialects of scalar ops, imported when first used.

They take 50 ms, and programs in `graph` have none: its ops say by them what they are lowered to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inarch.core.lazy import lazy_module

if TYPE_CHECKING:
    from xdsl.dialects import arith, math
else:
    arith = lazy_module("xdsl.dialects.arith")
    math = lazy_module("xdsl.dialects.math")

__all__ = ["arith", "math"]
