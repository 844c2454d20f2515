"""What a backend made of its functions, as hosts get it, and errors that name whose it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inarch.core.errors import InarchError
from inarch.passes.backend import Emission

C_FORMAT = "c"
"""The format of emissions that a host compiles and links with its own code."""

_SHOWN_NODES = 4


@dataclass(frozen=True)
class Site:
    """A function that was offloaded, and the nodes of the model in it, for messages."""

    symbol: str
    nodes: tuple[str, ...]

    def __str__(self) -> str:
        if not self.nodes:
            return f"@{self.symbol}"
        shown = ", ".join(f"'{node}'" for node in self.nodes[:_SHOWN_NODES])
        more = len(self.nodes) - _SHOWN_NODES
        return f"@{self.symbol} (from {shown}{f' and {more} more' if more > 0 else ''})"


@dataclass(frozen=True)
class Emitted:
    """What one backend made of its functions, checked."""

    backend: str
    origin: str
    """Where the backend comes from: a module, an entry point, a file."""
    emission: Emission
    sites: tuple[Site, ...]

    @property
    def is_linked(self) -> bool:
        """Whether it becomes part of the host's code; else it is a submodule of the artifact."""
        return self.emission.format == C_FORMAT

    def error(self, message: str, sites: Sequence[Site] = ()) -> InarchError:
        """An error of this backend in `sites` (all of its functions)."""
        return backend_error(self.backend, self.origin, sites or self.sites, message)


def backend_error(backend: str, origin: str, sites: Sequence[Site], message: str) -> InarchError:
    """An error of a backend in `sites`, in one line."""
    where = ", ".join(map(str, sites))
    return InarchError(f"backend '{backend}' [{origin}] on {where}: {message}")
