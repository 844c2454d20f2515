"""What a call costs at each door, beside its bar: three arrays of 4 floats, the least of many batches.

    python benchmarks/calls.py                  # what is installed here; --json for a program that reads it
    .venv-bridges/torch/bin/python benchmarks/calls.py      # the doors of a framework, in its environment

`np.add(x, y, out=z)` is the line that such a call replaces. It took 0.304 us where the bars were set: a
row that reaches its bar by that measure says so. What a lambda that does nothing takes is left out.
Rows `of nothing` are the floor: a function in C that does nothing, by the same door.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import time
import timeit
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

import inarch
from inarch.core.scratch import scratch
from inarch.machine.target import native
from inarch.machine.toolchain import compile_library
from inarch.runtime import calls
from inarch.runtime.abi import ffi

BATCH, BATCHES = 300, 1000
ADD_WHERE_BARS_WERE_SET = 0.304
"""Microseconds of `np.add(x, y, out=z)`, four floats."""
MODEL = """
func.func @main(%x: tensor<4xf32> {inarch.name = "x"}, %y: tensor<4xf32> {inarch.name = "y"})
    -> (tensor<4xf32> {inarch.name = "z"}) {
  %0 = graph.add %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
TEXT = "for i in N: z[i] = x[i] + y[i]"
FOUNDING = "for i in N: z[i] = scale * (x[i] + y[i])"
Row = tuple[str, Callable[[], object], float | None]
"""What is called, and how many microseconds it may take."""

TVM_NOTHING = """
__attribute__((visibility("default")))
int __tvm_ffi_nothing(void *self, const void *args, int n, void *result) { return 0; }
"""
TORCH_NOTHING = """
#include <stdint.h>
static int32_t (*release)(void *);
static void nothing(uint64_t *stack, uint64_t inputs, uint64_t outputs) {
  for (uint64_t i = 0; i < inputs; i++) release((void *)(uintptr_t)stack[i]);
}
__attribute__((visibility("default"))) int add_nothing(
    int32_t (*init)(const char *, const char *, const char *, uint32_t, void **),
    int32_t (*impl)(void *, const char *, void (*)(uint64_t *, uint64_t, uint64_t)),
    int32_t (*delete)(void *)) {
  void *library = 0;
  release = delete;
  return init("floor", "CPU", "floor", 0, &library) || impl(library, "nothing", nothing);
}
"""
"""Functions that do nothing: what a framework itself takes for such a call."""


def numpy_doors(module: inarch.Module) -> Iterator[Row]:
    """Of compiled calls."""
    x, y, z = (np.ones(4, np.float32) for _ in range(3))
    function, computation = module["main"], inarch.compute(TEXT)
    yield "np.add(x, y, out=z)", lambda: np.add(x, y, out=z), None
    yield "call()", module.bind(x=x, y=y, out=z), 0.1
    yield "function(x, y, z)", lambda: function(x, y, z), 0.25
    yield "module(x, y, z)", lambda: module(x, y, z), 0.25
    yield "module(x, y, out=z)", lambda: module(x, y, out=z), None
    yield "module(x, y)", lambda: module(x, y), None
    yield "computation(x, y, z)", lambda: computation(x, y, z), 0.25
    yield "computation(x, y)", lambda: computation(x, y), None


def cffi_doors(module: inarch.Module) -> Iterator[Row]:
    """Where there is no compiler."""
    x, y, z = (np.ones(4, np.float32) for _ in range(3))
    function = module["main"]
    yield "np.add(x, y, out=z)", lambda: np.add(x, y, out=z), None
    yield "cffi: call()", module.bind(x=x, y=y, out=z), None
    address = ffi().from_buffer
    yield "cffi: three addresses", lambda: (address(x), address(y), address(z)), None
    yield "cffi: function(x, y, z)", lambda: function(x, y, z), 1.3
    yield "cffi: module(x, y, z)", lambda: module(x, y, z), 1.3


def compiled(text: str, folder: Path) -> Path:
    """A shared library of `text`."""
    path = Path(folder, "floor.so")
    compile_library({"floor.c": text}, path, target=native())
    return path


def tvm_doors(module: inarch.Module) -> Iterator[Row]:
    """TVM FFI, which calls the artifact itself."""
    import tvm_ffi  # pyright: ignore[reportMissingTypeStubs]

    named: Any = tvm_ffi
    with scratch("inarch-calls-") as folder:
        path = folder / "add.so"
        module.save(path)
        add: Any = named.load_module(str(path)).main
        nothing: Any = named.load_module(str(compiled(TVM_NOTHING, folder))).nothing
    x, y, z = (np.ones(4, np.float32) for _ in range(3))
    a, b, c = (named.from_dlpack(each) for each in (x, y, z))
    yield "tvm_ffi of nothing, NumPy", lambda: nothing(x, y, z), None
    yield "tvm_ffi, NumPy", lambda: add(x, y, z), 0.5
    yield "tvm_ffi of nothing, its own", lambda: nothing(a, b, c), None
    yield "tvm_ffi, its own", lambda: add(a, b, c), 0.5


def torch_nothing(torch: Any) -> Any:
    """The overload of an operator in C that does nothing with three tensors."""
    library = torch.library.Library("floor", "DEF")
    KEPT.append(library)
    library.define("nothing(Tensor x, Tensor y, *, Tensor(a!) out) -> ()")
    of_torch = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    names = ("library_init_impl", "library_impl", "delete_tensor_object")
    with scratch("inarch-calls-") as folder:
        floor = ctypes.CDLL(str(compiled(TORCH_NOTHING, folder)))
    assert floor.add_nothing(*(getattr(of_torch, f"aoti_torch_{name}") for name in names)) == 0
    return torch.ops.floor.nothing.default._op  # noqa: SLF001 - as `to_torch_func` calls it


KEPT: list[object] = []
"""Operators go with what defined them."""


def torch_doors(module: inarch.Module) -> Iterator[Row]:
    """An operator of PyTorch's dispatcher."""
    import torch  # pyright: ignore[reportMissingImports]

    from inarch.bridges.torch import to_torch_func

    named: Any = torch
    f = to_torch_func(module, "benchmark_add")
    x, y, z = (named.ones(4) for _ in range(3))
    nothing = torch_nothing(named)
    yield "operator of nothing, out=z", lambda: nothing(x, y, out=z), None
    yield "torch.add(x, y, out=z)", lambda: named.add(x, y, out=z), None
    yield "torch operator, out=z", lambda: f(x, y, out=z), 1.5
    yield "torch operator", lambda: f(x, y), None
    yield "module(x, y, z) of torch", lambda: module(x, y, z), None


def mxnet_doors(module: inarch.Module) -> Iterator[Row]:
    """A job of MXNet's engine: until it is queued."""
    import mxnet as mx  # pyright: ignore[reportMissingImports]

    from inarch.bridges.mxnet import to_mxnet_func

    named: Any = mx
    f = to_mxnet_func(module)
    founding = to_mxnet_func(inarch.compute(FOUNDING, arguments="x, y, z, scale"), const_loc=[0, 1])
    x, y, z = (named.nd.ones((4,)) for _ in range(3))
    yield "mx.nd.elemwise_add(out=z)", lambda: named.nd.elemwise_add(x, y, out=z), None
    yield "MXNet", lambda: f(x, y, z), 5.0
    yield "MXNet, the founding call", lambda: founding(x, y, z, 10.0), 5.0


def jax_call(module: inarch.Module, rounds: int) -> float:
    """Microseconds of a call within a program of JAX: of a chain of 101 beside one of 1."""
    import jax  # pyright: ignore[reportMissingImports]

    from inarch.bridges.jax import to_jax_func

    named: Any = jax
    f, x = to_jax_func(module), named.numpy.ones(4)

    def chain(count: int) -> Any:
        def work(a: Any) -> Any:
            for _ in range(count):
                a = f(a, a)
            return a

        return named.jit(work)

    def quickest(function: Any) -> float:
        function(x).block_until_ready()
        best = 1.0
        for _ in range(rounds):
            start = time.perf_counter()
            function(x).block_until_ready()
            best = min(best, time.perf_counter() - start)
        return best

    return (quickest(chain(101)) - quickest(chain(1))) / 100 * 1e6


def least(work: Callable[[], object], batches: int) -> float:
    """Microseconds of a call."""
    return min(timeit.repeat(work, number=BATCH, repeat=batches)) / BATCH * 1e6


DOORS = {"tvm_ffi": tvm_doors, "torch": torch_doors, "mxnet": mxnet_doors}


def measured(batches: int) -> Iterator[tuple[str, float, float | None]]:
    """What is called, its microseconds, and its bar."""
    with scratch("inarch-calls-") as folder:
        path = folder / "add.mlir"
        path.write_text(MODEL)
        module = inarch.compile(path)
    is_compiled = calls.prepare() == "compiled"
    rows = list((numpy_doors if is_compiled else cffi_doors)(module))
    for package, doors in DOORS.items():
        if is_compiled and find_spec(package) is not None:
            rows += doors(module)
    nothing = least(lambda: None, batches)
    for name, work, bar in rows:
        took = least(work, batches // 4 if name.startswith(("MXNet", "mx.")) else batches)
        yield name, took - (nothing if isinstance(work, FunctionType) else 0), bar
    if is_compiled and find_spec("jax") is not None:
        yield "JAX, within jit", jax_call(module, 2 * batches), 0.2


def verdict(row: Mapping[str, Any], slower: float) -> str:
    """Whether the bar is reached, or would be where `np.add` is so many times as fast."""
    if row["us"] <= row["bar"]:
        return "reached"
    fair = row["us"] <= row["bar"] * slower
    return f"reached by what np.add takes here ({slower:.2f} x)" if fair else "MISSED"


def main() -> None:
    """Prints one line, or one object of JSON, for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one array, in microseconds")
    parser.add_argument("--batches", type=int, default=BATCHES, help=f"of {BATCH} calls each")
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # of frameworks
    rows: list[dict[str, Any]] = [
        {"call": name, "us": round(took, 3), "bar": bar}
        for name, took, bar in measured(args.batches)
    ]
    if os.environ.get("INARCH_CALLS") != "cffi":
        # How calls are made is a matter of the whole process.
        rows += json.loads(
            subprocess.check_output(
                [sys.executable, __file__, "--json", "--batches", str(args.batches)],
                env={**os.environ, "INARCH_CALLS": "cffi"},
            )
        )
    if args.json:
        print(json.dumps(rows))
        return
    slower = rows[0]["us"] / ADD_WHERE_BARS_WERE_SET
    for row in rows:
        said = "" if row["bar"] is None else f"   at most {row['bar']:<5}{verdict(row, slower)}"
        print(f"{row['call']:28} {row['us']:7.3f} us{said}")
    for package in (*DOORS, "jax"):
        if find_spec(package) is None and os.environ.get("INARCH_CALLS") != "cffi":
            print(f"{package}: not installed here; make bridges has its environment")


if __name__ == "__main__":
    main()
