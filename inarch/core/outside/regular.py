"""Files of strangers: regular ones, opened without waiting, and those that a model's file may name.

An archive of a model may bring pipes, which wait for ever, loops of links, and links to devices and to
files elsewhere. A name inside it may be absolute, or leave its folder.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat
from collections.abc import Sequence
from io import BufferedReader, TextIOWrapper
from pathlib import Path

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def open_regular(path: Path | str, *, through_links: bool = True) -> BufferedReader:
    """A regular file, to be read. Raises OSError for anything else, at once.

    Nothing else is even opened, as some devices act on that; what is put in its place meanwhile is refused.
    """
    state = os.stat(path, follow_symlinks=through_links)  # noqa: PTH116 - often, and fast
    _check_regular(state, path)
    file = os.fdopen(os.open(path, _FLAGS | (0 if through_links else os.O_NOFOLLOW)), "rb")
    try:
        _check_regular(os.fstat(file.fileno()), path)
    except OSError:
        file.close()
        raise
    return file


def _check_regular(state: os.stat_result, path: Path | str) -> None:
    if stat.S_ISDIR(state.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL, "no regular file", str(path))


def read_regular(path: Path | str) -> bytes:
    """What is in a regular file. Raises OSError for any other thing, at once."""
    with open_regular(path) as file:
        return file.read()


def read_regular_text(path: Path | str) -> str:
    """The same of text in UTF-8. Raises UnicodeDecodeError for other bytes."""
    with open_regular(path) as file, TextIOWrapper(file, encoding="utf-8") as text:
        return text.read()


def is_file(path: Path) -> bool:
    """False, too, of what cannot be looked at: in a folder of others, or by a name that is too long."""
    try:
        return path.is_file()
    except OSError:
        return False


def real_path(path: Path) -> Path:
    """The place behind all links. Of a loop of links, at which `Path.resolve` raises, it is in the loop."""
    return Path(os.path.realpath(path))


def is_inside(name: str) -> bool:
    r"""Whether a file of this name is in the folder that the name is in.

    >>> [is_inside(name) for name in ("a/b", "a/../b", "../b", "a/../../b", "/b", "a\0b", "")]
    [True, True, False, False, False, False, False]
    """
    normal = posixpath.normpath(name)
    return not (normal.startswith("/") or normal.split("/")[0] in ("..", ".") or "\0" in name)


def real_inside(name: str, folder: Path, others: Sequence[Path] = ()) -> Path | None:
    """The file that `name` is in `folder`, behind all links; None where it is in none of the folders."""
    if not is_inside(name):
        return None
    path = real_path(folder / posixpath.normpath(name))
    homes = (real_path(home) for home in (folder, *others))
    return path if any(path.is_relative_to(home) for home in homes) else None
