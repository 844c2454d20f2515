"""Which weights a program has that are not in its artifact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Shared:
    """The first bytes of a pool: a file in the cache of who compiled the program."""

    pool: str
    """Its key in the cache."""
    state: str
    """What tells the pool from every other one of that key."""
    nbytes: int
    sha256: str
    """What the library calls them: it names pool, state and size, not the bytes."""

    def listing(self) -> dict[str, Any]:
        """As the manifest's JSON has it."""
        return {
            "pool": self.pool,
            "state": self.state,
            "bytes": self.nbytes,
            "sha256": self.sha256,
        }
