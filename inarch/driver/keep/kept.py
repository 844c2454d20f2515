"""The artifact of a model that has not changed is not made again: what a command built is kept in the cache.

An entry serves where all that it was made of is as it was: the model's bytes and those of its external data,
what was asked for, the target, the C compiler, the variables that are read, every file of Inarch, and every
Python file that ran. What cannot be listed is not kept: compilations with `--load`, with backends, with
things of other packages, under watch, or with a warning, and models that are not ONNX.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import inarch
from inarch.core.cache import default_cache, key_of
from inarch.core.errors import InarchError
from inarch.core.states import State, digest_of, is_settled, state_of
from inarch.driver.built import Built
from inarch.driver.keep.sources import sources

if TYPE_CHECKING:
    from xdsl.context import Context

    from inarch.driver.options import Options

KEYED = (
    "shapes",
    "dims",
    "target",
    "name",
    "microkernels",
    "checked",
    "threads",
    "pipeline",
    "places",
)
"""The options that are in the key, as text; with any other one that is given nothing is kept."""
HOW = ("jobs", "timeout")
"""Those that say how a compilation runs, and change nothing of what it makes."""

_PREFIXES = ("INARCH_", "GCC_", "NPY_", "LD_", "PYTHON")
_VARIABLES = ("COMPILER_PATH", "LIBRARY_PATH", "CCC_OVERRIDE_OPTIONS", "SOURCE_DATE_EPOCH")
_NO_PART = (
    "INARCH_CACHE_DIR",
    "INARCH_CACHE_BYTES",
    "INARCH_NUM_THREADS",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
)
_HEADERS = ("CPATH", "C_INCLUDE_PATH")
"""Where these name folders of headers, nothing is kept: nobody lists what is in them."""


@dataclass(frozen=True)
class Found:
    """What an entry says of the compilation that it stands for."""

    built: Built
    pipeline: str


class Entry:
    """What is kept of one compilation: a record of what it read and made, and the artifact."""

    def __init__(self, model: Path, options: Options) -> None:
        self._model = model
        self._options = options
        self._cache = default_cache()
        self._state = state_of(model)
        self._sources, self._are_settled = sources()

    @classmethod
    def of(cls, model: Path, options: Options) -> Entry | None:
        """The entry; None where nothing is kept."""
        if not isinstance(options.pipeline, str | None) or set(options.given()) - {*KEYED, *HOW}:
            return None
        if model.suffix != ".onnx" or any(os.environ.get(name) for name in _HEADERS):
            return None
        entry = cls(model, options)
        return entry if entry._are_settled and is_settled(entry._state) else None

    @cached_property
    def _key(self) -> str:
        """Of the record: all that is known before the model is read."""
        from inarch.machine.compilers import find_compiler
        from inarch.machine.find import measured_machine
        from inarch.machine.target import native

        compiler = find_compiler()
        target = native() if self._options.target == "native" else self._options.target
        options = {name: getattr(self._options, name) for name in KEYED}
        variables = {
            name: text
            for name, text in sorted(os.environ.items())
            if name.startswith(_PREFIXES) or name in _VARIABLES
            if name not in _NO_PART
        }
        machine = measured_machine()  # of which a compilation for this computer asks
        parts = (
            options,
            variables,
            machine,
            compiler,
            compiler.program,
            sys.version,
            _path_state(),
        )
        return key_of(
            "artifact",
            inarch.__version__,
            str(target),
            str(self._model),
            digest_of(self._model, self._cache) or "cannot be read",
            self._sources,
            *map(repr, parts),
        )

    def restore(self, output: Path) -> Found | None:
        """Writes the artifact to `output`, where it is not there already; None where there is none."""
        try:
            data = self._cache.get(self._key)
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
        return Found(Built(path=output, **record["built"]), record["pipeline"])

    def made(
        self, output: Path, make: Callable[[Path], Built], context: Context, pipeline: str
    ) -> Found:
        """What `make` builds for `output`; kept where no warning was given.

        It is looked at before others can write there: two compilations may have one output.
        """
        if output.exists() and not output.is_file():
            return Found(make(output), pipeline)
        home = output.resolve()
        with tempfile.TemporaryDirectory(prefix=".inarch-", dir=home.parent) as folder:
            path = Path(folder) / output.name
            with _warnings() as told:
                found = Found(make(path), pipeline)
            from inarch.frontends import FilesRead
            from inarch.ir.report.facts import facts_of

            read = facts_of(context).get(FilesRead)
            if read is not None and not told:
                self._keep(found, read.states)
            path.replace(home)
        return Found(replace(found.built, path=output), pipeline)

    def _keep(self, found: Found, read: Mapping[Path, State | None]) -> None:
        """Not where something of other packages may have had a part in it, or a file has changed since."""
        path = found.built.path
        states = {**read, self._model: self._state}
        data = {str(one): digest_of(one, self._cache) for one in read}
        if any(not is_settled(state) or state_of(one) != state for one, state in states.items()):
            return
        if sources() != (self._sources, True) or _has_foreign():
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
            "code": _code(),
            "data": data,
        }
        self._cache.put(self._key, json.dumps(record).encode())


@contextmanager
def _warnings() -> Generator[list[object]]:
    """The warnings that were given within the block, which are shown as ever."""
    told: list[object] = []
    show = warnings.showwarning

    def heard(*given: Any) -> None:
        told.append(given)
        show(*given)

    with warnings.catch_warnings():
        warnings.showwarning = heard
        yield told


def _path_state() -> list[tuple[str, State | None]]:
    """The folders of packages: one that is added or replaced changes its folder."""
    return [(folder, state_of(folder or ".")) for folder in sys.path]


def _code() -> dict[str, State | None]:
    """The files of all modules that were imported, but ours: xDSL's, NumPy's, Python's."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    ours = str(Path(inarch.__file__).parent)
    return {
        file: state_of(file) for file in sorted(filter(None, files)) if not file.startswith(ours)
    }


def _has_foreign() -> bool:
    """Whether there is anything that is not ours: it may read what it likes."""
    from inarch.driver.extensions import kinds

    return any(True for table in kinds().values() for _ in table.foreign())
