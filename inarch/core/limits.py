"""How much a model or a text of strangers may make Inarch build before it is refused.

A file of a hundred bytes can name sizes that no machine has. Whatever is built from what a file
says is counted first, and refused with one line where it goes beyond one of these limits. They are
far above what models need. Where you trust a file that needs more, the environment raises them:

    INARCH_MAX_NODES=1000000 inarch compile model.onnx -o model.inarch

| variable | default | counts |
|---|---|---|
| `INARCH_MAX_NODES` | 50,000 | nodes converted and ops made by an import, in functions and loops too |
| `INARCH_MAX_OPS` | 20,000 | operations of a graph that becomes loops, one of many operands as many |
| `INARCH_MAX_CONSTANT_BYTES` | 268,435,456 | bytes of constants that a file implies and does not hold |
| `INARCH_MAX_RUN_BYTES` | 2^35 | bytes of scratch and results of a call; of all values in `verify` |
| `INARCH_MAX_DEPTH` | 100 | brackets within brackets of MLIR text, terms of an affine expression |

Integers of MLIR text have at most `INTEGER_BITS` bits, and no tensor of a model has more than
`TENSOR_BYTES`; nothing raises these.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from inarch.core.errors import InarchError, UsageError

INTEGER_BITS = 64
"""Of integer types and of integers in MLIR text: the widest that there is code for."""


TENSOR_BYTES = 1 << 40
"""Of a tensor: a damaged size would otherwise ask for all memory there is, when the model runs."""
MAX_RANK = 32
"""As many dimensions as every NumPy has."""


class LimitError(InarchError):
    """More than a limit was asked for: another way to read the same program is not tried."""


@dataclass(frozen=True)
class Limit:
    """One limit: the environment variable that sets it, its default, and what it counts."""

    variable: str
    default: int
    unit: str

    @property
    def value(self) -> int:
        """The limit that holds now. Raises UsageError when the variable is no whole number."""
        text = os.environ.get(self.variable)
        if text is None:
            return self.default
        if not (text.isascii() and text.isdecimal()) or len(text) > 18:
            raise UsageError(
                f"expected ${self.variable} to be a whole number below 10**18, found '{text[:40]}'"
            )
        return int(text)

    def check(self, found: int, *, where: str | None = None) -> None:
        """Raises LimitError when `found` is above the limit."""
        limit = self.value
        if found > limit:
            raise LimitError(
                f"expected at most {limit} {self.unit}, found {number_text(found)}; "
                f"where you trust the model, ${self.variable} raises the limit",
                where=where,
            )


NODES = Limit("INARCH_MAX_NODES", 50_000, "nodes")
OPS = Limit("INARCH_MAX_OPS", 20_000, "operations")
CONSTANT_BYTES = Limit("INARCH_MAX_CONSTANT_BYTES", 1 << 28, "bytes of computed constants")
RUN_BYTES = Limit("INARCH_MAX_RUN_BYTES", 1 << 35, "bytes of memory at run time")
DEPTH = Limit("INARCH_MAX_DEPTH", 100, "levels of nesting")


def number_text(number: int) -> str:
    """A number in a message: as a power of two where its digits say nothing.

    >>> number_text(12), number_text(3 << 80)
    ('12', 'more than 2**81')
    """
    bits = abs(number).bit_length()
    if bits <= INTEGER_BITS:
        return str(number)
    return f"{'more' if number > 0 else 'less'} than {'-' if number < 0 else ''}2**{bits - 1}"


def check_shape(shape: Sequence[int], itemsize: int, where: str | None = None) -> None:
    """Raises InarchError for more dimensions or bytes than are supported.

    Sizes of 0 count as 1: NumPy multiplies the others even of an empty array.
    """
    if len(shape) > MAX_RANK:
        message = f"expected at most {MAX_RANK} dimensions, found {len(shape)}"
        raise InarchError(message, where=where)
    if math.prod(max(size, 1) for size in shape) * itemsize > TENSOR_BYTES:
        message = f"expected tensors of less than 1 TiB, found one of shape {tuple(shape)}"
        raise InarchError(message, where=where)
