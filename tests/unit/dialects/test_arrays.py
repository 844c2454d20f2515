"""Arrays across the C interface, one property at a time: order of bytes, strides, places, masks, overlap."""

# ruff: noqa: E501 - a message reads better with its line unbroken

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from inarch.artifact.manifest import (
    Port,
    Signature,
    Value,
    port_of,
)
from inarch.core.dtypes import DTYPES
from inarch.core.errors import ArgumentError, InarchError, UnsupportedError
from inarch.core.lazy import Array, np
from inarch.core.outside.value import Document
from inarch.machine.target import parse
from inarch.runtime.abi import ffi
from inarch.runtime.function import Function
from inarch.runtime.loaders.examplejson.graph import Tensor
from inarch.runtime.loaders.examplejson.ops import OPS, Misfit
from inarch.runtime.tensor import as_array, as_output, check, describe, view

MANIFEST = Document("a.inarch", "manifest.json")
PORT = Port("x", DTYPES["f32"], (2, 3))


class Keeper:
    """The test keeps the memory itself."""

    def release(self, pointer: Any) -> None:
        """Nothing to do."""


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (
            np.zeros((2, 3), ">f4"),
            "f: expected f32[2, 3], found the other byte order; convert it with x.astype(np.float32)",
        ),
        (
            np.zeros((3, 2), "f4").T,
            "f: expected f32[2, 3] in row-major order, found strides (4, 8); use np.ascontiguousarray(x)",
        ),
        (
            np.zeros((2, 6), "f4")[:, ::2],
            "f: expected f32[2, 3] in row-major order, found strides (24, 8); use np.ascontiguousarray(x)",
        ),
        (
            np.zeros(25, "u1")[1:].view("f4").reshape(2, 3),
            "f: expected f32[2, 3], found an address that is not aligned; use x.copy()",
        ),
        (np.zeros((2, 3), "f8"), "f: expected f32[2, 3], found f64[2, 3]; convert it with x.astype(np.float32)"),
        (
            np.zeros((3, 2), "f4"),
            "f: expected f32[2, 3], found f32[3, 2]; where its axes are in another order: "
            "np.ascontiguousarray(x.transpose(1, 0))",
        ),
        (np.zeros((2, 1, 3), "f4"), "f: expected f32[2, 3], found f32[2, 1, 3]; x.reshape((2, 3)) fits"),
        (np.zeros(6, "f4"), "f: expected f32[2, 3], found f32[6]; x.reshape((2, 3)) fits"),
        (np.zeros((2, 4), "f4"), "f: expected f32[2, 3], found f32[2, 4]; pass an array of that shape"),
    ],
)  # fmt: skip
def test_an_array_that_does_not_fit_says_what_would(array: Array, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        check(array, PORT, "f")
    assert caught.value.message == message


def test_a_masked_array_is_no_array() -> None:
    masked: Any = np.ma.masked_array(np.zeros((2, 3), "f4"), mask=True)
    with pytest.raises(ArgumentError) as caught:
        as_array(masked, PORT, "f")
    expected = "f: expected f32[2, 3], found a masked array; use x.filled(value)"
    assert caught.value.message == expected


def test_an_output_that_is_read_only_is_refused() -> None:
    array = np.zeros((2, 3), "f4")
    array.flags.writeable = False
    with pytest.raises(ArgumentError) as caught:
        as_output(array, PORT, "f")
    expected = "f: expected an array that can be written, found a read-only one"
    assert caught.value.message == expected


def test_a_number_is_no_output() -> None:
    """NumPy makes an array of it, which nobody else sees."""
    with pytest.raises(ArgumentError) as caught:
        as_output(np.float32(0), Port("x", DTYPES["f32"], ()), "f")
    expected = "f: expected an array that can be written, found a float32"
    assert caught.value.message == expected


def test_bools_are_0_or_1() -> None:
    port = Port("m", DTYPES["i1"], (2,))
    function = Function("f", Signature((port,), ()), lambda _: None)
    function(np.array([True, False]))
    with pytest.raises(ArgumentError) as caught:
        function(np.array([0, 2], np.uint8).view(np.bool_))
    assert caught.value.message == (
        "f: argument 'm': expected bools of 0 or 1, found a byte of 2; use x.view(np.uint8) != 0"
    )


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (
            np.zeros(2, ">f4"),
            "expected an array in this machine's byte order, found the other; convert it with x.astype(np.float32)",
        ),
        (
            np.zeros(2, [("a", "f4"), ("b", "u1")])["a"],
            r"expected an aligned array, found elements of 4 bytes at strides \(5,\) from address .*; use x.copy\(\)",
        ),
        (
            np.zeros(9, "u1")[1:].view("f4"),
            r"expected an aligned array, found elements of 4 bytes at strides \(4,\) from address .*; use x.copy\(\)",
        ),
    ],
)  # fmt: skip
def test_what_no_dltensor_describes(array: Array, message: str) -> None:
    with pytest.raises(ArgumentError, match=message.replace("(np.float32)", r"\(np.float32\)")):
        describe(array, ffi().new("DLTensor *"))


@pytest.mark.parametrize("steps", [(1, 1), (-1, 1), (1, -2), (-1, -1)])
def test_a_tensor_of_any_strides_is_seen_as_it_was_described(steps: tuple[int, int]) -> None:
    array = np.arange(24, dtype=np.float32).reshape(4, 6)[:: steps[0], :: steps[1]]
    tensor = ffi().new("DLTensor *")
    kept = describe(array, tensor)
    np.testing.assert_array_equal(view(tensor, writeable=False, owner=Keeper()), array)
    assert kept is not None


def test_a_tensor_begins_at_its_byte_offset() -> None:
    array = np.arange(6, dtype=np.float32)
    tensor = ffi().new("DLTensor *")
    kept = describe(array[:4], tensor)
    tensor.byte_offset = 8
    np.testing.assert_array_equal(view(tensor, writeable=False, owner=Keeper()), array[2:])
    assert kept is not None


def test_a_tensor_of_vectors_is_refused() -> None:
    tensor = ffi().new("DLTensor *")
    kept = describe(np.zeros(4, "f4"), tensor)
    tensor.dtype.lanes = 4
    with pytest.raises(UnsupportedError) as caught:
        view(tensor, writeable=False, owner=Keeper())
    assert caught.value.message == "DLPack dtype (2, 32, 4) is not supported"
    assert kept is not None


def double(arrays: Sequence[Array]) -> None:
    for out in arrays[2:]:
        out[...] = arrays[0] + 2 * arrays[1]


PORTS = tuple(Port(name, DTYPES["f32"], (2,)) for name in "abcd")
F = Function("f", Signature(PORTS[:2], PORTS[2:]), double)
ONE, TWO = np.array([1, 2], "f4"), np.array([10, 20], "f4")


def test_inputs_by_name_go_to_their_place() -> None:
    wanted = ONE + 2 * TWO
    for found in (F(ONE, TWO), F(ONE, b=TWO), F(b=TWO, a=ONE)):
        np.testing.assert_array_equal(found[0], wanted)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: F(ONE, a=TWO), "f: input 'a' is given twice, by position and by name"),
        (lambda: F(ONE, TWO, b=TWO), "f: input 'b' is given twice, by position and by name"),
        (lambda: F(ONE), "f: expected 2 arguments (a: f32[2], b: f32[2]), found 1"),
        (lambda: F(ONE, TWO, ONE), "f: expected 2 arguments (a: f32[2], b: f32[2]), found 3"),
        (
            lambda: F(ONE, TWO, out=(ONE, np.zeros(2, "f4"))),
            "f: output 'c': expected memory of its own, found that of input 'a'",
        ),
        (
            lambda: F(ONE, TWO, out=[np.zeros(2, "f4")] * 2),
            "f: output 'd': expected memory of its own, found that of output 'c'",
        ),
    ],
)
def test_a_call_that_does_not_fit_says_why(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("target", "vector", "registers"),
    [
        ("x86-64", 16, 16),
        ("x86-64-v2+avx2", 16, 16),  # without FMA
        ("x86-64-v3", 32, 16),
        ("x86-64-v4", 64, 32),
        ("aarch64", 16, 32),
        ("generic", 16, 16),
    ],
)
def test_vectors_of_a_target(target: str, vector: int, registers: int) -> None:
    assert (parse(target).vector_bytes, parse(target).vector_registers) == (vector, registers)


def test_sums_of_many_floats_add_up_in_double_precision() -> None:
    """As the reference does: in f32 the last ones would be lost."""
    x = np.array([1 << 24, *[1.0] * 64], np.float32)
    out = Tensor(DTYPES["f32"], ())
    found = OPS["reduce_sum"].compute([x], out, {"axes": (0,), "keepdims": False})
    assert float(found) == (1 << 24) + 64


@pytest.mark.parametrize("value", [True, -1, 1 << 62, 1.0, "1", None])
def test_what_is_no_size(value: object) -> None:
    with pytest.raises(InarchError) as caught:
        Value(value, "weights_bytes", MANIFEST).size()
    shown = "nothing" if value is None else repr(value)
    assert caught.value.message == f"manifest.json: weights_bytes: expected a size, found {shown}"


def test_an_array_that_no_memory_holds_is_no_port() -> None:
    port = {"name": "x", "dtype": "f32", "shape": [1 << 31, 1 << 31]}
    with pytest.raises(InarchError) as caught:
        port_of(Value(port, "inputs[0]", MANIFEST))
    expected = "manifest.json: inputs[0].shape: expected an array that fits in memory, found [2147483648, 2147483648]"
    assert caught.value.message == expected


def test_features_imply_others_to_the_end() -> None:
    """A compiler that is told -mavx512vnni uses all of these."""
    wanted = {
        "avx512f",
        "avx2",
        "fma",
        "f16c",
        "avx",
        "sse4.2",
        "sse4.1",
        "ssse3",
        "sse3",
        "popcnt",
    }
    assert wanted <= parse("x86-64+avx512vnni").features


@pytest.mark.parametrize(
    ("dtype", "limit", "fits"),
    [
        ("i32", 2.5, False),
        ("i32", 2.0, True),
        ("ui8", 255.0, True),
        ("ui8", 256.0, False),
        ("f32", 2.5, True),
    ],
)
def test_integers_are_clipped_at_integers(dtype: str, limit: float, *, fits: bool) -> None:
    x = Tensor(DTYPES[dtype], (2,))
    attrs = {"low": limit, "high": None}
    if fits:
        assert OPS["clip"].infer([x], x, attrs) == x
        return
    with pytest.raises(Misfit) as caught:
        OPS["clip"].infer([x], x, attrs)
    assert str(caught.value) == "low is no value of the dtype"


@pytest.mark.parametrize("name", ["é", "a-b", "1a", ""])
def test_what_is_no_symbol(name: str) -> None:
    with pytest.raises(InarchError) as caught:
        Value(name, "prefix", MANIFEST).identifier()
    expected = f"manifest.json: prefix: expected a C identifier, found {name!r}"
    assert caught.value.message == expected


@pytest.mark.parametrize("axes", [(1, 0), (0, 0), (0, 2), (-1,)])
def test_axes_of_a_sum_ascend(axes: tuple[int, ...]) -> None:
    x = Tensor(DTYPES["f32"], (2, 3))
    with pytest.raises(Misfit) as caught:
        OPS["reduce_sum"].infer([x], x, {"axes": axes, "keepdims": False})
    assert str(caught.value) == "axes have to ascend within rank 2"
