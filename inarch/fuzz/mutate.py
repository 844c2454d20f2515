"""Mutations of text and bytes that hold for every format: words, numbers, brackets, lines, pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from random import Random

MAX_BYTES = 1 << 16
"""Mutated inputs are cut here: what matters in a larger one, a smaller one shows."""

_TOKEN = re.compile(rb"[A-Za-z_][\w.]*|\d+|[ \t]+|.", re.DOTALL)
_NUMBER = re.compile(rb"-?\d+")
_OPEN = {b"(": b")", b"[": b"]", b"{": b"}", b"<": b">"}

NUMBERS = [
    b"0", b"1", b"-1", b"2", b"3", b"7", b"63", b"64", b"65", b"127", b"128", b"255", b"256", b"1000",
    b"65536", b"1048576", b"16777217", b"2147483647", b"2147483648", b"-2147483649", b"4294967296",
    b"4611686018427387904", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809",
    b"18446744073709551616", b"99999999999999999999999999", b"9" * 5000, b"0x" + b"F" * 5000,
    b"1e9", b"1e308", b"1e999", b"-1e999", b"nan", b"inf", b"0x1p-1074", b"1.5", b"-0.0",
    b"00", b"+1", b"1_0",
]  # fmt: skip
"""Where integers, sizes and floats end."""

STRANGE = [
    b"\x00",
    b"\xff",
    b"\xc3\xa9",
    b"\xd9\xa0",
    b"\xe2\x80\xa8",
    b"\r",
    b"\x0b",
    b"\\",
    b'"',
    b"'",
    b"\x7f",
]


def mutated(data: bytes, seeds: Sequence[bytes], words: Sequence[bytes], rng: Random) -> bytes:
    """`data` after one to four random changes, at most `MAX_BYTES` long."""
    vocabulary = _vocabulary(tuple(seeds), tuple(words))
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        data = rng.choice(_MUTATIONS)(data, rng, vocabulary, seeds)[:MAX_BYTES]
    return data


@cache
def _vocabulary(seeds: tuple[bytes, ...], words: tuple[bytes, ...]) -> list[bytes]:
    found = dict.fromkeys(token for seed in seeds for token in _TOKEN.findall(seed[:MAX_BYTES]))
    return [token for token in (*found, *words) if token.strip()] or [b"x"]


def _bytes(data: bytes, rng: Random, _words: list[bytes], _seeds: Sequence[bytes]) -> bytes:
    """A few bytes changed, added or left out."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(found) + 1)
        match rng.randrange(4):
            case 0 if at < len(found):
                found[at] ^= 1 << rng.randrange(8)
            case 1:
                found[at:at] = rng.choice(STRANGE)
            case 2:
                del found[at : at + rng.randrange(1, 9)]
            case _:
                found[at : at + 1] = bytes([rng.randrange(256)])
    return bytes(found)


def _word(data: bytes, rng: Random, words: list[bytes], _seeds: Sequence[bytes]) -> bytes:
    """A token replaced by, or followed by, one that means something somewhere."""
    tokens = _TOKEN.findall(data)
    if not tokens:
        return rng.choice(words)
    at = rng.randrange(len(tokens))
    new = rng.choice(words) if rng.random() < 0.8 else rng.choice(tokens)
    if rng.random() < 0.2:
        new = tokens[at] + b" " + new
    tokens[at] = new
    return b"".join(tokens)


def _number(data: bytes, rng: Random, _words: list[bytes], _seeds: Sequence[bytes]) -> bytes:
    """A number replaced by another: by one that is too large, or by its neighbour."""
    found = list(_NUMBER.finditer(data))
    if not found:
        return data + rng.choice(NUMBERS)
    match = rng.choice(found)
    new = rng.choice(NUMBERS)
    if rng.random() < 0.25 and len(match[0]) < 20:
        new = b"%d" % (int(match[0]) + rng.choice((-1, 1)))
    return data[: match.start()] + new + data[match.end() :]


def _repeat(data: bytes, rng: Random, _words: list[bytes], _seeds: Sequence[bytes]) -> bytes:
    """A piece that comes several times."""
    start, end = _span(data, rng)
    times = rng.choice((2, 2, 3, 40, 1000))
    return data[:start] + data[start:end] * times + data[end:]


def _cut(data: bytes, rng: Random, _words: list[bytes], _seeds: Sequence[bytes]) -> bytes:
    """The beginning alone, or all but a piece."""
    if rng.random() < 0.5:
        return data[: rng.randrange(len(data) + 1)]
    start, end = _span(data, rng)
    return data[:start] + data[end:]


def _splice(data: bytes, rng: Random, _words: list[bytes], seeds: Sequence[bytes]) -> bytes:
    """The beginning of this and the end of another; or a piece of another in this."""
    other = rng.choice(seeds)
    start, end = _span(data, rng)
    first, last = _span(other, rng)
    if rng.random() < 0.5:
        return data[:start] + other[first:]
    return data[:start] + other[first:last] + data[end:]


def _lines(data: bytes, rng: Random, _words: list[bytes], _seeds: Sequence[bytes]) -> bytes:
    """A line repeated, left out, or moved."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    line = lines[at] if rng.random() < 0.4 else lines.pop(at)
    if rng.random() < 0.7:
        lines.insert(rng.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def _nest(data: bytes, rng: Random, _words: list[bytes], _seeds: Sequence[bytes]) -> bytes:
    """What is in brackets, in many more of them."""
    places = [at for at in range(len(data)) if data[at : at + 1] in _OPEN]
    if not places:
        return data
    at = rng.choice(places)
    bracket = data[at : at + 1]
    close = _OPEN[bracket]
    end = _closing(data, at, bracket, close)
    times = rng.choice((1, 2, 10, 100, 1000, 10_000))
    # What stands between the brackets of a level may matter: `f(`, `tuple<`.
    start = at - len(re.findall(rb"[\w.!#\"]*$", data[max(0, at - 40) : at])[0]) * (
        rng.random() < 0.5
    )
    return (
        data[:start]
        + data[start : at + 1] * times
        + data[at + 1 : end]
        + close * times
        + data[end + 1 :]
    )


def _closing(data: bytes, at: int, bracket: bytes, close: bytes) -> int:
    """Where the bracket at `at` is closed, or the end."""
    depth = 0
    for index in range(at, len(data)):
        letter = data[index : index + 1]
        depth += (letter == bracket) - (letter == close)
        if depth == 0:
            return index
    return len(data)


def _span(data: bytes, rng: Random) -> tuple[int, int]:
    """A piece of `data`, mostly a short one, which begins and ends with a token where it is easy."""
    start = rng.randrange(len(data) + 1)
    length = rng.choice((1, 4, 16, 64, 256, len(data)))
    end = min(len(data), start + rng.randrange(length + 1))
    while 0 < start < len(data) and chr(data[start]).isalnum() and chr(data[start - 1]).isalnum():
        start -= 1
    return start, max(start, end)


_Mutation = Callable[[bytes, Random, list[bytes], Sequence[bytes]], bytes]
_MUTATIONS: list[_Mutation] = [
    _bytes, _word, _word, _word, _number, _number, _repeat, _cut, _splice, _lines, _nest,
]  # fmt: skip
