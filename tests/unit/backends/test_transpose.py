"""Copies that run along other loops in their source than in their destination, by blocks in registers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import StringAttr

from effort import effort
from inarch.backends.c import run_function
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.passes.loop.schedule_nests import ScheduleNestsPass

Array = np.ndarray[Any, Any]
NUMPY = {"f32": "f4", "f64": "f8", "i32": "i4", "i16": "i2", "i8": "i1"}


def nest(shape: tuple[int, ...], perm: tuple[int, ...], dtype: str, offset: int = 0) -> str:
    """A copy of `in` into `out`, whose dimensions are those of `in` in another order."""
    loops = [f"d{at}" for at in range(len(shape))]
    sizes = ", ".join(f"{name} = {size}" for name, size in zip(loops, shape, strict=True))
    index = ", ".join(
        f"d{at} + {offset}" if offset and at == 0 else f"d{at}" for at in range(len(shape))
    )
    inner = (shape[0] + offset, *shape[1:])
    source = f"memref<{'x'.join(map(str, inner))}x{dtype}>"
    target = f"memref<{'x'.join(str(shape[at]) for at in perm)}x{dtype}>"
    out = ", ".join(f"d{at}" for at in perm)
    return f"""func.func @main(%in: {source}, %out: {target} {{inarch.result}}) {{
  loop.nest ({sizes}) ins(%in[{index}] : {source}) outs(%out[{out}] : {target}) {{
  ^bb0(%x: {dtype}, %acc: {dtype}):
    loop.yield %x : {dtype}
  }}
  func.return
}}
"""


def run(shape: tuple[int, ...], perm: tuple[int, ...], dtype: str, offset: int = 0) -> None:
    """Compiles the copy, and compares each element with NumPy's transpose."""
    context = new_context()
    module = parse_module(context, nest(shape, perm, dtype, offset))
    verify_module(module)
    rng = np.random.default_rng(0)
    source = rng.integers(0, 120, (shape[0] + offset, *shape[1:])).astype(NUMPY[dtype])
    target = np.zeros([shape[at] for at in perm], NUMPY[dtype])
    run_function(context, module, "main", [source, target])
    np.testing.assert_array_equal(target, np.transpose(source[offset:], perm))


@settings(max_examples=effort(5, 8), deadline=None)
@given(st.data())
def test_every_element_arrives(data: st.DataObject) -> None:
    """Sizes below, at and beside blocks of 4 and lines of 16; every order of up to four dimensions."""
    rank = data.draw(st.integers(2, 4))
    sizes = st.sampled_from((1, 3, 4, 5, 7, 8, 15, 16, 17, 20, 33))
    shape = tuple(data.draw(sizes) for _ in range(rank))
    perm = tuple(data.draw(st.permutations(range(rank))))
    run(shape, perm, data.draw(st.sampled_from(list(NUMPY))), data.draw(st.sampled_from((0, 0, 2))))


def test_rows_and_columns_that_are_left() -> None:
    """37 = 2 lines and 5 elements, 9 = 2 blocks and 1."""
    run((37, 9), (1, 0), "f32")
    run((9, 37), (1, 0), "f64")
    run((2, 9, 3, 37), (0, 3, 2, 1), "i32", offset=1)


@pytest.mark.sampled(4, reason="each number of positions and of channels")
@pytest.mark.parametrize("positions", [4, 6, 8, 13])
@pytest.mark.parametrize("channels", [5, 16, 31])
def test_windows(positions: int, channels: int) -> None:
    """`out[k, i, c] = in[c, k + i]`: two loops run along the source, as where a window is packed."""
    context, width = new_context(), 3
    source = f"memref<{channels}x{positions + width - 1}xf32>"
    target = f"memref<{width}x{positions}x{channels}xf32>"
    text = f"""func.func @main(%in: {source}, %out: {target} {{inarch.result}}) {{
  loop.nest (k = {width}, i = {positions}, c = {channels})
    ins(%in[c, k + i] : {source}) outs(%out[k, i, c] : {target}) {{
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }}
  func.return
}}
"""
    given = np.random.default_rng(0).random((channels, positions + width - 1), np.float32)
    found = np.zeros((width, positions, channels), np.float32)
    run_function(context, parse_module(context, text), "main", [given, found])
    expected = np.stack([given[:, k : k + positions].T for k in range(width)])
    np.testing.assert_array_equal(found, expected)


def test_bits_are_moved_as_they_are() -> None:
    """A signalling NaN, and a NaN with a payload, are not arithmetic."""
    context = new_context()
    module = parse_module(context, nest((8, 8), (1, 0), "f32"))
    bits = np.full((8, 8), 0x7F800001, np.uint32) + np.arange(64, dtype=np.uint32).reshape(8, 8)
    target = np.zeros((8, 8), np.float32)
    run_function(context, module, "main", [bits.view(np.float32), target])
    np.testing.assert_array_equal(target.view(np.uint32), bits.T)


def chain(shape: tuple[int, ...], perm: tuple[int, ...], dtype: str) -> str:
    """`out[perm] = f(in) + w[perm] + place`, where `w` has one number a row of `out`."""
    loops = [f"d{at}" for at in range(len(shape))]
    sizes = ", ".join(f"{loops[at]} = {shape[at]}" for at in perm)
    source = f"memref<{'x'.join(map(str, shape))}x{dtype}>"
    target = f"memref<{'x'.join(str(shape[at]) for at in perm)}x{dtype}>"
    row, out = f"memref<{shape[perm[0]]}x{dtype}>", ", ".join(loops[at] for at in perm)
    ops = (
        f"%f = math.tanh %x : {dtype}\n %s = arith.addf %f, %b : {dtype}\n"
        f"%n = arith.sitofp %i : i64 to {dtype}\n %y = arith.addf %s, %n : {dtype}"
        if dtype.startswith("f")
        else f"%f = arith.muli %x, %x : {dtype}\n %s = arith.addi %f, %b : {dtype}\n"
        f"%n = arith.trunci %i : i64 to {dtype}\n %y = arith.addi %s, %n : {dtype}"
    )
    return f"""func.func @main(%in: {source}, %w: {row}, %out: {target} {{inarch.result}}) {{
  loop.nest ({sizes})
    ins(%in[{", ".join(loops)}] : {source}, %w[{loops[perm[0]]}] : {row}) outs(%out[{out}] : {target}) {{
  ^bb0(%x: {dtype}, %b: {dtype}, %acc: {dtype}):
    %p = loop.point {loops[perm[-1]]} : index
    %i = arith.index_cast %p : index to i64
    {ops}
    loop.yield %y : {dtype}
  }}
  func.return
}}
"""


def run_chain(shape: tuple[int, ...], perm: tuple[int, ...], dtype: str) -> None:
    """Schedules and compiles the chain, and compares each element with NumPy."""
    context = new_context()
    module = parse_module(context, chain(shape, perm, dtype))
    module.attributes["inarch.target"] = StringAttr("x86-64-v3")
    ScheduleNestsPass().apply(context, module)
    verify_module(module)
    rng = np.random.default_rng(0)
    source = rng.integers(-9, 9, shape).astype(NUMPY[dtype])
    row = rng.integers(-9, 9, shape[perm[0]]).astype(NUMPY[dtype])
    target: Array = np.zeros([shape[at] for at in perm], NUMPY[dtype])
    run_function(context, module, "main", [source, row, target])
    turned = np.transpose(source, perm)
    value: Array = np.tanh(turned) if dtype.startswith("f") else turned * turned
    place: Array = np.arange(shape[perm[-1]]).astype(NUMPY[dtype])
    expected: Array = value + row.reshape(-1, *(1,) * (len(shape) - 1)) + place
    np.testing.assert_allclose(target, expected.astype(NUMPY[dtype]), rtol=1e-6, atol=1e-6)


@settings(max_examples=effort(5, 8), deadline=None)
@given(st.data())
def test_what_is_computed_across_is_the_same_in_any_order(data: st.DataObject) -> None:
    """Sizes of less than a vector, of strips and of no strip; strides that are powers of two and are not."""
    rank = data.draw(st.integers(2, 4))
    sizes = st.sampled_from((1, 2, 4, 7, 8, 16, 24, 32))
    shape = tuple(data.draw(sizes) for _ in range(rank))
    perm = tuple(data.draw(st.permutations(range(rank))))
    run_chain(shape, perm, data.draw(st.sampled_from(["f32", "f64", "i32", "i16", "i8"])))


def test_strips_of_rows_are_whole() -> None:
    """512 = 32 strips of 16, 96 of less than 64 points, and an axis between those of the transpose."""
    run_chain((40, 512), (1, 0), "f32")
    run_chain((64, 96), (1, 0), "i8")
    run_chain((64, 3, 128), (2, 1, 0), "f32")
