"""What passes have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.passes import ModulePass


@dataclass(frozen=True)
class Pass(ModulePass):
    """A pass; one that says no name is called as its file: that of `split_padding.py` is `split-padding`."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "name" not in vars(cls):
            cls.name = cls.__module__.rpartition(".")[2].replace("_", "-")


@dataclass(frozen=True)
class OptionalPass(Pass):
    """One without which a program means the same, and compiles."""

    is_optional: ClassVar = True
