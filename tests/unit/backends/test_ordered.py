"""The larger and the smaller of two vectors of floats: each pair of special values, on each width."""

from __future__ import annotations

import ctypes
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from compilers import c_compilers
from inarch.backends.c.write.value.elementary import vector_name
from inarch.backends.c.write.value.math import helpers_text
from inarch.backends.c.write.value.ordered import BOUNDS, ordered_name
from inarch.core.dtypes import DTYPES
from inarch.machine.target import native
from inarch.testing import execute_compiled

FLAGS = {8: [], 16: ["-msse4.1"], 32: ["-mavx"], 64: ["-mavx512f"]}
"""By the bytes of a vector, what lets gcc use its builtin."""
COMPILERS = c_compilers()
SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5, 1e-45, 3e38)


def _c(function: str, dtype: str, nbytes: int) -> str:
    """A C function that stores the larger or smaller lanes of two vectors."""
    kind = DTYPES[dtype]
    name = ordered_name(function, nbytes // kind.nbytes, kind)
    return f"""
void {function}_{dtype}_{nbytes}(const {kind.c} *x, const {kind.c} *y, {kind.c} *out)
{{
    typedef {kind.c} vec __attribute__((vector_size({nbytes})));
    typedef {"int" if kind.bits == 32 else "long long"} ints __attribute__((vector_size({nbytes})));
    vec a, b;
    __builtin_memcpy(&a, x, {nbytes});
    __builtin_memcpy(&b, y, {nbytes});
    const vec found = {name}(a, b, vec, ints);
    __builtin_memcpy(out, &found, {nbytes});
}}
"""


def _bounded(function: str, nbytes: int) -> str:
    """The same of the number y[0] and a vector."""
    lanes = nbytes // 4
    name = vector_name(BOUNDS[function], lanes)
    return f"""
void bounded_{function}_{nbytes}(const float *x, const float *y, float *out)
{{
    inarch_v{lanes}f32 a;
    __builtin_memcpy(&a, x, {nbytes});
    a = {name}(y[0], a);
    __builtin_memcpy(out, &a, {nbytes});
}}
"""


WIDER = [
    pytest.param(32, marks=pytest.mark.cpu("x86-64-v3")),
    pytest.param(64, marks=pytest.mark.cpu("x86-64-v4")),
]


@pytest.mark.cpu("x86-64")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("most", [0, 16, *WIDER])
def test_nan_where_either_is(compiler: str, most: int, tmp_path: Path) -> None:
    """As `numpy.maximum`, the sign of a zero aside; `most` bytes of a vector have an instruction.

    So are a number and a vector.
    """
    widths = [nbytes for nbytes in FLAGS if nbytes <= native().vector_bytes]
    cases = list(product(("max", "min"), ("f32", "f64"), widths))
    bounded = list(product(BOUNDS, widths))
    texts = [*(_c(*case) for case in cases), *(_bounded(*case) for case in bounded)]
    names = [ordered_name(name, n // DTYPES[kind].nbytes, DTYPES[kind]) for name, kind, n in cases]
    names += [vector_name(BOUNDS[name], nbytes // 4) for name, nbytes in bounded]
    text = "".join(["#include <stdint.h>\n", helpers_text(names), *texts])
    (tmp_path / "it.c").write_text(text)
    command = [
        compiler,
        "-std=c11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-psabi",
        *FLAGS.get(most, []),
    ]
    command += ["-shared", "-fPIC", "it.c", "-o", "it.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "it.so"))
    for function, dtype, nbytes in cases:
        lanes = nbytes // DTYPES[dtype].nbytes
        pairs = list(product(SPECIAL, SPECIAL))
        pairs += [(1.0, 2.0)] * (-len(pairs) % lanes)
        a, b = (np.array(side, DTYPES[dtype].numpy) for side in zip(*pairs, strict=True))
        found = np.empty_like(a)
        for at in range(0, len(pairs), lanes):
            arguments = (part[at:].ctypes.data_as(ctypes.c_void_p) for part in (a, b, found))
            library[f"{function}_{dtype}_{nbytes}"](*arguments)
        reference = np.maximum if function == "max" else np.minimum
        np.testing.assert_array_equal(found, reference(a, b), f"{function} {dtype} {nbytes}")
    values = np.array([*SPECIAL] * 8, np.float32)  # whole vectors of each width
    for (function, nbytes), bound in product(bounded, SPECIAL[2:]):
        found, limit = np.empty_like(values), np.array([bound], np.float32)
        for at in range(0, values.size, nbytes // 4):
            arrays = (values[at:], limit, found[at:])
            arguments = (part.ctypes.data_as(ctypes.c_void_p) for part in arrays)
            library[f"bounded_{function}_{nbytes}"](*arguments)
        reference = np.maximum if function == "max" else np.minimum
        np.testing.assert_array_equal(found, reference(values, limit), f"{function} {bound}")


def _signs(mode: str, dtype: str, columns: int) -> tuple[str, int]:
    """Nests that bound x by 0, on each side: a row of `out` each; how many rows.

    Not by -0: clang 14 makes `x <= 0 ? -0.0 : x` of `x < 0 ? -0.0 : x` on vectors of f64.
    """
    cases = list(product(("maximumf", "minimumf"), (True, False)))
    x, out = f"memref<{columns}x{dtype}>", f"memref<{len(cases)}x{columns}x{dtype}>"
    nests = [
        f"""
  loop.nest (n = {columns}{mode}) ins(%x[n] : {x}) outs(%out[{row}, n] init 0.0 : {out}) {{
  ^bb0(%v: {dtype}, %acc: {dtype}):
    %e = math.exp %v : {dtype}
    %w = arith.mulf %v, %e : {dtype}
    %zero = arith.constant 0.0 : {dtype}
    %r = arith.{name} {"%zero, %w" if is_first else "%w, %zero"} : {dtype}
    loop.yield %r : {dtype}
  }}"""
        for row, (name, is_first) in enumerate(cases)
    ]
    return f"func.func @main(%x: {x}, %out: {out}) {{{''.join(nests)}\n  func.return\n}}", len(
        cases
    )


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_of_two_zeros_all_take_the_same(
    compiler: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounded by a zero, x that is a zero stays: on lanes, in strips and their remainders, and by itself."""
    monkeypatch.setenv("CC", compiler)
    for mode, columns in ((" vector", 16), ("", 16 * 8 + 3), ("", 1)):
        text, rows = _signs(mode, dtype, columns)
        kind = DTYPES[dtype].numpy
        x = np.copysign(np.zeros(columns, kind), np.resize([-1, 1, 1], columns).astype(kind))
        (out,) = execute_compiled(text, [x])
        assert (out == 0).all()
        np.testing.assert_array_equal(np.signbit(out), np.tile(np.signbit(x), (rows, 1)), mode)
