"""Loaders get the options of their instance: in Python, in C under Python, and by libinarch."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.artifact import Artifact
from inarch.artifact.manifest import Port, Signature
from inarch.backends import BACKENDS, Backend, Emission, EmitRequest, Option
from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError
from inarch.machine.compilers import find_compiler
from inarch.runtime.c import INCLUDE
from inarch.runtime.function import Function
from inarch.runtime.loaders import LOADERS, Loader
from inarch.runtime.loaders.shipped import Shipped
from inarch.runtime.module import Module

HERE = Path(__file__).parent
SIZE = 5
TEXT = """func.func @main(%x: tensor<5xf32> {inarch.name = "x"}) -> (tensor<5xf32> {inarch.name = "y"}) {
  %0 = graph.relu %x : tensor<5xf32> -> tensor<5xf32>
  %1 = graph.abs %0 : tensor<5xf32> -> tensor<5xf32>
  func.return %1 : tensor<5xf32>
}
"""


def emit(request: EmitRequest) -> Emission:
    """The gain is not in what is emitted: it is the loader's to know."""
    text = "\n".join(f"{name} {SIZE}" for name in request.names())
    return Emission("gains", request.names(), text=text)


def load_part(part: Shipped) -> Module:
    gain = np.float32(part.options["gain"])
    if part.options["note"]:
        raise InarchError(f"says: {part.options['note']}", where=part.where)
    port = DTYPES["f32"], (SIZE,)
    signature = Signature((Port("x", *port),), (Port("y", *port),))

    def invoke(arrays: Any) -> None:
        arrays[1][...] = arrays[0] * gain

    functions = {name: Function(name, signature, invoke) for name in part.functions}
    return Module("gains", part.where, functions, content=part.program)


GAINS = Backend(
    "gains",
    "multiplies by an option",
    emit,
    ops=("relu", "abs"),
    options={"gain": Option("float", 1.0), "note": ""},
    status=lambda: "ready",
)


@pytest.fixture(autouse=True)
def gains() -> Iterator[None]:
    with BACKENDS.scope(), LOADERS.scope():
        BACKENDS.register(GAINS)
        LOADERS.register(Loader("gains", load_part=load_part))
        yield


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gains") / "gains.so"
    command = [*find_compiler().command, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
    command += ["-fPIC", "-shared", f"-I{INCLUDE}", str(HERE / "gains.c"), "-o", str(path)]
    subprocess.run(command, check=True)
    return path


def compiled(folder: Path, *backends: str, keep: tuple[str, ...] = ()) -> Path:
    (folder / "m.mlir").write_text(TEXT)
    path = folder / "m.inarch"
    inarch.compile(str(folder / "m.mlir"), backends=backends, keep=keep).save(path)
    return path


def test_two_instances_have_each_its_options(library: Path, tool: Path, tmp_path: Path) -> None:
    """Random values, by three ways of loading, equal to NumPy; what is emitted is the same text."""
    draw = Random(7)
    for _ in range(3):
        first, second = (round(draw.uniform(-3, 3), 3) for _ in range(2))
        pair = (f"a=gains:gain={first}", f"b=gains:gain={second}")
        path = compiled(tmp_path, *pair, keep=("abs=a",))
        x = np.linspace(-1, 2, SIZE, dtype=np.float32)
        expected = x * np.float32(first) * np.float32(second)
        np.testing.assert_allclose(inarch.load(path)(x), expected, rtol=1e-6)
        np.testing.assert_allclose(inarch.load(path, loaders=[library])(x), expected, rtol=1e-6)
        with Artifact.open(path) as artifact:
            assert [part.options["gain"] for part in artifact.manifest.backends] == [
                str(first),
                str(second),
            ]
        np.save(tmp_path / "x.npy", x)
        command = [tool, path, "--loader", library, "--output-dir", tmp_path, "-q"]
        subprocess.run([*map(str, command), "--input", f"x={tmp_path / 'x.npy'}"], check=True)
        np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=1e-6)


def test_all_options_are_text_in_the_order_of_their_declaration(
    library: Path, runtime: Any, tmp_path: Path
) -> None:
    """Commas, quotes and other letters come through; instance and count are right in both runtimes."""
    note = "x, it's ä=1"
    LOADERS.register(Loader("gains", load_part=lambda part: load_part(_quiet(part))))
    path = compiled(tmp_path, "big=gains:note='x, it''s ä=1'")
    said = f"loader 'gains' does not load it: instance big of 2 options says: {note}"
    with pytest.raises(InarchError) as caught:
        inarch.load(path, loaders=[library])
    assert str(caught.value) == f"{path}[1]: {said}"
    status, _ = runtime.open(path, loaders=[library])
    assert status != 0
    assert runtime.message() == f"{path}[1]: error: {said}"


def _quiet(part: Shipped) -> Shipped:
    assert list(part.options.items()) == [("gain", "1.0"), ("note", "x, it's ä=1")]
    return Shipped(
        part.format,
        part.where,
        part.program,
        options={**part.options, "note": ""},
        functions=part.functions,
    )
