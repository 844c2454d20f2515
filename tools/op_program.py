"""A program of one op, and where its class is: what an algorithm begins with."""

from __future__ import annotations

import math

from inarch.core.errors import UsageError, unknown
from inarch.definitions.functions import public_functions
from inarch.diagnosis.slices import cut, steps
from inarch.dialects import new_context
from inarch.dialects.graph.op import CompositeOp, GraphOp, shape_of, tensor_dtype
from inarch.ir.text import print_module
from inarch.passes.lower.algorithm import short_name
from inarch.passes.lower.graph_to_loop import is_lowered
from inarch.testing.generate import programs

_DRAWN = 600
"""Programs, in which each op that has a lowering is found."""
_ELEMENTS = 24
"""Of a result, at the least, where one is drawn."""


def op_named(name: str) -> type[GraphOp]:
    """The class of graph ops called `conv-transpose`. Raises UsageError for another name, or no lowering."""
    every = new_context().get_dialect("graph").operations
    kinds = {short_name(kind): kind for kind in every if issubclass(kind, GraphOp)}
    if name not in kinds:
        raise UsageError(unknown("op", name, kinds, within="--op").message)
    kind = kinds[name]
    if issubclass(kind, CompositeOp):
        why = "it is decomposed before algorithms are chosen"
    elif not is_lowered(kind):
        why = "it has no lowering"
    else:
        return kind
    raise UsageError(f"--op: expected an op that is lowered by itself, found {name}: {why}")


def program_of(kind: type[GraphOp]) -> tuple[str, str]:
    """The text of a program of one such op, drawn, of f32 where there is one; and the dtype of its result.

    Raises UsageError where no program of it alone is drawn, as of ops that call functions.
    """
    found: dict[bool, tuple[str, str]] = {}
    for drawn in programs("graph", seed=1, count=_DRAWN):
        if f"{kind.name} " not in drawn.text or "dense_resource" in drawn.text:
            continue
        module = drawn.parse()[1]
        for step in steps(module) if len(public_functions(module)) == 1 else ():
            if type(step) is not kind or step.regions or "@" in str(step):
                continue
            dtype = tensor_dtype(step.results[0]).name
            is_good = dtype == "f32" and math.prod(shape_of(step.results[0])) >= _ELEMENTS
            if is_good not in found:
                alone = cut(module, [step], every_value=True).module
                found[is_good] = print_module(alone), dtype
        if True in found:
            break
    if not found:
        raise UsageError(
            f"--op: expected an op that is a program alone, found {short_name(kind)}: begin with --op conv, "
            "and put its class and a program of yours in"
        )
    return found.get(True) or found[False]
