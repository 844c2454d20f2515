"""What a C file or a library that is no artifact says of its functions, so that it can be loaded.

    {"functions": {"scale": {"symbol": "my_scale",
                             "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}],
                             "outputs": [{"name": "y", "dtype": "f32", "shape": [2, 3]}]}}}

Signatures are as in a manifest. Each function is `int32_t symbol(void *self, DLTensor *args, int32_t n)`,
what backends emit; `symbol` is its name where nothing is said. With a `prefix`, it is a whole program with
the functions of inarch.h. In C it is a comment, `/* inarch module {...} */`; a library has it as
`const char inarch_module[]`, or FILE.json beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inarch.artifact.manifest import Signature, signature_of
from inarch.core.errors import InarchError
from inarch.core.outside.value import Document, Value

SYMBOL = "inarch_module"
"""What a library calls its description."""

_COMMENT = re.compile(r"/\*\s*inarch module\s+(\{.*?\})\s*\*/", re.DOTALL)
_MOST = 1 << 20
"""Characters of a description: more is none."""


@dataclass(frozen=True)
class Described:
    """One function: its C name and what it takes."""

    symbol: str
    signature: Signature


@dataclass(frozen=True)
class Description:
    """The functions of a file, by name."""

    functions: Mapping[str, Described]
    prefix: str | None
    """Of a whole program, which is bound before the first call."""
    data: Mapping[str, Any]
    """As it was written."""


def comment_of(data: Mapping[str, Any]) -> str:
    """The comment of C that says it, a line."""
    # No `*` of a name ends the comment, or begins one within it.
    text = json.dumps(data).replace("*", "\\u002a")
    return f"/* inarch module {text} */\n"


def description_of_c(text: str, where: str) -> Description:
    """What the comment in a C file says. Raises InarchError where there is none, or a wrong one."""
    found = _COMMENT.search(text)
    if found is None:
        raise InarchError(
            'expected what its functions take, as the comment `/* inarch module {"functions": ...} */`, '
            "found none; docs/artifact.md has an example",
            where=where,
        )
    line = text.count("\n", 0, found.start(1)) + 1
    return parse_description(found[1], f"{where}:{line}")


def parse_description(text: str, where: str) -> Description:
    """The description in JSON. Raises InarchError, located at `where`."""
    try:
        data: object = json.loads(text) if len(text) <= _MOST else None
    except (ValueError, RecursionError) as error:
        raise InarchError(f"expected a description in JSON: {error}", where=where) from error
    document = Document(where, "description")
    top = Value(data, "", document)
    prefix = top["prefix"].identifier() if "prefix" in top else None
    functions: dict[str, Described] = {}
    for name, value in top["functions"].entries().items():
        own = Value(name, f"functions.{name}", document).identifier()
        symbol = value["symbol"].identifier() if "symbol" in value else own
        functions[own] = Described(symbol, signature_of(value))
    if not functions:
        raise top["functions"].error("at least one")
    return Description(functions, prefix, top.fields())
