"""Which kernel does which nest is kept in the cache: what was searched for once is not searched for again.

A decision serves where all that it was made of is as it was: the nest, target, machine and kernels that are
asked for (`passes/tensorize/tensorize.py`), and every file of Inarch. With kernels of others nothing is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from inarch.core.cache import Cache, default_cache, key_of
from inarch.driver.keep.sources import running
from inarch.microkernel.table import MICROKERNELS, TEMPLATES


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


def decisions() -> Decisions | None:
    """Those of the user's cache; None where not all that they depend on is known."""
    if any(True for table in (MICROKERNELS, TEMPLATES) for _ in table.foreign()):
        return None
    files = running()
    return Decisions(default_cache(), files) if files is not None else None
