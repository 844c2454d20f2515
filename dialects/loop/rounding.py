"""Which products of a nest are added with one rounding, as a multiply-add.

In a body that reduces, `acc + a * b` is the step of a sum of products: it may be rounded once, and is where
the CPU can do that. Elsewhere an operation rounds by itself. A product of the model that a pass has moved
into a sum is marked: its operator and the sum round each by themselves, in whatever nest they are.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.dialects.scalar import converted

ROUNDED = "inarch.rounded"
"""The attribute of a product that is rounded before it is added."""


def fused_product(op: Operation) -> arith.MulfOp | None:
    """The product that `op` adds to an accumulator with one rounding; None where it does nothing such."""
    if not isinstance(op, arith.AddfOp):
        return None
    for added, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        product = added.owner
        if (
            isinstance(product, arith.MulfOp)
            and is_accumulated(op, other)
            and ROUNDED not in product.attributes
            and added.has_one_use()
            and product.parent is op.parent
        ):
            return product
    return None


def is_accumulated(op: Operation, value: SSAValue) -> bool:
    """Whether an op of a body that reduces reads the accumulator `value`."""
    nest = op.parent_op()
    if not isinstance(value, BlockArgument) or not isinstance(nest, NestOp):
        return False
    is_own = value in nest.accumulators(nest.body)
    return is_own and value.block is op.parent and nest.carries


def is_fused(op: Operation) -> bool:
    """Whether `op` is a product that its one use adds as `fused_product` says."""
    if not isinstance(op, arith.MulfOp) or not op.result.has_one_use():
        return False
    (use,) = op.result.uses
    return fused_product(use.operation) is op


def added(value: SSAValue) -> SSAValue | None:
    """What the op of `value` adds to an accumulator."""
    op = value.owner
    if not isinstance(op, arith.AddfOp):
        return None
    pairs = ((op.rhs, op.lhs), (op.lhs, op.rhs))
    return next((term for term, other in pairs if is_accumulated(op, other)), None)


def round_product(value: SSAValue) -> None:
    """Marks `value`, where it is a product that is added to an accumulator."""
    product = value.owner
    if isinstance(product, arith.MulfOp) and is_fused(product):
        product.attributes[ROUNDED] = UnitAttr()


def applied_in(block: Block) -> list[str]:
    """The ops of a body that take time; a product that is added with one rounding is one with the sum."""
    found: list[str] = []
    for op in block.ops:
        if (inner := converted(op)) is not None:
            found += applied_in(inner)
        elif not isinstance(op, YieldOp | arith.ConstantOp) and not is_fused(op):
            found.append(op.name)
    return found
