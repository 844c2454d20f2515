"""What a product of quantized tensors is of: `(q - zero) * scale`, with numbers that are known."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from inarch.core.lazy import Array, np
from inarch.dialects.graph.composites import normal_axis
from inarch.dialects.graph.composites.quantize import DequantizeOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import ints, shape_of, tensor_dtype
from inarch.dialects.graph.shape import TransposeOp
from inarch.ir.context import ConstantStore
from inarch.ir.payload.constants import constant_array


@dataclass(frozen=True)
class Activations:
    """A tensor of bytes with one scale and one zero point."""

    q: SSAValue
    scale: Array
    """A number, of f32 or i32."""
    zero: int | SSAValue
    """A scalar tensor where it is known at run time only."""


@dataclass(frozen=True)
class Weights:
    """Constant integers, without their zero point, and the scale of each output, or one of all."""

    w: Array
    """Of int64: what is multiplied, in its shape."""
    scale: Array
    """() or (outputs,)."""


def activations_of(value: SSAValue, store: ConstantStore) -> Activations | None:
    """What `value` is dequantized from; None where it is not, or not by one number."""
    op = value.owner
    if not isinstance(op, DequantizeOp) or shape_of(op.scale):
        return None
    scale = array_of(op.scale, store)
    if scale is None or tensor_dtype(op.x).name not in ("i8", "ui8"):
        return None
    if op.zero is None:
        return Activations(op.x, scale, 0)
    if shape_of(op.zero):
        return None
    zero = array_of(op.zero, store)
    return Activations(op.x, scale, op.zero if zero is None else int(zero))


def weights_of(value: SSAValue, outputs: int, store: ConstantStore) -> Weights | None:
    """The constant that `value` is dequantized from, maybe transposed; by numbers along `outputs`, an axis.

    None where it is not, or where what is multiplied does not fit into i8.
    """
    op, perm = value.owner, list(range(len(shape_of(value))))
    if isinstance(op, TransposeOp):
        perm = list(ints(op.perm))
        op = op.x.owner
    if not isinstance(op, DequantizeOp):
        return None
    found = [array_of(each, store) for each in (op.x, op.scale)]
    q, scale = found
    zero = np.zeros((), np.int64) if op.zero is None else array_of(op.zero, store)
    if q is None or scale is None or zero is None or q.dtype.itemsize != 1:
        return None
    if op.axis is not None:
        axis = normal_axis(op.axis.value.data, len(perm))
        along = next(at for at, dimension in enumerate(perm) if dimension == axis)
        if along != outputs and (scale.ndim or zero.ndim):
            return None
    w = q.astype(np.int64) - op.spread_array(zero).astype(np.int64)
    if w.size and not -128 <= int(w.min()) <= int(w.max()) <= 127:
        return None
    return Weights(w.transpose(perm), scale)


def array_of(value: SSAValue | None, store: ConstantStore) -> Array | None:
    """The numbers of a constant."""
    owner = value.owner if value is not None else None
    return constant_array(owner.value, store) if isinstance(owner, ConstantOp) else None
