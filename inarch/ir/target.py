"""The target of a program: the module attribute `inarch.target`."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr

from inarch.machine.target import Target, parse

TARGET = "inarch.target"
GENERIC = "generic"


def target_name(module: ModuleOp) -> str | None:
    """What the program says; None where it says nothing."""
    name = module.attributes.get(TARGET)
    return name.data if isinstance(name, StringAttr) else None


def target_of(module: ModuleOp) -> Target:
    """The machine that the program is compiled for; `generic` where it does not say. Raises UsageError."""
    return parse(target_name(module) or GENERIC)


def set_target(module: ModuleOp, target: Target | str) -> None:
    """The program is for `target` from here on."""
    module.attributes[TARGET] = StringAttr(str(target))
