"""How calls from Python reach C: compiled calls, calls with bound arguments, arrays of frameworks.

inarch.runtime.calls.prepare()     # compiles the fast way now, as when an image of a service is built
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inarch.runtime.calls.compiled import Way


def prepare() -> Way:
    """Compiles the fast way of calls, where that may be, and waits; the way that calls take from now on."""
    from inarch.runtime.calls.compiled import COMPILED

    return COMPILED.prepare()
