"""What register tiles prefetch of B: a compiled kernel notes the addresses instead."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from inarch.machine.target import native
from inarch.machine.toolchain import compile_library
from inarch.microkernel import instance_source, instantiate
from inarch.microkernel.table import MICROKERNELS

STEPS, COLUMNS, ROWS, LANES = 103, 1436, 4, 4
"""Of a product whose rows of A are as long as its sums, and of B as `COLUMNS`."""
SOURCE = """\
#include <stdint.h>
static const float *noted[{most}];
static int64_t count;
#define __builtin_prefetch(p, ...) (noted[count++] = (p))
{kernel}
__attribute__((visibility("default")))
int64_t asked(const float *A, const float *B, float *C, int64_t *offsets)
{{
    int64_t kept = 0;
    count = 0;
    {call}
    for (int64_t at = 0; at < count; at++) {{
        const int64_t offset = noted[at] - B;
        if (offset >= 0 && offset < {reach})
            offsets[kept++] = offset;
    }}
    return kept;
}}
"""


def _asked(folder: Path, b: str, steps: str) -> set[int]:
    """Elements of B that a call prefetches; `b` are its strides along r and k, `steps` are R and K."""
    gemm = MICROKERNELS["gemm-f32"]
    params = {"MR": ROWS, "NV": 1, "VL": LANES}
    one = instantiate(gemm, "gemm-f32", params, target=native(), init="zero")
    strides = f"{STEPS}, 1, 1, {b}, {LANES}, 1, {COLUMNS}, {LANES}, 1"
    call = f"{one.symbol}(A, B, C, {strides}, {steps});"
    return _offsets(folder, instance_source(one), call, 1 << 12)


def _offsets(folder: Path, kernel: str, call: str, most: int) -> set[int]:
    """Elements of B that `call` prefetches, of up to `most` addresses."""
    # A comes first in a memory, so that no prefetch of it seems to be one of B.
    half = 1 << 21
    path = folder / "asked.so"
    text = SOURCE.format(kernel=kernel, call=call, reach=half // 2, most=most)
    compile_library({"asked.c": text}, path, target=native())
    asked = ctypes.CDLL(str(path)).asked
    asked.restype = ctypes.c_int64
    memory = (ctypes.c_float * (2 * half))()
    offsets = (ctypes.c_int64 * most)()
    places = (0, half, 2 * half - ROWS * COLUMNS)
    number = asked(*[ctypes.byref(memory, 4 * at) for at in places], offsets)
    return set(offsets[:number])


@pytest.mark.parametrize(
    ("b", "row", "steps"),
    [(f"0, {LANES}", LANES, f"1, {STEPS}"), (f"{COLUMNS}, 0", COLUMNS, f"{STEPS}, 1")],
    ids=["k", "r"],
)
def test_b_is_prefetched_along_the_reduction_that_has_steps(
    tmp_path: Path, b: str, row: int, steps: str
) -> None:
    """As many steps ahead whether B is packed or its rows lie far apart; each line once."""
    asked = _asked(tmp_path, b, steps)
    ahead = min(asked) // row
    assert ahead >= 4
    assert {x // 16 for x in asked} == {(ahead + k) * row // 16 for k in range(STEPS)}


@pytest.mark.parametrize("steps", [103, 2])
@pytest.mark.parametrize("iterations", [2, 5, 40])
def test_calls_on_a_panel_of_b_bring_the_next_one(
    tmp_path: Path, steps: int, iterations: int
) -> None:
    """All of its lines; also where a reduction has fewer steps than a round of the loop."""
    gemm = MICROKERNELS["gemm-f32"]
    params = {"MR": ROWS, "NV": 2, "VL": LANES}
    one = instantiate(gemm, "gemm-f32", params, target=native(), init="zero")
    width, rounds = 2 * LANES, 103 if steps == 2 else 1
    panel = rounds * steps * width
    strides = f"{STEPS}, 1, 1, {steps * width}, {width}, {LANES}, 1, {COLUMNS}, {LANES}, 1"
    share = -(-panel // iterations)
    later = f"B + {panel} + t * {share}, {iterations}"
    call = f"{one.symbol}_ahead(A, B, C, {strides}, {rounds}, {steps}, {later});"
    loop = f"for (int64_t t = 0; t < {iterations}; t++) {{ {call} }}"
    asked = _offsets(tmp_path, instance_source(one), loop, 1 << 17)
    lines = {x // 16 for x in asked}
    assert lines >= set(range(panel // 16 + 1, 2 * panel // 16))
