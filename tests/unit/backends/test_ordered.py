"""The larger and the smaller of two vectors of floats: each pair of special values, on each width."""

from __future__ import annotations

import ctypes
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from compilers import c_compilers
from inarch.backends.c.write.value.ordered import ordered_macro
from inarch.core.dtypes import DTYPES
from inarch.machine.target import native

FLAGS = {8: [], 16: ["-msse4.1"], 32: ["-mavx"], 64: ["-mavx512f"]}
"""By the bytes of a vector, what lets gcc use its builtin."""
COMPILERS = c_compilers()
SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5, 1e-45, 3e38)


def _c(function: str, dtype: str, nbytes: int) -> str:
    """A C function that stores the larger or smaller lanes of two vectors."""
    kind = DTYPES[dtype]
    name, macro = ordered_macro(function, nbytes // kind.nbytes, kind)
    return f"""{macro}
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


WIDER = [
    pytest.param(32, marks=pytest.mark.cpu("x86-64-v3")),
    pytest.param(64, marks=pytest.mark.cpu("x86-64-v4")),
]


@pytest.mark.cpu("x86-64")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("most", [0, 16, *WIDER])
def test_nan_where_either_is(compiler: str, most: int, tmp_path: Path) -> None:
    """As `numpy.maximum`, the sign of a zero aside; `most` bytes of a vector have an instruction."""
    widths = [nbytes for nbytes in FLAGS if nbytes <= native().vector_bytes]
    cases = list(product(("max", "min"), ("f32", "f64"), widths))
    (tmp_path / "it.c").write_text("".join(_c(*case) for case in cases))
    command = [compiler, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", *FLAGS.get(most, [])]
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
