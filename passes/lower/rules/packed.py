"""`graph.matmul_packed`: a sum over blocks and words, whose weights are taken apart in registers.

    out[m, n] += scale[n, b] * sum over i of x[m, k + i] * (float((w[n, d] >> bits i) & mask) - zero[n, b])

k is the first weight of word d, which is of block b. The words are what the nest reads: no buffer holds the
weights as floats.
"""

from __future__ import annotations

from functools import reduce
from operator import add

from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr

from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.packed import MatmulPackedOp
from inarch.dialects.nest_spec import NestBuilder
from inarch.dialects.scalar import Scalar
from inarch.passes.lower.builder import LoopBuilder


def _lower(op: Operation, builder: LoopBuilder) -> None:
    assert isinstance(op, MatmulPackedOp)
    per, blocks, bits = op.per, shape_of(op.scale)[-1], op.bits.value.data
    rows, outputs = shape_of(op.out)
    words = shape_of(op.w)[-1] // blocks
    nest = NestBuilder()
    m, n = nest.parallel("m", rows), nest.parallel("n", outputs)
    b, d = nest.reduction("b", blocks), nest.reduction("d", words)
    word = b * words + d
    places: list[tuple[AffineExpr, ...]] = [(n, word), (n, b)]
    places += [(n, b)] if op.zero is not None else []
    places += [(m, word * per + number) for number in range(per)]

    def body(w: Scalar, scale: Scalar, *rest: Scalar) -> Scalar:
        *zeros, acc = (*rest[: -per - 1], rest[-1])
        zero = zeros[0].cast(acc.dtype) if zeros else op.middle
        terms = [
            x * (_field(w, number, bits).cast(acc.dtype) - zero)
            for number, x in enumerate(rest[-per - 1 : -1])
        ]
        return acc + reduce(add, terms) * scale

    spec = nest.spec(places, (m, n), body, init=0)
    operands = [op.w, op.scale, *([] if op.zero is None else [op.zero]), *[op.x] * per]
    buffers = [builder.buffers[value] for value in operands]
    out = builder.result(op.out)
    builder.nest(spec, buffers, [*map(tensor_dtype, operands)], out, tensor_dtype(op.out))


def _field(word: Scalar, number: int, bits: int) -> Scalar:
    """A weight of a word, an integer."""
    shifted = word.shift_right(bits * number) if number else word
    return shifted & ((1 << bits) - 1)


LOWERING = {MatmulPackedOp: _lower}
