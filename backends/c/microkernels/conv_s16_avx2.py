"""Convolutions and products of 16-bit integers, summed in i32: `vpmaddwd` of AVX2, exact.

A tile of P x Q pixels by NV vectors of output channels. Channels (or K) are taken in twos, which lie next to
each other in A: in blocks, as `choose-layout` makes them, or in rows. Weights are packed at compile time.
"""

from __future__ import annotations

from inarch.backends.c.microkernels._dot_tile import Multiply, dot_kernel

MICROKERNEL = dot_kernel(
    Multiply("i16", "i16", "vpmaddwd", adds=False), lanes=(8,), needs=("avx2",), doc=__doc__
)
