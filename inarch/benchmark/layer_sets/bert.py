"""The matrix products of BERT-base (12 layers, 768 wide, 12 heads) on 128 tokens; shapes are MxNxK."""

from __future__ import annotations

from inarch.benchmark.layers import Gemm, LayerSet

LAYER_SET = LayerSet(
    "the matrix products of BERT-base on 128 tokens: linear layers with bias, and attention",
    (
        Gemm("attention.linear", 128, 768, 768, count=48, bias=True),  # query, key, value, output
        Gemm("ffn.up", 128, 3072, 768, count=12, bias=True),
        Gemm("ffn.down", 128, 768, 3072, count=12, bias=True),
        Gemm("attention.scores", 128, 128, 64, batch=12, count=12),
        Gemm("attention.context", 128, 64, 128, batch=12, count=12),
    ),
)
