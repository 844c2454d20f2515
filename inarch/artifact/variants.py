"""One file of several: the same program for several kinds of CPU, of which a reader runs the best it can.

Weights that are equal are there once. What a library packs differently for wider vectors is its own image.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inarch.artifact import Artifact, Variant, write_artifact
from inarch.artifact.manifest import Manifest, listing
from inarch.artifact.write import Buffer
from inarch.core.errors import InarchError

_WRITTEN = (
    "format",
    "abi",
    "library_bytes",
    "library_sha256",
    "weights_offset",
    "weights_bytes",
    "weights_sha256",
    "members",
)
"""Fields that `write_artifact` fills in."""
_OPTIONAL: dict[str, Any] = {"libraries": [], "backends": []}
"""What a field that only the first program has stands for in the others."""


def write_variants(output: Path, artifacts: Sequence[Artifact]) -> None:
    """Writes the programs of `artifacts`, the best one first, into the file `output`, whole or not at all.

    Raises InarchError where they are not one program: functions, name or host are others.
    """
    first, *others = artifacts
    data = {key: value for key, value in first.manifest.data.items() if key not in _WRITTEN}
    variants = [
        Variant(_fields(one.manifest, first.manifest), one.library, one.weights, _members(one))
        for one in others
    ]
    weights, library = first.weights, bytes(first.library)
    write_artifact(
        output, library, data, [(0, weights)], len(weights), _members(first), variants=variants
    )


def _members(artifact: Artifact) -> dict[str, Buffer]:
    return {
        name: artifact.view(name) if known.offset else artifact.member(name)
        for name, known in artifact.manifest.members.items()
    }


def _fields(one: Manifest, first: Manifest) -> dict[str, Any]:
    """What the manifest says of the variant `one` beside `first`."""
    for what, found, expected in (
        ("name", one.name, first.name),
        ("host", one.host, first.host),
        ("functions", _ports(one), _ports(first)),
    ):
        if found != expected:
            raise InarchError(
                f"expected one program for {first.target} and {one.target}, found other {what}: "
                f"{found} instead of {expected}"
            )
    own = {
        key: value
        for key, value in {**_OPTIONAL, **one.data}.items()
        if key not in (*_WRITTEN, "functions")
        if value != {**_OPTIONAL, **first.data}.get(key)
    }
    sizes = {name: signature.workspace_bytes for name, signature in one.functions.items()}
    return {**own, "target": one.target, "workspace_bytes": sizes}


def _ports(manifest: Manifest) -> dict[str, Any]:
    return {
        name: {key: ports for key, ports in listing(signature).items() if key != "workspace_bytes"}
        for name, signature in manifest.functions.items()
    }
