"""Writes an artifact: the library, the aligned weights, members, index, manifest, the checksum of it all."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from inarch.artifact.index import CRC_DIGITS, index_of, tail
from inarch.artifact.manifest import ABI, BLOB, FORMAT, SUBMODULE, parse
from inarch.core.cache import replacing

WEIGHTS_ALIGNMENT = 4096
MEMBER_ALIGNMENT = 64

MANIFEST = "manifest.json"
INDEX = "index.bin"
WEIGHTS = "weights.bin"
LOCAL_HEADER = 30
"""Bytes of a zip entry before its name."""

_CHUNK = 1 << 20
_ZIP64_EXTRA = 20
_PADDING_ID = 0xD935  # the extra field that Android's zipalign pads with

Buffer = bytes | bytearray | memoryview
"""Of a memoryview, one of bytes."""


def member_alignment(nbytes: int) -> int:
    """At a multiple of what parts and data of so many bytes are in the file: of a page where they fill one.

    >>> member_alignment(4095), member_alignment(4096)
    (64, 4096)
    """
    return WEIGHTS_ALIGNMENT if nbytes >= WEIGHTS_ALIGNMENT else MEMBER_ALIGNMENT


@dataclass(frozen=True)
class Variant:
    """The program for another CPU, as it is written behind the first one."""

    fields: Mapping[str, Any]
    """Of the manifest: `target`, `workspace_bytes` by function, and what is not as in the first program."""
    library: Buffer
    weights: Buffer
    members: Mapping[str, Buffer]


def write_artifact(
    path: Path,
    library: bytes | Path,
    manifest: Mapping[str, Any],
    weights: Iterable[tuple[int, Buffer]],
    weights_bytes: int,
    members: Mapping[str, Buffer] | None = None,
    variants: Sequence[Variant] = (),
) -> None:
    """Writes a program to `path`, which appears complete or not at all.

    `library` is the ELF file or its bytes (empty for a program that another loader interprets).
    `weights` are pieces (offset, bytes) by ascending offset; gaps are zeros, and there are
    `weights_bytes` in all. `members` are further entries by name. `variants` are the program for other CPUs
    than the first one is for, the best first: weights and members that are equal are written once. `format`,
    `abi`, the sizes and the hashes are added to `manifest`.

    Raises EnvironmentFault when the folder cannot be written, InarchError when the manifest is not
    valid, ValueError when pieces overlap or lie outside.
    """
    code = library if isinstance(library, bytes) else library.read_bytes()
    with replacing(path) as file:
        file.write(code)
        # Mode "w" on an open file appends; mode "a" would search the library for a zip.
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            offset, digest = _write_weights(archive, file, WEIGHTS, weights, weights_bytes)
            listing: dict[str, dict[str, object]] = {}
            for name, content in (members or {}).items():
                listing[name] = _write_member(archive, file, name, name, content)
            images = {digest: offset}
            further = [_write_variant(archive, file, one, images, listing) for one in variants]
            full = {
                **manifest,
                "format": FORMAT,
                "abi": ABI,
                "library_bytes": len(code),
                "library_sha256": sha256_of(code),
                "weights_offset": offset,
                "weights_bytes": weights_bytes,
                "weights_sha256": digest,
                "members": listing,
                **({"variants": further} if further else {}),
            }
            index = index_of(parse(full, str(path)))
            archive.writestr(entry(INDEX), index)
            place = file.tell() - len(index)
            archive.writestr(entry(MANIFEST), json.dumps(full, indent=1) + "\n")
            archive.comment = tail(place, len(index))
        write_crc(file)


def write_crc(file: BinaryIO) -> None:
    """Fills in the digits at the end of a file, for all that is before them."""
    end = file.seek(0, os.SEEK_END) - CRC_DIGITS
    file.seek(0)
    crc, left = 0, end
    while left:
        chunk = file.read(min(left, _CHUNK))
        crc, left = zlib.crc32(chunk, crc), left - len(chunk)
    file.seek(end)
    file.write(b"%08x" % crc)


def _write_variant(
    archive: zipfile.ZipFile,
    file: BinaryIO,
    variant: Variant,
    images: dict[str, int],
    first: Mapping[str, Mapping[str, object]],
) -> dict[str, Any]:
    """Writes what is not there yet; the variant's fields. `images`: where weights are, by their hash."""
    target = str(variant.fields["target"])
    digest = sha256_of(variant.weights)
    if digest not in images:
        pieces = [(0, variant.weights)]
        offset, _ = _write_weights(
            archive, file, f"weights/{target}.bin", pieces, len(variant.weights)
        )
        images[digest] = offset
    archive.writestr(entry(f"libraries/{target}.so"), bytes(variant.library))
    library_offset = file.tell() - len(variant.library)
    listing: dict[str, Mapping[str, object]] = {}
    for name, content in variant.members.items():
        same = first.get(name)
        if same is None or same["sha256"] != sha256_of(content):
            place = f"{target}/{name}"
            same = {**_write_member(archive, file, name, place, content), "entry": place}
        listing[name] = same
    return {
        **variant.fields,
        "library_offset": library_offset,
        "library_bytes": len(variant.library),
        "library_sha256": sha256_of(variant.library),
        "weights_offset": images[digest],
        "weights_bytes": len(variant.weights),
        "weights_sha256": digest,
        **({"members": listing} if listing != first else {}),
    }


def _write_member(
    archive: zipfile.ZipFile, file: BinaryIO, name: str, place: str, content: Buffer
) -> dict[str, object]:
    """Writes a member as the entry `place`; what the manifest says of it, with where it is if mapped."""
    if not name.startswith((SUBMODULE, BLOB)):
        archive.writestr(entry(place), bytes(content))
        return {"bytes": len(content), "sha256": sha256_of(content)}
    offset, digest = _write_weights(
        archive, file, place, [(0, content)], len(content), member_alignment(len(content))
    )
    return {"bytes": len(content), "sha256": digest, "offset": offset}


def _write_weights(
    archive: zipfile.ZipFile,
    file: BinaryIO,
    name: str,
    weights: Iterable[tuple[int, Buffer]],
    nbytes: int,
    alignment: int = 0,
) -> tuple[int, str]:
    """Streams the pieces into an entry, aligned to pages if not otherwise; its place, and its hash."""
    header = entry(name)
    header.file_size = nbytes
    before = file.tell() + LOCAL_HEADER + len(name) + _ZIP64_EXTRA + 4
    padding = -before % (alignment or WEIGHTS_ALIGNMENT)
    header.extra = struct.pack("<HH", _PADDING_ID, padding) + bytes(padding)
    digest = hashlib.sha256()
    zeros = bytes(_CHUNK)
    done = 0
    with archive.open(header, "w", force_zip64=True) as stream:

        def write(data: memoryview) -> None:
            stream.write(data)
            digest.update(data)

        def fill(end: int) -> None:
            for start in range(done, end, _CHUNK):
                write(memoryview(zeros)[: min(_CHUNK, end - start)])

        for offset, piece in weights:
            view = memoryview(piece).cast("B") if len(piece) else memoryview(b"")
            if offset < done or offset + len(view) > nbytes:
                raise ValueError(
                    f"weights: {len(view)} bytes at {offset} overlap the {done} bytes before, "
                    f"or lie outside of {nbytes}"
                )
            fill(offset)
            write(view)
            done = offset + len(view)
        fill(nbytes)
    return before + padding, digest.hexdigest()


def entry(name: str) -> zipfile.ZipInfo:
    """A stored entry without a date: equal programs give equal files."""
    header = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    header.external_attr = 0o644 << 16
    return header


def sha256_of(data: Buffer) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
