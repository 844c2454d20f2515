"""What tests of bridges share: programs whose work is a function of C that is slow, or fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from inarch.driver.compiler import build
from inarch.machine.target import parse
from inarch.machine.toolchain import compile_library
from inarch.runtime.module import Module, load
from inarch.runtime.native import NativeFunction

_SOURCE = """
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <time.h>
typedef struct { void *data; int32_t device[2]; int32_t ndim; uint32_t dtype; int64_t *shape, *strides;
                 uint64_t byte_offset; } DLTensor;
#define API __attribute__((visibility("default")))
static int32_t add(DLTensor *args) {
  for (int i = 0; i < 4; ++i)
    ((float *)args[2].data)[i] = ((float *)args[0].data)[i] + ((float *)args[1].data)[i];
  return 0;
}
API int32_t slow(void *self, DLTensor *args, int32_t n) {
  const struct timespec time = {0, 300000000};
  nanosleep(&time, 0);
  return (void)self, (void)n, add(args);
}
API int32_t fails(void *self, DLTensor *args, int32_t n) { return (void)self, (void)args, (void)n, 42; }
"""

_PROGRAM = """
func.func private @kernel(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32> {inarch.name = "x"}, %y: tensor<4xf32> {inarch.name = "y"})
    -> (tensor<4xf32> {inarch.name = "z"}) {
  %0 = graph.call @kernel(%x, %y) : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""


@pytest.fixture(name="sum_of_two")
def fixture_sum_of_two(tmp_path: Path) -> Callable[[str], Module]:
    """z = x + y of four floats, by the function `slow` (300 ms) or `fails` of C."""
    return lambda kernel: _sum_of_two(tmp_path, kernel)


def _sum_of_two(folder: Path, kernel: str) -> Module:
    (folder / "sum.mlir").write_text(_PROGRAM)
    build(folder / "sum.mlir", folder / "sum.inarch")
    compile_library({"kernel.c": _SOURCE}, folder / "kernel.so", target=parse("generic"))
    function = NativeFunction.open(folder / "kernel.so", kernel)
    return load(folder / "sum.inarch", imports={"kernel": function})
