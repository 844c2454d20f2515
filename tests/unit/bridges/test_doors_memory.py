"""Memory of frameworks at our doors: neither what they give nor what they get is copied.

`make bridges` runs this file in each environment; what is not there skips, and says so.
"""

# Frameworks are untyped where they are not installed:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.artifact.manifest import Signature
from inarch.runtime.function import Function

MODEL = """
func.func @main(%x: tensor<2x2xf32> {inarch.name = "x"}, %s: tensor<f32> {inarch.name = "s"})
    -> (tensor<2x2xf32> {inarch.name = "y"}) {
  %0 = graph.mul %x, %s : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}
"""
X = np.arange(4, dtype=np.float32).reshape(2, 2)
FRAMEWORKS = pytest.mark.parametrize("package", ["numpy", "torch", "jax"])


@pytest.fixture(name="path", scope="module")
def fixture_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    (folder / "scaled.mlir").write_text(MODEL)
    inarch.compile(folder / "scaled.mlir").save(folder / "scaled.so")
    return folder / "scaled.so"


def space_of(package: str) -> Any:
    """What makes arrays."""
    framework: Any = pytest.importorskip(package)
    return framework.numpy if package == "jax" else framework


def address_of(value: Any) -> int:
    for name in ("data_ptr", "unsafe_buffer_pointer"):
        if hasattr(value, name):
            return int(getattr(value, name)())
    return int(value.ctypes.data)


@FRAMEWORKS
def test_memory_is_shared_with_frameworks(path: Path, package: str) -> None:
    """B3: outputs are the framework's of the inputs, and are taken without a copy."""
    space, module = space_of(package), inarch.load(path)
    out = module(X, 2.0)
    assert out.ctypes.data % 64 == 0
    if hasattr(space, "from_dlpack"):  # NumPy 1.23 has it, 1.22 had not
        assert address_of(space.from_dlpack(out)) == out.ctypes.data
    x = space.asarray(X)
    seen: list[int] = []

    def record(arrays: Any) -> None:
        seen.append(arrays[0].ctypes.data)
        np.multiply(arrays[0], 2, out=arrays[1])

    ports = (module.signature.inputs[0],)
    double = Function("double", Signature(ports, module.signature.outputs), record)
    result = double(x)
    assert type(result) is type(x)
    assert seen == [address_of(x)]
    assert type(module(x, 2.0)) is type(x)
    np.testing.assert_array_equal(np.asarray(module(x, 2.0)), X * 2)


@FRAMEWORKS
def test_their_tensors_through_tvm_ffi(path: Path, package: str) -> None:
    """B3: the artifact reads them where they are, and writes what can be written; arrays of JAX cannot."""
    tvm_ffi: Any = pytest.importorskip("tvm_ffi")
    space = space_of(package)
    main = tvm_ffi.load_module(str(path)).main
    x, s = space.asarray(X), space.asarray(np.float32(3))
    y = np.zeros((2, 2), np.float32) if package == "jax" else space.asarray(np.zeros_like(X))
    before = address_of(y)
    assert main(x, s, y) is None
    assert address_of(y) == before
    np.testing.assert_array_equal(np.asarray(y), X * 3)
    main(x, 0.5, y)
    np.testing.assert_array_equal(np.asarray(y), X / 2)
    assert tvm_ffi.from_dlpack(x).data_ptr() == address_of(x)
    for wrong in (x[:1], space.asarray(X.astype(np.int32))):
        with pytest.raises(
            ValueError, match=r"^main: argument 0 \(x\): expected f32\[2, 2\], found"
        ):
            main(wrong, s, y)
