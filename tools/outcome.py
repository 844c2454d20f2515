"""What a run of a tool in this process gives."""

from __future__ import annotations

from typing import NamedTuple


class Outcome(NamedTuple):
    """What a command did: its exit code and what it wrote."""

    code: int
    out: str
    err: str
