"""The dtypes that ops are defined on: what a constraint asks, and how it says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.core.dtypes import DType
from inarch.dialects.graph.op import tensor_dtype
from inarch.ir.require import require


@dataclass(frozen=True)
class Domain:
    """Some dtypes."""

    text: str
    """In words: `expected TEXT`."""
    has: Callable[[DType], bool]

    def check(self, x: SSAValue, label: str) -> None:
        """Constraint `label`: the elements of x are of one of them."""
        found = tensor_dtype(x)
        require(self.has(found), label, f"expected {self.text}, found {found.name}")


ANY = Domain("a dtype", lambda dtype: bool(dtype.name))
BOOLS = Domain("i1", lambda dtype: dtype.name == "i1")
FLOATS = Domain("a float dtype", lambda dtype: dtype.is_float)
INTEGERS = Domain("an integer dtype", lambda dtype: not dtype.is_float and dtype.name != "i1")
NUMBERS = Domain("a float or integer dtype", lambda dtype: dtype.name != "i1")
SIGNED = Domain(
    "a float or signed integer dtype",
    lambda dtype: dtype.is_float or not (dtype.is_unsigned or dtype.name == "i1"),
)
