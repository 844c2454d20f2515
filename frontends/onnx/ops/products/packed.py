"""Weights of a few bits that stay packed: MatMulNBits and GatherBlockQuantized, of com.microsoft.

`w = (q - zero) * scale`, with a scale and maybe a zero point for each block along the last axis.
"""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.dialects.graph.op import shape_of
from inarch.dialects.graph.packed import BITS, WORD, packed_words
from inarch.frontends.onnx.contract import Contract, typed, under
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError

_LEAST_BLOCK = 16
_FLOATS = ("f32", "f16", "bf16")
"""Of scales and zero points."""


def _matmul_nbits(node: Node) -> SSAValue:
    """`A @ W.T + bias`: A [.., K], B [N, K / block, block * bits / 8], scales and zero points by block.

    `accuracy_level` is the least that is asked for; f32, in which all is computed, is as exact as any.
    """
    bits, block = _bits(node, 4), _block(node)
    rows, columns = node.int("N", 0), node.int("K", 0)
    level = node.int("accuracy_level", 0)
    if not 0 <= level <= 4:
        raise InarchError(f"expected accuracy_level 0 to 4, found {level}")
    if min(rows, columns) < 1 or columns % block:
        raise InarchError(
            f"expected N and K above 0, K a multiple of block_size = {block}; found N = {rows} and "
            f"K = {columns}"
        )
    if node.has(4):
        raise NotSupportedError("g_idx")
    shape = node.shape(0)
    if not shape or shape[-1] != columns:
        raise InarchError(f"expected A with K = {columns} columns, found shape {shape}")
    blocks = columns // block
    q = node.array(1, "the weights")
    wanted = (rows, blocks, block * bits // 8)
    if q.dtype != np.uint8 or q.shape not in (wanted, (rows, blocks * wanted[2])):
        raise InarchError(
            f"expected B of uint8 of shape {wanted}, found {q.dtype.name} of {q.shape}"
        )
    words = node.constant(np.ascontiguousarray(q).reshape(rows, -1).view("<i4"))
    scale = _by_block(node, 2, "scales", (rows, blocks))
    zeros = _zero_points(node, 3, bits, (rows, blocks))
    x = node.reshape(node.x(0), (math.prod(shape[:-1]), columns))
    out = node.graph.matmul_packed(x, words, scale, *zeros, bits=bits)
    out = node.reshape(out, (*shape[:-1], rows))
    if not node.has(5):
        return out
    if node.shape(5) != (rows,):
        raise InarchError(f"expected a bias of shape ({rows},), found {node.shape(5)}")
    return node.graph.add(out, node.x(5))


def _bits(node: Node, default: int) -> int:
    bits = node.int("bits", default)
    if bits not in BITS:
        raise InarchError(f"expected bits = 2, 4 or 8, found {bits}")
    return bits


def _block(node: Node) -> int:
    block = node.int("block_size", 128)
    if block < _LEAST_BLOCK or block & (block - 1):
        raise InarchError(
            f"expected block_size, a power of two from {_LEAST_BLOCK} on, found {block}"
        )
    return block


def _by_block(node: Node, index: int, what: str, shape: tuple[int, int]) -> SSAValue:
    """Scales or zero points that are floats, also where the model has them in one row."""
    found, dtype = node.shape(index), node.dtype(index).name
    if found not in (shape, (shape[0] * shape[1],)) or dtype not in _FLOATS:
        raise InarchError(f"expected {what} of floats of shape {shape}, found {dtype} of {found}")
    return node.reshape(node.x(index), shape)


def _zero_points(node: Node, index: int, bits: int, shape: tuple[int, int]) -> list[SSAValue]:
    """The zero points, if there are any that are not the middle of the range."""
    if not node.has(index):
        return []
    if node.dtype(index).is_float:
        return [_by_block(node, index, "zero points", shape)]
    packed = node.array(index, "the zero points")
    count = -(-shape[1] * bits // 8)
    if packed.dtype != np.uint8 or packed.shape not in ((shape[0], count), (shape[0] * count,)):
        raise InarchError(
            f"expected zero points of uint8 of shape {(shape[0], count)}, found {packed.dtype.name} of "
            f"{packed.shape}"
        )
    return _zero_constant(node, _fields(packed.reshape(shape[0], count), bits)[:, : shape[1]], bits)


def _zero_constant(node: Node, zeros: Array, bits: int) -> list[SSAValue]:
    """Zero points from 0 to 2**bits - 1 as an operand; none where all are the middle of the range."""
    if (zeros == 1 << (bits - 1)).all():
        return []
    return [node.constant(np.ascontiguousarray(zeros, np.float32 if bits == 8 else np.int8))]


def _fields(packed: Array, bits: int) -> Array:
    """Integers of a few bits, the first in the lowest bits of each byte, along the last axis."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    found = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return found.reshape(*packed.shape[:-1], packed.shape[-1] * len(shifts))


def _fewest_bits(q: Array) -> int:
    """As many bits as integers of i8 or ui8 take: 2, 4 or 8; those of i8 around 0."""
    low, high = int(q.min(initial=0)), int(q.max(initial=0))
    for bits in BITS:
        least = -(1 << (bits - 1)) if q.dtype == np.int8 else 0
        if least <= low and high < least + (1 << bits):
            return bits
    return 8


def dequantized(
    node: Node, q: Array, scale: SSAValue, zero: Array | None, block: int, axis: int
) -> SSAValue | None:
    """The matrix `(q - zero) * scale` of constants i8 or ui8, kept packed along the axis of its blocks.

    None where words do not hold whole blocks.
    """
    if axis == 0:
        turned = node.graph.transpose(scale, perm=[1, 0])
        found = dequantized(node, q.T, turned, None if zero is None else zero.T, block, 1)
        return None if found is None else node.graph.transpose(found, perm=[1, 0])
    bits = _fewest_bits(q)
    if q.size == 0 or q.shape[1] % block or block % (WORD // bits):
        return None
    middle = _offset(q, bits)
    zeros = np.zeros(shape_of(scale), np.int16) if zero is None else zero.astype(np.int16)
    words = packed_words((q.astype(np.int16) + middle).astype(np.uint8), bits)
    rest = _zero_constant(node, zeros + middle, bits)
    return node.graph.dequantize_packed(node.constant(words), scale, *rest, bits=bits)


def _gather(node: Node) -> SSAValue:
    """Rows of a packed matrix by index, dequantized: embeddings.

    data [V, H] of int4 or uint4, or of uint8 with so many weights a byte as `bits` say; scales and zero
    points [V, H / block]. Without zero points those are 0, and of uint8 half of the range.
    """
    block, data = _block(node), node.array(0, "the weights")
    axes = node.int("gather_axis", 0), node.int("quantize_axis", 1)
    if data.ndim != 2 or axes[0] != 0 or axes[1] not in (1, -1):
        raise NotSupportedError("other axes than gather_axis = 0 and quantize_axis = 1 of a matrix")
    narrow = node.builder.narrow.get(node.x(0))
    bits = _bits(node, 4) if narrow is None else narrow
    q = (
        _fields(data, bits)
        if narrow is None
        else (data.astype(np.int16) + _offset(data, bits)).astype(np.uint8)
    )
    rows, columns = q.shape
    if columns == 0 or columns % block:
        raise InarchError(
            f"expected rows of a multiple of block_size = {block} weights, found {columns}"
        )
    shape = (rows, columns // block)
    scale = _by_block(node, 2, "scales", shape)
    zeros: list[SSAValue] = []
    if narrow is None:
        zeros = _zero_points(node, 3, bits, shape)
    elif node.has(3):
        given = node.array(3, "the zero points")
        if given.shape != shape or given.dtype != data.dtype:
            raise InarchError(
                f"expected zero points as the data, of shape {shape}, found {given.shape}"
            )
        zeros = _zero_constant(node, given.astype(np.int16) + _offset(data, bits), bits)
    else:
        zeros = _zero_constant(node, np.full(shape, _offset(data, bits)), bits)
    index, places = node.x(1), node.shape(1)
    node.indexes(index, rows)
    flat = node.reshape(index, (math.prod(places),))
    picked = [
        node.graph.gather(each, flat, axis=0)
        for each in (node.constant(packed_words(q, bits)), scale, *zeros)
    ]
    found = node.graph.dequantize_packed(*picked, bits=bits)
    return node.reshape(found, (*places, columns))


def _offset(q: Array, bits: int) -> int:
    """What integers of i8 are stored above themselves by, so that none is below 0."""
    return 1 << (bits - 1) if q.dtype == np.int8 else 0


_PACKED = Contract(
    (3, 6),
    attributes=typed(INT="K N bits block_size accuracy_level weight_prepacked"),
    required=frozenset({"K", "N", "block_size"}),
)

_GATHER = Contract((3, 4), attributes=typed(INT="bits block_size gather_axis quantize_axis"))

CONVERTERS: dict[str, Converter] = {
    "com.microsoft.GatherBlockQuantized": under(_GATHER, _gather),
    "com.microsoft.MatMulNBits": under(_PACKED, _matmul_nbits),
}
