"""Functions of a program that call each other: compiled, whatever memory they need."""

from __future__ import annotations

import numpy as np
import pytest

import inarch
from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.ir.context import store_of
from inarch.ir.text import parse_module

CALLED_TWICE = """
func.func private @f(%x: tensor<20xf32>) -> tensor<20xf32> {
  %w = graph.constant dense_resource<w> : tensor<20xf32>
  %v = graph.add %w, %w : tensor<20xf32>, tensor<20xf32> -> tensor<20xf32>
  %s = graph.mul %x, %v : tensor<20xf32>, tensor<20xf32> -> tensor<20xf32>
  %t = graph.softmax %s axis = 0 : tensor<20xf32> -> tensor<20xf32>
  func.return %t : tensor<20xf32>
}
func.func @main(%x: tensor<20xf32>) -> tensor<20xf32> {
  %a = graph.call @f(%x) : tensor<20xf32> -> tensor<20xf32>
  %b = graph.call @f(%a) : tensor<20xf32> -> tensor<20xf32>
  func.return %b : tensor<20xf32>
}
"""


def test_a_function_that_needs_scratch_memory_is_called_twice() -> None:
    """Its constants, which folding replaces, are those of both calls."""
    context = new_context()
    weights = np.arange(20, dtype=np.float32)
    store_of(context).set("w", weights.tobytes())
    x = np.linspace(0, 1, 20, dtype=np.float32)
    found = inarch.compile(parse_module(context, CALLED_TWICE), context=context)(x)
    expected = x.astype(np.float64)
    for _ in range(2):
        expected = np.exp(expected * 2 * weights - (expected * 2 * weights).max())
        expected /= expected.sum()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)


def test_functions_that_double_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = "tensor<2xf32>"
    text = f"func.func private @f0(%x: {kind}) -> {kind} {{\n  func.return %x : {kind}\n}}\n"
    for number in range(1, 40):
        name = "@main" if number == 39 else f"private @f{number}"
        call = f"graph.call @f{number - 1}"
        text += (
            f"func.func {name}(%x: {kind}) -> {kind} {{\n"
            f"  %a = {call}(%x) : {kind} -> {kind}\n  %b = {call}(%a) : {kind} -> {kind}\n"
            f"  %c = graph.add %a, %b : {kind}, {kind} -> {kind}\n  func.return %c : {kind}\n}}\n"
        )
    monkeypatch.setenv("INARCH_MAX_NODES", "200")
    context = new_context()
    with pytest.raises(
        InarchError, match=r"expected at most 200 nodes, found \d+; where you trust"
    ):
        inarch.compile(parse_module(context, text), context=context)
