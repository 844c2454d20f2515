"""Positions of the largest and smallest elements, compiled: those of a search element by element."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import inarch
from compilers import command_of
from effort import SOAK, effort
from inarch.backends.c import run_function
from inarch.backends.c.write.arg_reduce import CHAINS, ROWS
from inarch.core.errors import UnsupportedError
from inarch.dialects import new_context
from inarch.dialects.loop.nest import nest_ops
from inarch.ir.text import parse_module
from inarch.machine.target import parse
from inarch.passes.loop.nests.arg_reduce import match_arg_reduction
from inarch.pipeline.manager import apply_pipeline
from inarch.pipeline.text import parse_pipeline
from inarch.tools.cli import run as inarch_cli

Array = np.ndarray[Any, Any]
NUMPY = {
    "f32": "f4",
    "f64": "f8",
    "i8": "i1",
    "ui8": "u1",
    "i16": "i2",
    "ui16": "u2",
    "i32": "i4",
    "ui32": "u4",
    "i64": "i8",
    "ui64": "u8",
}
LOOPS = "graph-to-loop,drop-unit-iterators,fuse-nests,schedule-nests,drop-unit-iterators"
TARGETS = [t for t in ("generic", "x86-64-v3", "x86-64-v4") if not parse(t).missing_here()]


def position(row: Array, op: str, *, last: bool) -> int:
    """The definition: NaN before all numbers, then the largest (smallest), then the first (last)."""
    best = 0
    for k in range(1, len(row)):
        x, y = row[k], row[best]
        better = (x > y if op == "argmax" else x < y) or (np.isnan(x) and not np.isnan(y))
        same = x == y or (np.isnan(x) and np.isnan(y))
        if better or (same and last):
            best = k
    return best


def positions(x: Array, op: str, axis: int, *, last: bool) -> Array:
    """The definition of each row."""
    rows = np.moveaxis(x, axis, -1)
    found = [position(row, op, last=last) for row in rows.reshape(-1, rows.shape[-1])]
    return np.array(found, np.int64).reshape(rows.shape[:-1])


def numbers(shape: Sequence[int], dtype: str, few: int, seed: int) -> Array:
    """Elements of which most are equal to others, the largest and smallest of all among them."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(NUMPY[dtype])
    if kind.kind == "f":
        pool = np.array([0.0, -0.0, 1.5, -np.inf, -1, np.inf, np.nan, 7, 1e-40], kind)
    else:
        info = np.iinfo(kind)
        pool = np.array([0, 1, info.min, 2, info.max, 7, info.max - 1], kind)
    return rng.choice(pool[:few], shape)


def check(
    op: str, x: Array, dtype: str, axis: int, flags: str = "", target: str = "generic"
) -> None:
    """Compiles the op, as the pipeline schedules it, and compares the positions."""
    shape, rank = x.shape, x.ndim
    last, keep = "last" in flags, "keepdims" in flags
    kept = [*shape[:axis], *([1] if keep else []), *shape[axis % rank + 1 :]]
    if axis < 0:
        kept = [*shape[: axis + rank], *([1] if keep else []), *shape[axis + rank + 1 :]]
    kind = f"tensor<{'x'.join([*map(str, shape), dtype])}>"
    result = f"tensor<{'x'.join([*map(str, kept), 'i64'])}>"
    said = "".join(f" {flag} = true" for flag in flags.split())
    context = new_context()
    module = parse_module(
        context,
        f'module attributes {{inarch.target = "{target}"}} {{\n'
        f"func.func @main(%x: {kind}) -> {result} {{\n"
        f"  %y = graph.{op} %x axis = {axis}{said} : {kind} -> {result}\n"
        f"  func.return %y : {result}\n}}\n}}",
    )
    apply_pipeline(context, module, parse_pipeline(LOOPS))
    assert all(match_arg_reduction(nest) is not None for nest in nest_ops(module))
    y = np.full(kept, -1, np.int64)
    run_function(context, module, "main", [x.view(x.dtype.str.replace("u", "i")), y])
    wanted = positions(x, op, axis, last=last)
    np.testing.assert_array_equal(y, wanted.reshape(kept), strict=True)


@pytest.mark.sampled(4, reason="each op, target and direction")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("flags", ["", "last"])
@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_the_only_one_is_found_wherever_it_is(op: str, flags: str, target: str) -> None:
    """A row for each place of it: in each lane of each chain, in the last whole vectors, and behind them."""
    size = 16 * CHAINS + 16 + 3
    rows = np.zeros((size, size), np.float32)
    np.fill_diagonal(rows, 1 if op == "argmax" else -1)
    check(op, rows, "f32", 1, flags, target)
    check(op, np.ascontiguousarray(rows[:, : 4 * ROWS + 3].T), "f32", 0, flags, target)


@pytest.mark.sampled(2, reason="each dtype and direction")
@pytest.mark.parametrize("flags", ["", "last"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_of_two_equal_ones_anywhere(dtype: str, flags: str) -> None:
    """NaN beside NaN, and 0 beside -0, in lanes and chains that are put together in every order."""
    size = 16 * CHAINS + 16 + 3
    ends = [0, 1, 5, 15, 16, 31, 40, 63, 64, 70, 79, 80, size - 1]
    pairs = [(a, b) for a in ends for b in ends if a < b]
    highs = ((0.0, -0.0), (-0.0, 0.0), (np.nan, np.nan), (np.nan, np.inf), (np.inf, np.nan))
    every = [(a, b, *high) for high in highs for a, b in pairs]
    rows = np.full((len(every), size), -1, NUMPY[dtype])
    for row, (a, b, first, second) in zip(rows, every, strict=True):
        row[a], row[b] = first, second
    check("argmax", rows, dtype, 1, flags)
    check("argmax", np.ascontiguousarray(rows.T), dtype, 0, flags)


@pytest.mark.parametrize(("number", "size"), list(enumerate([4, 16, 20, 33, 50, 64])))
def test_of_the_least_numbers_alone_one_of_them_is_found(number: int, size: int) -> None:
    """Rows of fewer vectors than there are chains: what has seen no element finds none."""
    every = (("f32", -np.inf), ("i32", -(2**31)), ("ui8", 0))
    for dtype, least in [every[(number + more) % 3] for more in range(effort(1, 3))]:
        rows = np.full((2, size), least, NUMPY[dtype])
        check("argmax", rows, dtype, 1, "last", TARGETS[-1])
        check("argmax", rows, dtype, 1, "", TARGETS[-1])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("axis", [0, 1])
def test_numbers_that_an_operator_with_a_constant_gives(axis: int, target: str) -> None:
    """A vector of the constant is named in the loop over whole blocks; the loop behind it names its own."""
    size = 16 * CHAINS + 16 + 3
    context = new_context()
    module = parse_module(
        context,
        f'module attributes {{inarch.target = "{target}"}} {{\n'
        f"func.func @main(%x: tensor<{size}x{size}xf32>) -> tensor<{size}xi64> {{\n"
        f"  %a = graph.clip %x low = 0.5 : tensor<{size}x{size}xf32> -> tensor<{size}x{size}xf32>\n"
        f"  %y = graph.argmax %a axis = {axis} : tensor<{size}x{size}xf32> -> tensor<{size}xi64>\n"
        f"  func.return %y : tensor<{size}xi64>\n}}\n}}",
    )
    apply_pipeline(context, module, parse_pipeline(LOOPS))
    assert sum(1 for _ in nest_ops(module)) == 1
    x = np.random.default_rng(0).standard_normal((size, size)).astype("f4") / 3
    y = np.full(size, -1, np.int64)
    run_function(context, module, "main", [x, y])
    np.testing.assert_array_equal(y, np.maximum(x, 0.5).argmax(axis))


@pytest.mark.parametrize(("shape", "axis"), [((9, 9001), 0), ((2, 6, 70, 130), 1), ((5, 5000), 1)])
def test_strips_and_rows_of_some_length(shape: tuple[int, ...], axis: int) -> None:
    """More columns than a strip has, of one dimension and of two; places above 4096."""
    x = np.random.default_rng(3).standard_normal(shape).astype("f4")
    check("argmax", x, "f32", axis)


@settings(max_examples=effort(8, 25), deadline=None)
@given(st.data())
def test_every_order_dtype_and_axis(data: st.DataObject) -> None:
    """Rows and columns at, below and beside the vectors and their chains; of none, of one, of many NaN."""
    rank = data.draw(st.integers(1, 3))
    shape = [data.draw(st.sampled_from((3, 1, 2, 5))) for _ in range(rank)]
    axis = data.draw(st.integers(-rank, rank - 1))
    longest = data.draw(st.integers(0, rank - 1))
    shape[longest] = data.draw(st.sampled_from((33, 1, 4, 15, 16, 17, 64, 67, 130, 200)))
    dtype = data.draw(st.sampled_from(list(NUMPY)))
    x = numbers(shape, dtype, data.draw(st.integers(1, 9)), data.draw(st.integers(0, 99)))
    flags = data.draw(st.sampled_from(("", "last", "keepdims", "keepdims last")))
    op = data.draw(st.sampled_from(("argmax", "argmin")))
    check(op, x, dtype, axis, flags, data.draw(st.sampled_from(TARGETS)))


NEST = """
func.func @f(%x: memref<40x3xf32>, %v: memref<3xf32>, %n: memref<3x{where}>) {{
  loop.nest ({loops}) ins(%x[k, i] : memref<40x3xf32>)
      outs(%v[i]{init} : memref<3xf32>, %n[i] init {first} : memref<3x{where}>) {{
  ^bb0(%a: f32, %b: f32, %q: {where}):
    %k = loop.point {place} : index
    %p = arith.index_cast %k : index to {where}
    %0 = arith.cmpf ogt, %a, %b : f32
    %1 = arith.cmpf oeq, %a, %b : f32
    %2 = arith.cmpf une, %a, %a : f32
    %3 = arith.cmpf oeq, %b, %b : f32
    %4 = arith.andi %2, %3 : i1
    %5 = arith.ori %0, %4 : i1
    %6 = arith.cmpf une, %b, %b : f32
    %7 = arith.andi %2, %6 : i1
    %8 = arith.ori %1, %7 : i1
    %9 = arith.cmpi slt, %p, %q : {where}
    %10 = arith.andi %8, %9 : i1
    %11 = arith.ori %5, %10 : i1
    %12 = arith.select %11, %a, %b : f32
    %13 = arith.select %11, %p, %q : {where}
    loop.yield %12, %13 : f32, {where}
  }}
  func.return
}}
"""


@pytest.mark.sampled(5, reason="each value of each parameter")
@pytest.mark.parametrize(
    "loops", ["i = 3, k = 40 reduction vector", "k = 40 reduction, i = 3"], ids=["rows", "strip"]
)
@pytest.mark.parametrize(
    ("place", "where"),
    [("k * 2 + 5", "i64"), ("-k + 39", "i64"), ("k * 9", "i8"), ("k - 128", "i8")],
    ids=["rising", "falling", "wrapping", "low"],
)
@pytest.mark.parametrize("init", [" init -inf", " init 0.5", ""], ids=["least", "number", "held"])
@pytest.mark.parametrize("first", [0, 6])
def test_a_search_goes_on_from_what_it_starts_with(
    loops: str, place: str, where: str, init: str, first: int
) -> None:
    """From what was found before, of which an equal one may be behind; places that fall, or that wrap."""
    context = new_context()
    text = NEST.format(loops=loops, place=place, where=where, init=init, first=first)
    module = parse_module(context, text)
    x = np.random.default_rng(1).choice(np.array([0.5, 0.25, -1], np.float32), (40, 3))
    x[:, 2] = 0.25
    v = np.array([0.5, 1.5, 0.25], np.float32)
    starts = v.copy() if not init else np.full(3, float(init.removeprefix(" init ")), np.float32)
    n = np.zeros(3, {"i64": np.int64, "i8": np.int8}[where])
    if "vector" in loops and place in ("-k + 39", "k * 9"):
        with pytest.raises(UnsupportedError, match="cannot obey 'k = 40 vector': expected an arg-"):
            run_function(context, module, "f", [x, v, n])
        module = parse_module(context, text.replace(" vector", ""))
    run_function(context, module, "f", [x, v, n])
    for i in range(3):
        value, at = starts[i], first
        for k in range(40):
            p = np.array(eval(place, {"k": k})).astype(n.dtype)
            if x[k, i] > value or (x[k, i] == value and p < at):
                value, at = x[k, i], p
        assert (v[i], n[i]) == (value, at)


def test_a_model_is_one_kernel_and_no_table(tmp_path: Path) -> None:
    """ArgMax had a table of 8 bytes for each element of a row in the artifact, and three kernels."""
    size = 70_000
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, size])
    y = helper.make_tensor_value_info("y", TensorProto.INT64, [3])
    node = helper.make_node("ArgMax", ["x"], ["y"], axis=1, keepdims=0)
    graph = helper.make_graph([node], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path, made = tmp_path / "m.onnx", tmp_path / "m.inarch"
    path.write_bytes(model.SerializeToString())
    text = inarch_cli(["compile", str(path), "--emit=kernel"]).out
    assert len(re.findall("loop.call @", text)) == 1
    assert inarch_cli(["compile", str(path), "-o", str(made)]).code == 0
    assert made.stat().st_size < 8 * size
    data = np.random.default_rng(0).standard_normal((3, size)).astype("f4")
    np.testing.assert_array_equal(inarch.load(made)(data), data.argmax(1))


@pytest.mark.parametrize("axis", [0, 1])
def test_threads_find_the_same(tmp_path: Path, axis: int) -> None:
    """Rows, and strips of columns, are shared; equal elements stand on both sides of each cut."""
    x = np.random.default_rng(0).integers(0, 3, (64, 20_000)).astype("f4")
    result = f"tensor<{x.shape[1 - axis]}xi64>"
    path = tmp_path / "m.mlir"
    path.write_text(
        f"func.func @main(%x: tensor<64x20000xf32>) -> {result} {{\n"
        f"  %y = graph.argmax %x axis = {axis} : tensor<64x20000xf32> -> {result}\n"
        f"  func.return %y : {result}\n}}"
    )
    for threads in (3, 1)[: effort(1, 2)]:
        compiled = inarch.compile(path, target="generic", threads=threads)
        np.testing.assert_array_equal(compiled(x), x.argmax(axis))


@cache
def forms_in_c(target: str, folder: Path) -> Path:
    """Rows and strips, with remainders, of floats, and of integers that are widened or unsigned.

    Arguments are called as what the emitter declares is.
    """
    names = {"now": "f32", "at": "i8", "best": "f64", "top": "ui32"}
    if not SOAK:  # half of them for each target
        names = dict(list(names.items())[:2] if target == "generic" else list(names.items())[2:])
    kinds = {name: f"tensor<19x150x{dtype}>" for name, dtype in names.items()}
    lines: list[str] = []
    types: list[str] = []
    for number, (argument, kind) in enumerate(kinds.items()):
        for axis in (0, 1):
            flags = " last = true" if number % 2 else ""
            op = "argmin" if number // 2 else "argmax"
            types.append(f"tensor<{(150, 19)[axis]}xi64>")
            name = f"%{len(lines)}"
            lines.append(
                f"{name} = graph.{op} %{argument} axis = {axis}{flags} : {kind} -> {types[-1]}"
            )
    body = "\n".join(lines)
    model, text = folder / f"{target}.mlir", folder / f"{target}.c"
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in kinds.items())
    results = ", ".join(f"%{number}" for number in range(len(lines)))
    model.write_text(
        f"func.func @main({arguments}) -> ({', '.join(types)}) {{\n{body}\n"
        f"func.return {results} : {', '.join(types)}\n}}"
    )
    made = inarch_cli(["compile", str(model), "--emit=c", "-o", str(text), "--target", target])
    assert made.code == 0
    assert text.read_text().count("mask") > 12 * len(names)
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forms")


@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang", "clang++"])
@pytest.mark.parametrize("target", ["generic", "x86-64-v4"])
def test_the_c_of_each_form_has_no_warning(
    folder: Path, tmp_path: Path, compiler: str, target: str
) -> None:
    """The optimizer of a compiler, which takes most of the time, warns of C as of C++: it is asked once."""
    program = command_of(compiler)
    arch = [] if target == "generic" else [f"-march={target}"]
    in_c = ["-std=c11", "-O3", "-c", "-o", str(tmp_path / "m.o")]
    how = ["-x", "c++", "-std=c++17", "-fsyntax-only"] if "++" in compiler else in_c
    text = str(forms_in_c(target, folder))
    subprocess.run([program, *how, *arch, "-Wall", "-Wextra", "-Werror", text], check=True)
