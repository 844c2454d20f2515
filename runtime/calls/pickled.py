"""Modules and functions for other processes: how they are pickled, and made again there.

A module of a file that is still there is the file's path and the hash of its manifest; every process maps
the same file. One without a file (of `inarch.compile`, or whose file was replaced) is its content. Its
imports go along: functions of Python as pickle takes them, functions of C by the path of their library.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from inarch.artifact import Artifact
from inarch.core.errors import InarchError

if TYPE_CHECKING:
    from inarch.runtime.function import Function
    from inarch.runtime.module import Module


Content: TypeAlias = "bytes | memoryview | Callable[[], bytes | memoryview]"
"""Of a file, or what makes it when it is asked for."""


def made(content: Content) -> bytes | memoryview:
    """The bytes of a file."""
    return content() if callable(content) else content


@dataclass(frozen=True)
class Origin:
    """What a module was loaded from; its functions have it as well."""

    name: str
    content: Content
    """Of the file."""
    path: Path | None
    """Where the file is; None where there is none."""
    identity: str
    """Of the artifact in it."""
    loader: str | None = None
    """Of the format of a file that is no artifact."""
    imports: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """As they were given to `load`."""
    loaders: tuple[str, ...] = ()
    """As they were given to `load`: paths."""


def recipe(origin: Origin, threads: int | None) -> tuple[Any, ...]:
    """What `__reduce__` gives for a module. Raises InarchError for an import that cannot be pickled."""
    if not origin.content:
        raise InarchError(f"module '{origin.name}' cannot be pickled: its loader keeps no content")
    for name, function in origin.imports.items():
        try:
            pickle.dumps(function)
        except (
            Exception
        ) as error:  # whoever defines it says how it is pickled, and may raise anything
            raise InarchError(
                f"module '{origin.name}' cannot be pickled: its import '{name}': {error}; give a function "
                "of a module, or register it in each process (inarch.runtime.registry.register)"
            ) from error
    imports = dict(origin.imports)
    if origin.path is not None and _is_still(origin.path, origin.identity):
        args = (str(origin.path), origin.identity, imports, threads)
        return from_file, (*args, origin.loaders) if origin.loaders else args
    args = (bytes(made(origin.content)), origin.loader, imports, threads)
    return from_content, (*args, origin.loaders) if origin.loaders else args


def _is_still(path: Path, identity: str) -> bool:
    try:
        with Artifact.open(path, check=False) as artifact:
            return artifact.identity == identity
    except InarchError:
        return False


def from_file(
    path: str,
    identity: str,
    imports: dict[str, Any],
    threads: int | None,
    loaders: tuple[str, ...] = (),
) -> Module:
    """The module that was pickled, of its file. Raises InarchError where that is another one by now."""
    from inarch.runtime.module import load

    with Artifact.open(path, check=False) as artifact:
        found = artifact.identity
    if found != identity:
        raise InarchError(
            f"expected the artifact that was pickled, {identity[:16]}..., found {found[:16]}...; "
            "send module.save_to_bytes() where files change",
            where=path,
        )
    return load(path, imports=imports, threads=threads, loaders=loaders)


def from_content(
    content: bytes,
    loader: str | None,
    imports: dict[str, Any],
    threads: int | None,
    loaders: tuple[str, ...] = (),
) -> Module:
    """The module that was pickled, of its bytes."""
    from inarch.runtime.module import Module

    module = Module.load_from_bytes(content, imports=imports, format=loader, loaders=loaders)
    return module if threads is None else module.with_threads(threads)


def function_of(
    make: Callable[..., Module], args: tuple[Any, ...], name: str, threads: int | None
) -> Function:
    """The function that was pickled; `make` makes its module."""
    function = make(*args).get_function(name)
    return function if threads is None else function.with_threads(threads)
