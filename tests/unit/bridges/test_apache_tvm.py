"""Apache TVM: an artifact is a module of its runtime, by no step of ours."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch

tvm: Any = pytest.importorskip("tvm", reason="apache-tvm is not installed: make bridges")

MODEL = """
func.func @main(%x: tensor<2x3xf32> {inarch.name = "x"}, %s: tensor<f32> {inarch.name = "s"})
    -> (tensor<2x3xf32> {inarch.name = "y"}) {
  %w = graph.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %0 = graph.add %x, %w : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.mul %0, %s : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
"""

SCRIPT = """
import sys
import numpy as np
import tvm

module = tvm.runtime.load_module(sys.argv[1])
x, y = tvm.runtime.tensor(np.ones((2, 3), np.float32)), tvm.runtime.empty((2, 3), "float32")
module.main(x, 2.0, y)
print(*y.numpy().ravel())
z = np.empty((2, 3), np.float32)
module["main"](np.ones((2, 3), np.float32), tvm.runtime.tensor(np.array(3, np.float32)), z)
print(*z.ravel())
wide, few = tvm.runtime.tensor(np.ones((2, 3))), tvm.runtime.tensor(np.ones((1, 3), np.float32))
for args in ((x, 2.0), (wide, 2.0, y), (few, 2.0, y), (x, 2.0, x), (x, None, y)):
    try:
        module.main(*args)
    except (TypeError, ValueError) as error:
        print(f"{type(error).__name__}: {error}")
assert not any(name.startswith("inarch") for name in sys.modules)
"""


def test_a_program_of_apache_tvm_opens_an_artifact(tmp_path: Path) -> None:
    """B4: its tensors, numbers, and NumPy's arrays; what does not fit is an error of its own kind."""
    (tmp_path / "model.mlir").write_text(MODEL)
    inarch.compile(tmp_path / "model.mlir").save(tmp_path / "model.so")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path / "model.so")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    w = np.arange(1, 7, dtype=np.float32)
    assert done.stdout.splitlines() == [
        " ".join(map(str, (1 + w) * 2)),
        " ".join(map(str, (1 + w) * 3)),
        "TypeError: main: expected 3 arguments, inputs and then outputs, found 2",
        "ValueError: main: argument 0 (x): expected f32[2, 3], found f64[2, 3]",
        "ValueError: main: argument 0 (x): expected f32[2, 3], found f32[1, 3]",
        "ValueError: main: argument 2 (y) overlaps argument 0 (x); an output needs memory of its own",
        "TypeError: main: argument 1 (s): expected f32[], found None",
    ]
