"""Sums of many floats in C: in blocks, of whose sums nothing is lost.

A chain of n additions loses up to n / 2 ulps of its sum. Terms are added up in blocks of some dozens; the
sum of a block is added to a total by Knuth's TwoSum (The Art of Computer Programming, volume 2, 4.2.2), which
has what the addition rounds off, and the next block begins with that, as in Kahan's sum. (Added up beside
the total it would be a chain itself: half a million blocks lost 1,847 ulps.) So the error is that of a block,
however many there are. What is lost is no number where the total is infinite or NaN, and then it is left out.
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
        part, total, lost, kind, none = self.part, self.total, self.lost, self.kind, self.none
        if kind == self.dtype.c:
            kept = f"rest < 0 || rest > 0 ? rest : {none}"
        else:
            bits = "(__typeof__(some))"
            kept = f"({kind})(({bits}rest & some) | ({bits}({none}) & ~some))"
        return [
            "{",
            f"    const {kind} all = {part} + {lost}, sum = {total} + all, back = sum - {total};",
            f"    const {kind} rest = ({total} - (sum - back)) + (all - back);",
            *(
                []
                if kind == self.dtype.c
                else ["    __typeof__(rest < 0) some = (rest < 0) | (rest > 0);"]
            ),
            f"    {lost} = {kept};",
            f"    {total} = sum;",
            f"    {part} = {none};",
            "}",
        ]


def flushed(sums: Sequence[LongSum]) -> list[str]:
    """All of them, one after the other."""
    return [line for each in sums for line in each.flush()]
