"""OpenBLAS as a backend: `matmul`, Gemm and 1x1 convolutions, from the package scipy-openblas32.

`_patterns.py` says what is taken, `_gemm.py` what product that is, `_emit.py` writes the C, which is
linked to the package's library by its path and found again by that path when an artifact is loaded;
`pip install scipy-openblas32` (or the extra `inarch[cblas]`) on the machine that runs it too.
Weights are arguments, not copied. Tests: `tests/lit/backends/cblas/`, `tests/unit/backends/test_cblas.py`.
Example: `inarch compile model.onnx --backend cblas`.

Threads: OpenBLAS uses as many as there are processors; `OPENBLAS_NUM_THREADS=1` in the environment,
before it is loaded, keeps it to the thread that calls. Nothing here changes that, since the setting is
the whole process's. Kernels are chosen when the library is loaded; where it takes the CPU for an
older one, `OPENBLAS_CORETYPE` (`SkylakeX`, `Haswell`, ...) names the kernels to use, and
`OPENBLAS_VERBOSE=2` prints the choice. Version 0.3.34 takes an AMD EPYC with AVX-512 for `SkylakeX` by
itself, and naming it changes nothing there. `benchmarks/cblas.py` measures it.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from inarch.backends.cblas._emit import emit, emit_text
from inarch.backends.cblas._patterns import OPS, PATTERNS, accepts
from inarch.backends.cblas.library import status
from inarch.offload.backend import Backend


def _emit_text(_: Context, module: ModuleOp) -> str:
    """The C of the functions that are this backend's, else of all; OpenBLAS need not be installed."""
    every = [op for op in module.body.ops if isinstance(op, FuncOp) and op.body.blocks]
    own = [op for op in every if op.attributes.get("compiler") == StringAttr("cblas")]
    return emit_text(own or every)


BACKEND = Backend(
    name="cblas",
    description="Matrix products and 1x1 convolutions by OpenBLAS (package scipy-openblas32).",
    ops=OPS,
    patterns=PATTERNS,
    accepts=accepts,
    emit=emit,
    emit_text=_emit_text,
    bind_constants=False,
    status=status,
)
