"""Folds a batch norm into the constant weights of the convolution before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from inarch.core.lazy import Array, np
from inarch.dialects.graph.composites.normalization import BatchNormOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import shape_of
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.graph.windows.conv_transpose import ConvTransposeOp
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.edit import erase, insert_before
from inarch.ir.location import location_text
from inarch.ir.passes import OptionalPass
from inarch.ir.payload.constants import constant_array, constant_attribute
from inarch.ir.report.remarks import Remarks, remarks_of
from inarch.passes.graph._dead import erase_dead


@dataclass(frozen=True)
class FoldBatchNormPass(OptionalPass):
    """Scales a convolution's, or a transposed one's, weights and bias by the batch norm that follows it.

    `batch_norm(conv(x, w, b))` with constants is `conv(x, w * s, (b - mean) * s + bias)`, where
    `s = scale / sqrt(var + epsilon)` per output channel, computed in f64. A convolution with
    other users, or with weights that are not constant, is left; its batch norm decomposes later.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = store_of(ctx)
        for norm in [nested for nested in op.walk() if isinstance(nested, BatchNormOp)]:
            if (reason := _why_not(norm)) is not None:
                remarks_of(ctx).missed(norm, reason)
                continue
            _fold(norm, store, remarks_of(ctx))
        erase_dead(op, store)


def _why_not(norm: BatchNormOp) -> str | None:
    """Why a batch norm is not folded; None: it is."""
    conv = norm.x.owner
    if not isinstance(conv, ConvOp | ConvTransposeOp):
        return "it does not follow a convolution"
    if not conv.out.has_one_use():
        return "the convolution's result has other uses"
    if all(isinstance(v.owner, ConstantOp) for v in (*norm.operands[1:], *conv.operands[1:])):
        return None
    return "its numbers or the convolution's are not constant"


def _array(value: SSAValue, store: ConstantStore) -> Array:
    owner = cast("ConstantOp", value.owner)
    return constant_array(owner.value, store).astype(np.float64)


def _by_weight(conv: ConvOp | ConvTransposeOp, factor: Array) -> Array:
    """The factor of each output channel, for the weights of that channel."""
    window = [1] * (len(shape_of(conv.w)) - 2)
    if isinstance(conv, ConvOp):
        return factor.reshape(-1, 1, *window)
    channels, filters = shape_of(conv.w)[:2]
    groups = conv.groups.value.data
    return np.repeat(factor.reshape(groups, filters), channels // groups, axis=0).reshape(
        channels, filters, *window
    )


def _fold(norm: BatchNormOp, store: ConstantStore, remarks: Remarks) -> None:
    conv = norm.x.owner
    assert isinstance(conv, ConvOp | ConvTransposeOp)
    remarks.done(norm, f"it is in the weights of {location_text(conv) or 'its convolution'}")
    scale, bias, mean, var = (_array(value, store) for value in norm.operands[1:])
    weights = _array(conv.w, store)
    offset = _array(conv.bias, store) if conv.bias is not None else np.zeros_like(mean)
    factor = scale / np.sqrt(var + norm.epsilon.value.data)
    new_weights = weights * _by_weight(conv, factor)
    new_bias = (offset - mean) * factor + bias
    dtype = constant_array(cast("ConstantOp", conv.w.owner).value, store).dtype
    constants = [
        ConstantOp.make(
            value=constant_attribute(array.astype(dtype), store, name), location=norm.location
        )
        for array, name in ((new_weights, "folded_weights"), (new_bias, "folded_bias"))
    ]
    folded = type(conv).make(conv.x, *constants, location=conv.location, **conv.properties)
    insert_before(norm, *constants, folded)
    norm.out.replace_all_uses_with(folded.out)
    erase(norm, conv)
