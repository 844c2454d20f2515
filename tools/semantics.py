"""The option `--verify-semantics`, which both commands have."""

from __future__ import annotations

import argparse

SEMANTICS = "--verify-semantics"
SEMANTICS_HELP = (
    "run the program after each pass by the definitions of its ops, on random inputs of this seed "
    "(default 0), and stop at a pass that changes what it computes (docs/testing.md)"
)


def seed(text: str) -> int:
    """The value of `--verify-semantics`. Raises ArgumentTypeError."""
    if not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"expected a seed, a number such as 7, found '{text}'")
    return int(text)
