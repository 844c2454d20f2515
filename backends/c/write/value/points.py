"""One point of a nest, and the points of a tile: run `body`, run `finish`, store."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from inarch.backends.c.plan.linear import Guard, LoopNest, PointerAccess
from inarch.backends.c.text import is_atom, unwrapped
from inarch.backends.c.write.loops import open_loops
from inarch.backends.c.write.scope import (
    Scope,
    Values,
    element_values,
    evaluate,
    place_text,
    point_values,
)
from inarch.dialects.loop.nest import NestOp


def run_region(
    op: NestOp, nest: LoopNest, values: Values, arguments: Mapping[SSAValue, str], scope: Scope
) -> list[str]:
    """What `body` yields at a point, as expressions."""
    elements = element_values(op.element_arguments(op.body), nest, values, scope)
    points = point_values(op.body.block, nest, values, scope)
    return evaluate(op.body.block, {**arguments, **elements, **points}, scope)


def accumulate(
    op: NestOp, nest: LoopNest, values: Values, targets: Sequence[str], scope: Scope
) -> None:
    """Runs `body` once and assigns what it yields to the accumulators `targets`."""
    arguments: dict[SSAValue, str] = dict(zip(op.accumulators(op.body), targets, strict=True))
    results = run_region(op, nest, values, arguments, scope)
    results = together(results, [write.dtype.c for write in nest.writes], scope)
    for target, text in zip(targets, results, strict=True):
        if text != target:
            scope.writer.line(assignment(target, text))


def together(texts: Sequence[str], types: Sequence[str], scope: Scope) -> list[str]:
    """The texts, named first if there are several: a later one may read what an earlier one sets."""
    if len(texts) == 1:
        return list(texts)
    return [scope.declare(kind, "next", text) for kind, text in zip(types, texts, strict=True)]


def assignment(target: str, text: str) -> str:
    """`target = text;`, shorter where `text` adds to the target or multiplies it.

    >>> assignment("acc", "acc + (a * b)")
    'acc += a * b;'
    """
    for sign in "+*":
        for rest in (
            text.removeprefix(f"{target} {sign} "),
            text.removesuffix(f" {sign} {target}"),
        ):
            if rest != text and is_atom(rest):
                return f"{target} {sign}= {unwrapped(rest)};"
    return f"{target} = {text};"


def finish_point(
    op: NestOp, nest: LoopNest, values: Values, accumulators: Sequence[str], scope: Scope
) -> None:
    """Runs `finish` on the accumulators of one point, and stores."""
    results = list(accumulators)
    if op.finish is not None:
        arguments: dict[SSAValue, str] = {}
        for argument, text, write in zip(
            op.accumulators(op.finish), results, nest.writes, strict=True
        ):
            several = argument.has_more_than_one_use() and not is_atom(text)
            name = scope.declare(write.dtype.c, "acc", text) if several else text
            arguments[argument] = name
        known = nest.writes[0].guards if len(nest.writes) == 1 else ()
        arguments |= element_values(op.element_arguments(op.finish), nest, values, scope, known)
        arguments |= point_values(op.finish.block, nest, values, scope)
        results = evaluate(op.finish.block, arguments, scope)
    results = together(results, [write.dtype.c for write in nest.writes], scope)
    for write, text in zip(nest.writes, results, strict=True):
        _store(write, values, text, scope, tested=len(nest.writes) == 1)


def _store(access: PointerAccess, values: Values, text: str, scope: Scope, *, tested: bool) -> None:
    """Writes one element; `tested`: the loops around have seen to the guards."""
    line = assignment(f"{access.pointer}[{place_text(access, values, scope)}]", text)
    conditions = [text for guard in access.guards for text in guard.conditions(values)]
    if tested or not conditions:
        scope.writer.line(line)
        return
    scope.writer.open(f"if ({' && '.join(conditions)})")
    scope.writer.line(line)
    scope.writer.close()


def tile_index(tile: Sequence[int], sizes: Sequence[int], values: Values) -> str:
    """The position of a point in the array of accumulators, row-major over the tile's loops."""
    terms: list[str] = []
    step = math.prod(sizes)
    for position, size in zip(tile, sizes, strict=True):
        step //= size
        terms.append(str(values[position]) if step == 1 else f"{values[position]} * {step}")
    return " + ".join(terms) or "0"


def finish_tile(
    op: NestOp,
    nest: LoopNest,
    tile: Sequence[int],
    values: Values,
    slots: Sequence[str],
    guards: Sequence[Guard],
    scope: Scope,
) -> None:
    """Loops that finish and store a tile; the innermost runs along the output's memory."""
    strides = nest.writes[0].offset.coefficients
    unit = [i for i in tile if abs(strides[i]) == 1]
    order = [i for i in tile if i not in unit[:1]] + unit[:1]
    depth = scope.writer.depth
    inside = scope.child()
    bound = range(nest.first_inner)
    open_loops(nest, order, values, guards, inside, bound)
    finish_point(op, nest, values, slots, inside)
    scope.writer.close(depth)
