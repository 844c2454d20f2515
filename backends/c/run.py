"""Compiles a module and calls one of its functions in this process: the execution oracle of tests."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from inarch.backends.c.assemble import emit_program
from inarch.backends.c.cprogram import CFunction, CProgram
from inarch.backends.c.foreign.code import link_libraries
from inarch.backends.c.plan.program import aligned, is_private
from inarch.backends.c.plan.weights import Weights, weights_image
from inarch.backends.c.text import identifier
from inarch.core.errors import ArgumentError, InarchError, UnsupportedError, unknown
from inarch.core.lazy import np
from inarch.dialects.loop.buffer import AllocOp, ConstantOp
from inarch.dialects.loop.control import CallOp
from inarch.dialects.loop.memory import memref_of, nbytes
from inarch.ir.target import target_name
from inarch.ir.types import dtype_of

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]


def run(ctx: Context, module: ModuleOp, name: str, arrays: Sequence[Array]) -> None:
    """See `inarch.backends.c.run_function`."""
    copy = module.clone()
    function = _only(copy, name)
    _check_arrays(function, arrays)
    _plan(copy)
    image = weights_image(ctx, copy)
    program = emit_program(copy, Weights(len(image), ""))
    if program.imports:
        slots = ", ".join(slot.name for slot in program.imports)
        raise UnsupportedError(f"@{name} cannot run alone: it calls the imports {slots}")
    described = next(f for f in program.functions if f.name == name)
    _call(program, described, [arrays[i] for i in described.positions], image, target_name(copy))


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
            function.detach()
            function.erase()
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


def _call(
    program: CProgram,
    function: CFunction,
    arrays: Sequence[Array],
    image: bytearray,
    target: str | None,
) -> None:
    from cffi import FFI

    from inarch.machine.target import native, parse
    from inarch.machine.toolchain import compile_library

    machine = native()
    if target is not None and not parse(target).missing_on_host():
        machine = parse(target)
    ffi: Any = FFI()
    symbol = identifier(f"{program.prefix}_{function.name}_run")
    ffi.cdef(f"int32_t {symbol}(void *const *buffers, const void *weights, void *workspace);")
    with tempfile.TemporaryDirectory(prefix="inarch-run-") as folder:
        path = Path(folder) / "program.so"
        linked = link_libraries(program.kernels, machine)
        compile_library(
            program.units,
            path,
            target=machine,
            flags=("-O1",),
            unit_flags=program.unit_flags,
            libraries=linked.libraries,
        )
        library = ffi.dlopen(str(path))
    weights = _aligned_buffer(image)
    # All ones, NaN as floats: what reads a buffer before it was written shows in the results.
    workspace = _aligned_buffer(b"\xff" * aligned(function.workspace_bytes))
    buffers = ffi.new("void *[]", [ffi.cast("void *", array.ctypes.data) for array in arrays])
    status = getattr(library, symbol)(
        buffers,
        ffi.cast("void *", weights.ctypes.data),
        ffi.cast("void *", workspace.ctypes.data),
    )
    # Nothing of it is held any more, and tests run thousands of programs in one process.
    ffi.dlclose(library)
    if status != 0:
        raise InarchError(f"@{function.name} failed with code {status}")


def _aligned_buffer(content: bytes | bytearray) -> Array:
    """`content` in memory at a multiple of 64 bytes."""
    raw = np.zeros(len(content) + 64, np.uint8)
    start = -raw.ctypes.data % 64
    result = raw[start : start + len(content)]
    result[:] = np.frombuffer(content, np.uint8)
    return result
