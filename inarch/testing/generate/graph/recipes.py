"""How each op of `graph` is put into a program: one recipe an op, families by their base class."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from inarch.core.dtypes import DTYPES, DType
from inarch.core.lazy import np
from inarch.dialects.graph import DIALECT, cumulative, operations, reduce
from inarch.dialects.graph.call import CallOp
from inarch.dialects.graph.composites import gelu, softmax
from inarch.dialects.graph.elementwise import (
    BinaryOp,
    UnaryOp,
    arithmetic,
)
from inarch.dialects.graph.layout import LayoutAttr, with_layout
from inarch.dialects.graph.op import GraphOp, shape_of, tensor_dtype
from inarch.dialects.graph.relayout import RelayoutOp
from inarch.dialects.graph.windows import pool
from inarch.ir.types import mlir_type
from inarch.testing.generate.choices import Choices
from inarch.testing.generate.graph import moves as _moves
from inarch.testing.generate.graph.builder import GraphBuilder, Recipe, is_float, is_number
from inarch.testing.generate.graph.products import batch_norm, epsilon, product
from inarch.testing.generate.graph.quantized import (
    dequantized,
    dequantized_packed,
    packed_product,
    quantized,
)
from inarch.testing.generate.graph.regions import branch, repeat, scan
from inarch.testing.generate.graph.windows import conv, conv_transpose, layer, pooling


def _some(sizes: tuple[int, ...]) -> bool:
    return 0 not in sizes


# ------------------------------------------------------------------------------- elementwise

_SAFE: Mapping[str, str] = {
    "log": "abs",
    "sqrt": "abs",
    "asin": "tanh",
    "acos": "sin",
    "atanh": "tanh",
    "acosh": "cosh",
    "exp": "tanh",
    "expm1": "tanh",
    "log1p": "abs",
    "sinh": "sin",
}
"""What often stands before an op, so that not everything behind it is NaN or infinite."""


def _unary(kind: type[UnaryOp]) -> Recipe:
    def recipe(b: GraphBuilder) -> None:
        x = b.value(kind.DOMAIN.has)
        safe = _SAFE.get(_name(kind))
        if safe is not None and b.choices.chance(60):
            x = b.emit(safe, x)
        b.add(kind.make(x))

    return recipe


def _name(kind: type[Operation]) -> str:
    """As the dialect has it: `exp`."""
    return kind.name.removeprefix("graph.")


def _binary(kind: type[BinaryOp]) -> Recipe:
    def recipe(b: GraphBuilder) -> None:
        if _name(kind) == "mod":
            return _mod(b)
        left = b.value(kind.DOMAIN.has)
        if _name(kind) == "pow" and b.choices.chance(60):
            left = b.graph.abs(left)
        right = _other(b, left)
        if b.choices.chance(40):
            left, right = right, left
        b.add(kind.make(left, right))
        return None

    return recipe


def _mod(b: GraphBuilder) -> None:
    left = b.value(is_number)
    fmod = tensor_dtype(left).is_float or b.choices.chance(50)
    b.graph.mod(left, _other(b, left), fmod=fmod)


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
    b.graph.select(condition, a, other)


def _cast(b: GraphBuilder) -> None:
    x = b.value()
    b.graph.cast(x, to=mlir_type(b.choices.pick(list(DTYPES.values()))))


def _clip(b: GraphBuilder) -> None:
    x = b.value(is_number)
    dtype = tensor_dtype(x)
    if dtype.is_float:
        lows, highs = (0.0, -1.0, 0.5, -1e30), (6.0, 1.0, 0.5, -0.25, 1e30, 0.1)
    else:
        whole = np.iinfo(dtype.numpy)
        exact = 2**53 if dtype.bits == 64 else whole.max
        lows = (0.0, 1.0, float(whole.min))
        highs = (6.0, 2.0, float(exact))
    limits: dict[str, Any] = {}
    if not b.choices.chance(25):
        limits["low"] = b.choices.pick(lows)
    if not b.choices.chance(25):
        limits["high"] = b.choices.pick(highs)
    b.graph.clip(x, **limits)


# ------------------------------------------------------------------------------- reductions


def _axes(b: GraphBuilder, rank: int) -> list[int]:
    count = min(rank, b.choices.weighted([(5, 1), (3, 2), (1, 3), (1, 0)]))
    return sorted(b.choices.shuffled(range(rank))[:count])


def _reduce(kind: type[reduce.ReduceOp]) -> Recipe:
    def recipe(b: GraphBuilder) -> None:
        def takes(dtype: DType) -> bool:
            narrow = kind is reduce.ReduceMeanOp and not dtype.is_float and dtype.bits < 32
            return is_number(dtype) and not narrow

        x = b.value(takes)
        axes = _axes(b, len(shape_of(x)))
        whole = kind is reduce.ReduceMeanOp and not tensor_dtype(x).is_float
        if whole and 0 in [shape_of(x)[axis] for axis in axes]:
            axes = []
        b.add(kind.make(x, axes=axes, keepdims=b.choices.chance(50)))

    return recipe


def _cumulative(kind: type[cumulative.CumulativeOp]) -> Recipe:
    def recipe(b: GraphBuilder) -> None:
        x = b.value(is_number, lambda s: len(s) >= 1, lambda: b.shape(1, 4))
        rank = len(shape_of(x))
        axis = b.choices.integer(-rank, rank - 1)
        exclusive, reverse = b.choices.chance(30), b.choices.chance(30)
        b.add(kind.make(x, axis=axis, exclusive=exclusive, reverse=reverse))

    return recipe


def _search(kind: type[reduce.ArgReduceOp]) -> Recipe:
    def recipe(b: GraphBuilder) -> None:
        x = b.value(is_number, lambda s: len(s) >= 1 and _some(s), lambda: b.shape(1, 4))
        axes = [axis for axis, size in enumerate(shape_of(x)) if size]
        if not axes:
            return
        axis = b.choices.pick(axes) - len(shape_of(x)) * b.choices.integer(0, 1)
        keepdims, last = b.choices.chance(50), b.choices.chance(40)
        b.add(kind.make(x, axis=axis, keepdims=keepdims, last=last))

    return recipe


def _along(kind: type[softmax.AxisOp]) -> Recipe:
    def recipe(b: GraphBuilder) -> None:
        x = b.value(is_float)
        rank = len(shape_of(x))
        axis = b.choices.integer(-max(rank, 1), max(rank, 1) - 1)
        b.add(kind.make(x, axis=axis))

    return recipe


def _layer_norm(b: GraphBuilder) -> None:
    x = b.value(is_float)
    rank = len(shape_of(x))
    axis = -1 if b.choices.chance(60) else b.choices.integer(-max(rank, 1), max(rank, 1) - 1)
    inner = shape_of(x)[axis if axis >= 0 else max(0, rank + axis) :]
    inner = inner if rank else ()
    dtype = tensor_dtype(x)
    extra = [b.fresh(dtype, inner, 70) for _ in range(1 + b.choices.integer(0, 1))]
    b.graph.layer_norm(x, *extra, axis=axis, epsilon=epsilon(b))


def _batch_norm(b: GraphBuilder) -> None:
    x = b.value(is_float, lambda s: len(s) >= 2, lambda: b.shape(2, 4))
    batch_norm(b, x)


def _gelu(b: GraphBuilder) -> None:
    b.graph.gelu(b.value(is_float), approximate=b.choices.pick(gelu.KINDS))


# ------------------------------------------------------------------------------- the rest


def _call(b: GraphBuilder) -> None:
    """A call of a function of its own, which computes one or two results of its arguments.

    One op a result: a private function of the host may have no memory of its own.
    """
    x = b.value(is_number)
    y = b.like(x)
    block = Block(arg_types=[x.type, y.type])
    first = arithmetic.AddOp.make(*block.args)
    second = arithmetic.MaximumOp.make(*block.args)
    ops = [second, first] if b.choices.chance(50) else [second]
    results = [op.out for op in ops]
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
        is_float, lambda s: len(s) == 4 and _some(s) and math.prod(s) <= 4096, lambda: b.shape(4, 4)
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
        kind = operations()[b.choices.pick(("relu", "neg", "abs", "tanh"))]
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


OWN: Mapping[str, Recipe] = {
    "select": _select,
    "cast": _cast,
    "clip": _clip,
    "layer_norm": _layer_norm,
    "batch_norm": _batch_norm,
    "gelu": _gelu,
    "quantize": quantized,
    "dequantize": dequantized,
    "dequantize_packed": dequantized_packed,
    "matmul_packed": packed_product,
    "reshape": _moves.reshape,
    "transpose": _moves.transpose,
    "broadcast_to": _moves.broadcast_to,
    "concat": _moves.concat,
    "slice": _moves.slice_,
    "pad": _moves.pad,
    "gather": _moves.gather,
    "scatter_elements": _moves.scatter_elements,
    "scatter_nd": _moves.scatter_nd,
    "topk": _moves.topk,
    "matmul": product,
    "conv": conv,
    "conv_transpose": conv_transpose,
    "call": _call,
    "relayout": _relayout,
    "constant": _constant,
    "scan": lambda b: scan(b, _recipes_in_bodies),
    "while": lambda b: repeat(b, _recipes_in_bodies),
    "if": lambda b: branch(b, _recipes_in_bodies),
}
"""Ops of no family."""


def _recipes_in_bodies(choices: Choices) -> list[tuple[int, Recipe]]:
    """Bodies of ops call no functions."""
    return [(weight, recipe) for weight, recipe in recipes_of(choices) if recipe is not _call]


_FAMILIES: tuple[tuple[type[GraphOp], Callable[[Any], Recipe]], ...] = (
    (UnaryOp, _unary),
    (BinaryOp, _binary),
    (reduce.ReduceOp, _reduce),
    (reduce.ArgReduceOp, _search),
    (cumulative.CumulativeOp, _cumulative),
    (softmax.AxisOp, _along),
    (pool.PoolOp, pooling),
)

BY_BACKENDS = ("graph.composite", "graph.yield")
"""Ops that only partitioning writes: no model has them, and no host compiles them."""


def recipe_of(kind: type[Operation]) -> Recipe | None:
    """The recipe of an op; None when it has none."""
    if _name(kind) in OWN:
        return OWN[_name(kind)]
    return next((make(kind) for base, make in _FAMILIES if issubclass(kind, base)), None)


def graph_recipes() -> dict[type[Operation], Recipe]:
    """Every op of the dialect that has a recipe. An op of a known family has one by being there."""
    found = {kind: recipe_of(kind) for kind in DIALECT.operations}
    return {kind: recipe for kind, recipe in found.items() if recipe is not None}


_HEAVY = ("conv", "conv_transpose", "matmul", "max_pool", "avg_pool")
_THEMES: Mapping[str, Sequence[str]] = {
    "network": ("conv", "conv_transpose", "max_pool", "avg_pool", "batch_norm",
                "relu", "clip", "add", "mul", "concat", "pad",
                "reduce_mean", "sigmoid", "slice"),
    "tokens": ("matmul", "softmax", "layer_norm", "gelu",
               "transpose", "reshape", "add", "gather", "mul",
               "tanh", "sigmoid", "slice", "concat"),
    "moves": ("transpose", "reshape", "slice", "pad", "concat",
              "broadcast_to", "gather", "scatter_elements", "scatter_nd", "neg",
              "reduce_sum", "add"),
    "logic": ("less", "equal", "greater_equal", "logical_and", "cast",
              "select", "logical_not", "bitwise_and", "shift_right",
              "add", "div", "mod", "sign"),
}  # fmt: skip


def recipes_of(choices: Choices, favour: Sequence[str] = ()) -> list[tuple[int, Recipe]]:
    """Weighted recipes of one function: those of a theme most often, all others sometimes.

    `favour` are names of ops that stand in for the theme, more often those that are there more than once.
    """
    every = graph_recipes()
    theme = choices.pick(("any", "network", "tokens", "moves", "logic", "layer", "any"))
    themed = _THEMES.get(theme, ()) if not favour else ()
    weights = {kind: 3 if _name(kind) in _HEAVY else 2 for kind in every}
    for kind in every:
        weights[kind] += 25 * (themed.count(_name(kind)) + favour.count(kind.name))
    found = [(weight, every[kind]) for kind, weight in weights.items()]
    return [*found, (400 if theme == "layer" else 4, layer)]
