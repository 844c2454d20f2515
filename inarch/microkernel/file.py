"""Kernels of one C or assembly file: their declaration is TOML in the comment that starts with `inarch`.

    /* inarch
    computes = "for m in MR, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]"
    dtypes = {A = "f32", B = "f32", C = "f32"}
    params = {MR = "1..8"}
    needs = ["avx512f"]
    */
    void gemm(...) {...}

Keys are fields of `inarch.microkernel.Microkernel`; `"1..8"` stands for the values from 1 to 8. A line
`SPDX-License-Identifier: MIT` anywhere in the file is its `license`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from inarch.core.errors import InarchError, unknown
from inarch.core.limits import INTEGER_BITS, number_text
from inarch.meaning import parse
from inarch.microkernel._check import check
from inarch.microkernel._data import Microkernel

SUFFIXES = {".c": "c", ".S": "asm", ".s": "asm"}
"""Of files, and the field of Microkernel that their text is."""

_COMMENT = re.compile(r"/\*\s*inarch\b(?P<toml>.*?)\*/", re.DOTALL)
_LICENSE = re.compile(r"SPDX-License-Identifier:\s*([\w.+() -]+)")
_RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})")


def read_kernel_file(path: Path) -> Microkernel:
    """The family that the file declares. Raises InarchError at a place in the file: `gemm.c:3:12`."""
    try:
        source = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InarchError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise InarchError("expected UTF-8 text", where=str(path)) from error
    comment = _COMMENT.search(source)
    if comment is None:
        raise InarchError(
            "expected a declaration, a comment '/* inarch ... */' with computes and dtypes",
            where=f"{path}:1:1",
        )
    file = _File(path, source, comment.start("toml"), comment["toml"])
    fields = file.fields()
    rest = source[: comment.start()] + source[comment.end() :]
    fields[SUFFIXES[path.suffix]] = rest.strip() + "\n"
    if found := _LICENSE.search(source):
        fields.setdefault("license", found[1].strip())
    fields["include_dirs"] = [str(path.parent / each) for each in fields.get("include_dirs", ())]
    kernel = Microkernel(**fields)
    try:
        parse(kernel.computes)
    except InarchError as error:
        raise file.in_computes(error) from error
    try:
        check(kernel, path.stem.replace("_", "-"))
    except InarchError as error:
        raise InarchError(error.message, where=file.of_message(error.message)) from error
    return kernel


@dataclass(frozen=True)
class _File:
    """A file's text, and the declaration in it, which begins at `start`."""

    path: Path
    source: str
    start: int
    toml: str

    def at(self, position: int) -> str:
        """`gemm.c:3:12` for a position in the source."""
        line = self.source.count("\n", 0, position) + 1
        return f"{self.path}:{line}:{position - self.source.rfind(chr(10), 0, position)}"

    def fields(self) -> dict[str, Any]:
        """The arguments of Microkernel."""
        try:
            table = tomllib.loads(self.toml)
        except tomllib.TOMLDecodeError as error:
            raise self._damaged(error) from error
        except (RecursionError, ValueError) as error:  # brackets in brackets; thousands of digits
            reason = "less nesting" if isinstance(error, RecursionError) else "shorter numbers"
            raise InarchError(f"expected TOML with {reason}", where=self.at(self.start)) from error
        for key in ("computes", "dtypes"):
            if key not in table:
                raise InarchError(f"expected {key} in the declaration", where=self.at(self.start))
        fields: dict[str, Any] = {}
        for key, value in table.items():
            if key not in _FIELDS:
                message = unknown("field", key, _FIELDS).message
                if key in Microkernel.__dataclass_fields__:
                    message = (
                        f"field '{key}' is of kernels in Python: a .py file with a MICROKERNEL"
                    )
                raise InarchError(message, where=self._of_key(key))
            wanted, read = _FIELDS[key]
            for number in _integers(value):
                if number.bit_length() > INTEGER_BITS:  # which Python may not print
                    message = f"expected integers of at most {INTEGER_BITS} bits in {key}"
                    message += f", found {number_text(number)}"
                    raise InarchError(message, where=self._of_key(key))
            try:
                fields[key] = read(value)
            except (TypeError, ValueError) as error:
                message = f"expected {key} = {wanted}, found {value!r}"
                raise InarchError(message, where=self._of_key(key)) from error
        return fields

    def in_computes(self, error: InarchError) -> InarchError:
        """An error of the meaning, where it is in the file."""
        found = re.search(
            r"^[ \t]*computes[ \t]*=[ \t]*(\"\"\"\n?|'''\n?|\"|')", self.toml, re.MULTILINE
        )
        line, column = (int(part) for part in str(error.where).split(":")[-2:])
        if found is None:
            return InarchError(error.message, where=self._of_key("computes"))
        position = self.start + found.end()
        for _ in range(line - 1):
            position = self.source.index("\n", position) + 1
        return InarchError(error.message, where=self.at(position + column - 1))

    def _damaged(self, error: tomllib.TOMLDecodeError) -> InarchError:
        message, _, place = str(error).partition(" (at ")
        position = self.start
        if numbers := re.findall(r"\d+", place):
            line, column = int(numbers[0]), int(numbers[1])
            before = self.toml.split("\n")[: line - 1]
            position += sum(len(each) + 1 for each in before) + column - 1
        else:  # at the end
            position += len(self.toml)
        text = f"expected TOML: {message[:1].lower()}{message[1:]}"
        return InarchError(text, where=self.at(position))

    def of_message(self, message: str) -> str:
        """The field that an error of the whole declaration is about: the first one that it names."""
        declared = tomllib.loads(self.toml)
        words = set(re.findall(r"\w+", message))
        for key, value in declared.items():
            names = set(cast("dict[str, object]", value)) if isinstance(value, dict) else set[str]()
            if key in words or (key == "params" and words & names):
                return self._of_key(key)
        return self.at(self.start)

    def _of_key(self, key: str) -> str:
        found = re.search(rf"^[ \t]*\[?(?={re.escape(key)}\b)", self.toml, re.MULTILINE)
        return self.at(self.start + (found.end() if found else 0))


def _integers(value: object) -> Iterator[int]:
    """Every integer within a value of TOML."""
    if isinstance(value, int):
        yield value
    elif isinstance(value, list | dict):
        table = cast("dict[str, object]", value)
        for item in table.values() if isinstance(value, dict) else cast("list[object]", value):
            yield from _integers(item)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(_text(item) for item in cast("list[object]", value))


def _integer(value: object) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _number(value: object) -> float:
    if type(value) not in (int, float):
        raise TypeError
    return float(cast("float", value))


def _table(read: Callable[[object], Any]) -> Callable[[object], dict[str, Any]]:
    def table(value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise TypeError
        return {key: read(item) for key, item in cast("dict[str, object]", value).items()}

    return table


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _sizes(value: object) -> tuple[int, ...] | range:
    """`[8, 16]`, or `"1..8"`."""
    if isinstance(value, str):
        found = _RANGE.fullmatch(value)
        if found is None:
            raise TypeError
        return range(int(found[1]), int(found[2]) + 1)
    if not isinstance(value, list):
        raise TypeError
    return tuple(_integer(item) for item in cast("list[object]", value))


def _strides(value: object) -> tuple[int | str, ...]:
    if not isinstance(value, list):
        raise TypeError
    items = cast("list[object]", value)
    return tuple(item if isinstance(item, str) else _integer(item) for item in items)


_TEXT = ('"..."', _text)
_TEXTS = ('["...", ...]', _texts)

_FIELDS: Mapping[str, tuple[str, Callable[[object], Any]]] = {
    "computes": _TEXT,
    "dtypes": ('{A = "f32", ...}', _table(_text)),
    "params": ('{MR = [1, 2], NR = "1..8", ...}', _table(_sizes)),
    "where": _TEXTS,
    "layout": ('{A = ["*", 1], ...}', _table(_strides)),
    "align": ("{A = 64, ...}", _table(_integer)),
    "needs": _TEXTS,
    "symbol": _TEXT,
    "include_dirs": _TEXTS,
    "libraries": _TEXTS,
    "cflags": _TEXTS,
    "inits": _TEXTS,
    "flushes": ("true or false", _switch),
    "cost": ("a number of cycles", _number),
    "doc": _TEXT,
    "license": _TEXT,
    "api": ("a number", _integer),
}
"""Field -> how its values are written, and what reads one."""
