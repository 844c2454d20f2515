"""What a backend made of its functions, as hosts get it, and errors that name whose it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from inarch.artifact.manifest import BLOB
from inarch.artifact.provenance import Part, Weight
from inarch.core.dtypes import from_numpy
from inarch.core.errors import InarchError
from inarch.core.lazy import np
from inarch.core.once import cached_property
from inarch.offload.backend import Emission

C_FORMAT = "c"
"""The format of emissions that a host compiles and links with its own code."""

_SHOWN_NODES = 4
_SHOWN_SITES = 2


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
    """The name of the instance: the backend's, where it was given none."""
    origin: str
    """Where the backend comes from: a module, an entry point, a file."""
    emission: Emission
    sites: tuple[Site, ...]
    kind: str = ""
    """The backend's name, where `backend` is the name of an instance of it."""
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    """All options of the instance, as text."""
    version: str = ""
    """The backend's own."""
    reused: tuple[str, ...] = ()
    """The functions of which something was kept by an earlier compilation."""

    @property
    def is_linked(self) -> bool:
        """Whether it becomes part of the host's code; else it is a submodule of the artifact."""
        return self.emission.format == C_FORMAT

    @cached_property
    def blobs(self) -> Mapping[str, memoryview]:
        """The bytes of its weights by their member of the artifact: equal ones once, of whomever they are."""
        return {
            self.weights[name].member: array.reshape(-1).view(np.uint8).data
            for name, array in self.emission.arrays.items()
            if name in self.weights
        }

    @cached_property
    def weights(self) -> Mapping[str, Weight]:
        """What the manifest says of its weights. Of C there are none: the host has them among its own."""
        return {
            name: Weight(
                f"{BLOB}{sha256(array.reshape(-1).view(np.uint8).data).hexdigest()}",
                from_numpy(array.dtype.name).name,
                array.shape,
            )
            for name, array in self.emission.arrays.items()
            if not self.is_linked
        }

    def part(self, where: str) -> Part:
        """As the manifest has it; `where`: `library`, or its submodule."""
        one = self.emission
        return Part(
            self.backend,
            self.kind or self.backend,
            self.options,
            where,
            one.symbols,
            one.version or self.version,
            one.machine,
            one.package if where != "library" else "",
            self.weights,
            {name: tuple(used) for name, used in one.uses.items() if not self.is_linked},
            one.metadata,
        )

    def error(self, message: str, sites: Sequence[Site] = ()) -> InarchError:
        """An error of this backend in `sites` (all of its functions)."""
        return backend_error(self.backend, self.origin, sites or self.sites, message)


def backend_error(backend: str, origin: str, sites: Sequence[Site], message: str) -> InarchError:
    """An error of a backend in `sites`, in one line, which is about the message."""
    where = ", ".join(map(str, sites))
    if len(sites) > _SHOWN_SITES:
        where = f"{sites[0]} and {len(sites) - 1} more functions"
    return InarchError(f"backend '{backend}' [{origin}] on {where}: {message}")
