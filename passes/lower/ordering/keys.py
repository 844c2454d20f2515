"""Elements as unsigned integers, of which the least comes first: by one comparison, whatever the dtype."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from inarch.core.dtypes import DType
from inarch.dialects.scalar import Scalar
from inarch.passes.lower.ordering.code import Code


@dataclass(frozen=True)
class Keys:
    """Those of the elements of a dtype, of which the largest, or the smallest, come first.

    Elements that are equal have equal keys: zeros of both signs, and all NaN, which are larger than every
    number.
    """

    dtype: DType
    largest: bool

    @property
    def type(self) -> IntegerType:
        """What a key is stored as: it has the bits of an element."""
        return IntegerType(self.dtype.bits)

    def key(self, code: Code, element: SSAValue) -> SSAValue:
        """The key of an element.

        The bits of positive numbers of IEEE 754 ascend as they do, and those of negative ones descend.
        """
        bits = self.dtype.bits
        top, ones = 1 << (bits - 1), (1 << bits) - 1
        if self.dtype.is_float:
            x = Scalar(element, self.dtype, code.block)
            x = x.equal(0.0).select(0.0, x.not_equal(x).select(math.nan, x))
            plain = code.add(arith.BitcastOp(x.value, self.type))
            sign = code.add(arith.ShRSIOp(plain, self._number(code, bits - 1)))
            flips = code.add(arith.OrIOp(sign, self._number(code, top)))
            if self.largest:
                flips = code.add(arith.XOrIOp(flips, self._number(code, ones)))
            return code.add(arith.XOrIOp(plain, flips))
        flipped = (0 if self.dtype.is_unsigned else top) ^ (ones if self.largest else 0)
        return code.add(arith.XOrIOp(element, self._number(code, flipped))) if flipped else element

    def _number(self, code: Code, value: int) -> SSAValue:
        """An unsigned number; in the IR it is written as the signed one of the same bits."""
        bits = self.dtype.bits
        signed = value - (1 << bits) if value >> (bits - 1) else value
        return code.add(arith.ConstantOp.from_int_and_width(signed, self.type))

    def less(self, code: Code, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether what has key a comes before what has key b."""
        return code.add(arith.CmpiOp(a, b, "ult"))

    def may_precede(
        self, code: Code, a: SSAValue, b: SSAValue, *, or_equal: bool = False
    ) -> SSAValue:
        """Whether element a comes before element b, by one comparison; where one of them is NaN, it may.

        `or_equal`: or whether they are equal.
        """
        kind = ("g" if self.largest else "l") + ("e" if or_equal else "t")
        if self.dtype.is_float:
            return code.add(arith.CmpfOp(a, b, f"u{kind}"))
        return code.add(arith.CmpiOp(a, b, f"{'u' if self.dtype.is_unsigned else 's'}{kind}"))
