"""What several tests share: a cache of their own, a small program after ABI v3, compiled microkernels."""

from __future__ import annotations

import ctypes
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from inarch.artifact import write_artifact
from inarch.artifact.manifest import ABI
from inarch.core.cache import Cache
from inarch.machine.target import parse
from inarch.machine.toolchain import compile_library
from inarch.meaning import bind, elements, free_sizes, ranks, written
from inarch.microkernel import (
    AtLeast,
    Instance,
    demands,
    instance_source,
    known_demand,
    prototype,
)
from inarch.verification.cases.expected import expected

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
API const char *@_weights_sha256(void) { return "DIGEST_TEXT"; }
API int32_t @_set_threads(int32_t threads) { (void)threads; return 0; }
API const void *@_pool(const void *use) { (void)use; return NULL; }
API int32_t @_bind(const void *weights, int64_t nbytes, const inarch_import *imports, int32_t count) {
  if (nbytes < 12) { message = "expected 12 bytes of weights or more"; return 2; }
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

_ANY_DIGEST = "weights " * 8

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
    """`make_library(prefix="tiny", shift=0, abi=1, digest="0" * 64)`: the bytes of the library."""

    def make(
        prefix: str = "tiny", shift: float = 0.0, abi: int = ABI, digest: str = "0" * 64
    ) -> bytes:
        source = _SOURCE.replace("@", prefix)
        source = source.replace("SHIFT", f"{shift:f}f").replace("ABI_VERSION", str(abi))
        source = source.replace("DIGEST_TEXT", _ANY_DIGEST)
        out = tmp_path_factory.mktemp("library") / "library.so"
        # The hash stands in the machine code once: compiled once, for whatever weights.
        compile_library({"model.c": source}, out, target=parse("generic"), cache=cache)
        code = out.read_bytes()
        assert code.count(_ANY_DIGEST.encode()) == 1
        return code.replace(_ANY_DIGEST.encode(), digest.encode())

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
        abi: int = ABI,
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
        weights = pack("3f", *bias)
        digest = sha256(weights + bytes(weights_bytes - len(weights))).hexdigest()
        library = make_library(prefix, shift, abi, digest)
        write_artifact(path, library, full, [(0, weights)], weights_bytes, members)
        return path

    return make


@dataclass(frozen=True)
class KernelCall:
    """An instance of a microkernel, compiled: compares its C function with its meaning."""

    instance: Instance
    function: Any

    def compare(
        self, sizes: Mapping[str, int], seed: int, *, exact: bool, nan: bool = False
    ) -> None:
        """One call on random strides and offsets; nothing but the written elements may change.

        `exact`: on small integers, bit for bit where they stay whole; else on normal numbers. `nan`: some
        elements are NaN, which must be where the meaning has it.
        """
        random = np.random.default_rng(seed)
        views, whole = self._arrays(sizes, random, exact=exact)
        if nan:
            for array in whole.values():
                array[:: len(array) // 3 + 1] = np.nan
        before = {name: array.copy() for name, array in whole.items()}
        wanted = expected(bind(self.instance.meaning, sizes), views)
        strides = [stride // 4 for view in views.values() for stride in view.strides]
        free = [sizes[name] for name in free_sizes(self.instance.meaning)]
        self.function(*(view.ctypes.data for view in views.values()), *strides, *free)
        name = written(self.instance.meaning)
        got, said = views[name], f"{self.instance.symbol} {dict(sizes)}"
        assert wanted.accepts(got).all(), said
        start = (got.ctypes.data - whole[name].ctypes.data) // 4
        as_strided(before[name][start:], got.shape, got.strides)[...] = got
        for operand, array in whole.items():
            np.testing.assert_array_equal(array, before[operand], err_msg=f"{said}: {operand}")

    def _arrays(
        self, sizes: Mapping[str, int], random: np.random.Generator, *, exact: bool
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """A view of each operand and the buffer around it: strides as demanded, else any, with gaps."""
        views: dict[str, Any] = {}
        whole: dict[str, Any] = {}
        shapes = _operand_shapes(self.instance, sizes)
        for operand, demanded in demands(self.instance).items():
            shape, strides, extent = shapes[operand], [0] * len(demanded), 1
            fixed = [axis for axis, stride in enumerate(demanded) if stride is not None]
            for axis in reversed(fixed):
                stride = known_demand(demanded[axis], sizes)
                least = stride.least if isinstance(stride, AtLeast) else 0
                strides[axis] = stride if isinstance(stride, int) else max(extent, least)
                extent = max(extent, strides[axis] * shape[axis])
            free: list[int] = random.permutation(
                [axis for axis in range(len(shape)) if axis not in fixed]
            ).tolist()
            for axis in free:
                strides[axis] = extent + int(random.integers(0, 3))
                extent = strides[axis] * shape[axis]
            begin = int(random.integers(0, 5))
            count = begin + extent + 7
            values = random.integers(-4, 5, count) if exact else random.standard_normal(count)
            whole[operand] = values.astype(np.float32)
            views[operand] = as_strided(whole[operand][begin:], shape, [4 * s for s in strides])
        return views, whole


def _operand_shapes(instance: Instance, sizes: Mapping[str, int]) -> dict[str, list[int]]:
    """How far the indices of each operand reach."""
    meaning = bind(instance.meaning, sizes)
    found = {name: [1] * rank for name, rank in ranks(meaning).items()}
    for statement in meaning.statements:
        counts = {each.name: each.size for each in (*meaning.iterators, *statement.iterators)}
        for element in (statement.target, *elements(statement.value)):
            for axis, index in enumerate(element.indices):
                last = sum(
                    math.prod(int(factor) for factor in term.factors)
                    * (int(counts[term.iterator]) - 1 if term.iterator else 1)
                    for term in index
                )
                found[element.operand][axis] = max(found[element.operand][axis], last + 1)
    return found


@pytest.fixture
def kernel_calls(tmp_path: Path) -> Callable[[Sequence[Instance]], list[KernelCall]]:
    """Compiles instances of one target without a warning; what it gives can be called and compared."""

    def compiled(instances: Sequence[Instance]) -> list[KernelCall]:
        units: dict[str, str] = {}
        for number, instance in enumerate(instances):
            head = prototype(instance)
            exported = head.replace(instance.symbol, f"entry{number}", 1)
            arguments = ", ".join(re.findall(r"(\w+)(?=[,)])", head))
            units[f"unit{number}.c"] = (
                f"#include <stdint.h>\nstatic {head};\n{instance_source(instance)}"
                f'__attribute__((visibility("default"))) {exported};\n'
                f"{exported}\n{{\n    {instance.symbol}({arguments});\n}}\n"
            )
        out = tmp_path / "kernels.so"
        flags = ("-Wall", "-Wextra", "-Werror")
        compile_library(units, out, target=instances[0].target, flags=flags)
        library = ctypes.CDLL(str(out))
        calls: list[KernelCall] = []
        for number, instance in enumerate(instances):
            function = library[f"entry{number}"]
            pointers = len(instance.kernel.dtypes) + len(instance.extras)
            integers = prototype(instance).count(",") + 1 - pointers
            function.argtypes = [ctypes.c_void_p] * pointers + [ctypes.c_int64] * integers
            function.restype = None
            calls.append(KernelCall(instance, function))
        return calls

    return compiled
