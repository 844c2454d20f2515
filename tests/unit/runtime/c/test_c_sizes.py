"""Artifacts for several sizes, from C: inarch-run and `inarch_function_fitting` take what fits."""

# Onnx is untyped:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

import inarch

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
m (float[n,2] x, float[n] b) => (float[n,2] y) { t = Neg(x) k = Constant<value_ints=[1]>()
  c = Unsqueeze(b, k) y = Add(t, c) }"""


@pytest.fixture(scope="module")
def sized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sizes") / "sized.inarch"
    model = onnx.parser.parse_model(MODEL)
    inarch.compile(model, specialize={"n": [1, 3, 4]}).save(path)
    return path


def called(tool: Path, sized: Path, folder: Path, **given: tuple[int, ...]) -> tuple[int, str, str]:
    words: list[str] = []
    for name, shape in given.items():
        np.save(folder / f"{name}.npy", np.ones(shape, np.float32))
        words += ["--input", f"{name}={folder}/{name}.npy"]
    command = [str(tool), str(sized), *words]
    done = subprocess.run(command, capture_output=True, text=True, env={}, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr.replace(str(sized), "m.inarch")


@pytest.mark.parametrize("n", [4, 1, 3])
def test_what_fits_is_run(tool: Path, sized: Path, tmp_path: Path, n: int) -> None:
    code, shown, said = called(tool, sized, tmp_path, x=(n, 2), b=(n,))
    assert (code, said) == (0, "")
    assert shown.startswith(f"y: float32[{n}, 2] [0, 0")


@pytest.mark.parametrize(
    ("x", "b", "message"),
    [
        ((2, 2), (2,), "input 'x': expected f32[1, 2] or f32[3, 2] or f32[4, 2], found f32[2, 2]"),
        ((3, 2), (4,), "input 'b': expected f32[1] or f32[3] or f32[4], found f32[4]"),
        ((3,), (3,), "input 'x': expected f32[1, 2] or f32[3, 2] or f32[4, 2], found f32[3]"),
    ],
)
def test_what_fits_none_is_told_those_there_are(
    tool: Path, sized: Path, tmp_path: Path, x: tuple[int, ...], b: tuple[int, ...], message: str
) -> None:
    code, shown, said = called(tool, sized, tmp_path, x=x, b=b)
    assert (code, shown) == (1, "")
    assert said == f"m.inarch: error: main: {message}; compile the model for it, too\n"
