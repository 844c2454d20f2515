"""Whom a program is for: module attributes like `inarch.target`.

`inarch.target` is the processor whose instructions it may use. `inarch.machine` is a machine's name
(`"zen4"`), or all of one: a dictionary with the keys of its file. `inarch.threads` is the number of threads
that share a loop, at most; without it, whoever calls says how many. `inarch.microkernels` names the kernels
that somebody demands, `name` or `name{MR=6}`: what is theirs stays whole for them. `inarch.without` names
those that nothing may use. With `inarch.estimated`, kernels that state no cost are estimated, and none is
measured.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation

from inarch.core.arguments import checked_threads
from inarch.core.errors import UsageError, unknown
from inarch.ir.functions import error_at
from inarch.machine.machine import Machine
from inarch.machine.machine_file import MACHINES, machine_from, table_of
from inarch.machine.target import Target, parse

TARGET = "inarch.target"
MACHINE = "inarch.machine"
THREADS = "inarch.threads"
DEMANDED = "inarch.microkernels"
WITHOUT = "inarch.without"
ESTIMATED = "inarch.estimated"
PRECISION = "inarch.precision"
GENERIC = "generic"

PRECISIONS = ("f32", "bf16", "f16")
"""The dtypes to which products and convolutions of f32 may round their factors; sums are in f32."""


def target_name(module: ModuleOp) -> str | None:
    """What the program says; None where it says nothing."""
    name = module.attributes.get(TARGET)
    return name.data if isinstance(name, StringAttr) else None


def target_of(module: ModuleOp) -> Target:
    """What the program is compiled for; `generic` where it does not say. Raises UsageError."""
    return parse(target_name(module) or GENERIC)


def set_target(module: ModuleOp, target: Target | str) -> None:
    """The program is for `target` from here on."""
    module.attributes[TARGET] = StringAttr(str(target))


def machine_of(module: ModuleOp) -> Machine:
    """Who will run the program; the target's own machine where it does not say. Raises UsageError."""
    found = module.attributes.get(MACHINE)
    if found is None:
        return target_of(module).machine
    if isinstance(found, StringAttr):
        return MACHINES[found.data]
    if not isinstance(found, DictionaryAttr):
        raise UsageError(f"expected a name or a dictionary for {MACHINE}, found {found}")
    return _machine(found)


@cache
def _machine(found: DictionaryAttr) -> Machine:
    """Programs of many functions ask for each of them."""
    return machine_from(_value(found), lambda path: f"{MACHINE}.{path}".rstrip("."))


def threads_of(module: ModuleOp) -> int:
    """How many threads share a loop, at most; 0 where the program does not say. Raises UsageError."""
    found = module.attributes.get(THREADS)
    if found is None:
        return 0
    if not isinstance(found, IntegerAttr) or found.value.data < 1:
        raise UsageError(f"expected a whole number from 1 on for {THREADS}, found {found}")
    return found.value.data


def set_threads(module: ModuleOp, threads: int) -> None:
    """At most so many threads share a loop of the program. Raises UsageError."""
    module.attributes[THREADS] = IntegerAttr(checked_threads(threads), i64)


def set_machine(module: ModuleOp, machine: Machine) -> None:
    """The program runs on `machine` from here on: by name where the name says all."""
    foreign = {name for name, _ in MACHINES.foreign()}
    is_ours = machine.name in MACHINES and machine.name not in foreign
    if is_ours and MACHINES[machine.name] == machine:
        module.attributes[MACHINE] = StringAttr(machine.name)
    else:
        module.attributes[MACHINE] = _attribute(table_of(machine))


def _attribute(value: object) -> Attribute:
    if isinstance(value, dict):
        table: dict[str, object] = value  # pyright: ignore[reportUnknownVariableType]
        return DictionaryAttr({key: _attribute(each) for key, each in table.items()})
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    return FloatAttr(value, f64) if isinstance(value, float) else StringAttr(str(value))


def _value(attribute: Attribute) -> Any:
    """What `_attribute` made it of; anything else as it is."""
    if isinstance(attribute, DictionaryAttr):
        return {key: _value(each) for key, each in attribute.data.items()}
    if isinstance(attribute, IntegerAttr | FloatAttr):
        return attribute.value.data  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return attribute.data if isinstance(attribute, StringAttr) else attribute


def precision_of(module: ModuleOp) -> str:
    """The dtype to which factors may be rounded. Raises UsageError unless it is one of `PRECISIONS`."""
    said = module.attributes.get(PRECISION)
    return "f32" if said is None else checked_precision(_value(said))


def checked_precision(name: object) -> str:
    """Raises UsageError for a precision that there is none of."""
    if name not in PRECISIONS:
        raise UsageError(unknown("precision", str(name), PRECISIONS).message)
    assert isinstance(name, str)
    return name


def demanded_kernels(module: ModuleOp) -> list[str]:
    """The microkernels that are demanded, as was asked. Raises InarchError for what is no list of names."""
    return _names(module, DEMANDED)


def excluded_kernels(module: ModuleOp) -> list[str]:
    """The kernels and templates that nothing may use. Raises InarchError for what is no list of names."""
    return _names(module, WITHOUT)


def excluded_at(op: Operation) -> tuple[str, ...]:
    """The microkernels and templates that may not do one nest: `inarch.without` on it."""
    return tuple(_names(op, WITHOUT))


def exclude_at(op: Operation, kernel: str) -> None:
    """A microkernel or template may not do the nest from here on."""
    names = dict.fromkeys((*excluded_at(op), kernel))
    op.attributes[WITHOUT] = ArrayAttr(map(StringAttr, names))


def _names(module: Operation, attribute: str) -> list[str]:
    names = module.attributes.get(attribute)
    if names is None:
        return []
    found = list(cast("ArrayAttr[Attribute]", names)) if isinstance(names, ArrayAttr) else []
    texts = [name.data for name in found if isinstance(name, StringAttr)]
    if not isinstance(names, ArrayAttr) or len(texts) < len(found):
        raise error_at(module, f"expected {attribute} to be an array of strings, found {names}")
    return texts
