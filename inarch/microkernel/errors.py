"""What the C compiler and the linker say about microkernels, as errors that name the kernel."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from inarch.core.errors import InarchError
from inarch.machine.libraries import defined_symbols, library_path, nearest
from inarch.machine.toolchain import CompilerError
from inarch.microkernel.code import KernelCode

_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`'\"]?([\w.$]+)")


def kernel_error(error: CompilerError, units: Mapping[str, Sequence[KernelCode]]) -> InarchError:
    """`error` as that of the microkernel that caused it; as it is where none did.

    `units` are the microkernels whose C is in each translation unit, by file name.
    """
    if error.unit is not None:
        kernels = units.get(error.unit, ())
        if not kernels:
            return error
        return InarchError(
            f"its C does not compile: {error.reason}; source, command and output are in "
            f"{error.folder}",
            where=kernels[0].label,
        )
    lines = error.log().splitlines()[1:]
    for number, line in enumerate(lines):
        match = _UNDEFINED.search(line)
        if match is None:
            continue
        # ld names the object on this line or the one before, lld on the two that follow.
        around = [line, *lines[max(0, number - 1) : number], *lines[number + 1 : number + 3]]
        kernel = _culprit(match[1], around, units)
        if kernel is not None:
            return _missing(kernel, match[1], error.folder)
    kernels = [kernel for each in units.values() for kernel in each if kernel.library is not None]
    if len({kernel.library for kernel in kernels}) == 1:
        return InarchError(
            f"library '{kernels[0].library}' cannot be linked: {error.reason}; the log is "
            f"{error.folder / 'log.txt'}",
            where=kernels[0].label,
        )
    return error


def _culprit(
    symbol: str, lines: Sequence[str], units: Mapping[str, Sequence[KernelCode]]
) -> KernelCode | None:
    """The kernel that calls `symbol`, or the first one of the unit that the lines name."""
    for kernels in units.values():
        for kernel in kernels:
            if kernel.symbol == symbol:
                return kernel
    for line in lines:
        for unit, kernels in units.items():
            if kernels and (unit in line or f"{unit.removesuffix('.c')}.o" in line):
                return kernels[0]
    return None


def _missing(kernel: KernelCode, symbol: str, folder: Path) -> InarchError:
    names = [kernel.library] if kernel.library is not None else []
    names += kernel.libraries
    known: set[str] = set()
    for name in names:
        if os.sep in name or name.startswith("python:"):
            known |= defined_symbols(library_path(name)) or frozenset()
    near = nearest(symbol, known)
    hint = f"there is '{near}'" if near else "define it, or name its library"
    searched = ", ".join([*names, "libm", "libpthread", "libc"])
    return InarchError(
        f"no symbol '{symbol}' in the libraries searched: {searched}; {hint}; the log is "
        f"{folder / 'log.txt'}",
        where=kernel.label,
    )
