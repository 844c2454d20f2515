"""`--sign KEY`: who signs what a command writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inarch.artifact.signature import Signer


def signer_of(key: Path | None) -> Signer | None:
    """Of the private key in a file; None where none is given. Raises as `Signer`."""
    if key is None:
        return None
    from inarch.artifact.signature import Signer

    return Signer(key)
