"""Which files the code of a module is: those of its package, and of what that imports.

What is kept of something that anybody's code made depends on these. A package counts with all files in its
folder, also such as are no Python; a module without a package with its own file, as what is beside it may be
anything. What it imports is followed, read from the text, so that it does not matter what is imported by now;
but of packages of others that are installed `__init__.py` alone counts, which an upgrade writes anew.
"""

from __future__ import annotations

import ast
import site
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from inarch.core.cache import default_cache, key_of
from inarch.core.plugins import OURS
from inarch.core.states import digest_of, is_settled, state_of


def files_of(modules: Iterable[str]) -> list[Path]:
    """The files that the code of `modules` is, sorted; none of Python's own, of ours what is asked for."""
    found: set[Path] = set()
    # Of theirs the whole counts, also where it is installed; of what they import only what is not. One that
    # is in our tree is no more than its own folder or file.
    asked = {name if _top(name) == OURS else _top(name) for name in modules}
    names = list(asked)
    seen: set[str] = set()
    while names:
        name = names.pop()
        top = name if name in asked else _top(name)
        if top in seen or top == OURS or top in sys.stdlib_module_names:
            continue
        seen.add(top)
        beginning, folders = _place_of(top)
        if top not in asked and any(map(_is_installed, (*beginning, *folders))):
            found.update(beginning)
            continue
        own = [file for folder in folders for file in _folder(folder)] or beginning
        found.update(own)
        names += [name for one in own if one.suffix == ".py" for name in _imported(one)]
    return sorted(found)


def digest_of_module(module: str) -> str:
    """What changes where the code of a module does, or of its package: the same wherever that is installed.

    Of ours the module's own file counts.
    """
    beginning, folders = _place_of(module if _top(module) == OURS else _top(module))
    files = [file for folder in folders for file in _folder(folder)] or beginning
    kept = default_cache()
    return key_of(*sorted(f"{file.name} {digest_of(file, kept)}" for file in files))[:32]


def digest_of_code(modules: Iterable[str]) -> str:
    """What changes where the content of one of `files_of` does; empty where there are none."""
    files = files_of(modules)
    if not files:
        return ""
    # A package may have a thousand files: what is looked up is all of them at once.
    states = [state_of(file) for file in files]
    if not all(map(is_settled, states)):
        return _digest_of_files(files)
    kept = default_cache()
    key = key_of("code", *map(str, files), repr(states))
    known = kept.get(key)
    if known is not None:
        return known.decode()
    digest = _digest_of_files(files)
    if [state_of(file) for file in files] == states:
        kept.put(key, digest.encode())
    return digest


def _digest_of_files(files: Sequence[Path]) -> str:
    kept = default_cache()
    return key_of(*(f"{file.parent.name}/{file.name} {digest_of(file, kept)}" for file in files))


def _top(name: str) -> str:
    return name.partition(".")[0]


def _place_of(name: str) -> tuple[list[Path], list[Path]]:
    """The file, if any, of a module, imported or not, and the folders of a package."""
    module = sys.modules.get(name)
    file, folders = getattr(module, "__file__", None), getattr(module, "__path__", ())
    if module is None:
        try:
            spec = find_spec(name)
        except (ImportError, ValueError):
            spec = None
        if spec is not None:
            file = spec.origin if spec.has_location else None
            folders = spec.submodule_search_locations or ()
    return [] if file is None else [Path(file)], [*map(Path, folders)]


def _is_installed(file: Path) -> bool:
    folders = {site.getusersitepackages(), *site.getsitepackages()}
    return any(file.is_relative_to(folder) for folder in folders)


def _folder(folder: Path) -> Iterator[Path]:
    """All files in it, but what tools keep there: compiled Python, `.git`, `.venv`."""
    for entry in folder.iterdir():
        if entry.is_dir():
            if entry.name != "__pycache__" and not entry.name.startswith("."):
                yield from _folder(entry)
        elif entry.is_file():
            yield entry


def _imported(file: Path) -> Sequence[str]:
    """The modules that a file of Python imports anywhere, but for its own package, of which all counts."""
    state = state_of(file)
    if state is None or not is_settled(state):
        return _imported_now(file)
    return _imported_of_state(file, tuple(state))


@cache
def _imported_of_state(file: Path, state: tuple[int, ...]) -> Sequence[str]:
    """Read once for each state of the file, by all processes: the syntax trees of a package take seconds."""
    kept, key = default_cache(), key_of("imported", str(file), repr(state))
    known = kept.get(key)
    if known is not None:
        return known.decode().split()
    found = _imported_now(file)
    if state_of(file) == [*state]:
        kept.put(key, " ".join(found).encode())
    return found


def _imported_now(file: Path) -> list[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            found.append(node.module)
    return sorted({*found})
