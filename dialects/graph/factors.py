"""The dtypes of what ops multiply and sum up: products of matrices, convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from inarch.dialects.graph.op import tensor_dtype
from inarch.ir.require import require

NARROW = ("i8", "ui8", "i16", "ui16")
"""The dtypes of integers whose products i32 holds."""


def check_factors(
    constraint: str, x: SSAValue, y: SSAValue, added: Sequence[SSAValue], to: Attribute | None
) -> None:
    """The factors, and what is added to their products, have one dtype, not bool; or `to` is i32.

    Then the factors are each one of `NARROW`, and what is added is i32.
    """
    found = [tensor_dtype(value).name for value in (x, y, *added)]
    shown = ", ".join(sorted({*found}))
    if to is None:
        one = len({*found}) == 1 and found[0] != "i1"
        require(one, constraint, f"expected one dtype that is not bool, found {shown}")
        return
    require(to == i32, constraint, f"expected to = i32, found {to}")
    narrow = {*found[:2]} <= {*NARROW} and {*found[2:]} <= {"i32"}
    wanted = f"factors of {', '.join(NARROW)}" + (" and a bias of i32" if added else "")
    require(narrow, constraint, f"expected {wanted}, found {shown}")
