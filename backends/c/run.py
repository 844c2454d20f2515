"""Compiles a module and calls one of its functions in this process: what is compared with definitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from inarch.backends.c.native import native
from inarch.backends.c.plan.program import aligned
from inarch.backends.host import NativeRequest
from inarch.core.errors import ArgumentError, InarchError, unknown
from inarch.core.lazy import Array, np
from inarch.core.scratch import scratch
from inarch.dialects.loop.buffer import AllocOp, ConstantOp
from inarch.dialects.loop.control import CallOp
from inarch.dialects.loop.memory import memref_of, nbytes
from inarch.ir.edit import erase
from inarch.ir.functions import is_private
from inarch.ir.target import target_name
from inarch.ir.types import dtype_of
from inarch.machine.target import Target, parse
from inarch.machine.target import native as native_target


def run_function(ctx: Context, module: ModuleOp, name: str, arrays: Sequence[Array]) -> None:
    """Runs function `name` of `module` on `arrays`, one a memref argument in the function's order.

    A copy of the module gets offsets where it has none, is compiled and called in this process, through the
    unchecked entry. Outputs are written in place. `module` is not changed. Raises InarchError when an array
    does not fit, or the program calls an import.
    """
    copy = module.clone()
    function = _only(copy, name)
    _check_arrays(function, arrays)
    _plan(copy)
    _call(ctx, copy, name, arrays)


def _only(module: ModuleOp, name: str) -> FuncOp:
    """Leaves of `module` what `name` needs, and makes it public."""
    functions = {op.sym_name.data: op for op in module.body.ops if isinstance(op, FuncOp)}
    if name not in functions:
        raise unknown("function", name, functions)
    needed: set[str] = set()
    pending = [name]
    while pending:
        symbol = pending.pop()
        if symbol not in functions or symbol in needed:
            continue
        needed.add(symbol)
        pending += [
            op.callee.root_reference.data
            for op in functions[symbol].body.walk()
            if isinstance(op, CallOp)
        ]
    for symbol, function in functions.items():
        if symbol not in needed:
            erase(function)
    chosen = functions[name]
    if is_private(chosen):
        chosen.sym_visibility = StringAttr("public")
    return chosen


def _plan(module: ModuleOp) -> None:
    """Gives every buffer a place of its own. An existing plan is kept if it is complete."""
    buffers = [op for op in module.walk() if isinstance(op, AllocOp | ConstantOp)]
    if all(op.offset is not None for op in buffers):
        return
    ends = {AllocOp: 0, ConstantOp: 0}
    for op in buffers:
        op.offset = IntegerAttr(ends[type(op)], 64)
        ends[type(op)] += aligned(nbytes(memref_of(op.buffer)))
    module.attributes.pop("inarch.weights_bytes", None)
    for function in module.body.ops:
        function.attributes.pop("inarch.workspace_bytes", None)


def _check_arrays(function: FuncOp, arrays: Sequence[Array]) -> None:
    arguments = function.body.block.args
    if len(arguments) != len(arrays):
        raise ArgumentError(
            f"@{function.sym_name.data}: expected {len(arguments)} arrays, found {len(arrays)}"
        )
    for argument, array in zip(arguments, arrays, strict=True):
        if not isinstance(argument.type, MemRefType):
            raise InarchError(
                f"@{function.sym_name.data}: expected memref arguments, found {argument.type}"
            )
        kind = memref_of(argument)
        shape, dtype = tuple(kind.get_shape()), dtype_of(kind.element_type)
        fits = array.shape == shape and array.dtype.itemsize == dtype.nbytes
        if not (fits and array.flags.c_contiguous):
            raise ArgumentError(
                f"@{function.sym_name.data}: array {argument.index}: expected "
                f"{dtype.name}{list(shape)}, row-major; found {array.dtype}{list(array.shape)}"
            )


def _call(ctx: Context, module: ModuleOp, name: str, arrays: Sequence[Array]) -> None:
    from cffi import FFI

    with scratch("inarch-run-") as folder:
        path = folder / "program.so"
        made = native(NativeRequest(ctx, module, path, _machine(module), ("-O1",)))
        ffi: Any = FFI()
        symbol = made.symbols[name]
        ffi.cdef(f"int32_t {symbol}(void *const *buffers, const void *weights, void *workspace);")
        library = ffi.dlopen(str(path))
    entry = made.entries[name]
    weights = _aligned_buffer(made.weights)
    # All ones, NaN as floats: what reads a buffer before it was written shows in the results.
    workspace = _aligned_buffer(b"\xff" * aligned(entry.workspace_bytes))
    ordered = [arrays[position].ctypes.data for position in entry.positions]
    status = getattr(library, symbol)(
        ffi.new("void *[]", [ffi.cast("void *", address) for address in ordered]),
        ffi.cast("void *", weights.ctypes.data),
        ffi.cast("void *", workspace.ctypes.data),
    )
    # Nothing of it is held any more, and tests run thousands of programs in one process.
    ffi.dlclose(library)
    if status != 0:
        raise InarchError(f"@{name} failed with code {status}")


def _machine(module: ModuleOp) -> Target:
    """The module's target where this machine runs it, else this machine."""
    text = target_name(module)
    wanted = None if text is None else parse(text)
    return native_target() if wanted is None or wanted.missing_here() else wanted


def _aligned_buffer(content: bytes | bytearray) -> Array:
    """`content` in memory at a multiple of 64 bytes."""
    raw = np.zeros(len(content) + 64, np.uint8)
    start = -raw.ctypes.data % 64
    result = raw[start : start + len(content)]
    result[:] = np.frombuffer(content, np.uint8)
    return result
