"""A value of JSON or TOML and where it stands; what it is read as says what it may be.

    at = Value(json.loads(text), "", Document("m.inarch", "manifest.json"))
    part = at["backends"].read(Part)

A dataclass is read by the types of its fields. What has not its type or its range is refused with the
field's path: `m.inarch: manifest.json: backends.name: expected a string, found 3`.
"""

from __future__ import annotations

import os
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from inarch.core.dtypes import ARITHMETIC, DTYPES
from inarch.core.errors import InarchError, unknown

T = TypeVar("T")

_MAX_BYTES = 1 << 62
_MAX_PATH = 4095
"""Linux's bound, in bytes."""


class _Repr(reprlib.Repr):
    """Follows values into no depth, and writes no number that Python refuses to write in decimal."""

    def repr_int(self, x: int, level: int) -> str:
        bits = x.bit_length()
        return repr(x) if bits <= _WRITTEN_BITS else f"an integer of {bits} bits"


_WRITTEN_BITS = 4096

_REPR = _Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 1000
_REPR.maxlist = _REPR.maxdict = 60


@dataclass(frozen=True)
class Limit:
    """What a value of a field may be besides its type: `Annotated[int, Limit("a size", is_size)]`."""

    expected: str
    """For messages: `a number > 0`."""
    fits: Callable[[Any], bool]
    """Of a value that has the type."""


Size = Annotated[int, Limit("a size", lambda value: 0 <= value < _MAX_BYTES)]
Identifier = Annotated[
    str, Limit("a C identifier", lambda text: text.isidentifier() and text.isascii())
]
"""It becomes part of symbols that are looked up."""
FileName = Annotated[
    str,
    Limit(
        f"a path of at most {_MAX_PATH} bytes",
        lambda text: len(os.fsencode(text)) <= _MAX_PATH and "\0" not in text,
    ),
]
"""A path that the system can look up."""
DTypeName = Annotated[
    str,
    Limit(
        f"one of {', '.join(ARITHMETIC)}, or of a file that was loaded", lambda text: text in DTYPES
    ),
]


@dataclass(frozen=True)
class Document:
    """What values are part of, in messages."""

    where: str | Callable[[str], str]
    """The file; or the place in it of the value at a path."""
    name: str = ""
    """Of a member, before paths."""
    fault: type[InarchError] = InarchError
    """What is raised."""
    is_closed: bool = False
    """Whether a field that a dataclass has not is refused."""
    remedy: str = ""
    """What to do where a field is missing."""


@dataclass(frozen=True)
class Value:
    """A value, the path of keys that leads to it, and the document."""

    value: object
    path: str = ""
    document: Document = Document("")

    def __getitem__(self, key: str) -> Value:
        """A field of an object; one that is missing is found to be None when it is checked."""
        return self._at(self.fields().get(key), f".{key}")

    def __contains__(self, key: str) -> bool:
        """Whether the object has the field."""
        return key in self.fields()

    def error(self, expected: str) -> InarchError:
        """That something else was expected here."""
        before = f"{self.path}: " if self.path else ""
        remedy = self.document.remedy if self.value is None else ""
        found = f"{shown(self.value)}{remedy and f'; {remedy}'}"
        return self.located(f"{before}expected {expected}, found {found}")

    def located(self, text: str) -> InarchError:
        """What is wrong here."""
        document, place = self.document, self.document.where
        where = place if isinstance(place, str) else place(self.path)
        before = f"{document.name}: " if document.name else ""
        return document.fault(f"{before}{text}", where=where or None)

    def read(self, kind: type[T]) -> T:
        """The value as a `kind`, a dataclass. Raises the document's error for other values.

        Its fields are of text, numbers, bool, paths, literals, dataclasses, sequences, mappings by name, or
        None; `Annotated` with a `Limit` what not every value fits. A class with a method `read_from`
        makes itself of its value.
        """
        return cast("T", _reader(kind)(self))

    def fields(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.error("an object")
        return cast("dict[str, Any]", self.value)

    def entries(self) -> dict[str, Value]:
        return {self._at(name, "").text(): self[name] for name in self.fields()}

    def items(self) -> list[Value]:
        if not isinstance(self.value, list | tuple):
            raise self.error("a list")
        values = cast("Sequence[object]", self.value)
        return [self._at(value, f"[{number}]") for number, value in enumerate(values)]

    def of(self, kind: object) -> Any:
        """As `read`, as a kind of fields: `Size`, `tuple[str, ...]`."""
        return _reader(kind)(self)

    def text(self) -> str:
        return self.of(str)

    def identifier(self) -> str:
        return self.of(Identifier)

    def size(self) -> int:
        return self.of(Size)

    def _at(self, value: object, step: str) -> Value:
        return Value(value, (self.path + step).lstrip("."), self.document)


def shown(value: object) -> str:
    """A JSON value in a message: short, and None as what it means."""
    text = "nothing" if value is None else _REPR.repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


_Reader = Callable[[Value], Any]

_HALVES = re.compile("[\ud800-\udfff]")


def _is_integer(value: object) -> bool:
    """Which a double holds, too, if not exactly."""
    return type(value) is int and abs(value) < 1 << 1000


_SCALARS: Mapping[Any, tuple[str, Callable[[object], bool]]] = {
    str: ("a string", lambda value: isinstance(value, str)),
    int: ("a whole number", lambda value: type(value) is int),
    float: ("a number", lambda value: type(value) is float or _is_integer(value)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    NoneType: ("nothing", lambda value: value is None),
}


@cache
def _reader(kind: Any) -> _Reader:
    """What reads values as a `kind`."""
    if hasattr(kind, "read_from"):
        return kind.read_from
    if kind in _SCALARS:
        return _scalar(kind, None)
    if kind is Any:
        return lambda at: at.value
    if kind is Path:
        return lambda at: Path(at.text())
    if is_dataclass(kind):
        return _record(kind)
    return _generic(kind, get_origin(kind), get_args(kind))


def _generic(kind: Any, origin: Any, arguments: Sequence[Any]) -> _Reader:
    if origin is Annotated:
        return _scalar(arguments[0], arguments[1])
    if origin is Literal:
        return _literal(arguments)
    if origin in (Union, UnionType):
        return _union(arguments)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return _row([_reader(each) for each in arguments])
    each = _reader(arguments[1 if origin is Mapping else 0])
    if origin is Mapping:
        return lambda at: {name: each(value) for name, value in at.entries().items()}
    assert origin in (tuple, Sequence), f"values are not read as {kind}"
    several: Any = tuple if origin is tuple else list
    return lambda at: several([each(value) for value in at.items()])


def _scalar(kind: Any, limit: Limit | None) -> _Reader:
    expected, is_one = _SCALARS[kind]

    def read(at: Value) -> Any:
        if not is_one(at.value):
            raise at.error(expected if limit is None else limit.expected)
        if isinstance(at.value, str) and not at.value.isascii() and _HALVES.search(at.value):
            raise at.error("a string of whole characters")  # JSON can spell halves of them
        if limit is not None and not limit.fits(at.value):
            raise at.error(limit.expected)
        return float(cast("float", at.value)) if kind is float else at.value

    return read


def _literal(known: Sequence[object]) -> _Reader:
    def read(at: Value) -> Any:
        if at.value not in known:
            raise at.error(" or ".join(map(repr, known)))
        return at.value

    return read


def _union(kinds: Sequence[Any]) -> _Reader:
    """Of None and another kind, or of several scalars."""
    if NoneType in kinds and len(kinds) == 2:
        some = _reader(next(each for each in kinds if each is not NoneType))
        return lambda at: None if at.value is None else some(at)
    expected = " or ".join(_SCALARS[each][0] for each in kinds)

    def read(at: Value) -> Any:
        for each in kinds:
            if _SCALARS[each][1](at.value):
                return at.value
        raise at.error(expected)

    return read


def _row(readers: Sequence[_Reader]) -> _Reader:
    def read(at: Value) -> Any:
        items = at.items()
        if len(items) != len(readers):
            raise at.error(f"{len(readers)} values")
        return tuple([each(item) for each, item in zip(readers, items, strict=True)])

    return read


def _record(kind: Any) -> _Reader:
    hints = get_type_hints(kind, include_extras=True)
    own = [each for each in fields(kind) if each.init]
    readers = {each.name: _reader(hints[each.name]) for each in own}
    needed = {
        each.name for each in own if each.default is MISSING and each.default_factory is MISSING
    }

    def read(at: Value) -> Any:
        said = at.fields()
        if at.document.is_closed:
            for name in said:
                if name not in readers:
                    raise at[name].located(unknown("field", name, readers, within=at.path).message)
        return kind(
            **{
                name: each(at[name])
                for name, each in readers.items()
                if name in said or name in needed
            }
        )

    return read
