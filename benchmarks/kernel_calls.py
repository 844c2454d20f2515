"""What one call of a microkernel costs, by how it is reached.

    python benchmarks/kernel_calls.py [--calls 32000] [--rounds 30]

Programs that differ in the kernel's code only, `Y[i] += 2 * X[i]` for 8 floats, called in a loop:
`inlined` has its C, `symbol` calls a function of a shared library, `registry, C` calls the same function
with tensors through an import slot, `registry, Python` calls an empty Python function there. What a
program takes, divided by its calls, is the cost of a call with the kernel itself in it; minima over
interleaved rounds of CPU time. docs/microkernels.md has the numbers.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import inarch
from inarch.core.scratch import scratch
from inarch.dialects import new_context
from inarch.driver.compiler import build
from inarch.ir.text import parse_module
from inarch.machine.target import native
from inarch.machine.toolchain import compile_library
from inarch.runtime.module import Imports
from inarch.runtime.native import NativeFunction

PLACES = 64
"""So that all of it is in the L1 cache, and no call waits for the one before."""

_DIRECT = """
void axpy(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        Y[i * Y_0] += 2.0f * X[i * X_0];
    }
}
"""
_LIBRARY = f"""
#include <inarch.h>
#define EXPORT __attribute__((visibility("default")))
EXPORT {_DIRECT.strip()}
EXPORT int32_t axpy_tensors(void *self, DLTensor *args, int32_t n)
{{
    (void)self;
    (void)n;
    const float *X = (const float *)((char *)args[0].data + args[0].byte_offset);
    float *Y = (float *)((char *)args[1].data + args[1].byte_offset);
    axpy(X, Y, args[0].strides[0], args[1].strides[0], args[0].shape[0]);
    return 0;
}}
"""


def program(code: str, calls: int) -> str:
    """`calls` calls of the kernel with `code`, on one of PLACES pieces of 8 floats each."""
    kind = f"memref<{8 * PLACES}xf32>"
    return f"""module attributes {{inarch.name = "calls"}} {{
kernel.def @axpy computes "for i in n: Y[i] += 2 * X[i]" arguments [
    #kernel.operand<X : f32 read rank 1 align 4>,
    #kernel.operand<Y : f32 update rank 1 align 4>] needs [] {code}
func.func @main(%x: {kind}, %y: {kind} {{inarch.result}}) {{
  kernel.call @axpy for (r in {calls // PLACES} reduction, i in {PLACES})
      (%x[i * 8] strides [1], %y[i * 8] strides [1]) sizes [8] : {kind}, {kind}
  func.return
}}
}}"""


def _nothing(*_: object) -> None:
    """A kernel that does no work."""


def compiled(code: str, calls: int, path: Path, imports: Imports) -> inarch.Module:
    """The loaded program."""
    context = new_context()
    module = parse_module(context, program(code, calls), "calls.mlir")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a slot in a loop is slow is what is measured here
        build(module, path, context=context)
    return inarch.load(path, imports=imports)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--calls", type=int, default=32_000)
    options.add_argument("--rounds", type=int, default=30)
    arguments = options.parse_args()
    calls = arguments.calls
    with scratch("inarch-kernel-calls-") as folder:
        library = folder / "libaxpy.so"
        include = Path(inarch.__file__).parent / "runtime" / "include"
        compile_library({"axpy.c": _LIBRARY}, library, target=native(), flags=[f"-I{include}"])
        slot = NativeFunction.open(library, "axpy_tensors")
        escaped = _DIRECT.strip().replace("\n", "\\n")
        ways: dict[str, tuple[str, Imports]] = {
            "inlined": (f'source "{escaped}"', {}),
            "symbol": (f'symbol "axpy" library "{library}"', {}),
            "registry, C": ('registered "slot"', {"slot": slot}),
            "registry, Python": ('registered "slot"', {"slot": _nothing}),
        }
        modules = {
            name: compiled(code, calls, folder / f"{number}.inarch", imports)
            for number, (name, (code, imports)) in enumerate(ways.items())
        }
        x, y = np.ones(8 * PLACES, np.float32), np.zeros(8 * PLACES, np.float32)
        best = dict.fromkeys(modules, float("inf"))
        for _ in range(arguments.rounds):
            for name, module in modules.items():
                start = time.thread_time_ns()
                module(x, out=y)
                best[name] = min(best[name], (time.thread_time_ns() - start) / calls)
    for name, nanoseconds in best.items():
        print(f"{name:<18} {nanoseconds:9.1f} ns a call")
    return 0


if __name__ == "__main__":
    sys.exit(main())
