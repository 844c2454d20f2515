"""An index value as numbers, followed through `arith`: what is linear in constants and in loops' indices."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, SSAValue

_MAX_TERMS = 1000
"""Ops that an index is followed through: beyond, it is taken for one that is not known."""


def linear_index(
    value: SSAValue,
    counted: Container[SSAValue],
    is_fixed: Callable[[SSAValue], bool] = lambda _: False,
) -> dict[SSAValue | None, int] | None:
    """Coefficients by what is counted, the constant under None; None where it is not linear.

    What is not followed further stands for itself where `is_fixed` says that it has one value.
    """
    return _follow(value, counted, is_fixed, _MAX_TERMS)


def _follow(
    value: SSAValue,
    counted: Container[SSAValue],
    is_fixed: Callable[[SSAValue], bool],
    terms: int,
) -> dict[SSAValue | None, int] | None:
    if value in counted:
        return {value: 1}
    found = _through_op(value, counted, is_fixed, terms)
    return {value: 1} if found is None and is_fixed(value) else found


def _through_op(
    value: SSAValue,
    counted: Container[SSAValue],
    is_fixed: Callable[[SSAValue], bool],
    terms: int,
) -> dict[SSAValue | None, int] | None:
    owner: Any = value.owner
    if isinstance(owner, Block) or terms < 1:
        return None
    if owner.name == "arith.constant":
        number: Any = owner.value
        return {None: cast("Any", number).value.data} if isinstance(number, IntegerAttr) else None
    if owner.name not in ("arith.addi", "arith.subi", "arith.muli"):
        return None
    left, right = (_follow(x, counted, is_fixed, (terms - 1) // 2) for x in owner.operands)
    if left is None or right is None:
        return None
    if owner.name == "arith.muli":
        for one, other in ((left, right), (right, left)):
            if set(one) <= {None}:
                return {key: one.get(None, 0) * factor for key, factor in other.items()}
        return None
    sign = -1 if owner.name == "arith.subi" else 1
    return {key: left.get(key, 0) + sign * right.get(key, 0) for key in (*left, *right)}
