"""Meanings of microkernels: the grammar of `computes`."""

from __future__ import annotations

import contextlib

from inarch.core.errors import UnsupportedError
from inarch.fuzz import Parser
from inarch.fuzz.files import corpus
from inarch.meaning import meaning_text, normal, parse

_KEPT = corpus("meaning")


def check(data: bytes) -> None:
    """Reads `data`; its text is read as the same."""
    meaning = parse(data.decode("utf-8", "replace"), "fuzz")
    assert parse(meaning_text(meaning), "fuzz") == meaning, "its text means something else"
    with contextlib.suppress(UnsupportedError):  # a sound meaning of a kind that no nest has
        normal(meaning)


PARSER = Parser(lambda: _KEPT.seeds, check, words=_KEPT.words)
