"""Products are scaled behind, not what they multiply: no scaled copies of matrices.

(Q a) transpose(K b)    -->    (Q transpose(K)) (a b)

Attention as its operator and torch's exporter write it scales queries and keys by the root of the scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from inarch.core.lazy import np
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise.arithmetic import DivOp, MulOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import ints, shape_of, tensor_dtype
from inarch.dialects.graph.shape import TransposeOp
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.edit import erase, insert_before
from inarch.ir.functions import entry_blocks
from inarch.ir.passes import OptionalPass
from inarch.ir.payload.constants import constant_array, constant_attribute
from inarch.passes.graph._dead import erase_dead

_MOST = 1 << 16
"""A factor, and one by it, is at most that: sums overflow or vanish where they nearly did before."""


@dataclass(frozen=True)
class ScaleLastPass(OptionalPass):
    """Moves constant factors and divisors, numbers, of either matrix of a product behind it, as one factor.

    Of products of floats whose matrices are both computed. A scaled matrix that others use stays what it is.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = store_of(ctx)
        for _, block in entry_blocks(op):
            for product in [each for each in block.ops if isinstance(each, MatmulOp)]:
                _scale_last(product, store)
        erase_dead(op, store)


@dataclass(frozen=True)
class _Scaled:
    """A matrix that is `x * factor`, maybe transposed."""

    x: SSAValue
    factor: float
    turn: TransposeOp | None

    def bare(self) -> tuple[SSAValue, list[Operation]]:
        """The matrix without the factor, and what makes it."""
        if self.turn is None:
            return self.x, []
        turned = TransposeOp.make(self.x, perm=ints(self.turn.perm), location=self.turn.location)
        return turned.results[0], [turned]


def _scale_last(product: MatmulOp, store: ConstantStore) -> None:
    if not tensor_dtype(product.x).is_float:
        return
    if any(isinstance(value.owner, ConstantOp) for value in product.operands):
        return
    found = [_scaled(value, store) for value in product.operands]
    factor = math.prod(1.0 if one is None else one.factor for one in found)
    if found == [None, None] or not 1 / _MOST <= abs(factor) <= _MOST:
        return
    operands: list[SSAValue] = []
    made: list[Operation] = []
    for value, one in zip(product.operands, found, strict=True):
        bare, ops = (value, []) if one is None else one.bare()
        operands.append(bare)
        made += ops
    array = np.asarray(factor, np.dtype(tensor_dtype(product.x).numpy))
    number = ConstantOp.make(
        value=constant_attribute(array, store, "scale"), location=product.location
    )
    bare_product = MatmulOp.make(*operands, location=product.location)
    scaled = MulOp.make(bare_product.results[0], number.results[0], location=product.location)
    insert_before(product, *made, number, bare_product, scaled)
    scaled.results[0].name_hint = product.results[0].name_hint
    product.results[0].replace_all_uses_with(scaled.results[0])
    erase(product)


def _scaled(value: SSAValue, store: ConstantStore) -> _Scaled | None:
    """A matrix as what a number multiplies, once; None where it is not that, or others use it."""
    turn = value.owner if isinstance(value.owner, TransposeOp) else None
    scale = value.owner if turn is None else turn.x.owner
    if not isinstance(scale, MulOp | DivOp) or not scale.results[0].has_one_use():
        return None
    if turn is not None and not value.has_one_use():
        return None
    sides = [(scale.a, scale.b)]
    if isinstance(scale, MulOp):
        sides.append((scale.b, scale.a))
    for x, by in sides:
        number = _number(by, store)
        if number is None or shape_of(x) != shape_of(scale.results[0]):
            continue
        factor = 1 / number if isinstance(scale, DivOp) and number else number
        return _Scaled(x, factor, turn) if 1 / _MOST <= abs(factor) <= _MOST else None
    return None


def _number(value: SSAValue, store: ConstantStore) -> float | None:
    """A constant of one element."""
    if not isinstance(value.owner, ConstantOp) or math.prod(shape_of(value)) != 1:
        return None
    return float(constant_array(value.owner.value, store).reshape(()))
