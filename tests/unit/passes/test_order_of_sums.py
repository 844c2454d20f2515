"""Outputs of one product whose operands are equal come out equal, whichever tile computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import inarch
from effort import effort
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from targets import here

TARGETS = here("generic", "x86-64-v3", "x86-64-v4")


@pytest.mark.sampled(effort(3, 6), reason="each target, weights of both kinds")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("weights", ["constant", "at run time"])
def test_equal_columns_give_equal_sums(target: str, weights: str) -> None:
    """Full tiles and what remains beside them add in one order: a softmax of equal logits is even.

    Each column of the weights is the same, and numbers are such that every other order rounds otherwise.
    """
    rows, depth, columns = 1, 577, 1003
    generator = np.random.default_rng(0)
    column = generator.standard_normal(depth).astype(np.float32) * 1e3
    w = np.repeat(column[:, None], columns, axis=1)
    x = generator.standard_normal((rows, depth)).astype(np.float32)
    a, b, c = (
        f"tensor<{m}x{n}xf32>" for m, n in ((rows, depth), (depth, columns), (rows, columns))
    )
    inputs = f"%x: {a}, %w: {b}" if weights == "at run time" else f"%x: {a}"
    made = "" if weights == "at run time" else f"%w = graph.constant dense_resource<w> : {b}"
    context = new_context()
    if made:
        from inarch.ir.context import store_of

        store_of(context).set("w", w.tobytes())
    module = parse_module(
        context,
        f"""func.func @main({inputs}) -> {c} {{
  {made}
  %0 = graph.matmul %x, %w : {a}, {b} -> {c}
  func.return %0 : {c}
}}""",
    )
    run = inarch.compile(module, context=context, target=target)
    found: Any = run(x) if made else run(x, w)
    np.testing.assert_array_equal(found, np.repeat(found[:, :1], columns, axis=1))
    np.testing.assert_allclose(found[:, 0], x @ column, rtol=1e-3)
