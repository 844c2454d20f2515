"""Names of targets."""

from __future__ import annotations

from inarch.fuzz import Parser
from inarch.fuzz.files import corpus
from inarch.machine.target import parse

_KEPT = corpus("target")


def check(data: bytes) -> None:
    """Reads `data`; the name of what is read names it again, and it gives flags."""
    target = parse(data.decode("utf-8", "replace"))
    assert parse(str(target)) == target, "its name means something else"
    target.cflags()
    target.missing_here()


PARSER = Parser(lambda: _KEPT.seeds, check, located=False)
