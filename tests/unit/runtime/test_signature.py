"""Signed artifacts: a key that is trusted refuses the unsigned, the changed, and what others signed."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

import inarch
from inarch.artifact import Artifact, write_artifact
from inarch.artifact.signature import MEMBER, Signer, check_signature, fingerprint, signer_of
from inarch.core.errors import EnvironmentFault, InarchError, UsageError
from inarch.tools.cli import run

MakeProgram = Callable[..., Path]
RAW = s.Encoding.Raw, s.PublicFormat.Raw


class Pair:
    """A key in files, of PEM or OpenSSH."""

    def __init__(self, folder: Path, seed: int, form: str = "pem") -> None:
        private = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
        ways: dict[str, Any] = {
            "pem": (s.PrivateFormat.PKCS8, s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo),
            "ssh": (s.PrivateFormat.OpenSSH, s.Encoding.OpenSSH, s.PublicFormat.OpenSSH),
        }
        own, encoding, public = ways[form]
        self.private, self.public = folder / f"{seed}.{form}", folder / f"{seed}.{form}.pub"
        self.private.write_bytes(private.private_bytes(s.Encoding.PEM, own, s.NoEncryption()))
        self.public.write_bytes(private.public_key().public_bytes(encoding, public))
        self.name = fingerprint(private.public_key().public_bytes(*RAW))


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path, 1)


@pytest.fixture
def program(make_program: MakeProgram, tmp_path: Path) -> Path:
    return make_program(tmp_path / "a.inarch", members={"source.c": b"int x;"})


def refused(
    path: Path, key: Path | str | bytes, message: str, kind: type[InarchError] = InarchError
) -> None:
    with pytest.raises(kind) as caught:
        inarch.load(path, verify_key=key)
    assert str(caught.value).replace(f"{path}: ", "") == message


@pytest.mark.parametrize("form", ["pem", "ssh"])
def test_what_is_signed_loads_and_computes_the_same(
    form: str, program: Path, tmp_path: Path
) -> None:
    """Each part is as it was; equal files are signed equally; a second signature replaces the first."""
    pair, other = Pair(tmp_path, 1, form), Pair(tmp_path, 2, form)
    before = Artifact.open(program)
    signed = tmp_path / "signed.inarch"
    assert Signer(pair.private).sign(program, signed) == pair.name
    with Artifact.open(signed) as after:
        assert after.manifest.data == before.manifest.data
        assert after.identity == before.identity
        assert signer_of(after) == pair.name
        assert check_signature(after, pair.public) == pair.name
        assert check_signature(after, pair.public.read_bytes()) == pair.name
    names = sorted(inarch.load(program).functions)
    assert sorted(inarch.load(signed, verify_key=pair.public, verify=True).functions) == names
    Signer(other.private).sign(program)
    Signer(pair.private).sign(program)
    assert program.read_bytes() == signed.read_bytes()
    with zipfile.ZipFile(signed) as archive:
        assert archive.testzip() is None
        assert archive.namelist()[-2:] == ["manifest.json", MEMBER]


def test_what_is_not_as_it_was_signed(program: Path, pair: Pair, tmp_path: Path) -> None:
    """Unsigned, of another key, another manifest, another part with a checksum that fits: a line each."""
    unsigned = (
        f"expected a signature of the key {pair.name}, found none; sign it with `inarch sign`"
    )
    refused(program, pair.public, unsigned)
    other = Pair(tmp_path, 2)
    Signer(other.private).sign(program)
    refused(
        program,
        pair.public,
        f"expected a signature of the key {pair.name}, found one of {other.name}",
    )
    Signer(pair.private).sign(program)
    with zipfile.ZipFile(program) as archive:
        signature = archive.read(MEMBER)
    with Artifact.open(program) as artifact:
        library, weights = bytes(artifact.library), bytes(artifact.weights)
        manifest = dict(artifact.manifest.data)
    changed = f"expected the manifest that the key {pair.name} signed, found another: "
    forged = tmp_path / "forged.inarch"
    for code, data, said in ((library + b"\0", weights, {}), (library, weights, {"name": "other"})):
        write_artifact(forged, code, {**manifest, **said}, [(0, data)], len(data))
        with_member(forged, signature)
        refused(forged, pair.public, changed + "the file was changed after it was signed")
    for text, found in (
        (b"{}", "another text"),
        (b"\xff", "another text"),
        (b"[" * 9999, "another text"),
        (b'{"ed25519": "00", "signature": "00"}', "one of another length"),
    ):
        write_artifact(forged, library, manifest, [(0, weights)], len(weights))
        with_member(forged, text)
        refused(forged, pair.public, f"expected a signature in '{MEMBER}', found {found}")


def with_member(path: Path, text: bytes) -> None:
    """Adds a signature as an attacker would, who mends the checksum."""
    from inarch.artifact.write import entry, write_crc

    with path.open("r+b") as file:
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr(entry(MEMBER), text)
        write_crc(file)


def test_parts_are_compared_after_the_signature(program: Path, pair: Pair) -> None:
    """Weights that were changed in place, with a checksum that fits: the manifest is still the signed one."""
    Signer(pair.private).sign(program)
    with Artifact.open(program) as artifact:
        at, size = artifact.manifest.weights_offset, artifact.manifest.weights.nbytes
    from inarch.artifact.write import write_crc

    assert size > 0
    with program.open("r+b") as file:
        file.seek(at)
        first = file.read(1)
        file.seek(at)
        file.write(bytes([first[0] ^ 1]))
        write_crc(file)
    refused(
        program,
        pair.public,
        "expected the weights of the manifest, found others: a damaged file",
    )


def test_damage_behind_the_manifest(program: Path, pair: Pair, tmp_path: Path) -> None:
    """Each byte of the signature, the list of members and the tail: flipped, or the end of the file."""
    Signer(pair.private).sign(program)
    whole, bad = program.read_bytes(), tmp_path / "bad.inarch"
    with zipfile.ZipFile(program) as archive:
        start = archive.getinfo(MEMBER).header_offset
    for at in range(start, len(whole), 19):
        for content in (whole[:at], whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :]):
            bad.write_bytes(content)
            with pytest.raises(InarchError) as caught:
                inarch.load(bad, verify_key=pair.public)
            assert str(caught.value).startswith(f"{bad}: ")
            assert "\n" not in str(caught.value)


def test_keys_that_are_none(program: Path, pair: Pair, tmp_path: Path) -> None:
    """A missing file, the other half of a pair, another kind, a password, damage."""
    lost = tmp_path / "lost"
    curve = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "curve").write_bytes(
        curve.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    )
    secret = ed25519.Ed25519PrivateKey.generate()
    (tmp_path / "locked").write_bytes(
        secret.private_bytes(
            s.Encoding.PEM, s.PrivateFormat.PKCS8, s.BestAvailableEncryption(b"password")
        )
    )
    (tmp_path / "cut").write_bytes(pair.private.read_bytes()[:60])
    (tmp_path / "text").write_text("key")
    private = "expected a private Ed25519 key, found "
    for path, message in (
        (lost, f"{private}'{lost}': No such file or directory"),
        (tmp_path / "text", f"{private}no key in '{tmp_path / 'text'}'"),
        (pair.public, f"{private}public key in '{pair.public}'"),
        (
            tmp_path / "curve",
            f"{private}ECPrivateKey in '{tmp_path / 'curve'}'; make one with "
            "`openssl genpkey -algorithm ed25519`",
        ),
        (
            tmp_path / "locked",
            f"expected a key without a password, found one in '{tmp_path / 'locked'}'; "
            "`openssl pkey` takes it off",
        ),
        (tmp_path / "cut", f"expected an Ed25519 key, found a damaged one in '{tmp_path / 'cut'}'"),
    ):
        before = program.read_bytes()
        done = run(["sign", str(program), "--key", str(path)])
        assert (done.code, done.err) == (2, f"error: {message}\n")
        assert program.read_bytes() == before
    refused(
        program,
        pair.private,
        f"expected a public Ed25519 key, found private key in '{pair.private}'",
        UsageError,
    )
    refused(program, b"", "expected a public Ed25519 key, found no key in text", UsageError)


def test_the_commands(pair: Pair, tmp_path: Path) -> None:
    """compile --sign, inspect, run, diff; wrong uses are a line each."""
    model = tmp_path / "m.mlir"
    model.write_text(
        'func.func @main(%x: tensor<4xf32> {inarch.name = "x"}) -> (tensor<4xf32> {inarch.name = "y"}) {\n'
        "  %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>\n  func.return %y : tensor<4xf32>\n}\n"
    )
    plain, signed, key, public = (
        str(path) for path in (tmp_path / "p", tmp_path / "s", pair.private, pair.public)
    )
    assert run(["compile", str(model), "-q", "-o", plain]).code == 0
    assert run(["compile", str(model), "-q", "-o", signed, "--sign", key]).code == 0
    assert f"signature  Ed25519, key {pair.name} (not compared" in run(["inspect", signed]).out
    said = run(["inspect", signed, "--check", "--key", public]).out
    assert f"signature  Ed25519, key {pair.name} (compared)\n" in said
    assert run(["diff", plain, signed]).out == f"signature: only in B: key {pair.name}\n"
    assert run(["run", signed, "-q", "--verify-key", public]).code == 0
    assert run(["sign", plain, "--key", key]).out == f"{plain}: signed, key {pair.name}\n"
    assert Path(plain).read_bytes() == Path(signed).read_bytes()
    for arguments, code, message in (
        (["compile", str(model), "--emit=c", "--sign", key], 2, "does not go with --emit"),
        (["compile", str(model), "-o", plain, "--sign", plain], 2, "found no key in"),
        (["inspect", signed, "--key", public], 2, "--key: expected --check beside it"),
        (["run", str(model), "--verify-key", public], 2, "--verify-key: expected an artifact"),
        (["sign", str(model), "--key", key], 1, "expected an Inarch artifact"),
        (["sign", plain], 2, "required: --key"),
    ):
        done = run(arguments)
        assert (done.code, len(done.err.splitlines()), message in done.err) == (code, 1, True), done
    np.testing.assert_array_equal(inarch.load(signed)(np.ones(4, np.float32)), np.ones(4))
    with pytest.raises(UsageError, match="verify_key: expected an artifact"):
        inarch.load(model, format="c", verify_key=pair.public)


def test_without_cryptography(program: Path, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading needs it for `verify_key` alone; one line says what to install."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert inarch.load(program).functions
    refused(
        program,
        pair.public,
        "signatures need the package 'cryptography'; pip install 'inarch[sign]'",
        EnvironmentFault,
    )
