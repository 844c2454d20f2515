"""Schedule files."""

from __future__ import annotations

from inarch.fuzz import Parser
from inarch.passes.schedule.language.script import parse_schedule

_SEEDS = [
    b'# a comment\nat "dense_1": split n 64 -> no ni; vectorize ni\n    parallelize no\n',
    b'algorithm conv direct\nalgorithm "layer1/*" winograd-2x2; at "x": unroll i',
    b"at @main[3]: interchange reassociate kh kw ow\nat @f[1]: unroll i",
    b'at "a \\"quoted\\" name"[2]: fuse "b"[1] @main[4] over m 32 n 8',
    b'at "x": tile m 4 n 16\n\n;;at "y"[12]:\nunroll k; # ends\n',
]


def check(data: bytes) -> None:
    """Reads `data`, twice: the same blocks."""
    text = data.decode("utf-8", "replace")
    blocks = parse_schedule(text, "s")
    assert [one.place for one in blocks] == [one.place for one in parse_schedule(text, "s")]


PARSER = Parser(
    _SEEDS.copy, check, words=[b"->", b"reassociate", b"over", b"at", b"[", b"]", b"pack"]
)
