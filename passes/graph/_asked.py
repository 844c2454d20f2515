"""What users ask of algorithms: on the command line, in Python and schedules, by attributes of a program."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from inarch.core.errors import UsageError, nearest
from inarch.dialects.graph.op import GraphOp
from inarch.ir.location import location_text, parts_of
from inarch.passes.lower.algorithm import (
    ATTRIBUTE,
    DIRECT,
    IdleAlgorithmError,
    Layout,
    algorithm_of,
    algorithms_of,
    asked_for,
    own_name,
    refusal,
    refusal_in_any_layout,
    selections_of,
    several,
    short_name,
)
from inarch.passes.partition.by_hand import parse_selection, selects
from inarch.passes.schedule.apply_schedule import places_asked
from inarch.passes.schedule.language.script import Asked


def graph_ops(module: ModuleOp) -> Iterator[Operation]:
    """The graph ops of functions that the host compiles."""
    for function in module.body.ops:
        if isinstance(function, FuncOp) and "compiler" not in function.attributes:
            for block in function.body.blocks:
                yield from (op for op in block.ops if isinstance(op, GraphOp))


def layouts_asked(module: ModuleOp) -> dict[Operation, Layout]:
    """The layout of each op for which a user names an algorithm that asks for one, and applies in it.

    Names that nothing has are left to `mark_asked`. Raises PluginError where an algorithm's code fails.
    """
    selections = [parse_selection(text, "ALGORITHM") for text in selections_of(module)]
    found: dict[Operation, Layout] = {}
    for op in graph_ops(module):
        said = asked_for(op)
        names = [own_name(op, name) for selector, name in selections if _selects(selector, op)]
        every = [name for name in (said, *names) if name is not None]
        there = dict(algorithms_of(op)) if every else {}
        for name in every:
            algorithm = there.get(name)
            if name == DIRECT:
                found.pop(op, None)
            elif algorithm is not None and refusal_in_any_layout(op, name, algorithm) is None:
                found[op] = algorithm.layout
    return {op: layout for op, layout in found.items() if layout != "any"}


def mark_asked(module: ModuleOp) -> None:
    """Writes the user's selections, in order. Raises for unknown names and inapplicable algorithms."""
    selections, places = selections_of(module), places_asked(module)
    for selection in selections:
        _mark(module, selection, places.get(selection))


def _mark(module: ModuleOp, selection: str, place: Asked | None) -> None:
    """`place`: where a schedule says so."""
    selector, said = parse_selection(selection, "ALGORITHM")
    written = f"algorithm '{selection}'" if place is None else f"'{place.written}'"
    matching = [op for op in graph_ops(module) if _selects(selector, op)]
    able = [op for op in matching if any(True for _ in algorithms_of(op))]
    if not able:
        what = f"'{matching[0].name}' has one" if matching else "it selects no op"
        near = None if matching else nearest(selector, _names(module))
        expected = "; expected" if near is None else f"; did you mean '{near}'? Expected"
        raise IdleAlgorithmError(
            selection,
            f"{written}: {what}{expected} an op that has several ({several()}), or a "
            "glob on where it comes from (layer1/*)",
            place.selector_at if place is not None else None,
        )
    reasons: list[str] = []
    for op in able:
        name = own_name(op, said)
        try:
            algorithm = algorithm_of(op, name)
        except UsageError as error:
            if place is None:
                raise
            raise UsageError(error.message, where=place.name_at) from error
        why = refusal(op, name, algorithm) if algorithm is not None else None
        if why is None:
            op.attributes[ATTRIBUTE] = StringAttr(name)
        else:
            reasons.append(why)
    if len(reasons) == len(able):
        at = "" if place is None else f" at {location_text(able[0])}"
        of = f"to '{able[0].name}'{at}" if len(able) == 1 else f"to any of {len(able)} ops"
        raise IdleAlgorithmError(
            selection,
            f"{written} does not apply {of}: {'; or '.join(dict.fromkeys(reasons))}",
            location_text(able[0]) if place is None else place.name_at,
        )


def _selects(selector: str, op: Operation) -> bool:
    return selects(selector, op) or selector == short_name(op)


def _names(module: ModuleOp) -> list[str]:
    """What may be selected: ops that have several algorithms, and where they come from."""
    able = [op for op in graph_ops(module) if any(True for _ in algorithms_of(op))]
    places = chain.from_iterable(parts_of(location_text(op) or "") for op in able)
    return [*{short_name(op) for op in able}, *places]
