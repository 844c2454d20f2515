"""Products of f32 round their factors to a narrower float, where that was asked for.

    matmul(x, w)    -->    matmul(cast(x), cast(w)) to f32        --precision bf16, f16

Sums stay in f32. Constant weights are rounded at compile time.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr, f32
from xdsl.ir import SSAValue

from inarch.core.dtypes import DTYPES, float_limits
from inarch.core.lazy import np
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.functions import entry_blocks
from inarch.ir.passes import OptionalPass
from inarch.ir.report.remarks import remarks_of
from inarch.ir.target import precision_of, target_of
from inarch.ir.types import mlir_type
from inarch.microkernel.table import kernels_of
from inarch.passes.graph.fold_constants import is_small
from inarch.passes.graph.keep_weights import stored_weights
from inarch.passes.lower.algorithm import known_numbers

_ROUNDED = "inarch.rounded"
"""Of a module: the pass has run, and parts of the program are compiled as it left them."""
_PAIR = 2
"""Terms that kernels of two narrow factors take at once."""
_LOST = 8
"""Unit roundoffs by which rounding may change weights, in norm: in range it is one at most."""


@dataclass(frozen=True)
class LowerPrecisionPass(OptionalPass):
    """By the module's `inarch.precision`: the factors of products and convolutions are rounded to it.

    Both, where a kernel of the target multiplies two of that dtype and takes the op's terms (one group, pairs
    of channels). Else constant weights alone, where they are not small: they take half of the memory. So a
    model rounds on one target what it does not round on another.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        precision = precision_of(op)
        if precision == "f32" or _ROUNDED in op.attributes:
            return
        op.attributes[_ROUNDED] = UnitAttr()
        remarks, store = remarks_of(ctx), store_of(ctx)
        read = [[*each.dtypes.values()] for each in kernels_of(target_of(op))]
        has_pairs = any(dtypes.count(precision) == _PAIR for dtypes in read)
        found = [
            each
            for _, block in entry_blocks(op)
            for each in block.walk()
            if isinstance(each, ConvOp | MatmulOp) and each.to is None
            if tensor_dtype(each.out).name == "f32"
        ]
        for each in found:
            both = has_pairs and _terms(each) % _PAIR == 0
            why = _grouped(each) or _stored(each) or _lost(each, precision, store)
            if not why and not both:
                why = _unless_large_constant(each, precision, has_pairs=has_pairs)
            if why:
                remarks.missed(each, why)
                continue
            _round(each, precision, both=both)
            remarks.done(each, f"its {'factors' if both else 'weights'} are rounded to {precision}")


def _grouped(op: ConvOp | MatmulOp) -> str:
    is_grouped = isinstance(op, ConvOp) and op.groups.value.data > 1
    return "its channels are in groups" if is_grouped else ""


def _stored(op: ConvOp | MatmulOp) -> str:
    """Weights that are stored narrow already stay so (`keep-weights`)."""
    cast = stored_weights(op)
    return "" if cast is None else f"its weights are {tensor_dtype(cast.x).name} already"


def _lost(op: ConvOp | MatmulOp, precision: str, store: ConstantStore) -> str:
    """Constant weights that are beyond the range of the float, or, all of them, below it."""
    weights = known_numbers(op.operands[1], store)
    if weights is None:
        return ""
    dtype = np.dtype(DTYPES[precision].numpy)
    with np.errstate(all="ignore"):
        off = float(np.linalg.norm(weights.astype(dtype).astype(np.float32) - weights))
    size, limit = float(np.linalg.norm(weights)), _LOST * float_limits(dtype).unit
    is_kept = off <= limit * size or not np.isfinite(size)
    return "" if is_kept else f"{precision} does not have the range of its weights"


def _unless_large_constant(op: ConvOp | MatmulOp, precision: str, *, has_pairs: bool) -> str:
    """Why constant weights alone are not rounded either."""
    weights = op.operands[1]
    if isinstance(weights.owner, ConstantOp):
        return (
            "its weights are 1 MiB or less, and its factors are no pairs"
            if is_small(weights)
            else ""
        )
    if has_pairs:
        return "its terms are no pairs"
    return f"no kernel of the target multiplies two factors of {precision}"


def _terms(op: ConvOp | MatmulOp) -> int:
    """The number of terms that lie next to each other."""
    return shape_of(op.x)[1] if isinstance(op, ConvOp) else shape_of(op.x)[-1]


def _round(op: ConvOp | MatmulOp, precision: str, *, both: bool) -> None:
    parent = op.parent
    assert parent is not None
    narrow = mlir_type(precision)

    def rounded(value: SSAValue) -> SSAValue:
        cast = CastOp.make(value, to=narrow)
        cast.location = op.location
        parent.insert_op_before(cast, op)
        return cast.out

    x, w, *bias = op.operands
    x = rounded(x) if both else x
    made = type(op).make(x, rounded(w), *bias, location=None, **op.properties, to=f32)
    made.location = op.location
    parent.insert_op_before(made, op)
    made.results[0].name_hint = op.out.name_hint
    op.out.replace_all_uses_with(made.results[0])
    parent.erase_op(op)
