"""What nodes are drawn, and the model of a seed."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from inarch.testing.onnx_graphs.drawing import (
    FLOATS,
    INTEGERS,
    NUMBERS,
    Case,
    Graph,
    Refused,
    evaluate,
    model_of,
)
from inarch.testing.onnx_graphs.patterns import PATTERNS

UNARY = (
    "Abs", "Neg", "Relu", "Exp", "Sigmoid", "Tanh", "Softplus", "Sin", "Erf", "Elu", "Identity", "Sign",
)  # fmt: skip


def _unary(g: Graph) -> None:
    op = g.one(UNARY)
    g.node(op, [g.value(FLOATS, is_exact=op == "Sign")])


def _jump(g: Graph) -> None:
    g.node(g.one(["Floor", "Ceil", "Round", "Sign"]), [g.value(FLOATS, is_exact=True)])


def _binary(g: Graph) -> None:
    op = g.one(["Add", "Sub", "Mul", "Max", "Min"])
    a = g.value(NUMBERS)
    pair = [a, g.like(a)]
    g.node(op, pair[:: g.one((1, -1))])


def _variadic(g: Graph) -> None:
    a = g.value(NUMBERS if g.chance(0.5) else FLOATS)
    op = g.one(("Max", "Min") if g.values[a].dtype.kind != "f" else ("Max", "Min", "Sum", "Mean"))
    g.node(op, [a, *(g.like(a) for _ in range(int(g.rng.integers(3))))])


def _divide(g: Graph) -> None:
    a = g.value(NUMBERS, is_exact=True)
    b = g.values[g.like(a)].copy()
    b[b == 0] = 3
    op = g.one(("Div", "Mod"))
    fmod = {"fmod": 1} if op == "Mod" and (b.dtype.kind == "f" or g.chance(0.4)) else {}
    g.node(op, [a, g.put(b, is_constant=g.chance(0.5))], **fmod)


def _compare(g: Graph) -> None:
    a = g.value(NUMBERS, is_exact=True)
    g.node(g.one(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]), [a, g.like(a)])


def _logic(g: Graph) -> None:
    a = g.value(("bool",))
    op = g.one(["And", "Or", "Xor", "Not"])
    g.node(op, [a] if op == "Not" else [a, g.like(a)])


def _bits(g: Graph) -> None:
    if g.chance(0.5):
        a = g.new(g.one(("uint8", "uint64")), g.shape())
        g.node("BitShift", [a, g.like(a)], direction=g.one(("LEFT", "RIGHT")))
        return
    a = g.value(INTEGERS)
    g.node(g.one(["BitwiseAnd", "BitwiseOr", "BitwiseXor"]), [a, g.like(a)])


def _where(g: Graph) -> None:
    a = g.value((*NUMBERS, "bool"))
    shape = [size if g.chance(0.7) else 1 for size in g.values[a].shape]
    g.node("Where", [g.new("bool", shape), a, g.like(a)])


def _cast(g: Graph) -> None:
    from onnx import helper

    to = g.one((*NUMBERS, "bool"))
    a = g.value((*NUMBERS, "bool"), is_exact=True)
    if to.startswith("u") and g.values[a].dtype.kind == "f":
        to = "int64"
    g.node("Cast", [a], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def _reduce(g: Graph) -> None:
    op = g.one(
        ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp", "LogSum"]
    )
    dtypes = ("float32", "float64", "int32", "int64") if op in ("Sum", "Max", "Min") else FLOATS
    a = g.value(dtypes)
    rank = g.values[a].ndim
    axes = [int(axis) - rank * g.chance(0.3) for axis in range(rank) if g.chance(0.5)] or None
    keep: Any = {} if g.chance(0.3) else {"keepdims": g.one((0, 1))}
    if g.opset >= 18 or (g.opset >= 13 and op == "Sum"):
        extra = {"noop_with_empty_axes": 1} if g.chance(0.2) else {}
        g.node(f"Reduce{op}", [a, g.whole(*axes)] if axes else [a], **keep, **extra)
    else:
        g.node(f"Reduce{op}", [a], axes=axes, **keep)


def _slice(g: Graph) -> None:
    a = g.value(NUMBERS, 1)
    sizes = g.values[a].shape
    axes = [axis for axis in range(len(sizes)) if g.chance(0.6)] or [0]
    steps = [int(g.one((1, 1, 2, -1, -2, 3))) for _ in axes]
    starts = [int(g.rng.integers(-sizes[axis] - 2, sizes[axis] + 2)) for axis in axes]
    starts = [  # the evaluator takes nothing where the specification begins at element 0
        max(start, -sizes[axis]) if step < 0 else start
        for axis, start, step in zip(axes, starts, steps, strict=True)
    ]
    far = (-(2**63), 2**63 - 1, 2**31 - 1, -(2**31))
    ends = [
        int(g.rng.integers(-sizes[axis] - 2, sizes[axis] + 2)) if g.chance(0.6) else g.one(far)
        for axis in axes
    ]
    g.node("Slice", [a, g.whole(*starts), g.whole(*ends), g.whole(*axes), g.whole(*steps)])


def _pad(g: Graph) -> None:
    a = g.value(NUMBERS, 1, 4)
    rank = g.values[a].ndim
    mode = g.one(("constant", "constant", "edge", "reflect"))
    low = -1 if mode == "constant" else 0
    pads = g.whole(*(int(pad) for pad in g.rng.integers(low, 3, size=2 * rank)))
    if (mode != "constant" and 0 in g.values[a].shape) or (
        mode == "reflect" and min(g.values[a].shape) < 3
    ):
        raise Refused("Pad")
    inputs = [a, pads]
    if mode == "constant" and g.chance(0.6):
        inputs.append(g.put(g.array(str(g.values[a].dtype), ())))
    g.node("Pad", inputs, mode=mode)


def _concat(g: Graph) -> None:
    a = g.value((*NUMBERS, "bool"), 1)
    axis, parts = g.axis(a), [a]
    for _ in range(int(g.rng.integers(3))):
        sizes = list(g.values[a].shape)
        sizes[axis] = g.one((0, 1, 2, 3))
        parts.append(a if g.chance(0.2) else g.new(str(g.values[a].dtype), sizes))
    g.node("Concat", parts, axis=axis)


def _split(g: Graph) -> None:
    a = g.value(NUMBERS, 1)
    axis = g.axis(a)
    size = g.values[a].shape[axis]
    first = int(g.rng.integers(size + 1))
    if g.opset >= 13:
        g.node("Split", [a, g.whole(first, size - first)], 2, axis=axis)
    else:
        g.node("Split", [a], 2, axis=axis, split=[first, size - first])


def _gather(g: Graph) -> None:
    a = g.value(NUMBERS, 1, 4)
    axis, sizes = g.axis(a), list(g.values[a].shape)
    size = sizes[axis]
    if not size:
        raise Refused("Gather")
    op = g.one(("Gather", "GatherElements", "ScatterElements", "ScatterND"))
    if op == "ScatterND":
        rows = g.rng.permutation(sizes[0])[: int(g.rng.integers(sizes[0] + 1))].reshape(-1, 1)
        updates = g.new(str(g.values[a].dtype), [len(rows), *sizes[1:]])
        g.node(op, [a, g.put(rows.astype(np.int64), is_constant=False), updates])
        return
    if op == "ScatterElements":
        sizes[axis] = int(g.rng.integers(size + 1))
        order = np.argsort(g.rng.random(g.values[a].shape), axis=axis)
        index = np.take(order, range(sizes[axis]), axis=axis).astype(np.int64)
        index = np.where(g.rng.random(index.shape) < 0.3, index - size, index)
        updates = g.new(str(g.values[a].dtype), sizes)
        g.node(op, [a, g.put(index, is_constant=g.chance(0.5)), updates], axis=axis)
        return
    shape = g.shape(0, 2)
    if op == "GatherElements":
        shape = sizes
        shape[axis] = int(g.rng.integers(4))
    index = g.rng.integers(-size, size, size=tuple(shape)).astype(g.one(("int32", "int64")))
    g.node(op, [a, g.put(index, is_constant=g.chance(0.5))], axis=axis)


def _view(g: Graph) -> None:
    a = g.value((*NUMBERS, "bool"))
    shape = g.values[a].shape
    rank = len(shape)
    op = g.one(["Transpose", "Reshape", "Expand", "Tile", "Unsqueeze", "Squeeze", "Flatten"])
    if op == "Transpose":
        perm = None if g.chance(0.3) else [int(axis) for axis in g.rng.permutation(rank)]
        g.node(op, [a], perm=perm)
    elif op == "Reshape":
        cut = int(g.rng.integers(rank + 1))
        g.node(op, [a, g.whole(*(0 for _ in shape[:cut]), -1)])
    elif op == "Expand":
        g.node(op, [a, g.whole(*g.shape(0, 1), *(g.one((1, n)) if n != 1 else 3 for n in shape))])
    elif op == "Tile":
        g.node(op, [a, g.whole(*(int(n) for n in g.rng.integers(0, 4, size=rank)))])
    elif op == "Flatten":
        g.node(op, [a], axis=int(g.rng.integers(-rank, rank + 1)))
    else:
        ones = [axis for axis, size in enumerate(shape) if size == 1]
        axes = ones if op == "Squeeze" else [int(g.rng.integers(-rank - 1, rank + 1))]
        if not axes:
            raise Refused("Squeeze")
        if g.opset >= 13:
            g.node(op, [a, g.whole(*axes)])
        else:
            g.node(op, [a], axes=axes)


def _index(g: Graph) -> None:
    a = g.new(g.one(("float32", "float64", "int32", "uint8")), g.shape(1, 4))
    op = g.one(("ArgMax", "ArgMin", "TopK", "CumSum", "OneHot", "Trilu"))
    axis, size = g.axis(a), g.values[a].shape
    flags: dict[str, Any] = {name: g.one((0, 1)) for name in ("exclusive", "reverse")}
    if op == "TopK":
        k = g.whole(int(g.rng.integers(1, size[axis] + 1))) if size[axis] else g.whole(0)
        g.node(op, [a, k], 2, axis=axis, largest=flags["reverse"])
    elif op == "CumSum":
        g.node(op, [g.value(FLOATS, len(size), len(size)), g.put(np.array(axis))], **flags)
    elif op == "OneHot":
        index = g.put(g.rng.integers(-4, 4, size=size), is_constant=False)
        g.node(op, [index, g.whole(4), g.put(g.array("float32", (2,)))], axis=axis)
    elif op == "Trilu" and len(size) < 2:
        raise Refused("Trilu")
    elif op == "Trilu":
        g.node(op, [a, g.put(np.array(int(g.rng.integers(-3, 4))))], upper=flags["reverse"])
    else:
        g.node(op, [a], axis=axis, keepdims=flags["reverse"], select_last_index=flags["exclusive"])


def _window(g: Graph) -> None:
    spatial = g.one((1, 2, 2, 3))
    sizes = [g.size((4, 5, 7)) if spatial < 3 else int(g.one((4, 5, 7))) for _ in range(spatial)]
    kernel = [int(g.one((1, 2, 3))) for _ in range(spatial)]
    groups, channels, outs = g.one((1, 1, 2)), g.size((1, 2)), g.size((1, 3))
    x = g.new("float32", [g.one((1, 2)), groups * channels, *sizes])
    attributes: dict[str, Any] = {"strides": [int(g.one((1, 2, 3))) for _ in kernel]}
    op = g.one(("Conv", "ConvTranspose", "MaxPool", "AveragePool"))
    if g.chance(0.4) and op != "ConvTranspose":
        attributes["auto_pad"] = g.one(("SAME_UPPER", "SAME_LOWER", "VALID"))
    else:
        attributes["pads"] = [int(g.rng.integers(k)) for k in (*kernel, *kernel)]
    if op in ("Conv", "ConvTranspose"):
        if "auto_pad" not in attributes:
            attributes["dilations"] = [g.one((1, 2)) for _ in kernel]
        shape = [groups * outs, channels] if op == "Conv" else [groups * channels, outs]
        bias = [g.new("float32", [groups * outs])] if g.chance(0.5) else []
        g.node(op, [x, g.new("float32", [*shape, *kernel]), *bias], group=groups, **attributes)
        return
    if op == "AveragePool":
        attributes["count_include_pad"] = g.one((0, 1))
    if "auto_pad" not in attributes:
        attributes["ceil_mode"] = g.one((0, 1))
    g.node(op, [x], kernel_shape=kernel, **attributes)


def _product(g: Graph) -> None:
    m, k, n = (int(g.one((0, 1, 2, 3, 5))) if g.chance(0.2) else g.size((1, 3, 5)) for _ in "mkn")
    dtype, op = g.one(("float32", "float64", "int32")), g.one(("MatMul", "Gemm", "Einsum"))
    if op == "MatMul":
        batch = g.shape(0, 2)
        left = g.new(dtype, [*batch, m, k] if g.chance(0.8) else [k])
        g.node(op, [left, g.new(dtype, [*(b if g.chance(0.6) else 1 for b in batch), k, n])])
    elif op == "Gemm":
        t, u = g.one((0, 1)), g.one((0, 1))
        a, b = g.new("float32", [k, m] if t else [m, k]), g.new("float32", [n, k] if u else [k, n])
        c = [g.new("float32", g.one(([n], [1, n], [m, 1], [], [m, n])))] if g.chance(0.6) else []
        g.node(op, [a, b, *c], transA=t, transB=u, alpha=g.one((1.0, 0.5)), beta=g.one((1.0, -2.0)))
    else:
        text = g.one(("ij,jk->ik", "ij,jk->ki", "ij,jk", "ij,jk->", "ij,jk->j"))
        g.node(op, [g.new("float32", [m, k]), g.new("float32", [k, n])], equation=text)


def _softmax(g: Graph) -> None:
    if g.opset < 13:
        raise Refused("the evaluator has no Softmax of before 13")
    a = g.value(FLOATS, 1)
    g.node(g.one(("Softmax", "LogSoftmax")), [a], axis=g.axis(a) if g.chance(0.7) else None)


def _normalize(g: Graph) -> None:
    shape = g.shape(2, 4)
    x, op = g.new("float32", shape), g.one(("LayerNormalization", "InstanceNormalization"))
    if op == "LayerNormalization":
        axis = int(g.rng.integers(-len(shape), len(shape)))
        scale = [g.new("float32", shape[axis:]) for _ in range(g.one((1, 2)))]
        g.node(op, [x, *scale], axis=axis)
    else:
        g.node(op, [x, g.new("float32", shape[1:2]), g.new("float32", shape[1:2])])


def _quantize(g: Graph) -> None:
    kind, shape = g.one(("int8", "uint8")), g.shape(1, 4)
    axis = int(g.rng.integers(len(shape)))
    few = () if g.chance(0.5) or g.opset < 13 else (shape[axis],)
    scale = g.put(np.abs(g.array("float32", few)) + np.float32(0.1))
    zero = [] if g.chance(0.3) and kind == "uint8" else [g.put(g.array(kind, few))]
    axes = {"axis": axis} if g.opset >= 13 and few else {}
    if g.chance(0.5):
        g.node("QuantizeLinear", [g.new("float32", shape), scale, *zero], **axes)
    else:
        g.node("DequantizeLinear", [g.new(kind, shape), scale, *zero], **axes)


def _resize(g: Graph) -> None:
    a = g.new(
        "float32", [1, g.one((1, 2)), *(int(g.one((1, 2, 3, 5))) for _ in range(g.one((1, 2))))]
    )
    scales = [1.0, 1.0, *(float(g.one((0.5, 1.0, 2.0, 3.0))) for _ in g.values[a].shape[2:])]
    mode = g.one(("nearest", "linear"))
    where = g.one(("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))
    near = (
        {"nearest_mode": g.one(("floor", "ceil", "round_prefer_floor"))}
        if mode == "nearest"
        else {}
    )
    g.node("Resize", [a, "", g.put(np.array(scales, np.float32))], mode=mode,
           coordinate_transformation_mode=where, **near)  # fmt: skip


def _clip(g: Graph) -> None:
    a = g.value(NUMBERS)
    kind = str(g.values[a].dtype)
    low, high = (g.put(g.array(kind, ())) if g.chance(0.7) else "" for _ in "lh")
    g.node("Clip", [a, low, high])


def _range(g: Graph) -> None:
    start, limit, delta = (int(n) for n in g.rng.integers(-9, 9, size=3))
    dtype = g.one(("int32", "int64", "float32"))
    if not delta:
        raise Refused("Range")
    g.node("Range", [g.put(np.array(n, dtype)) for n in (start, limit, delta)])


def _branch(g: Graph) -> None:
    """An If whose branches use a value from around it."""
    from onnx import helper

    a = g.value(FLOATS)
    bodies = []
    for op in (g.one(("Neg", "Abs")), g.one(("Tanh", "Relu"))):
        name = f"b{len(g.values)}{op}"
        out = helper.make_empty_tensor_value_info(name)
        out.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(g.values[a].dtype)
        bodies.append(helper.make_graph([helper.make_node(op, [a], [name])], op, [], [out]))
    condition, name = g.new("bool", ()), f"v{len(g.values)}"
    node = helper.make_node("If", [condition], [name], then_branch=bodies[0], else_branch=bodies[1])
    used = {each: g.values[each] for each in (condition, a)}
    (g.values[name],) = evaluate(model_of([node], used, [name], {}, g.opset), used)
    g.rough.add(name)
    g.unsure.add(name)
    g.nodes.append(node)


def _counted(g: Graph) -> None:
    """Results of computed size, now and then with what passes the size on; no other node takes them."""
    op = g.one(("NonZero", "Compress", "Unique"))
    if op == "NonZero":
        g.node(op, [g.value((*NUMBERS, "bool"), 1, is_exact=True)])
    elif op == "Unique":
        g.node(op, [g.value(NUMBERS, 1, is_exact=True)], 4)
    else:
        x = g.value((*NUMBERS, "bool"), 1)
        axis = None if g.chance(0.3) else g.axis(x)
        sizes = g.values[x].size if axis is None else g.values[x].shape[axis]
        g.node(op, [x, g.new("bool", [int(g.rng.integers(sizes + 1))])], axis=axis)
    made = g.nodes[-1].output
    g.counted.update(made)
    if g.chance(0.4):
        g.node(g.one(("Transpose", "Identity")), made[:1])
    elif g.chance(0.4) and g.values[made[0]].dtype != bool:
        g.node("Mul", [made[0], made[0]])
    g.counted.update(g.nodes[-1].output)


NODES: tuple[Callable[[Graph], None], ...] = (
    _unary, _jump, _binary, _variadic, _divide, _compare, _logic, _bits, _where, _cast, _reduce,
    _reduce, _slice, _pad, _concat, _split, _gather, _gather, _view, _view, _view, _index, _index,
    _window, _window, _product, _softmax, _normalize, _quantize, _resize, _clip, _range, _branch,
    _counted,
)  # fmt: skip
LARGE = (
    *(draw for draw in NODES if draw is not _counted),
    *PATTERNS * 2,
)
"""Of results whose size is known."""


def graph(seed: int, *, is_large: bool = False) -> Case:
    """The model of a seed: the same on each machine with the same NumPy and onnx.

    A large one has 3 to 25 nodes, of sizes with tails.
    """
    kinds, least, most = (LARGE, 3, 25) if is_large else (NODES, 1, 8)
    g = Graph(np.random.default_rng([20261126, seed]), 0, is_large)
    g.opset = int(g.rng.integers(11, 23))
    count = int(g.rng.integers(least, most + 1))
    if is_large:  # rather fewer: they take less time, and one fault is enough
        count = min(count, int(g.rng.integers(least, most + 1)))
    for _ in range(count):
        g.one(kinds)  # so that a refused node changes what is drawn behind it
        _try(g, g.one(kinds))
        if is_large and len(g.nodes) >= count:
            break
    while len(g.nodes) < least:
        _try(g, g.one(kinds))
    used = {name for node in g.nodes for name in node.input}
    used |= {a for n in g.nodes for b in n.attribute for m in b.g.node for a in m.input}
    made = [name for node in g.nodes for name in node.output]
    leaves = (
        made if g.chance(0.5) or is_large else [name for name in made if name not in used] or made
    )
    nodes = [g.nodes[int(i)] for i in g.rng.permutation(len(g.nodes))] if g.chance(0.1) else g.nodes
    inputs = {name: g.values[name] for name in g.inputs if name in used}
    constants = {name: g.values[name] for name in g.constants if name in used}
    model = model_of(nodes, inputs, leaves, constants, g.opset, g.values)
    fed = {name: value for name, value in inputs.items() if name not in constants}
    sure = frozenset(leaves) - g.unsure
    return Case(seed, model, fed, {name: g.values[name] for name in leaves}, sure)


def _try(g: Graph, draw: Callable[[Graph], None]) -> None:
    try:
        draw(g)
    except Refused:
        return
