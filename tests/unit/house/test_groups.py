"""Whether packages have entry points of a group, as `importlib.metadata` says."""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from inarch.core.groups import may_have

TEXT = "[console_scripts]\na = b:c\n\n  [a.group] \na = b\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages."""
    monkeypatch.setattr(sys, "path", [*sys.path, "no folder", str(tmp_path)])
    return tmp_path


@pytest.mark.parametrize("suffix", [".dist-info", ".egg-info"])
def test_groups_of_packages_are_found(folder: Path, suffix: str) -> None:
    assert not may_have("a.group")
    info = folder / f"a_package-1.0{suffix}"
    info.mkdir()
    (info / "entry_points.txt").write_text(TEXT)
    (info / ("METADATA" if suffix == ".dist-info" else "PKG-INFO")).write_text("Name: a-package\n")
    (folder / "other.egg-info").write_text("Name: other\n")
    (folder / "third-1.dist-info").mkdir()
    assert may_have("a.group")
    assert may_have("console_scripts")
    assert not may_have("a")
    assert not may_have("another.group")
    assert [each.name for each in entry_points(group="a.group")] == ["a"]


def test_all_groups_here_are_found() -> None:
    for group in entry_points().groups:
        assert may_have(group), group


def test_what_is_not_in_folders_may_be_anything(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(folder / "packages.zip", "w") as archive:
        archive.writestr("a_package-1.0.dist-info/entry_points.txt", TEXT)
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder / "packages.zip")])
    assert may_have("a.group")


def test_eggs_may_be_anything(folder: Path) -> None:
    (folder / "old.egg").mkdir()
    assert may_have("a.group")


def test_a_text_that_cannot_be_read_may_be_anything(folder: Path) -> None:
    (folder / "a-1.dist-info").mkdir()
    (folder / "a-1.dist-info" / "entry_points.txt").write_bytes(b"\xff")
    assert may_have("a.group")


def test_with_a_finder_of_its_own_there_may_be_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        @staticmethod
        def find_spec(*_: Any) -> None:
            """No module."""

        @staticmethod
        def find_distributions(*_: Any) -> list[Any]:
            """What `importlib.metadata` asks."""
            return []

    assert not may_have("a.group")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert may_have("a.group")
