"""Evaluates ops whose operands are all constants, through their NumPy references."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from inarch.core.lazy import Array, np
from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.op import GraphOp, shape_of, tensor_dtype
from inarch.dialects.graph.regions.branch import IfOp
from inarch.dialects.graph.regions.repeat import WhileOp
from inarch.dialects.graph.regions.scan import ScanOp
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.edit import erase
from inarch.ir.passes import OptionalPass
from inarch.ir.payload.constants import constant_array, constant_attribute
from inarch.passes.graph._dead import erase_dead

_SMALL_BYTES = 1 << 20
"""Results up to this size are always folded; larger ones only when they do not grow the weights."""

MOST_POINTS = 1 << 26
"""An op that visits more places (of windows, mostly) stays an op: NumPy would take seconds."""


@dataclass(frozen=True)
class FoldConstantsPass(OptionalPass):
    """Replaces ops on constants by constants.

    A result that is larger than 1 MiB and larger than its operands together (a broadcast) stays an op:
    folding it would only make the weights larger. So does one that is for backends to see
    (`GraphOp.folds`: dequantize), until it is decomposed. Constants without users disappear.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = store_of(ctx)
        for nested in list(op.walk()):
            if isinstance(nested, GraphOp) and _is_foldable(nested):
                _fold(nested, store)
        erase_dead(op, store)


def _is_foldable(op: GraphOp) -> bool:
    if isinstance(op, ConstantOp | CallOp | ScanOp | WhileOp | IfOp) or not op.operands:
        return False
    if not op.folds():
        return False
    if not all(isinstance(operand.owner, ConstantOp) for operand in op.operands):
        return False
    if op.reference_points() > MOST_POINTS:
        return False
    result = sum(_nbytes(value) for value in op.results)
    return result <= max(_SMALL_BYTES, sum(_nbytes(value) for value in op.operands))


def is_small(value: SSAValue) -> bool:
    """Whether its size does not count: such constants may grow to it."""
    return _nbytes(value) <= _SMALL_BYTES


def _nbytes(value: SSAValue) -> int:
    return math.prod(shape_of(value)) * tensor_dtype(value).nbytes


def _fold(op: GraphOp, store: ConstantStore) -> None:
    arrays = [
        constant_array(cast("ConstantOp", operand.owner).value, store) for operand in op.operands
    ]
    with np.errstate(all="ignore"):  # inf and NaN are results like others
        found = op.reference(*arrays)
    results = found if isinstance(found, tuple) else (found,)
    parent = op.parent
    assert parent is not None
    for value, array in zip(op.results, results, strict=True):
        constant = _constant(array, op, value, store)
        parent.insert_op_before(constant, op)
        value.replace_all_uses_with(constant.results[0])
    erase(op)


def _constant(array: Array, op: Operation, value: SSAValue, store: ConstantStore) -> ConstantOp:
    dtype = np.dtype(tensor_dtype(value).numpy)
    assert array.dtype == dtype, f"{op.name}.reference gives {array.dtype}, infer says {dtype}"
    name = value.name_hint or op.name.replace(".", "_")
    attribute = constant_attribute(np.asarray(array, order="C"), store, name)
    constant = ConstantOp.make(value=attribute, location=op.location)
    constant.out.name_hint = value.name_hint
    return constant
