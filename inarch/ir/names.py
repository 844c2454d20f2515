"""Names of values in MLIR text."""

from __future__ import annotations

import re


def is_hint(name: str) -> bool:
    """Whether something is left of `name` as a hint, from which xDSL takes `_1` at each copy.

    Of `_0` it keeps the empty name, which it then refuses to copy.

    >>> is_hint("x_1"), is_hint("_0"), is_hint("_0_1")
    (True, False, False)
    """
    return re.sub(r"(_\d+)+$", "", name) != ""
