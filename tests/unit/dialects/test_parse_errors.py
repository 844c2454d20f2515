"""What is wrong in a program's text is said where it is, with the nearest right name; numbers are exact."""

from __future__ import annotations

import math

import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.ir.numbers import number_text, parse_number
from inarch.ir.text import parse_module

NEST = """func.func @main(%x: memref<4x8xf32>, %out: memref<4xf32> {inarch.result}) {
  loop.nest (m = 4, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>) outs(%out[m] init 0.0 : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    loop.yield %c : f32
  }
  func.return
}
"""
RELU = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


def message(text: str) -> str:
    with pytest.raises(InarchError) as raised:
        parse_module(new_context(), text, "a.mlir")
    return str(raised.value)


@pytest.mark.parametrize("name", ["graph.reluu", "grph.relu"])
def test_an_unknown_op_is_told_with_the_nearest_one(name: str) -> None:
    place = 8 + len(name)
    assert message(RELU.replace("graph.relu", name)) == (
        f"a.mlir:2:{place + 1}: Operation {name} is not registered; did you mean 'graph.relu'?"
    )


def test_a_name_that_is_near_to_nothing_has_no_hint() -> None:
    assert message(RELU.replace("graph.relu", "qqq.zzzzz")) == (
        "a.mlir:2:18: Operation qqq.zzzzz is not registered"
    )


def test_a_block_that_does_not_end() -> None:
    assert (
        message(RELU.rstrip("}\n") + "\n") == "a.mlir:4:1: expected '}', found the end of the text"
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "[m, k]",
            "[m * k, k]",
            "2:45: expected a linear index expression, found a product of iterators",
        ),
        ("[m, k]", "[m, q]", "2:48: no iterator 'q'. Known: k, m"),
        (
            "m = 4",
            "m = 4 vectr",
            "2:20: expected [reduction|scan] [parallel|unroll|vector] behind a size, found 'vectr'",
        ),
        (
            "k = 8 reduction",
            "k = 8 unroll reduction",
            "2:34: expected [reduction|scan] [parallel|unroll|vector] behind a size, found 'reduction'",
        ),
    ],
)
def test_what_is_wrong_in_a_nest(old: str, new: str, said: str) -> None:
    assert message(NEST.replace(old, new, 1)) == f"a.mlir:{said}"


@pytest.mark.parametrize(
    "value",
    [
        0,
        -7,
        0.0,
        -0.0,
        0.1,
        1e-05,
        1e22,
        5e-324,
        1.7976931348623157e308,
        math.inf,
        -math.inf,
        math.nan,
    ],
)
@pytest.mark.every_case(reason="each is written in another way")
def test_a_number_is_read_as_it_is_written(value: float) -> None:
    assert repr(parse_number(Parser(new_context(), number_text(value)))) == repr(value)


def test_a_boolean_is_no_number() -> None:
    with pytest.raises(ParseError, match="integer or float literal expected"):
        parse_number(Parser(new_context(), "true"))
