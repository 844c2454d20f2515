"""Libraries that an artifact carries: in memory, under a path that no other has, once for each content.

Such a file has no name that anybody could replace, and it needs no folder that can be written. Its descriptor
stays open as the library does: the dynamic loader knows the library by that path.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from inarch.artifact import Artifact
from inarch.artifact.manifest import External
from inarch.core.forks import short_lock
from inarch.core.scratch import scratch


def in_memory(name: str, content: bytes | memoryview) -> int | None:
    """A descriptor, the caller's, of a file without a name; None where the system has none such."""
    if not hasattr(os, "memfd_create") or not Path("/proc/self/fd").is_dir():
        return None
    descriptor = os.memfd_create(name[:200], os.MFD_CLOEXEC)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


class Embedded:
    """Those of this process, by their SHA-256."""

    def __init__(self) -> None:
        self._lock = short_lock()
        self._paths: dict[str, Path] = {}
        self._numbers: set[int] = set()
        self._folders = ExitStack()
        """Never closed: the folders are removed at the end of the process."""

    def path(self, library: External, artifact: Artifact) -> Path:
        """Where the library is. Raises InarchError where its bytes are not those of the manifest."""
        digest = str(library.sha256)
        with self._lock:
            if digest not in self._paths:
                content = artifact.member(library.member)
                self._paths[digest] = self._stored(library.name, content)
            return self._paths[digest]

    def _stored(self, name: str, content: bytes) -> Path:
        descriptor = in_memory(name, content)
        if descriptor is not None:
            # Whoever closes all descriptors frees the number, and the loader still knows the library by it.
            more: list[int] = []
            while descriptor in self._numbers:
                more.append(descriptor)
                descriptor = os.dup(descriptor)
            for number in more:
                os.close(number)
            self._numbers.add(descriptor)
            return Path(f"/proc/self/fd/{descriptor}")
        path = self._folders.enter_context(scratch("inarch-library-")) / name
        path.write_bytes(content)
        return path


EMBEDDED = Embedded()
"""Per process because the dynamic loader is."""
