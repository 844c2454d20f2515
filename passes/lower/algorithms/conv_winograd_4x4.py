"""Convolutions of 3x3 windows by F(4x4): 36 products for 144. Points 0, +-3/4, +-3/2 keep errors small."""

from __future__ import annotations

from fractions import Fraction

from inarch.passes.lower.winograd.nests import algorithm
from inarch.passes.lower.winograd.points import Winograd

_POINTS = ("0", "3/4", "-3/4", "3/2", "-3/2")
_RATIO = 4.0
"""Of the greatest error of direct's: 520 draws for 65 convolutions of 32 to 72 channels are below 3.8."""

ALGORITHM = algorithm(
    Winograd(4, tuple(map(Fraction, _POINTS))),
    32,
    "3x3 windows by 36 products for 144 (Winograd's F(4x4, 3x3))",
    "inputs below 1e37; a tile of 4x4 outputs that reads an infinity or a NaN is not finite",
    _RATIO,
)
