"""Our own exp, log, tanh, erf, expm1 and log1p in C: error bounds in ULP, special values, every compiler."""

from __future__ import annotations

import ctypes
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compilers import c_compilers
from inarch.backends.c.write.value.elementary import TOGETHER, VECTORS, vector_name
from inarch.backends.c.write.value.math import helpers_text
from inarch.backends.c.write.value.several import several_name

Array = np.ndarray[Any, Any]

BOUNDS = dict.fromkeys(("exp", "log", "tanh", "erf", "expm1", "log1p"), 2.0)
EXACT: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "expm1": np.expm1,
    "log1p": np.log1p,
}
LARGEST, LEAST_NORMAL, LEAST = 3.4028235e38, 1.17549435e-38, 1e-45
EDGES = [88.72283, 88.72284, -87.33654, -103.97, -103.98, -150.0, 0.625, 0.921875, 3.95]
SPECIAL = np.array(
    [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1.0,
        -1.0,
        LEAST,
        -LEAST,
        LEAST_NORMAL,
        LARGEST,
        -LARGEST,
        *EDGES,
    ],
    np.float32,
)

COMPILERS = c_compilers()
FLAGS = ("-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")


def _inputs(name: str) -> Array:
    generator = np.random.default_rng(7)
    spans = {
        "exp": [(-104, 89), (-1, 1), (-88, -86)],
        "log": [(0, 4), (0.5, 1.5), (0.99, 1.01), (0, 3e38)],
        "tanh": [(-10, 10), (-1, 1), (0.6, 0.65)],
        "erf": [(-5, 5), (-1, 1), (0.9, 0.95)],
        "expm1": [(-19, 89), (-1, 1), (-0.01, 0.01)],
        "log1p": [(-1, 4), (-0.5, 0.5), (-0.01, 0.01), (0, 3e38)],
    }[name]
    parts = [generator.uniform(low, high, 20_000) for low, high in spans]
    tiny = 10.0 ** generator.uniform(-45, 0, 20_000)
    bits = generator.integers(0, 1 << 32, 20_000, dtype=np.uint32).view(np.float32)
    every = [*(p.astype(np.float32) for p in parts), tiny.astype(np.float32), bits, SPECIAL]
    every.append(-every[-3])
    return np.concatenate(every)


def _compile(tmp_path: Path, compiler: str, extra: tuple[str, ...]) -> ctypes.CDLL:
    loops = "".join(
        f"void run_{name}(const float *x, float *y, int64_t n)\n"
        f"{{\n    for (int64_t i = 0; i < n; i++) {{\n        y[i] = inarch_{name}_f32(x[i]);\n    }}\n}}\n"
        f"float one_{name}(float x)\n{{\n    return inarch_{name}_f32(x);\n}}\n"
        for name in BOUNDS
    )
    source = tmp_path / "math.c"
    source.write_text(
        "#include <stdint.h>\n" + helpers_text(f"inarch_{name}_f32" for name in BOUNDS) + loops
    )
    library = tmp_path / f"{compiler}{len(extra)}.so"
    command = [compiler, *FLAGS, *extra, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def _ulps(found: Array, exact: Array) -> Array:
    """The error in units of the spacing of f32 at the exact result."""
    with np.errstate(invalid="ignore", over="ignore"):
        rounded = exact.astype(np.float32)
        same = (np.isnan(found) & np.isnan(rounded)) | (found == rounded)
        spacing = np.spacing(np.abs(np.clip(exact, -3.4e38, 3.4e38)).astype(np.float32))
        error = np.abs(found.astype(np.float64) - exact) / spacing.astype(np.float64)
    return np.where(same, 0.0, np.nan_to_num(error, nan=np.inf))


FMA = ("-mavx2", "-mfma")
NEEDS_FMA = pytest.mark.cpu("x86-64-v3")


@pytest.mark.parametrize(
    "extra", [pytest.param((), id="plain"), pytest.param(FMA, id="fma", marks=NEEDS_FMA)]
)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_errors_stay_below_the_promised_ulps(
    tmp_path: Path, compiler: str, extra: tuple[str, ...]
) -> None:
    library = _compile(tmp_path, compiler, extra)
    for name, bound in BOUNDS.items():
        x = _inputs(name)
        y = np.empty_like(x)
        run = getattr(library, f"run_{name}")
        run(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), ctypes.c_int64(x.size))
        with np.errstate(all="ignore"):
            exact = EXACT[name](x.astype(np.float64))
        errors = _ulps(y, exact)
        worst = int(np.argmax(errors))
        assert errors[worst] <= bound, f"{name}({x[worst]!r}) = {y[worst]!r}: {errors[worst]} ulp"
        assert np.array_equal(np.signbit(y[x == 0]), np.signbit(exact[x == 0])), name
        if name == "erf":
            assert np.all(y[x >= 3.92] == 1), "it reaches 1, which it rounds to from there on"


@NEEDS_FMA
@pytest.mark.parametrize("name", list(BOUNDS))
def test_results_are_the_same_at_every_width(tmp_path: Path, name: str) -> None:
    library = _compile(tmp_path, COMPILERS[0], FMA)
    one = getattr(library, f"one_{name}")
    one.restype, one.argtypes = ctypes.c_float, [ctypes.c_float]
    x = np.ascontiguousarray(_inputs(name)[::997])
    y = np.empty_like(x)
    run = getattr(library, f"run_{name}")
    run(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), ctypes.c_int64(x.size))
    alone = np.array([one(float(value)) for value in x], np.float32)
    np.testing.assert_array_equal(y, alone)


@pytest.mark.parametrize(
    ("lanes", "extra"),
    [
        pytest.param(4, (), id="4"),
        pytest.param(
            4, ("-march=x86-64-v2",), marks=pytest.mark.cpu("x86-64-v2"), id="4 without FMA"
        ),
        pytest.param(8, FMA, marks=NEEDS_FMA, id="8"),
        pytest.param(16, ("-march=x86-64-v4",), marks=pytest.mark.cpu("x86-64-v4"), id="16"),
    ],
)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_lane_of_a_vector_is_a_number(
    tmp_path: Path, compiler: str, lanes: int, extra: tuple[str, ...]
) -> None:
    """The same bits, NaN aside, for every function on vectors, and on several at once."""
    kind = f"vector_size({4 * lanes}), aligned(4), may_alias"
    names = [name for name in VECTORS if name != "sqrt"]
    text = [
        "#include <stdint.h>\n",
        helpers_text(
            [
                *(f"inarch_{name}_f32" for name in names),
                *(vector_name(name, lanes) for name in VECTORS),
                *(several_name(name, lanes) for name in names),
            ]
        ),
        f"typedef float mem __attribute__(({kind}));\n",
    ]
    for name in VECTORS:
        one = "__builtin_sqrtf" if name == "sqrt" else f"inarch_{name}_f32"
        call = f"{vector_name(name, lanes)}(*(const mem *)(x + i))"
        if name != "sqrt":
            vectors = ", ".join(
                f"*(const mem *)(x + i + {lanes * at}), &out[{at}]" for at in range(TOGETHER)
            )
            text.append(
                f"void several_{name}(const float *x, float *z, int64_t n)\n{{\n"
                f"    for (int64_t i = 0; i < n; i += {lanes * TOGETHER}) {{\n"
                f"        inarch_v{lanes}f32 out[{TOGETHER}];\n"
                f"        {several_name(name, lanes)}({vectors});\n"
                f"        __builtin_memcpy(z + i, out, sizeof(out));\n    }}\n}}\n"
            )
        text.append(
            f"void run_{name}(const float *x, float *y, float *z, int64_t n)\n{{\n"
            f"    for (int64_t i = 0; i < n; i++) {{ y[i] = {one}(x[i]); }}\n"
            f"    for (int64_t i = 0; i < n; i += {lanes}) {{ *(mem *)(z + i) = {call}; }}\n}}\n"
        )
    (tmp_path / "it.c").write_text("".join(text))
    strict = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]  # clang tells of inline ones
    command = [compiler, *FLAGS, *extra, *strict, "-shared", "-fPIC"]
    subprocess.run([*command, "it.c", "-o", "it.so", "-lm"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "it.so"))
    for name in VECTORS:
        x = _inputs("log" if name == "sqrt" else name)
        x = np.ascontiguousarray(x[: x.size // 64 * 64])
        y, z = np.empty_like(x), np.empty_like(x)
        pointers = [ctypes.c_void_p(each.ctypes.data) for each in (x, y, z)]
        library[f"run_{name}"](*pointers, ctypes.c_int64(x.size))
        np.testing.assert_array_equal(y, z, name)
        if name != "sqrt":
            z[:] = 0
            library[f"several_{name}"](pointers[0], pointers[2], ctypes.c_int64(x.size))
            np.testing.assert_array_equal(y, z, name)


def test_helpers_come_with_those_that_they_call() -> None:
    text = helpers_text(["inarch_tanh_f32", "inarch_floordiv_i32"])
    assert text.index("inarch_expnear_f32(float x)") < text.index("inarch_tanh_f32(float x)")
    assert text.index("inarch_div_i32(int32_t a") < text.index("inarch_floordiv_i32(int32_t a")
    assert "inarch_log_f32" not in text
