"""Compiles libinarch and inarch-run into a folder: include/, lib/libinarch.a, bin/inarch-run."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from inarch.core.cache import replacing
from inarch.core.errors import EnvironmentFault
from inarch.core.scratch import scratch
from inarch.machine.compilers import Compiler, find_compiler, first_error, run_compiler
from inarch.runtime.c import FLAGS, INCLUDE, LIBS, sources, tool_sources

_SECONDS = 120.0


def install(folder: Path, compiler: Compiler | None = None) -> list[Path]:
    """The files that it wrote, each whole or not at all.

    Raises EnvironmentFault when there is no compiler or no `ar`, one of them fails, or `folder` cannot be
    written.
    """
    compiler = compiler or find_compiler()
    headers = sorted(INCLUDE.iterdir())
    library, tool = folder / "lib" / "libinarch.a", folder / "bin" / "inarch-run"
    for path in (*(folder / "include" / header.name for header in headers), library, tool):
        _make_folder(path)  # before anything takes time
    with scratch("inarch-install-") as work:
        objects = _compile(compiler, sources(), work)
        _run([*_archiver(compiler), "rcs", "libinarch.a", *objects], work)
        of_tool = _compile(compiler, tool_sources(), work)
        _run([*compiler.command, *of_tool, "libinarch.a", *LIBS, "-o", "inarch-run"], work)
        made = {folder / "include" / header.name: header for header in headers}
        made |= {library: work / "libinarch.a", tool: work / "inarch-run"}
        for path, source in made.items():
            _put(source, path)
    tool.chmod(tool.stat().st_mode | 0o111)
    return list(made)


def _compile(compiler: Compiler, files: Sequence[Path], work: Path) -> list[str]:
    objects = [f"{file.parent.name}-{file.stem}.o" for file in files]
    for file, made in zip(files, objects, strict=True):
        _run([*compiler.command, *FLAGS, f"-I{INCLUDE}", "-c", str(file), "-o", made], work)
    return objects


def _archiver(compiler: Compiler) -> list[str]:
    if compiler.kind == "zig":
        return [*compiler.command[:-1], "ar"]
    # Of a cross compiler its own: that of this machine may not know such objects.
    before, gcc, after = compiler.command[0].rpartition("gcc")
    found = (shutil.which(f"{before}ar{after}") if gcc else None) or shutil.which("ar")
    if found is None:
        raise EnvironmentFault(
            "expected the program 'ar' to make a library, found none; install binutils"
        )
    return [found]


def _run(command: Sequence[str], work: Path) -> None:
    status, output = run_compiler(command, work, _SECONDS)
    if status != 0:
        raise EnvironmentFault(f"'{command[0]}' failed: {first_error(output, status)}")


def _make_folder(path: Path) -> None:
    """The one that `path` is to be in."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFault(f"cannot write '{path}': {error.strerror}") from error


def _put(source: Path, path: Path) -> None:
    with replacing(path) as file:
        file.write(source.read_bytes())
