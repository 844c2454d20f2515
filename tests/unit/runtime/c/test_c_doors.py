"""What libinarch refuses at its doors: null pointers, options, functions for imports; and forks."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.artifact.status import Status
from inarch.machine.compilers import find_compiler
from tests.unit.runtime.c.conftest import Build, CRuntime, Options
from tests.unit.runtime.c.test_c_runtime import arrays, bound

HERE = Path(__file__).parent
Call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)


class Import(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("call", Call), ("self", ctypes.c_void_p)]


class Pair(ctypes.Structure):
    """Two functions and what they are given: an allocator. A pool is the first and the second of these."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("first", "second", "self")]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def opened(runtime: CRuntime, path: Path, **fields: Any) -> tuple[int, Any]:
    """`inarch_open` with these options."""
    module = ctypes.c_void_p()
    options = Options(**{"size": ctypes.sizeof(Options), **fields})
    words = bytes(path), ctypes.byref(options), ctypes.byref(module)
    return runtime.functions.inarch_open(*words), module


def test_null_pointers(runtime: CRuntime, model: Path) -> None:
    """Each function says which it is, and what it wants."""
    functions, place = runtime.functions, ctypes.byref(ctypes.c_void_p())
    module = runtime.opened(model)
    instance = runtime.instance(module)
    cases: list[tuple[str, tuple[Any, ...], str]] = [
        ("open", (None, None, place), "a path"),
        ("open", (bytes(model), None, None), "a place for the module"),
        ("module_name", (None,), "a module"),
        ("module_target", (None,), "a module"),
        ("function_count", (None,), "a module"),
        ("function_at", (None, 0), "a module"),
        ("function_named", (None, b"main"), "a module"),
        ("function_named", (module, None), "a name"),
        ("module_library", (None,), "a module"),
        ("set_weights", (None, None), "a module"),
        ("module_weights", (None, place), "a module"),
        ("module_weights", (module, None), "a place for the size"),
        ("instance_new", (None, b"main", None, 0, place), "a module"),
        ("instance_new", (module, b"main", None, 0, None), "a place for the instance"),
        ("bind_input", (None, b"x", None, 0), "an instance"),
        ("bind_input", (instance, None, None, 0), "a name"),
        ("bind_output", (None, b"y", None, 0), "an instance"),
        ("bind_output", (instance, None, None, 0), "a name"),
        ("set_threads", (None, 1), "an instance"),
        ("instance_set_weights", (None, None), "an instance"),
        ("set_stream", (None, 1, 0, None), "an instance"),
        ("run", (None,), "an instance"),
    ]
    for name, words, expected in cases:
        found = getattr(functions, f"inarch_{name}")(*words)
        assert not found or found == Status.ARGUMENT
        assert runtime.message() == (
            f"error: inarch_{name}: expected {expected}, found a null pointer"
        )
    assert functions.inarch_function_fitting(None, b"main", None, 0) == 0
    assert runtime.message() == (
        "error: inarch_function_named: expected a module, found a null pointer"
    )
    odd = {  # ndim, dtype: code, bits, 0 and 1
        "a shape of 2 sizes, found a null pointer": (2, (2, 32, 1, 0)),
        "a shape of 2 sizes, found a number of sizes below 0": (-1, (2, 32, 1, 0)),
        "f32[96, 64], found an unknown dtype[]; compile the model for it, too": (0, (9, 16, 1, 0)),
    }
    for expected, (ndim, dtype) in odd.items():
        tensor = Tensor(None, (1, 0), ndim, dtype, None, None, 0)
        assert not functions.inarch_function_fitting(module, b"main", ctypes.byref(tensor), 1)
        assert runtime.message() == f"{model}: error: main: input 'x': expected {expected}"
    functions.inarch_instance_free(None)
    functions.inarch_close(None)
    functions.inarch_instance_free(instance)
    runtime.close(module)


def test_options_that_are_refused(runtime: CRuntime, model: Path) -> None:
    """Of another size, with what nobody knows, without what they need."""
    none = (Import * 1)()
    nameless = (Import * 1)(Import(b"f"))
    unknown = (Import * 1)(Import(b"f", Call(lambda *_: 0)))
    halves = Pair(1, None), Pair(None, 1)
    cases: list[tuple[dict[str, Any], Status, str]] = [
        (
            {"size": 8},
            Status.ARGUMENT,
            "expected options that begin with INARCH_OPTIONS, found a size of 8",
        ),
        ({"flags": 64}, Status.UNSUPPORTED, "expected flags of this version, found 64"),
        ({"reserved": 5}, Status.UNSUPPORTED, "expected flags of this version, found 5"),
        ({"import_count": -1}, Status.ARGUMENT, "expected 0 or more imports, found -1"),
        ({"import_count": 1}, Status.ARGUMENT, "expected imports, found a null pointer"),
        (
            {"import_count": 1, "imports": ctypes.addressof(none)},
            Status.ARGUMENT,
            "expected a name of an import, found a null pointer",
        ),
        (
            {"import_count": 1, "imports": ctypes.addressof(nameless)},
            Status.ARGUMENT,
            "import 'f': expected a function, found a null pointer",
        ),
        *(
            (
                {"allocator": ctypes.addressof(half)},
                Status.ARGUMENT,
                "expected both functions of the allocator, found a null pointer",
            )
            for half in halves
        ),
    ]
    for fields, status, message in cases:
        assert opened(runtime, model, **fields)[0] == status
        assert runtime.message() == f"error: inarch_open: {message}"
    found = opened(runtime, model, import_count=1, imports=ctypes.addressof(unknown))
    assert found[0] == Status.NAME
    assert runtime.message() == f"{model}: error: no import 'f'; it has none"


def test_options_of_a_later_version(runtime: CRuntime, model: Path) -> None:
    """Longer ones are taken where the rest is zeros."""

    class Longer(ctypes.Structure):
        _fields_ = [("options", Options), ("more", ctypes.c_int64)]

    for more, status in ((0, 0), (1, Status.UNSUPPORTED)):
        module = ctypes.c_void_p()
        longer = Longer(Options(ctypes.sizeof(Longer)), more)
        words = bytes(model), ctypes.byref(longer), ctypes.byref(module)
        assert runtime.functions.inarch_open(*words) == status
        runtime.close(module)
    assert runtime.message() == (
        "error: inarch_open: expected options of this version, found a field behind them"
    )


@pytest.mark.parametrize("fault", ["", "writes nothing", "fails"])
def test_functions_that_are_given(
    runtime: CRuntime, program: Path, steps: Path, fault: str
) -> None:
    """One that leaves its output as it was is an error of its first call; one that fails says its code."""
    calls: list[int] = []

    def divide(_: object, args: int, n: int) -> int:
        calls.append(n)
        x, y, out = (
            np.ctypeslib.as_array(ctypes.cast(each.data, ctypes.POINTER(ctypes.c_float)), (6,))
            for each in (Tensor * 3).from_address(args)
        )
        if fault == "":
            out[:] = x / y
        return 5 if fault == "fails" else 0

    own = Call(divide)
    given = (Import * 1)(Import(b"steps_0", own))
    listed = (ctypes.c_char_p * 2)(bytes(steps), None)
    status, module = opened(
        runtime,
        program,
        import_count=1,
        imports=ctypes.addressof(given),
        loaders=ctypes.addressof(listed),
    )
    assert status == 0, runtime.message()
    instance = runtime.instance(module, "f0")
    x, y = np.arange(6, dtype=np.float32), np.full(6, 2, np.float32)
    out = np.zeros(6, np.float32)
    name = inarch.load(program, loaders=[steps])["f0"].signature.outputs[0].name.encode()
    for port, array in ((b"v0", x), (b"v1", y)):
        words = instance, port, array.ctypes.data, array.nbytes
        assert not runtime.functions.inarch_bind_input(*words)
    assert not runtime.functions.inarch_bind_output(instance, name, out.ctypes.data, out.nbytes)
    owner = "(backend 'steps', from 'm.mlir:2:3')"
    where = f"{program}: error: f0: import 'steps_0' failed"
    if fault == "":
        assert [runtime.functions.inarch_run(instance) for _ in range(3)] == [0, 0, 0]
        np.testing.assert_array_equal(out, x / y)
        assert calls == [3, 3, 3]
    elif fault == "fails":
        assert runtime.functions.inarch_run(instance) == 5
        assert runtime.message() == f"{where} with code 5 {owner}"
    else:
        assert runtime.functions.inarch_run(instance) == Status.ARGUMENT
        assert runtime.message() == f"{where}: output 0 was never written {owner}"
    runtime.functions.inarch_instance_free(instance)
    runtime.close(module)


def test_forks_while_others_open(build: Build, model: Path) -> None:
    """Four threads open and close; children open, too."""
    program = build(HERE / "forks.c", [*find_compiler().command, "-std=c11"], "-D_GNU_SOURCE")
    assert subprocess.check_output([program, model, "100"], text=True) == "0 hung 0 wrong\n"


def test_a_child_goes_on_with_what_is_open(runtime: CRuntime, model: Path) -> None:
    """An instance of the parent runs in the child."""
    module = runtime.opened(model)
    instance = runtime.instance(module)
    x, y = arrays()
    bound(runtime, instance, x, y)
    child = os.fork()
    if child == 0:
        status = runtime.functions.inarch_run(instance)
        runtime.close(module)
        os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    runtime.functions.inarch_instance_free(instance)
    runtime.close(module)
