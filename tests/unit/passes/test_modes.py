"""Modes of iterators are obeyed by the C, or an error that names the iterator."""

from __future__ import annotations

import re

import numpy as np
import pytest

from inarch.backends.c import emit, run_function
from inarch.core.errors import UnsupportedError
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from inarch.testing import check_compiled

MAP = """module attributes {inarch.target = "x86-64"} {
func.func @f(%x: memref<6x8xf32>, %y: memref<6x8xf32> {inarch.result}) {
  loop.nest (LOOPS) ins(%x[i, j] : memref<6x8xf32>) outs(%y[i, j] : memref<6x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  }
  func.return
}
}"""
SUM = """module attributes {inarch.target = "x86-64"} {
func.func @f(%x: memref<6x8xf32>, %y: memref<6x8xf32> {inarch.result}) {
  loop.nest (LOOPS) ins(%x[i, j] : memref<6x8xf32>) outs(%y[i, j] init 0.0 : memref<6x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    loop.yield %r : f32
  }
  func.return
}
}"""


def emitted(text: str) -> str:
    """The C of the function."""
    context = new_context()
    module = parse_module(context, text, "m")
    text = emit(context, module).text
    found = re.search(r"void \*workspace\)\n\{\n(.*?)\n\}", text, re.DOTALL)
    assert found is not None
    return found.group(1)


@pytest.mark.every_case(reason="each is another form")
@pytest.mark.parametrize(
    ("loops", "has", "loops_left"),
    [
        ("i = 6, j = 8 vector", "v4f32", 1),
        ("i = 6 unroll, j = 8 vector", "v4f32", 0),
        ("j = 8, i = 6 unroll", "acc_5", 1),
        ("i = 6, j = 8", "x[i_j]", 1),
    ],
)
def test_what_reduces_nothing_is_a_tile_too(loops: str, has: str, loops_left: int) -> None:
    text = MAP.replace("LOOPS", loops)
    code = emitted(text)
    assert has in code
    assert code.count("for (") == loops_left
    x = np.arange(48, dtype=np.float32).reshape(6, 8)
    y = np.zeros_like(x)
    run_function(new_context(), parse_module(new_context(), text), "f", [x, y])
    np.testing.assert_array_equal(y, -x)


@pytest.mark.parametrize(
    ("loops", "copies"),
    [
        ("i = 6, j = 8, k = 3 reduction unroll", 3),
        ("i = 6, j = 8, k = 2 reduction unroll, l = 3 reduction unroll", 6),
    ],
)
def test_a_reduction_without_a_tile_is_copies(loops: str, copies: int) -> None:
    text = SUM.replace("LOOPS", loops)
    code = emitted(text)
    assert code.count("acc = ") + code.count("acc += ") >= copies
    x = np.arange(48, dtype=np.float32).reshape(6, 8)
    y = np.zeros_like(x)
    run_function(new_context(), parse_module(new_context(), text), "f", [x, y])
    np.testing.assert_array_equal(y, copies * x)


@pytest.mark.every_case(reason="each message is its own")
@pytest.mark.parametrize(
    ("text", "loops", "message"),
    [
        (MAP, "i = 6 unroll, j = 8", "'i = 6 unroll': it stands outside of j"),
        (SUM, "i = 6 unroll, k = 3 reduction, j = 8", "'i = 6 unroll': it stands outside of k"),
        (
            SUM,
            "k = 3 reduction, i = 6, j = 8 vector",
            "'j = 8 vector': expected unroll or vector for all that is inside with it, found i = 6 serial",
        ),
        (
            SUM,
            "i = 6, j = 8, k = 3 reduction vector",
            "'k = 3 vector': it is a sum, whose terms have an order",
        ),
        (
            SUM,
            "i = 6, j = 8, k = 2 reduction unroll, l = 3 reduction",
            "'k = 2 unroll': the reduction l = 3 serial stands inside of it",
        ),
        (
            SUM,
            "i = 6 scan, j = 8 vector",
            "'j = 8 vector': expected all that is inside of a scan to be unroll, found j = 8 vector",
        ),
        (
            SUM,
            "j = 8 unroll, i = 6 scan",
            "'j = 8 unroll': it stands outside of i",
        ),
    ],
)
def test_what_cannot_be_obeyed_names_the_iterator(text: str, loops: str, message: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        emitted(text.replace("LOOPS", loops))
    assert caught.value.line() == (
        f"m:3:3: error: 'loop.nest' cannot obey {message}; order the iterators otherwise, or make it serial"
    )


def test_a_chain_of_one_point_gets_no_copies() -> None:
    """It is no loop in C: copies beside a read with a pad would be a tile."""
    text = """func.func @f(%x: memref<3x6xf32>, %y: memref<4x6xf32> {inarch.result}) {
  loop.nest (i = 4, j = 6, k = 1 scan) ins(%x[i - 1, j + k] pad 1.5 : memref<3x6xf32>)
      outs(%y[i, j + k] init 0.0 : memref<4x6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    loop.yield %r : f32
  }
  func.return
}"""
    check_compiled(text, pipeline="schedule-nests")
