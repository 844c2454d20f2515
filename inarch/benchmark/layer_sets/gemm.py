"""Matrix products by a constant, from small to larger than the caches."""

from __future__ import annotations

from inarch.benchmark.layers import Gemm, LayerSet

LAYER_SET = LayerSet(
    "square matrix products by a constant, 256^3 to 2048^3",
    tuple(Gemm(f"{size}^3", size, size, size) for size in (256, 512, 1024, 2048)),
)
