"""Static analyzers (`gcc -fanalyzer`, `clang --analyze`) find nothing in the C of whole programs."""

# ruff: noqa: E501 - a program reads better with its lines unbroken

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from compilers import command_of
from inarch.tools.cli import run

ANALYZERS = {
    "gcc": ("-fanalyzer", "-c"),
    "clang": ("--analyze", "-Xclang", "-analyzer-werror"),
}

TRANSFORMER = """
func.func private @imp(tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @main(%i: tensor<4xi64>, %m: tensor<4x4xi1>) -> (tensor<4x8xf32>, tensor<4xi64>) {
  %e = graph.constant dense<0.5> : tensor<16x8xf32>
  %w = graph.constant dense<0.25> : tensor<8x8xf32>
  %g = graph.constant dense<1.5> : tensor<8xf32>
  %neg = graph.constant dense<-1.0e9> : tensor<4x4xf32>
  %x = graph.gather %e, %i axis = 0 : tensor<16x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
  %n = graph.layer_norm %x, %g, %g axis = 1 epsilon = 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  %q = graph.matmul %n, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t = graph.transpose %q perm = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %s = graph.matmul %q, %t : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %k = graph.select %m, %s, %neg : tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %p = graph.softmax %k axis = 1 : tensor<4x4xf32> -> tensor<4x4xf32>
  %o = graph.matmul %p, %q : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %h = graph.gelu %o approximate = "none" : tensor<4x8xf32> -> tensor<4x8xf32>
  %r = graph.call @imp(%h) : tensor<4x8xf32> -> tensor<4x8xf32>
  %d = graph.div %i, %i : tensor<4xi64>, tensor<4xi64> -> tensor<4xi64>
  func.return %r, %d : tensor<4x8xf32>, tensor<4xi64>
}
"""
CNN = """
func.func @main(%x: tensor<1x3x9x9xf32>, %w: tensor<16x3x3x3xf32>, %b: tensor<16xf32>) -> tensor<1x16xf32> {
  %c = graph.conv %x, %w bias %b strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x3x9x9xf32>, tensor<16x3x3x3xf32>, tensor<16xf32> -> tensor<1x16x9x9xf32>
  %r = graph.relu %c : tensor<1x16x9x9xf32> -> tensor<1x16x9x9xf32>
  %m = graph.reduce_mean %r axes = [2, 3] keepdims = false : tensor<1x16x9x9xf32> -> tensor<1x16xf32>
  func.return %m : tensor<1x16xf32>
}
"""
FAULT = """
#include <stdlib.h>
void fault(void *memory) { free(memory); free(memory); }
"""


def findings(source: Path, analyzer: str) -> set[str]:
    """The kinds of what an analyzer finds: `-Wanalyzer-use-after-free`, `unix.Malloc` ..."""
    flags = ["-O1", "-std=gnu11", "-mavx2", "-mfma", "-Wno-psabi", "-o", "/dev/null", str(source)]
    done = subprocess.run(
        [command_of(analyzer), *ANALYZERS[analyzer], *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    return set(re.findall(r"(?:warning|error): .* \[(.*?)[\]=]", done.stderr))


@pytest.mark.slow
@pytest.mark.parametrize("analyzer", ANALYZERS)
@pytest.mark.parametrize("text", [TRANSFORMER, CNN], ids=["transformer", "cnn"])
def test_nothing_is_found(text: str, analyzer: str, tmp_path: Path) -> None:
    model, source = tmp_path / "m.mlir", tmp_path / "m.c"
    model.write_text(text)
    options = ["--emit=c", "--checked", "-q", "--target", "x86-64-v3", "-o", str(source)]
    assert run(["compile", str(model), *options]).code == 0
    assert findings(source, analyzer) == set()
    source.write_text(source.read_text() + FAULT)
    assert findings(source, analyzer), "the analyzer runs, and sees a fault beside the program"
