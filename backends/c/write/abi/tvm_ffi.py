"""The C by which programs of TVM FFI call a library: `__tvm_ffi_<function>`, and what is behind it.

    tvm_ffi.load_module("model.so").main(x, y)      # inputs, then outputs; `.so` is an artifact's other name

All but a stub a function is `tvm_ffi.c`, a unit that is the same for all models, with `own.c`: calls of a
library that nobody has bound. It is of libraries, not of the amalgamation: two models in one program would
both define `__tvm_ffi_main`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template

from inarch.artifact.index import TAIL_BYTES
from inarch.artifact.manifest import FORMAT
from inarch.backends.c.write.abi.library_text import internal_text, types_text

EXPORTS = "__tvm_ffi_*"
"""The names of the stubs."""

_INCLUDES = """
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
"""

OWN = """
__attribute__((visibility("hidden"))) INARCH_BASELINE int32_t inarch_own_begin(
    const inarch_model *model, inarch_state *bound, const char *function, inarch_state **state);
__attribute__((visibility("hidden"))) INARCH_BASELINE void inarch_own_end(void);
__attribute__((visibility("hidden"))) INARCH_BASELINE int32_t inarch_own_run(
    const inarch_model *model, inarch_state *bound, int32_t index, DLTensor *args, int32_t n);
"""
"""Calls of a library that nobody has bound."""

_CALL = """
__attribute__((visibility("hidden"))) INARCH_BASELINE int32_t inarch_ffi_call(
    const inarch_model *model, inarch_state *bound, int32_t function, const void *args, int32_t n,
    void *result);
"""

_STUB = """
INARCH_C INARCH_PUBLIC INARCH_BASELINE int32_t __tvm_ffi_${symbol}(
    void *self, const void *args, int32_t n, void *result);
int32_t __tvm_ffi_${symbol}(void *self, const void *args, int32_t n, void *result)
{
    (void)self;
    return inarch_ffi_call(&inarch_self, &inarch_default, ${index}, args, n, result);
}
"""


@cache
def tvm_ffi_unit() -> str:
    """What comes after the first comment of `tvm_ffi.c`; the same for all models."""
    numbers = f"\n#define INARCH_FORMAT {FORMAT}\n#define INARCH_TAIL_BYTES {TAIL_BYTES}\n"
    folder = files("inarch.backends.c.write.abi")
    own, calls = ((folder / name).read_text() for name in ("own.c", "tvm_ffi.c"))
    internal = internal_text(shared=True)
    return f"{_INCLUDES}{types_text()}{internal}{OWN}{_CALL}{numbers}\n{own}\n{calls}"


def stubs_text(prefix: str, stems: Sequence[str]) -> str:
    """A stub for each of the public functions, whose C names are `stems`, behind the library's table."""
    if not stems:
        return ""
    stubs = (
        Template(_STUB).substitute(symbol=stem.removeprefix(f"{prefix}_"), index=index)
        for index, stem in enumerate(stems)
    )
    return _CALL + "".join(stubs)
