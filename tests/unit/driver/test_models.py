"""Whole models, compiled, against onnxruntime: small ones and a full-sized one always, others if slow."""

# Onnxruntime is untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import inarch
from compilers import c_compilers
from inarch.machine.target import parse
from inarch.runtime.module import Module

Array = np.ndarray[Any, Any]
Script = Callable[[str], ModuleType]

FOLDER = Path(__file__).parents[3] / "benchmarks" / "models"

TOLERANCE = 1e-4
"""Of the output's maximum, as promised."""

TARGETS = [
    name
    for name in ("native", "x86-64-v3", "x86-64", "generic")
    if name == "native" or not parse(name).missing_here()
]

SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": (
        "bert_base",
        {"sequence": 9, "layers": 1, "hidden": 24, "heads": 3, "inner": 40, "vocabulary": 50},
    ),
    "mlp": ("mlp", {"batch": 3}),
    "lenet": ("lenet", {"batch": 2}),
    "resnet": ("resnet50", {"image": 32, "width": 8, "blocks": (1, 2), "classes": 10}),
    "resnet, not folded": (
        "resnet50",
        {"image": 32, "width": 8, "blocks": (2, 1), "classes": 10, "folded": False},
    ),
    "depthwise": (
        "mobilenetv2",
        {"image": 32, "stages": ((1, 8, 1, 1), (6, 12, 2, 2)), "features": 32, "classes": 10},
    ),
}

LARGE: dict[str, tuple[str, dict[str, Any]]] = {
    "resnet50": ("resnet50", {}),
    "resnet50, not folded": ("resnet50", {"folded": False}),
    "mobilenetv2": ("mobilenetv2", {}),
    "mobilenetv2, not folded": ("mobilenetv2", {"folded": False}),
    "bert_base": ("bert_base", {"sequence": 128}),
}


@pytest.fixture(name="script")
def fixture_script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """Imports a script of `benchmarks/models` as Python runs it: its folder first on the path."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


def random_inputs(module: Module, high: int) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    return {
        port.name: rng.standard_normal(port.shape).astype(port.dtype.numpy)
        if port.dtype.is_float
        else rng.integers(0, high, port.shape).astype(port.dtype.numpy)
        for port in module.signature.inputs
    }


def check(module: Module, model: onnx.ModelProto | Path, high: int = 2) -> None:
    """The module's outputs are those of onnxruntime, by name and in order."""
    source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
    session: Any = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    inputs = random_inputs(module, high)
    names = [output.name for output in session.get_outputs()]
    expected = dict(zip(names, session.run(names, inputs), strict=True))
    found = module.run(inputs)
    assert list(found) == names
    for name, array in found.items():
        assert (array.shape, array.dtype) == (expected[name].shape, expected[name].dtype)
        gap = np.abs(array - expected[name]).max()
        assert gap <= TOLERANCE * np.abs(expected[name]).max(), name


@pytest.mark.sampled(2, reason="attention, and convolutions; the search has all")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SMALL)
def test_small(name: str, target: str, script: Script) -> None:
    generator, options = SMALL[name]
    model = script(generator).build(**options)
    check(inarch.compile(model, target=target), model)


COMPILERS = c_compilers()


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_with_each_compiler(compiler: str, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every small model, and a full-sized one, whichever compiler the machine has."""
    monkeypatch.setenv("CC", compiler)
    for generator, options in (*SMALL.values(), LARGE["mobilenetv2"]):
        model = script(generator).build(**options)
        check(inarch.compile(model), model)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_large(name: str, script: Script, tmp_path: Path) -> None:
    generator, options = LARGE[name]
    path = tmp_path / "model.onnx"
    onnx.save(script(generator).build(**options), str(path))
    check(inarch.compile(path), path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dim", "batch", "high"),
    [
        ("opennsfw", "unk__653", 1, 0),
        ("magika", "unk__214", 1, 257),
        ("magika", "unk__214", 5, 257),
    ],
)
def test_real(name: str, dim: str, batch: int, high: int, script: Script) -> None:
    fetch = script("fetch")
    try:
        path = fetch.fetch(name)
    except fetch.FetchError as error:
        pytest.skip(f"the package index does not answer: {error}")
    check(inarch.compile(path, dims={dim: batch}), path, high)
