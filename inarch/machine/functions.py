"""The code of a shared library by function, read from its symbol table (ELF, "System V ABI", chapter 4)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from inarch.core.errors import InarchError

_ALL_SYMBOLS = 2
_PROGRAM_BITS = 1
_FUNCTION = 2
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


def function_code(library: memoryview, where: str) -> dict[str, bytes]:
    """The machine code of each function that a little-endian library of 64 bits defines, hidden ones too.

    Nothing of other files, or of one that was stripped. Raises InarchError for tables that are damaged.
    """
    if bytes(library[:6]) != b"\x7fELF\x02\x01":
        return {}
    try:
        return dict(_functions(library))
    except (struct.error, IndexError, ValueError) as error:
        raise InarchError(
            "the library is damaged: its tables do not lie within it", where=where
        ) from error


def _functions(library: memoryview) -> Iterator[tuple[str, bytes]]:
    (start,) = struct.unpack_from("<Q", library, 40)
    each, count = struct.unpack_from("<HH", library, 58)
    sections = [_integers(_SECTION, library, start + i * each) for i in range(count)]
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind != _ALL_SYMBOLS:
            continue
        names_at, names_bytes = sections[link][4:6]
        names = bytes(library[names_at : names_at + names_bytes])
        for at in range(offset, offset + size, _SYMBOL.size):
            name, info, _, index, value, nbytes = _integers(_SYMBOL, library, at)
            if info & 15 != _FUNCTION or not 0 < index < count or not nbytes:
                continue
            holds, address, place, room = (sections[index][i] for i in (1, 3, 4, 5))
            if holds != _PROGRAM_BITS or not 0 <= value - address <= room - nbytes:
                continue
            text = names[name : names.index(b"\0", name)].decode(errors="replace")
            begin = place + value - address
            yield text, bytes(library[begin : begin + nbytes])


def _integers(layout: struct.Struct, data: memoryview, at: int) -> tuple[int, ...]:
    return tuple(map(int, layout.unpack_from(data, at)))
