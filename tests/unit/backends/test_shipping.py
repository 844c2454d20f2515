"""What is checked of an emission where it is made: weights, names, parts for devices that are elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.dialects.func import FuncOp

import inarch
from inarch.artifact import Artifact
from inarch.artifact.manifest import Port, Signature
from inarch.backends import BACKENDS, Backend, Emission, EmitRequest
from inarch.core.dtypes import DTYPES
from inarch.core.errors import EnvironmentFault, InarchError, InarchWarning
from inarch.dialects import new_context
from inarch.driver.compiler import build
from inarch.driver.offloaded.linked_weights import widen
from inarch.driver.options import Options
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module
from inarch.runtime.function import Function
from inarch.runtime.loaders import LOADERS, Loader
from inarch.runtime.loaders.shipped import Shipped
from inarch.runtime.module import Module
from inarch.tools.cli import run

MODEL = """
func.func @main(%x: tensor<4xf32> {inarch.name = "x"}) -> (tensor<4xf32> {inarch.name = "y"}) {
  %0 = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
LOADED: list[Shipped] = []


def emission(**more: Any) -> Callable[[EmitRequest], Emission]:
    def emit(request: EmitRequest) -> Emission:
        given: dict[str, Any] = {"format": "chip", "symbols": request.names(), "data": b"go"}
        return Emission(**(given | more))

    return emit


def load_part(part: Shipped) -> Module:
    LOADED.append(part)
    port = DTYPES["f32"], (4,)

    def invoke(arrays: Any) -> None:
        arrays[1][...] = np.maximum(arrays[0], 0)

    signature = Signature((Port("x", *port),), (Port("y", *port),))
    return Module(
        "chip", part.where, {each: Function(each, signature, invoke) for each in part.functions}
    )


CHIP = Backend("chip", "relu", emission(), ops=("relu",))


@pytest.fixture(autouse=True)
def chip() -> Iterator[None]:
    LOADED.clear()
    with BACKENDS.scope(), LOADERS.scope():
        LOADERS.register(Loader("chip", load_part=load_part))
        yield


def built(folder: Path, backend: Backend) -> Path:
    BACKENDS.register(backend)
    (folder / "m.mlir").write_text(MODEL)
    build(folder / "m.mlir", folder / "m.inarch", options=Options(backends=(backend.name,)))
    return folder / "m.inarch"


DTYPE_NAMES = ", ".join(DTYPES)
WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"weights": {"w": np.zeros(3, np.complex64)}},
        f"expected numbers of {DTYPE_NAMES} in weight 'w', found complex64[3]",
    ),
    (
        {"weights": {"w": np.zeros((2, 0), np.float32)}},
        f"expected numbers of {DTYPE_NAMES} in weight 'w', found float32[2, 0]",
    ),
    (
        {"metadata": {"chip_1": {"cycles": "3"}}},
        "no symbol 'chip_1' in Emission.metadata; did you mean 'chip_0'? Known: chip_0",
    ),
    (
        {"weights": {"kernel": b"abc"}, "uses": {"chip_0": ["kernal"]}},
        "no weight 'kernal' in Emission.weights; did you mean 'kernel'? Known: kernel",
    ),
    (
        {"format": "c", "text": "int x;"},
        "found 2 bytes in Emission.data beside C source; give them in Emission.weights",
    ),
]


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_what_is_wrong_with_an_emission(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    """Exactly, with the backend, the function and its node."""
    with pytest.raises(InarchError) as error:
        built(tmp_path, replace(CHIP, emit=emission(**given)))
    origin = BACKENDS.origin("chip").source
    place = f"{tmp_path / 'm.mlir'}:3:3"
    assert error.value.message == f"backend 'chip' [{origin}] on @chip_0 (from '{place}'): {said}"


def test_a_function_takes_weights_that_it_does_not_use() -> None:
    """With its body and the attributes of its arguments: the host's version of a backend's part."""
    module = parse_module(new_context(), MODEL)
    function = next(each for each in module.walk() if isinstance(each, FuncOp))
    widen(function, [TensorType(f32, [2]), TensorType(f32, [])])
    verify_module(module)
    assert (
        print_module(module)
        .splitlines()[1]
        .startswith(
            '  func.func @main(%x: tensor<4xf32> {inarch.name = "x"}, %0: tensor<2xf32>, %1: tensor<f32>) -> '
        )
    )


def test_compiling_needs_no_device(tmp_path: Path) -> None:
    """T8: one warning where it is compiled, an error with what to do where it is loaded."""
    missing = "no /dev/chip0; plug one in, and install chip-driver"
    LOADERS.register(Loader("chip", load_part=load_part, status=lambda: missing))
    with pytest.warns(InarchWarning) as seen:
        path = built(tmp_path, replace(CHIP, status=lambda: missing))
    (only,) = seen
    assert str(only.message).startswith("backend 'chip' [")
    assert str(only.message).endswith(f"]: {missing}; compiled for machines that have it")
    assert not LOADED
    with pytest.raises(EnvironmentFault) as error:
        inarch.load(path)
    assert error.value.line() == f"{path}[1]: error: loader 'chip' cannot run it: {missing}"
    LOADERS.register(Loader("chip", load_part=load_part))
    np.testing.assert_array_equal(
        inarch.load(path)(np.array([-1, 2, -3, 4], np.float32)), [0, 2, 0, 4]
    )


def test_a_loader_validates_without_a_device(tmp_path: Path) -> None:
    """What no device would run is refused where it is compiled, and nothing is loaded then."""

    def validate(part: Shipped) -> None:
        if bytes(part.program) != b"go":
            raise InarchError(f"byte 0: expected an instruction, found {bytes(part.program)[0]}")

    LOADERS.register(Loader("chip", load_part=load_part, validate=validate))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = built(tmp_path, CHIP)
    assert not LOADED
    inarch.load(path)
    assert len(LOADED) == 1
    with pytest.raises(InarchError) as error:
        built(tmp_path, replace(CHIP, emit=emission(data=b"\x07")))
    assert error.value.message.endswith(
        ": loader 'chip' refuses what was emitted: byte 0: expected an instruction, found 7"
    )


def test_what_is_said_of_functions_is_in_the_artifact(tmp_path: Path) -> None:
    """By `inspect`, in the manifest, and to the loader; a number stays one, and bytes are of ui8."""
    path = built(
        tmp_path,
        replace(
            CHIP,
            version="2.1",
            emit=emission(
                weights={"scale": np.float32(3), "code": b"abc"},
                metadata={"chip_0": {"cycles": "12"}},
                machine="chip-v3",
            ),
        ),
    )
    shown = run(["inspect", str(path), "--check"]).out
    assert "backend    chip 2.1 for chip-v3\n" in shown
    assert "backend    chip: 7 bytes of weights: scale f32[], code ui8[3]\n" in shown
    assert "backend    chip: chip_0: cycles = 12\n" in shown
    LOADED.clear()
    inarch.load(path)
    (part,) = LOADED
    assert (part.version, part.machine, part.metadata) == (
        "2.1",
        "chip-v3",
        {"chip_0": {"cycles": "12"}},
    )
    assert (part.weights["scale"].shape, float(part.weights["scale"])) == ((), 3)
    assert part.weights["code"].tobytes() == b"abc"
    assert not part.weights["code"].flags.writeable
    with Artifact.open(path) as artifact:
        assert artifact.manifest.backends[0].weights["code"].dtype == "ui8"
