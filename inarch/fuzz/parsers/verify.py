"""Models that `inarch verify` is asked about: each step is compiled, run, and compared with its meaning."""

from __future__ import annotations

from inarch.diagnosis.verify import VerifyOptions, verify_model
from inarch.fuzz import Parser
from inarch.fuzz.files import written
from inarch.fuzz.parsers.onnx import dims_of, mutate, network
from inarch.testing.hostile import named_model


def _seeds() -> list[bytes]:
    return [network(), named_model().SerializeToString()]


def check(data: bytes) -> None:
    """Verifies `data`; whether it is right is another matter."""
    path = written("fuzz.onnx", data)
    keywords = {"dims": dims_of(data), "target": "native"}
    verify_model(path, VerifyOptions(keywords=keywords, seeds=1))


PARSER = Parser(_seeds, check, ".onnx", located=False, mutate=mutate)
