"""Warnings of the library as the tools print them: one line, `warning: ...`, after where it has one."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Generator
from typing import Any, TextIO

from inarch.core.errors import InarchWarning


@contextlib.contextmanager
def plain_warnings(err: TextIO) -> Generator[None]:
    """Warnings for users are a line `warning: ...` on `err`, every time; others stay Python's."""

    def tell(where: str | None, text: str) -> None:
        err.write(f"{where}: warning: {text}\n" if where is not None else f"warning: {text}\n")

    with told_warnings(tell):
        yield


@contextlib.contextmanager
def told_warnings(tell: Callable[[str | None, str], None]) -> Generator[None]:
    """Warnings for users go to `tell`, with where in the program; others stay Python's."""
    show = warnings.showwarning

    def plain(message: Warning | str, category: type[Warning], *place: Any, **named: Any) -> None:
        if category not in (UserWarning, InarchWarning):
            show(message, category, *place, **named)
        elif isinstance(message, InarchWarning):
            tell(message.where, " ".join(message.message.split()))
        else:
            tell(None, " ".join(str(message).split()))

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = plain
        yield
