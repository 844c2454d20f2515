"""`graph.scan` in a program: a body of random recipes, whose new arguments are the same at each turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Region, SSAValue

from inarch.dialects.graph.composite import YieldOp
from inarch.dialects.graph.elementwise.unary import TanhOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.regions.scan import ScanOp, scan_block
from inarch.testing.generate.choices import Choices
from inarch.testing.generate.graph.builder import GraphBuilder, Recipe

_TURNS = (2, 3, 1, 5)
_MOST_OPS = 4
"""Of a body: errors of floats grow with each turn."""

Recipes = Callable[[Choices], Sequence[tuple[int, Recipe]]]


def scan(b: GraphBuilder, recipes: Recipes) -> None:
    """States and rows of the program's values; the body makes new ones of them, and stacks some."""
    choices, turns = b.choices, b.choices.pick(_TURNS)
    states = [b.value() for _ in range(choices.integer(0, 2))]
    each = [_rows(b, turns) for _ in range(choices.integer(0, 2))]
    inner = GraphBuilder(choices, b.context, b.dtype, block=scan_block(states, each))
    inner.callees = b.callees
    given = list(inner.block.args)
    inner.values += given
    for _ in range(choices.integer(1, _MOST_OPS)):
        choices.weighted(recipes(choices))(inner)
    handed = [_next(inner, state) for state in inner.block.args[: len(states)]]
    few = [v for v in inner.values if math.prod(shape_of(v)) * turns <= b.most_elements]
    rows = [choices.pick(few) for _ in range(choices.integer(0 if states else 1, 2)) if few]
    if not handed and not rows:
        return  # of the sizes that there are, all would be too large
    inner.block.add_op(YieldOp(*handed, *rows))
    same = [b.fresh(tensor_dtype(v), shape_of(v)) for v in inner.block.args[len(given) :]]
    backward = [choices.integer(0, 1) for _ in (*each, *rows)]
    b.add(ScanOp(turns, states, each, same, Region(inner.block), backward))


def _rows(b: GraphBuilder, turns: int) -> SSAValue:
    """A value whose first dimension has as many elements as there are turns."""
    return b.value(
        fits=lambda shape: shape[:1] == (turns,), make=lambda: b.bounded((turns, *b.shape(0, 2)))
    )


def _next(inner: GraphBuilder, state: SSAValue) -> SSAValue:
    """A value of the type of a state, mostly one that the body has computed."""
    found = [v for v in reversed(inner.values) if v.type == state.type]
    assert isinstance(state.type, TensorType)
    if len(found) > 1 and inner.choices.chance(70):
        return inner.choices.pick(found[:-1])
    if tensor_dtype(state).is_float:
        return inner.add(TanhOp.make(state))
    return inner.choices.pick(found)
