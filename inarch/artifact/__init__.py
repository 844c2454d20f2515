"""The compiled program in one file: a shared library, then a stored zip with weights and manifest.

The file is a valid ELF library and a valid zip at once. Members: `weights.bin`, whose data starts
at a multiple of 4096 so that it can be mapped; the submodules and sources of whoever wrote it; the
same, in `weights/TARGET.bin`, `libraries/TARGET.so` and `TARGET/`, of variants for other CPUs;
`index.bin`, which says in binary what a reader in C needs (`index.py`); last `manifest.json`, which holds
the size and SHA-256 of everything else. The zip's comment, the last bytes of the file, has the place of the
index, the format, and the CRC-32 of all bytes before its digits.

Two checks: opening compares the CRC-32, which finds every accident to a few bytes wherever it is, and
is no hindrance to anybody who changes a file on purpose; `verify` compares the SHA-256 of library,
weights and members with the manifest, whose own hash is `identity`.
"""

from __future__ import annotations

import json
import os
import stat
import struct
import weakref
import zipfile
import zlib
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Self, cast

from inarch.artifact.index import CRC_DIGITS, FORMAT_AT_END, TAIL, index_of
from inarch.artifact.manifest import BLOB, FORMAT, Content, Manifest, parse
from inarch.artifact.mapping import MAPPINGS
from inarch.artifact.mapping import Mapping as FileMapping
from inarch.artifact.write import (
    INDEX,
    LOCAL_HEADER,
    MANIFEST,
    MEMBER_ALIGNMENT,
    WEIGHTS,
    WEIGHTS_ALIGNMENT,
    Variant,
    sha256_of,
    write_artifact,
)
from inarch.core.errors import EnvironmentFault, InarchError
from inarch.core.outside.regular import open_regular

__all__ = ["WEIGHTS_ALIGNMENT", "Artifact", "Variant", "is_artifact", "write_artifact"]

_MAX_MANIFEST = 16 << 20
_MAX_DIRECTORY = 16 << 20

_DAMAGE = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    EOFError,
    ValueError,
    OSError,
    OverflowError,
    LookupError,
    MemoryError,
    struct.error,
    zlib.error,
)
"""What `zipfile` raises on damaged archives."""


class Artifact:
    """An open program file, mapped read-only. Made by `Artifact.open`.

    The mapping lives as long as anything made from it, also when the file is replaced; the descriptor
    until `close`, or the end of a `with` block. A file that is overwritten in place breaks every reader
    of it, which is why `write_artifact` renames.
    """

    def __init__(self, where: str, mapping: FileMapping, descriptor: int, *, check: bool) -> None:
        """For `open`: `mapping` is the whole file, `descriptor` is open for it and owned from here."""
        self.where = where
        self.folders: tuple[Path, ...] = ()
        """Where it lies: the folder of the path that was given, and that of the file behind links."""
        self.loaders: tuple[Path, ...] = ()
        """Libraries that run its parts, asked before those that are found by their names."""
        self.descriptor = descriptor
        self._close = weakref.finalize(self, os.close, descriptor)
        self.mapping = mapping
        self.content = mapping.view
        """The whole file."""
        self.is_signed = False
        """Whether a signature was compared: then what it calls has to be what was signed, too."""
        self.whole: Artifact | None = None
        """Of what this is one of the variants."""
        self.lent: memoryview | None = None
        """The weights, where they are not in the file (`Manifest.shared`)."""
        self._archive = _open_archive(self.content, where)
        self._check_format()
        text = self._read(MANIFEST, _MAX_MANIFEST)
        self.manifest: Manifest = parse(_parse_json(text, where), where)
        self.identity = sha256_of(text)
        """Names the content: two files with the same identity are the same program, if `verify` agrees."""
        self._check_places()
        if check:
            self._check_tail()

    @classmethod
    def open(cls, path: Path | str, *, where: str | None = None, check: bool = True) -> Self:
        """Opens and checks a file; messages call it `where`, by default its path.

        Without `check`, damage to the library or the weights is not found (the rest is checked when it is
        read). Raises InarchError, located there, for all that is not a complete program of this
        format, and EnvironmentFault when the file exists but cannot be read.
        """
        where = where or str(path)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError as error:
            raise _not_an_artifact(where, "no such file") from error
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise EnvironmentFault(f"cannot be read: {reason}", where=where) from error
        try:
            mapping = _map(descriptor, where)
        except BaseException:
            os.close(descriptor)
            raise
        found = cls(where, mapping, descriptor, check=check)
        found.folders = tuple(
            dict.fromkeys((Path(path).absolute().parent, Path(path).resolve().parent))
        )
        return found

    def close(self) -> None:
        """Closes the descriptor; all else stays as it is."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def program(self, number: int) -> Self:
        """One of `manifest.programs` as an artifact of its own, of the same file; it keeps this one."""
        if number == 0 and not self.manifest.variants:
            return self
        one = copy(self)
        found = self.manifest.programs[number]
        data = {key: value for key, value in found.data.items() if key != "variants"}
        one.manifest = replace(found, variants=(), data=data)
        one.whole = self
        return one

    @property
    def library(self) -> memoryview:
        """The bytes of the shared library; empty for a program without one."""
        start = self.manifest.library_offset
        return self.content[start : start + self.manifest.library.nbytes]

    @property
    def weights(self) -> memoryview:
        """The mapped weights; their address is a multiple of 4096.

        Raises InarchError where they are not in the file, and nobody has lent them.
        """
        if self.manifest.shared is not None:
            if self.lent is None:
                raise self.error(
                    "expected an artifact with its weights, found one of the cache, whose weights are in "
                    f"the pool {self.manifest.shared.pool[:16]}... there; write one with module.save, or "
                    "`inarch compile`"
                )
            return self.lent
        start = self.manifest.weights_offset
        return self.content[start : start + self.manifest.weights.nbytes]

    def member(self, name: str) -> bytes:
        """The bytes of a further entry, checked against the manifest."""
        known = self.manifest.members.get(name)
        if known is None:
            names = ", ".join(self.manifest.members) or "none"
            raise self.error(f"expected a member '{name}', found {names}")
        content = self._read(known.entry or name, known.nbytes)
        if sha256_of(content) != known.sha256:
            raise self.error(f"expected the member '{name}' of the manifest, found another content")
        return content

    def view(self, name: str) -> memoryview:
        """The mapped bytes of a part, or of data that parts bring along, without reading them."""
        known = self.manifest.members[name]
        return self.content[known.offset : known.offset + known.nbytes]

    def optional(self, name: str, limit: int) -> bytes | None:
        """At most `limit` bytes of an entry that the manifest does not know; None where there is none."""
        return self._read(name, limit) if name in self._archive.NameToInfo else None

    def verify(self) -> None:
        """Hashes library, weights and members. Raises InarchError where one is not the manifest's."""
        for number in range(len(self.manifest.programs)):
            one = self.program(number)
            if sha256_of(one.library) != one.manifest.library.sha256:
                raise self.error("expected the library of the manifest, found one of another hash")
            if sha256_of(one.weights) != one.manifest.weights.sha256:
                raise self.error(
                    "expected the weights of the manifest, found others: a damaged file"
                )
            for name, known in one.manifest.members.items():
                one.member(name)
                if known.offset and sha256_of(one.view(name)) != known.sha256:
                    raise self.error(
                        f"expected the member '{name}' at {known.offset}, found others"
                    )

    def error(self, message: str) -> InarchError:
        """An error located at this file."""
        return InarchError(message, where=self.where)

    def _read(self, name: str, limit: int) -> bytes:
        """A stored entry of at most `limit` bytes, whose CRC holds."""
        try:
            entry = self._archive.getinfo(name)
        except KeyError as error:
            raise _not_an_artifact(self.where, f"a zip archive without '{name}'") from error
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > limit:
            raise self.error(f"expected '{name}' to be stored, of at most {limit} bytes")
        try:
            return self._archive.read(entry)
        except _DAMAGE as error:
            raise self.error(f"'{name}' is damaged: {error}") from error

    def _check_format(self) -> None:
        """By the end of the file, which is as it is in all formats; the rest may be of another one."""
        found = FORMAT_AT_END.search(self._archive.comment)
        if found is not None and int(found[1]) != FORMAT:
            raise self.error(
                f"expected artifact format {FORMAT}, found {int(found[1])}; compile the model again, or "
                "use the Inarch that wrote it"
            )

    def _check_tail(self) -> None:
        """The index is that of the manifest, and no byte of the file another than when it was written."""
        tail = TAIL.fullmatch(self._archive.comment)
        if tail is None:
            raise self.error(
                "expected a checksum at the end of the file, found none; compile the model again"
            )
        start, nbytes, crc = (int(tail[group], 16) for group in (1, 2, 4))
        # No reader sees another program.
        if bytes(self.content[start : start + nbytes]) != index_of(self.manifest):
            raise self.error(f"expected the '{INDEX}' of the manifest, found another")
        if not MAPPINGS.crc_is(self.mapping, len(self.content) - CRC_DIGITS, crc):
            raise self.error(
                "expected the bytes that were written, found others: a damaged file; copy it again, "
                "or compile the model again"
            )

    def _check_places(self) -> None:
        """The zip and the manifest agree on where library and weights are, inside the file."""
        for program in self.manifest.programs:
            if program.library_offset + program.library.nbytes > len(self.content):
                raise self.error(
                    "expected the library of the manifest, found a file that is shorter"
                )
            for name, known in program.members.items():
                self._check_member(name, known)
        for variant in self.manifest.variants:
            start, size = variant.weights_offset, variant.weights.nbytes
            if start % WEIGHTS_ALIGNMENT or start + size > len(self.content):
                raise self.error(
                    f"expected the weights of {variant.target} at a multiple of {WEIGHTS_ALIGNMENT} in "
                    f"the file, found {size} bytes at {start}"
                )
        start, size = self.manifest.weights_offset, self.manifest.weights.nbytes
        try:
            entry = self._archive.getinfo(WEIGHTS)
            name, extra = struct.unpack_from("<HH", self.content, entry.header_offset + 26)
        except (KeyError, struct.error) as error:
            raise self.error(f"expected '{WEIGHTS}', found a damaged archive") from error
        found = entry.header_offset + LOCAL_HEADER + name + extra
        if (found, entry.file_size) != (start, size) or start % WEIGHTS_ALIGNMENT:
            raise self.error(
                f"expected {size} bytes of weights at {start}, found {entry.file_size} at {found}"
            )
        if start + size > len(self.content):
            raise self.error(f"expected weights up to byte {start + size}, found the end of file")

    def _check_member(self, name: str, known: Content) -> None:
        """What is read at its place lies in the file; data that are mapped are aligned there."""
        if known.offset + known.nbytes > len(self.content):
            raise self.error(
                f"expected '{name}' up to byte {known.offset + known.nbytes}, found the end of file"
            )
        if name.startswith(BLOB) and known.offset % MEMBER_ALIGNMENT:
            raise self.error(
                f"expected '{name}' at a multiple of {MEMBER_ALIGNMENT}, found it at {known.offset}"
            )


def is_artifact(path: Path) -> bool:
    """Whether `path` is a compiled program, of any name, or is called like one."""
    if path.suffix == ".inarch" or not path.suffix:
        return True
    try:
        with open_regular(path) as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False  # the reader of models says so better


def _map(descriptor: int, where: str) -> FileMapping:
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode):
        what = "a folder" if stat.S_ISDIR(state.st_mode) else "no regular file"
        raise _not_an_artifact(where, what)
    if state.st_size == 0:
        raise _not_an_artifact(where, "an empty file")
    try:
        return MAPPINGS.get(descriptor)
    except OSError as error:
        raise EnvironmentFault(f"cannot be mapped: {error.strerror}", where=where) from error


class _Reader:
    """A view as the file that `zipfile` reads."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._at = 0
        self.limit = _MAX_DIRECTORY
        """Bytes of one read: the list of members is one, and becomes objects ten times as large."""

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: len(self._view)}[whence]
        if start + offset < 0:
            raise ValueError("a place before the file")
        self._at = start + offset
        return self._at

    def read(self, count: int = -1) -> bytes:
        piece = self._view[self._at :] if count < 0 else self._view[self._at : self._at + count]
        if len(piece) > self.limit:
            raise zipfile.BadZipFile(f"a list of members of {len(piece)} bytes")
        self._at += len(piece)
        return bytes(piece)


def _open_archive(view: memoryview, where: str) -> zipfile.ZipFile:
    """The zip at the end of the file."""
    reader = _Reader(view)
    try:
        archive = zipfile.ZipFile(cast("BinaryIO", reader))
    except _DAMAGE as error:
        raise _not_an_artifact(where, _kind_of(view)) from error
    reader.limit = len(view)
    return archive


def _kind_of(view: memoryview) -> str:
    start = bytes(view[:4])
    if start == b"\x7fELF":
        return "an ELF file without the archive at its end: truncated or stripped"
    if start == b"PK\x03\x04":
        return "a damaged zip archive"
    if start[:1] == b"\x08" and start[2:3] in (b"\x12", b"\x1a", b":"):  # fields 1, then 2, 3 or 7
        return "an ONNX model; compile it: inarch.compile(path), or 'inarch compile'"
    return f"a file that starts with {start!r}"


def _not_an_artifact(where: str, found: str) -> InarchError:
    return InarchError(f"expected an Inarch artifact, found {found}", where=where)


def _parse_json(text: bytes, where: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InarchError(f"{MANIFEST}: expected JSON: {error}", where=where) from error
