"""Folders for work under way: gone with the block, and after a killed process at the next start.

Each has a file that says what it is, and that whoever works in it has locked: the system lets the lock go
when the process ends, however it does. A folder of a like name that has no such file is somebody's own.
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

PREFIXES = ("inarch-tune-", "inarch-build-", "inarch-bench-", "inarch-release-", ".inarch-")
"""What such folders are called: of these alone, those of dead processes are removed."""
MARK = ".scratch-of-inarch"
_YOUNG_SECONDS = 60.0
"""Between making one and locking it: younger ones stay."""


@contextmanager
def scratch(prefix: str, folder: Path | None = None) -> Generator[Path]:
    """A new folder in `folder` (the system's for temporary files), until the block ends.

    Those that killed processes have left there go first, once a process. Raises OSError.
    """
    assert prefix in PREFIXES, f"'{prefix}' would stay after a killed process"
    home = folder if folder is not None else Path(tempfile.gettempdir())
    _sweep_once(home)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=home) as name:
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
    """Removes the folders of this user in `home` that nobody works in any more."""
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
