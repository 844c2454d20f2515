"""MLIR text: what is read is verified, and printed again."""

from __future__ import annotations

import re

from inarch.dialects import new_context
from inarch.fuzz import Parser
from inarch.fuzz.files import corpus, texts
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module

_KEPT = corpus("mlir")


def _seeds() -> list[bytes]:
    pieces = [
        piece for text in texts("tests/lit/**/*.mlir") for piece in re.split(rb"// -----+\n", text)
    ]
    return [*_KEPT.seeds, *(piece for piece in pieces if piece.strip())]


def check(data: bytes) -> None:
    """Reads, verifies and prints `data`."""
    module = parse_module(new_context(), data.decode("utf-8", "replace"), "fuzz.mlir")
    verify_module(module)
    print_module(module)


PARSER = Parser(
    _seeds,
    check,
    ".mlir",
    words=_KEPT.words,
)
