"""Mutated ExampleJSON is read, and then runs and round-trips, or is refused with a location (T10).

`INARCH_FUZZ_SEED` picks other cases, `INARCH_FUZZ_CASES` another number of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import pairwise
from math import prod
from random import Random

import numpy as np
import pytest

from inarch.errors import InarchError
from inarch.runtime.loaders._examplejson_engine import bind
from inarch.runtime.loaders._examplejson_graph import Graph, unparse
from inarch.runtime.loaders._examplejson_parser import parse

SEED = int(os.environ.get("INARCH_FUZZ_SEED", "20261121"))
SMALL = 1000
"""Graphs run where none of their tensors has more elements."""

CORPUS = [
    """subgraph_0
  input 0 10 10
  input 1 10 10
  input 2 10 10
  input 3 10 10
  add 4 inputs: 0 1 shape: 10 10
  sub 5 inputs: 4 2 shape: 10 10
  mul 6 inputs: 5 3 shape: 10 10
""",
    """subgraph_0 name: first
  input 0 2 3 dtype: f64
  constant 1 shape: 3 dtype: f64 data: 0.5 -0.0 1e+300
  div 2 inputs: 0 1 shape: 2 3 dtype: f64
  transpose 3 inputs: 2 shape: 3 2 dtype: f64 attrs: perm=1,0
  matmul 4 inputs: 2 3 shape: 2 2 dtype: f64
  softmax 5 inputs: 4 shape: 2 2 dtype: f64 attrs: axis=-1
  outputs: 5 2
subgraph_1
  input 0 4 dtype: i32
  constant 1 shape: 2 2 dtype: i32 base64: AQAAAAIAAAADAAAABAAAAA==
  reshape 2 inputs: 0 shape: 2 2 dtype: i32
  concat 3 inputs: 2 1 2 shape: 6 2 dtype: i32 attrs: axis=0
  slice 4 inputs: 3 shape: 2 1 dtype: i32 attrs: starts=5,1 steps=-2,1
  reduce_max 5 inputs: 4 shape: 1 1 dtype: i32 attrs: axes=0 keepdims=true
  clip 6 inputs: 5 shape: 1 1 dtype: i32 attrs: low=0.0 high=6.0
""",
    """subgraph_7
input 0
broadcast_to 1 inputs: 0 shape: 2 0
reduce_sum 2 inputs: 1 shape: 0 attrs: axes=0
constant 3 shape: 2 dtype: i1 data: 0 1
outputs: 2 3 0
""",
]
WORDS = [
    "inputs:", "shape:", "dtype:", "attrs:", "data:", "base64:", "outputs:", "name:", "input",
    "constant", "subgraph_0", "subgraph_1", "subgraph_", "add", "softmax", "concat", "f64", "i1", "ui8",
    "-1", "0", "1", "2", "4611686018427387904", "99999999999999999999999", "1e999", "nan", "0x1p-1074",
    "axis=0", "axes=", "perm=0,1", "keepdims=true", "AAAA", "\u0660", "\x00", "\ud800", "1_0", "+1",
]  # fmt: skip
BLANKS = ["\n", " ", "\t", "\r\n", "\r", "", "\n\n", "\x0b", "\u2028"]


def _letters(text: str, rng: Random) -> str:
    """One character more, less, or another."""
    at = rng.randrange(len(text) + 1)
    letter = rng.choice(
        ["", text[rng.randrange(len(text))] if text else "x", chr(rng.randrange(300))]
    )
    return text[:at] + letter + text[at + rng.randrange(2) :]


def _words(text: str, rng: Random) -> str:
    """A word or a blank replaced by one that means something somewhere."""
    parts = re.split(r"(\s+)", text)
    at = rng.randrange(len(parts))
    if at % 2:
        parts[at] = rng.choice(BLANKS)
    else:
        parts[at] = rng.choice(WORDS) if rng.random() < 0.7 else rng.choice(parts)
    return "".join(parts)


def _lines(text: str, rng: Random) -> str:
    """A line repeated, left out, or moved."""
    lines = text.split("\n")
    line = (
        lines[rng.randrange(len(lines))]
        if rng.random() < 0.5
        else lines.pop(rng.randrange(len(lines)))
    )
    lines.insert(rng.randrange(len(lines) + 1), line if rng.random() < 0.7 else "")
    return "\n".join(lines)


def _cut(text: str, rng: Random) -> str:
    """The beginning of this and the end of another."""
    other = rng.choice(CORPUS)
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :]


MUTATIONS: list[Callable[[str, Random], str]] = [_letters, _words, _words, _lines, _cut]


def mutated(rng: Random) -> str:
    text = rng.choice(CORPUS)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        text = rng.choice(MUTATIONS)(text, rng)
    return text


def check(text: str) -> bool:
    """Whether `text` is a program; then it runs, and its canonical spelling is equal."""
    try:
        graphs = parse(text, "fuzz")
    except InarchError as error:
        line = error.line()
        assert re.fullmatch(r"fuzz:[1-9]\d*:[1-9]\d*: error: [ -~]+", line), line
        place = line.split(":")
        lines = text.split("\n")
        assert int(place[1]) <= len(lines)
        assert int(place[2]) <= len(lines[int(place[1]) - 1]) + 1, line
        return False
    assert parse(unparse(graphs), "fuzz") == graphs
    for graph in graphs:
        run(graph)
    return True


def run(graph: Graph) -> None:
    """A call on ones: the types that were checked are those that NumPy gives."""
    if any(prod(max(size, 1) for size in node.type.shape) > SMALL for node in graph.nodes):
        return
    function = bind(graph)[0]
    inputs = [np.ones(port.shape, port.dtype.numpy) for port in function.signature.inputs]
    results = function(*inputs)
    found = results if isinstance(results, tuple) else (results,)
    for array, port in zip(found, function.signature.outputs, strict=True):
        assert (array.shape, array.dtype.name) == (port.shape, port.dtype.numpy)


def fuzz(cases: int, seed: int) -> None:
    """Each case has a seed of its own, so that one alone can be run again."""
    cases = int(os.environ.get("INARCH_FUZZ_CASES", cases))
    print(f"INARCH_FUZZ_SEED={seed} INARCH_FUZZ_CASES={cases}")
    valid = 0
    for case in range(cases):
        text = mutated(Random(f"{seed} {case}"))
        try:
            valid += check(text)
        except Exception as error:
            raise AssertionError(f"INARCH_FUZZ_SEED={seed}, case {case}: {text!r}") from error
    print(f"{valid} of {cases} are programs")
    assert cases // 50 < valid < cases // 2  # the mutations are neither too wild nor too tame


@pytest.mark.parametrize("text", CORPUS)
def test_the_corpus_is_valid(text: str) -> None:
    """T9: what is mutated are programs."""
    assert check(text)


@pytest.mark.sampled(1, reason="parts are alike")
@pytest.mark.parametrize("part", range(5))
def test_mutations_are_refused_or_run(part: int) -> None:
    """T10: 50,000 cases, in five parts that can run at the same time."""
    fuzz(10_000, SEED + part)


@pytest.mark.fuzz
def test_a_million_mutations_are_refused_or_run() -> None:
    """T10: other cases than those of every run."""
    fuzz(1_000_000, SEED + 1000)


def test_truncations_are_refused_or_run() -> None:
    """T10: every beginning, and every text with one piece left out."""
    for text in CORPUS:
        for end in range(len(text)):
            check(text[:end])
        for start, end in pairwise(range(0, len(text), 3)):
            check(text[:start] + text[end:])
