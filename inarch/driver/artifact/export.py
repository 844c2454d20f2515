"""From a model to a folder of sources that builds without Inarch: `inarch export`.

export("model.onnx", "model-c")                        # C, header, weights, main.c, Makefile, CMakeLists.txt
export("model.onnx", "firmware", freestanding=True)    # one C file with a static arena
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack, cast

from inarch import __version__
from inarch.backends.host import HOSTS, Export, ExportRequest, Progress, Writer
from inarch.core.arguments import checked_path
from inarch.core.errors import EnvironmentFault, UnsupportedError, UsageError
from inarch.core.outside.regular import real_path
from inarch.core.scratch import scratch
from inarch.dialects import new_context
from inarch.driver.compiler import Source, import_model, lower
from inarch.driver.host import check_parts, emit, find_host
from inarch.driver.options import DEFAULT_HOST, Options, Settings
from inarch.ir.report.facts import facts_of
from inarch.ir.target import target_of
from inarch.passes.lower.weighed import Algorithms, numerics_of

LISTING = "inarch-export.json"
"""What the folder says of itself: the files with their hashes, by which a later export knows them."""
BUILD = "build"
"""Where the Makefile builds; nothing in it is missed."""


@dataclass(frozen=True)
class Exported:
    """What `export` wrote."""

    folder: Path
    name: str
    target: str
    files: tuple[str, ...]
    facts: Mapping[str, object]
    says: tuple[str, ...]


def export(
    source: Source,
    folder: str | Path,
    options: Options | None = None,
    *,
    freestanding: bool = False,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> Exported:
    """Writes a model as C into `folder`, which appears whole or not at all.

    `freestanding`: one file without threads, allocation, or anything of libc but mathematics. The folder may
    be one that an export made, if nothing in it was changed but `build`. `settings` are fields of `Options`.

    Raises UsageError for another folder, UnsupportedError for a program that C alone is not enough for, and
    else as `inarch.driver.compiler.build`.
    """
    place = checked_path(folder)
    check_folder(place)
    chosen = Options.of(options, settings)
    if freestanding:
        chosen = replace(chosen, threads=1)  # a loop that is shared calls a pool
    host = find_host(chosen.host)
    if host.export is None:
        able = ", ".join(name for name in HOSTS if HOSTS[name].export is not None)
        raise UnsupportedError(
            f"expected a host that exports sources, found '{host.name}'; take one of: {able}"
        )
    pipeline = None
    if chosen.pipeline is not None or chosen.places or chosen.host != DEFAULT_HOST:
        pipeline = replace(chosen, backends=()).passes()
    context = new_context()
    module = import_model(source, context, chosen)
    emitted = lower(
        context,
        module,
        "kernel",
        progress=progress,
        offload=chosen.offload(),
        pipeline=pipeline,
    )
    check_parts(host, emitted)
    program = emit(host, context, module)
    request = ExportRequest(context, module, emitted, freestanding, chosen.timeout)
    made = host.export(program, request)
    about = {"name": program.name, "target": str(target_of(module)), "freestanding": freestanding}
    write_folder(place, made, about | numerics_of(module, facts_of(context).get(Algorithms)))
    return Exported(
        place, program.name, str(target_of(module)), tuple(made.files), made.facts, made.says
    )


def check_folder(folder: Path) -> None:
    """Raises UsageError for a folder that is not an export's to replace, before the work."""
    where = str(folder)
    try:
        if not folder.is_dir():
            if folder.exists():
                raise UsageError("expected a folder, found a file; give another DIR", where=where)
            with scratch(".inarch-", real_path(folder).parent):
                return
        found = sorted(one.name for one in folder.iterdir())
    except OSError as error:
        raise EnvironmentFault(f"cannot be written: {error.strerror}", where=where) from error
    here = Path.cwd()
    if real_path(folder) in (here, *here.parents):
        raise UsageError(
            "expected another folder than the one that this runs in; give one to make within it",
            where=where,
        )
    if found:
        _check_own(folder, found)


def _check_own(folder: Path, found: Sequence[str]) -> None:
    """Raises UsageError where something in a folder is not as an export wrote it."""
    hashes = _listed(folder / LISTING)
    others = [name for name in found if name not in (*hashes, LISTING, BUILD)]
    changed = [
        name
        for name, digest in hashes.items()
        if name in found and _digest(folder / name) != digest
    ]
    if others or not hashes:
        names = others or found
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        raise UsageError(
            "expected a new folder, an empty one, or one that `inarch export` made, found "
            f"'{names[0]}'{more}; give another DIR, or move what is yours",
            where=str(folder),
        )
    if changed:
        raise UsageError(
            f"expected what `inarch export` wrote, found '{changed[0]}' changed since; give another DIR, "
            "or move what is yours",
            where=str(folder),
        )


def _listed(path: Path) -> dict[str, str]:
    """The hashes of an export's files by name; empty where it is none."""
    try:
        data: Any = json.loads(path.read_text())
        files: Any = data["files"]
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return cast("dict[str, str]", files) if isinstance(files, dict) else {}


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def write_folder(folder: Path, made: Export, about: Mapping[str, object]) -> None:
    """Writes the files beside `folder` and puts them in its place. Raises EnvironmentFault."""
    target = real_path(folder)
    partial = target.with_name(f".{target.name[:100]}.{os.urandom(8).hex()}.part")
    try:
        partial.mkdir()
        for name, content in made.files.items():
            _write(partial / name, content)
        hashes = {name: _digest(partial / name) for name in sorted(made.files)}
        listing = {"inarch": __version__, **about, **made.facts, "files": hashes}
        _write(partial / LISTING, json.dumps(listing, indent=2) + "\n")
        _replace(partial, target)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot be written: {error.strerror or error}", where=str(folder)
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write(path: Path, content: str | Writer) -> None:
    with path.open("xb") as file:
        if isinstance(content, str):
            file.write(content.encode())
        else:
            content(file)


def _replace(partial: Path, target: Path) -> None:
    """`partial` becomes `target`; what was there goes, after all."""
    if not target.is_dir() or not any(target.iterdir()):
        partial.rename(target)  # also onto an empty folder
        return
    old = partial.with_suffix(".old")
    target.rename(old)
    try:
        partial.rename(target)
    except OSError:
        with suppress(OSError):
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
