"""Cumulative sums and products, compiled: bit for bit those of NumPy, which adds in order in their dtype."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import inarch
from compilers import command_of
from effort import effort
from inarch.backends.c import run_function
from inarch.core.errors import UnsupportedError
from inarch.dialects import new_context
from inarch.dialects.loop.nest import nest_ops
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.pipeline.manager import apply_pipeline
from inarch.pipeline.text import parse_pipeline
from inarch.tools.cli import run as inarch_cli

Array = np.ndarray[Any, Any]
NUMPY = {"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8", "i8": "i1"}
LOOPS = "graph-to-loop,drop-unit-iterators,fuse-nests,schedule-nests,drop-unit-iterators"


def cumulative(
    x: Array, op: str, axis: int, *, exclusive: bool = False, reverse: bool = False
) -> Array:
    """The definition, element by element."""
    combine, neutral = (np.add, 0) if op == "cumsum" else (np.multiply, 1)
    rows = np.moveaxis(x, axis, 0)[:: -1 if reverse else 1]
    found = np.empty_like(rows)
    acc = np.full(rows.shape[1:], neutral, x.dtype)
    with np.errstate(all="ignore"):
        for k, row in enumerate(rows):
            after = combine(acc, row, dtype=x.dtype) if k else row
            found[k], acc = (acc if exclusive else after), after
    return np.moveaxis(found[:: -1 if reverse else 1], 0, axis)


def numbers(shape: Sequence[int], dtype: str) -> Array:
    """Numbers whose sums round otherwise in every other order; integers that wrap."""
    rng = np.random.default_rng(len(shape))
    if dtype.startswith("f"):
        return (rng.standard_normal(shape) * 10 ** rng.uniform(-3, 3, shape)).astype(NUMPY[dtype])
    return rng.integers(-100, 100, shape).astype(NUMPY[dtype])


def check(op: str, shape: Sequence[int], dtype: str, axis: int, flags: str = "") -> None:
    """Compiles the op, as the pipeline schedules it, and compares the bits."""
    kind = f"tensor<{'x'.join([*map(str, shape), dtype])}>"
    said = "".join(f" {flag} = true" for flag in flags.split())
    context = new_context()
    module = parse_module(
        context,
        f"func.func @main(%x: {kind}) -> {kind} {{\n"
        f"  %y = graph.{op} %x axis = {axis}{said} : {kind} -> {kind}\n  func.return %y : {kind}\n}}",
    )
    apply_pipeline(context, module, parse_pipeline(LOOPS))
    assert any(nest.has_scan for nest in nest_ops(module))
    x = numbers(shape, dtype)
    y = np.empty_like(x)
    run_function(context, module, "main", [x, y])
    known = dict.fromkeys(flags.split(), True)
    np.testing.assert_array_equal(y, cumulative(x, op, axis, **known), strict=True)


@settings(max_examples=effort(6, 10), deadline=None)
@given(st.data())
def test_every_order_of_loops_gives_the_bits_of_numpy(data: st.DataObject) -> None:
    """Rows and columns at, below and beside what goes side by side; axes of 0 and 1; all four directions."""
    rank = data.draw(st.integers(1, 4))
    size = st.sampled_from((7, 1, 2, 3, 4, 5, 8, 9, 16, 33))
    shape = [data.draw(size) for _ in range(rank)]
    axis = data.draw(st.integers(-rank, rank - 1))
    shape[axis] = data.draw(st.sampled_from((0, 1, 2, 37)))
    flags = data.draw(st.sampled_from(("", "exclusive", "reverse", "exclusive reverse")))
    op = data.draw(st.sampled_from(("cumsum", "cumprod")))
    check(op, shape, data.draw(st.sampled_from(list(NUMPY))), axis, flags)


@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 9000), 0), ((2, 5, 70, 130), 1), ((6, 1000), 1), ((8, 2048), 1)]
)
def test_strips_and_rows_of_some_length(shape: tuple[int, ...], axis: int) -> None:
    """More columns than a strip has, of one dimension and of two; rows whose lines crowd a set."""
    check("cumsum", shape, "f32", axis)


SCAN = """
func.func @f(%x: memref<4x9xf32>, %y: memref<4x9xf32>) {{
  loop.nest ({loops}) ins({x}[i, k] : memref<4x9xf32>) outs(%y[i, k] init 0.0 : memref<4x9xf32>) {{
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }} finish {{
  ^bb0(%a: f32, %acc: f32):
    %s = arith.subf %acc, %a : f32
    loop.yield %s : f32
  }}
  func.return
}}
"""


@pytest.mark.parametrize(
    "loops", ["i = 4, k = 9 scan", "k = 9 scan, i = 4", "k = 9 scan, i = 4 unroll"]
)
def test_a_scan_may_write_where_it_reads(loops: str) -> None:
    """Each element is read at the point that writes it, before that; whatever a parallel loop's mode is."""
    context = new_context()
    text = SCAN.format(loops=loops, x="%y")
    module = parse_module(context, text)
    verify_module(module)
    x = numbers((4, 9), "f32")
    y = x.copy()
    run_function(context, module, "f", [np.zeros_like(x), y])
    np.testing.assert_array_equal(y, cumulative(x, "cumsum", 1) - x)


def test_too_many_accumulators_are_a_located_error() -> None:
    context = new_context()
    text = SCAN.format(loops="k = 9 scan, i = 5000", x="%x").replace("4x9", "5000x9")
    module = parse_module(context, text, "n")
    arrays = [np.zeros((5000, 9), np.float32) for _ in range(2)]
    with pytest.raises(UnsupportedError) as caught:
        run_function(context, module, "f", arrays)
    assert caught.value.message == (
        "'loop.nest' has 5000 accumulators inside its scan (at most 4096); order some of i outside it"
    )
    assert caught.value.where == "n:3:3"


@pytest.mark.sampled(3, reason="each axis, and both directions")
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("exclusive", [0, 1])
def test_a_model_is_one_kernel_for_each_of_its_nests(
    tmp_path: Path, axis: int, exclusive: int
) -> None:
    """A sum along 2**18 elements was 36 kernels: each step doubled what an element had summed up."""
    kinds = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 12]) for name in ("x", "y")]
    at = helper.make_tensor("a", TensorProto.INT64, [], [axis])
    node = helper.make_node("CumSum", ["x", "a"], ["y"], exclusive=exclusive, reverse=1)
    graph = helper.make_graph([node], "g", [kinds[0]], [kinds[1]], [at])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    text = inarch_cli(["compile", str(path), "--emit=kernel"]).out
    assert len(re.findall("loop.call @scan_", text)) == 1
    assert len(re.findall("loop.call @", text)) == 1 + exclusive
    compiled = inarch.compile(path, target="generic")
    x = numbers((8, 12), "f32")
    wanted = cumulative(x, "cumsum", axis, exclusive=bool(exclusive), reverse=True)
    np.testing.assert_array_equal(compiled(x), wanted)


@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang", "clang++"])
def test_the_c_of_each_form_has_no_warning(tmp_path: Path, compiler: str) -> None:
    """Rows and strips of floats and of integers that wrap, forwards and back, and exclusive ones."""
    program = command_of(compiler)
    lines: list[str] = []
    kinds = {"f64": "tensor<9x5000xf64>", "i8": "tensor<9x5000xi8>"}
    for dtype, op, axis, flags in (
        ("f64", "cumsum", 0, ""),
        ("f64", "cumprod", 1, " exclusive = true"),
        ("i8", "cumprod", 0, " reverse = true"),
        ("i8", "cumsum", 1, " exclusive = true reverse = true"),
    ):
        kind = kinds[dtype]
        lines.append(f"%{len(lines)} = graph.{op} %{dtype} axis = {axis}{flags} : {kind} -> {kind}")
    types = ", ".join([kinds["f64"]] * 2 + [kinds["i8"]] * 2)
    body = "\n".join(lines)
    model, text = tmp_path / "m.mlir", tmp_path / "m.c"
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in kinds.items())
    model.write_text(
        f"func.func @main({arguments}) -> ({types}) {{\n{body}\n"
        f"func.return %0, %1, %2, %3 : {types}\n}}"
    )
    made = inarch_cli(["compile", str(model), "--emit=c", "-o", str(text), "--target", "generic"])
    assert made.code == 0
    in_c = ["-std=c11", "-O3", "-c", "-o", str(tmp_path / "m.o")]
    how = ["-x", "c++", "-std=c++17", "-fsyntax-only"] if "++" in compiler else in_c
    subprocess.run([program, *how, "-Wall", "-Wextra", "-Werror", str(text)], check=True)
