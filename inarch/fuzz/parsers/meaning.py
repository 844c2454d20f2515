"""Meanings of microkernels: the grammar of `computes`."""

from __future__ import annotations

import contextlib

from inarch.core.errors import UnsupportedError
from inarch.fuzz import Parser
from inarch.meaning import meaning_text, normal, parse

_SEEDS = [
    b"for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]",
    b"for m in 4, n in 16: C[m, n] = 0; for k in K: C[m, n] += A[m, k] * B[k, n]; C[m, n] = max(C[m, n], 0)",
    (
        b"for p in P, q in Q, c in C: O[p, q, c] = -inf; "
        b"for r in 3, s in 3: O[p, q, c] max= I[p * 2 + r - 1, q * S + s, c]"
    ),
    b"for i in N: Y[i] = f32(X[i]) / (1 + exp(-X[i])) * 2.5e-3 - 1",
    b"for: S[] = 0; for i in N: S[] += X[i]",
]


def check(data: bytes) -> None:
    """Reads `data`; its text is read as the same."""
    meaning = parse(data.decode("utf-8", "replace"), "fuzz")
    assert parse(meaning_text(meaning), "fuzz") == meaning, "its text means something else"
    with contextlib.suppress(UnsupportedError):  # a sound meaning of a kind that no nest has
        normal(meaning)


PARSER = Parser(lambda: _SEEDS, check, words=[b"select", b"min=", b"*=", b"i8", b"sqrt", b"for"])
