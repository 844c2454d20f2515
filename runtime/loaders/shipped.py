"""What a loader is handed of a part: the program, weights that stay in the file, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from inarch.artifact import Artifact
from inarch.artifact.manifest import SUBMODULE
from inarch.artifact.provenance import Part
from inarch.core.dtypes import DTYPES
from inarch.core.lazy import Array, np


@dataclass(frozen=True)
class Shipped:
    """A part of an artifact, or, while it is compiled, what the backend has just emitted.

    `program` and `weights` are read-only and, of an artifact, the mapped file itself: nothing is read before
    it is used, other processes share it, and it stays for as long as anything refers to it.
    """

    format: str
    where: str
    """What messages call it: `model.inarch[1]`."""
    program: memoryview
    """The bytes of `Emission.data`, or of its text in UTF-8."""
    weights: Mapping[str, Array] = field(default_factory=dict[str, Array])
    uses: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """By function, the names of the weights that it uses, where these are not all."""
    metadata: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """By function, what the backend says of it."""
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    """All options of the instance, as text."""
    functions: tuple[str, ...] = ()
    instance: str = ""
    backend: str = ""
    version: str = ""
    """Of what made the program, and `machine`, the device that it is for; empty where it does not say."""
    machine: str = ""
    package: str = ""
    """What to install where it cannot be run."""

    @property
    def made(self) -> str:
        """In messages: `version '2.1' made for 'npu-v3'`."""
        return f"version '{self.version or 'unknown'}' made for '{self.machine or 'any'}'"

    def text(self) -> str:
        """The program, where that is text. Raises UnicodeDecodeError."""
        return str(self.program, "utf-8")


def shipped_of(artifact: Artifact, number: int) -> Shipped:
    """Of the submodule of that number, which the manifest has. Raises InarchError where it has no bytes."""
    manifest = artifact.manifest
    name, where = f"{SUBMODULE}{number}", f"{artifact.where}[{number}]"
    known = manifest.members.get(name)
    is_mapped = known is not None and known.offset != 0
    program = artifact.view(name) if is_mapped else memoryview(artifact.member(name))
    part = manifest.part(number)
    if part is None:
        return Shipped(manifest.loaders[number], where, program)
    weights = {
        each: np.frombuffer(artifact.view(one.member), DTYPES[one.dtype].numpy).reshape(one.shape)
        for each, one in part.weights.items()
    }
    return said_of(manifest.loaders[number], where, program, part, weights)


def said_of(
    format: str,  # noqa: A002 - the word of the interface
    where: str,
    program: memoryview,
    part: Part,
    weights: Mapping[str, Array],
) -> Shipped:
    """A program with these weights, of which the manifest says `part`."""
    return Shipped(
        format,
        where,
        program,
        weights,
        part.uses,
        part.metadata,
        part.options,
        part.functions,
        part.name,
        part.backend,
        part.version,
        part.machine,
        part.package,
    )
