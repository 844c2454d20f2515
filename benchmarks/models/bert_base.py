"""BERT-base's encoder (Devlin et al. 2019): embeddings and 12 layers, batch 1, 128 tokens.

As exporters write it: reshapes and transposes around the heads, GELU as Div, Erf, Add, Mul, Mul.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from model_builder import INT64, ModelBuilder, main

if TYPE_CHECKING:
    import onnx


def build(
    *,
    batch: int = 1,
    sequence: int = 128,
    layers: int = 12,
    hidden: int = 768,
    heads: int = 12,
    inner: int = 3072,
    vocabulary: int = 30522,
    seed: int = 3,
    dynamic: bool = False,
) -> onnx.ModelProto:
    """Inputs input_ids, attention_mask, token_type_ids [batch, sequence]; output, hidden states.

    `dynamic`: batch and sequence have names instead of sizes; there are `sequence` places at most.
    """
    b = ModelBuilder("bert_base", seed)
    names = ("input_ids", "attention_mask", "token_type_ids")
    sizes: list[int | str] = ["batch", "sequence"] if dynamic else [batch, sequence]
    ids, mask, kinds = (b.input(name, sizes, INT64) for name in names)
    visible = b.op("Cast", b.op("Unsqueeze", mask, b.sizes(1, 2)), to=1)
    # Masked positions get the lowest float, which the softmax turns into 0.
    lowest = b.weight(float(np.finfo(np.float32).min))
    penalty = b.op("Mul", b.op("Sub", b.weight(1.0), visible), lowest)
    words = b.op("Gather", b.weight(b.normal(vocabulary, hidden, scale=0.5)), ids)
    segments = b.op("Gather", b.weight(b.normal(2, hidden, scale=0.5)), kinds)
    places = b.weight(b.normal(1, sequence, hidden, scale=0.5))
    if dynamic:
        batch = sequence = 0  # in a Reshape: as it is
        length = b.op("Slice", b.op("Shape", ids), b.sizes(1), b.sizes(2))
        places = b.op("Slice", places, b.sizes(0), length, b.sizes(1))
    x = _norm(b, b.op("Add", b.op("Add", words, segments), places), hidden)
    for _ in range(layers):
        shape = (batch, sequence, heads, hidden // heads)
        x = _norm(b, b.op("Add", _attention(b, x, penalty, shape), x), hidden)
        x = _norm(b, b.op("Add", _feed_forward(b, x, hidden, inner), x), hidden)
    b.output(x, [*sizes, hidden], "hidden_states")
    return b.model()


def _dense(b: ModelBuilder, x: str, inputs: int, outputs: int) -> str:
    """`x @ W + b` as MatMul and Add; the scale keeps a unit variance about where it is."""
    weight = b.weight(b.normal(inputs, outputs, scale=0.8 / math.sqrt(inputs)))
    return b.op("Add", b.weight(b.normal(outputs, scale=0.02)), b.op("MatMul", x, weight))


def _norm(b: ModelBuilder, x: str, hidden: int) -> str:
    scale = b.weight(1 + b.normal(hidden, scale=0.1))
    bias = b.weight(b.normal(hidden, scale=0.05))
    return b.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-12)


def _attention(b: ModelBuilder, x: str, penalty: str, shape: tuple[int, int, int, int]) -> str:
    batch, sequence, heads, size = shape
    hidden = heads * size

    def split(perm: list[int]) -> str:
        y = b.op("Reshape", _dense(b, x, hidden, hidden), b.sizes(*shape))
        return b.op("Transpose", y, perm=perm)

    query, key, value = split([0, 2, 1, 3]), split([0, 2, 3, 1]), split([0, 2, 1, 3])
    scores = b.op("Div", b.op("MatMul", query, key), b.weight(math.sqrt(size)))
    weights = b.op("Softmax", b.op("Add", scores, penalty), axis=-1)
    y = b.op("Transpose", b.op("MatMul", weights, value), perm=[0, 2, 1, 3])
    y = b.op("Reshape", y, b.sizes(batch, sequence, hidden))
    return _dense(b, y, hidden, hidden)


def _feed_forward(b: ModelBuilder, x: str, hidden: int, inner: int) -> str:
    y = _dense(b, x, hidden, inner)
    erf = b.op("Erf", b.op("Div", y, b.weight(math.sqrt(2))))
    y = b.op("Mul", b.op("Mul", y, b.op("Add", erf, b.weight(1.0))), b.weight(0.5))
    return _dense(b, y, inner, hidden)


if __name__ == "__main__":
    main(build)
