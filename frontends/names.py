"""What programs are called that have no name, and how names stand in a program."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, StringAttr
from xdsl.ir import Attribute

from inarch.core.arguments import checked_text
from inarch.core.errors import UsageError
from inarch.ir.types import i64

MAX_PREFIX = 100
"""Characters: the prefix is in names of files, which have at most 255 bytes."""


def program_name(stem: str) -> str:
    """`stem` as the prefix of C symbols; `model` when nothing of it can be in one.

    >>> program_name("resnet18-v1.7"), program_name("3d"), program_name("-")
    ('resnet18_v1_7', 'm3d', 'model')
    """
    text = re.sub(r"[^A-Za-z0-9_]", "_", stem).strip("_")[:MAX_PREFIX]
    return f"m{text}" if text[:1].isdigit() else text or "model"


def check_name(name: object) -> None:
    """Raises UsageError for what cannot be the prefix of C symbols."""
    text = checked_text("name", name, "model")
    if not text.isidentifier() or not text.isascii():
        raise UsageError(f"expected a name that is a C identifier, found '{text}'")
    if not text.strip("_"):  # what begins with two underscores is a compiler's
        raise UsageError(f"expected a name with a letter or a digit, found '{text}'")
    if text == "inarch" or text.startswith("inarch_"):  # as the runtime's symbols are called
        raise UsageError(f"expected a name that does not begin with inarch, found '{text}'")
    if len(text) > MAX_PREFIX:
        raise UsageError(f"expected a name of at most {MAX_PREFIX} characters, found {len(text)}")


def named(
    names: Sequence[str], numbers: Sequence[tuple[str, Sequence[int] | None]] = ()
) -> ArrayAttr[DictionaryAttr]:
    """The attributes of arguments or results: the name of each, and one of numbers, where there are any."""
    found: list[DictionaryAttr] = []
    for name, (key, values) in zip(names, numbers or [("", None)] * len(names), strict=True):
        entries: dict[str, Attribute] = {"inarch.name": StringAttr(name)}
        if values:
            entries[key] = DenseArrayBase.from_list(i64, values)
        found.append(DictionaryAttr(entries))
    return ArrayAttr(found)
