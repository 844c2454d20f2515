"""Which kernel does which nest is kept in the cache: what was searched for once is not searched for again.

A decision serves where all that it was made of is as it was: the nest, target, machine and kernels that are
asked for (`passes/tensorize/tensorize.py`), and every file of Inarch. Kernels of others that are files of C
or assembly count by their text, those of installed packages by all files of the package, and both by the CPU
and the compiler where they may be measured; they are built and checked again each time. With other files that
are loaded, whose code may read anything beside it, nothing is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from inarch.core.cache import Cache, default_cache, key_of
from inarch.core.code import digest_of_code
from inarch.driver.keep.records import compiler_or_none
from inarch.driver.keep.sources import running
from inarch.machine.find import cpu_name
from inarch.microkernel.table import MICROKERNELS, TEMPLATES

SOURCES = (".c", ".S", ".s")
"""Files that are all of a kernel, but for what they include, which is not a matter of what is chosen."""


@dataclass(frozen=True)
class Decisions:
    """Records of decisions, as `inarch.passes.tensorize.keep.record` writes them."""

    cache: Cache
    sources: str

    def get(self, key: str) -> str | None:
        """The record that was kept under `key`."""
        found = self.cache.get(self._name(key))
        return found.decode() if found is not None else None

    def put(self, key: str, record: str) -> None:
        """Keeps a record."""
        self.cache.put(self._name(key), record.encode())

    def _name(self, key: str) -> str:
        return key_of("decision", self.sources, key)


def decisions(*, is_measuring: bool = False) -> Decisions | None:
    """Those of the user's cache; None where not all that they depend on is known.

    `is_measuring`: whether calls of kernels that state no cost may be measured.
    """
    guests: list[tuple[str, bytes]] = []
    for table in (MICROKERNELS, TEMPLATES):
        for name, origin in table.foreign():
            if origin.path is not None and origin.path.suffix in SOURCES:
                guests.append((name, origin.path.read_bytes()))
            elif name not in table.loaded:
                guests.append((name, digest_of_code([origin.module]).encode()))
            else:
                return None
    if (files := running()) is None:
        return None
    if guests:
        where = (cpu_name(), compiler_or_none()) if is_measuring else ()
        files = key_of(files, repr(guests), repr(where))
    return Decisions(default_cache(), files)
