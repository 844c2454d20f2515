"""Artifacts that nobody compiled: an index with any numbers and texts, after the library of crafted.c."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

F32, I32, BOOL = 0x220, 0x020, 0x608
NO_WEIGHTS = hashlib.sha256(b"").hexdigest()
ALIGNMENT = 4096

Port = tuple[str, int, Sequence[int]]
"""Name, element type, shape."""


def number(value: int, size: int = 8) -> bytes:
    return value.to_bytes(size, "little")


def text(value: str) -> bytes:
    data = value.encode("latin-1")
    return number(len(data), 4) + data + b"\0"


def listed(items: Iterable[bytes]) -> bytes:
    found = list(items)
    return number(len(found), 4) + b"".join(found)


@dataclass(frozen=True)
class Function:
    name: str
    inputs: Sequence[Port]
    outputs: Sequence[Port]
    workspace: int = 0

    def packed(self) -> bytes:
        ports = b"".join(
            listed(
                text(name) + number(dtype, 4) + listed(number(size) for size in shape)
                for name, dtype, shape in kind
            )
            for kind in (self.inputs, self.outputs)
        )
        return text(self.name) + number(self.workspace) + ports


OTHER = (("x", F32, (4,)),), (("y", F32, (4,)),)
MAIN = Function(
    "main",
    (("x", F32, (2, 3)), ("flags", BOOL, (2,)), ("empty", F32, (0,))),
    (("y", F32, (2, 3)), ("nothing", F32, (0,)), ("numbers", I32, (2,))),
    64,
)
X, FLAGS, EMPTY = MAIN.inputs
NARROW = Function("main__3", *OTHER)
SIZES = (
    MAIN,
    *(replace(MAIN, name=name) for name in ("main__2", "main__x", "main__", "main_2", "mainly")),
    NARROW,
    Function("made", (), OTHER[1]),
)
"""All functions of crafted.c."""
TWICE = Function("twice", (MAIN.inputs[0],), (MAIN.outputs[0], MAIN.outputs[2]))


@dataclass(frozen=True)
class Weight:
    name: str = "w"
    offset: int = 0
    nbytes: int = 0
    sha256: str = NO_WEIGHTS

    def packed(self) -> bytes:
        return text(self.name) + number(self.offset) + number(self.nbytes) + text(self.sha256)


@dataclass(frozen=True)
class Part(Weight):
    """Bytes for the loader of its format, and the files shipped with it."""

    name: str = "raw"
    version: str = ""
    machine: str = ""
    package: str = ""
    weights: Sequence[Weight] = ()
    options: Sequence[str] = ()

    def shipped(self) -> bytes:
        said = text(self.version) + text(self.machine) + text(self.package)
        weights = listed(each.packed() for each in self.weights)
        return said + weights + text("one") + listed(map(text, self.options))


@dataclass(frozen=True)
class Variant:
    """The program for one kind of CPU; None: the right one for the file."""

    target: str = "generic"
    library: tuple[int, int | None, str | None] = (0, None, None)
    weights: tuple[int, int, str] = (0, 0, NO_WEIGHTS)
    loaders: Sequence[str] = ("shared-library",)
    imports: Sequence[str] = ()
    libraries: Sequence[tuple[str, str, str]] = ()
    """Name, path and SHA-256."""
    workspaces: Sequence[int] | None = None
    parts: Sequence[Part] = ()
    called: Sequence[Function] = ()

    def packed(self, library: bytes, functions: Sequence[Function]) -> bytes:
        offset, nbytes, digest = self.library
        workspaces = self.workspaces
        if workspaces is None:
            workspaces = [each.workspace for each in functions]
        return b"".join(
            (
                text(self.target),
                text("wings"),
                number(offset),
                number(len(library) if nbytes is None else nbytes),
                text(hashlib.sha256(library).hexdigest() if digest is None else digest),
                number(self.weights[0]),
                number(self.weights[1]),
                text(self.weights[2]),
                listed(map(text, self.loaders)),
                listed(map(text, self.imports)),
                listed(
                    b"".join(map(text, (*one, "the code calls", "install it")))
                    for one in self.libraries
                ),
                listed(map(number, workspaces)),
            )
        )


PART = Variant(
    loaders=("shared-library", "raw"), imports=("twice",), parts=(Part(),), called=(TWICE,)
)
"""One of a backend, with one function."""


@dataclass(frozen=True)
class Index:
    prefix: str = "good"
    functions: Sequence[Function] = (MAIN,)
    variants: Sequence[Variant] = (Variant(),)
    name: str = "net"
    head: bytes = b"INARCHIX" + struct.pack("<II", 3, 3)
    has_parts: bool = True
    shipped: Sequence[Part] | None = None
    """None: those of each variant."""
    rest: bytes = b""

    def packed(self, library: bytes) -> bytes:
        found = self.head + text(self.name) + text(self.prefix)
        found += listed(each.packed() for each in self.functions)
        found += listed(each.packed(library, self.functions) for each in self.variants)
        if self.has_parts:
            for one in self.variants:
                found += listed(each.packed() for each in one.parts)
                found += listed(each.packed() for each in one.called)
            for one in self.variants:
                shipped = one.parts if self.shipped is None else self.shipped
                found += listed(each.shipped() for each in shipped)
        return found + self.rest


def of_variant(variant: Variant, **more: Any) -> Index:
    return replace(Index(), variants=(variant,), **more)


def sealed(data: bytes) -> bytes:
    """With the checksum that it ought to have in its last eight bytes."""
    return data[:-8] + b"%08x" % zlib.crc32(data[:-8])


def file_of(library: bytes, index: Index) -> bytes:
    """The library, 4096 bytes of zeros at a multiple of 4096 (weights, parts), the index, the tail."""
    body = library + bytes(-len(library) % ALIGNMENT + ALIGNMENT)
    data = index.packed(library)
    tail = b"inarch index %016x %08x format 0003 crc32 00000000" % (len(body), len(data))
    return sealed(body + data + tail)
