"""Finding things by their file.

Whatever one can add to Inarch (a pass, a backend, a microkernel, ...) is one module that defines one
well-known constant. The module's name is the thing's name, so `backends/cblas/__init__.py`, which
defines `BACKEND`, is the backend `cblas`. Other distributions add theirs under the entry-point
group named like our package; `--load file.py` adds those of one file for one run.

`INARCH_PLUGINS=none` in the environment leaves out those of other distributions: for tests, and to find
out whether one of them is at fault.

Nothing is imported before it is asked for, and a broken or clashing thing raises only when *its* name
is used, so one bad plugin never disables the rest.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import ModuleSpec
from itertools import count
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Generic, TypeVar, cast

from inarch.core.errors import InarchError, UsageError, unknown, without_compiler
from inarch.core.groups import entry_points_of
from inarch.core.once import cached_property

T_co = TypeVar("T_co", covariant=True)

OURS = "inarch"
"""The package whose code is ours."""

API_VERSION = 1
"""The `api` field that public dataclasses (Backend, Loader, Microkernel, ...) carry."""


@dataclass(frozen=True)
class Origin:
    """Where a thing of one name comes from: a `module`, and the `constant` in it."""

    module: str
    constant: str
    source: str
    """What a person recognises: a module path, `entry point of DIST`, or the path of a loaded file."""
    path: Path | None = None
    """The file that it is, where that is not a Python module."""


class Extensions(Mapping[str, T_co], Generic[T_co]):
    """The things of one kind, by name; each is imported when it is first asked for.

    Things are the modules and packages directly in `group`, or with `in_rooms` in the packages of it, whose
    text defines `constant` at the left margin; the others help them.
    """

    def __init__(
        self,
        group: str,
        constant: str,
        *,
        in_rooms: bool = False,
        more: tuple[str, ...] = (),
        one_name: bool = False,
        class_suffix: str = "",
        entry_group: str | None = None,
        readers: Mapping[str, Callable[[Path], object]] | None = None,
        check: Callable[[object, str], object] | None = None,
    ) -> None:
        """`more` are further packages of things: those of a higher layer, found by name as a plugin's are.

        `class_suffix`: a thing is a class, which needs no constant where it is called as the file, with this
        behind it: `SplitPaddingPass` of `split_padding.py`.

        `one_name`: a thing's own `name` is what it is found by; without, entry points give aliases.

        `entry_group` is the group of entry points where it is not called like our package. `readers`
        make a thing from a file that is no Python, by its suffix: such files are found beside the
        modules. `check(thing, name)` raises for a thing that is not sound.
        """
        self.group = group
        self.constant = constant
        self.kind = constant.lower().replace("_", " ")
        self._in_rooms = in_rooms
        self._more = more
        self._one_name = one_name
        self._class_suffix = class_suffix
        self._entry_group = entry_group or group
        self.readers = dict(readers or {})
        self._check = check
        self._files: dict[Path, object] = {}
        self._loaded: dict[str, Origin] = {}
        self._objects: dict[str, object] = {}
        """What has no file, of the names in `_loaded`."""
        self._known: dict[str, list[Origin]] = {}
        self._revisions = count(1)
        self._revision = 0

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._names, *self._loaded]))

    def __len__(self) -> int:
        return len({*self._names, *self._loaded})

    def __contains__(self, name: object) -> bool:
        return name in self._loaded or (isinstance(name, str) and bool(self._origins_of(name)))

    def __getitem__(self, name: str) -> T_co:
        origin = self.origin(name)
        try:
            thing = self._objects[name] if name in self._objects else self._thing(origin)
        except (InarchError, KeyboardInterrupt):
            raise
        except BaseException as error:  # sys.exit among them
            if (fault := without_compiler(error, f"{self.kind} '{name}'")) is not None:
                raise fault from error
            # A plugin may fail in any way while it is imported; only its own name is unusable then.
            raise InarchError(
                f"{self.kind} '{name}' ({origin.source}) cannot be imported: "
                f"{type(error).__name__}: {error}"
            ) from error
        if (api := getattr(thing, "api", API_VERSION)) != API_VERSION:
            raise InarchError(
                f"{self.kind} '{name}' ({origin.source}) has api = {api}; "
                f"this Inarch knows api = {API_VERSION}"
            )
        self._check_name(thing, name, origin.source)
        if self._check is not None:
            self._check(thing, name)
        return cast("T_co", thing)

    def origin(self, name: str) -> Origin:
        """Where `name` comes from. Raises for an unknown name, and when two origins claim it."""
        if name in self._loaded:
            return self._loaded[name]
        if not (origins := self._origins_of(name)):
            if name in self._modules:
                helper = self._modules[name][-1].name
                raise UsageError(f"{self.kind} '{name}': {helper} defines no {self.constant}")
            raise unknown(self.kind, name, self)
        first, *others = origins
        if others:
            raise UsageError(
                f"{self.kind} '{name}' is defined twice: by {first.source} and by {others[0].source}; "
                "remove or rename one"
            )
        return first

    def add(self, module: ModuleType, name: str, path: Path) -> bool:
        """Takes `module`'s constant as `name`; False when it does not define one of this kind.

        Raises UsageError when another file has the name, or one of ours or of a package, where the constant
        has another name than its file (that one may be of something else), and for one that is not sound.
        """
        constant = next((each for each in self._constants(name) if hasattr(module, each)), None)
        if constant is None:
            return False
        self._check_name(getattr(module, constant), name, path, "--load: ")
        self._check_free(name, path)
        if self._check is not None:
            self._check(getattr(module, constant), name)
        self._loaded[name] = Origin(module.__name__, constant, str(path))
        self._revision = next(self._revisions)
        return True

    def add_file(self, name: str, path: Path) -> None:
        """Takes the file at `path`, for which there is a reader, as `name`; it is read when asked for.

        Raises UsageError as `add`.
        """
        self._check_free(name, path)
        self._files.pop(path, None)
        self._loaded[name] = Origin(path.stem, self.constant, str(path), path)
        self._revision = next(self._revisions)

    def register(self, thing: object, name: str = "") -> None:
        """Takes an object that has no file of its own as `name`, which is also its `name`.

        In place of an object that was registered under it before: a cell of a notebook runs again. Raises
        UsageError for a name that is taken by anything else.
        """
        name = name or str(getattr(thing, "name", "") or getattr(thing, "type_key", ""))
        if not name:
            raise UsageError(f"expected a name for the {self.kind}, found {thing!r}")
        if name in self and self[name] is thing:
            return
        if name in self and name not in self._objects:
            raise UsageError(
                f"{self.kind} '{name}' is there already ({self.origin(name).source}); give the object "
                "another name"
            )
        self._objects[name] = thing
        self._loaded[name] = _origin_of(thing, self.constant)
        self._revision = next(self._revisions)

    def _check_name(self, thing: object, name: str, source: object, begin: str = "") -> None:
        """Raises UsageError for a thing that calls itself otherwise than it is found."""
        if self._one_name and (own := getattr(thing, "name", name)) != name:
            raise UsageError(
                f"{begin}{self.kind} '{name}' ({source}) calls itself '{own}'; "
                "expected the name of its file or entry point"
            )

    def _check_free(self, name: str, path: Path) -> None:
        """Only the same file may be loaded again under its name, also one that is found without that."""
        if name in self._loaded:
            known, advice = self._loaded[name], "rename one of the files"
            file: Path | None = Path(known.source)
        elif origins := self._origins_of(name):
            known, advice = origins[0], "rename the file"
            file = self._file_of(known)
        else:
            return
        if file is None or file.resolve() != path.resolve():
            raise UsageError(
                f"--load: {self.kind} '{name}' is defined twice: by {known.source} and by {path}; {advice}"
            )

    def _file_of(self, origin: Origin) -> Path | None:
        """The file of what is found without `--load`; None where it cannot be told."""
        if origin.path is not None:
            return origin.path
        try:
            spec = importlib.util.find_spec(origin.module)
        except Exception:  # noqa: BLE001 - the package of a plugin is imported, which may fail in any way
            return None
        return None if spec is None or spec.origin is None else Path(spec.origin)

    def foreign(self) -> Iterator[tuple[str, Origin]]:
        """The names and origins of what is not ours: of files that were loaded, and of other packages."""
        yield from self._loaded.items()
        for name, origins in self._others.items():
            for origin in origins:
                if origin.path is None and origin.module.partition(".")[0] != OURS:
                    yield name, origin

    @property
    def revision(self) -> int:
        """Another number whenever other things are there: what is worked out of them may be kept by it."""
        return self._revision

    def working(self, loss: str) -> Iterator[tuple[str, T_co]]:
        """The names and things that can be imported; another one is a warning that ends with `loss`."""
        for name in self:
            try:
                thing = self[name]
            except InarchError as error:
                warnings.warn(f"{error.message}; {loss}", stacklevel=2)
                continue
            yield name, thing

    @property
    def loaded(self) -> tuple[str, ...]:
        """The names of what was `add`ed for this run, in order."""
        return tuple(self._loaded)

    @contextmanager
    def scope(self) -> Generator[None]:
        """What is `add`ed within the block is forgotten after it."""
        before = dict(self._loaded), dict(self._objects), self._revision
        try:
            yield
        finally:
            self._loaded, self._objects, self._revision = before

    def _thing(self, origin: Origin) -> object:
        path = origin.path
        if path is None:
            try:
                return getattr(import_module(origin.module), origin.constant)
            except ModuleNotFoundError as error:
                path = self._file_called(origin.module) if error.name == origin.module else None
                if path is None:
                    raise
        if path not in self._files:
            self._files[path] = self.readers[path.suffix](path)
        return self._files[path]

    def _file_called(self, module: str) -> Path | None:
        """The file that stands where the module would, and that a reader takes."""
        package, _, stem = module.rpartition(".")
        if not package or not self.readers:
            return None
        folders = [Path(folder) for folder in import_module(package).__path__]
        paths = [folder / f"{stem}{suffix}" for folder in folders for suffix in self.readers]
        return next((path for path in paths if path.is_file()), None)

    @cached_property
    def _packages(self) -> list[str]:
        if not self._in_rooms:
            return [self.group, *self._more]
        rooms = iter_modules(import_module(self.group).__path__)
        return [*(f"{self.group}.{room.name}" for room in rooms if room.ispkg), *self._more]

    @cached_property
    def _modules(self) -> dict[str, list[ModuleSpec]]:
        """The modules in our packages by the name that each would have; none is read or imported."""
        found: dict[str, list[ModuleSpec]] = {}
        for package in self._packages:
            for module in iter_modules(import_module(package).__path__):
                finder: Any = module.module_finder
                spec: ModuleSpec = finder.find_spec(module.name)
                spec.name = f"{package}.{module.name}"
                found.setdefault(module.name.replace("_", "-"), []).append(spec)
        return found

    def _constants(self, name: str) -> list[str]:
        """What a module may call its thing."""
        words = "".join(map(str.capitalize, name.split("-")))
        return [self.constant, *([f"{words}{self._class_suffix}"] if self._class_suffix else ())]

    def _defined(self, spec: ModuleSpec, name: str) -> str | None:
        """What the text of a thing calls it; None of another module, which helps things."""
        text, constants = _source(spec), self._constants(name)
        if text is None:
            return self.constant
        forms = ((each, rf"^(?:(?:class )?{each}\b|from .*\b{each}\b)") for each in constants)
        return next((each for each, form in forms if re.search(form, text, re.MULTILINE)), None)

    @cached_property
    def _others(self) -> dict[str, list[Origin]]:
        """By name, what is no module of ours."""
        found: dict[str, list[Origin]] = {}
        for package in self._packages:
            for path in self._readable(import_module(package).__path__):
                origin = Origin(path.stem, self.constant, f"{package}/{path.name}", path)
                found.setdefault(path.stem.replace("_", "-"), []).append(origin)
        for point in entry_points_of(self._entry_group):
            distribution = point.dist.name if point.dist else "an unknown package"
            origin = Origin(
                point.module, point.attr or self.constant, f"entry point of {distribution}"
            )
            found.setdefault(point.name, []).append(origin)
        return found

    def _origins_of(self, name: str) -> list[Origin]:
        """All origins of a name, ours first; of our modules, only those of the name are read."""
        if name not in self._known:
            found = [(spec, self._defined(spec, name)) for spec in self._modules.get(name, ())]
            ours = [Origin(spec.name, constant, spec.name) for spec, constant in found if constant]
            self._known[name] = [*ours, *self._others.get(name, ())]
        return self._known[name]

    @property
    def _names(self) -> list[str]:
        """All names of what was not loaded."""
        return [name for name in {**self._modules, **self._others} if self._origins_of(name)]

    def _readable(self, folders: Iterable[str]) -> list[Path]:
        """The files in `folders` that are things, though no modules."""
        if not self.readers:
            return []
        paths = [path for folder in folders for path in sorted(Path(folder).iterdir())]
        return [path for path in paths if path.suffix in self.readers and path.name[0] != "_"]


def _origin_of(thing: object, constant: str) -> Origin:
    """Where an object is from: the module of the first function of somebody else that it has."""
    fields: Mapping[str, object] = getattr(thing, "__dict__", {})
    modules = [str(getattr(each, "__module__", "")) for each in fields.values() if callable(each)]
    module = next((one for one in modules if one.partition(".")[0] not in ("", OURS)), "__main__")
    return Origin(module, constant, f"an object of {module}")


def _source(spec: ModuleSpec | None) -> str | None:
    """The text of a module; None where it is not kept as text."""
    path = None if spec is None or spec.origin is None else Path(spec.origin)
    if path is None or path.suffix != ".py" or not path.is_file():
        return None
    return path.read_text(encoding="utf-8", errors="replace")


def _line(error: BaseException, path: Path) -> str:
    """`:7`, the last line of the file that ran before the error; nothing where none did."""
    from traceback import extract_tb

    lines = [each.lineno for each in extract_tb(error.__traceback__) if each.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines = [error.lineno]
    return f":{lines[-1]}" if lines and lines[-1] is not None else ""


def _module_name(path: Path) -> str:
    """Another one where another file of this name is loaded, which stays."""
    name = f"inarch_loaded_{path.stem}"
    known = getattr(sys.modules.get(name), "__file__", None) or path
    is_it = Path(known).resolve() == path.resolve()
    return name if is_it else f"{name}_{path.resolve().parent}".replace(".", "_")


def load_file(path: Path, kinds: Mapping[str, Extensions[object]]) -> list[str]:
    """Runs the Python file at `path` and adds every thing it defines, named like the file.

    A file that is no Python is read by the tables that have a reader of its suffix. `kinds` are the
    tables that may take something. Returns what was added, as `kind name`. Raises UsageError when
    the file is missing, fails to run, or defines nothing.
    """
    name = path.stem.replace("_", "-")
    if readers := [table for table in kinds.values() if path.suffix in table.readers]:
        if not path.is_file():
            raise UsageError(f"--load: expected a file, found '{path}'")
        for table in readers:
            table.add_file(name, path)
        return [f"{table.kind} {name}" for table in readers]
    module_name = _module_name(path)
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or not path.is_file():
        raise UsageError(f"--load: expected a Python file, found '{path}'")
    module = sys.modules[module_name] = importlib.util.module_from_spec(spec)
    try:
        # Not through the loader: its bytecode cache goes by second and size, so that an edit of one
        # character within a second would run the file as it was.
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        exec(code, module.__dict__)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # theirs, in one line, whatever it is: sys.exit, too
        raise UsageError(
            f"--load: {path}{_line(error, path)} fails: {type(error).__name__}: {error}"
        ) from error
    added = [f"{table.kind} {name}" for table in kinds.values() if table.add(module, name, path)]
    if not added:
        wanted = ", ".join(sorted(table.constant for table in kinds.values()))
        raise UsageError(f"--load: {path} defines none of {wanted}")
    return added
