"""The dtypes of what ops multiply and sum up: products of matrices, convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue

from inarch.core.dtypes import DTYPES
from inarch.core.lazy import Array, np
from inarch.dialects.graph.op import tensor_dtype
from inarch.ir.require import require
from inarch.ir.types import dtype_of

NARROW = ("i8", "ui8", "i16", "ui16")
"""The dtypes of integers whose products i32 holds."""


def check_factors(
    constraint: str, x: SSAValue, y: SSAValue, added: Sequence[SSAValue], to: Attribute | None
) -> None:
    """The factors and a bias have one dtype, not bool; or `to` is i32 or f32.

    Then the factors are each one of `NARROW`, or f32 and floats that are computed with in it, and a bias has
    the dtype `to`.
    """
    found = [tensor_dtype(value).name for value in (x, y, *added)]
    shown = ", ".join(sorted({*found}))
    if to is None:
        one = len({*found}) == 1 and found[0] != "i1"
        require(one, constraint, f"expected one dtype that is not bool, found {shown}")
        return
    require(to in (i32, f32), constraint, f"expected to = i32 or f32, found {to}")
    name = dtype_of(to).name
    if to == i32:
        wanted, are_fit = ", ".join(NARROW), {*found[:2]} <= {*NARROW}
    else:
        wanted = "f32 and floats that are computed with in it"
        are_fit = all(each == name or DTYPES[each].arithmetic == name for each in found[:2])
    bias = f" and a bias of {name}" if added else ""
    fit = are_fit and {*found[2:]} <= {name}
    require(fit, constraint, f"expected factors of {wanted}{bias}, found {shown}")


def factors(to: Attribute | None, *arrays: Array) -> list[Array]:
    """The factors as numbers of `to`, by which they are summed up; wider ones stay."""
    if to is None:
        return [*arrays]
    wanted = np.dtype(dtype_of(to).numpy)
    return [each if each.itemsize > wanted.itemsize else each.astype(wanted) for each in arrays]
