"""Folders for temporary files: removed with the block; of a killed process, removed by the next one.

Each folder has a marker file, which its process keeps locked. The system releases the lock when the process
ends, however it ends. A folder of a similar name without such a file belongs to the user, and stays.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

PREFIXES = ("inarch-", ".inarch-")
"""Of the names of such folders; `.inarch-` beside a user's output."""
MARK = ".scratch-of-inarch"
_YOUNG_SECONDS = 60.0
"""Between making one and locking it: younger ones stay."""


@contextmanager
def scratch(prefix: str, folder: Path | None = None) -> Generator[Path]:
    """A new folder in `folder` (by default the system's for temporary files), until the block ends.

    The first call of a process removes the folders that killed processes have left there. Raises OSError.
    """
    assert prefix.startswith(PREFIXES), f"'{prefix}' would stay after a killed process"
    home = folder if folder is not None else Path(tempfile.gettempdir())
    _sweep_once(home)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=home) as name:  # noqa: TID251 - here alone
        lock = _locked(Path(name), os.O_CREAT | os.O_EXCL)
        try:
            yield Path(name)
        finally:
            if lock is not None:
                os.close(lock)


@cache
def _sweep_once(home: Path) -> None:
    sweep(home)


def sweep(home: Path) -> None:
    """Removes the scratch folders of this user in `home` whose processes have ended."""
    with suppress(OSError), os.scandir(home) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIXES):
                with suppress(OSError):  # another process may sweep as well
                    _remove_left(entry)


def _remove_left(entry: os.DirEntry[str]) -> None:
    state = entry.stat(follow_symlinks=False)
    is_ours = entry.is_dir(follow_symlinks=False) and state.st_uid == os.geteuid()
    if not is_ours or time.time() - state.st_mtime < _YOUNG_SECONDS:
        return
    lock = _locked(Path(entry.path))
    if lock is None:
        return
    try:
        shutil.rmtree(entry.path, ignore_errors=True)
    finally:
        os.close(lock)


def _locked(folder: Path, flags: int = 0) -> int | None:
    """A descriptor that holds the lock of a folder; None where another one does, or it is none of ours."""
    try:
        found = os.open(folder / MARK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(found)
        return None
    return found
