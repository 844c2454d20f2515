"""Writes an artifact: the library, the aligned weights, members, index, manifest, the checksum of it all."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from inarch.artifact.index import CRC_DIGITS, index_of, tail
from inarch.artifact.manifest import ABI, FORMAT, parse
from inarch.core.cache import replacing

WEIGHTS_ALIGNMENT = 4096

MANIFEST = "manifest.json"
INDEX = "index.bin"
WEIGHTS = "weights.bin"
LOCAL_HEADER = 30
"""Bytes of a zip entry before its name."""

_CHUNK = 1 << 20
_ZIP64_EXTRA = 20
_PADDING_ID = 0xD935  # the extra field that Android's zipalign pads with

Buffer = bytes | bytearray | memoryview


def write_artifact(
    path: Path,
    library: bytes | Path,
    manifest: Mapping[str, Any],
    weights: Iterable[tuple[int, Buffer]],
    weights_bytes: int,
    members: Mapping[str, bytes] | None = None,
) -> None:
    """Writes a program to `path`, which appears complete or not at all.

    `library` is the ELF file or its bytes (empty for a program that another loader interprets).
    `weights` are pieces (offset, bytes) by ascending offset; gaps are zeros, and there are
    `weights_bytes` in all. `members` are further entries by name. `format`, `abi`, the sizes and
    the hashes are added to `manifest`.

    Raises EnvironmentFault when the folder cannot be written, InarchError when the manifest is not
    valid, ValueError when pieces overlap or lie outside.
    """
    code = library if isinstance(library, bytes) else library.read_bytes()
    with replacing(path) as file:
        file.write(code)
        # Mode "w" on an open file appends; mode "a" would search the library for a zip.
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            offset, digest = _write_weights(archive, file, weights, weights_bytes)
            listing: dict[str, dict[str, object]] = {}
            for name, content in (members or {}).items():
                archive.writestr(_entry(name), content)
                listing[name] = {"bytes": len(content), "sha256": sha256_of(content)}
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
            }
            index = index_of(parse(full, str(path)))
            archive.writestr(_entry(INDEX), index)
            place = file.tell() - len(index)
            archive.writestr(_entry(MANIFEST), json.dumps(full, indent=1) + "\n")
            archive.comment = tail(place, len(index))
        _write_crc(file)


def _write_crc(file: BinaryIO) -> None:
    """Fills in the digits at the end of a file, for all that is before them."""
    end = file.seek(0, os.SEEK_END) - CRC_DIGITS
    file.seek(0)
    crc, left = 0, end
    while left:
        chunk = file.read(min(left, _CHUNK))
        crc, left = zlib.crc32(chunk, crc), left - len(chunk)
    file.seek(end)
    file.write(b"%08x" % crc)


def _write_weights(
    archive: zipfile.ZipFile,
    file: BinaryIO,
    weights: Iterable[tuple[int, Buffer]],
    nbytes: int,
) -> tuple[int, str]:
    """Streams the pieces into an aligned entry; its offset in the file, and its hash."""
    entry = _entry(WEIGHTS)
    entry.file_size = nbytes
    before = file.tell() + LOCAL_HEADER + len(WEIGHTS) + _ZIP64_EXTRA + 4
    padding = -before % WEIGHTS_ALIGNMENT
    entry.extra = struct.pack("<HH", _PADDING_ID, padding) + bytes(padding)
    digest = hashlib.sha256()
    zeros = bytes(_CHUNK)
    done = 0
    with archive.open(entry, "w", force_zip64=True) as stream:

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


def _entry(name: str) -> zipfile.ZipInfo:
    """A stored entry without a date: equal programs give equal files."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = 0o644 << 16
    return entry


def sha256_of(data: Buffer) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
