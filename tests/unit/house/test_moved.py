"""Old names of modules and of groups of entry points fail with the new one's name."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from inarch.core.moved import moved
from inarch.core.plugins import Extensions


@pytest.mark.parametrize(
    "line",
    ["import inarch.errors", "from inarch.errors import InarchError", "from inarch import errors"],
)
def test_an_old_module_says_its_new_name(line: str) -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        exec(line, {})
    assert str(caught.value) == "inarch.errors is now inarch.core.errors"


def test_a_module_that_never_was_is_just_missing() -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        import_module("inarch.errrors")
    assert str(caught.value) == "No module named 'inarch.errrors'"


@pytest.mark.parametrize("name", sorted(set(moved().values())))
def test_every_new_name_is_there(name: str) -> None:
    assert find_spec(name) is not None


@pytest.mark.parametrize("name", sorted(moved()))
def test_no_old_name_came_back(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"is now {moved()[name]}"):
        import_module(name)


def test_an_old_group_of_entry_points_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What others registered there is not left out in silence."""
    info = tmp_path / "old-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: old\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[inarch.tools._commands]\nhello = old.hello\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setenv("INARCH_PLUGINS", "all")
    with pytest.warns(UserWarning, match="old: the entry point") as caught:
        assert "hello" not in Extensions[object]("inarch.tools.commands", "COMMAND")
    assert str(caught[0].message) == (
        "old: the entry point 'hello' is not used: "
        "its group inarch.tools._commands is now inarch.tools.commands"
    )


def test_the_table_is_not_read_where_nothing_is_missing() -> None:
    script = "import inarch, inarch.core.errors, sys; print('json' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout == "False\n"
