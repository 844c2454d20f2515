"""Convolutions of 3x3 windows by F(2x2): 16 products for 36, and a lesser bound of errors than direct's."""

from __future__ import annotations

from fractions import Fraction

from inarch.dialects.graph.op import shape_of
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.passes.lower.algorithm import Bound
from inarch.passes.lower.winograd.nests import algorithm
from inarch.passes.lower.winograd.points import Winograd

_WINOGRAD = Winograd(2, (Fraction(0), Fraction(1), Fraction(-1)))


def _bound(op: ConvOp) -> Bound:
    return Bound(
        _WINOGRAD.ratio(shape_of(op.x)[1]),
        about="inputs below 8e37; infinities and NaN are in direct's places, infinities may be NaN",
    )


ALGORITHM = algorithm(
    _WINOGRAD, _bound, 16, "3x3 windows by 16 products for 36 (Winograd's F(2x2, 3x3))"
)
