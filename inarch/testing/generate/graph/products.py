"""Products of matrices, and what stands behind them and behind convolutions in networks."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.testing.generate.graph.builder import GraphBuilder, is_number

_BOUNDS = ("maximum", "minimum", "sub", "mul")
_OF_FLOATS = ("neg", "abs", "tanh", "exp", "sqrt", "erf")


def product(b: GraphBuilder) -> None:
    """A product of matrices, of batches of them, with operands that are transposed, and what follows it."""
    x = b.value(is_number, lambda s: len(s) >= 2 and math.prod(s) <= 4096, lambda: b.shape(2, 4))
    if b.choices.chance(20):
        x = _swapped(b, x)
    sizes, dtype = shape_of(x), tensor_dtype(x)
    if b.choices.chance(20):  # x is the second one
        rows = b.size()
        left = b.fresh(dtype, (*b.broadcastable(sizes[:-2]), rows, sizes[-2]), 40)
        if math.prod(sizes) * rows <= b.most_work:
            follow(b, b.graph.matmul(left, x))
        return
    columns = b.size()
    batch = b.broadcastable(sizes[:-2])
    if math.prod(sizes) * columns > b.most_work:
        columns = 1
    if b.choices.chance(25):  # a projection back to what was embedded, or keys of an attention
        right = _swapped(b, b.fresh(dtype, (*batch, columns, sizes[-1]), 40))
    else:
        right = b.fresh(dtype, (*batch, sizes[-1], columns), 40)
    follow(b, b.graph.matmul(x, right))


def _swapped(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """The transposes of the matrices that `x` has."""
    rank = len(shape_of(x))
    perm = [*range(rank - 2), rank - 1, rank - 2]
    return b.graph.transpose(x, perm=perm)


def follow(b: GraphBuilder, y: SSAValue) -> None:
    """What stands behind a layer in a network: norm, residual or bias, activation; or nothing."""
    dtype = tensor_dtype(y)
    if dtype.is_float and len(shape_of(y)) >= 2 and b.choices.chance(30):
        y = batch_norm(b, y)
    kind = b.choices.weighted([(12, "none"), (5, "residual"), (3, "bias")])
    if kind == "residual":
        y = b.graph.add(y, b.like(y, 20))
    elif kind == "bias":
        y = b.graph.add(y, b.fresh(dtype, b.broadcastable(shape_of(y)), 60))
    kind = b.choices.pick(("", "relu", "clip", "sigmoid", "swish", "leaky", "bound", "of floats"))
    if kind == "relu":
        b.graph.relu(y)
    elif kind == "clip":
        b.graph.clip(y, low=0.0, high=6.0)
    elif kind == "bound":
        bound = b.constant(dtype, b.broadcastable(shape_of(y)))
        b.emit(b.choices.pick(_BOUNDS), y, bound)
    elif kind == "leaky":
        scaled = b.graph.mul(y, b.constant(dtype, ()))
        b.graph.maximum(y, scaled)
    elif kind in ("sigmoid", "swish") and dtype.is_float:
        gate = b.graph.sigmoid(y)
        if kind == "swish":
            b.graph.mul(y, gate)
    elif kind == "of floats" and dtype.is_float:
        b.emit(b.choices.pick(_OF_FLOATS), y)


def batch_norm(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """Normalises `x` with constants, as trained networks do, or with arguments."""
    dtype, vector = tensor_dtype(x), (shape_of(x)[1],)
    if b.choices.chance(20):
        scale, bias, mean = (b.argument(dtype, vector) for _ in range(3))
        variance = b.graph.abs(b.argument(dtype, vector))
    else:
        scale, bias, mean = (b.constant(dtype, vector, special=False) for _ in range(3))
        variance = b.positive(dtype, vector)
    return b.graph.batch_norm(x, scale, bias, mean, variance, epsilon=epsilon(b))


def epsilon(b: GraphBuilder) -> float:
    """What a norm adds to its variance."""
    return b.choices.pick((1e-5, 1e-3, 1.0))
