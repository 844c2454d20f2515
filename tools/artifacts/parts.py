"""The parts of an artifact by the name of the file that each becomes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import PurePosixPath

from inarch.artifact import Artifact

Read = Callable[[], bytes | memoryview]
"""The bytes, compared with the manifest where that has their hash."""


def parts(artifact: Artifact) -> dict[str, Read]:
    """`manifest.json`, `library.so`, `weights.bin`, and members by their names.

    Those of a variant, where they are others, are in a folder that is called like its target. Raises
    InarchError where a stranger's member has a name that would be outside of the folder it goes to.
    """
    text = json.dumps(artifact.manifest.data, indent=1) + "\n"
    found: dict[str, Read] = {"manifest.json": text.encode}
    seen: set[tuple[str, int]] = set()
    for number in range(len(artifact.manifest.programs)):
        one = artifact.program(number)
        folder = "" if number == 0 else f"{one.manifest.target}/"
        weights = ("weights.bin", one.manifest.weights_offset)
        if one.manifest.library.nbytes:
            found[f"{folder}library.so"] = _library(one)
        if one.manifest.weights.nbytes and weights not in seen:
            found[f"{folder}weights.bin"] = _weights(one)
        seen.add(weights)
        for name, each in one.manifest.members.items():
            if number == 0 or each.entry:
                found[folder + name] = _member(one, name)
    for name in found:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
            raise artifact.error(f"expected a member whose name is a relative path, found '{name}'")
    return found


def _library(artifact: Artifact) -> Read:
    return lambda: artifact.library


def _weights(artifact: Artifact) -> Read:
    return lambda: artifact.weights


def _member(artifact: Artifact, name: str) -> Read:
    return lambda: artifact.member(name)
