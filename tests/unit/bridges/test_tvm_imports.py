"""Functions of TVM FFI that fill the imports of a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.bridges.tvm import from_tvm_func
from inarch.core.errors import InarchError
from inarch.driver.compiler import build

tvm_ffi: Any = pytest.importorskip(
    "tvm_ffi", reason="apache-tvm-ffi is not installed: make bridges"
)


def test_a_function_of_tvm_ffi_fills_an_import(tmp_path: Path) -> None:
    """The way back: of another artifact, and one that is registered there."""
    (tmp_path / "outer.mlir").write_text(
        "func.func private @twice(tensor<2x3xf32>) -> tensor<2x3xf32>\n"
        'func.func @main(%x: tensor<2x3xf32> {inarch.name = "x"}) -> tensor<2x3xf32> {\n'
        "  %0 = graph.call @twice(%x) : tensor<2x3xf32> -> tensor<2x3xf32>\n"
        "  func.return %0 : tensor<2x3xf32>\n}\n"
    )
    (tmp_path / "inner.mlir").write_text(
        'func.func @twice(%x: tensor<2x3xf32> {inarch.name = "x"}) -> tensor<2x3xf32> {\n'
        "  %0 = graph.add %x, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>\n"
        "  func.return %0 : tensor<2x3xf32>\n}\n"
    )
    build(tmp_path / "outer.mlir", tmp_path / "outer.inarch")
    build(tmp_path / "inner.mlir", tmp_path / "inner.so")

    def own(x: Any, y: Any) -> None:
        if x.shape != (2, 3):
            raise ValueError("expected two rows")
        np.multiply(np.from_dlpack(x), 2, out=np.from_dlpack(y))

    def wrong(*_: Any) -> None:
        raise ValueError("not today")

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for twice in (
        tvm_ffi.load_module(str(tmp_path / "inner.so")).twice,
        tvm_ffi.convert(own),
    ):
        module = inarch.load(tmp_path / "outer.inarch", imports={"twice": from_tvm_func(twice)})
        np.testing.assert_array_equal(module(x), 2 * x)
        np.testing.assert_array_equal(x.ravel(), np.arange(6))
    given = {"twice": from_tvm_func(tvm_ffi.convert(wrong))}
    with pytest.raises(InarchError, match="main: import 'twice' failed: ValueError: not today"):
        inarch.load(tmp_path / "outer.inarch", imports=given)(x)
