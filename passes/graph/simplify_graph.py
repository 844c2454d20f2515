"""Drops ops that change nothing, and merges those that undo or repeat each other."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from inarch.core.lazy import Array
from inarch.dialects.graph.composites.softmax import SoftmaxOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise import ElementwiseOp
from inarch.dialects.graph.elementwise.arithmetic import AddOp, DivOp, MulOp, SubOp
from inarch.dialects.graph.elementwise.cast import CastOp
from inarch.dialects.graph.elementwise.clip import ClipOp
from inarch.dialects.graph.elementwise.select import SelectOp
from inarch.dialects.graph.op import broadcast, ints, shape_of, tensor_dtype
from inarch.dialects.graph.shape import (
    BroadcastToOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from inarch.ir.context import ConstantStore, store_of
from inarch.ir.passes import OptionalPass
from inarch.ir.payload.constants import constant_array
from inarch.ir.rewrite import apply_patterns
from inarch.passes.graph._dead import erase_dead


@dataclass
class DropIdentity(RewritePattern):
    """`f(x)` -> `x` for a cast, transpose, reshape, slice, pad, concat, broadcast or clip that is one."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if _is_identity(op):
            rewriter.replace(op, [], [op.operands[0]])


def _is_identity(op: Operation) -> bool:
    if isinstance(op, ClipOp):
        return op.low is None and op.high is None
    if isinstance(op, SliceOp):
        return all(step == 1 for step in ints(op.steps)) and _same_type(op)
    same_when_equal = (CastOp, ReshapeOp, PadOp, BroadcastToOp)
    if isinstance(op, ConcatOp):
        return len(op.operands) == 1
    return isinstance(op, same_when_equal) and _same_type(op)


def _same_type(op: Operation) -> bool:
    return op.operands[0].type == op.results[0].type


class MergeReshapes(RewritePattern):
    """`reshape(reshape(x))` -> `reshape(x)`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(inner := op.x.owner, ReshapeOp):
            rewriter.replace(op, ReshapeOp.make(inner.x, shape=ints(op.shape)))


class MergeTransposes(RewritePattern):
    """`transpose(transpose(x, p), q)` -> `transpose(x, p[q])`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(inner := op.x.owner, TransposeOp):
            first = ints(inner.perm)
            rewriter.replace(op, TransposeOp.make(inner.x, perm=[first[i] for i in ints(op.perm)]))


class TransposeToReshape(RewritePattern):
    """A transpose that moves only dimensions of size 1 keeps the order of elements: a reshape."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        shape = shape_of(op.x)
        moved = [axis for axis in ints(op.perm) if shape[axis] != 1]
        if moved == sorted(moved):
            rewriter.replace(op, ReshapeOp.make(op.x, shape=shape_of(op.results[0])))


class DropBroadcastOperand(RewritePattern):
    """An elementwise op broadcasts by itself: `f(broadcast_to(x), y)` -> `f(x, y)` where shapes agree."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, ElementwiseOp):
            return
        result = shape_of(op.results[0])
        for index, operand in enumerate(op.operands):
            if not isinstance(operand.owner, BroadcastToOp):
                continue
            source = operand.owner.operands[0]
            others = [shape_of(o) for i, o in enumerate(op.operands) if i != index]
            if broadcast(shape_of(source), *others) == result:
                op.operands[index] = source
                rewriter.has_done_action = True
                return


@dataclass
class DropNeutralOperand(RewritePattern):
    """`x * 1`, `x / 1` -> `x`; on integers also `x + 0`, `x - 0` (floats: `-0.0 + 0` is `0.0`).

    A softmax tells no zero from the other: what it alone reads may be added to 0, as a mask of nothing is.
    """

    store: ConstantStore

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, AddOp | SubOp | MulOp | DivOp):
            return
        is_sum = isinstance(op, AddOp | SubOp)
        if is_sum and tensor_dtype(op.a).is_float and not _is_weighed_only(op.out):
            return
        neutral = 0 if is_sum else 1
        if self._is_all(op.b, neutral) and op.a.type == op.out.type:
            rewriter.replace(op, [], [op.a])
        elif (
            isinstance(op, AddOp | MulOp)
            and op.b.type == op.out.type
            and self._is_all(op.a, neutral)
        ):
            rewriter.replace(op, [], [op.b])

    def _is_all(self, value: SSAValue, number: int) -> bool:
        return _is_all(value, number, self.store)


def _is_weighed_only(value: SSAValue) -> bool:
    users = [use.operation for use in value.uses]
    return bool(users) and all(isinstance(user, SoftmaxOp) for user in users)


@dataclass
class DropSelect(RewritePattern):
    """`select(true, a, b)` -> `a`, `select(false, a, b)` -> `b`: of a constant whose elements are equal."""

    store: ConstantStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SelectOp, rewriter: PatternRewriter, /) -> None:
        for taken, number in ((op.a, 1), (op.b, 0)):
            if taken.type == op.out.type and _is_all(op.condition, number, self.store):
                rewriter.replace(op, [], [taken])
                return


def _is_all(value: SSAValue, number: int, store: ConstantStore) -> bool:
    if not isinstance(value.owner, ConstantOp):
        return False
    array: Array = constant_array(value.owner.value, store)
    return array.size <= MAX_SCANNED_ELEMENTS and bool((array == number).all())


MAX_SCANNED_ELEMENTS = 1 << 16
"""Larger constants are not searched for a neutral value: nobody multiplies by a large tensor of ones."""


def _merge_widenings(module: ModuleOp) -> None:
    """What is stored narrow is widened once for all that read it in a block: then it need not be stored."""
    known: dict[tuple[object, ...], SSAValue] = {}
    for op in list(module.walk()):
        if not isinstance(op, CastOp) or not tensor_dtype(op.x).is_stored:
            continue
        first = known.setdefault((op.parent, op.x, op.out.type), op.out)
        if first is not op.out:
            op.out.replace_all_uses_with(first)


@dataclass(frozen=True)
class SimplifyGraphPass(OptionalPass):
    """Drops identities, merges reshapes, transposes and casts, and erases what nobody uses."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = store_of(ctx)
        patterns = [
            DropIdentity(),
            MergeReshapes(),
            MergeTransposes(),
            TransposeToReshape(),
            DropBroadcastOperand(),
            DropNeutralOperand(store),
            DropSelect(store),
        ]
        apply_patterns(op, patterns)
        _merge_widenings(op)
        erase_dead(op, store)
