"""Models that `inarch verify` is asked about: each step is compiled, run, and compared with its meaning."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from inarch.diagnosis.verify import VerifyOptions, verify_model
from inarch.fuzz import PARSERS, Parser
from inarch.fuzz.files import written
from inarch.fuzz.parsers.onnx import dims_of, network
from inarch.testing.hostile import named_model


def _seeds() -> list[bytes]:
    return [network(), named_model().SerializeToString()]


def check(data: bytes) -> None:
    """Verifies `data`; whether it is right is another matter."""
    path = written("fuzz.onnx", data)
    keywords = {"dims": dims_of(data), "target": "native"}
    verify_model(path, VerifyOptions(keywords=keywords, seeds=1))


def _mutate(data: bytes, seeds: Sequence[bytes], rng: Random) -> bytes:
    other = PARSERS["onnx"]
    assert other.mutate is not None, "models are mutated as messages"
    return other.mutate(data, seeds, rng)


PARSER = Parser(_seeds, check, ".onnx", located=False, mutate=_mutate)
