"""Schedule files."""

from __future__ import annotations

from inarch.fuzz import Parser
from inarch.fuzz.files import corpus
from inarch.passes.schedule.language.script import parse_schedule

_KEPT = corpus("schedule")


def check(data: bytes) -> None:
    """Reads `data`, twice: the same blocks."""
    text = data.decode("utf-8", "replace")
    blocks = parse_schedule(text, "s")
    assert [one.place for one in blocks] == [one.place for one in parse_schedule(text, "s")]


PARSER = Parser(lambda: _KEPT.seeds, check, words=_KEPT.words)
