"""C `for` loops of a nest; bounds where the outputs end, so that clipped points do not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Region

from inarch.backends.c.plan.linear import Guard, LoopNest, PointerAccess
from inarch.backends.c.text import atom
from inarch.backends.c.write.scope import Scope, Values, pick_call
from inarch.dialects.loop.nest import NestOp


def write_guards(nest: LoopNest) -> tuple[Guard, ...]:
    """The guards under which a point matters: those of the output, if there is just one."""
    return nest.writes[0].guards if len(nest.writes) == 1 else ()


def open_loops(
    nest: LoopNest,
    loops: Sequence[int],
    values: Values,
    guards: Sequence[Guard],
    scope: Scope,
    bound: Sequence[int] = (),
) -> list[Guard]:
    """Opens the loops at positions `loops`, outermost first, within those already `bound`.

    Each guard is tested as far out as possible: as the loop's end, or as an `if` within the loop.
    Returns the guards that vary with further loops.
    """
    open_now = set(bound)
    left = list(guards)
    left = _test(left, open_now, values, scope)
    for position in loops:
        open_now.add(position)
        left = _open_loop(nest, position, open_now, values, left, scope)
        left = _test(left, open_now, values, scope)
    return left


def open_and_pick(
    nest: LoopNest,
    loops: Sequence[int],
    values: Values,
    guards: Sequence[Guard],
    scope: Scope,
    reads: Sequence[PointerAccess],
) -> list[Guard]:
    """`open_loops`; what picks a row of `reads` gets a name where the loops that it varies with are open.

    So does what picks where a nest writes, and where that is nowhere, nothing runs. All of `reads` are used
    in these loops. `scope` ends with them: the names are not known elsewhere.
    """
    picks = [pick for access in (*reads, *nest.writes) for pick in access.picks]
    known = set(range(min(loops, default=0)))
    left = open_loops(nest, (), values, guards, scope)
    for position in (None, *loops):
        if position is not None:
            left = open_loops(nest, [position], values, left, scope, [*known])
            known.add(position)
        for pick in picks:
            is_new = position in pick.loops or (position is None and not known)
            if is_new and pick.loops <= known:
                row = scope.share("int64_t", "row", pick_call(pick, values, scope))
                if pick.drops:
                    scope.writer.open(f"if ({row} >= 0)")
    return left


def used_reads(op: NestOp, nest: LoopNest, regions: Sequence[Region | None]) -> list[PointerAccess]:
    """The accesses whose elements one of these regions of `op` uses."""
    used = [
        any(region and op.element_arguments(region)[at].first_use for region in regions)
        for at in range(len(nest.reads))
    ]
    return [read for read, is_used in zip(nest.reads, used, strict=True) if is_used]


def _open_loop(
    nest: LoopNest,
    position: int,
    open_now: set[int],
    values: Values,
    guards: Sequence[Guard],
    scope: Scope,
) -> list[Guard]:
    loop = nest.loops[position]
    name = str(values[position])
    end = loop.end
    left: list[Guard] = []
    for guard in guards:
        if guard.loops <= open_now and guard.high and guard.index.coefficients[position] == 1:
            end = _end(guard, position, end, values, scope, name)
            guard = replace(guard, high=False)  # noqa: PLW2901 - what is left of it
        left.append(guard)
    scope.writer.open(f"for (int64_t {name} = {loop.begin}; {name} < {end}; {name}++)")
    return left


def _end(guard: Guard, position: int, end: str, values: Values, scope: Scope, name: str) -> str:
    """The loop's end such that `guard.index < guard.size` holds before it."""
    index = guard.index
    negated = tuple(0 if i == position else -c for i, c in enumerate(index.coefficients))
    rest = replace(index, coefficients=negated, constant=guard.size - index.constant).text(values)
    if rest.lstrip("-").isdigit() and end.isdigit():
        return str(min(int(rest), int(end)))
    return scope.declare("int64_t", f"{name}_end", f"{atom(rest)} < {end} ? {rest} : {end}")


def _test(guards: Sequence[Guard], open_now: set[int], values: Values, scope: Scope) -> list[Guard]:
    """Opens an `if` for the guards that the open loops decide; returns the others."""
    ready = [guard for guard in guards if guard.loops <= open_now]
    conditions = [text for guard in ready for text in guard.conditions(values)]
    if conditions:
        scope.writer.open(f"if ({' && '.join(conditions)})")
    return [guard for guard in guards if guard not in ready]
