"""Ops with bodies in a program: bodies of random recipes, with arguments from outside."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Region, SSAValue

from inarch.core.dtypes import DTYPES
from inarch.core.lazy import np
from inarch.dialects.graph.composite import YieldOp
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.regions.branch import IfOp
from inarch.dialects.graph.regions.repeat import WhileOp, while_block
from inarch.dialects.graph.regions.scan import ScanOp, scan_block
from inarch.testing.generate.choices import Choices
from inarch.testing.generate.graph.builder import GraphBuilder, Recipe

_ITERATIONS = (2, 3, 1, 5)
_COMPUTED_ITERATIONS = (2, 3, 1, 0, 5, -1)
_MOST_OPS = 4
"""Of a body: errors of floats grow with each iteration."""

Recipes = Callable[[Choices], Sequence[tuple[int, Recipe]]]


def scan(b: GraphBuilder, recipes: Recipes) -> None:
    """States and rows of the program's values; the body makes new ones of them, and stacks some."""
    choices, iterations = b.choices, b.choices.pick(_ITERATIONS)
    states = [b.value() for _ in range(choices.integer(0, 2))]
    each = [_rows(b, iterations) for _ in range(choices.integer(0, 2))]
    inner = _body(b, scan_block(states, each), recipes)
    given = inner.block.args[: len(states) + len(each)]
    own = inner.block.args[: len(states)]
    handed = [_next(inner, state, own) for state in own]
    few = [v for v in inner.values if math.prod(shape_of(v)) * iterations <= b.most_elements]
    rows = [choices.pick(few) for _ in range(choices.integer(0 if states else 1, 2)) if few]
    if not handed and not rows:
        return  # of the sizes that there are, all would be too large
    inner.block.add_op(YieldOp(*handed, *rows))
    same = [b.fresh(tensor_dtype(v), shape_of(v)) for v in inner.block.args[len(given) :]]
    backward = [choices.integer(0, 1) for _ in (*each, *rows)]
    b.add(ScanOp(iterations, states, each, same, Region(inner.block), backward))


def repeat(b: GraphBuilder, recipes: Recipes) -> None:
    """States that often have one type, and are swapped then; few iterations, or a condition ends them."""
    choices = b.choices
    states = [b.value()]
    for _ in range(choices.integer(0, 2)):
        states.append(b.like(states[0]) if choices.chance(70) else b.value())
    inner = _body(b, while_block(states), recipes)
    number, *own = inner.block.args[: len(states) + 1]
    handed = [_next(inner, state, own) for state in own]
    iterations = _iterations(b)
    inner.block.add_op(YieldOp(_goes_on(inner, number, few=iterations is not None), *handed))
    if iterations is None:
        iterations = b.fresh(DTYPES["i64"], ())
    condition = b.value(lambda dtype: dtype.name == "i1", lambda shape: shape == (), tuple)
    same = [b.fresh(tensor_dtype(v), shape_of(v)) for v in inner.block.args[len(states) + 1 :]]
    b.add(WhileOp(iterations, condition, states, same, Region(inner.block)))


def _iterations(b: GraphBuilder) -> SSAValue | None:
    """A number of iterations, a few at most; None: any."""
    kind = b.choices.pick(("computed", "number", "any"))
    if kind == "any":
        return None
    if kind == "number":
        return b.array(np.array(b.choices.pick(_COMPUTED_ITERATIONS), np.int64))
    return b.graph.mod(b.fresh(DTYPES["i64"], (), 0), b.array(np.array(4, np.int64)))


def _goes_on(inner: GraphBuilder, number: SSAValue, *, few: bool) -> SSAValue:
    """Whether there is another iteration: a flag of any kind, or while the iteration's number is small."""
    choices = inner.choices
    if few and choices.chance(40):
        return inner.value(lambda dtype: dtype.name == "i1", lambda shape: shape == (), tuple)
    limit = choices.pick((1, 3, 0, 4))
    if few and choices.chance(40):
        limit = 9
    return inner.graph.less(number, inner.array(np.array(limit, np.int64)))


def branch(b: GraphBuilder, recipes: Recipes) -> None:
    """Two bodies on some of the program's values; results are of types that both have values of."""
    choices = b.choices
    condition = b.value(lambda dtype: dtype.name == "i1", lambda shape: shape == (), tuple)
    given = [b.value() for _ in range(choices.integer(1, 3))]
    kinds = [value.type for value in given]
    then, otherwise = (_body(b, Block(arg_types=kinds), recipes) for _ in range(2))
    pairs = [(x, y) for x in then.values for y in otherwise.values if x.type == y.type]
    picked = [choices.pick(pairs[::-1]) for _ in range(choices.integer(1, 2))]
    then.block.add_op(YieldOp(*(x for x, _ in picked)))
    otherwise.block.add_op(YieldOp(*(y for _, y in picked)))
    count = len(given)
    own = [argument.type for argument in then.block.args[count:]]
    others = [argument.type for argument in otherwise.block.args[count:]]
    for at, kind in enumerate(own):
        otherwise.block.insert_arg(kind, count + at)
    for kind in others:
        then.block.insert_arg(kind, len(then.block.args))
    more = then.block.args[count:]
    inputs = [*given, *(b.fresh(tensor_dtype(v), shape_of(v)) for v in more)]
    bodies = Region(then.block), Region(otherwise.block)
    b.add(IfOp(condition, inputs, *bodies))


def _body(b: GraphBuilder, block: Block, recipes: Recipes) -> GraphBuilder:
    """A body of a few ops."""
    inner = GraphBuilder(b.choices, b.context, b.dtype, block=block, callees=b.callees)
    inner.values += block.args
    for _ in range(b.choices.integer(1, _MOST_OPS)):
        b.choices.weighted(recipes(b.choices))(inner)
    return inner


def _rows(b: GraphBuilder, iterations: int) -> SSAValue:
    """A value whose first dimension has as many elements as there are iterations."""
    return b.value(
        fits=lambda shape: shape[:1] == (iterations,),
        make=lambda: b.bounded((iterations, *b.shape(0, 2))),
    )


def _next(inner: GraphBuilder, state: SSAValue, states: Sequence[SSAValue]) -> SSAValue:
    """A value of the type of a state, mostly one that the body has computed, sometimes another state."""
    others = [other for other in states if other is not state and other.type == state.type]
    if others and inner.choices.chance(40):
        return inner.choices.pick(others)
    found = [v for v in reversed(inner.values) if v.type == state.type]
    assert isinstance(state.type, TensorType)
    if len(found) > 1 and inner.choices.chance(70):
        return inner.choices.pick(found[:-1])
    dtype = tensor_dtype(state)
    if dtype.is_float and not dtype.is_stored:
        return inner.graph.tanh(state)
    return inner.choices.pick(found)
