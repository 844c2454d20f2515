"""The C source codegen of the BYOC tutorial: each op a macro use, each region a function that calls them.

Takes `add`, `sub`, `mul` of equal shapes (no broadcasting) on f32, f64, and integers of 8, 32 and 64
bits. The macro is chosen by the tensor's rank: `CSOURCE_BINARY_OP_2D(id, op, rows, columns, dtype)` for
rank 2, else `CSOURCE_BINARY_OP_1D(id, op, size, dtype)` on all elements. `_function.py` writes a function,
`_constants.py` its constants.
Tests: `tests/lit/backends/ccompiler/`, `tests/unit/backends/test_ccompiler.py`.
Example: `inarch compile model.onnx --backend ccompiler --emit=ccompiler`.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from inarch.backends.ccompiler._function import OPERATORS, function_text, refusal
from inarch.core.pieces import filled
from inarch.ir.context import store_of
from inarch.offload.backend import Backend, Emission, EmitRequest


def emit_function(context: Context, function: FuncOp, symbol: str = "ccompiler_0") -> str:
    """One function on tensors as a C file that defines `symbol`. Raises InarchError at an op."""
    return _file(function_text(function, symbol, store_of(context)))


def emit_module(context: Context, module: ModuleOp, prefix: str = "ccompiler") -> str:
    """Every function of a module that has a body, in one C file, as `<prefix>_0`, `<prefix>_1`, ...

    Raises InarchError at an op.
    """
    functions = [op for op in module.body.ops if isinstance(op, FuncOp) and op.body.blocks]
    store = store_of(context)
    return _file(*(function_text(f, f"{prefix}_{n}", store) for n, f in enumerate(functions)))


def _file(*functions: str) -> str:
    """What every file begins with, includes and the macros that ops are uses of, and functions."""
    return filled("inarch.backends.ccompiler", "macros.h") + "".join(functions)


def _emit(request: EmitRequest) -> Emission:
    store = store_of(request.context)
    texts = [
        function_text(function, symbol, store)
        for function, symbol in zip(request.functions, request.names(), strict=True)
    ]
    return Emission(format="c", symbols=request.names(), text=_file(*texts))


BACKEND = Backend(
    name="ccompiler",
    description="The tutorial's C source codegen: add, sub and mul as C macros.",
    emit=_emit,
    ops=tuple(OPERATORS),
    accepts=refusal,
    options={"prefix": ""},
)
