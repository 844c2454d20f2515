"""ONNX models: damaged bytes, and sound messages with other numbers, names and parts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from inarch.core.lazy import np
from inarch.dialects import new_context
from inarch.frontends import Sizes
from inarch.frontends.onnx import import_onnx
from inarch.fuzz import Parser
from inarch.fuzz.files import corpus
from inarch.fuzz.mutate import mutated
from inarch.fuzz.protobuf import mutated_model
from inarch.ir.verify import verify_module

LARGEST = 4096
"""Bytes of a seed: larger ones of ONNX's suite show nothing more."""


def network() -> bytes:
    """A model with a convolution, computed shapes, a function and an open dimension."""
    import onnx
    from onnx import numpy_helper

    rng = np.random.default_rng(0)
    model = onnx.parser.parse_model(corpus("onnx").seeds[0].decode())
    weights = {
        "w": rng.standard_normal((4, 3, 3, 3)).astype("float32"),
        "v": rng.standard_normal((6, 16)).astype("float32"),
        "hi": np.array(6, "float32"),
        "zero": np.array([0], "int64"),
    }
    model.graph.initializer.extend(numpy_helper.from_array(w, name) for name, w in weights.items())
    return model.SerializeToString()


def _seeds() -> list[bytes]:
    """The network, and ONNX's own cases by operator: as they are, and with all inputs but one known."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the generators of cases
        tests = sorted(load_model_tests(kind="node"), key=lambda test: test.name)
    found = [network()] * 20
    for test in tests:
        model: Any = test.model
        if model is None or "_expanded" in test.name or model.ByteSize() > LARGEST:
            continue
        found.append(model.SerializeToString())
        if test.data_sets:
            known = _with_inputs(model, test.data_sets[0][0])
            found += [known] if known is not None and len(known) <= LARGEST else []
    return found


def _with_inputs(model: Any, values: Sequence[Any]) -> bytes | None:
    """The model with all inputs but the first as initializers."""
    from onnx import ModelProto, numpy_helper

    copy = ModelProto()
    copy.CopyFrom(model)
    for info, value in list(zip(copy.graph.input, values, strict=False))[1:]:
        if not isinstance(value, np.ndarray):
            return None
        copy.graph.initializer.append(numpy_helper.from_array(value, info.name))  # pyright: ignore[reportUnknownArgumentType]
    return copy.SerializeToString()


def check(data: bytes) -> None:
    """Imports `data`, and verifies what that gives."""
    verify_module(import_onnx(data, new_context(), Sizes(dims_of(data))))


def dims_of(data: bytes) -> dict[str, int]:
    """A size for the open dimension of the network, where it is still there."""
    return {"n": 1} if b"\x12\x01n" in data and b"scale" in data else {}


def mutate(data: bytes, seeds: Sequence[bytes], rng: Random) -> bytes:
    """Another model: mostly its message, now and then its bytes."""
    if rng.random() < 0.25:
        return mutated(data, seeds[:50], (), rng)
    return mutated_model(data, seeds, rng)


def case(path: Path) -> None:
    """Reads one reproducer, with the whole traceback."""
    check(path.read_bytes())


PARSER = Parser(_seeds, check, ".onnx", located=False, mutate=mutate)
