"""Warnings of the library as the tools print them: one line, `warning: ...`."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Generator
from typing import Any, TextIO


@contextlib.contextmanager
def plain_warnings(err: TextIO) -> Generator[None]:
    """Warnings for users are a line `warning: ...` on `err`, every time; others stay Python's."""
    show = warnings.showwarning

    def plain(message: Warning | str, category: type[Warning], *place: Any) -> None:
        if category is UserWarning:
            text = " ".join(str(message).split())
            err.write(f"warning: {text}\n")
        else:
            show(message, category, *place)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = plain
        yield
