"""The weights of one model, of all sizes that it is compiled for: a file of the cache, of pieces by content.

Each constant of a program is a piece. One that is there keeps its place; another one is appended, at a
multiple of 64. Programs of all sizes, in all processes, map the one file. Its first page says how much of it
is complete, and is written last: what a killed process has left after that is written over. A lock of the
file lets one process, or thread, look or append at a time. The first look of a process compares the CRC-32 of
all pieces. A pool that is damaged is removed; whoever has it mapped keeps it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import stat
import struct
import time
import weakref
import zlib
from collections.abc import Generator, Hashable, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from inarch.artifact.mapping import Identity, Mapping
from inarch.core.cache import Cache, key_of, make_folder
from inarch.core.lazy import address_of
from inarch.core.shared import Shared
from inarch.ir.payload.shared import Piece, Places

BEGIN = 4096
"""Where the pieces begin in the file: a page, as they are mapped."""
ALIGNMENT = 64
"""Of each piece."""
MOST_WAIT_S = 60.0
"""For the lock, which is held while a model's weights are written: after it, there is no pool."""

_MAGIC = b"INARCHWP"
_HEAD = struct.Struct("<8s16sQQII")
"""Magic, state, where the list of pieces is in the file, its end, their count, its CRC-32; then a CRC-32."""
_PIECE = struct.Struct("<QQI")
_SAMPLE = 4096
"""Bytes of begin and end by which equal pieces are looked for."""
_CHUNK = 1 << 20
_MOST_WRITE = 1 << 30


class _Piece(NamedTuple):
    offset: int
    """After `BEGIN`."""
    nbytes: int
    crc: int


@dataclass(frozen=True)
class _Mapped:
    """A pool as this process has it: mapped, and looked at."""

    file: tuple[int, int] | None
    """Device and inode."""
    state: bytes
    pieces: tuple[_Piece, ...]
    end: int
    """In the file, of all that is complete."""
    memory: memoryview
    """Of the whole file, and of what it may become."""
    places: dict[tuple[int, int], list[int]]
    """Of a piece's size and sample: where such pieces are."""

    @property
    def view(self) -> memoryview:
        """All that is complete, from `BEGIN` on."""
        return self.memory[BEGIN : self.end]

    def find(self, piece: memoryview, key: tuple[int, int]) -> int | None:
        """Where a piece of these bytes is."""
        for offset in self.places.get(key, ()):
            if _is_equal(piece, self.memory[BEGIN + offset :][: len(piece)]):
                return offset
        return None


@dataclass
class _Appended:
    """What one program adds to a pool."""

    descriptor: int
    end: int
    """In the file."""
    most: int
    """Bytes that the file may have."""
    pieces: list[_Piece] = field(default_factory=list[_Piece])
    places: dict[tuple[int, int], list[int]] = field(
        default_factory=dict[tuple[int, int], list[int]]
    )

    def find(self, piece: memoryview, key: tuple[int, int]) -> int | None:
        """Where a piece of these bytes was appended: it is not mapped yet."""
        for offset in self.places.get(key, ()):
            if _reads(self.descriptor, BEGIN + offset, piece):
                return offset
        return None

    def add(self, piece: memoryview, key: tuple[int, int]) -> int | None:
        """Writes a piece; None where it is too much for the cache. Raises OSError."""
        offset = _aligned(self.end - BEGIN)
        if BEGIN + offset + len(piece) + _PIECE.size > self.most:
            return None
        _write(self.descriptor, piece, BEGIN + offset)
        self.pieces.append(_Piece(offset, len(piece), zlib.crc32(piece)))
        self.places.setdefault(key, []).append(offset)
        self.end = BEGIN + offset + len(piece)
        return offset


class _DamagedError(Exception):
    """A file is no pool, or not what was written."""


class Pool:
    """The pool of one key, in this process. Threads may share it."""

    def __init__(self, cache: Cache, key: str) -> None:
        """For `pool_of`."""
        self._cache = cache
        self._key = key
        self._path = cache.path(key)
        self._most = cache.max_bytes // 2
        """Bytes of the file."""
        self._mapped: _Mapped | None = None
        """As it was looked at last; replaced as a whole."""
        self._origins: dict[Hashable, int] = {}
        """Where the pieces are that this process has placed, by the file's state and their origins."""

    def view(self, said: Shared) -> memoryview | None:
        """The weights of a program that was compiled with them; None where they are not there any more."""
        found = self._mapped
        if found is None or not self._has(found, said):
            try:
                with self._opened(os.O_RDWR) as descriptor:
                    found = self._look(descriptor)
            except (OSError, _DamagedError):  # removed, say, or locked for too long
                return None
            if found is None or not self._has(found, said):
                return None
        with suppress(OSError):
            os.utime(self._path)  # the cache removes what was unused longest
        return found.view[: said.nbytes]

    def place(self, pieces: Iterable[Piece], nbytes: int) -> Places | None:
        """Gives each piece, of `nbytes` in all, the place that it has, or a new one.

        One that this process has placed before, by its origin, is not made again. None where they cannot be
        kept: the pool would take more than half of the cache, or the disk is full, which is a warning. Then
        the pool is as it was.
        """
        if nbytes > self._most:
            return None
        try:
            make_folder(self._path.parent)
            with suppress(_DamagedError):  # found before the first piece is asked for
                return self._place_in_file(pieces)
            return self._place_in_file(pieces)
        except (TimeoutError, _DamagedError):
            return None
        except OSError as error:
            self._cache.warn(error)
            return None

    def _place_in_file(self, pieces: Iterable[Piece]) -> Places | None:
        with self._opened(os.O_RDWR | os.O_CREAT) as descriptor:
            return self._place(descriptor, pieces)

    def _place(self, descriptor: int, pieces: Iterable[Piece]) -> Places | None:
        mapped = self._look(descriptor)
        state = mapped.state if mapped is not None else os.urandom(16)
        begin = mapped.end if mapped is not None else BEGIN
        new = _Appended(descriptor, begin, self._most)
        offsets: list[int] = []
        origins: dict[Hashable, int] = {}
        nbytes = 0
        try:
            for piece in pieces:
                origin = (state, piece.origin) if piece.origin is not None else None
                offset = self._origins.get(origin) if origin is not None else None
                if offset is None:
                    offset = _found(piece.make(), mapped, new)
                if offset is None:
                    os.ftruncate(descriptor, begin if mapped is not None else 0)
                    return None
                if origin is not None:
                    origins[origin] = offset
                offsets.append(offset)
                nbytes = max(nbytes, _aligned(offset + piece.nbytes))
            if new.pieces or mapped is None:
                mapped = self._commit(descriptor, mapped, state, new)
        except BaseException:
            os.ftruncate(descriptor, begin if mapped is not None else 0)
            raise
        self._mapped = mapped
        self._origins |= origins
        os.utime(descriptor)
        return Places(tuple(offsets), self._said(mapped, nbytes), mapped.view[:nbytes])

    def _commit(
        self, descriptor: int, mapped: _Mapped | None, state: bytes, new: _Appended
    ) -> _Mapped:
        """Writes the list of pieces, then that it is there."""
        pieces = (*(mapped.pieces if mapped is not None else ()), *new.pieces)
        listed = b"".join(_PIECE.pack(*piece) for piece in pieces)
        # Whole lines of 64 bytes: programs know their weights up to the end of one.
        start = BEGIN + _aligned(new.end - BEGIN)
        end = start + _aligned(len(listed))
        _write(descriptor, memoryview(listed), start)
        os.ftruncate(descriptor, end)
        head = _HEAD.pack(_MAGIC, state, start, end, len(pieces), zlib.crc32(listed))
        _write(descriptor, memoryview(head + zlib.crc32(head).to_bytes(4, "little")), 0)
        self._cache.has_written(end - (mapped.end if mapped is not None else 0))
        places = {key: [*found] for key, found in mapped.places.items()} if mapped else {}
        for key, found in new.places.items():
            places.setdefault(key, []).extend(found)
        return self._map(descriptor, mapped, state, pieces, end, places)

    def _map(
        self,
        descriptor: int,
        known: _Mapped | None,
        state: bytes,
        pieces: tuple[_Piece, ...],
        end: int,
        places: dict[tuple[int, int], list[int]],
    ) -> _Mapped:
        """A pool as it is now; `known` is what was mapped of the same file."""
        if known is not None and end <= len(known.memory):
            memory = known.memory
        else:
            memory = _reserved(descriptor, end, self._most)
        return _Mapped(_file(descriptor), state, pieces, end, memory, places)

    def _look(self, descriptor: int) -> _Mapped | None:
        """What is there, mapped; None where nothing is yet. Raises _DamagedError."""
        known = self._mapped
        size = os.fstat(descriptor).st_size
        if size == 0:
            return None
        state, end, pieces = _read_head(descriptor, size)
        if known is not None and known.file == _file(descriptor) and known.state == state:
            if known.pieces == pieces and known.end == end:
                return known
            if known.pieces != pieces[: len(known.pieces)]:
                raise _DamagedError
            places = {key: [*found] for key, found in known.places.items()}
        else:
            known, places = None, {}
        found = self._map(descriptor, known, state, pieces, end, places)
        for offset, nbytes, crc in pieces[len(known.pieces) if known is not None else 0 :]:
            piece = found.view[offset : offset + nbytes]
            if len(piece) != nbytes or zlib.crc32(piece) != crc:
                raise _DamagedError
            places.setdefault(_key(piece), []).append(offset)
        self._mapped = found
        return found

    def _has(self, mapped: _Mapped, said: Shared) -> bool:
        return said == self._said(mapped, said.nbytes) and said.nbytes <= len(mapped.view)

    def _said(self, mapped: _Mapped, nbytes: int) -> Shared:
        state = mapped.state.hex()
        return Shared(self._key, state, nbytes, key_of("pool", self._key, state, str(nbytes)))

    @contextmanager
    def _opened(self, flags: int) -> Generator[int]:
        """The file, locked. Raises OSError, and TimeoutError where others keep it locked.

        It is removed where the block raises _DamagedError.
        """
        deadline = time.monotonic() + MOST_WAIT_S
        while True:
            descriptor = os.open(self._path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                _check_own(descriptor)
                _lock(descriptor, deadline)
                try:
                    # It may have been removed, or replaced, while another process had it.
                    if _file(descriptor) == _file(self._path):
                        yield descriptor
                        return
                except _DamagedError:
                    self._path.unlink(missing_ok=True)
                    raise
                finally:
                    # Not by closing it: a child of a fork may have it, too.
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
            finally:
                os.close(descriptor)


class Pools:
    """The pools of this process that somebody holds, by their files."""

    def __init__(self) -> None:
        self._live: weakref.WeakValueDictionary[Path, Pool] = weakref.WeakValueDictionary()

    def get(self, cache: Cache, key: str) -> Pool:
        """The pool of `key` in a cache; the same one as long as it lives, but for a race of threads."""
        path = cache.path(key)
        found = self._live.get(path)
        if found is None:
            found = self._live[path] = Pool(cache, key)
        return found


POOLS = Pools()
"""Per process because its memory is."""


# ------------------------------------------------------------------------------------ the file


def _read_head(descriptor: int, size: int) -> tuple[bytes, int, tuple[_Piece, ...]]:
    """State, end and pieces of a pool's file. Raises _DamagedError."""
    data = os.pread(descriptor, _HEAD.size + 4, 0)
    head, crc = data[: _HEAD.size], data[_HEAD.size :]
    if len(head) < _HEAD.size or zlib.crc32(head) != int.from_bytes(crc, "little"):
        raise _DamagedError
    magic, state, start, end, count, crc = _HEAD.unpack(head)
    nbytes = count * _PIECE.size
    if magic != _MAGIC or start + nbytes > end or end > size:
        raise _DamagedError
    listed = os.pread(descriptor, nbytes, start)
    if len(listed) != nbytes or zlib.crc32(listed) != crc:
        raise _DamagedError
    return state, end, tuple(map(_Piece._make, _PIECE.iter_unpack(listed)))


def _reserved(descriptor: int, end: int, most: int) -> memoryview:
    """The file, mapped with room for what it may become: what is appended appears there."""
    identity = Identity.of(os.fstat(descriptor))
    try:
        return Mapping(descriptor, replace(identity, size=max(end, most))).view
    except OSError:  # of a process that may have but so much memory
        return Mapping(descriptor, replace(identity, size=end)).view


def _write(descriptor: int, data: memoryview, start: int) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done : done + _MOST_WRITE], start + done)


def _reads(descriptor: int, start: int, wanted: memoryview) -> bool:
    """Whether the file has these bytes there."""
    chunks = range(0, len(wanted), _CHUNK)
    return all(
        os.pread(descriptor, _CHUNK, start + at)[: len(wanted) - at]
        == bytes(wanted[at : at + _CHUNK])
        for at in chunks
    )


def _file(file: int | Path) -> tuple[int, int] | None:
    try:
        state = os.stat(file)  # noqa: PTH116 - of a descriptor, too
    except FileNotFoundError:
        return None
    return state.st_dev, state.st_ino


def _check_own(descriptor: int) -> None:
    """Raises OSError for what is no file of this user: programs compute with it."""
    state = os.fstat(descriptor)
    if state.st_uid != os.geteuid() or not stat.S_ISREG(state.st_mode):
        raise PermissionError(errno.EPERM, "not a file of this user")


def _lock(descriptor: int, deadline: float) -> None:
    """Raises TimeoutError at the deadline: whoever has it may have been stopped."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError from None
            time.sleep(0.005)
        else:
            return


# ------------------------------------------------------------------------------------ pieces


def _found(data: memoryview, mapped: _Mapped | None, new: _Appended) -> int | None:
    """Where these bytes are, or are now; None where they are too much for the cache. Raises OSError."""
    key = _key(data)
    offset = mapped.find(data, key) if mapped is not None else None
    if offset is None:
        offset = new.find(data, key)
    return new.add(data, key) if offset is None else offset


def _key(piece: memoryview) -> tuple[int, int]:
    """Equal for equal pieces, and hardly for others."""
    return len(piece), zlib.crc32(piece[-_SAMPLE:], zlib.crc32(piece[:_SAMPLE]))


def _is_equal(one: memoryview, other: memoryview) -> bool:
    size = len(one)
    return size == len(other) and _memcmp()(address_of(one), address_of(other), size) == 0


@cache
def _memcmp() -> Any:
    """As NumPy has none, and Python compares the elements of a view one by one."""
    found: Any = ctypes.CDLL(None).memcmp
    found.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    found.restype = ctypes.c_int
    return found


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
