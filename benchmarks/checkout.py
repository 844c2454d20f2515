"""A revision of this repository in a folder of its own, to compare the working tree with."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from inarch.core.scratch import scratch

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def checkout(revision: str) -> Generator[Path]:
    """The folder of `revision`, which is removed afterwards.

    Raises SystemExit where there is no such revision.
    """
    git = ["git", "-C", str(ROOT)]
    known = [*git, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"]
    if subprocess.run(known, stdout=subprocess.DEVNULL, check=False).returncode:
        raise SystemExit(f"error: expected a revision of this repository, found '{revision}'")
    with scratch("inarch-before-") as name:
        path = name / "checkout"
        subprocess.run([*git, "worktree", "add", "-q", "--detach", str(path), revision], check=True)
        try:
            yield path
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", str(path)], check=True)
