"""The library that a microkernel's symbol is in: where it is, what machine it is for, what it defines.

Read from the file (ELF, "System V ABI", chapter 4), so that nothing of it is executed.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Generator, Iterable
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

from inarch.core.errors import EnvironmentFault, InarchError
from inarch.machine.target import Target

_PYTHON = "python:"
_MACHINES = {3: "i386", 40: "arm", 62: "x86-64", 183: "aarch64", 243: "riscv"}
"""ELF's e_machine by the architecture's name."""
_DYNAMIC_SYMBOLS = 11
_DYNAMIC = 6
_NEEDED = 1
_PATHS = (15, 29)
"""RPATH, RUNPATH."""
_SYMBOLS, _OBJECT = 2, 1
_RELOCATABLE = 1
"""The kind of an object's file."""
_ARCHIVES = (b"!<arch>\n", b"!<thin>\n")
_WRITTEN = r"\.bss|\.data(?!\.rel\.ro)"
"""Sections of variables, but for those that are constant once they are loaded."""
_OF_START = r"completed(\.\d+)?|__dso_handle"
_UNDEFINED = 0
_CALLABLE = (0, 2, 10)
"""Symbol types: none given, function, indirect function."""


def library_path(library: str) -> Path:
    """The file that `Microkernel.library` names: a path, or `python:package/relative/path*`.

    The latter is in the folder of an installed Python package, which is found and not imported; `*` and
    `?` stand for any characters. Raises EnvironmentFault where there is no such file.
    """
    if not library.startswith(_PYTHON):
        path = Path(library).expanduser()
        if not path.is_file():
            raise EnvironmentFault(
                f"library '{library}': no such file; build it, or correct `library`"
            )
        return path.absolute()
    package, _, rest = library.removeprefix(_PYTHON).partition("/")
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        spec = None
    folders = list(spec.submodule_search_locations or []) if spec is not None else []
    if not folders:
        raise EnvironmentFault(
            f"library '{library}': the Python package '{package}' is not installed; "
            "install it, or correct `library`"
        )
    found = sorted(path for folder in folders for path in Path(folder).glob(rest)) if rest else []
    if not found:
        raise EnvironmentFault(
            f"library '{library}': the Python package '{package}' has no file {rest}; "
            "correct the path, or install a version of the package that has it"
        )
    return found[0].absolute()


def check_architecture(path: Path, target: Target) -> None:
    """Raises InarchError where a library is for another machine than `target`, or is none."""
    with path.open("rb") as file:
        head = file.read(20)
    if head.startswith(b"!<arch>\n"):
        return  # the linker says what is wrong with a static one
    if head[:4] != b"\x7fELF" or len(head) < 20:
        raise InarchError(
            f"library '{path}': expected a shared library (ELF), found another file; "
            "build it with `cc -shared -fPIC`, or correct `library`"
        )
    (machine,) = struct.unpack(">H" if head[5] == 2 else "<H", head[18:20])
    name = _MACHINES.get(machine, f"machine {machine}")
    if target.architecture not in ("generic", name):
        raise InarchError(
            f"library '{path}' is for {name}, and the target '{target}' is {target.architecture}; "
            "use a library that was built for it"
        )


def check_symbol(path: Path, symbol: str, *, where: str) -> None:
    """Raises InarchError, with the nearest name, where the library at `path` does not export `symbol`."""
    known = defined_symbols(path)
    if known is None or symbol in known:
        return
    near = nearest(symbol, known)
    hint = (
        f"; it has '{near}': write symbol=\"{near}\"" if near else "; correct `symbol` or `library`"
    )
    raise InarchError(f"no symbol '{symbol}' in library '{path}'{hint}", where=where)


def nearest(symbol: str, known: Iterable[str]) -> str | None:
    """The name that was probably meant: with a prefix or suffix added, else one spelled similarly."""
    names = sorted(known)
    longer = [name for name in names if symbol in name]
    if longer:
        # The shortest differs least; a suffix such as 64_ would mean other integers.
        return min(longer, key=lambda name: (len(name), name))
    close = get_close_matches(symbol, names, n=1)
    return close[0] if close else None


def defined_symbols(path: Path) -> frozenset[str] | None:
    """The functions that a library or an object of 64 bits has for others; None for other files.

    Of a static library the names in its index, which has variables, too; None where it has none.
    """
    data = path.read_bytes()
    is_archive = data.startswith(_ARCHIVES)
    if not is_archive and (data[:4] != b"\x7fELF" or data[4] != 2):
        return None
    order = ">" if data[5] == 2 else "<"
    try:
        return _read_index(data) if is_archive else _read_symbols(data, order)
    except (struct.error, IndexError) as error:
        raise InarchError(
            f"library '{path}' is cut short or damaged: its tables do not lie within its {len(data)} bytes; "
            "build it again"
        ) from error


def needed_by_place(path: Path) -> tuple[str, ...]:
    """The libraries that one of 64 bits needs by a path of its own (RPATH, RUNPATH, `/`).

    Those that the system finds by itself, libc among them, are not in it. Raises InarchError for a library
    that is cut short.
    """
    data = path.read_bytes()
    if data[:4] != b"\x7fELF" or data[4] != 2:
        return ()
    order = ">" if data[5] == 2 else "<"
    try:
        entries = [*_read_dynamic(data, order)]
    except (struct.error, ValueError, IndexError) as error:
        raise InarchError(
            f"library '{path}' is cut short or damaged: its tables do not lie within its {len(data)} bytes; "
            "build it again"
        ) from error
    names = [name for tag, name in entries if tag == _NEEDED]
    searched = [part for tag, text in entries if tag in _PATHS for part in text.split(":") if part]
    origin = [re.sub(r"\$ORIGIN|\$\{ORIGIN\}", str(path.parent), part) for part in searched]
    return tuple(
        name
        for name in names
        if "/" in name or any(Path(folder, name).is_file() for folder in origin)
    )


def _read_dynamic(data: bytes, order: str) -> Generator[tuple[int, str]]:
    """Tag and text of the dynamic entries that have one: by their section, and that of names."""
    (sections_at,) = struct.unpack_from(f"{order}Q", data, 40)
    entry_bytes, count = struct.unpack_from(f"{order}HH", data, 58)
    section = struct.Struct(f"{order}IIQQQQIIQQ")
    sections = [section.unpack_from(data, sections_at + i * entry_bytes) for i in range(count)]
    for words in sections:
        _, kind, _, _, offset, size, link, *_ = map(int, words)
        if kind != _DYNAMIC:
            continue
        names_at = sections[link][4]
        for at in range(offset, offset + size, 16):
            tag, name = struct.unpack_from(f"{order}qQ", data, at)
            if tag in (_NEEDED, *_PATHS):
                end = data.index(b"\0", names_at + name)
                yield tag, data[names_at + name : end].decode(errors="replace")


def written_variables(path: Path) -> dict[str, int]:
    """Variables of a shared library of 64 bits that code may write, with their bytes; but for a thread's own.

    Of one that has its table of symbols. Those of the compiler's start files are left out.
    """
    data = path.read_bytes()
    if data[:4] != b"\x7fELF" or data[4] != 2:
        return {}
    order = ">" if data[5] == 2 else "<"
    sections = _read_sections(data, order)
    (named_by,) = map(int, struct.unpack_from(f"{order}H", data, 62))
    names = sections[named_by][4]
    found: dict[str, int] = {}
    for _, kind, _, _, offset, size, link, _, _, each in sections:
        if kind != _SYMBOLS:
            continue
        for at in range(offset, offset + size, each):
            words = struct.unpack_from(f"{order}IBBHQQ", data, at)
            name, info, _, index, _, nbytes = map(int, words)
            if info & 15 != _OBJECT or not nbytes or index >= len(sections):
                continue
            symbol = _text_at(data, sections[link][4] + name)
            place = _text_at(data, names + sections[index][0])
            if re.match(_WRITTEN, place) and not re.fullmatch(_OF_START, symbol):
                found[symbol] = nbytes
    return found


def _text_at(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode(errors="replace")


def _read_sections(data: bytes, order: str) -> list[tuple[int, ...]]:
    (sections_at,) = struct.unpack_from(f"{order}Q", data, 40)
    entry_bytes, count = struct.unpack_from(f"{order}HH", data, 58)
    section = struct.Struct(f"{order}IIQQQQIIQQ")
    return [section.unpack_from(data, sections_at + i * entry_bytes) for i in range(count)]


def _read_index(data: bytes) -> frozenset[str] | None:
    """Of an archive's first member, as GNU's and LLVM's `ar` write it: a number of offsets, then names."""
    name, size = data[8:24].rstrip(), data[56:66]
    if name not in (b"/", b"/SYM64/") or not size.strip().isdigit():
        return None
    content = data[68 : 68 + int(size)]
    word = 8 if name == b"/SYM64/" else 4
    (count,) = struct.unpack_from(">Q" if word == 8 else ">I", content)
    names = content[word * (1 + count) :].split(b"\0")
    if len(content) != int(size) or len(names) <= count:
        raise IndexError
    return frozenset(one.decode(errors="replace") for one in names[:count]) or None


def _read_symbols(data: bytes, order: str) -> frozenset[str] | None:
    sections = _read_sections(data, order)
    (kind_of_file,) = struct.unpack_from(f"{order}H", data, 16)
    table = _SYMBOLS if kind_of_file == _RELOCATABLE else _DYNAMIC_SYMBOLS
    for section_words in sections:
        _, kind, _, _, offset, size, link, _, _, each = section_words
        if kind != table:
            continue
        names_at = sections[link][4]
        symbol = struct.Struct(f"{order}IBBHQQ")
        found: set[str] = set()
        for at in range(offset, offset + size, each):
            name, info, _, index, _, _ = symbol.unpack_from(data, at)
            if index != _UNDEFINED and info & 15 in _CALLABLE and info >> 4:
                found.add(_text_at(data, names_at + name))
        return frozenset(found)
    return None
