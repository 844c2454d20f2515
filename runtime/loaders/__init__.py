"""What makes modules of files: one loader for each format, in a file named by it.

A loader defines `LOADER = Loader(...)` and states what it can do; the rest is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inarch.artifact import Artifact
from inarch.core.errors import EnvironmentFault, InarchError, UsageError
from inarch.core.plugins import API_VERSION, Extensions

if TYPE_CHECKING:
    from inarch.runtime.loaders.shipped import Shipped
    from inarch.runtime.module import Imports, Module


def _ready() -> str:
    return "ready"


@dataclass(frozen=True)
class Loader:
    """How modules of one format are made. A capability that is None does not exist."""

    type_key: str
    """The format's name, and `Module.type_key` of what is made."""
    load: Callable[[Artifact, Imports], Module] | None = None
    """Of a whole artifact, whose manifest names this format first."""
    load_from_bytes: Callable[[bytes, str], Module] | None = None
    """Of the bytes of a submodule or a file, and a name for messages."""
    create: Callable[[str, str], Module] | None = None
    """Of source text, and a name."""
    library: Path | None = None
    """Of whoever does it in C (`inarch_loader.h`): parts of artifacts, bytes and files are its."""
    load_part: Callable[[Shipped], Module] | None = None
    """Of a part of an artifact, with its weights, in place of `load_from_bytes` and `create`."""
    compatible: Callable[[Shipped], str | None] | None = None
    """Asked before a part is loaded: None, or why it does not run what that version made for that machine.

    The reason says what to install, or to compile again."""
    validate: Callable[[Shipped], None] | None = None
    """Asked in place of loading where a part is compiled: raises InarchError for what no device would run."""
    status: Callable[[], str] = _ready
    """`ready`, or what is missing on this machine and what to install; an error where a part is loaded."""
    api: int = API_VERSION

    def from_artifact(self, artifact: Artifact, imports: Imports) -> Module:
        """The module of an artifact. Raises UsageError when the format has no artifacts."""
        if self.load is None:
            raise UsageError(f"loader '{self.type_key}' makes no module of an artifact")
        return self.load(artifact, imports)

    def from_bytes(self, data: bytes, name: str) -> Module:
        """The module of bytes, or of text where the format is text.

        Raises UsageError when the format cannot be read from bytes.
        """
        if self.library is not None:
            from inarch.runtime.loaders.native import module_of_bytes

            return module_of_bytes(self.library, self.type_key, data, name)
        if self.load_from_bytes is not None:
            return self.load_from_bytes(data, name)
        if self.create is None:
            raise UsageError(f"loader '{self.type_key}' makes no module of bytes")
        try:
            return self.create(data.decode(), name)
        except UnicodeDecodeError as error:
            raise InarchError(f"expected UTF-8 text: {error}", where=name) from error

    def from_part(self, part: Shipped) -> Module:
        """The module of a part, if it can be run here.

        Raises EnvironmentFault where this machine lacks what runs it, or has another version or machine.
        """
        if self.library is not None:
            from inarch.runtime.loaders.native import NativeLoader, State, module_of_state

            loader = NativeLoader(self.library, part.where)
            loader.require(part.format)
            return module_of_state(State(loader, part))
        if (status := self.status()) != "ready":
            raise EnvironmentFault(
                f"loader '{self.type_key}' cannot run it: {status}", where=part.where
            )
        self.check(part)
        if self.load_part is not None:
            return self.load_part(part)
        if part.weights:
            raise InarchError(
                f"loader '{self.type_key}' takes no weights (it has no 'load_part'), found "
                f"{len(part.weights)}",
                where=part.where,
            )
        return self.from_bytes(bytes(part.program), part.where)

    def check(self, part: Shipped) -> None:
        """Raises EnvironmentFault for a part that it does not run."""
        reason = None if self.compatible is None else self.compatible(part)
        if reason is not None:
            raise EnvironmentFault(
                f"loader '{self.type_key}' does not run what {part.made}: {reason}",
                where=part.where,
            )

    def from_file(self, path: Path) -> Module:
        """The module of a file. Raises EnvironmentFault when it cannot be read."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise EnvironmentFault(f"cannot be read: {error.strerror}", where=str(path)) from error
        return self.from_bytes(data, str(path))


def has_native(name: str, artifact: Artifact) -> bool:
    """Whether a loader in C reads a part of that format."""
    from inarch.runtime.loaders.native import loader_of

    return loader_of(name, artifact) is not None


LOADERS: Extensions[Loader] = Extensions("inarch.runtime.loaders", "LOADER")
"""The loaders by format."""
