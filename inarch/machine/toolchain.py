"""A shared library from C, with a C compiler of this machine.

Each translation unit is compiled to an object in parallel and kept by content (source, compiler and
its version, flags, target), as is the linked library. Equal input gives an equal library: names are
relative, there is no build id, and objects are linked in the order of their names.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import ClassVar, Literal

from inarch.core.cache import Cache, default_cache, failure_folder, key_of, replacing
from inarch.core.errors import EnvironmentFault, InarchError
from inarch.core.scratch import scratch
from inarch.machine.compilers import (
    FULL,
    Compiler,
    check_disk,
    compiler_for,
    find_compiler,
    first_error,
    full_disk,
    looked_at,
    run_compiler,
)
from inarch.machine.flags import common_flags
from inarch.machine.target import Target

__all__ = [
    "Compiler",
    "CompilerError",
    "compile_library",
    "find_compiler",
    "run_compiler",
]

Progress = Callable[[int, int, str], None]
"""Called as `progress(done, total, name)` after each unit, from the calling thread."""

_LINK_FLAGS = ("-shared", "-Wl,--build-id=none", "-Wl,--as-needed")
_ALL_DEFINED = "-Wl,-z,defs"

_STEM_BYTES = 180
"""Of a unit's file name, which may have 255 with all that is added."""

_FORMAT = "3"
"""Part of every key: changes when this file makes something else of the same input."""


class CompilerError(InarchError):
    """The C compiler refused our code, or died. `folder` keeps the source and a log.

    `unit` is the translation unit that it refused; None when it could not link. `reason` is what it said.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, *, folder: Path, unit: str | None, reason: str) -> None:
        super().__init__(message)
        self.folder = folder
        self.unit = unit
        self.reason = reason

    def log(self) -> str:
        """The command and all that it printed."""
        return (self.folder / "log.txt").read_text(errors="replace")


def compile_library(
    units: Mapping[str, str],
    out: Path,
    *,
    target: Target,
    compiler: Compiler | None = None,
    flags: Sequence[str] = (),
    unit_flags: Mapping[str, Sequence[str]] | None = None,
    libraries: Sequence[str] = (),
    jobs: int | None = None,
    exports: str | None = None,
    names: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    cache: Cache | None = None,
    timeout: float = 600.0,
) -> None:
    """Compiles `units` (C source by file name) and links them to the shared library `out`.

    Only symbols of default visibility are exported, and every symbol must be defined: in a unit,
    in libm, libpthread, libdl, or in `libraries`: names (`cblas`) or absolute paths. A shared library given
    by its path is opened from that path again, or from what `names` has for it: not from where a search finds
    its name, nor in place of one of the same name that the process has opened before. `flags` are added to
    each compilation, `unit_flags` to those of single units; paths in them must be absolute. `exports`
    (`net_*`) hides every other symbol, also those of static libraries and objects. `jobs`
    is the number of compilers at once (as many as this process may use CPUs), `timeout` the seconds
    that each may take.

    Raises CompilerError when a unit does not compile or link; EnvironmentFault when there is no
    compiler, `out` cannot be written, or a disk is full.
    """
    own_flags = {name: tuple(own) for name, own in (unit_flags or {}).items()}
    build = _Build(
        compiler or compiler_for(target),
        target,
        tuple(flags),
        own_flags,
        cache or default_cache(),
        timeout,
        names or {},
    )
    try:
        content = _content(build, units, libraries, jobs or _cpus(), exports, progress)
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise full_disk(os.strerror(error.errno)) from error
    with replacing(out) as file:
        file.write(content)


def _content(
    build: _Build,
    units: Mapping[str, str],
    libraries: Sequence[str],
    jobs: int,
    exports: str | None,
    progress: Progress | None,
) -> bytes:
    """The linked library, from the cache or made."""
    with scratch("inarch-build-") as folder:
        keys = {name: build.unit_key(name, source, folder) for name, source in units.items()}
        needed = [f"{path} {name}" for path, name in sorted(build.names.items())]
        link = [*_LINK_FLAGS, *_library_flags(libraries), f"exports {exports}", *needed]
        made_of = [keys[name] for name in sorted(keys)]
        key = key_of("library", build.identity, *made_of, *link, *_contents(libraries))
        content = build.cache.get(key)
        if content is None:
            objects = build.objects(units, keys, folder, jobs, progress)
            content = build.link(objects, libraries, folder, exports)
            build.cache.put(key, content)
    return content


@dataclass(frozen=True)
class _Build:
    """What all steps of one `compile_library` share."""

    compiler: Compiler
    target: Target
    extra: tuple[str, ...]
    unit_flags: Mapping[str, tuple[str, ...]]
    cache: Cache
    timeout: float
    names: Mapping[str, str]
    """What the library needs, by the path of what it is linked with."""
    stop: Event = field(default_factory=Event)
    """Set when one step has failed: compilers that still run are ended."""

    @property
    def flags(self) -> list[str]:
        return [*common_flags(self.compiler, self.target), *self.extra]

    @property
    def identity(self) -> str:
        compiler = self.compiler
        return key_of(
            _FORMAT,
            *compiler.command,
            compiler.version,
            compiler.program,
            *looked_at(),
            *self.flags,
        )

    def unit_key(self, name: str, source: str, folder: Path) -> str:
        """What the object depends on, the text of files that the source includes among it."""
        text = source
        own = self.unit_flags.get(name, ())
        given = (*self.extra, *own)
        searched = any(os.environ.get(name) for name in ("CPATH", "C_INCLUDE_PATH"))
        if (
            searched
            or '#include "' in source
            or any(flag.startswith(("-I", "-i")) for flag in given)
        ):
            place = _place(folder, name, source, "expand")
            self._run([*self.flags, *own, "-E", "-P", "-x", "c", place.name, "-o", "out.i"], place)
            text = (place.parent / "out.i").read_text(errors="surrogateescape")
            shutil.rmtree(place.parent)
        return key_of("object", self.identity, name, *own, text.encode(errors="surrogateescape"))

    def objects(
        self,
        units: Mapping[str, str],
        keys: Mapping[str, str],
        folder: Path,
        jobs: int,
        progress: Progress | None,
    ) -> list[Path]:
        """The compiled units, sorted by name. The longest begin first: none of them is left to the end."""
        order = sorted(units, key=lambda name: (-len(units[name]), name))
        pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="inarch-cc")
        try:  # from before the first unit on: Ctrl-C comes at any time
            running = {
                pool.submit(self._object, name, units[name], keys[name], folder, number): name
                for number, name in enumerate(order)
            }
            for done, future in enumerate(as_completed(running), 1):
                future.result()
                if progress is not None:
                    progress(done, len(running), running[future])
        except BaseException:
            self.stop.set()  # a unit may take many seconds yet
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        return [future.result() for future, _ in sorted(running.items(), key=lambda item: item[1])]

    def link(
        self, objects: Sequence[Path], libraries: Sequence[str], folder: Path, exports: str | None
    ) -> bytes:
        """The linked library, after every symbol has been found in `libraries`."""
        listing = folder / "link.txt"
        listing.write_text("\n".join(str(path) for path in objects))
        names = [str(path.relative_to(folder)) for path in objects]
        start = [*self.compiler.cflags(self.target), *names, *_LINK_FLAGS]
        end = ["-o", "out.so"]
        if exports is not None:
            (folder / "exports.map").write_text(f"{{ global: {exports}; local: *; }};\n")
            start.append("-Wl,--version-script=exports.map")
        self._run([*start, _ALL_DEFINED, *_library_flags(libraries), *end], listing)
        shared = [name for name in libraries if _is_shared(name)]
        if shared:
            # A linker records a library's own name (SONAME), by which the dynamic loader takes any
            # that is already there. Empty stand-ins that have other names (the paths, or what `names`
            # says) make it record those.
            others = [name for name in libraries if name not in shared]
            stubs = [self._stand_in(name, folder, index) for index, name in enumerate(shared)]
            flags = [*_library_flags(others), "-Wl,--no-as-needed", *stubs]
            self._run([*start, *flags, *end], listing)
        return (folder / "out.so").read_bytes()

    def _stand_in(self, library: str, folder: Path, index: int) -> str:
        """An empty shared library that is called as `library` is to be needed: its path in `folder`."""
        source, name = folder / f"empty{index}.c", f"libempty{index}.so"
        source.write_text("typedef int empty;\n")
        flags = ["-shared", "-nostdlib", "-fPIC", f"-Wl,-soname,{self.names.get(library, library)}"]
        self._run([*self.compiler.cflags(self.target), *flags, source.name, "-o", name], source)
        return name

    def _object(self, name: str, source: str, key: str, folder: Path, number: int) -> Path:
        place = _place(folder, name, source, str(number))
        path = place.with_suffix(".o")
        content = self.cache.get(key)
        if content is not None:
            path.write_bytes(content)
            return path
        # What looks like debug information says where it was compiled.
        own = (*self.unit_flags.get(name, ()), f"-ffile-prefix-map={place.parent}=.")
        self._run([*self.flags, *own, "-x", "c", "-c", place.name, "-o", path.name], place)
        self.cache.put(key, path.read_bytes())
        return path

    def _run(self, arguments: Sequence[str], source: Path) -> None:
        """Runs the compiler beside `source`; on failure keeps that file and the log, and raises."""
        command = [*self.compiler.command, *arguments]
        status, output = run_compiler(command, source.parent, self.timeout, self.stop)
        made = source.parent / arguments[-1]
        if status == 0 and made.exists():
            return
        check_disk(output)
        folder = self._keep(source, f"{shlex.join(command)}\n\n{output}\n", *command, output)
        unit = None if source.name == "link.txt" else source.name
        what = "cannot link" if unit is None else f"refused '{unit}'"
        reason = first_error(output, status)
        if status == 0:
            what, reason = f"wrote no output for '{source.name}'", f"expected '{made.name}'"
        reason += self._advice()
        raise CompilerError(
            f"{self._called()} {what}: {reason}; source, command and output are in {folder}",
            folder=folder,
            unit=unit,
            reason=reason,
        )

    def _keep(self, source: Path, log: str, *parts: str) -> Path:
        """A folder with what the compiler was given and said: in the cache, else a temporary one."""
        folder = failure_folder(self.cache.folder, *parts)
        try:
            shutil.copy(source, folder)
            (folder / "log.txt").write_text(log)
        except OSError:  # its disk is full
            folder = Path(tempfile.mkdtemp(prefix="inarch-failed-"))
            shutil.copy(source, folder)
            (folder / "log.txt").write_text(log)
        return folder

    def _called(self) -> str:
        """The compiler in messages: its family, and the command where that says something else."""
        program = Path(self.compiler.command[0]).name
        kind = self.compiler.kind
        return kind if kind in program or kind == "zig" else f"the compiler '{program}'"

    def _advice(self) -> str:
        """What to do where the compiler is for another architecture than the target."""
        wanted, here = self.target.architecture, platform.machine()
        if wanted in ("generic", _ARCHITECTURES.get(here, here)) or self.compiler.kind == "zig":
            return ""
        if wanted in " ".join(self.compiler.command):
            return ""
        cross = f"{wanted.replace('-', '_')}-linux-gnu-gcc"
        return (
            f"; for the target {self.target} on {here}, install {cross}, or put another cross compiler "
            "in $CC"
        )


_ARCHITECTURES = {"AMD64": "x86-64", "x86_64": "x86-64", "arm64": "aarch64"}
"""What `platform.machine` calls the architectures of targets."""


def _place(folder: Path, name: str, source: str, subfolder: str) -> Path:
    """Writes a unit into a folder of its own, so that its name alone enters the object."""
    place = folder / subfolder
    place.mkdir()
    stem = re.sub(r"[^\w.+-]", "_", name).removesuffix(".c")
    if len(stem.encode()) > _STEM_BYTES:
        # Cut where the rest of the name says which one it is.
        cut = stem.encode()[:_STEM_BYTES].decode(errors="ignore")
        stem = f"{cut}-{key_of(name)[:16]}"
    path = place / f"{stem}.c"
    path.write_text(source)
    return path


def _library_flags(libraries: Iterable[str]) -> list[str]:
    flags: list[str] = []
    for library in libraries:
        if library.startswith("-"):
            flags.append(library)
        elif Path(library).suffix in (".a", ".o"):
            flags.append(library)  # without a trace of where it was
        elif os.sep in library:
            flags += [library, f"-Wl,-rpath,{Path(library).parent}"]
        else:
            flags.append(f"-l{library}")
    return [*flags, "-lm", "-lpthread", "-ldl"]


def _is_shared(library: str) -> bool:
    """Whether `library` is the path of a shared library in ELF."""
    if os.sep not in library or library.startswith("-"):
        return False
    with Path(library).open("rb") as file:
        head = file.read(18)
    # ELF's e_type, in its byte order: 3 is ET_DYN.
    order: Literal["little", "big"] = "big" if head[5:6] == b"\2" else "little"
    return head[:4] == b"\x7fELF" and int.from_bytes(head[16:18], order) == 3


def _contents(libraries: Iterable[str]) -> list[bytes]:
    """What stands in those `libraries` that are files: a static one becomes part of ours."""
    paths = [Path(name) for name in libraries if os.sep in name and not name.startswith("-")]
    try:
        return [path.read_bytes() for path in paths]
    except OSError as error:
        raise EnvironmentFault(f"library '{error.filename}': {error.strerror}") from error


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
