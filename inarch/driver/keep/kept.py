"""The artifact of a model that has not changed is not made again: what a command built is kept in the cache.

An entry serves where all that it was made of is as it was: the model's bytes and those of its external data,
what was asked for, the target, the C compiler, the variables that are read, every file of Inarch, every
Python file that ran, and of backends the instances with their options, versions and files, and the libraries
and headers that they named; of packages with microkernels all their files, and the CPU. What cannot be listed
is not kept: compilations with other things of other packages (but for backends that state a `version`, and
loaders), with measured regions, under watch, or with a warning, and models that are not ONNX.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import inarch
from inarch.core.cache import default_cache, key_of
from inarch.core.code import files_of
from inarch.core.errors import InarchError, UsageError
from inarch.core.groups import may_have
from inarch.core.lazy import Array, np
from inarch.core.once import cached_property
from inarch.core.outside.regular import real_path
from inarch.core.outside.value import Value
from inarch.core.scratch import scratch
from inarch.core.states import State, digest_of, is_settled, state_of
from inarch.driver.built import Built
from inarch.driver.keep.sources import sources
from inarch.driver.options import KEYED, ONLY_HOW, Options

if TYPE_CHECKING:
    from xdsl.context import Context

    from inarch.core.plugins import Extensions
    from inarch.machine.compilers import Compiler

_PREFIXES = ("INARCH_", "GCC_", "NPY_", "LD_", "PYTHON")
_VARIABLES = ("COMPILER_PATH", "LIBRARY_PATH", "CCC_OVERRIDE_OPTIONS", "SOURCE_DATE_EPOCH")
_NO_PART = (
    "INARCH_CACHE_DIR",
    "INARCH_CACHE_BYTES",
    "INARCH_NUM_THREADS",
    "INARCH_TARGET",
    "INARCH_LIBRARY_PATH",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
)
KERNELS = ("microkernels", "templates")
"""The kinds of things of which a package's files say all."""
MOST_NAMED = 500
"""Files of libraries and headers of backends."""
_HEADERS = ("CPATH", "C_INCLUDE_PATH")
"""Where these name folders of headers, nothing is kept: nobody lists what is in them."""


@dataclass(frozen=True)
class Found:
    """What an entry says of the compilation that it stands for."""

    built: Built
    pipeline: str


class Entry:
    """What is kept of one compilation: a record of what it read and made, and the artifact."""

    def __init__(self, model: Path, options: Options, kind: str = "artifact") -> None:
        self._model = model
        self._options = options
        self._kind = kind
        self._cache = default_cache()
        self._state = state_of(model)
        self._sources, self._are_settled = sources()

    @classmethod
    def of(cls, model: Path, options: Options, kind: str = "artifact") -> Entry | None:
        """The entry; None where nothing is kept. Compilations of another `kind` have entries of their own."""
        if model.suffix != ".onnx" or not is_keyed(options):
            return None
        entry = cls(model, options, kind)
        return entry if entry._are_settled and is_settled(entry._state) else None

    @cached_property
    def key(self) -> str:
        """Of the record: all that is known before the model is read."""
        return key_of(
            self._kind,
            str(self._model),
            digest_of(self._model, self._cache) or "cannot be read",
            self._sources,
            repr(_path_state()),
            *surroundings(self._options),
        )

    def restore(self, output: Path) -> Found | None:
        """Writes the artifact to `output`, where it is not there already; None where there is none."""
        try:
            data = self._cache.get(self.key)
        except (InarchError, OSError):  # no compiler, say: the compilation will tell
            return None
        if data is None:
            return None
        record: dict[str, Any] = json.loads(data)
        if any(state_of(path) != state for path, state in record["code"].items()):
            return None
        if any(digest_of(path, self._cache) != sha for path, sha in record["data"].items()):
            return None
        artifact = record["artifact"]
        if output.is_file() and digest_of(output, self._cache) == artifact:
            if output.stat().st_mtime_ns < self._model.stat().st_mtime_ns:
                os.utime(output)  # for those who go by it, such as make
        elif not self._cache.get_file(key_of("content", artifact), output):
            return None
        built = Value({**record["built"], "path": str(output)}).read(Built)
        return Found(built, record["pipeline"])

    def made(
        self, output: Path, make: Callable[[Path], Built], context: Context, pipeline: str
    ) -> Found:
        """What `make` builds for `output`; kept where no warning was given.

        It is looked at before others can write there: two compilations may have one output.
        """
        if output.exists() and not output.is_file():
            return Found(make(output), pipeline)
        home = real_path(output)
        with scratch(".inarch-", home.parent) as folder:
            path = folder / output.name
            with heard_warnings() as told:
                found = Found(make(path), pipeline)
            from inarch.frontends import FilesRead
            from inarch.ir.report.facts import facts_of

            read = facts_of(context).get(FilesRead)
            named = facts_of(context).get(FilesNamed) or FilesNamed(())
            states = named.states()
            if read is not None and states is not None and not told:
                self._keep(found, read.states, states)
            path.replace(home)
        return Found(replace(found.built, path=output), pipeline)

    def _keep(
        self,
        found: Found,
        read: Mapping[Path, State | None],
        named: Mapping[str, State | None],
    ) -> None:
        """Not where something of other packages may have had a part in it, or a file has changed since."""
        path = found.built.path
        states = {**read, self._model: self._state}
        data = {str(one): digest_of(one, self._cache) for one in read}
        if any(not is_settled(state) or state_of(one) != state for one, state in states.items()):
            return
        if sources() != (self._sources, True) or has_foreign(besides_kernels=True):
            return
        artifact = digest_of(path, self._cache)
        if artifact is None or not self._cache.put_file(key_of("content", artifact), path):
            return
        built = {each.name: getattr(found.built, each.name) for each in fields(found.built)}
        del built["path"]
        record = {
            "artifact": artifact,
            "built": built,
            "pipeline": found.pipeline,
            "code": {**_code(), **named, **_kernel_code()},
            "data": data,
        }
        self._cache.put(self.key, json.dumps(record).encode())


@dataclass(frozen=True)
class FilesNamed:
    """A fact: the libraries, and folders of headers, that backends have named."""

    paths: tuple[Path, ...]

    def states(self) -> dict[str, State | None] | None:
        """Of each file; None where they are too many to look at each time."""
        found: dict[str, State | None] = {}
        for path in self.paths:
            files = path.rglob("*") if path.is_dir() else [path]
            for file in islice(files, MOST_NAMED + 1):
                found[str(file)] = state_of(file)
        return found if len(found) <= MOST_NAMED else None


def surroundings(options: Options) -> list[str]:
    """What a compilation depends on besides its program and the code that compiles it."""
    from inarch.machine.compilers import compiler_for, find_compiler
    from inarch.machine.find import cpu_name, this_machine
    from inarch.machine.target import parse

    targets: list[str] = []
    compilers: list[Compiler] = []
    for text in options.target.split(","):
        target, compiler = text, find_compiler()
        with suppress(UsageError):  # a target of another host, or one that whoever compiles refuses
            known = parse(text)
            target, compiler = str(known), compiler_for(known)
        targets.append(target)
        compilers.append(compiler)
    variables = {
        name: text
        for name, text in sorted(os.environ.items())
        if name.startswith(_PREFIXES) or name in _VARIABLES
        if name not in _NO_PART
    }
    machine = this_machine()  # of which a compilation for this computer asks
    chosen = {name: getattr(options, name) for name in KEYED}
    chosen["backends"] = _instances(options)
    chosen["values"] = [_said(name, value) for name, value in (options.values or {}).items()]
    programs = [compiler.program for compiler in compilers]
    # Kernels of others may be measured, and what they take is that of this CPU.
    cpu = cpu_name() if may_have("inarch.microkernels") else ""
    parts = (chosen, variables, machine, compilers, programs, sys.version, cpu)
    return [inarch.__version__, *targets, *map(repr, parts)]


def _said(name: str, value: object) -> tuple[object, ...]:
    """All of a value that becomes a constant."""
    array: Array = np.asarray(value)
    return name, str(array.dtype), array.shape, sha256(array.tobytes()).hexdigest()


def is_keyed(options: Options) -> bool:
    """Whether `surroundings` has all of `options`, and of what compilers look at."""
    if not isinstance(options.pipeline, str | None) or set(options.given()) - {*KEYED, *ONLY_HOW}:
        return False
    if _instances(options) is None:
        return False
    return not any(os.environ.get(name) for name in _HEADERS)


@contextmanager
def heard_warnings() -> Generator[list[object]]:
    """The warnings that were given within the block, which are shown as ever."""
    told: list[object] = []
    show = warnings.showwarning

    def heard(*given: Any, **named: Any) -> None:
        told.append(given)
        show(*given, **named)

    with warnings.catch_warnings():
        warnings.showwarning = heard
        yield told


def _path_state() -> list[tuple[str, State | None]]:
    """The folders of packages: one that is added or replaced changes its folder.

    Others, such as that of a script, change with any file that is written there.
    """
    folders = [folder or "." for folder in sys.path]
    return [(folder, state_of(folder)) for folder in folders if _has_packages(folder)]


def _has_packages(folder: str) -> bool:
    """Whether distributions are installed there, of which things of others are found."""
    try:
        with os.scandir(folder) as entries:
            return any(entry.name.endswith((".dist-info", ".egg-info")) for entry in entries)
    except OSError:
        return False


def _code() -> dict[str, State | None]:
    """The files of all modules that were imported, but ours: xDSL's, NumPy's, Python's."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    ours = str(Path(inarch.__file__).parent)
    return {
        file: state_of(file) for file in sorted(filter(None, files)) if not file.startswith(ours)
    }


def _kernel_code() -> dict[str, State | None]:
    """The files of packages with microkernels, and the folders, which change where one comes or goes."""
    from inarch.driver.extensions import kinds

    modules = [
        origin.module
        for kind in KERNELS
        for name, origin in kinds()[kind].foreign()
        if name not in kinds()[kind].loaded
    ]
    files = files_of(modules)
    return {str(path): state_of(path) for path in (*files, *{file.parent for file in files})}


def _instances(options: Options) -> list[object] | None:
    """What is known of the backends that may have a part; None where one says no version, or is wrong."""
    if not (options.backends or options.backend_options or options.give or options.keep):
        return []
    from inarch.backends import BACKENDS

    try:
        offload = options.offload()
        asked = [*offload.asked().values(), *offload.others()]
    except InarchError:  # the compilation will tell
        return None
    others = {text.rpartition("=")[2] for text in options.give} - {one.name for one in asked}
    names = [*(one.backend.name for one in asked), *others]
    foreign = dict(BACKENDS.foreign())
    known: list[object] = [str(one) for one in asked]
    for name in names:
        if name not in BACKENDS or (name in foreign and not BACKENDS[name].version):
            return None
        path = BACKENDS.origin(name).source
        known.append((name, BACKENDS[name].version, path, state_of(path)))
    return known


def has_foreign(*, besides_kernels: bool = False) -> bool:
    """Whether there is anything that is not ours: it may read what it likes.

    But for backends that state a version, which say so that it does not change what they do, and loaders;
    `besides_kernels`: and microkernels of installed packages, for who has the files of these in a key.
    """
    from inarch.driver.extensions import kinds

    return any(
        not _is_versioned(name, kind, table)
        for kind, table in kinds().items()
        for name, _ in table.foreign()
        if not (besides_kernels and kind in KERNELS and name not in table.loaded)
    )


def _is_versioned(name: str, kind: str, table: Extensions[object]) -> bool:
    if kind == "loaders":
        return True
    from inarch.backends import Backend

    found = table[name] if kind == "backends" else None
    return isinstance(found, Backend) and found.version != ""
