"""What several tests share: a cache of their own, and a small program written by hand after ABI v0."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import pack
from typing import Any

import pytest

from inarch.artifact import write_artifact
from inarch.cache import Cache
from inarch.target import parse
from inarch.toolchain import compile_library

_SOURCE = r"""
#include <stdint.h>
#include <stddef.h>
typedef struct { int32_t device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct { void *data; DLDevice device; int32_t ndim; DLDataType dtype;
                 int64_t *shape; int64_t *strides; uint64_t byte_offset; } DLTensor;
typedef struct { int32_t (*call)(void *self, DLTensor *args, int32_t n); void *self; } inarch_import;
#define API __attribute__((visibility("default")))

static const float *bias;
static inarch_import slots[4];
static int32_t binds;
static _Thread_local const char *message = "no error";

API int32_t @_abi_version(void) { return ABI_VERSION; }
API const char *@_last_error(void) { return message; }
API int32_t @_bind(const void *weights, const inarch_import *imports, int32_t count) {
  bias = weights;
  for (int32_t i = 0; i < count; ++i) slots[i] = imports[i];
  ++binds;
  return 0;
}

static int32_t fail(const char *text) { message = text; return 1; }

API int32_t @_main(DLTensor *args, int32_t n) { /* sum = x + y + bias */
  if (n != 3) return fail("expected 3 arguments");
  for (int32_t i = 0; i < 3; ++i) {
    const DLTensor *t = args + i;
    if (t->ndim != 2 || t->shape[0] != 2 || t->shape[1] != 3) return fail("shape");
    if (t->dtype.code != 2 || t->dtype.bits != 32 || t->dtype.lanes != 1) return fail("dtype");
    if (t->device.device_type != 1 || t->strides || t->byte_offset) return fail("layout");
  }
  const float *x = args[0].data, *y = args[1].data;
  float *sum = args[2].data;
  for (int i = 0; i < 6; ++i) sum[i] = x[i] + y[i] + bias[i % 3] + SHIFT;
  return 0;
}

API int32_t @_range(DLTensor *args, int32_t n) { /* i64[4] -> low, high: i64[] */
  if (n != 3 || args[1].ndim != 0) return fail("shape");
  const int64_t *x = args[0].data;
  int64_t low = x[0], high = x[0];
  for (int i = 1; i < 4; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  *(int64_t *)args[1].data = low;
  *(int64_t *)args[2].data = high;
  return 0;
}

API int32_t @_nothing(DLTensor *args, int32_t n) { /* ui8[0, 2] -> i1[0] */
  return n == 2 && args[0].shape[0] == 0 && args[0].dtype.code == 1 && args[1].dtype.code == 6
             ? 0 : fail("shape");
}

API int32_t @_binds(DLTensor *args, int32_t n) {
  if (n != 1) return fail("expected 1 argument");
  *(int32_t *)args[0].data = binds;
  return 0;
}

API int32_t @_broken(DLTensor *args, int32_t n) {
  (void)args;
  (void)n;
  return fail("expected better, found worse");
}

API int32_t @_through(DLTensor *args, int32_t n) { /* y = import 0 of x */
  if (slots[0].call == NULL) return fail("import 0 is not filled");
  return slots[0].call(slots[0].self, args, n) ? fail("import 0 failed") : 0;
}
"""

MakeProgram = Callable[..., Path]


def _port(name: str, dtype: str, *shape: int) -> dict[str, object]:
    return {"name": name, "dtype": dtype, "shape": list(shape)}


_FUNCTIONS: dict[str, dict[str, object]] = {
    "main": {
        "inputs": [_port("x", "f32", 2, 3), _port("y/0", "f32", 2, 3)],
        "outputs": [_port("sum", "f32", 2, 3)],
    },
    "range": {
        "inputs": [_port("x", "i64", 4)],
        "outputs": [_port("low", "i64"), _port("high", "i64")],
    },
    "nothing": {"inputs": [_port("x", "ui8", 0, 2)], "outputs": [_port("y", "i1", 0)]},
    "binds": {"inputs": [], "outputs": [_port("count", "i32")]},
    "broken": {"inputs": [], "outputs": []},
    "through": {"inputs": [_port("x", "f32", 4)], "outputs": [_port("y", "f32", 4)]},
}


@pytest.fixture(scope="session", autouse=True)
def fixture_cache_folder() -> Iterator[None]:
    """What tests compile is kept in `build/`, between runs too, and not in the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        if "INARCH_CACHE_DIR" not in os.environ:
            folder = Path(__file__).parents[2] / "build" / "test-cache"
            patch.setenv("INARCH_CACHE_DIR", str(folder))
        yield


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """A cache for this run only."""
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def make_library(cache: Cache, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., bytes]:
    """`make_library(prefix="tiny", shift=0, abi=0)`: the bytes of the library."""

    def make(prefix: str = "tiny", shift: float = 0.0, abi: int = 0) -> bytes:
        source = _SOURCE.replace("@", prefix)
        source = source.replace("SHIFT", f"{shift:f}f").replace("ABI_VERSION", str(abi))
        out = tmp_path_factory.mktemp("library") / "library.so"
        compile_library({"model.c": source}, out, target=parse("generic"), cache=cache)
        return out.read_bytes()

    return make


@pytest.fixture(scope="session")
def make_program(make_library: Callable[..., bytes]) -> MakeProgram:
    """`make_program(path, shift=0, bias=(1, 2, 3), imports=(), **manifest)`: writes an artifact.

    Its main adds two f32[2, 3], `bias` and `shift`; `binds` counts calls of bind; `broken` fails;
    `through` calls import 0.
    """

    def make(
        path: Path,
        *,
        prefix: str = "tiny",
        shift: float = 0.0,
        abi: int = 0,
        bias: tuple[float, float, float] = (1.0, 2.0, 3.0),
        weights_bytes: int = 12,
        members: dict[str, bytes] | None = None,
        **manifest: Any,
    ) -> Path:
        full = {
            "inarch": "0.1.0",
            "name": "tiny",
            "prefix": prefix,
            "target": "generic",
            "features": [],
            "functions": _FUNCTIONS,
            "imports": [],
            "loaders": ["shared-library"],
            **manifest,
        }
        library = make_library(prefix, shift, abi)
        write_artifact(path, library, full, [(0, pack("3f", *bias))], weights_bytes, members)
        return path

    return make
