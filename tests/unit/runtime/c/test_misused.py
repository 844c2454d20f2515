"""Calls of libinarch on a program with every kind of port: names, buffers, workspaces, imports, threads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inarch.artifact.status import Status
from tests.unit.runtime.c.crafted import NARROW, PART, SIZES, TWICE, Index, Variant, of_variant
from tests.unit.runtime.c.test_c_doors import Call as Function
from tests.unit.runtime.c.test_c_doors import Import, Pair, Tensor, opened

NULL = ctypes.c_void_p()
Write = Callable[[Index], Path]


@Function
def nothing(_self: Any, _args: Any, _count: int) -> int:
    """Writes none of its outputs."""
    return 0


@Function
def all_ones(_self: Any, args: int, count: int) -> int:
    """Bytes of 1 in y and numbers."""
    for tensor, nbytes in zip((Tensor * count).from_address(args)[1:], (24, 8), strict=True):
        ctypes.memset(tensor.data, 1, nbytes)
    return 0


class Call:
    """`main` of the library of crafted.c, or another function, with its buffers."""

    def __init__(self, runtime: Any, path: Path, function: str = "main", **given: Any) -> None:
        self.runtime = runtime
        status, self.module = opened(runtime, path, flags=4, **given)
        assert status == 0, runtime.message()
        self.instance = runtime.instance(self.module, function)
        self.arrays = {
            "x": np.arange(6, dtype=np.float32).reshape(2, 3),
            "flags": np.array([0, 1], np.uint8),
            "y": np.zeros((2, 3), np.float32),
            "numbers": np.zeros(2, np.int32),
        }

    def bind(self, kind: str, name: str, place: int | None, nbytes: int) -> int:
        bind = getattr(self.runtime.functions, f"inarch_bind_{kind}")
        return bind(self.instance, name.encode(), place, nbytes)

    def bound(self) -> None:
        for name, array in self.arrays.items():
            kind = "input" if name in ("x", "flags") else "output"
            assert self.bind(kind, name, array.ctypes.data, array.nbytes) == 0

    def run(self) -> int:
        return self.runtime.functions.inarch_run(self.instance)

    def close(self) -> None:
        self.runtime.functions.inarch_instance_free(self.instance)
        self.runtime.close(self.module)


@pytest.fixture
def call(runtime: Any, write: Write) -> Iterator[Call]:
    one = Call(runtime, write(replace(Index(), functions=SIZES)))
    yield one
    one.close()


def test_arrays_without_elements(runtime: Any, call: Call) -> None:
    """They need no memory, and share what they are given with others; those with elements do not."""
    call.bound()
    assert call.run() == 0
    np.testing.assert_array_equal(call.arrays["y"], 2 * call.arrays["x"])
    assert call.bind("output", "nothing", None, 0) == 0
    assert call.bind("input", "empty", call.arrays["y"].ctypes.data + 4, 0) == 0
    assert call.bind("output", "nothing", call.arrays["y"].ctypes.data + 1, 0) == 0
    assert call.run() == 0
    assert call.bind("output", "numbers", call.arrays["y"].ctypes.data + 8, 8) == 0
    assert call.run() == Status.ARGUMENT
    assert runtime.message().endswith(
        ": error: main: output 'numbers': expected memory of its own, found that of output 'y'"
    )
    runtime.functions.inarch_instance_free(call.instance)
    call.instance = runtime.instance(call.module)
    for name in ("x", "flags"):
        array = call.arrays[name]
        assert call.bind("input", name, array.ctypes.data, array.nbytes) == 0
    assert call.run() == Status.UNBOUND
    assert runtime.message().endswith(
        ": error: main: output 'y' is not bound; bind every input and output before a run"
    )


def test_names_that_there_are_not(runtime: Any, write: Write, call: Call) -> None:
    other = Call(runtime, write(replace(Index(), functions=SIZES)), "made")
    assert other.bind("input", "x", None, 0) == Status.NAME
    assert runtime.message().endswith(": error: made: no input 'x'; there is none")
    other.close()
    place = ctypes.c_void_p()
    new = runtime.functions.inarch_instance_new
    assert new(call.module, b"none", None, NULL, ctypes.byref(place)) == Status.NAME
    assert not runtime.functions.inarch_function_at(call.module, -1)
    assert runtime.message().endswith(": error: expected a function from 0 to 7, found -1")
    module = runtime.opened(write(replace(Index(), functions=())))
    assert not runtime.functions.inarch_function_named(module, b"main")
    assert runtime.message().endswith(": error: no function 'main'; the first is ''")
    runtime.close(module)


def test_what_a_library_says_is_told_of_the_function(runtime: Any, call: Call) -> None:
    """Its text begins with the function's name, with that of another, or with none."""
    set_stream = runtime.functions.inarch_set_stream
    for number, said in enumerate(("no stream", "mainly: no stream", "no stream")):
        assert set_stream(call.instance, 2, number, None) == Status.ARGUMENT
        assert runtime.message().endswith(f"m.inarch: error: main: {said}")
    weights = (ctypes.c_int64 * 4)()
    set_own = runtime.functions.inarch_instance_set_weights
    for _ in range(2):  # of a state that it has not, and that it has
        assert set_own(call.instance, weights) == 0
    weights[1] = 7
    assert set_own(call.instance, weights) == Status.UNBOUND
    assert runtime.message().endswith("m.inarch: error: main: expected no weights")


def test_workspaces(runtime: Any, write: Write) -> None:
    """Too small, the caller's beside an allocator, and unknown to the allocator."""
    path = write(Index())
    call = Call(runtime, path)
    space = np.zeros(256, np.uint8)
    place = ctypes.c_void_p(space.ctypes.data + -space.ctypes.data % 64)
    new, instance = runtime.functions.inarch_instance_new, ctypes.c_void_p()
    small, whole = ctypes.c_size_t(63), ctypes.c_size_t(64)
    assert new(call.module, b"main", place, small, ctypes.byref(instance)) == Status.ARGUMENT
    assert runtime.message() == (
        f"{path}: error: main: workspace: expected at least 64 bytes, found 63"
    )
    call.close()
    given: list[int | None] = [None]
    released: list[int] = []

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    def allocate(_self: Any, _request: Any) -> int | None:
        return given[0]

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    def release(_self: Any, memory: int, _request: Any) -> None:
        released.append(memory)

    pair = Pair(*(ctypes.cast(each, ctypes.c_void_p).value for each in (allocate, release)))
    status, module = opened(runtime, path, allocator=ctypes.addressof(pair))
    assert status == 0
    assert new(module, b"main", None, NULL, ctypes.byref(instance)) == Status.NO_MEMORY
    assert runtime.message() == f"{path}: error: main: no memory for a workspace of 64 bytes"
    given[0] = place.value
    for own in (place, None):
        assert new(module, b"main", own, whole, ctypes.byref(instance)) == 0
        runtime.functions.inarch_instance_free(instance)
    assert released == [place.value]
    runtime.close(module)


def test_imports_write_all_that_they_give(runtime: Any, write: Write) -> None:
    """Outputs are found by their strides; nothing is known of one whose arguments the file does not tell."""
    own, other = replace(TWICE, name="first"), replace(TWICE, name="other")
    for called, function, status in (
        ((other, own), all_ones, Status.OK),
        ((other, own), nothing, Status.ARGUMENT),
        ((other,), nothing, Status.OK),
        ((), nothing, Status.OK),
    ):
        path = write(of_variant(Variant(imports=("first",), called=called)))
        imports = (Import * 1)(Import(b"first", function))
        call = Call(runtime, path, import_count=1, imports=ctypes.addressof(imports))
        call.bound()
        assert call.run() == status
        assert function is all_ones or not call.arrays["y"][1].any()  # nobody gave the second row
        call.close()
    imports = (Import * 1)(Import(b"f", nothing))
    found = opened(runtime, path, import_count=1, imports=ctypes.addressof(imports))
    assert found[0] == Status.NAME
    assert runtime.message() == f"{path}: error: no import 'f'; the first is 'first'"


def test_pools_and_how_many_threads_the_environment_says(
    runtime: Any, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(replace(Index(), prefix="shares"))
    for said in ("0", "-1", "3x", "x"):
        monkeypatch.setenv("INARCH_NUM_THREADS", said)
        assert runtime.open(path)[0] == Status.THREADS
        assert runtime.message() == (
            f"error: INARCH_NUM_THREADS: expected a number from 1 on, found '{said}'"
        )
    pool = Pair(1)
    for said in ("", "2"):
        monkeypatch.setenv("INARCH_NUM_THREADS", said)
        status, module = opened(runtime, path, pool=ctypes.addressof(pool))
        assert status == 0
        runtime.close(module)


def test_a_loader_is_given_the_allocator(runtime: Any, write: Write, crafted: Path) -> None:
    allocator, loaders = Pair(1, 1), (ctypes.c_char_p * 2)(bytes(crafted), None)
    path = write(of_variant(PART))
    given = {"allocator": allocator, "loaders": loaders}
    places = {name: ctypes.addressof(one) for name, one in given.items()}
    assert opened(runtime, path, **places)[0] == Status.UNSUPPORTED
    assert runtime.message() == (
        f"{path}[1]: error: loader 'raw' does not load it: no memory but libc's"
    )


def test_which_functions_are_other_sizes(runtime: Any, call: Call) -> None:
    """`main__2` is one of `main`; `main__x`, `main__`, `main_2`, `mainly` are not, nor is `main__3`."""
    fitting = runtime.functions.inarch_function_fitting
    dtype, sizes = (ctypes.c_uint8 * 4)(2, 32, 1, 0), (ctypes.c_int64 * 2)(3, 2)
    tensor = ctypes.byref(Tensor(None, (1, 0), 2, dtype, sizes, None, 0))
    for given, count, said in (
        (None, 1, "expected at most 3 inputs, found 0"),
        (tensor, -1, "expected at most 3 inputs, found -1"),
        (tensor, 4, "expected at most 3 inputs, found 4"),
        (
            tensor,
            1,
            "input 'x': expected f32[2, 3] or f32[2, 3], found f32[3, 2]; compile the model for it, too",
        ),
    ):
        assert not fitting(call.module, b"main", given, count)
        assert runtime.message().endswith(f"m.inarch: error: main: {said}")
    assert fitting(call.module, b"main", None, 0)
    sizes[:] = [2, 3]
    assert fitting(call.module, b"main", tensor, 1)
    assert not fitting(call.module, b"none", tensor, 1)


def test_as_many_sizes_are_told_as_fit(runtime: Any, write: Write) -> None:
    """A text of 600 bytes."""
    module = runtime.opened(write(replace(Index(), functions=(NARROW,) * 70)))
    dtype, sizes = (ctypes.c_uint8 * 4)(2, 32, 1, 0), (ctypes.c_int64 * 1)(5)
    tensor = ctypes.byref(Tensor(None, (1, 0), 1, dtype, sizes, None, 0))
    assert not runtime.functions.inarch_function_fitting(module, b"main__3", tensor, 1)
    assert runtime.message().endswith(", found f32[5]; compile the model for it, too")
    runtime.close(module)


FACTS = ("device", "inode", "size", "modified", "modified_ns", "changed", "changed_ns")


class Identity(ctypes.Structure):
    """inarch_rt_identity."""

    _fields_ = [(name, ctypes.c_int64) for name in FACTS]


def test_each_fact_tells_files_apart(runtime: Any) -> None:
    same = runtime.functions.inarch_rt_is_same
    one = Identity(*range(7))
    assert same(ctypes.byref(one), ctypes.byref(Identity(*range(7))))
    for name in FACTS:
        other = Identity(*range(7))
        setattr(other, name, 9)
        assert not same(ctypes.byref(one), ctypes.byref(other)), name


def test_types_are_cut_to_their_room(runtime: Any, call: Call) -> None:
    """`inarch_port_type` writes as many bytes as there are, with the 0 at their end."""
    function = runtime.functions.inarch_function_at(call.module, 0).contents
    for room in range(12):
        text = ctypes.create_string_buffer(b"?" * 20)
        runtime.functions.inarch_port_type(
            ctypes.byref(function.ports[0]), text, ctypes.c_size_t(room)
        )
        expected = b"f32[2, 3]"[: max(0, room - 1)]
        assert text.raw[: len(expected) + (room > 0)] == expected + b"\0" * (room > 0)
        assert text.raw[room:20] == b"?" * (20 - max(room, 0))
