"""Whether blocks are worth their loop: what they hand on, against products that get worse by them."""

from __future__ import annotations

import pytest

from inarch.dialects import new_context
from inarch.dialects.loop.control import ForOp
from inarch.dialects.loop.nest import NestOp
from inarch.driver.compiler import import_model
from inarch.driver.options import Options
from inarch.ir.text import parse_module
from inarch.machine.machine_file import MACHINES
from inarch.machine.target import parse
from inarch.passes.loop.nests.contraction import match_contraction
from inarch.passes.loop.tiling.core import Core
from inarch.pipeline.default import default_pipeline

FEED_FORWARD = """func.func @main(%x: tensor<128x768xf32>) -> tensor<128x768xf32> {
  %w = graph.constant dense<0.5> : tensor<768x3072xf32>
  %v = graph.constant dense<0.5> : tensor<3072x768xf32>
  %0 = graph.matmul %x, %w : tensor<128x768xf32>, tensor<768x3072xf32> -> tensor<128x3072xf32>
  %1 = graph.relu %0 : tensor<128x3072xf32> -> tensor<128x3072xf32>
  %2 = graph.matmul %1, %v : tensor<128x3072xf32>, tensor<3072x768xf32> -> tensor<128x768xf32>
  %3 = graph.softmax %2 axis = -1 : tensor<128x768xf32> -> tensor<128x768xf32>
  func.return %3 : tensor<128x768xf32>
}"""
EXPANSION = """func.func @main(%x: tensor<1x32x28x28xf32>) -> tensor<1x192x28x28xf32> {
  %w = graph.constant dense<0.5> : tensor<192x32x1x1xf32>
  %v = graph.constant dense<0.5> : tensor<192x1x3x3xf32>
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 :
    tensor<1x32x28x28xf32>, tensor<192x32x1x1xf32> -> tensor<1x192x28x28xf32>
  %1 = graph.relu %0 : tensor<1x192x28x28xf32> -> tensor<1x192x28x28xf32>
  %2 = graph.conv %1, %v strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 192 :
    tensor<1x192x28x28xf32>, tensor<192x1x3x3xf32> -> tensor<1x192x28x28xf32>
  func.return %2 : tensor<1x192x28x28xf32>
}"""
ATTENTION = """func.func @main(
    %q: tensor<12x512x64xf32>, %k: tensor<12x64x512xf32>, %v: tensor<12x512x64xf32>
) -> tensor<12x512x64xf32> {
  %0 = graph.matmul %q, %k : tensor<12x512x64xf32>, tensor<12x64x512xf32> -> tensor<12x512x512xf32>
  %1 = graph.softmax %0 axis = -1 : tensor<12x512x512xf32> -> tensor<12x512x512xf32>
  %2 = graph.matmul %1, %v : tensor<12x512x512xf32>, tensor<12x512x64xf32> -> tensor<12x512x64xf32>
  func.return %2 : tensor<12x512x64xf32>
}"""


def _most_products(text: str, target: str, machine: str) -> int:
    """How many products the loop with the most of them runs block by block."""
    context = new_context()
    module = parse_module(context, text)
    module = import_model(module, context, Options(target=target, machine=machine))
    for one in default_pipeline():
        one.apply(context, module)
        if one.name == "tile-and-fuse":
            break
    return max((_products(op) for op in module.walk() if isinstance(op, ForOp)), default=0)


def _products(loop: ForOp) -> int:
    nests = [op for op in loop.walk() if isinstance(op, NestOp)]
    return sum(match_contraction(nest) is not None for nest in nests)


MACHINES_OF_BOTH_KINDS = [("x86-64-v3", "zen3"), ("x86-64-v4", "zen4")]


@pytest.mark.parametrize(("target", "machine"), MACHINES_OF_BOTH_KINDS)
def test_weights_beyond_the_caches_are_read_once(target: str, machine: str) -> None:
    """An iteration of the loop would read 19 MB of them again: multiply-adds do not hide all of that."""
    assert _most_products(FEED_FORWARD, target, machine) == 0


def test_a_product_is_not_cut_into_columns_of_one_vector() -> None:
    """An expansion and its depthwise layer: the edges of zeros are all that blocks would hand on nearer."""
    assert _most_products(EXPANSION, "x86-64-v3", "zen3") < 2


@pytest.mark.parametrize(("target", "machine"), MACHINES_OF_BOTH_KINDS)
def test_attention_runs_in_blocks(target: str, machine: str) -> None:
    """What is handed on is 12 MB, and what iterations share is a head's keys and values."""
    assert _most_products(ATTENTION, target, machine) == 2


@pytest.mark.parametrize(
    ("target", "machine", "rows", "columns", "expected"),
    [
        # Fourteen rows by a vector: fifteen loads, two a cycle, for fourteen multiply-adds, two a cycle.
        ("x86-64-v3", "zen3", 1400, 8, 15 / 14),
        # Six by two: eight loads for twelve.
        ("x86-64-v3", "zen3", 1200, 16, 1.0),
        # Three rows by three vectors are nine sums, and eight are under way.
        ("x86-64-v3", "zen3", 3, 24, 1.0),
        # Of one row and one vector a sum waits for the one before: four cycles for half of one.
        ("x86-64-v3", "zen3", 1, 8, 8.0),
        # A load and a multiply-add a cycle, of vectors of 512 bits, and thirty registers for rows.
        ("x86-64-v4", "zen4", 1200, 16, 31 / 30),
    ],
)
def test_how_much_slower_few_rows_and_columns_are(
    target: str, machine: str, rows: int, columns: int, expected: float
) -> None:
    core = Core.of(MACHINES[machine], parse(target))
    assert core.slowness(rows, columns, 4) == pytest.approx(expected)
