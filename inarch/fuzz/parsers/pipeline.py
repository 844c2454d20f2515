"""Pipelines as `-p` takes them."""

from __future__ import annotations

from inarch.fuzz import Parser
from inarch.fuzz.files import corpus
from inarch.pipeline.text import parse_pipeline

_KEPT = corpus("pipeline")


def check(data: bytes) -> None:
    """Reads `data`; what is read is written as what is read again."""
    passes = parse_pipeline(data.decode("utf-8", "replace"))
    assert parse_pipeline(str(passes)) == passes, "its text means something else"


PARSER = Parser(lambda: _KEPT.seeds, check, located=False, words=_KEPT.words)
