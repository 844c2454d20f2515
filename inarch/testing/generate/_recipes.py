"""How each op of `graph` is put into a program: one recipe an op, families by their base class."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from inarch.dialects._types import mlir_type
from inarch.dialects.graph import (
    DIALECT,
    arithmetic,
    bitwise,
    gelu,
    logic,
    matmul,
    normalization,
    pool,
    reduce,
    select,
    shape,
    softmax,
    trigonometry,
    unary,
)
from inarch.dialects.graph._base import GraphOp, shape_of, tensor_dtype
from inarch.dialects.graph._elementwise import BinaryOp, UnaryOp
from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.cast import CastOp
from inarch.dialects.graph.clip import ClipOp
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.conv import ConvOp
from inarch.dialects.graph.gather import GatherOp
from inarch.dialects.graph.layout import LayoutAttr, with_layout
from inarch.dialects.graph.relayout import RelayoutOp
from inarch.dtypes import DTYPES, DType
from inarch.lazy import np
from inarch.testing.generate._choices import Choices
from inarch.testing.generate._graph import GraphBuilder, Recipe
from inarch.testing.generate._windows import conv, layer, pooling


def _floats(dtype: DType) -> bool:
    return dtype.is_float


def _numbers(dtype: DType) -> bool:
    return dtype.name != "i1"


def _some(sizes: tuple[int, ...]) -> bool:
    return 0 not in sizes


# ------------------------------------------------------------------------------- elementwise

_SAFE: Mapping[type[GraphOp], tuple[type[GraphOp], ...]] = {
    unary.LogOp: (unary.AbsOp,),
    unary.SqrtOp: (unary.AbsOp,),
    trigonometry.AsinOp: (unary.TanhOp,),
    trigonometry.AcosOp: (unary.SinOp,),
    trigonometry.AtanhOp: (unary.TanhOp,),
    trigonometry.AcoshOp: (trigonometry.CoshOp,),
    unary.ExpOp: (unary.TanhOp,),
    trigonometry.SinhOp: (unary.SinOp,),
}
"""What often stands before an op, so that not everything behind it is NaN or infinite."""


def _unary(kind: type[UnaryOp]) -> Recipe:
    def recipe(b: GraphBuilder) -> None:
        x = b.value(lambda dtype: _takes(kind, dtype))
        if kind in _SAFE and b.choices.chance(60):
            x = b.add(_SAFE[kind][0].make(x))
        b.add(kind.make(x))

    return recipe


def _takes(kind: type[UnaryOp | BinaryOp], dtype: DType) -> bool:
    return kind.takes(kind.__new__(kind), dtype)


def _binary(kind: type[BinaryOp]) -> Recipe:
    def recipe(b: GraphBuilder) -> None:
        if kind is arithmetic.ModOp:
            return _mod(b)
        left = b.value(lambda dtype: _takes(kind, dtype))
        if kind is arithmetic.PowOp and b.choices.chance(60):
            left = b.add(unary.AbsOp.make(left))
        right = _other(b, left)
        if b.choices.chance(40):
            left, right = right, left
        b.add(kind.make(left, right))
        return None

    return recipe


def _mod(b: GraphBuilder) -> None:
    left = b.value(_numbers)
    fmod = tensor_dtype(left).is_float or b.choices.chance(50)
    b.add(arithmetic.ModOp.make(left, _other(b, left), fmod=fmod))


def _other(b: GraphBuilder, value: SSAValue) -> SSAValue:
    """A second operand: of the same shape, or one that broadcasts."""
    if b.choices.chance(45):
        return b.like(value)
    dtype, wanted = tensor_dtype(value), b.broadcastable(shape_of(value))
    found = [v for v in b.values if tensor_dtype(v) == dtype and shape_of(v) == wanted]
    if found and b.choices.chance(50):
        return b.choices.pick(found)
    return b.fresh(dtype, wanted, constant=65)


def _select(b: GraphBuilder) -> None:
    a = b.value()
    other = _other(b, a)
    wanted = b.broadcastable(shape_of(a))
    conditions = [
        v for v in b.values if tensor_dtype(v).name == "i1" and shape_of(v) == shape_of(a)
    ]
    if conditions and b.choices.chance(70):
        condition = b.choices.pick(conditions)
    else:
        condition = b.fresh(DTYPES["i1"], wanted)
    b.add(select.SelectOp.make(condition, a, other))


def _cast(b: GraphBuilder) -> None:
    x = b.value()
    b.add(CastOp.make(x, to=mlir_type(b.choices.pick(list(DTYPES.values())))))


def _clip(b: GraphBuilder) -> None:
    x = b.value(_numbers)
    dtype = tensor_dtype(x)
    if dtype.is_float:
        lows, highs = (0.0, -1.0, 0.5, -1e30), (6.0, 1.0, 0.5, -0.25, 1e30, 0.1)
    else:
        whole = np.iinfo(dtype.numpy)
        exact = 2**53 if dtype.bits == 64 else whole.max
        lows = (0.0, 1.0, float(whole.min))
        highs = (6.0, 2.0, float(exact))
    limits: dict[str, float] = {}
    if not b.choices.chance(25):
        limits["low"] = b.choices.pick(lows)
    if not b.choices.chance(25):
        limits["high"] = b.choices.pick(highs)
    b.add(ClipOp.make(x, **limits))


# ------------------------------------------------------------------------------- reductions


def _axes(b: GraphBuilder, rank: int) -> list[int]:
    count = min(rank, b.choices.weighted([(5, 1), (3, 2), (1, 3), (1, 0)]))
    return sorted(b.choices.shuffled(range(rank))[:count])


def _reduce(kind: type[reduce.ReduceOp]) -> Recipe:
    def recipe(b: GraphBuilder) -> None:
        def takes(dtype: DType) -> bool:
            narrow = kind is reduce.ReduceMeanOp and not dtype.is_float and dtype.bits < 32
            return _numbers(dtype) and not narrow

        x = b.value(takes)
        axes = _axes(b, len(shape_of(x)))
        whole = kind is reduce.ReduceMeanOp and not tensor_dtype(x).is_float
        if whole and 0 in [shape_of(x)[axis] for axis in axes]:
            axes = []
        b.add(kind.make(x, axes=axes, keepdims=b.choices.chance(50)))

    return recipe


def _along(kind: type[softmax.AxisOp]) -> Recipe:
    def recipe(b: GraphBuilder) -> None:
        x = b.value(_floats)
        rank = len(shape_of(x))
        axis = b.choices.integer(-max(rank, 1), max(rank, 1) - 1)
        b.add(kind.make(x, axis=axis))

    return recipe


def _layer_norm(b: GraphBuilder) -> None:
    x = b.value(_floats)
    rank = len(shape_of(x))
    axis = -1 if b.choices.chance(60) else b.choices.integer(-max(rank, 1), max(rank, 1) - 1)
    inner = shape_of(x)[axis if axis >= 0 else max(0, rank + axis) :]
    inner = inner if rank else ()
    dtype = tensor_dtype(x)
    extra = [b.fresh(dtype, inner, 70) for _ in range(1 + b.choices.integer(0, 1))]
    b.add(normalization.LayerNormOp.make(x, *extra, axis=axis, epsilon=_epsilon(b)))


def _batch_norm(b: GraphBuilder) -> None:
    x = b.value(_floats, lambda s: len(s) >= 2, lambda: b.shape(2, 4))
    batch_norm(b, x)


def batch_norm(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """Normalises `x` with constants, as trained networks do, or with arguments."""
    dtype, vector = tensor_dtype(x), (shape_of(x)[1],)
    if b.choices.chance(20):
        scale, bias, mean = (b.argument(dtype, vector) for _ in range(3))
        variance = b.add(unary.AbsOp.make(b.argument(dtype, vector)))
    else:
        scale, bias, mean = (b.constant(dtype, vector) for _ in range(3))
        variance = b.positive(dtype, vector)
    op = normalization.BatchNormOp.make(x, scale, bias, mean, variance, epsilon=_epsilon(b))
    return b.add(op)


def _epsilon(b: GraphBuilder) -> float:
    return b.choices.pick((1e-5, 1e-3, 1.0))


def _gelu(b: GraphBuilder) -> None:
    b.add(gelu.GeluOp.make(b.value(_floats), approximate=b.choices.pick(gelu.KINDS)))


# ------------------------------------------------------------------------------- shapes


def _reshape(b: GraphBuilder) -> None:
    x = b.value()
    sizes = shape_of(x)
    count = math.prod(sizes)
    kind = b.choices.pick(("flat", "split", "merge", "ones", "scalar", "same"))
    new = list(sizes)
    if kind == "flat":
        new = [count]
    elif kind == "split" and sizes and count:
        at = b.choices.integer(0, len(sizes) - 1)
        factors = [f for f in range(1, sizes[at] + 1) if sizes[at] % f == 0]
        factor = b.choices.pick(factors)
        new[at : at + 1] = [factor, sizes[at] // factor]
    elif kind == "merge" and len(sizes) >= 2:
        at = b.choices.integer(0, len(sizes) - 2)
        new[at : at + 2] = [sizes[at] * sizes[at + 1]]
    elif kind == "ones":
        new.insert(b.choices.integer(0, len(new)), 1)
    elif kind == "scalar" and count == 1:
        new = []
    if len(new) > 6:
        new = [count]
    b.add(shape.ReshapeOp.make(x, shape=new))


def _transpose(b: GraphBuilder) -> None:
    x = b.value(fits=lambda s: len(s) >= 2, make=lambda: b.shape(2, 4))
    rank = len(shape_of(x))
    if rank >= 3 and b.choices.chance(50):  # a cycle of three is not its own inverse
        moved = b.choices.shuffled(range(rank))[:3]
        perm = list(range(rank))
        for source, target in zip(moved, [*moved[1:], moved[0]], strict=True):
            perm[target] = source
    else:
        perm = b.choices.shuffled(range(rank))
    once = b.add(shape.TransposeOp.make(x, perm=perm))
    if b.choices.chance(30):
        b.add(shape.TransposeOp.make(once, perm=b.choices.shuffled(range(rank))))


def _broadcast(b: GraphBuilder) -> None:
    x = b.value(fits=lambda s: math.prod(s) <= 512)
    sizes = [b.size() if size == 1 else size for size in shape_of(x)]
    lead = [b.size() for _ in range(b.choices.integer(0, 2) if len(sizes) < 4 else 0)]
    new = [*lead, *sizes]
    if math.prod(new) <= b.most_elements:
        b.add(shape.BroadcastToOp.make(x, shape=new))


def _concat(b: GraphBuilder) -> None:
    x = b.value(fits=lambda s: len(s) >= 1, make=lambda: b.shape(1, 4))
    axis = b.choices.integer(0, len(shape_of(x)) - 1)
    parts = [x]
    for _ in range(b.choices.integer(0, 3)):
        sizes = list(shape_of(x))
        if not b.choices.chance(50):
            parts.append(b.like(x))
            continue
        sizes[axis] = b.size()
        parts.append(b.fresh(tensor_dtype(x), sizes))
    parts = b.choices.shuffled(parts)
    total = sum(math.prod(shape_of(part)) for part in parts)
    if total <= 2 * b.most_elements:
        b.add(shape.ConcatOp.make(*parts, axis=axis))


def _slice(b: GraphBuilder) -> None:
    x = b.value()
    starts, sizes, steps = [], list[int](), list[int]()
    for size in shape_of(x):
        step = b.choices.pick((1, 1, 2, -1, 3, -2, 5))
        most = -(-size // abs(step))
        if size and b.choices.chance(40):
            count, first = most, 0 if step > 0 else size - 1
        else:
            count = b.choices.integer(0 if b.choices.chance(5) else min(1, most), most)
            room = size - 1 - (count - 1) * abs(step) if count else 0
            first = b.choices.integer(0, max(room, 0))
            first = first if step > 0 else first + (count - 1) * -step
            first = max(first, 0)
        starts.append(first)
        sizes.append(count)
        steps.append(step)
    b.add(shape.SliceOp.make(x, starts=starts, sizes=sizes, steps=steps))


def _pad(b: GraphBuilder) -> None:
    x = b.value()
    rank = len(shape_of(x))
    amounts = (0, 1, 2, 0, 5)
    low = [b.choices.pick(amounts) for _ in range(rank)]
    high = [b.choices.pick(amounts) for _ in range(rank)]
    dtype = tensor_dtype(x)
    if dtype.is_float:
        value = b.choices.pick((0.0, 1.5, -1.0, math.inf, -math.inf, math.nan, -0.0))
    elif dtype.name == "i1":
        value = b.choices.pick((0.0, 1.0))
    else:
        value = b.choices.pick((0.0, 1.0, 100.0))
    sizes = [a + s + c for a, s, c in zip(low, shape_of(x), high, strict=True)]
    if math.prod(sizes) <= 2 * b.most_elements:
        b.add(shape.PadOp.make(x, low=low, high=high, value=value))


def _gather(b: GraphBuilder) -> None:
    x = b.value(fits=lambda s: len(s) >= 1 and _some(s), make=lambda: b.bounded([4, 3, 5]))
    sizes = shape_of(x)
    axis = b.choices.integer(0, len(sizes) - 1)
    shape_ = b.bounded([b.size() for _ in range(b.choices.integer(0, 2))])
    rest = math.prod(size for at, size in enumerate(sizes) if at != axis)
    if math.prod(shape_) * rest > b.most_elements:
        shape_ = ()
    dtype = DTYPES[b.choices.pick(("i64", "i32"))]
    if b.choices.chance(50):
        generator = np.random.default_rng(b.choices.integer(0, 999))
        indices = b.array(generator.integers(-sizes[axis], sizes[axis], shape_, dtype.numpy))
    elif b.choices.chance(25):  # computed, and brought into range
        plain = b.argument(dtype, shape_)
        indices = b.add(ClipOp.make(plain, low=float(-sizes[axis]), high=float(sizes[axis] - 1)))
    else:
        indices = b.argument(dtype, shape_)
        b.values.remove(indices)  # so that nothing else reads it: its numbers are indices
    b.add(GatherOp.make(x, indices, axis=axis))


# ------------------------------------------------------------------------------- products


def _matmul(b: GraphBuilder) -> None:
    x = b.value(_numbers, lambda s: len(s) >= 2 and math.prod(s) <= 4096, lambda: b.shape(2, 4))
    sizes, dtype = shape_of(x), tensor_dtype(x)
    if b.choices.chance(20):  # x is the second one
        rows = b.size()
        left = b.fresh(dtype, (*b.broadcastable(sizes[:-2]), rows, sizes[-2]), 40)
        if math.prod(sizes) * rows <= b.most_work:
            b.add(matmul.MatmulOp.make(left, x))
        return
    columns = b.size()
    batch = b.broadcastable(sizes[:-2])
    if math.prod(sizes) * columns > b.most_work:
        columns = 1
    b.add(matmul.MatmulOp.make(x, b.fresh(dtype, (*batch, sizes[-1], columns), 40)))


# ------------------------------------------------------------------------------- the rest


def _call(b: GraphBuilder) -> None:
    """A call of a function of its own, which computes one or two results of its arguments."""
    x = b.value(_numbers)
    y = b.like(x)
    block = Block(arg_types=[x.type, y.type])
    first = arithmetic.AddOp.make(*block.args)
    second = arithmetic.MaximumOp.make(first.out, block.args[1])
    ops: list[Operation] = [first, second]
    results = [second.out, first.out] if b.choices.chance(50) else [second.out]
    block.add_ops([*ops, ReturnOp(*results)])
    types = [value.type for value in results]
    name = f"callee{len(b.callees)}_{id_of(b)}"
    callee = FuncOp(name, ([x.type, y.type], types), Region(block), visibility="private")
    b.callees.append(callee)
    b.add(CallOp(name, [x, y], types))


def id_of(b: GraphBuilder) -> int:
    """A number that tells the functions of one module apart: how many decisions were made."""
    return b.choices.count


def _relayout(b: GraphBuilder) -> None:
    """Into a blocked layout, through an op or two that keep it, and back."""
    x = b.value(
        _floats, lambda s: len(s) == 4 and _some(s) and math.prod(s) <= 4096, lambda: b.shape(4, 4)
    )
    sizes = shape_of(x)
    if len(sizes) != 4 or sizes[1] < 2:  # a dimension of one element has no iterator to split
        return
    block = [0, b.choices.pick((4, 8, 16)), 0, 0]
    halo = b.choices.pick(([], [1, 1, 1, 1], [0, 2, 1, 0]))
    layout = LayoutAttr.get(block, halo)
    inside: Operation = RelayoutOp.to(x, layout)
    b.block.add_op(inside)
    for _ in range(b.choices.integer(0, 2)):
        kind = b.choices.pick((unary.ReluOp, unary.NegOp, unary.AbsOp, unary.TanhOp))
        inside = kind.make(inside.results[0])
        _in_layout(inside, layout)
        b.block.add_op(inside)
    b.add(RelayoutOp.to(inside.results[0], None))


def _in_layout(op: Operation, layout: LayoutAttr) -> None:
    from xdsl.ir import OpResult, SSAValues

    kind: Any = op.results[0].type
    op.results = SSAValues((OpResult(with_layout(kind, layout), op, 0),))


def _constant(b: GraphBuilder) -> None:
    b.values.append(b.constant(b.any_dtype(), b.shape()))


def _nothing(_: GraphBuilder) -> None:
    pass


OWN: Mapping[type[Operation], Recipe] = {
    select.SelectOp: _select,
    CastOp: _cast,
    ClipOp: _clip,
    normalization.LayerNormOp: _layer_norm,
    normalization.BatchNormOp: _batch_norm,
    gelu.GeluOp: _gelu,
    shape.ReshapeOp: _reshape,
    shape.TransposeOp: _transpose,
    shape.BroadcastToOp: _broadcast,
    shape.ConcatOp: _concat,
    shape.SliceOp: _slice,
    shape.PadOp: _pad,
    GatherOp: _gather,
    matmul.MatmulOp: _matmul,
    ConvOp: conv,
    CallOp: _call,
    RelayoutOp: _relayout,
    ConstantOp: _constant,
}
"""Ops of no family."""

_FAMILIES: tuple[tuple[type[GraphOp], Callable[[Any], Recipe]], ...] = (
    (UnaryOp, _unary),
    (BinaryOp, _binary),
    (reduce.ReduceOp, _reduce),
    (softmax.AxisOp, _along),
    (pool.PoolOp, pooling),
)

_BY_BACKENDS = ("graph.composite", "graph.yield")
"""Ops that only partitioning writes: no model has them, and no host compiles them."""


def recipe_of(kind: type[Operation]) -> Recipe | None:
    """The recipe of an op; None when it has none."""
    if kind in OWN:
        return OWN[kind]
    return next((make(kind) for base, make in _FAMILIES if issubclass(kind, base)), None)


def graph_recipes() -> dict[type[Operation], Recipe]:
    """Every op of the dialect that has a recipe. An op of a known family has one by being there."""
    found = {kind: recipe_of(kind) for kind in DIALECT.operations}
    return {kind: recipe for kind, recipe in found.items() if recipe is not None}


_HEAVY = (ConvOp, matmul.MatmulOp, pool.MaxPoolOp, pool.AvgPoolOp)
_THEMES: Mapping[str, tuple[type[Operation] | str, ...]] = {
    "network": (ConvOp, pool.MaxPoolOp, pool.AvgPoolOp, normalization.BatchNormOp, unary.ReluOp,
                ClipOp, arithmetic.AddOp, arithmetic.MulOp, shape.ConcatOp, shape.PadOp,
                reduce.ReduceMeanOp, unary.SigmoidOp, shape.SliceOp),
    "tokens": (matmul.MatmulOp, softmax.SoftmaxOp, normalization.LayerNormOp, gelu.GeluOp,
               shape.TransposeOp, shape.ReshapeOp, arithmetic.AddOp, GatherOp, arithmetic.MulOp,
               unary.TanhOp, unary.SigmoidOp, shape.SliceOp, shape.ConcatOp),
    "moves": (shape.TransposeOp, shape.ReshapeOp, shape.SliceOp, shape.PadOp, shape.ConcatOp,
              shape.BroadcastToOp, GatherOp, unary.NegOp, reduce.ReduceSumOp, arithmetic.AddOp),
    "logic": (logic.LessOp, logic.EqualOp, logic.GreaterEqualOp, logic.LogicalAndOp, CastOp,
              select.SelectOp, logic.LogicalNotOp, bitwise.BitwiseAndOp, bitwise.ShiftRightOp,
              arithmetic.AddOp, arithmetic.DivOp, arithmetic.ModOp, unary.SignOp),
}  # fmt: skip


def recipes_of(choices: Choices) -> list[tuple[int, Recipe]]:
    """Weighted recipes of one function: those of a theme most often, all others sometimes."""
    every = graph_recipes()
    theme = choices.pick(("any", "network", "tokens", "moves", "logic", "layer", "any"))
    weights = {kind: 3 if kind in _HEAVY else 2 for kind in every}
    for kind in _THEMES.get(theme, ()):
        if isinstance(kind, type) and kind in weights:
            weights[kind] += 25
    found = [(weight, every[kind]) for kind, weight in weights.items()]
    return [*found, (400 if theme == "layer" else 4, layer)]


__all__ = ["batch_norm", "graph_recipes", "recipe_of", "recipes_of"]
