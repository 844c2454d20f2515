"""What was built once is kept: a folder of files named by what they were made from.

The folder is `$INARCH_CACHE_DIR`, else `$XDG_CACHE_HOME/inarch`, else `~/.cache/inarch`, private to
the user, and bounded by `$INARCH_CACHE_BYTES` (2 GiB); what was not used for longest goes first.
Entries appear by rename and carry a hash over key and content, so a killed process or a full disk leaves
no wrong entry, and any number of processes share the folder without locks. They are code that is run:
the folder and the entries must be the user's own. `replacing` is the atomic
write that they use.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
import warnings
import weakref
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

from inarch.core.errors import EnvironmentFault, UsageError
from inarch.core.outside.regular import open_regular, real_path
from inarch.core.scratch import scratch

DEFAULT_BYTES = 2 << 30
"""The bound of the folder's size when `$INARCH_CACHE_BYTES` does not give another."""

_DIGEST_BYTES = 32
_CHUNK_BYTES = 1 << 20
_STALE_SECONDS = 3600.0
_PARTIAL = ".partial"
_NAME_BYTES = 200
_SCANNED = ".scanned"
_MANY, _SCAN_SECONDS = 5_000, 600.0
"""A folder of more files is looked at once in so many seconds, whatever the number of processes."""


@contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """A new file that takes `path`'s place when the block ends without an error, else vanishes.

    It is written beside `path` and renamed; the file behind a link is replaced, not the link. What
    is no file, such as `/dev/null`, stays and is written to in the end. Raises EnvironmentFault when
    that cannot be done.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with _through(path) as file:
            yield file
        return
    asked, path = path, real_path(path)
    # Of a name that may be as long as names can be, as much as leaves place for the rest.
    name = os.fsdecode(os.fsencode(path.name)[:_NAME_BYTES])
    partial = path.with_name(f".{name}.{os.urandom(8).hex()}{_PARTIAL}")
    try:
        # Not tempfile: its mode is 0600, and the umask decides who may read what a user asked for.
        descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(descriptor, "w+b") as file:
            yield file
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        reason = error.strerror or str(error)
        raise EnvironmentFault(f"cannot write '{asked}': {reason}") from error
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def _through(path: Path) -> Generator[BinaryIO]:
    """A temporary file whose content goes to the device or pipe `path` when the block ends."""
    try:
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            with path.open("wb") as device:
                shutil.copyfileobj(file, device)
    except OSError as error:
        reason = error.strerror or str(error)
        raise EnvironmentFault(f"cannot write '{path}': {reason}") from error


def check_writable(path: Path) -> None:
    """Raises EnvironmentFault when `replacing(path)` would fail: before the work, not after it."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not path.is_file():
            return
        with tempfile.TemporaryFile(dir=real_path(path).parent):
            pass
    except OSError as error:
        raise EnvironmentFault(f"cannot write '{path}': {error.strerror}") from error


def key_of(*parts: str | bytes) -> str:
    """A name for what `parts` determine: SHA-256 over them, each with its length before it."""
    # It takes a while to load, and most runs of `inarch-opt` need none.
    from hashlib import sha256

    digest = sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def make_folder(folder: Path) -> None:
    """Makes `folder` and what it lacks of folders above it, each for the user alone. Raises OSError."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))


def failure_folder(folder: Path, *parts: str | bytes) -> Path:
    """A new or existing folder below `folder` for the log of the failure that `parts` determine."""
    found = folder / "failed" / key_of(*parts)[:16]
    try:
        make_folder(found)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="inarch-failed-"))
    return found


def keep_log(text: str) -> Path:
    """Keeps `text` in a file of the user's cache, for a message to point to."""
    path = failure_folder(default_cache().folder, text) / "log.txt"
    path.write_text(text)
    return path


class Cache:
    """Bytes by key in `folder`, at most `max_bytes` of them (approximately, between processes)."""

    def __init__(self, folder: Path, max_bytes: int = DEFAULT_BYTES) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self._has_warned = False
        self._written_since_scan: int | None = None

    def get(self, key: str) -> bytes | None:
        """The bytes that were put under `key`, or None. Marks them as used."""
        path = self.path(key)
        try:
            data = _read_own(path)
            os.utime(path)
        except OSError:
            return None  # never made, or evicted by another process in between
        content = data[_DIGEST_BYTES:]
        if _digest(key, content) != data[:_DIGEST_BYTES]:
            path.unlink(missing_ok=True)
            return None
        return content

    def put(self, key: str, content: bytes) -> None:
        """Keeps `content` under `key`. What cannot be kept (a full disk) is a warning, once."""
        path = self.path(key)
        try:
            make_folder(path.parent)
            with replacing(path) as file:
                file.write(_digest(key, content))
                file.write(content)
        except (OSError, EnvironmentFault) as error:
            self.warn(error)
        self.has_written(len(content))

    def get_file(self, key: str, output: Path) -> bool:
        """Writes what was put under `key` to `output`, which is replaced as a whole; False: there is nothing.

        Raises EnvironmentFault where `output` cannot be written.
        """
        path = self.path(key)
        try:
            entry = _open_own(path)
            os.utime(path)
        except OSError:
            return False
        with entry, suppress(_DamagedError):
            expected = entry.read(_DIGEST_BYTES)
            with replacing(output) as file:
                if _copied(key, entry, file) != expected:
                    raise _DamagedError
            return True
        path.unlink(missing_ok=True)
        return False

    def put_file(self, key: str, source: Path) -> bool:
        """As `put`, of a file; False where it is not kept, as one that would take a quarter of the folder."""
        path, nbytes = self.path(key), source.stat().st_size
        if nbytes > self.max_bytes // 4:
            return False
        try:
            make_folder(path.parent)
            with replacing(path) as file, source.open("rb") as content:
                file.write(bytes(_DIGEST_BYTES))
                digest = _copied(key, content, file)
                file.seek(0)
                file.write(digest)
        except (OSError, EnvironmentFault) as error:
            self.warn(error)
            return False
        self.has_written(nbytes)
        return True

    def has_written(self, nbytes: int) -> None:
        """Tells of bytes that the folder has more, which may be too many."""
        if self._written_since_scan is None:  # the first write looks at what is there
            self._written_since_scan = 0 if self._was_scanned() else self.max_bytes
        self._written_since_scan += nbytes
        # One scan for each sixteenth of the bound keeps the cost of writing constant.
        if self._written_since_scan > self.max_bytes // 16:
            self._written_since_scan = 0
            self.evict()

    def warn(self, error: OSError | EnvironmentFault) -> None:
        """Says, once, that something cannot be kept."""
        if self._has_warned:
            return
        self._has_warned = True
        reason = error.strerror if isinstance(error, OSError) else error.message
        warnings.warn(f"the cache does not keep what is built: {reason}", stacklevel=3)

    def evict(self) -> None:
        """Removes what was unused longest until the folder fits, and what killed processes left."""
        found: list[tuple[float, int, str]] = []
        now, total = time.time(), 0
        for entry in _files(self.folder):
            with suppress(OSError):  # another process may be evicting as well
                state = entry.stat(follow_symlinks=False)
                is_partial = entry.name.endswith(_PARTIAL)
                if is_partial and now - state.st_mtime > _STALE_SECONDS:
                    Path(entry.path).unlink()
                    continue
                total += state.st_size
                if not is_partial:  # somebody is writing it
                    found.append((state.st_mtime, state.st_size, entry.path))
        if len(found) > _MANY:
            with suppress(OSError):
                (self.folder / _SCANNED).touch()
        excess = total - self.max_bytes
        for _, size, path in sorted(found):
            if excess <= 0:
                return
            with suppress(OSError):
                Path(path).unlink()
                excess -= size

    def _was_scanned(self) -> bool:
        """Whether a process has looked at all files, which are many, a short time ago."""
        try:
            return time.time() - (self.folder / _SCANNED).stat().st_mtime < _SCAN_SECONDS
        except OSError:
            return False

    def path(self, key: str) -> Path:
        """Where what is kept under `key` is, or would be."""
        return self.folder / key[:2] / key


def _digest(key: str, content: bytes) -> bytes:
    """Over the key as well: an entry under another name is none."""
    from hashlib import sha256

    return sha256(key.encode() + b"\0" + content).digest()


def _files(folder: Path | str) -> Generator[os.DirEntry[str]]:
    """All below a folder: a scan may meet a hundred thousand, for which `Path` takes a second longer."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path)
            else:
                yield entry


class _DamagedError(Exception):
    """An entry is not what was put."""


def _copied(key: str, source: BinaryIO, output: BinaryIO) -> bytes:
    """The digest of an entry whose content was copied from one file to the other."""
    from hashlib import sha256

    digest = sha256(key.encode() + b"\0")
    while chunk := source.read(_CHUNK_BYTES):
        digest.update(chunk)
        output.write(chunk)
    return digest.digest()


def _read_own(path: Path) -> bytes:
    with _open_own(path) as file:
        return file.read()


def _open_own(path: Path) -> BinaryIO:
    """A file of this user, to be read. Raises OSError for any other thing, and without waiting."""
    file = open_regular(path, through_links=False)
    if os.fstat(file.fileno()).st_uid != os.geteuid():
        file.close()
        raise PermissionError(errno.EPERM, "not a file of this user")
    return file


def default_cache() -> Cache:
    """The user's cache, as the environment says.

    Where the folder cannot be used, one warning says why, and a temporary one serves this process.
    Raises UsageError for an `$INARCH_CACHE_BYTES` that is no number of bytes.
    """
    text = os.environ.get("INARCH_CACHE_BYTES", "")
    if text and not text.isdecimal():
        raise UsageError(f"$INARCH_CACHE_BYTES: expected a number of bytes, found '{text}'")
    return _open_cache(_default_folder(), int(text) if text else DEFAULT_BYTES)


def _default_folder() -> Path:
    if own := os.environ.get("INARCH_CACHE_DIR"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG base directory specification: a relative path is invalid and ignored.
    root = Path(shared) if Path(shared).is_absolute() else Path("~/.cache").expanduser()
    return root / "inarch"


@cache
def _open_cache(folder: Path, max_bytes: int) -> Cache:
    """One cache for each setting and process, and so one warning."""
    problem = _problem_of(folder)
    if problem is None:
        return Cache(folder, max_bytes)
    warnings.warn(
        f"the cache folder '{folder}' cannot be used ({problem}); "
        "everything is built anew; set INARCH_CACHE_DIR to a folder of yours",
        stacklevel=3,
    )
    work = ExitStack()
    made = work.enter_context(scratch("inarch-cache-")) / "cache"
    made.mkdir(mode=0o700)
    temporary = Cache(made, max_bytes)
    weakref.finalize(temporary, work.close)
    return temporary


def _problem_of(folder: Path) -> str | None:
    """Why `folder` cannot hold a cache, or None. Makes it where it does not exist."""
    try:
        make_folder(folder)
        state = folder.stat()
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return error.strerror or str(error)
    # Entries are code that is run: nobody else may be able to put one there.
    if state.st_uid != os.geteuid():
        return "it belongs to another user"
    if state.st_mode & 0o022:
        return "others can write in it; run chmod 700 on it"
    return None
