"""C that backends emitted: its translation units, and what the compiler's complaints mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from inarch.backends.emitted import Emitted, Site
from inarch.core.errors import InarchError
from inarch.machine.libraries import defined_symbols, nearest
from inarch.machine.toolchain import CompilerError
from inarch.microkernel.code import include_flags

INCLUDE = Path(__file__).parents[2] / "runtime" / "include"
"""The folder of `inarch.h`."""

_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`'\"]?([\w.$]+)")
_TWICE = re.compile(r"(?:multiple definition of|duplicate symbol:) [`'\"]?([\w.$]+)")
_WITHIN = re.compile(r"(?:in function [`']|\.o:\()(\w+)")


@dataclass(frozen=True)
class LinkedUnits:
    """What `compile_library` needs for the C of backends."""

    units: dict[str, str]
    flags: dict[str, tuple[str, ...]]
    libraries: tuple[str, ...]


def linked_units(emitted: Sequence[Emitted]) -> LinkedUnits:
    """One translation unit for each backend that emitted C, with its flags and libraries."""
    linked = [one for one in emitted if one.is_linked]
    return LinkedUnits(
        {_unit(one): one.emission.text for one in linked},
        {_unit(one): _flags(one) for one in linked},
        tuple(
            dict.fromkeys(
                str(Path(library).absolute())
                for one in linked
                for library in one.emission.libraries
            )
        ),
    )


def _unit(emitted: Emitted) -> str:
    """No identifier, so that no kernel's file can have the name."""
    return f"offload-{emitted.backend}.c"


def _flags(emitted: Emitted) -> tuple[str, ...]:
    folders = (*map(Path, emitted.emission.include_dirs), INCLUDE)
    return (*include_flags(folders), *emitted.emission.cflags)


def explained(error: CompilerError, emitted: Sequence[Emitted]) -> InarchError:
    """`error` as that of the backend whose C caused it; as it is when none did."""
    linked = [one for one in emitted if one.is_linked]
    for one in linked:
        if error.unit == _unit(one):
            return one.error(
                f"its C does not compile: {error.reason}; source, command and output are in "
                f"{error.folder}"
            )
    return (_of_the_linker(error, linked) if error.unit is None else None) or error


def _of_the_linker(error: CompilerError, linked: Sequence[Emitted]) -> InarchError | None:
    log = f"the log is {error.folder / 'log.txt'}"
    lines = error.log().splitlines()[1:]
    for number, line in enumerate(lines):
        match = _UNDEFINED.search(line) or _TWICE.search(line)
        if match is None:
            continue
        symbol = match[1]
        # ld names the object on this line or the one before, lld on the two that follow.
        around = [line, *lines[max(0, number - 1) : number], *lines[number + 1 : number + 3]]
        for one in linked:
            if match.re is _UNDEFINED and symbol in one.emission.symbols:
                return one.error(
                    f"expected its C to define 'int32_t {symbol}(void *self, DLTensor *args, "
                    f"int32_t n)', found none; {log}",
                    [site for site in one.sites if site.symbol == symbol],
                )
        culprit = _mentioned(around, linked)
        if culprit is None:
            continue
        if match.re is _TWICE:
            return culprit.error(
                f"its C defines '{symbol}', which is defined elsewhere as well; make it static; {log}"
            )
        searched = ", ".join(["libm", "libpthread", *map(str, culprit.emission.libraries)])
        near = nearest(symbol, _defined(culprit.emission.libraries))
        hint = (
            f"there is '{near}'" if near else "define it, or name its library in Emission.libraries"
        )
        return culprit.error(
            f"its C uses '{symbol}', which nothing defines; libraries searched: {searched}; {hint}; {log}",
            _sites_of(culprit, [*reversed(lines[:number]), *around]),
        )
    return None


def _defined(libraries: Iterable[Path | str]) -> set[str]:
    """What libraries that are files have for others."""
    paths = filter(Path.is_file, map(Path, libraries))
    return {symbol for path in paths for symbol in defined_symbols(path) or ()}


def _mentioned(lines: Sequence[str], linked: Sequence[Emitted]) -> Emitted | None:
    """The emission whose unit the lines name first."""
    for line in lines:
        for one in linked:
            if _unit(one) in line or _unit(one).removesuffix(".c") + ".o" in line:
                return one
    return None


def _sites_of(emitted: Emitted, lines: Sequence[str]) -> list[Site]:
    """The site of the C function that the lines name first, if it is that of one."""
    names = [match[1] for line in lines if (match := _WITHIN.search(line)) is not None]
    return [
        site
        for site in emitted.sites
        if names and re.fullmatch(rf"{site.symbol}(_[a-z]*)?", names[0])
    ]
