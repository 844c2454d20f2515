"""Elementwise arithmetic of two tensors: add, sub, mul, div, mod, maximum, minimum, pow.

Integers wrap at their width, and never trap: what is divided by zero is 0.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr
from xdsl.irdl import prop_def

from inarch.core.lazy import np
from inarch.dialects.graph.domain import SIGNED, Domain
from inarch.dialects.graph.elementwise import BinaryOp, evaluate
from inarch.dialects.graph.op import Array, tensor_dtype
from inarch.dialects.scalar import Scalar
from inarch.ir.op import op_definition
from inarch.ir.require import require
from inarch.ir.types import i1


@op_definition
class AddOp(BinaryOp):
    """`out[i] = a[i] + b[i]`, broadcast; floats and integers; integers wrap."""


@op_definition
class SubOp(BinaryOp):
    """`out[i] = a[i] - b[i]`, broadcast; floats and integers; integers wrap."""


@op_definition
class MulOp(BinaryOp):
    """`out[i] = a[i] * b[i]`, broadcast; floats and integers; integers wrap."""


@op_definition
class DivOp(BinaryOp):
    """`out[i] = a[i] / b[i]`, broadcast; floats and integers.

    Integers truncate towards zero; by zero gives 0, and the lowest integer by -1 gives itself.
    """


@op_definition
class ModOp(BinaryOp):
    """`out[i] = a[i] - n * b[i]`, broadcast, for the integer n that the property `fmod` picks.

    `fmod` = true is C's remainder, with the sign of a (floats and integers); false (the default) is
    Python's `%`, with the sign of b (integers). Both as ONNX's Mod. Integers by zero give 0.
    C4: a float dtype needs fmod = true.
    """

    fmod = prop_def(BoolAttr.constr(i1), default_value=BoolAttr.from_bool(False))
    assembly_format = None  # of the fields, which are more than those of the base

    def check(self) -> None:
        super().check()
        dtype = tensor_dtype(self.a)
        fits = bool(self.fmod) or not dtype.is_float
        require(fits, "C4", f"expected fmod = true on a float dtype, found false on {dtype.name}")

    def scalar(self, a: Scalar, b: Scalar) -> Scalar:
        remainder = a % b
        if bool(self.fmod) or a.dtype.is_unsigned:
            return remainder
        signs_differ = remainder.less(0) ^ b.less(0)
        return (remainder.not_equal(0) & signs_differ).select(remainder + b, remainder)

    def reference(self, a: Array, b: Array) -> Array:
        return evaluate(np.fmod if self.fmod else np.mod, a, b)


@op_definition
class MaximumOp(BinaryOp):
    """`out[i] = max(a[i], b[i])`, broadcast; floats and integers; NaN when either is NaN.

    Which zero results from two zeros of unlike sign is unspecified.
    """

    FUNCTION: ClassVar[str] = "max"


@op_definition
class MinimumOp(BinaryOp):
    """`out[i] = min(a[i], b[i])`, broadcast; floats and integers; NaN when either is NaN.

    Which zero results from two zeros of unlike sign is unspecified.
    """

    FUNCTION: ClassVar[str] = "min"


def power(a: Array, b: Array) -> Array:
    """`a ** b` as C's `pow`, broadcast.

    np.power takes a square root for an exponent of 0.5 that is broadcast, which differs at -0 and -infinity.
    Integers wrap; a negative exponent leaves what is left of 1 / a towards zero, and 0 of 0.
    """
    base, exponent = np.broadcast_arrays(a, b)
    if base.dtype.kind == "i":
        return _integer_power(base, exponent)
    return np.power(base.ravel(), exponent.ravel()).reshape(base.shape)


def _integer_power(base: Array, exponent: Array) -> Array:
    result, factor = np.ones_like(base), base.copy()
    left = np.maximum(exponent, 0)
    while left.any():
        result = np.where(left & 1, result * factor, result)
        factor = factor * factor
        left = left >> 1
    inverse = np.where(base == -1, 1 - 2 * (exponent & 1), base == 1)
    return np.where(exponent < 0, inverse, result).astype(base.dtype)


@op_definition
class PowOp(BinaryOp):
    """`out[i] = a[i] ** b[i]`, broadcast; floats: special values as C's `pow` (C11 F.10.4.4).

    Signed integers wrap; a negative exponent leaves what is left of 1 / a[i] towards zero, and 0 of 0.
    C1: a and b have one dtype. C2: their shapes broadcast. C3: the dtype is a float or a signed integer.
    """

    DOMAIN: ClassVar[Domain] = SIGNED

    def scalar(self, a: Scalar, b: Scalar) -> Scalar:
        return a.power(b)

    def reference(self, a: Array, b: Array) -> Array:
        return evaluate(power, a, b)
