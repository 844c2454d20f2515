"""A program in one file with the C of backends: what `--emit=c` writes and `get_source("c")` gives.

Each backend's C was one translation unit. Here it stands behind the program, with nothing of it left over
for the next: its macros end with it, and what it calls as another part does has a name of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from inarch.backends.c.offloaded import linked_units
from inarch.backends.c.text import comment
from inarch.backends.emitted import Emitted

_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]inarch\.h[>"].*\n?', re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_OUTSIDE = (
    re.compile(r"^static\b[^;={()]*?\b(\w+)\s*[\[(=;]", re.MULTILINE),
    re.compile(r"^typedef\b[^;]*?\b(\w+)\s*;", re.MULTILINE),
    re.compile(r"^typedef\b[^;]*?\(\s*\*\s*(\w+)\s*\)", re.MULTILINE),
    re.compile(r"\b(?:struct|union|enum)\s+(\w+)\s*\{\}"),
)
"""What a file defines for itself: static functions and variables, types. Bodies are `{}`."""
_LEFT_OUT = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\b__attribute__\s*\(\(.*?\)\)\s*""",
    re.DOTALL,
)
_BODY = re.compile(r"\{[^{}]+\}")


def joined(text: str, emitted: Sequence[Emitted]) -> str:
    """`text`, the host's C, and behind it that of backends; its first line says what both are compiled with.

    What a backend's C includes of its own folders, and the libraries that it calls, are not in the file.
    """
    parts = [one.emission for one in emitted if one.is_linked]
    if not parts:
        return text
    folders = [f"-I.../{Path(each).name}" for part in parts for each in part.include_dirs]
    flags = [flag for part in parts for flag in part.cflags]
    libraries = [Path(each).name for part in parts for each in part.libraries]
    text = _said(text, "-shared -fPIC", before=[*folders, *flags])
    text = _said(text, "-lm", before=libraries)
    taken = _names(text)
    for name, part in linked_units(emitted).units.items():
        text += f"\n{comment(f'{name}: the C of a backend.')}\n{_alone(name, part, taken)}"
        taken |= _names(part)
    return text


def _said(text: str, words: str, before: Sequence[str]) -> str:
    """More of the command in the first line, before `words` of it."""
    head, end, rest = text.partition("\n")
    more = "".join(f"{comment(each)[3:-3]} " for each in dict.fromkeys(before))
    return head.replace(f" {words} ", f" {more}{words} ") + end + rest


def _names(text: str) -> set[str]:
    """What a file calls its own."""
    outside, found = _LEFT_OUT.sub(" ", text), ""
    while found != outside:
        found, outside = outside, _BODY.sub("{}", outside)
    return {name for pattern in _OUTSIDE for name in pattern.findall(outside)}


def _alone(unit: str, text: str, taken: set[str]) -> str:
    """The C of a unit, whose names that are taken are others, and whose macros end with it."""
    mark = re.sub(r"\W", "_", unit.removesuffix(".c"))
    macros = sorted(
        {name for name in _MACRO.findall(text) if not name.startswith(("_", "INARCH_"))}
    )
    text = _HEADER.sub("", text).rstrip("\n") + "\n"
    for name in sorted(_names(text) & taken - set(macros)):
        # Not in text and attributes, nor the member of another's struct.
        token = re.compile(rf"({_LEFT_OUT.pattern})|(?<![.>\w]){name}\b", re.DOTALL)
        text = token.sub(lambda found, name=name: found[1] or f"{name}_of_{mark}", text)
    return text + "".join(f"#undef {name}\n" for name in macros)
