"""Programs, and an algorithm from outside, for tests of algorithms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from inarch.definitions.expected import Expected
from inarch.diagnosis.allowed import DIRECTLY, expected_values
from inarch.diagnosis.slices import cut, steps
from inarch.dialects import new_context
from inarch.driver.compiler import import_model, lower
from inarch.driver.options import Options
from inarch.ir.report.facts import facts_of
from inarch.passes.lower.weighed import Algorithms

TARGET = "x86-64-v3"
Array = np.ndarray[Any, np.dtype[np.float32]]


def model(folder: Path, x: tuple[int, ...], outputs: int, pads: tuple[int, ...], seed: int) -> Path:
    """Blocks of channels around a convolution of 3x3 windows with a bias, followed by a ReLU."""
    rng = np.random.default_rng(seed)
    batch, channels, height, width = x
    shape = (height + pads[0] + pads[2] - 2, width + pads[1] + pads[3] - 2)
    image = "x".join(map(str, x))
    result = f"{batch}x{outputs}x{shape[0]}x{shape[1]}"
    weights = rng.standard_normal((outputs, channels, 3, 3)) * np.sqrt(2 / 9 / channels)
    path = folder / "m.mlir"
    path.write_text(f"""
func.func @main(%x: tensor<{image}xf32>) -> tensor<{result}xf32> {{
  %w = graph.constant dense_resource<w> : tensor<{outputs}x{channels}x3x3xf32>
  %b = graph.constant dense_resource<b> : tensor<{outputs}xf32>
  %0 = graph.conv %x, %w bias %b strides = [1, 1] pads = {list(pads)} dilations = [1, 1] groups = 1 :
    tensor<{image}xf32>, tensor<{outputs}x{channels}x3x3xf32>, tensor<{outputs}xf32> ->
    tensor<{result}xf32> loc("conv")
  %1 = graph.relu %0 : tensor<{result}xf32> -> tensor<{result}xf32>
  func.return %1 : tensor<{result}xf32>
}}
""")
    bias = rng.standard_normal(outputs)
    np.savez(path.with_suffix(".npz"), w=weights.astype("f4"), b=bias.astype("f4"))
    return path


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


OUTSIDE = """
from dataclasses import replace
from fractions import Fraction
from inarch.passes.lower.winograd.nests import algorithm
from inarch.passes.lower.winograd.points import Winograd

class Wrong(Winograd):
    @property
    def inputs(self):
        first, *rest = super().inputs
        return (tuple(one * Fraction(101, 100) for one in first), *rest)

POINTS = (Fraction(0), Fraction(1), Fraction(-1))
ALGORITHM = algorithm(Wrong(2, POINTS), 16, "", "")
"""


FAULTY = """
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.nest_spec import NestBuilder, same
from inarch.ir.types import f64
from inarch.passes.lower.algorithm import Algorithm, Bound
from inarch.passes.lower.graph_to_loop import lower_op

def write(builder, op, value, rows, at):
    nest = NestBuilder()
    c, h, w = nest.parallel("c", shape_of(value)[1]), nest.parallel("h", rows), nest.parallel("w", 6)
    spec = nest.spec([(0, 0, 0, 0)], (0, c, at(h), w), same)
    dtype = tensor_dtype(value)
    builder.nest(spec, [builder.buffers[op.x]], [dtype], builder.result(value), dtype)

def lower(op, builder):
    {lower}

ALGORITHM = Algorithm(ConvOp, lambda op: {refuses}, lower, lambda op, known: Bound(1.0))
"""
DIRECT = (
    "builder.nest(op.nest(), [builder.buffers[x] for x in op.operands], "
    "[tensor_dtype(x) for x in op.operands], builder.result(op.out), tensor_dtype(op.out))"
)
"""The op's own nest."""


CHAIN = """
func.func @main(%x: tensor<1x64x9x9xf32>) -> tensor<1x64x9x9xf32> {
  %w = graph.constant dense<0.5> : tensor<64x64x3x3xf32>
  CONV %x, %w ROW loc("layer1/0/conv")
  %1 = graph.relu %0 : tensor<1x64x9x9xf32> -> tensor<1x64x9x9xf32> loc("layer1/0/relu")
  CONV %1, %w ROW loc("layer1/1/conv")
  CONV %2, %w ROW loc("layer2/0/conv")
  func.return %3 : tensor<1x64x9x9xf32>
}
"""


def chain(folder: Path) -> Path:
    """Three convolutions in two layers."""
    row = "strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x64x9x9xf32>, "
    row += "tensor<64x64x3x3xf32> -> tensor<1x64x9x9xf32>"
    text = CHAIN.replace("ROW", row)
    for number in (0, 2, 3):
        text = text.replace("CONV", f"%{number} = graph.conv", 1)
    path = folder / "chain.mlir"
    path.write_text(text)
    return path


def allowed(path: Path, image: Array, name: str) -> Expected:
    """What the judge of `inarch verify` says of a convolution's result by an algorithm."""
    context = new_context()
    module = import_model(path, context)
    whole = cut(module, steps(module), every_value=True)
    taken = {"conv": frozenset({name})} if name != "direct" else DIRECTLY
    *_, own = expected_values(whole, context, dict.fromkeys(whole.takes, image), taken).values()
    return own


def taken(path: Path, **settings: Any) -> dict[str, list[str]]:
    """The algorithms by location: the chosen one, then the others that the policy allows."""
    options = Options.of(None, {"target": TARGET, **settings})  # pyright: ignore[reportArgumentType]
    context = new_context()
    module = import_model(path, context, options)
    lower(context, module, "loop", pipeline=options.passes())
    report = facts_of(context).get(Algorithms)
    assert report is not None, "the pass has run"
    return {where: [one.name for one in every if not one.refused] for where, every in report.found}
