"""Several nodes at once, as models have them: whose numbers hang on what is rounded, and what is one loop."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from typing import Any

import numpy as np

from inarch.testing.onnx_graphs.drawing import FLOATS, Graph


def _difference(g: Graph) -> None:
    """`x * x - y * y`, `a * b - c * d`, of numbers that are equal; and what asks for its sign."""
    a = g.value(FLOATS, 1, 3)
    b = a if g.chance(0.5) else g.like(a)
    c = g.put(g.values[a].copy(), is_constant=g.chance(0.2))
    d = c if b == a else g.put(g.values[b].copy(), is_constant=g.chance(0.2))
    products = [_made(g, "Mul", [a, b]), _made(g, "Mul", [d, c])]
    z = _made(g, g.one(("Sub", "Sub", "Add", "Div")), products)
    follow = g.one(("", "Sqrt", "Sign", "Less", "Div", "Floor"))
    if follow in ("Less", "Div"):
        g.node(follow, [z, products[0]])
    elif follow:
        g.node(follow, [z])


def _deviation(g: Graph) -> None:
    """`sqrt(mean(x * x) - mean(x)**2)`, as models write it, of rows that may be all alike."""
    if g.chance(0.4):
        shape = g.shape(1, 3)
        row = g.array(g.one(FLOATS), [*shape[:-1], 1])
        x = g.put(np.repeat(row, shape[-1], -1), is_constant=g.chance(0.2))
    else:
        x = g.value(FLOATS, 1, 3)
    if g.opset >= 18:
        means = [
            _made(g, "ReduceMean", [each, g.whole(-1)]) for each in (x, _made(g, "Mul", [x, x]))
        ]
    else:
        means = [_made(g, "ReduceMean", [each], axes=[-1]) for each in (x, _made(g, "Mul", [x, x]))]
    z = _made(g, "Sub", [means[1], _made(g, "Mul", [means[0], means[0]])])
    g.node(g.one(("Sqrt", "Relu", "Neg")), [z])


def _everything(g: Graph) -> None:
    """One number of all elements, of one row too."""
    kind = g.one((*FLOATS, "int32"))
    sizes = g.one(([g.size((7, 100))], [1, g.size((513, 1000))], [g.size((3,)), g.size((65,))]))
    op = g.one(("ReduceSum", "ReduceMax", "ArgMax", "ReduceMean", "ReduceL2", "ReduceMin"))
    a = g.new("float32" if op in ("ReduceMean", "ReduceL2") else kind, sizes)
    if op == "ArgMax":
        g.node(op, [a], axis=-1, keepdims=0)
    else:
        g.node(op, [a], keepdims=g.one((0, 1)))


def _chain(g: Graph) -> None:
    """Elementwise nodes one behind the other, each a kernel's tail: what is fused, and rounded in between."""
    a = g.value(FLOATS, 1, 3)
    for _ in range(int(g.rng.integers(2, 5))):
        op = g.one(("Add", "Sub", "Mul", "Div", "Max", "Neg", "Abs", "Relu", "Sqrt"))
        a = _made(g, op, [a] if op in ("Neg", "Abs", "Relu", "Sqrt") else [a, g.like(a)])


def _rows(g: Graph) -> None:
    """A reduction whose operand is computed: both may become one loop."""
    a = (
        g.value(FLOATS, 2, 2)
        if g.chance(0.4)
        else g.new("float32", [g.size((1, 2, 3)), g.size((5, 7))])
    )
    b = _made(g, g.one(("Add", "Mul", "Sub", "Max")), [a, g.like(a)])
    op = g.one(
        ("ReduceMax", "ReduceMin", "ArgMax", "ArgMin", "Softmax", "ReduceSumSquare", "CumSum")
    )
    if op == "CumSum":
        g.node(op, [b, g.put(np.array(int(g.one((0, 1)))))])
    elif op == "Softmax" or op.startswith("Arg"):
        g.node(op, [b], axis=g.one((-1, -2)))
    elif g.opset >= 18:
        g.node(op, [b, g.whole(g.one((-1, -2)))])
    else:
        g.node(op, [b], axes=[g.one((-1, -2))])


def _made(g: Graph, op: str, inputs: list[str], **attributes: Any) -> str:
    """The result of a new node."""
    g.node(op, inputs, **attributes)
    return g.nodes[-1].output[0]


PATTERNS = (_difference, _deviation, _everything, _chain, _chain, _rows, _rows)
