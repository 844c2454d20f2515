"""Where ops come from, for messages."""

from __future__ import annotations

from pathlib import PurePath
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Operation


def named_location(name: str) -> NameLoc:
    """`loc("name")`: where an op came from in a model."""
    return NameLoc(StringAttr(name), NoneAttr())


def location_text(op: Operation, *, folders: bool = True) -> str | None:
    """Where `op` came from, as messages print it: `file:line:col`, a model's node name, or None.

    `folders`: with those of the file; what is kept in files says nothing of who made it.
    """
    current: Operation | None = op
    while current is not None:
        if (text := _location(current.location, folders)) is not None:
            return text
        current = current.parent_op()
    return None


def _location(location: Attribute, folders: bool) -> str | None:
    match location:
        case FileLineColLoc():
            name = location.filename.data
            name = name if folders else PurePath(name).name
            return f"{name}:{location.line.data}:{location.column.data}"
        case NameLoc():
            return location.desc.data
        case CallSiteLoc():
            return _location(location.callee, folders)
        case FusedLoc():
            each = cast("ArrayAttr[Attribute]", location.locations)
            parts = [text for part in each if (text := _location(part, folders)) is not None]
            return " + ".join(parts) or None
        case _:
            return None


def copy_locations(source: Operation, copy: Operation) -> None:
    """Gives a clone, and all that is in it, the locations of what it was made from."""
    for old, new in zip(source.walk(), copy.walk(), strict=True):
        new.location = old.location
