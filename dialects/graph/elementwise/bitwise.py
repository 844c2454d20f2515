"""Operations on the bits of integers: and, or, xor, not, and shifts."""

from __future__ import annotations

from typing import ClassVar

from inarch.core.lazy import np
from inarch.dialects.graph.domain import INTEGERS, Domain
from inarch.dialects.graph.elementwise import BinaryOp, UnaryOp, evaluate
from inarch.dialects.graph.op import Array
from inarch.dialects.scalar import Scalar
from inarch.ir.op import op_definition


class BitwiseOp(BinaryOp):
    """`out[i] = a[i] <operation> b[i]`, broadcast; integers.

    C1: a and b have one dtype. C2: their shapes broadcast. C3: the dtype is an integer.
    """

    DOMAIN: ClassVar[Domain] = INTEGERS


@op_definition
class BitwiseAndOp(BitwiseOp):
    """`out[i]` = the and of each bit of a[i] and b[i], broadcast; integers."""

    FUNCTION: ClassVar[str] = "and"


@op_definition
class BitwiseOrOp(BitwiseOp):
    """`out[i]` = the or of each bit of a[i] and b[i], broadcast; integers."""

    FUNCTION: ClassVar[str] = "or"


@op_definition
class BitwiseXorOp(BitwiseOp):
    """`out[i]` = the exclusive or of each bit of a[i] and b[i], broadcast; integers."""

    FUNCTION: ClassVar[str] = "xor"


@op_definition
class BitwiseNotOp(UnaryOp):
    """`out[i]` = x[i] with every bit inverted; integers."""

    DOMAIN: ClassVar[Domain] = INTEGERS

    def scalar(self, x: Scalar) -> Scalar:
        return ~x

    def reference(self, x: Array) -> Array:
        return evaluate(np.invert, x)


@op_definition
class ShiftLeftOp(BitwiseOp):
    """`out[i] = a[i] * 2**b[i]`, broadcast; integers; bits past the width are lost.

    An amount that is negative, or not below the width, leaves 0 (as ONNX's BitShift).
    """

    FUNCTION: ClassVar[str] = "shift_left"


@op_definition
class ShiftRightOp(BitwiseOp):
    """`out[i] = floor(a[i] / 2**b[i])`, broadcast; integers.

    An amount that is negative, or not below the width, leaves the sign: 0, or -1 where a[i] < 0.
    """

    FUNCTION: ClassVar[str] = "shift_right"
