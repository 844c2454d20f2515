"""A program that is made of what a text says is not compiled again: its artifact is kept by that text.

As `kept.py` for models in files. Nothing of xDSL is imported where the artifact is there.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING

from inarch.core.cache import default_cache, key_of
from inarch.core.groups import may_have
from inarch.driver.extensions import has_loaded
from inarch.driver.keep.kept import has_foreign, heard_warnings, is_keyed, surroundings
from inarch.driver.keep.sources import running
from inarch.runtime.module import Module

if TYPE_CHECKING:
    from inarch.driver.options import Options

_PACKAGES = ("xdsl", "numpy")
"""Whose code has a part in what is made."""


def kept_program(
    said: str,
    options: Options,
    make: Callable[[], Module],
    opened: Callable[[bytes], Module | None] = Module.load_from_bytes,
    content_of: Callable[[Module], bytes] = Module.save_to_bytes,
) -> Module:
    """What `make` compiles with `options` of a program that `said` determines, or was kept of it.

    `content_of` says what is kept, of which `opened` makes the module again, or None where it cannot.

    Nothing is kept with options that are not text, with things of other packages, after a warning, and while
    the files of Inarch are being changed.
    """
    sources = running()
    if sources is None or not is_keyed(options) or _may_have_foreign():
        return make()
    packages = [version(name) for name in _PACKAGES]
    key = key_of("program", said, sources, *packages, *surroundings(options))
    cache = default_cache()
    content = cache.get(key)
    found = opened(content) if content is not None else None
    if found is not None:
        return found
    with heard_warnings() as told:
        module = make()
    if not told:
        cache.put(key, content_of(module))
    return module


def _may_have_foreign() -> bool:
    """As `has_foreign`, without an import of all kinds of things where nothing can have been added to one."""
    if may_have("inarch", below=True):
        return has_foreign()
    return has_loaded() and has_foreign()
