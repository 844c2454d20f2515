"""Options that mean something without a value, too."""

from __future__ import annotations

from collections.abc import Sequence

_MEANS = {"--verify-semantics": "0", "--remarks": ""}


def with_defaults(argv: Sequence[str]) -> list[str]:
    """`--remarks` alone is `--remarks=`; argparse would take the word after it for the value."""
    return [f"{word}={_MEANS[word]}" if word in _MEANS else word for word in argv]
