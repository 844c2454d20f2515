"""The larger and the smaller of two vectors of floats: each pair of special values, on each width."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from inarch.backends.c.write.ordered import ordered_macro
from inarch.core.dtypes import DTYPES
from inarch.machine.target import native

FLAGS = {8: [], 16: ["-msse4.1"], 32: ["-mavx"], 64: ["-mavx512f"]}
"""By the bytes of a vector, what lets gcc use its builtin."""
COMPILERS = [name for name in ("gcc", "clang", "clang-19") if shutil.which(name)]
SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5, 1e-45, 3e38)


@pytest.mark.skipif(
    native().architecture != "x86-64", reason="what other CPUs get is tested by templates"
)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("function", ["max", "min"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("nbytes", FLAGS)
@pytest.mark.parametrize("is_portable", [False, True])
@pytest.mark.every_case(reason="each is other C")
def test_nan_where_either_is(
    compiler: str, function: str, dtype: str, nbytes: int, is_portable: bool, tmp_path: Path
) -> None:
    """As `numpy.maximum`, the sign of a zero aside; -NaN and NaN are both NaN."""
    if nbytes > native().vector_bytes:
        pytest.skip(f"this CPU has no vectors of {nbytes} bytes")
    kind = DTYPES[dtype]
    lanes = nbytes // kind.nbytes
    name, macro = ordered_macro(function, lanes, kind)
    flags = [] if is_portable else FLAGS[nbytes]
    (tmp_path / "it.c").write_text(f"""{macro}
typedef {kind.c} vec __attribute__((vector_size({nbytes})));
typedef {"int" if kind.bits == 32 else "long long"} ints __attribute__((vector_size({nbytes})));
void each(const {kind.c} *x, const {kind.c} *y, {kind.c} *out)
{{
    vec a, b;
    __builtin_memcpy(&a, x, {nbytes});
    __builtin_memcpy(&b, y, {nbytes});
    const vec found = {name}(a, b, vec, ints);
    __builtin_memcpy(out, &found, {nbytes});
}}
""")
    command = [compiler, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", *flags]
    command += ["-shared", "-fPIC", "it.c", "-o", "it.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    run = ctypes.CDLL(str(tmp_path / "it.so")).each
    pairs = list(product(SPECIAL, SPECIAL))
    pairs += [(1.0, 2.0)] * (-len(pairs) % lanes)
    a, b = (np.array(side, kind.numpy) for side in zip(*pairs, strict=True))
    found = np.empty_like(a)
    for at in range(0, len(pairs), lanes):
        run(*(part[at:].ctypes.data_as(ctypes.c_void_p) for part in (a, b, found)))
    reference = np.maximum if function == "max" else np.minimum
    np.testing.assert_array_equal(found, reference(a, b))
