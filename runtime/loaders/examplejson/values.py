"""Values in ExampleJSON: attributes `axis=1`, and the elements of constants."""

from __future__ import annotations

import re
import struct
from base64 import b64decode

from inarch.core.dtypes import DType
from inarch.core.errors import unknown
from inarch.runtime.loaders.examplejson.graph import Tensor, Value, pack_numbers
from inarch.runtime.loaders.examplejson.line import Line, Word, shown
from inarch.runtime.loaders.examplejson.ops import Attr, Op

_INT = re.compile(r"-?[0-9]{1,20}")
_FLOAT = re.compile(
    r"[+-]?(inf|nan|[0-9]{1,400}(\.[0-9]{0,400})?(e[+-]?[0-9]{1,4})?"
    r"|0x[0-9a-f]{1,16}(\.[0-9a-f]{0,16})?(p[+-]?[0-9]{1,5})?)"
)
"""Decimal, or hexadecimal as C writes it (`0x1.8p+1`); bounded, since reading is not linear."""


def read_attribute(line: Line, word: Word, owner: str, op: Op, given: dict[str, Value]) -> None:
    """Adds the attribute that `word` is to `given`. Raises InarchError when it is none of `op`."""
    name, equals, text = word.text.partition("=")
    if not equals:
        raise line.error(f"expected <name>=<value>, found {word}", word)
    if name not in op.attrs:
        message = unknown("attribute", name[:40], op.attrs, within=f"'{owner}'").message
        raise line.error(message, word)
    if name in given:
        raise line.error(f"attribute '{name}' is given twice", word)
    value = _attribute(op.attrs[name], text)
    if value is None:
        wanted = _KINDS[op.attrs[name].kind]
        raise line.error(f"expected {name}={wanted}, found {shown(text)}", word)
    given[name] = value


_KINDS = {
    "int": "<integer>",
    "ints": "<integer>,<integer>...",
    "bool": "true or false",
    "float": "<number>",
}


def _attribute(attr: Attr, text: str) -> Value | None:
    """The value of an attribute's kind that `text` spells, or None."""
    match attr.kind:
        case "int":
            return int(text) if _INT.fullmatch(text) else None
        case "ints":
            items = text.split(",") if text else []
            return tuple(map(int, items)) if all(map(_INT.fullmatch, items)) else None
        case "bool":
            return {"true": True, "false": False}.get(text)
        case "float":
            return _float(text)


def _float(text: str) -> float | None:
    if not _FLOAT.fullmatch(text):
        return None
    try:
        return float.fromhex(text) if "0x" in text else float(text)
    except OverflowError:
        return None  # a hexadecimal one; a decimal one becomes an infinity, which the op refuses


def read_numbers(line: Line, form: Word, kind: Tensor) -> bytes:
    """The elements `data: <number>...`, one word each, up to the end of the line."""
    words = line.until()
    if len(words) != kind.size:
        message = f"expected {kind.size} numbers, the elements of {kind}, found {len(words)}"
        raise line.error(message, form)
    return b"".join(_element(line, word, kind.dtype) for word in words)


def _element(line: Line, word: Word, dtype: DType) -> bytes:
    """One element. Floats are rounded to the dtype; what overflows it is refused."""
    text = word.text
    value = _float(text) if dtype.is_float else int(text) if _INT.fullmatch(text) else None
    is_bit = dtype.name != "i1" or value in (0, 1)
    try:
        if value is not None and is_bit:
            return pack_numbers([value], dtype)
    except (struct.error, OverflowError):
        pass  # out of the dtype's range
    raise line.error(f"expected a number of {dtype.name}, found {word}", word)


def read_base64(line: Line, form: Word, kind: Tensor) -> bytes:
    """The elements `base64: <text>`: little-endian and row-major; a bool is a byte, 0 or 1."""
    word = line.take("base64 text")
    line.finish("the end of the line")
    try:
        data = b64decode(word.text, validate=True)
    except ValueError as error:
        raise line.error(f"expected base64 text, found {word}: {error}", word) from error
    nbytes = kind.size * kind.dtype.nbytes
    if len(data) != nbytes:
        message = f"expected {nbytes} bytes, the elements of {kind}, found {len(data)}"
        raise line.error(message, form)
    if kind.dtype.name == "i1" and data.translate(None, b"\0\1"):
        raise line.error("expected bytes 0 and 1, the elements of bools, found others", form)
    return data
