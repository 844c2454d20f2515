"""Models and graph programs of strangers down to C: what passes and the writer make of what was read."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from inarch.dialects import new_context
from inarch.driver.compiler import import_model, lower
from inarch.driver.host import check_parts, emit, find_host
from inarch.driver.options import DEFAULT_HOST, Options
from inarch.fuzz import PARSERS, Parser
from inarch.fuzz.files import texts, written
from inarch.fuzz.mutate import mutated
from inarch.fuzz.parsers.onnx import dims_of

_TEXT = b"func.func"
LARGEST = 3000
"""Bytes of a seed: what is larger takes seconds, mutated or not."""


def _seeds() -> list[bytes]:
    programs = [
        one
        for text in texts("tests/lit/dialects/graph/*.mlir", "tests/lit/passes/graph/*.mlir")
        for one in text.split(b"// -----\n")
        if _TEXT in one and b"graph." in one
    ]
    return [one for one in (*PARSERS["onnx"].seeds(), *programs) if len(one) <= LARGEST]


def check(data: bytes) -> None:
    """Compiles `data` as far as C."""
    is_text = _TEXT in data
    path = written("fuzz.mlir" if is_text else "fuzz.onnx", data)
    context = new_context()
    options = Options(target="x86-64-v3", dims={} if is_text else dims_of(data))
    module = import_model(path, context, options)
    offload = options.offload()
    parts, host = lower(context, module, "kernel", offload=offload), find_host(DEFAULT_HOST)
    check_parts(host, parts)
    emit(host, context, module).joined(parts)


def _mutate(data: bytes, seeds: Sequence[bytes], rng: Random) -> bytes:
    other = PARSERS["mlir" if _TEXT in data else "onnx"]
    if other.mutate is not None:
        return other.mutate(data, [one for one in seeds if _TEXT not in one], rng)
    return mutated(data, [one for one in seeds if _TEXT in one], other.words, rng)


PARSER = Parser(_seeds, check, ".bin", located=False, mutate=_mutate)
