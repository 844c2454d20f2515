"""Sums of many floats in C: in blocks, of whose sums nothing is lost.

A chain of n additions loses up to n / 2 ulps of its sum. Terms are added up in blocks of some dozens; the
sum of a block is added to a total by Knuth's TwoSum (The Art of Computer Programming, volume 2, 4.2.2), which
has what the addition rounds off, and that is added up beside it. So the error is that of a block, however
many there are. What is lost is no number where the total is infinite or NaN, and then it is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inarch.backends.c.types import literal
from inarch.core.dtypes import DType

BLOCK = 64
"""Additions one after the other, of terms that are not products."""
BLOCK_OF_PRODUCTS = 256
"""The same of products, of which a multiply-add rounds half as often as a product and a sum."""


@dataclass(frozen=True)
class LongSum:
    """A sum in blocks: the names of the block's sum, of the total, and of what it has lost.

    All three are numbers of one dtype, or vectors of them (`kind`).
    """

    part: str
    total: str
    lost: str
    dtype: DType
    kind: str

    @property
    def none(self) -> str:
        """What adds nothing, not even the sign of a zero."""
        zero = literal(-0.0, self.dtype)
        return zero if self.kind == self.dtype.c else f"{zero} - ({self.kind}){{0}}"

    def declare(self) -> list[str]:
        """The total and what it has lost, of which there is nothing yet."""
        return [f"{self.kind} {self.total} = {self.none}, {self.lost} = {self.none};"]

    def flush(self) -> list[str]:
        """The block's sum goes into the total, and the next block begins."""
        part, total, lost, kind = self.part, self.total, self.lost, self.kind
        return [
            "{",
            f"    const {kind} sum = {total} + {part}, back = sum - {total};",
            f"    {lost} += ({total} - (sum - back)) + ({part} - back);",
            f"    {total} = sum;",
            f"    {part} = {self.none};",
            "}",
        ]


def with_lost(total: str, lost: str) -> str:
    """C for a total, as a number, and what it has lost, where that is one."""
    return f"{lost} < 0 || {lost} > 0 ? {total} + {lost} : {total}"


def vector_with_lost(total: str, lost: str, ints: str) -> str:
    """The same of vectors; `ints` are integers of the lanes' size."""
    kept = f"(({lost} < 0) | ({lost} > 0))"
    return f"{total} + (__typeof__({total}))(({ints}){kept} & ({ints}){lost})"


def flushed(sums: Sequence[LongSum]) -> list[str]:
    """All of them, one after the other."""
    return [line for each in sums for line in each.flush()]
