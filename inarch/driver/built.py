"""What is told of a compilation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Built:
    """What `build` made."""

    path: Path
    name: str
    host: str
    target: str
    machine: str
    """Whose caches and ports choices were made for."""
    kernels: int
    weights_bytes: int
    workspace_bytes: int
    offloaded: Mapping[str, tuple[str, ...]]
    """Backend -> the functions that it emitted."""
    microkernels: Mapping[str, int]
    """Microkernel -> the loop nests that it does."""
    passes: Mapping[str, str]
    """The passes of others that ran, and their files or packages."""
