"""Convolutions and products of bf16 by bf16, summed in f32: `vdpbf16ps` of AVX512-BF16.

A tile of P x Q pixels by NV vectors of output channels. Channels (or K) are taken in pairs, which lie next to
each other in A. The products of a pair are added to a sum one after the other; denormals are 0.
"""

from __future__ import annotations

from inarch.backends.c.microkernels._dot_tile import Multiply, dot_kernel

MICROKERNEL = dot_kernel(
    Multiply("bf16", "bf16", "vdpbf16ps", adds=True, total="f32"),
    lanes=(8, 16),
    needs=("avx512bf16", "avx512vl"),
    doc=__doc__,
)
