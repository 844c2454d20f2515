"""Programs of `graph`: functions of random recipes, that return most of what they make."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, Region, SSAValue

from inarch.core.dtypes import DTYPES, DType
from inarch.dialects import new_context
from inarch.ir.verify import verify_module
from inarch.offload.pattern import NamedPattern
from inarch.testing.generate.choices import Choices
from inarch.testing.generate.graph.builder import GraphBuilder
from inarch.testing.generate.graph.recipes import recipes_of
from inarch.testing.generate.graph.units import unit
from inarch.testing.generate.program import GeneratedProgram, program_of

_OF_UNITS = 150
"""The weight of each pattern that programs are to have."""


def graph_program(
    choices: Choices,
    *,
    large: bool = False,
    full: bool = False,
    favour: Sequence[str] = (),
    patterns: Sequence[NamedPattern] = (),
) -> GeneratedProgram:
    """A module of one public function on tensors, sometimes of several.

    `large`: up to 60 nodes instead of 20. `full`: layers of networks at their full sizes. `favour`: names
    of ops that many nodes are of, more of those that are named more than once. `patterns`: what many
    parts are matches of.
    """
    context = new_context()
    functions: list[FuncOp] = []

    choices.enter("head")
    count = 2 if choices.chance(6) else 1
    for number in range(count):
        name = "main" if number == 0 else f"other{number}"
        functions += _function(choices, context, name, favour, patterns, large=large, full=full)
    module = ModuleOp(functions)
    verify_module(module)
    return program_of("graph", context, module, choices.record)


def _function(
    choices: Choices,
    context: Context,
    name: str,
    favour: Sequence[str],
    patterns: Sequence[NamedPattern],
    *,
    large: bool,
    full: bool,
) -> list[FuncOp]:
    choices.enter("head")
    dtype = choices.weighted([(60, DTYPES["f32"]), (8, DTYPES["f64"]), *_others()])
    builder = GraphBuilder(choices, context, dtype, full)
    recipes = [*recipes_of(choices, favour), *((_OF_UNITS, unit(each)) for each in patterns)]
    percent = choices.pick((75, 60, 90, 95))
    most = 60 if large else 20
    while builder.count < most and choices.more(98 if large else percent):
        choices.enter("step")
        choices.weighted(recipes)(builder)
    choices.enter("close")
    if not builder.count:
        builder.graph.add(*[builder.value(lambda dtype: dtype.name != "i1")] * 2)
    return [*builder.callees, _closed(builder, name)]


def _others() -> list[tuple[int, DType]]:
    return [(3, dtype) for name, dtype in DTYPES.items() if name not in ("f32", "f64")]


def _closed(builder: GraphBuilder, name: str) -> FuncOp:
    """The function: it returns most values that nothing uses, and sometimes others, or one twice."""
    choices, block = builder.choices, builder.block
    sinks = [v for v in builder.values if not v.uses and not _is_argument(v)]
    kept = [v for v in sinks if not choices.chance(15)]  # the rest is dead, as in real programs
    results = kept[-6:] or builder.values[-1:]
    if choices.chance(15):
        results.append(choices.pick(builder.values))
    block.add_op(ReturnOp(*results))
    types: list[Attribute] = [argument.type for argument in block.args]
    return FuncOp(
        name,
        (types, [value.type for value in results]),
        Region(block),
        arg_attrs=_names("in", len(types)) if choices.chance(50) else None,
        res_attrs=_names("out", len(results)) if choices.chance(50) else None,
    )


def _names(prefix: str, count: int) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr(
        DictionaryAttr({"inarch.name": StringAttr(f"{prefix}.{n}")}) for n in range(count)
    )


def _is_argument(value: SSAValue) -> bool:
    return not isinstance(value.owner, Operation)
