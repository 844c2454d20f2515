"""Files mapped read-only: one mapping for each file, as long as anything made of it lives.

`mmap.mmap` keeps a descriptor for each mapping (until Python 3.13); this keeps none. A mapping is of
what the file was when it was opened: `Identity` tells whether another one is the same.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import time
import weakref
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

from inarch.core.forks import short_lock

_SETTLED_NS = 2_000_000_000
"""A file that changes later than this after its last change has another time, on any file system."""
_REMEMBERED = 4096


@dataclass(frozen=True)
class Identity:
    """What tells a file, in the state that it has, from every other."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int
    """Of the inode: nobody can set it, as `utime` sets `modified_ns`."""

    @classmethod
    def of(cls, state: os.stat_result) -> Identity:
        """From `os.stat` or `os.fstat`."""
        times = (state.st_mtime_ns, state.st_ctime_ns)
        return cls(state.st_dev, state.st_ino, state.st_size, *times)


class Mapping:
    """The bytes of one file. They stay as long as this, or a view of them, is referred to."""

    def __init__(self, descriptor: int, identity: Identity) -> None:
        """Raises OSError when the file cannot be mapped; `descriptor` stays the caller's."""
        self.identity = identity
        libc = _libc()
        size = identity.size
        address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_PRIVATE, descriptor, 0)
        if address == ctypes.c_void_p(-1).value:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        memory = (ctypes.c_ubyte * size).from_address(address)
        # Not at the end of the process: a thread may still compute with it.
        weakref.finalize(memory, libc.munmap, address, size).atexit = False
        self.view = memoryview(memory).cast("B").toreadonly()


class Mappings:
    """The mappings of this process by identity, and which files passed `crc_is`."""

    def __init__(self) -> None:
        self._lock = short_lock()  # collecting garbage may run anybody's code
        self._live: weakref.WeakValueDictionary[Identity, Mapping] = weakref.WeakValueDictionary()
        self._passed: dict[Identity, None] = {}

    def get(self, descriptor: int) -> Mapping:
        """The file that is open there: the mapping there is, or a new one. Raises OSError.

        A mapping keeps its inode, so that no other file gets it in the meantime.
        """
        identity = Identity.of(os.fstat(descriptor))
        with self._lock:
            found = self._live.get(identity)
            if found is None:
                found = self._live[identity] = Mapping(descriptor, identity)
            return found

    def crc_is(self, mapping: Mapping, count: int, expected: int) -> bool:
        """Whether the CRC-32 of the first `count` bytes is `expected`: read once for each file.

        A file that was written a moment ago is read each time: it may change without getting another time.
        """
        identity = mapping.identity
        if identity in self._passed:
            return True
        begin = time.time_ns()
        if zlib.crc32(mapping.view[:count]) != expected:
            return False
        if begin - max(identity.modified_ns, identity.changed_ns) > _SETTLED_NS:
            with self._lock:
                self._passed[identity] = None
                while len(self._passed) > _REMEMBERED:
                    del self._passed[next(iter(self._passed))]
        return True


MAPPINGS = Mappings()
"""Per process because its memory is."""


@cache
def _libc() -> Any:
    libc: Any = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    integer, size = ctypes.c_int, ctypes.c_size_t
    libc.mmap.argtypes = [ctypes.c_void_p, size, integer, integer, integer, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, size]
    return libc
