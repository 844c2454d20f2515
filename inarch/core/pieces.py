"""Texts that lie in files of a package, beside the code that fills in their holes, `$name` and `${name}`.

A file may be of several pieces: each is what is below a line `//: NAME`, up to the next such line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Template

_HEAD = re.compile(r"^//: (\w+).*\n", re.MULTILINE)


@cache
def _text(package: str, file: str) -> str:
    return files(package).joinpath(file).read_text()


@cache
def pieces(package: str, file: str) -> Mapping[str, str]:
    """The pieces of a file by their names, as they are; what is above the first one is for readers."""
    _, *found = _HEAD.split(_text(package, file))
    return dict(zip(found[::2], found[1::2], strict=True))


def filled(package: str, file: str, piece: str = "", /, **values: object) -> str:
    """A file, or a piece of it, with its holes filled in. Raises KeyError for a hole without a value."""
    text = pieces(package, file)[piece] if piece else _text(package, file)
    return Template(text).substitute(values)
