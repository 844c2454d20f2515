"""Scripts in the folder that a clone called `inarch` lies in: they get the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

SCRIPT = """
import inarch
from inarch.core.errors import InarchError
from inarch.dialects.graph.op import GraphOp

assert inarch.InarchError is InarchError
print(inarch.__file__)
"""


@pytest.mark.skipif(not (ROOT / "__init__.py").exists(), reason="tests beside a wheel: no clone")
def test_a_clone_is_not_taken_for_an_empty_package(tmp_path: Path) -> None:
    """`test_layout` sees to it that a clone has the file."""
    (tmp_path / "inarch").symlink_to(ROOT)
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert Path(done.stdout.strip()) == tmp_path / "inarch" / "inarch" / "__init__.py"
