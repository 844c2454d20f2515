"""What a reader without JSON needs of an artifact: `index.bin`, the manifest's facts in binary, and the tail.

The tail is the zip's comment, the last 65 bytes of the file, all of it text:

    inarch index OOOOOOOOOOOOOOOO BBBBBBBB format FFFF crc32 CCCCCCCC

with the place of the index in the file and its size in hexadecimal digits, the format of the file in
decimal ones, and the CRC-32 of all bytes before its digits. `format FFFF crc32 CCCCCCCC` ends the file in
every format from 2 on, so that each reader can tell a file that is newer than it.

The index is little endian, without padding. `text` is a u32 with the number of bytes, the bytes (UTF-8)
and a 0; `list of X` a u32 with the count, then the items:

    "INARCHIX", u32 format, u32 abi
    text name, text prefix
    list of (text name, u64 workspace_bytes, list of port inputs, list of port outputs) functions
    list of variants: the program for one kind of CPU each, the best first
    where a program has submodules, also for each variant: list of submodules, list of called
    where one of these says who made it, has options, or brings weights along, also for each variant:
        list of shipped

    port: text name, u32 dtype (DLPack's code * 256 + bits), list of u64 sizes
    variant: text target, text features (with a comma between them)
        u64 library_offset, u64 library_bytes, text library_sha256
        u64 weights_offset, u64 weights_bytes, text weights_sha256
        list of text loaders
        list of text imports (those that are filled at load, in the table's order)
        list of (text name, text path, text sha256, text caller, text remedy) libraries that the code calls
        list of u64 workspace_bytes, one a function
    submodule: text format, u64 offset, u64 bytes, text sha256
    shipped: of a submodule, in their order: text version, text machine, text package,
        list of (text name, u64 offset, u64 bytes, text sha256) weights,
        text instance, list of text options: a name, then its value
    called: as functions, those imports of which it is known what they take

A text has no byte of 0. `runtime/c/index.c` reads it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable
from typing import TypeVar

from inarch.artifact.manifest import ABI, FORMAT, Content, External, Manifest, Port, Signature
from inarch.artifact.provenance import Part, Weight
from inarch.core.dtypes import DType

MAGIC = b"INARCHIX"
CRC_DIGITS = 8
"""At the end of the file."""

TAIL = re.compile(
    rb"inarch index ([0-9a-f]{16}) ([0-9a-f]{8}) format ([0-9]{4}) crc32 ([0-9a-f]{8})"
)
"""Place and size of the index, format, CRC-32."""
TAIL_BYTES = 65
FORMAT_AT_END = re.compile(rb"format ([0-9]{4}) crc32 [0-9a-f]{8}\Z")
"""The end of the end: of any format."""

_Item = TypeVar("_Item")


def tail(offset: int, nbytes: int) -> bytes:
    """The zip's comment, with zeros for the CRC-32.

    >>> len(tail(4096, 300)) == TAIL_BYTES
    True
    """
    return b"inarch index %016x %08x format %04d crc32 00000000" % (offset, nbytes, FORMAT)


def dtype_number(dtype: DType) -> int:
    """What the index and the C runtime call an element type.

    >>> from inarch.core.dtypes import DTYPES
    >>> hex(dtype_number(DTYPES["f32"]))
    '0x220'
    """
    return dtype.dlpack << 8 | dtype.bits


def index_of(manifest: Manifest) -> bytes:
    """The index of an artifact with this manifest."""
    return b"".join(
        (
            MAGIC,
            struct.pack("<II", FORMAT, ABI),
            _text(manifest.name),
            _text(manifest.prefix),
            _list(manifest.functions.items(), _function),
            _list(manifest.programs, _variant),
            *(_parts(each) for each in manifest.programs if _has_parts(manifest)),
            *(_shipped(each) for each in manifest.programs if _has_shipped(manifest)),
        )
    )


def _has_parts(manifest: Manifest) -> bool:
    """Whether readers are told of submodules: they were not by those who wrote no places."""
    return any(content.offset for one in manifest.programs for _, content in one.submodules)


def _has_shipped(manifest: Manifest) -> bool:
    parts = [each for one in manifest.programs for each in one.backends if each.part != "library"]
    return _has_parts(manifest) and any(
        each.version or each.machine or each.package or each.weights or each.options
        for each in parts
    )


def _shipped(manifest: Manifest) -> bytes:
    numbers = range(1, len(manifest.submodules) + 1)
    return _list(numbers, lambda number: _shipment(manifest, manifest.part(number)))


def _shipment(manifest: Manifest, part: Part | None) -> bytes:
    if part is None:
        nobody = _text("") + _text("") + _text("") + _list((), _text)
        return nobody + _text("") + _list((), _text)

    def weight(entry: tuple[str, Weight]) -> bytes:
        name, one = entry
        content = manifest.members[one.member]
        return _text(name) + _size(content.offset) + _size(content.nbytes) + _text(content.sha256)

    said = _text(part.version) + _text(part.machine) + _text(part.package)
    options = [text for option in part.options.items() for text in option]
    return said + _list(part.weights.items(), weight) + _text(part.name) + _list(options, _text)


def _parts(manifest: Manifest) -> bytes:
    called = [(one.name, one.signature) for one in manifest.imports if one.linked is None]
    return _list(manifest.submodules, _submodule) + _list(
        ((name, signature) for name, signature in called if signature is not None), _function
    )


def _submodule(entry: tuple[str, Content]) -> bytes:
    name, content = entry
    return _text(name) + _size(content.offset) + _size(content.nbytes) + _text(content.sha256)


def _variant(manifest: Manifest) -> bytes:
    return b"".join(
        (
            _text(manifest.target),
            _text(", ".join(manifest.features)),
            _size(manifest.library_offset),
            _size(manifest.library.nbytes),
            _text(manifest.library.sha256),
            _size(manifest.weights_offset),
            _size(manifest.weights.nbytes),
            _text(manifest.weights.sha256),
            _list(manifest.loaders, _text),
            _list((slot.name for slot in manifest.imports if slot.linked is None), _text),
            _list(manifest.libraries, _library),
            _list((each.workspace_bytes for each in manifest.functions.values()), _size),
        )
    )


def _size(number: int) -> bytes:
    return struct.pack("<Q", number)


def _text(text: str) -> bytes:
    # A model may have such a name; what reads C strings would see another one.
    data = text.replace("\0", "\ufffd").encode()
    return struct.pack("<I", len(data)) + data + b"\0"


def _list(items: Iterable[_Item], pack: Callable[[_Item], bytes]) -> bytes:
    packed = [pack(item) for item in items]
    return struct.pack("<I", len(packed)) + b"".join(packed)


def _library(library: External) -> bytes:
    return b"".join(
        map(
            _text,
            (library.name, library.path, library.sha256 or "", library.caller, library.remedy),
        )
    )


def _function(entry: tuple[str, Signature]) -> bytes:
    name, signature = entry
    ports = _list(signature.inputs, _port) + _list(signature.outputs, _port)
    return _text(name) + _size(signature.workspace_bytes) + ports


def _port(port: Port) -> bytes:
    return _text(port.name) + struct.pack("<I", dtype_number(port.dtype)) + _list(port.shape, _size)
