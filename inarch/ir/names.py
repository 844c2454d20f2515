"""Names of values in MLIR text, and unique names."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

MAX_NAME = 100
"""Characters of a stranger's name that are printed: functions and loops repeat names many times."""


def is_hint(name: str) -> bool:
    """Whether something is left of `name` as a hint, from which xDSL takes `_1` at each copy.

    Of `_0` it keeps the empty name, which it then refuses to copy.

    >>> is_hint("x_1"), is_hint("_0"), is_hint("_0_1")
    (True, False, False)
    """
    return re.sub(r"(_\d+)+$", "", name) != ""


def printed_name(name: str) -> str | None:
    """What a value that a stranger calls `name` is called in MLIR text; None where nothing can be written.

    >>> [printed_name(name) for name in ("input:0", "a/b c", "0", "\u00e9", "")]
    ['input_0', 'a_b_c', 't0', None, None]
    """
    text = re.sub(r"[^A-Za-z0-9_]", "_", name[:MAX_NAME])
    if not text.strip("_") or not is_hint(text):
        return None
    return text if not text[0].isdigit() else f"t{text}"


def hint(value: SSAValue, name: str) -> None:
    """Calls `value` after `name`, which may be any text, in the printed form as far as MLIR can write it."""
    text = printed_name(name)
    if text is not None:
        value.name_hint = text


def free_name(stem: str, taken: set[str], separator: str = "_") -> str:
    """`stem`, or `stem_1`, `stem_2` ...: the first that is not in `taken`, to which it is added.

    >>> taken = {"a", "a_1"}
    >>> free_name("a", taken), free_name("b", taken), sorted(taken)
    ('a_2', 'b', ['a', 'a_1', 'a_2', 'b'])
    """
    name, count = stem, 0
    while name in taken:
        count += 1
        name = f"{stem}{separator}{count}"
    taken.add(name)
    return name


def symbols_of(module: ModuleOp) -> dict[str, Operation]:
    """The ops of the module that define symbols, by these."""
    found = ((op.properties.get("sym_name"), op) for op in module.body.ops)
    return {name.data: op for name, op in found if isinstance(name, StringAttr)}
