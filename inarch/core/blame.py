"""Whose code raised: what a plugin's code raises is an error of the plugin, with file and line."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

from inarch.core.errors import PluginError
from inarch.core.plugins import OURS, Extensions, Origin


def raised(error: BaseException, origin: Origin) -> str:
    """What the code of `origin` raised, and where in it: `raises KeyError: 'x' (boom.py:7)`."""
    text = " ".join(str(error).split())
    what = f"raises {type(error).__name__}{f': {text}' if text else ''}"
    place = _place_in(error, origin)
    return f"{what} ({place})" if place else what


def blamed(error: BaseException, tables: Iterable[Extensions[object]]) -> PluginError | None:
    """The error of somebody else's code that was running when `error` was raised; None: it is ours.

    The last frame that belongs to a thing from outside, found in the traceback, says whose it is.
    """
    found: list[tuple[int, str]] = []
    for table in tables:
        for name, origin in table.foreign():
            depth = _depth(error, origin)
            if depth is not None:
                text = f"{table.kind} '{name}' [{origin.source}] {raised(error, origin)}"
                found.append((depth, text))
    return PluginError(max(found, key=lambda one: one[0])[1]) if found else None


def _frames(error: BaseException, origin: Origin) -> Iterator[tuple[int, str, int]]:
    """`(depth, file, line)` of the frames in the package, or the file, that `origin` is in."""
    package = origin.module.partition(".")[0]
    for depth, (frame, line) in enumerate(traceback.walk_tb(error.__traceback__)):
        module = str(frame.f_globals.get("__name__", ""))
        if module == origin.module or (package != OURS and module.partition(".")[0] == package):
            yield depth, frame.f_code.co_filename, line


def _depth(error: BaseException, origin: Origin) -> int | None:
    return max((depth for depth, _, _ in _frames(error, origin)), default=None)


def _place_in(error: BaseException, origin: Origin) -> str | None:
    """`boom.py:7`, the innermost place in the code of `origin`."""
    *_, last = [None, *_frames(error, origin)]
    return None if last is None else f"{Path(last[1]).name}:{last[2]}"
