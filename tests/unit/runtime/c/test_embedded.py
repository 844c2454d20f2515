"""Libraries that an artifact carries (`--embed`): opened from memory, once for each content."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.artifact import Artifact, write_artifact
from inarch.core.errors import InarchError, UnsupportedError
from inarch.machine.licenses import UNKNOWN, license_of
from inarch.machine.target import native
from inarch.machine.toolchain import compile_library
from inarch.tools.cli import run
from tests.unit.runtime.c.test_libraries import SCALE, X, made, of_c, of_python


def gone(folder: Path, factor: int) -> Path:
    """An artifact, whose library is nowhere any more."""
    path = made(folder, factor, embed=True)
    shutil.rmtree(folder / "lib")
    return path


def test_it_needs_nothing_beside_it(tmp_path: Path) -> None:
    """No path of the machine is in it; two of one SONAME stay apart; nor is one beside it taken."""
    paths = {factor: gone(tmp_path / str(factor), factor) for factor in (2, 3)}
    source = {"scale.c": SCALE.replace("FACTOR", "7.0f")}
    compile_library(source, tmp_path / "2" / "libscale.so", target=native())  # beside it
    assert [of_python(path, verify=True) for path in paths.values()] == [2, 3]
    data = paths[2].read_bytes()
    assert os.fsencode(tmp_path) not in data
    said = run(["inspect", str(paths[2]), "--check"]).out
    assert "library    libscale.so, embedded, called by microkernel 'twice': scale\n" in said
    with Artifact.open(paths[2]) as artifact:
        (library,) = artifact.manifest.libraries
        assert (library.path, library.sha256) == (
            "",
            artifact.manifest.members[library.member].sha256,
        )
    context = multiprocessing.get_context("fork")
    with context.Pool(1) as pool:
        assert pool.apply(of_python, (paths[3],)) == 3


def test_one_content_is_opened_once(tmp_path: Path) -> None:
    """However many artifacts have it: neither descriptors nor maps grow; a freed number names no other."""
    script = """
import os, shutil, sys
from pathlib import Path
import numpy as np
import inarch
x = np.arange(8, dtype=np.float32)
def factor(path): return float(inarch.load(path)(x)[1])
first, second = sys.argv[1:]
assert factor(first) == 2
def state(): return len(os.listdir("/proc/self/fd")), Path("/proc/self/maps").read_text().count("memfd")
before = state()
for number in range(20):
    copy = shutil.copy(first, f"{first}.{number}")
    assert factor(copy) == 2
assert state() == before, (state(), before)
os.closerange(3, 200)  # as a daemon does
assert factor(first) == 2 and factor(second) == 3
"""
    paths = [str(gone(tmp_path / str(factor), factor)) for factor in (2, 3)]
    subprocess.run([sys.executable, "-c", script, *paths], check=True)


def test_from_c_it_is_refused_or_found_where_it_was_extracted(tmp_path: Path, runtime: Any) -> None:
    """One line says what to do, and that helps."""
    path = gone(tmp_path / "home", 2)
    with Artifact.open(path) as artifact:
        member = artifact.manifest.libraries[0].member
    assert runtime.open(path)[0] != 0
    assert runtime.message() == (
        f"{path}: error: microkernel 'twice' calls 'libscale.so', which does not exist, nor does "
        "'libscale.so' beside the artifact or in INARCH_LIBRARY_PATH; it is embedded, which Python alone "
        f"opens: put '{member}' of `inarch extract` there, or recompile where it is"
    )
    assert run(["extract", str(path), str(tmp_path / "parts"), "-q"]).code == 0
    shutil.copy(tmp_path / "parts" / member, path.parent)
    assert of_c(runtime, path) == 2


def test_what_does_not_fit_its_manifest(tmp_path: Path) -> None:
    """A member that is not there, one of another hash, damage: before anything is opened."""
    path = gone(tmp_path / "home", 23)  # one that is open is not read again
    with Artifact.open(path) as artifact:
        code, data = bytes(artifact.library), dict(artifact.manifest.data)
        members = {name: artifact.member(name) for name in artifact.manifest.members}
        library = dict(data["libraries"][0])
    other = tmp_path / "other.inarch"
    for said, kept in (
        ({"member": "embedded/none"}, members),
        ({"sha256": "0" * 64}, members),
        ({}, {**members, library["member"]: b"another"}),
    ):
        with pytest.raises(InarchError) as caught:
            write_artifact(other, code, {**data, "libraries": [{**library, **said}]}, [], 0, kept)
        assert str(caught.value) == (
            f"{other}: manifest.json: libraries[0].member: expected a member of the library's SHA-256, "
            f"found '{said.get('member', library['member'])}'"
        )
    whole = path.read_bytes()
    at = whole.index(members[library["member"]])
    other.write_bytes(whole[: at + 99] + bytes([whole[at + 99] ^ 1]) + whole[at + 100 :])
    for check in (True, False):
        with pytest.raises(InarchError, match="damaged") as caught:
            inarch.load(other, check=check)
        assert str(caught.value).startswith(f"{other}: ")


@pytest.mark.parametrize("way", ["path", "origin"])
def test_one_that_needs_its_place_is_refused(way: str, tmp_path: Path) -> None:
    """In memory it would not find what lies beside it; what the system finds is no matter."""
    lib = tmp_path / "home" / "lib"
    lib.mkdir(parents=True)
    source = {"n.c": "int needed(void) { return 1; }"}
    needed = lib / "libneeded.so"
    compile_library(source, needed, target=native())
    by_name = [f"-L{lib}", "-lneeded", "-Wl,-rpath,$ORIGIN"]
    needs = ["-Wl,--no-as-needed", *([str(needed)] if way == "path" else by_name)]
    with pytest.raises(UnsupportedError) as caught:
        made(tmp_path / "home", 2, embed=True, needs=needs)
    found = needed if way == "path" else needed.name
    assert str(caught.value) == (
        f"--embed: '{lib / 'libscale.so'}' needs '{found}' by a path of its own, which it has not in an "
        "artifact; leave --embed out, and ship both beside it"
    )


def test_of_a_signed_artifact_the_libraries_are_those_that_were_signed(tmp_path: Path) -> None:
    """By name, one of another content is an error, not a warning; an embedded one needs no comparison."""
    from inarch.artifact.signature import Signer
    from tests.unit.runtime.test_signature import Pair

    pair = Pair(tmp_path, 1)
    named, own = made(tmp_path / "named", 2), gone(tmp_path / "own", 2)
    for path in (named, own):
        Signer(pair.private).sign(path)
        assert of_python(path, verify_key=pair.public) == 2
    library = tmp_path / "named" / "lib" / "libscale.so"
    shutil.move(library, library.with_suffix(".old"))
    compile_library({"scale.c": SCALE.replace("FACTOR", "4.0f")}, library, target=native())
    with pytest.raises(InarchError, match="which was signed, found") as caught:
        inarch.load(named, verify_key=pair.public)
    assert str(caught.value).startswith(f"{named}: expected the library of SHA-256 ")
    np.testing.assert_array_equal(inarch.load(own, verify_key=pair.public)(X), 2 * X)


def test_licences_of_what_it_carries(tmp_path: Path) -> None:
    """By a file beside the library, by the package that brought it; what nobody said is said, too."""
    inside = made(tmp_path / "unsaid", 2, embed=True)
    beside = made(tmp_path / "outside", 2)
    library = tmp_path / "said" / "lib" / "libscale.so"
    library.parent.mkdir(parents=True)
    library.with_name("libscale.so.license").write_text(
        "SPDX-FileCopyrightText: 2026 A\nSPDX-License-Identifier: MIT OR BSL-1.0\n"
    )
    said = made(tmp_path / "said", 3, embed=True)

    def shown(path: Path) -> str:
        lines = run(["inspect", str(path)]).out.splitlines()
        (line,) = (each for each in lines if each.startswith("licenses "))
        return line.partition(" ")[2].strip()

    assert shown(beside) == "Apache-2.0 (Inarch)"  # its code is somewhere else
    assert shown(inside) == "Apache-2.0 (Inarch); NOASSERTION (library 'libscale.so')"
    assert shown(said) == "Apache-2.0 (Inarch); MIT OR BSL-1.0 (library 'libscale.so')"
    info = tmp_path / "site" / "scale-1.dist-info"
    info.mkdir(parents=True)
    (tmp_path / "site" / "lib").mkdir()
    (info / "RECORD").write_text("other.so,,\nlib/libscale.so,sha256=x,1\n")
    head = "Metadata-Version: 2.4\nName: scale\nVersion: 1\n"
    for metadata, expected in (
        ("License-Expression: MIT AND Zlib\nClassifier: License :: OSI Approved\n", "MIT AND Zlib"),
        ("Classifier: License :: OSI Approved :: BSD License\n", "LicenseRef-BSD-License"),
        ("License: All rights, on five pages\n", UNKNOWN),
    ):
        (info / "METADATA").write_text(head + metadata)
        assert license_of(tmp_path / "site" / "lib" / "libscale.so") == expected
        assert license_of(tmp_path / "site" / "lib" / "libscale.s") == UNKNOWN
