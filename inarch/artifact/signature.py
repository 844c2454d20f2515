"""Signatures of artifacts: Ed25519, of the manifest, which has the SHA-256 of all that runs.

A signed artifact has a member `signature.json` behind its manifest, with the public key, whose owner is not
proven by that: a reader gives the key that it trusts. `cryptography` does it, and is imported when asked.
"""

from __future__ import annotations

import json
import re
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from inarch.artifact import Artifact
from inarch.artifact.write import entry, write_crc
from inarch.core.cache import replacing
from inarch.core.errors import UsageError, needing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MEMBER = "signature.json"
Key: TypeAlias = "Path | str | bytes"
"""A file, or its text: PEM (`openssl genpkey -algorithm ed25519`) or of OpenSSH (`ssh-keygen -t ed25519`)."""

_MOST = 1 << 16
_BEFORE = b"inarch artifact manifest sha256 "
"""So that what is signed for another purpose is no signature of an artifact."""


class Signer:
    """A private key that was read, so that a wrong one is refused before the work."""

    def __init__(self, key: Key) -> None:
        """Raises UsageError for what is no private Ed25519 key, EnvironmentFault without `cryptography`."""
        self._key: Ed25519PrivateKey = _key(key, is_private=True)

    def sign(self, path: Path, output: Path | None = None) -> str:
        """Signs the artifact at `path`, there or in `output`, whole or not at all; the key's fingerprint.

        Equal artifacts and keys give equal bytes; a signature that there was is replaced. Raises InarchError
        for a file that is no artifact, or does not have the parts that its manifest says.
        """
        public = self._key.public_key().public_bytes_raw()
        with Artifact.open(path) as artifact:
            artifact.verify()
            signed = self._key.sign(_BEFORE + artifact.identity.encode())
            text = json.dumps({"ed25519": public.hex(), "signature": signed.hex()}) + "\n"
            with replacing(output or path) as file:
                file.write(artifact.content)
                with zipfile.ZipFile(file, "a", zipfile.ZIP_STORED) as archive:
                    old = archive.NameToInfo.pop(MEMBER, None)
                    if old is not None and old is not archive.filelist[-1]:
                        raise artifact.error(
                            f"expected '{MEMBER}' at the end, found more behind it"
                        )
                    if old is not None:
                        archive.filelist.remove(old)
                        archive.start_dir = old.header_offset
                    archive.writestr(entry(MEMBER), text)
                write_crc(file)
        return fingerprint(public)


def fingerprint(public: bytes) -> str:
    """What a key is called: the first 16 digits of its SHA-256."""
    return sha256(public).hexdigest()[:16]


def signer_of(artifact: Artifact) -> str | None:
    """The fingerprint of the key that an artifact says signed it, unproven; None: unsigned."""
    found = _signature(artifact)
    return None if found is None else fingerprint(found[0])


def check_signature(artifact: Artifact, key: Key) -> str:
    """The fingerprint of the public key `key`, which signed all parts of the artifact, as their hashes show.

    Raises InarchError for an artifact that is unsigned, signed with another key, or changed since, UsageError
    for what is no public Ed25519 key, EnvironmentFault without `cryptography`.
    """
    public = _key(key, is_private=False)
    expected = fingerprint(public.public_bytes_raw())
    found = _signature(artifact)
    if found is None:
        raise artifact.error(
            f"expected a signature of the key {expected}, found none; sign it with `inarch sign`"
        )
    if fingerprint(found[0]) != expected:
        raise artifact.error(
            f"expected a signature of the key {expected}, found one of {fingerprint(found[0])}"
        )
    from cryptography.exceptions import InvalidSignature

    try:
        public.verify(found[1], _BEFORE + artifact.identity.encode())
    except InvalidSignature as error:
        raise artifact.error(
            f"expected the manifest that the key {expected} signed, found another: "
            "the file was changed after it was signed"
        ) from error
    artifact.verify()
    artifact.is_signed = True
    return expected


def _signature(artifact: Artifact) -> tuple[bytes, bytes] | None:
    """The public key and the signature in the file."""
    text = artifact.optional(MEMBER, _MOST)
    if text is None:
        return None
    try:
        data = cast("dict[str, str]", json.loads(text))
        found = bytes.fromhex(data["ed25519"]), bytes.fromhex(data["signature"])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise artifact.error(f"expected a signature in '{MEMBER}', found another text") from error
    if [len(each) for each in found] != [32, 64]:
        raise artifact.error(f"expected a signature in '{MEMBER}', found one of another length")
    return found


def _begin(path: Path) -> bytes:
    with path.open("rb") as file:  # a pipe, too
        return file.read(_MOST)


def _key(key: Key, *, is_private: bool) -> Any:
    """The key in a file or text, of Ed25519."""
    what = "a private" if is_private else "a public"
    if not isinstance(key, bytes):
        try:
            text = _begin(Path(key))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise UsageError(f"expected {what} Ed25519 key, found '{key}': {why}") from error
    else:
        text = key
    shown = "text" if isinstance(key, bytes) else f"'{key}'"
    # Only what the file says it is, so that a pair that was swapped is told.
    kind = re.search(rb"-----BEGIN ([A-Z ]+)-----", text)
    says = "an OpenSSH public key" if kind is None and b"ssh-ed25519 " in text[:12] else ""
    says = kind[1].decode().lower() if kind is not None else says
    if not says or ("private" in says) is not is_private:
        raise UsageError(f"expected {what} Ed25519 key, found {says or 'no key'} in {shown}")
    found = _read_key(text, is_private=is_private, is_ssh="openssh" in says.lower(), shown=shown)
    name = f"Ed25519{'Private' if is_private else 'Public'}Key"
    if type(found).__name__ != name:
        raise UsageError(
            f"expected {what} Ed25519 key, found {type(found).__name__} in {shown}; "
            "make one with `openssl genpkey -algorithm ed25519`"
        )
    return found


def _read_key(text: bytes, *, is_private: bool, is_ssh: bool, shown: str) -> Any:
    with needing("signatures need the package 'cryptography'; pip install 'inarch[sign]'"):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
    try:
        if is_private:
            read: Any = (
                serialization.load_ssh_private_key if is_ssh else serialization.load_pem_private_key
            )
            return read(text, None)
        return (serialization.load_ssh_public_key if is_ssh else serialization.load_pem_public_key)(
            text
        )
    except TypeError as error:  # what it raises for a password that is not given
        raise UsageError(
            f"expected a key without a password, found one in {shown}; `openssl pkey` takes it off"
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UsageError(f"expected an Ed25519 key, found a damaged one in {shown}") from error
