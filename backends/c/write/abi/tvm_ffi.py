"""The C by which programs of TVM FFI call a library: `__tvm_ffi_<function>`, and what is behind it.

    tvm_ffi.load_module("model.so").main(x, y)      # inputs, then outputs; `.so` is an artifact's other name

All but a stub a function is `tvm_ffi.c`, a unit that is the same for all models, with `own.c`: calls of a
library that nobody has bound. It is of libraries, not of the amalgamation: two models in one program would
both define `__tvm_ffi_main`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from inarch.artifact.index import TAIL_BYTES
from inarch.artifact.manifest import FORMAT
from inarch.backends.c.write.abi.library_text import abi_text, internal_text, types_text

EXPORTS = "__tvm_ffi_*"
"""The names of the stubs."""


@cache
def tvm_ffi_unit() -> str:
    """What comes after the first comment of `tvm_ffi.c`; the same for all models."""
    numbers = f"\n#define INARCH_FORMAT {FORMAT}\n#define INARCH_TAIL_BYTES {TAIL_BYTES}\n"
    begin = abi_text("model.c", "FFI_INCLUDES") + types_text() + internal_text(shared=True)
    within = abi_text("model.c", "OWN") + abi_text("model.c", "CALL")
    return f"{begin}{within}{numbers}\n{abi_text('own.c')}\n{abi_text('tvm_ffi.c')}"


def stubs_text(prefix: str, stems: Sequence[str]) -> str:
    """A stub for each of the public functions, whose C names are `stems`, behind the library's table."""
    if not stems:
        return ""
    names = (stem.removeprefix(f"{prefix}_") for stem in stems)
    stubs = (abi_text("model.c", "STUB", symbol=s, index=i) for i, s in enumerate(names))
    return abi_text("model.c", "CALL") + "".join(stubs)
