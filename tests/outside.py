"""For tests of what is written outside: examples of the guide, commands on them, files that are refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from inarch.core.errors import UsageError
from inarch.core.plugins import load_file
from inarch.driver.extensions import kinds

ROOT = Path(__file__).parents[1]


def example(name: str) -> str:
    """A Python file of docs/extending.md."""
    guide = (ROOT / "docs" / "extending.md").read_text()
    (text,) = re.findall(
        rf"<!-- file: {re.escape(name)} -->\n```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL
    )
    return text


def said(folder: Path, command: Sequence[str]) -> str:
    """What Python prints and warns of, in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )  # fmt: skip
    return done.stdout + done.stderr


def refused(path: Path, text: str) -> str:
    """Why a file with this text is not loaded."""
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_file(path, kinds())
    return caught.value.message
