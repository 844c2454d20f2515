"""`benchmarks/moved_lines.py` counts each definition of a file that moved once, then and now."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "moved_lines.py"

OLD = '''"""A file."""
import os

_MOST: int = 3
KNOWN = {}


@cache
def _path(name):
    """Where it is."""
    return os.path.join(name, str(_MOST))


def gone():
    return [each for each in KNOWN if each]
'''
NEW = (
    OLD[: OLD.index("def gone")]
    .replace("_path", "path")
    .replace("    return os", "    name = name.lower()\n    return os")
    + "def gone():\n    raise SystemExit('something else')\n"
)


def benchmark() -> ModuleType:
    """The script, which is not part of the package."""
    spec = importlib.util.spec_from_file_location("moved_lines", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["moved_lines"] = module
    spec.loader.exec_module(module)
    return module


def test_a_definition_is_found_where_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = benchmark()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "new.py").write_text(NEW)

    def files(revision: str) -> set[str]:
        return {"b/new.py"} if revision == "HEAD" else {"old.py"}

    def git(*_: str) -> str:
        return OLD

    def moves(_: str) -> dict[str, str]:
        return {}

    monkeypatch.setattr(script, "ROOT", tmp_path)
    for name, stand_in in (("files", files), ("git", git), ("moves", moves)):
        monkeypatch.setattr(script, name, stand_in)
    script.main(["before", "--most", "1"])
    assert capsys.readouterr().out.splitlines() == [
        "1 files; their definitions: 8 lines then, 7 now; 2 of them are gone",
        "   +1 _path: old.py -> b/new.py",
    ]
