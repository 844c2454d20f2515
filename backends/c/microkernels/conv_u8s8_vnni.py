"""Convolutions and products of u8 by s8, summed in i32: `vpdpbusd` of AVX512-VNNI, exact.

A tile of P x Q pixels by NV vectors of output channels. Channels (or K) are taken in fours, which lie next to
each other in A: in blocks, as `choose-layout` makes them, or in rows. Weights are packed at compile time.
"""

from __future__ import annotations

from inarch.backends.c.microkernels._dot_tile import Multiply, dot_kernel

MICROKERNEL = dot_kernel(
    Multiply("ui8", "i8", "vpdpbusd", adds=True),
    lanes=(8, 16),
    needs=("avx512vl", "avx512vnni"),
    doc=__doc__,
)
