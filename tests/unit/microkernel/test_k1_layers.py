"""K1: every layer of ResNet-50 and BERT on a GEMM from outside, a library's and plain C, equals NumPy.

The numbers are small integers, whose sums float32 holds exactly: results are equal, in whatever order
a kernel adds. Each layer is a function of one program, so that it is built once.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

import inarch
from inarch.benchmark.layers import LAYER_SETS, Conv, Layer
from inarch.benchmark.subject.arrays import Arrays
from inarch.benchmark.subject.program import program_of
from inarch.core.plugins import load_file
from inarch.dialects import new_context
from inarch.driver.compiler import build
from inarch.ir.report.facts import facts_of
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.tensorize.report import KernelReport

Array = np.ndarray[Any, Any]

EXAMPLES = Path(__file__).parents[3] / "examples" / "microkernels"
LAYERS = (*LAYER_SETS["resnet50"].layers, *LAYER_SETS["bert"].layers)
KERNELS = [
    pytest.param(
        "sgemm_openblas.py",
        marks=pytest.mark.skipif(
            importlib.util.find_spec("scipy_openblas32") is None, reason="needs scipy-openblas32"
        ),
    ),
    "gemm_tile.c",
]


@dataclass(frozen=True)
class Case:
    """A layer as a function, its operands, and what NumPy makes of them."""

    name: str
    layer: Layer
    arrays: Arrays

    @property
    def inputs(self) -> list[Array]:
        both = not isinstance(self.layer, Conv) and self.layer.batch
        return [self.arrays.x, self.arrays.w] if both else [self.arrays.x]


def case(index: int, layer: Layer) -> Case:
    rng = np.random.default_rng(index)

    def integers(shape: Sequence[int]) -> Array:
        return rng.integers(-3, 4, tuple(shape)).astype(np.float32)

    x, w = integers(layer.input_shape), integers(layer.weight_shape)
    if isinstance(layer, Conv):
        bias = integers([layer.outputs])
    else:
        bias = integers([layer.n]) if layer.bias else None
    return Case(f"layer{index}", layer, Arrays(x, w, bias))


def smaller(layer: Layer) -> Layer:
    """The same window, stride and kind of remainder, in a hundredth of the time."""
    if isinstance(layer, Conv):
        size = max(7, layer.height // 4)
        channels = max(3, layer.channels // 16)
        return replace(
            layer, channels=channels, height=size, width=size, outputs=layer.outputs // 16
        )
    few = 4 if layer.batch else 16
    batch = min(layer.batch, 3)
    return replace(layer, m=layer.m // 4, n=layer.n // few, k=layer.k // few, batch=batch)


def by_numpy(one: Case) -> Array:
    """The layer, from its definition."""
    layer, x, w, bias = one.layer, one.arrays.x, one.arrays.w, one.arrays.bias
    if not isinstance(layer, Conv):
        return x @ w if bias is None else x @ w + bias
    pad = (layer.pad, layer.pad)
    padded = np.pad(x[0], ((0, 0), pad, pad))
    window = (layer.window, layer.window)
    windows = np.lib.stride_tricks.sliding_window_view(padded, window, axis=(1, 2))
    windows = windows[:, :: layer.stride, :: layer.stride]
    found = np.tensordot(w, windows, axes=([1, 2, 3], [0, 3, 4]))
    assert bias is not None
    return np.maximum(found + bias[:, None, None], 0)[None]


def program(cases: Sequence[Case], context: Context) -> ModuleOp:
    """A module with a function for each layer."""
    functions: list[FuncOp] = []
    for one in cases:
        (main,) = program_of(one.layer, one.arrays, context).body.ops
        assert isinstance(main, FuncOp)
        main.detach()
        main.sym_name = StringAttr(one.name)
        functions.append(main)
    return ModuleOp(functions, {"inarch.name": StringAttr("layers")})


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    file = cast("str", request.param)
    with MICROKERNELS.scope():
        load_file(EXAMPLES / file, {"microkernel": MICROKERNELS})
        yield file.partition(".")[0].replace("_", "-")


def check(
    cases: Sequence[Case],
    kernel: str,
    folder: Path,
    target: str = "native",
) -> None:
    """Every sum of products is the kernel's, and every layer equals NumPy."""
    context = new_context()
    path = folder / "layers.inarch"
    module = program(cases, context)
    build(module, path, context=context, target=target, microkernels=[kernel])
    report = facts_of(context).get(KernelReport)
    assert report is not None
    sums = [nest for nest in report.nests if nest.reduces]
    assert [str(nest) for nest in sums if nest.taken is None or nest.taken.kernel != kernel] == []
    assert {nest.function for nest in sums} == {one.name for one in cases}

    loaded = inarch.load(path)
    wrong = [
        one.layer.name
        for one in cases
        if not np.array_equal(np.asarray(loaded[one.name](*one.inputs)), by_numpy(one))
    ]
    assert wrong == []


@pytest.mark.slow
@pytest.mark.sampled(4, reason="each layer once, on each kernel and for each target")
@pytest.mark.parametrize("target", ["native", "generic"])
@pytest.mark.parametrize("quarter", range(4))
def test_layers_scaled_down(kernel: str, quarter: int, target: str, tmp_path: Path) -> None:
    """K1: each of the 23 convolutions and 5 products, with fewer channels and pixels."""
    cases = [case(index, smaller(layer)) for index, layer in enumerate(LAYERS)]
    check(cases[quarter::4], kernel, tmp_path, target)


@pytest.mark.slow
def test_layers_of_full_size(kernel: str, tmp_path: Path) -> None:
    """K1: each of the 23 convolutions of ResNet-50 and the 5 products of BERT."""
    check([case(index, layer) for index, layer in enumerate(LAYERS)], kernel, tmp_path)
