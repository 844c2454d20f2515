"""C `for` loops of a nest; bounds where the outputs end, so that clipped points do not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inarch.backends.c.plan.linear import Guard, LoopNest
from inarch.backends.c.text import atom
from inarch.backends.c.write.scope import Scope, Values


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
