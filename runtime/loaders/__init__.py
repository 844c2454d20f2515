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
    from inarch.runtime.module import Imports, Module


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
        if self.load_from_bytes is not None:
            return self.load_from_bytes(data, name)
        if self.create is None:
            raise UsageError(f"loader '{self.type_key}' makes no module of bytes")
        try:
            return self.create(data.decode(), name)
        except UnicodeDecodeError as error:
            raise InarchError(f"expected UTF-8 text: {error}", where=name) from error

    def from_file(self, path: Path) -> Module:
        """The module of a file. Raises EnvironmentFault when it cannot be read."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise EnvironmentFault(f"cannot be read: {error.strerror}", where=str(path)) from error
        return self.from_bytes(data, str(path))


LOADERS: Extensions[Loader] = Extensions("inarch.runtime.loaders", "LOADER")
"""The loaders by format."""
