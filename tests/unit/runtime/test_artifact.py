"""The artifact: one file that is a library and a zip, complete or not there, and never trusted."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import inarch
from effort import effort
from inarch.artifact import Artifact, write_artifact
from inarch.artifact.manifest import Import, Port, Signature, parse
from inarch.core.errors import EnvironmentFault, InarchError

MakeProgram = Callable[..., Path]

MANIFEST: dict[str, Any] = {
    "inarch": "0.1.0",
    "name": "m",
    "prefix": "m",
    "target": "generic",
    "features": [],
    "functions": {
        "main": {
            "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}],
            "outputs": [{"name": "y", "dtype": "i1", "shape": []}],
            "workspace_bytes": 64,
        }
    },
    "imports": ["f", {"name": "g", "inputs": [], "outputs": []}],
    "loaders": ["shared-library"],
}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.inarch"
    pieces = [(0, b"ab"), (5000, memoryview(b"cd")), (5002, bytearray(b"e")), (5003, b"")]
    members = {"modules/1": b"one", "source.c": b"int x;\n"}
    write_artifact(path, b"library", MANIFEST, pieces, 6000, members)
    artifact = Artifact.open(path)
    artifact.verify()
    assert bytes(artifact.library) == b"library"
    expected = b"ab" + bytes(4998) + b"cde" + bytes(997)
    assert bytes(artifact.weights) == expected
    assert artifact.manifest.weights_offset % 4096 == 0
    assert {name: artifact.member(name) for name in artifact.manifest.members} == members
    x, y = Port("x", inarch_dtype("f32"), (2, 3)), Port("y", inarch_dtype("i1"), ())
    assert artifact.manifest.functions == {"main": Signature((x,), (y,), 64)}
    assert artifact.manifest.imports == (Import("f"), Import("g", Signature((), ())))
    assert (str(x), x.nbytes, y.nbytes) == ("x: f32[2, 3]", 24, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["m.inarch"]


def inarch_dtype(name: str) -> Any:
    from inarch.core.dtypes import DTYPES

    return DTYPES[name]


def test_it_is_a_library_and_a_zip(make_program: MakeProgram, tmp_path: Path) -> None:
    path = make_program(tmp_path / "a.inarch", members={"source.c": b"int x;"})
    assert ctypes.CDLL(str(path)).tiny_abi_version() == 3
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["weights.bin", "source.c", "index.bin", "manifest.json"]
        assert archive.read("source.c") == b"int x;"


def test_equal_programs_are_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_artifact(tmp_path / name, b"library", MANIFEST, [(0, b"w")], 1)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_identity_is_that_of_all_parts(tmp_path: Path) -> None:
    def identity(library: bytes, weights: bytes) -> str:
        path = tmp_path / "a"
        write_artifact(path, library, MANIFEST, [(0, weights)], 1)
        with Artifact.open(path) as artifact:
            return artifact.identity

    first = identity(b"library", b"w")
    assert identity(b"library", b"w") == first
    assert len({first, identity(b"library", b"v"), identity(b"another", b"w")}) == 3


def test_a_library_that_contains_a_zip(tmp_path: Path) -> None:
    inner = tmp_path / "inner.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("manifest.json", "{}")
    write_artifact(tmp_path / "a", inner.read_bytes(), MANIFEST, [], 0)
    artifact = Artifact.open(tmp_path / "a")
    assert bytes(artifact.library) == inner.read_bytes()
    assert artifact.manifest.name == "m"


@pytest.mark.parametrize("pieces", [[(0, b"ab"), (1, b"c")], [(9, b"ab")], [(5, b"a"), (0, b"b")]])
def test_pieces_that_do_not_fit(tmp_path: Path, pieces: list[tuple[int, bytes]]) -> None:
    with pytest.raises(ValueError, match="overlap"):
        write_artifact(tmp_path / "a", b"", MANIFEST, pieces, 10)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_manifest_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InarchError, match="expected a string, found 5"):
        write_artifact(tmp_path / "a", b"library", {**MANIFEST, "target": 5}, [], 0)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault) as caught:
        write_artifact(tmp_path / "no" / "a", b"", MANIFEST, [], 0)
    assert caught.value.line() == (
        f"error: cannot write '{tmp_path}/no/a': No such file or directory"
    )


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (None, "no such file"),
        (b"", "an empty file"),
        (
            b"\x7fELF" + bytes(100),
            "an ELF file without the archive at its end: truncated or stripped",
        ),
        (b"hello world", "a file that starts with b'hell'"),
        (b"PK\x03\x04" + bytes(100), "a damaged zip archive"),
    ],
)
def test_what_is_no_artifact(tmp_path: Path, content: bytes | None, found: str) -> None:
    path = tmp_path / "model.inarch"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InarchError) as caught:
        Artifact.open(path)
    assert caught.value.line() == f"{path}: error: expected an Inarch artifact, found {found}"


def test_a_text_in_place_of_a_path_is_not_repeated() -> None:
    with pytest.raises(InarchError) as caught:
        Artifact.open(Path("x" * 100_000))
    part = "x" * 130
    assert (
        str(caught.value)
        == f"{part} ... (99740 characters) ... {part}: cannot be read: File name too long"
    )


def test_a_folder_and_another_zip(tmp_path: Path) -> None:
    with pytest.raises(InarchError, match="expected an Inarch artifact, found a folder"):
        Artifact.open(tmp_path)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x", "y")
    with pytest.raises(InarchError, match=r"found a zip archive without 'manifest\.json'"):
        Artifact.open(tmp_path / "a.zip")


COMPLETE: dict[str, Any] = {
    **MANIFEST,
    "format": 3,
    "abi": 3,
    "library_bytes": 0,
    "library_sha256": "",
    "weights_offset": 0,
    "weights_bytes": 0,
    "weights_sha256": "",
    "members": {},
}


def test_the_complete_manifest_is_valid() -> None:
    assert parse(COMPLETE, "m").name == "m"


WRONG: list[tuple[dict[str, Any], str | None]] = [
    (
        {"format": 2},
        "m: error: expected artifact format 3, found 2 (written by Inarch '0.1.0'); "
        "compile the model again",
    ),
    (
        {"abi": 7, "inarch": "9.9"},
        "m: error: expected artifact abi 3, found 7 (written by Inarch '9.9'); "
        "compile the model again",
    ),
    (
        {"abi": 0},
        "m: error: expected artifact abi 3, found 0 (written by Inarch '0.1.0'); "
        "compile the model again",
    ),
    ({"format": True}, None),
    ({"name": 3}, "m: error: manifest.json: name: expected a string, found 3"),
    ({"name": None}, "m: error: manifest.json: name: expected a string, found nothing"),
    (
        {"prefix": "a b"},
        "m: error: manifest.json: prefix: expected a C identifier, found 'a b'",
    ),
    ({"features": "avx"}, "m: error: manifest.json: features: expected a list, found 'avx'"),
    ({"features": [1]}, "m: error: manifest.json: features[0]: expected a string, found 1"),
    ({"loaders": []}, "m: error: manifest.json: loaders: expected at least one, found []"),
    (
        {"weights_bytes": -1},
        "m: error: manifest.json: weights_bytes: expected a size, found -1",
    ),
    ({"library_bytes": 1.5}, None),
    ({"members": {"a": 1}}, "m: error: manifest.json: members.a: expected an object, found 1"),
    ({"functions": {"a-b": {"inputs": [], "outputs": []}}}, None),
    ({"functions": {"f": {"inputs": []}}}, None),
    (
        {"functions": {"f": {"inputs": [{"name": "x", "dtype": "f8", "shape": []}]}}},
        "m: error: manifest.json: functions.f.inputs[0].dtype: expected one of "
        "f32, f64, i8, i16, i32, i64, ui8, ui16, ui32, ui64, i1, or of a file that was loaded, found 'f8'",
    ),
    (
        {"functions": {"f": {"inputs": [{"name": "x", "dtype": "f32", "shape": [2, -1]}]}}},
        "m: error: manifest.json: functions.f.inputs[0].shape[1]: expected a size, found -1",
    ),
    (
        {"functions": {"f": {"inputs": [{"name": "x", "dtype": "f32", "shape": [1 << 61] * 2}]}}},
        None,
    ),
    ({"functions": {"f": {"inputs": [{"name": "x", "dtype": "i8", "shape": []}] * 2}}}, None),
    ({"imports": [{"nome": "f"}]}, None),
]


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(("change", "message"), WRONG)
def test_a_wrong_manifest(change: dict[str, Any], message: str | None) -> None:
    with pytest.raises(InarchError) as caught:
        parse({**COMPLETE, **change}, "m")
    if message is not None:
        assert caught.value.line() == message
    assert "\n" not in caught.value.line()


@pytest.mark.every_case(reason="each is a field of its own")
@pytest.mark.parametrize("key", [key for key in COMPLETE if key != "inarch"])
def test_no_field_may_be_missing(key: str) -> None:
    with pytest.raises(InarchError, match=key):
        parse({name: value for name, value in COMPLETE.items() if name != key}, "m")


@pytest.mark.parametrize("data", [None, [], "x", 1])
def test_a_manifest_that_is_no_object(data: object) -> None:
    with pytest.raises(InarchError, match=r"manifest\.json: expected an object"):
        parse(data, "m")


def check_refused(path: Path) -> None:
    """A damaged file is one error line, without being asked to verify it."""
    with pytest.raises(InarchError) as caught:
        Artifact.open(path)
    assert caught.value.where == str(path)
    assert "\n" not in caught.value.line()


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "good.inarch"
    write_artifact(path, b"library" * 20, MANIFEST, [(0, b"weights" * 20)], 140, {"s": b"member"})
    return path


STEPS = [pytest.param(effort(23, 11), id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)]


@pytest.mark.parametrize("step", STEPS)
def test_truncated_anywhere(tmp_path: Path, small: Path, step: int) -> None:
    good, data = Artifact.open(small), small.read_bytes()
    path = tmp_path / "bad.inarch"
    start = good.manifest.weights_offset - 50
    for length in [*range(0, start, 97 * step), *range(start, len(data), step), len(data) - 1]:
        path.write_bytes(data[:length])
        check_refused(path)


@pytest.mark.parametrize("step", STEPS)
def test_a_flipped_byte_is_found_wherever_it_is(tmp_path: Path, small: Path, step: int) -> None:
    """Of library, padding, weights, members, manifest, dates in the zip, and the checksum itself."""
    good, data = Artifact.open(small), small.read_bytes()
    path = tmp_path / "bad.inarch"
    start = good.manifest.weights_offset
    for offset in sorted({*range(0, start, 13 * step), *range(start, len(data), step)}):
        for change in (1 << offset % 8, 0xFF):
            bad = bytearray(data)
            bad[offset] ^= change
            path.write_bytes(bad)
            check_refused(path)


@pytest.mark.parametrize("check", [True, False])
def test_a_version_from_the_future_is_refused_by_the_end_of_the_file(
    tmp_path: Path, small: Path, check: bool
) -> None:
    """Whole, with a right checksum, and a manifest that nobody can read yet; as libinarch says it."""
    data = small.read_bytes().replace(b'"functions"', b'"features:"')
    end = len(data) - len(b"0003 crc32 01234567")
    assert data[end - 7 : end + 11] == b"format 0003 crc32 "
    head = data[:end] + b"0009 crc32 "
    path = tmp_path / "future.inarch"
    path.write_bytes(head + b"%08x" % zlib.crc32(head))
    with pytest.raises(InarchError) as caught:
        Artifact.open(path, check=check)
    assert caught.value.line() == (
        f"{path}: error: expected artifact format 3, found 9; compile the model again, or use the Inarch "
        "that wrote it"
    )


def test_damage_is_one_line_that_says_what_to_do(tmp_path: Path, small: Path) -> None:
    data = bytearray(small.read_bytes())
    data[Artifact.open(small).manifest.weights_offset] ^= 1
    path = tmp_path / "bad.inarch"
    path.write_bytes(data)
    with pytest.raises(InarchError) as caught:
        Artifact.open(path)
    assert caught.value.line() == (
        f"{path}: error: expected the bytes that were written, found others: a damaged file; "
        "copy it again, or compile the model again"
    )
    assert bytes(Artifact.open(path, check=False).weights) == bytes(
        data[Artifact.open(small).manifest.weights_offset :][:140]
    )


def test_a_file_is_read_once_for_each_state_of_it(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after it was closed; a file that changed, or may have changed just now, is read again."""
    reads: list[int] = []
    count = zlib.crc32

    def counted(data: Any, *start: int) -> int:
        reads.append(len(data))
        return count(data, *start)

    now = time.time_ns()
    monkeypatch.setattr("inarch.artifact.mapping.zlib.crc32", counted)
    monkeypatch.setattr("inarch.artifact.mapping.time.time_ns", lambda: now)
    whole = small.stat().st_size - 8

    def read() -> bool:
        reads.clear()
        Artifact.open(small)
        return whole in reads

    assert (read(), read()) == (True, True)
    now += 3_000_000_000
    assert (read(), read(), read()) == (True, False, False)
    os.utime(small)
    assert read()


def test_a_manifest_that_lies(tmp_path: Path, small: Path) -> None:
    """Sizes and hashes that do not fit the file, in archives whose checksums are right."""
    manifest = Artifact.open(small).manifest.data
    for change in (
        {"library_sha256": "0" * 64},
        {"library_bytes": 10},
        {"library_bytes": 1 << 40},
        {"weights_offset": 0},
        {"weights_offset": 1 << 40},
        {"weights_bytes": 139},
        {"weights_sha256": "0" * 64},
        {"members": {"s": {"bytes": 6, "sha256": "0" * 64}}},
        {"members": {"s": {"bytes": 5, "sha256": "0" * 64}}},
        {"members": {"t": {"bytes": 6, "sha256": "0" * 64}}},
    ):
        path = tmp_path / "bad.inarch"
        data = small.read_bytes()
        old = json.dumps(dict(manifest), indent=1).encode()
        assert old in data
        with zipfile.ZipFile(small) as archive:
            offset = archive.getinfo("s").header_offset
        path.write_bytes(data[:offset])
        with path.open("r+b") as file, zipfile.ZipFile(small) as archive:
            file.seek(0, 2)
            rebuild(file, archive, {**manifest, **change})
        with pytest.raises(InarchError) as caught:
            Artifact.open(path, check=False).verify()
        assert caught.value.where == str(path)
        assert "checksum" not in caught.value.message
        check_refused(path)


@pytest.mark.parametrize(
    "change",
    [
        {"library_bytes": 1 << 40},
        {"weights_offset": 0},
        {"weights_bytes": 139},
        {"weights_bytes": 1 << 20, "listed": 1 << 20},
    ],
)
def test_what_lies_about_places_is_not_even_opened(
    change: dict[str, int], tmp_path: Path, small: Path
) -> None:
    """Also where the list of members agrees with the manifest, beyond the end of the file."""
    data, path = small.read_bytes(), tmp_path / "bad.inarch"
    manifest = {**Artifact.open(small).manifest.data, **change}
    with zipfile.ZipFile(small) as archive:
        path.write_bytes(data[: archive.getinfo("s").header_offset])
    with path.open("r+b") as file, zipfile.ZipFile(small) as archive:
        file.seek(0, 2)
        rebuild(file, archive, manifest, listed=change.get("listed", 140))
    with pytest.raises(InarchError, match="expected"):
        Artifact.open(path, check=False)


def test_a_list_of_members_has_a_bound(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each becomes an object ten times as large."""
    monkeypatch.setattr("inarch.artifact._MAX_DIRECTORY", 150)
    with pytest.raises(InarchError, match="expected an Inarch artifact"):
        Artifact.open(small)


def test_weights_that_are_not_aligned_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code relies on it, though the file says that they are where they are."""
    path = tmp_path / "other.inarch"
    with monkeypatch.context() as patch:
        patch.setattr("inarch.artifact.write.WEIGHTS_ALIGNMENT", 64)
        write_artifact(path, b"library", MANIFEST, [(0, b"weights")], 7)
    with pytest.raises(InarchError, match="expected 7 bytes of weights at "):
        Artifact.open(path)


def test_a_manifest_has_a_bound(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inarch.artifact._MAX_MANIFEST", 100)
    with pytest.raises(InarchError, match=r"to be stored, of at most 100 bytes$"):
        Artifact.open(small)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc here")
def test_what_is_no_artifact_leaves_no_descriptor(tmp_path: Path) -> None:
    empty = tmp_path / "empty.inarch"
    empty.touch()
    gc.collect()  # what an earlier test left is not closed in between
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in (empty, tmp_path):
        with pytest.raises(InarchError):
            Artifact.open(path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def rebuild(
    file: Any, old: zipfile.ZipFile, manifest: dict[str, Any], *, listed: int = 140
) -> None:
    """Appends the rest of the archive to a file that ends after the weights, `listed` as so many bytes."""
    with zipfile.ZipFile(file, "w") as archive:
        weights = old.getinfo("weights.bin")
        weights.file_size = weights.compress_size = listed
        archive.filelist.append(weights)
        archive.NameToInfo["weights.bin"] = weights
        archive.writestr("s", b"member")
        archive.writestr("manifest.json", json.dumps(manifest))


def test_compressed_members_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.inarch"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", " " * 1_000_000)
    with pytest.raises(InarchError, match=r"expected 'manifest\.json' to be stored"):
        Artifact.open(path)


_WRITER = """
import sys, time
from pathlib import Path
from inarch.artifact import write_artifact
def pieces():
    yield 0, b"new" * 1000
    print("writing", flush=True)
    time.sleep(60)
write_artifact(Path(sys.argv[1]), b"library", {manifest}, pieces(), 5000)
"""


def test_killed_in_the_middle_the_old_file_stays(small: Path) -> None:
    before = small.read_bytes()
    code = _WRITER.replace("{manifest}", repr(MANIFEST))
    command = [sys.executable, "-c", code, str(small)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        writer.send_signal(signal.SIGKILL)
    assert small.read_bytes() == before
    Artifact.open(small).verify()


def test_what_was_checked_before_is_not_read_again(
    make_program: MakeProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check reads the file once a load; not at all where the file is known and settled."""
    path = make_program(tmp_path / "large.inarch", weights_bytes=1 << 20)
    read: list[int] = []
    crc32 = zlib.crc32

    def counted(data: memoryview, *start: int) -> int:
        read.append(len(data))
        return crc32(data, *start)

    monkeypatch.setattr(zlib, "crc32", counted)
    for _ in range(2):  # it was written a moment ago
        read.clear()
        inarch.load(path)
        assert 1 << 20 <= sum(read) <= path.stat().st_size
    monkeypatch.setattr("inarch.artifact.mapping._SETTLED_NS", 0)  # as if it were written long ago
    inarch.load(path)
    read.clear()
    module = inarch.load(path)
    assert sum(read) == 0
    assert module["binds"]() == 1


def test_names_of_members(small: Path) -> None:
    with pytest.raises(InarchError) as caught:
        Artifact.open(small).member("x")
    assert re.fullmatch(r".*expected a member 'x', found s", caught.value.line())
