"""Where ops come from, for messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Operation

JOINED = " + "
LOCATIONS = "inarch.locations"
"""On a function of a layer, and on each call of it: where its ops are from, in one order."""


def named_location(name: str) -> NameLoc:
    """`loc("name")`: where an op came from in a model."""
    return NameLoc(StringAttr(name), NoneAttr())


def location_text(op: Operation, *, folders: bool = True) -> str | None:
    """Where `op` came from, as messages print it: `file:line:col`, a model's node name, or None.

    `folders`: with those of the file; what is kept in files says nothing of who made it.
    """
    current: Operation | None = op
    while current is not None:
        if (text := text_of_location(current.location, folders=folders)) is not None:
            return text
        current = current.parent_op()
    return None


def text_of_location(location: Attribute, *, folders: bool = True) -> str | None:
    """As `location_text`, of a location alone."""
    match location:
        case FileLineColLoc():
            name = location.filename.data
            name = name if folders else PurePath(name).name
            return f"{name}:{location.line.data}:{location.column.data}"
        case NameLoc():
            return location.desc.data
        case CallSiteLoc():
            return text_of_location(location.callee, folders=folders)
        case FusedLoc():
            each = cast("ArrayAttr[Attribute]", location.locations)
            parts = [
                text
                for part in each
                if (text := text_of_location(part, folders=folders)) is not None
            ]
            return JOINED.join(parts) or None
        case _:
            return None


def parts_of(where: str) -> list[str]:
    """The places of which a text of a location tells, as ops that were fused have several."""
    return where.split(JOINED)


def copy_locations(source: Operation, copy: Operation) -> None:
    """Gives a clone, and all that is in it, the locations of what it was made from."""
    for old, new in zip(source.walk(), copy.walk(), strict=True):
        new.location = old.location


def moved_by(call: Operation, callee: Operation) -> Callable[[LocationAttr], LocationAttr]:
    """Where an op of the callee is in this call of it, as `inarch.locations` of both say."""
    theirs, own = (_locations(op) for op in (callee, call))
    places = dict(zip(theirs, own, strict=True)) if len(theirs) == len(own) else {}

    def moved(location: LocationAttr) -> LocationAttr:
        found = places.get(location)
        if found is None and isinstance(location, FusedLoc):
            parts = cast("ArrayAttr[LocationAttr]", location.locations)
            found = FusedLoc(ArrayAttr(map(moved, parts)), location.metadata)
        return location if found is None else found

    return moved if places else lambda location: location


def _locations(op: Operation) -> list[LocationAttr]:
    found = op.attributes.get(LOCATIONS)
    return [*cast("ArrayAttr[LocationAttr]", found)] if isinstance(found, ArrayAttr) else []
