"""Several meanings, one a line, executed in order: the language of `inarch.compute`.

    for i in N: m[i] = mu * m[i] + g[i]
    for i in N: w[i] = w[i] - lr * m[i]

Each line is a meaning (`inarch.meaning` has the grammar) that writes one operand, and sees what those
before it have written. Behind `;` a `for` begins another one, too, if it has an iterator of the meaning, or
writes another operand. A line goes on in the next one where it ends in an operator, a comma, a colon or a
semicolon, or within brackets. A name alone is an operand without dimensions: `mu` is `mu[]`. A name means
one kind of thing in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from inarch.core.errors import InarchError
from inarch.core.once import cached_property
from inarch.meaning import Access, Meaning, accesses, operands, ranks, written
from inarch.meaning._parser import Parser

_GOES_ON = frozenset(",:;+-*/=([")
"""What a line ends in that is not the end of its meaning."""


@dataclass(frozen=True)
class Program:
    """Meanings that are executed in order."""

    text: str
    meanings: tuple[Meaning, ...]
    places: tuple[tuple[str, ...], ...]
    """Where each statement of each meaning is, as messages say it: `compute:1:13`."""
    parameters: Mapping[str, str]
    """Sizes that are in indices alone, so that no shape says them, and where each first is."""

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """What it reads, in the order in which the text names it, then what it writes, so ordered."""
        outputs = self.outputs
        named = dict.fromkeys(name for meaning in self.meanings for name in operands(meaning))
        return (*(name for name in named if name not in outputs), *outputs)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The operands that are written, in the order in which they first are."""
        return tuple(dict.fromkeys(written(meaning) for meaning in self.meanings))

    @cached_property
    def ranks(self) -> dict[str, int]:
        """Operand -> its number of dimensions."""
        return {name: rank for meaning in self.meanings for name, rank in ranks(meaning).items()}

    @cached_property
    def accesses(self) -> dict[str, Access]:
        """What happens to each operand; one whose old value counts is updated."""
        found: dict[str, Access] = {}
        for meaning in self.meanings:
            for name, access in accesses(meaning).items():
                before = found.get(name)
                if before is None:
                    found[name] = access
                elif before == "read" and access != "read":
                    found[name] = "update"
        return found


@lru_cache(maxsize=256)
def parse_program(text: str, source: str = "compute") -> Program:
    """The program that `text` states; `source` is what messages call the text.

    Raises InarchError for anything else: `compute:1:23: error: expected ..., found ...`.
    """
    meanings: list[Meaning] = []
    places: list[tuple[str, ...]] = []
    shared = Parser("", source)  # what names mean
    for chunk in _chunks(text):
        parser = Parser(chunk, source, has_scalars=True)
        parser.iterators, parser.sizes, parser.ranks = shared.iterators, shared.sizes, shared.ranks
        parser.extents, parser.parameters = shared.extents, shared.parameters
        with pointing(text, source):
            for meaning, heads in parser.meanings():
                meanings.append(meaning)
                places.append(heads)
    if not meanings:
        raise InarchError("expected a meaning, found an empty one", where=f"{source}:1:1")
    alone = {name: at for name, at in shared.parameters.items() if name not in shared.extents}
    return Program(text, tuple(meanings), tuple(places), alone)


@contextmanager
def pointing(text: str, source: str) -> Generator[None]:
    """Adds the line and a mark under the column, as a note, to an error that is located in `text`."""
    try:
        yield
    except InarchError as error:
        found = re.fullmatch(rf"{re.escape(source)}:(\d+):(\d+)", error.where or "")
        lines = text.splitlines()
        if found is not None and int(found[1]) <= len(lines):
            line = lines[int(found[1]) - 1]
            before = re.sub(r"[^\t]", " ", line[: int(found[2]) - 1])
            error.add_note(f"  {line}\n  {before}^")
        raise


def _chunks(text: str) -> Iterator[str]:
    """The text of each meaning, behind the line ends before it, so that places in it are those in `text`."""
    before = ""
    chunk = ""
    depth = 0
    for line in text.splitlines():
        chunk += f"{line}\n"
        depth += line.count("(") + line.count("[") - line.count(")") - line.count("]")
        if depth > 0 or not chunk.strip() or chunk.rstrip()[-1] in _GOES_ON:
            continue
        yield before + chunk
        before += "\n" * chunk.count("\n")
        chunk, depth = "", 0
    if chunk.strip():
        yield before + chunk
