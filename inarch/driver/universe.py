"""What Inarch and its plugins add to any xDSL tool (`xdsl-opt`): dialects and passes.

xDSL loads `UNIVERSE` in every tool of an environment and refuses to start when one fails or two
claim a name. So nothing is imported before it is used, and whatever clashes is left out; a broken
thing raises when its own name is used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from xdsl.dialects import get_all_dialects
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe

from inarch.core.errors import InarchError
from inarch.core.plugins import Extensions
from inarch.dialects import DIALECTS
from inarch.passes import PASSES

T = TypeVar("T")


def _factories(table: Extensions[T], taken: set[str]) -> dict[str, Callable[[], T]]:
    """A function for each thing of `table` that has a name of its own; it imports the thing."""
    return {
        name: partial(table.__getitem__, name)
        for name in table
        if name not in taken and _is_defined_once(table, name)
    }


def _is_defined_once(table: Extensions[T], name: str) -> bool:
    try:
        table.origin(name)
    except InarchError:
        return False
    return True


UNIVERSE = Universe(
    all_dialects=_factories(DIALECTS, set(get_all_dialects())),
    all_passes=_factories(PASSES, set(get_all_passes())),
)
"""The entry point `inarch` of the group `xdsl.universe`."""
