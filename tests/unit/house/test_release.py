"""`make release`: changelog and version, files that are the same bytes each time, hashes that are kept."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import release
from release import build, check_contents, copy_tree, plan, record, recorded, sign, sums, timeless

ROOT = Path(__file__).parents[3]

CHANGELOG = """# Changelog

## [Unreleased]

### Added

- A line.

## [0.1.0] - 2026-11-21

The first.
"""
PACKAGE = 'NAME = 1\n__version__ = "0.2.0.dev0"\n'


def test_what_is_unreleased_becomes_the_versions() -> None:
    one = plan("0.2.0", CHANGELOG, PACKAGE, "2026-11-28")
    assert one.package == 'NAME = 1\n__version__ = "0.2.0"\n'
    assert one.changelog == CHANGELOG.replace(
        "## [Unreleased]\n", "## [Unreleased]\n\n## [0.2.0] - 2026-11-28\n"
    )
    assert one.epoch == 1795824000
    again = plan("0.2.0", one.changelog, one.package, "2030-01-01")
    assert again == one  # on its tag, later


@pytest.mark.parametrize(
    ("version", "changelog", "package", "said"),
    [
        ("0.2", CHANGELOG, PACKAGE, "VERSION: expected X.Y.Z, found '0.2'"),
        ("", CHANGELOG, PACKAGE, "VERSION: expected X.Y.Z, found ''"),
        ("0.2.00", CHANGELOG, PACKAGE, "VERSION: expected X.Y.Z, found '0.2.00'"),
        ("1.2.\u0663", CHANGELOG, PACKAGE, "VERSION: expected X.Y.Z, found '1.2.\u0663'"),
        ("0.0.9", CHANGELOG, PACKAGE, "VERSION: expected one above 0.1.0, found '0.0.9'"),
        ("0.1.0", CHANGELOG, PACKAGE, "0.1.0 is released, and something is Unreleased"),
        ("0.2.0", CHANGELOG.replace("- A line.", "").replace("### Added", ""), PACKAGE, "found nothing"),
        ("0.2.0", CHANGELOG.replace("## [Unr", "## Unr"), PACKAGE, "found [0.1.0]"),
        ("0.2.0", "", PACKAGE, "found [None]"),
        ("0.2.0", CHANGELOG, "", "expected a line __version__ ="),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_one_line(
    version: str, changelog: str, package: str, said: str
) -> None:
    with pytest.raises(SystemExit, match=f"error: .*{re.escape(said)}"):
        plan(version, changelog, package, "2026-11-28")


def test_hashes_are_kept_by_version() -> None:
    page = (ROOT / "docs" / "releases.md").read_text()
    for version, hashes in (("0.2.0", "aa  x\n"), ("0.10.0", "bb  y\n")):
        assert recorded(page, version) is None
        page = record(page, plan(version, CHANGELOG, PACKAGE, "2026-11-28"), hashes)
    assert (recorded(page, "0.2.0"), recorded(page, "0.10.0")) == ("aa  x\n", "bb  y\n")
    assert page.index("## 0.10.0, 2026-11-28") < page.index("## 0.2.0, 2026-11-28")


def test_an_archive_has_nothing_of_when_and_by_whom_it_was_made() -> None:
    def packed(names: str, mtime: int, uid: int, mode: int) -> bytes:
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w:gz") as archive:
            for name in names:
                member = tarfile.TarInfo(name)
                member.mtime, member.uid, member.uname, member.mode = mtime, uid, str(uid), mode
                member.size = 3
                archive.addfile(member, io.BytesIO(name.encode() * 3))
        return file.getvalue()

    made = timeless(packed("ab", 7, 1000, 0o664), 1795824000)
    assert made == timeless(packed("ba", 8, 0, 0o600), 1795824000)
    with tarfile.open(fileobj=io.BytesIO(made)) as archive:
        assert [one.name for one in archive] == ["a", "b"]
        (first, _) = archive.getmembers()
        taken = archive.extractfile(first)
        assert taken is not None
        assert taken.read() == b"aaa"
        assert (first.mtime, first.uid, first.uname, first.mode) == (1795824000, 0, "", 0o644)


def test_a_wheel_installs_one_package(tmp_path: Path) -> None:
    wheel = tmp_path / "inarch-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("inarch/a.py", "inarch-1.dist-info/RECORD"):
            archive.writestr(name, "")
    check_contents(wheel)
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("tests/a.py", "")
    with pytest.raises(SystemExit, match="expected nothing but 'inarch', found tests"):
        check_contents(wheel)


def _git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")
def test_sums_are_signed_by_the_key_that_git_has(tmp_path: Path) -> None:
    _git(tmp_path, "init", "-q")
    path = tmp_path / release.SUMS
    path.write_text("aa  x\n")
    _git(tmp_path, "config", "user.signingkey", "")
    assert sign(path, tmp_path) is None
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    for name, value in (("gpg.format", "ssh"), ("user.signingkey", str(key))):
        _git(tmp_path, "config", name, value)
    made = sign(path, tmp_path)
    assert made is not None
    allowed = tmp_path / "allowed"
    allowed.write_text(f"me {(tmp_path / 'key.pub').read_text()}")
    verify = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "me", "-n", release.NAMESPACE]
    for text, code in (("aa  x\n", 0), ("bb  x\n", 255)):
        done = subprocess.run(
            [*verify, "-s", str(made)], input=text, text=True, capture_output=True, check=False
        )
        assert done.returncode == code, done.stderr


def _said_of_key(command: Sequence[str], code: int = 0) -> str:
    return "" if command[-1] == "gpg.format" else f"me{code}"


@pytest.mark.skipif(shutil.which("gpg") is None, reason="no gpg")
def test_sums_are_signed_by_gpg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where git says no format; a key of which there is no tool is one line."""
    with tempfile.TemporaryDirectory() as home:  # a short path: of its sockets
        monkeypatch.setenv("GNUPGHOME", home)
        kind = ["--quick-generate-key", "me@example.org", "ed25519", "sign", "never"]
        subprocess.run(["gpg", "--batch", "-q", "--passphrase", "", *kind], check=True)
        try:
            path = tmp_path / release.SUMS
            path.write_text("aa  x\n")
            _git(tmp_path, "init", "-q")
            _git(tmp_path, "config", "user.signingkey", "me@example.org")
            made = sign(path, tmp_path)
            assert made == path.with_name(f"{release.SUMS}.asc")
            for text, code in (("aa  x\n", 0), ("bb  x\n", 1)):
                path.write_text(text)
                command = ["gpg", "--batch", "--verify", str(made), str(path)]
                assert subprocess.run(command, capture_output=True, check=False).returncode == code
        finally:
            subprocess.run(["gpgconf", "--kill", "all"], check=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(release, "_said", _said_of_key)
    with pytest.raises(
        SystemExit, match=r"expected gpg, as git has a user\.signingkey, found none"
    ):
        sign(path, tmp_path)


@pytest.fixture(name="tree")
def fixture_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clean tree whose files are built at once, and need no trying."""
    root = tmp_path / "tree"
    for name, text in {
        "CHANGELOG.md": CHANGELOG,
        "inarch/__init__.py": PACKAGE,
        "docs/releases.md": "# Releases\n",
        ".gitignore": "/dist/\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    _git(root, "init", "-q")
    _commit(root)

    def build_at_once(tree: Path, place: Path, epoch: int) -> list[Path]:
        made = place / f"inarch-{len(str(epoch))}.tar.gz"
        made.write_bytes((tree / "inarch" / "__init__.py").read_bytes())
        return [made]

    monkeypatch.setattr(release, "build", build_at_once)
    return root


def _commit(root: Path) -> None:
    _git(root, "add", "-A")
    who = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "commit.gpgsign=false")
    _git(root, *who, "commit", "-q", "-m", "A change")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("before", r"expected a clean tree, found 1 changes: \?\? a"),
        ("meanwhile", r"expected a clean tree, found 1 changes: \?\? a"),
        ("committed", r"expected HEAD to stay \w{12} meanwhile, found \w{12}"),
        ("", ""),
    ],
)
def test_a_changed_tree_is_no_release(
    change: str, said: str, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changed before it begins or while it is tried: nothing is written."""

    def tried(*_: object) -> None:
        if change:
            (tree / "a").touch()
        if change == "committed":
            _commit(tree)

    monkeypatch.setattr(release, "try_all", tried)
    if change == "before":
        (tree / "a").touch()
    if change:
        with pytest.raises(SystemExit, match=said):
            release.release(tree, "0.2.0")
    else:
        lines = release.release(tree, "0.2.0")
        assert lines[1] == "not signed: git has no user.signingkey"
        assert {path.name for path in (tree / "dist").iterdir()} == {
            "inarch-10.tar.gz",
            release.SUMS,
        }
    assert (tree / "dist").exists() == (not change)
    is_written = "## [0.2.0]" in (tree / "CHANGELOG.md").read_text()
    assert is_written == ("## 0.2.0" in (tree / "docs" / "releases.md").read_text()) == (not change)


@pytest.mark.slow
def test_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    """In other folders, at other times, by another umask; the version is the release's."""
    texts = {"inarch/__init__.py": (ROOT / "inarch" / "__init__.py").read_text()}
    found: list[str] = []
    for name, mask in (("a", 0o022), ("another", 0o077)):
        old = os.umask(mask)
        tree, made = tmp_path / name / "tree", tmp_path / name / "made"
        copy_tree(ROOT, tree, texts)
        made.mkdir()
        os.umask(old)
        os.utime(tree / "inarch" / "__init__.py", (9e8, 9e8 + len(name)))
        found.append(sums(build(tree, made, 1795824000)))
    assert len(found[0].splitlines()) == 3
    assert found[0] == found[1]


def test_the_workflow_runs_what_the_makefile_has() -> None:
    yaml: Any = import_module("yaml")
    said = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    assert said[True] == {"push": {"tags": ["v*.*.*"]}}  # `on`, as YAML 1.1 reads it
    build_job, pypi = said["jobs"]["build"], said["jobs"]["pypi"]
    runs = [step["run"] for step in build_job["steps"] if "run" in step]
    made = [re.findall(r"[\w./-]+", run)[1] for run in runs if run.startswith("make ")]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert made == ["release"]
    assert {*made} <= {*targets}
    assert (pypi["needs"], pypi["environment"]) == ("build", "pypi")
    assert pypi["permissions"] == {"id-token": "write"}
    assert "id-token" not in build_job["permissions"]
