"""TVM FFI and Apache TVM: compiled functions as theirs.

    tvm_ffi.load_module("model.so").main(x, y)      # without Inarch: an artifact that is called *.so

    from inarch.bridges.tvm import load_module, to_tvm_func
    load_module("model.inarch").main(x, y)          # under any name
    relu = to_tvm_func(inarch.compile("model.mlir"))  # what only Python can fill, too

A function takes its inputs and then its outputs, which it writes: arrays of NumPy, PyTorch, TVM, and all
that has DLPack; in C also numbers, where a tensor has no dimensions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inarch.artifact import Artifact
from inarch.bridges.framework import check_place, check_sizes, framework, version_of
from inarch.core.arguments import checked_path
from inarch.core.errors import ArgumentError, InarchError
from inarch.core.lazy import Array, np
from inarch.runtime.function import Function

if TYPE_CHECKING:
    from inarch.runtime.module import Module

_DISTRIBUTION = "apache-tvm-ffi"
_LIBRARIES = "ffi.Module.load_from_file.so"
"""TVM FFI's global function that opens shared libraries."""


def load_module(path: Path | str) -> Any:
    """The artifact at `path` as a `tvm_ffi.Module`, all in C: no call goes through Python.

    Raises InarchError for what is no artifact, or has import slots, and EnvironmentFault without TVM FFI.
    """
    tvm_ffi = framework("tvm_ffi", distribution=_DISTRIBUTION)
    file = checked_path(path)
    with Artifact.open(file) as artifact:
        slots = [slot.name for slot in artifact.manifest.imports if slot.linked is None]
        if slots:
            raise artifact.error(
                f"expected a program that is whole, found the imports {', '.join(slots)}; "
                "fill them with inarch.load, and use to_tvm_func"
            )
        functions = list(artifact.manifest.functions)
    module: Any = tvm_ffi.get_global_func(_LIBRARIES)(str(file.resolve()), "so")
    missing = [name for name in functions if not module.implements_function(name)]
    if missing:
        said = f"{file} (for apache-tvm-ffi {version_of(_DISTRIBUTION)})"
        raise InarchError(
            f"expected the symbol '__tvm_ffi_{missing[0]}' in {said}, found none; compile the model again",
            where="bridge to tvm_ffi",
        )
    return module


def register() -> None:
    """Has `tvm_ffi.load_module` take artifacts that are called `*.inarch`, in this process."""
    tvm_ffi = framework("tvm_ffi", distribution=_DISTRIBUTION)

    def load(path: str, _kind: str) -> Any:
        return load_module(path)

    tvm_ffi.register_global_func("ffi.Module.load_from_file.inarch", load, override=True)


def to_tvm_func(
    function: Function | Module, *, device: object = "cpu", stream: object = None
) -> Any:
    """A `tvm_ffi.Function` that calls `function`, of a module its `main`, through Python.

    For what `load_module` cannot take: programs whose imports Python fills, and those of other loaders.
    A wrong argument is a ValueError there.
    """
    check_place("to_tvm_func", device, stream)
    tvm_ffi = framework("tvm_ffi", distribution=_DISTRIBUTION)
    called = function if isinstance(function, Function) else function.get_function("main")
    check_sizes(called, "tvm_ffi")
    inputs = len(called.signature.inputs)
    count = inputs + len(called.signature.outputs)

    def packed(*args: object) -> None:
        if len(args) != count:
            raise TypeError(
                f"{called.name}: expected {count} arguments, inputs and then outputs, found {len(args)}"
            )
        try:
            called(*args[:inputs], out=args[inputs:])
        except ArgumentError as error:
            raise ValueError(str(error)) from None
        except InarchError as error:
            raise RuntimeError(str(error)) from None

    return tvm_ffi.convert(packed)


def from_tvm_func(function: Any) -> Callable[..., None]:
    """What fills an import slot by a `tvm_ffi.Function`: `inarch.load(path, imports={"twice": ...})`.

    It is called with the inputs and then the outputs, as tensors of the program's own memory, and writes the
    outputs. What it raises is the error of the call.
    """

    def call(*arrays: Array) -> None:
        function(*map(_writable, arrays))

    return call


def _writable(array: Array) -> Array:
    """The same memory: NumPy gives no read-only array away, and those that are only read are such."""
    memory: Any = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
    memory.owner = array
    return np.ndarray(array.shape, array.dtype, memory, strides=array.strides)
