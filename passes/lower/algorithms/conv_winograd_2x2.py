"""Convolutions of 3x3 windows by F(2x2): 16 products for 36, and as a rule a lesser bound than direct's."""

from __future__ import annotations

from fractions import Fraction

from inarch.passes.lower.winograd.nests import algorithm
from inarch.passes.lower.winograd.points import Winograd

ALGORITHM = algorithm(
    Winograd(2, (Fraction(0), Fraction(1), Fraction(-1))),
    16,
    "3x3 windows by 16 products for 36 (Winograd's F(2x2, 3x3))",
    "inputs below 8e37; infinities and NaN are in direct's places, infinities may be NaN",
)
