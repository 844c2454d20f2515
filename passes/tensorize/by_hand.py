"""What `use-kernel` decides before `tensorize`: noted on the calls, and told as its own choices are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import (
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    f64,
)
from xdsl.ir import Attribute, Operation

from inarch.dialects.kernel.call import CallOp
from inarch.ir.location import location_text
from inarch.passes.tensorize.report import Choice, NestReport

BY_HAND = "inarch.by_hand"
"""The attribute of a `kernel.call` that somebody has asked for: `{kernel, iterators, parameters, cost}`."""


def calls_of(module: ModuleOp) -> set[CallOp]:
    """The calls that are there."""
    return {op for op in module.walk() if isinstance(op, CallOp)}


def note(module: ModuleOp, before: set[CallOp], choice: Choice, iterators: str) -> None:
    """Marks the calls that were not there before as a choice for a nest; the first has its cost."""
    parameters = {name: IntegerAttr(value, 64) for name, value in choice.params.items()}
    said: dict[str, Attribute] = {
        "kernel": StringAttr(choice.kernel),
        "iterators": StringAttr(iterators),
        "parameters": DictionaryAttr(parameters),
    }
    cost = {"cost": FloatAttr(choice.cost, f64)}
    for op in module.walk():
        if isinstance(op, CallOp) and op not in before:
            op.attributes[BY_HAND] = DictionaryAttr({**said, **cost})
            cost = {}


def is_by_hand(op: Operation) -> bool:
    """Whether it is a call that `note` has marked."""
    return isinstance(op, CallOp) and BY_HAND in op.attributes


def told(op: Operation, function: str) -> NestReport:
    """The report of such a call, which loses its mark."""
    said = _fields(op.attributes.pop(BY_HAND))
    parameters = _fields(said["parameters"])
    cost = said.get("cost")
    choice = Choice(
        cast("StringAttr", said["kernel"]).data,
        {name: cast("IntegerAttr", value).value.data for name, value in parameters.items()},
        cost.value.data if isinstance(cost, FloatAttr) else 0.0,  # the first call has that of all
        0.0,
        0,
        (),
        "",
    )
    iterators = cast("StringAttr", said["iterators"]).data
    return NestReport(location_text(op), function, iterators, choice, (choice,), {}, by_hand=True)


def _fields(attribute: Attribute) -> Mapping[str, Attribute]:
    return cast("DictionaryAttr", attribute).data
