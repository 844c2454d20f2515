"""Every tile of `gemm-f32` against its cost model: cycles a step of the reduction, measured and predicted.

    python benchmarks/register_tiles.py [TARGET]

A is in L1, B streams from L1 or L2. Cycles are those of the measured FMA peak of the target's width, so that
clock rates do not matter. The last line has the mean error, and the tiles that the model misjudges most.
"""

from __future__ import annotations

import argparse
import ctypes
import re
from collections.abc import Callable, Mapping
from typing import cast

from inarch.core.lazy import np
from inarch.core.scratch import scratch
from inarch.machine.target import Target
from inarch.machine.target import parse as parse_target
from inarch.machine.toolchain import compile_library
from inarch.microkernel import Instance, instance_source, instantiate, members, prototype
from inarch.microkernel.table import MICROKERNELS

STEPS = 256
"""Of the reduction: A's rows and a panel of B of two vectors stay in L1."""
ROUNDS, CALLS = 12, 300
HEAD = """\
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <time.h>
#define EXPORT __attribute__((visibility("default")))
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}
"""


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("target", nargs="?", default="native")
    target = parse_target(cast(str, parser.parse_args().target))
    kernel = MICROKERNELS["gemm-f32"]
    instances = [
        instantiate(kernel, "gemm-f32", one, target=target, init="zero", sizes={"R": 1, "K": STEPS})
        for one in members(kernel, target)
    ]
    cost = kernel.cost
    assert callable(cost), "the family has a model"
    measured = _measure(instances, target)
    errors: list[tuple[float, str]] = []
    print(f"{'tile':>8} {'measured':>9} {'predicted':>9}  cycles a step ({target})")
    for instance in instances:
        name = f"{instance.params['MR']} x {instance.params['NV']}"
        step, model = measured[instance.symbol] / STEPS, cost(instance) / STEPS
        errors.append((abs(step / model - 1), name))
        print(f"{name:>8} {step:9.2f} {model:9.2f}")
    mean = sum(error for error, _ in errors) / len(errors)
    worst = ", ".join(f"{name} {error:.0%}" for error, name in sorted(errors)[:-4:-1])
    print(f"mean error {mean:.1%}; worst: {worst}")


def _measure(instances: list[Instance], target: Target) -> dict[str, float]:
    """Cycles a call, the least of some rounds, each next to a measurement of the peak."""
    lanes = target.vector_bytes // 4
    # Zen 4: one FMA of 512 bits a cycle, two of the narrower.
    per_cycle = 1 if lanes == 16 else 2
    units = {"peak.c": HEAD + _peak(lanes)}
    for instance in instances:
        units[f"{instance.symbol}.c"] = HEAD + instance_source(instance) + _caller(instance, lanes)
    with scratch("inarch-register-tiles-") as folder:
        path = folder / "tiles.so"
        compile_library(units, path, target=target)
        library = ctypes.CDLL(str(path))
    a, b, c = (np.zeros(size, np.float32) for size in (32 * (STEPS + 16), STEPS * 128, 32 * 128))
    arrays = [
        ctypes.c_void_p(array.ctypes.data + -array.ctypes.data % 64) for array in (a[16:], b, c)
    ]
    peak = _function(library, "peak")
    calls = {each.symbol: _function(library, f"time_{each.symbol}") for each in instances}
    nanoseconds = dict.fromkeys(calls, float("inf"))
    product = float("inf")
    for _ in range(ROUNDS):
        for symbol, call in calls.items():
            nanoseconds[symbol] = min(nanoseconds[symbol], call(CALLS, *arrays))
        product = min(product, peak(100_000))
    return {symbol: time / (product * per_cycle) for symbol, time in nanoseconds.items()}


def _function(library: ctypes.CDLL, name: str) -> Callable[..., float]:
    function = library[name]
    function.restype = ctypes.c_double
    return cast(Callable[..., float], function)


def _caller(instance: Instance, lanes: int) -> str:
    """Times calls with constant strides, as `kernel.call` makes them."""
    width = instance.params["NV"] * lanes
    numbers: Mapping[str, int] = {
        "A_0": STEPS + 16,
        "A_1": 0,
        "A_2": 1,
        "B_0": 0,
        "B_1": width,
        "B_2": lanes,
        "B_3": 1,
        "C_0": width,
        "C_1": lanes,
        "C_2": 1,
        "R": 1,
        "K": STEPS,
    }
    names = re.findall(r"(\w+)(?=[,)])", prototype(instance))
    arguments = ", ".join(str(numbers.get(name, name)) for name in names)
    return f"""
EXPORT double time_{instance.symbol}(int n, const float *A, const float *B, float *C)
{{
    const double begin = now();
    for (int i = 0; i < n; i++) {{
        {instance.symbol}({arguments});
        __asm__ volatile("" : : : "memory");
    }}
    return (now() - begin) / n;
}}
"""


def _peak(lanes: int) -> str:
    """Nanoseconds a vector FMA where twelve independent chains run."""
    chains = range(12)
    declared = ", ".join(f"c{i} = {{0}}" for i in chains)
    updates = "\n        ".join(
        f'c{i} = c{i} * x + y; __asm__ volatile("" : "+{"v" if lanes == 16 else "x"}"(c{i}));'
        for i in chains
    )
    return f"""
typedef float vec __attribute__((vector_size({lanes * 4})));
EXPORT double peak(int n)
{{
    vec x = {{0}}, y = {{0}}, {declared};
    const double begin = now();
    for (int i = 0; i < n; i++) {{
        {updates}
    }}
    return (now() - begin) / n / {len(chains)};
}}
"""


if __name__ == "__main__":
    main()
