"""Random nests, compiled, against an interpreter of `loop.nest`'s definition."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Region, SSAValue

from effort import effort
from inarch.backends.c import run_function
from inarch.core.errors import UnsupportedError
from inarch.dialects import new_context
from inarch.dialects.loop.access import number_of
from inarch.dialects.loop.nest import NestOp, nest_ops
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.passes.loop.nests.modes import check_modes

Array = np.ndarray[Any, Any]
NUMPY: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "i32": np.int32,
    "i64": np.int64,
    "i8": np.int8,
}


# ---------------------------------------------------------------------------------- interpreter


def interpret(op: NestOp, ins: list[Array], outs: list[Array]) -> None:
    """The docstring of `loop.nest`, word for word."""
    kinds = [iterator.is_reduction for iterator in op.iterators]
    outer = [i for i, reduces in enumerate(kinds) if not reduces]
    inner = [i for i, reduces in enumerate(kinds) if reduces]
    for p in product(*(range(op.sizes[i]) for i in outer)):
        point = dict(zip(outer, p, strict=True))
        start = [point.get(i, 0) for i in range(len(kinds))]
        places = [tuple(op.write_map(i).eval(start, [])) for i in range(len(outs))]
        accumulators: list[Any] = []
        for out, place, write in zip(outs, places, op.writes, strict=True):
            init = number_of(write.init)
            accumulators.append(_element(out, place, 0) if init is None else out.dtype.type(init))
        for r in product(*(range(op.sizes[i]) for i in inner)):
            point |= dict(zip(inner, r, strict=True))
            accumulators = _region(
                op, op.body, ins, [point[i] for i in range(len(kinds))], accumulators
            )
        if op.finish is not None:
            accumulators = _region(op, op.finish, ins, start, accumulators)
        for out, place, value in zip(outs, places, accumulators, strict=True):
            if _inside(out, place):
                out[place] = value


def _region(
    op: NestOp, region: Region, ins: list[Array], point: list[int], accumulators: list[Any]
) -> list[Any]:
    values: dict[SSAValue, Any] = dict(zip(op.accumulators(region), accumulators, strict=True))
    for i, (argument, array) in enumerate(zip(op.element_arguments(region), ins, strict=True)):
        pad = number_of(op.reads.data[i].pad)
        values[argument] = _element(array, tuple(op.read_map(i).eval(point, [])), pad)
    for inner in list(region.block.ops)[:-1]:
        operands = [values[operand] for operand in inner.operands]
        values[inner.results[0]] = _scalar(inner, operands)
    return [values[value] for value in op.yielded(region)]


def _inside(array: Array, place: tuple[int, ...]) -> bool:
    return all(0 <= i < n for i, n in zip(place, array.shape, strict=True))


def _element(array: Array, place: tuple[int, ...], pad: float | None) -> Any:
    if _inside(array, place):
        return array[place]
    return array.dtype.type(0 if pad is None else pad)


def _scalar(op: Any, values: list[Any]) -> Any:
    with np.errstate(over="ignore"):
        match op:
            case arith.ConstantOp():
                return NUMPY[str(op.result.type)](number_of(op.value))
            case arith.AddfOp() | arith.AddiOp():
                return values[0] + values[1]
            case arith.MulfOp() | arith.MuliOp():
                return values[0] * values[1]
            case arith.SubiOp() | arith.SubfOp():
                return values[0] - values[1]
            case arith.MaximumfOp() | arith.MaxSIOp():
                return np.maximum(values[0], values[1])
            case arith.ExtSIOp() | arith.ExtFOp():
                return NUMPY[str(op.result.type)](values[0])
            case _:
                raise AssertionError(op.name)


# ---------------------------------------------------------------------------------- generator


@dataclass(frozen=True)
class Case:
    """A contraction with a window, `c[m, n] += a[m * stride + j - low, k] * b[k, j, n]`, as a nest."""

    text: str
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    narrow, wide = draw(
        st.sampled_from([("f32", "f32"), ("f64", "f64"), ("i32", "i32"), ("i8", "i32")])
    )
    rows, columns, depth, taps = (draw(st.integers(1, most)) for most in (6, 20, 5, 3))
    stride = draw(st.integers(1, 2))
    tile_m, tile_n = draw(st.sampled_from([1, 2, 3])), draw(st.sampled_from([1, 2, 4, 8, 16]))
    modes = draw(st.booleans())
    padded = not modes and draw(st.booleans())
    mode_m = draw(st.sampled_from(["", " unroll"])) if modes else ""
    mode_n = draw(st.sampled_from(["", " unroll", " vector"])) if modes else ""
    mode_k = draw(st.sampled_from(["", " unroll"])) if modes else ""
    outer_m, outer_n = -(-rows // tile_m), -(-columns // tile_n)
    iterators = draw(
        st.permutations(
            [
                f"mo = {outer_m}",
                f"no = {outer_n}",
                f"mi = {tile_m}{mode_m}",
                f"ni = {tile_n}{mode_n}",
                f"k = {depth} reduction{mode_k}",
                f"j = {taps} reduction",
            ]
        )
    )
    reach_m, reach_n = outer_m * tile_m, outer_n * tile_n
    low = 1 if padded else 0
    length = max(1, rows * stride - 1) if padded else (reach_m - 1) * stride + taps
    width = columns if padded else reach_n
    pad = " pad 0.0" if narrow.startswith("f") else " pad 0"
    pad = pad if padded else ""
    zero = "0.0" if wide.startswith("f") else "0"
    init = draw(
        st.sampled_from(["", f" init {zero}", " init 3.0" if zero == "0.0" else " init -3"])
    )
    layout = draw(st.booleans())
    margin = 2 if layout else 0
    a, b = (length + margin, depth + margin), (depth, taps, width)
    c, bias = (rows + margin, columns + margin), (reach_n,)
    step = f"strided<[{depth + 2}, 1], offset: {depth + 3}>"
    a_view = f"memref<{length}x{depth}x{narrow}{', ' + step if layout else ''}>"
    step = f"strided<[{columns + 2}, 1], offset: {columns + 3}>"
    c_view = f"memref<{rows}x{columns}x{wide}{', ' + step if layout else ''}>"
    a_type, c_type = f"memref<{a[0]}x{a[1]}x{narrow}>", f"memref<{c[0]}x{c[1]}x{wide}>"
    b_type, bias_type = f"memref<{depth}x{taps}x{width}x{narrow}>", f"memref<{reach_n}x{wide}>"
    views = ""
    if layout:
        views = (
            f"%av = memref.subview %a[1, 1] [{length}, {depth}] [1, 1] : {a_type} to {a_view}\n"
            f"%cv = memref.subview %c[1, 1] [{rows}, {columns}] [1, 1] : {c_type} to {c_view}\n"
        )
    v = "v" if layout else ""
    m, n = f"mo * {tile_m} + mi", f"no * {tile_n} + ni"
    position = f"mo * {tile_m * stride} + mi * {stride} + j{' - 1' if low else ''}"
    letter = "f" if wide.startswith("f") else "i"
    widen = "arith.extsi" if narrow != wide else ""
    cast = (
        f"%xw = {widen} %x : {narrow} to {wide}\n%yw = {widen} %y : {narrow} to {wide}\n"
        if widen
        else ""
    )
    w = "w" if widen else ""
    maximum = "maximumf" if letter == "f" else "maxsi"
    finish = (
        f"finish {{\n^bb0(%x: {narrow}, %y: {narrow}, %z: {wide}, %acc: {wide}):\n"
        f"%s = arith.add{letter} %acc, %z : {wide}\n%o = arith.constant {zero} : {wide}\n"
        f"%r = arith.{maximum} %s, %o : {wide}\nloop.yield %r : {wide}\n}}"
    )
    text = (
        f'module attributes {{inarch.target = "{draw(st.sampled_from(["x86-64", "x86-64-v3"]))}"}} {{\n'
        f"func.func @f(%a: {a_type}, %b: {b_type}, %bias: {bias_type}, %c: {c_type}) {{\n{views}"
        f"loop.nest ({', '.join(iterators)}) ins(%a{v}[{position}, k]{pad} : {a_view}, "
        f"%b[k, j, {n}]{pad} : {b_type}, %bias[{n}] : {bias_type}) "
        f"outs(%c{v}[{m}, {n}]{init} clip : {c_view}) {{\n"
        f"^bb0(%x: {narrow}, %y: {narrow}, %z: {wide}, %acc: {wide}):\n{cast}"
        f"%p = arith.mul{letter} %x{w}, %y{w} : {wide}\n%s = arith.add{letter} %acc, %p : {wide}\n"
        f"loop.yield %s : {wide}\n}} {finish if draw(st.booleans()) else ''}\nfunc.return\n}}\n}}\n"
    )
    return Case(text, (a, b, bias, c), (narrow, narrow, wide, wide))


def obeyed(text: str) -> str:
    """Without its modes where they are an error."""
    (nest,) = nest_ops(parse_module(new_context(), text))
    try:
        check_modes(nest)
    except UnsupportedError:
        return text.replace(" unroll", "").replace(" vector", "")
    return text


def check(case: Case) -> None:
    context = new_context()
    module = parse_module(context, obeyed(case.text))
    verify_module(module)
    generator = np.random.default_rng(len(case.text))
    arrays = [
        generator.integers(-4, 5, shape).astype(NUMPY[dtype])
        for shape, dtype in zip(case.shapes, case.dtypes, strict=True)
    ]
    expected = [array.copy() for array in arrays]
    inner = [slice(1, -1)] * 2 if "subview" in case.text else [slice(None)] * 2
    views = [expected[0][tuple(inner)], expected[1], expected[2], expected[3][tuple(inner)]]
    interpret(nest_ops(module)[0], views[:3], views[3:])
    run_function(context, module, "f", arrays)
    for found, wanted in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(found, wanted, err_msg=case.text)


@settings(max_examples=effort(4, 6), deadline=None)
@given(cases())
def test_contractions_agree_with_their_definition(case: Case) -> None:
    check(case)


@pytest.mark.fuzz
@settings(max_examples=120, deadline=None)
@given(cases())
def test_many_contractions_agree_with_their_definition(case: Case) -> None:
    check(case)


# ---------------------------------------------------------------------------------- by hand


def _module(body: str, target: str = "x86-64-v3") -> tuple[Any, ModuleOp]:
    context = new_context()
    module = parse_module(
        context, f'module attributes {{inarch.target = "{target}"}} {{\n{body}\n}}', "n"
    )
    verify_module(module)
    return context, module


TILE = """
func.func @f(%a: memref<4x9xf32>, %b: memref<9x{n}xf32>, %c: memref<4x{n}xf32>) {{
  loop.nest (k = 9 reduction, m = 4 {m_mode}, n = {n} {n_mode}{extra})
      ins(%a[m, k]{pad} : memref<4x9xf32>, %b[k, n] : memref<9x{n}xf32>)
      outs(%c[m, n] init 0.0 : memref<4x{n}xf32>) {{
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  }}
  func.return
}}
"""


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"n": 24, "m_mode": "unroll", "n_mode": "vector", "pad": "", "extra": ""},
            "'loop.nest' expected a power of two of vector lanes, found n = 24",
        ),
        (
            {"n": 8, "m_mode": "vector", "n_mode": "vector", "pad": "", "extra": ""},
            "'loop.nest' expected at most one vector iterator, found m, n",
        ),
        (
            {"n": 2048, "m_mode": "", "n_mode": "", "pad": "", "extra": ""},
            "'loop.nest' has 8192 accumulators inside its outermost reduction (at most 4096); "
            "order some of m, n outside it",
        ),
        (
            {"n": 512, "m_mode": "unroll", "n_mode": "unroll", "pad": "", "extra": ""},
            "'loop.nest' expected at most 1024 copies of the body, found 2048",
        ),
    ],
)
def test_nests_that_have_no_form_are_located_errors(fields: dict[str, Any], message: str) -> None:
    context, module = _module(TILE.format(**fields))
    arrays = [np.zeros(s, np.float32) for s in ((4, 9), (9, fields["n"]), (4, fields["n"]))]
    with pytest.raises(UnsupportedError) as caught:
        run_function(context, module, "f", arrays)
    assert caught.value.message == message
    assert caught.value.where == "n:4:3"


def test_a_padded_read_in_a_register_tile_is_a_located_error() -> None:
    body = TILE.format(n=8, m_mode="unroll", n_mode="vector", pad=" pad 0.0", extra="")
    body = body.replace("%a[m, k]", "%a[m + 1, k]")
    context, module = _module(body)
    arrays = [np.zeros(s, np.float32) for s in ((4, 9), (9, 8), (4, 8))]
    with pytest.raises(UnsupportedError) as caught:
        run_function(context, module, "f", arrays)
    expected = "'loop.nest' a read with pad cannot be vectorised; run materialize-padding first"
    assert caught.value.message == expected


def test_several_outputs_see_each_others_old_value() -> None:
    """Arg max: the index is kept where the maximum is not replaced."""
    context, module = _module("""
func.func @f(%x: memref<3x50xf32>, %best: memref<3xf32>, %at: memref<3xi64>) {
  loop.nest (i = 3, k = 50 reduction) ins(%x[i, k] : memref<3x50xf32>)
      outs(%best[i] init -inf : memref<3xf32>, %at[i] init 0 : memref<3xi64>) {
  ^bb0(%v: f32, %b: f32, %n: i64):
    %more = arith.cmpf ogt, %v, %b : f32
    %one = arith.constant 1 : i64
    %next = arith.addi %n, %one : i64
    %m = arith.select %more, %v, %b : f32
    %p = arith.select %more, %next, %n : i64
    loop.yield %m, %p : f32, i64
  }
  func.return
}""")
    x = np.sort(np.random.default_rng(3).standard_normal((3, 50)).astype(np.float32), axis=1)
    best, at = np.zeros(3, np.float32), np.zeros(3, np.int64)
    run_function(context, module, "f", [x, best, at])
    np.testing.assert_array_equal(best, x.max(1))
    np.testing.assert_array_equal(at, [50, 50, 50])


@pytest.mark.parametrize("size", [0, 1])
def test_sizes_zero_and_one(size: int) -> None:
    context, module = _module(f"""
func.func @f(%x: memref<{size}x3xf32>, %o: memref<3xf32>) {{
  loop.nest (j = 3, k = {size} reduction) ins(%x[k, j] : memref<{size}x3xf32>)
      outs(%o[j] init 7.0 : memref<3xf32>) {{
  ^bb0(%v: f32, %acc: f32):
    %s = arith.addf %acc, %v : f32
    loop.yield %s : f32
  }}
  func.return
}}""")
    out = np.zeros(3, np.float32)
    run_function(context, module, "f", [np.ones((size, 3), np.float32), out])
    np.testing.assert_array_equal(out, np.full(3, 7.0 + size, np.float32))


@pytest.mark.parametrize("clip", ["", " clip"])
def test_a_finish_may_read_beyond_an_operand(clip: str) -> None:
    """In a register tile: the bias ends with the output (clipped), or before it (padded)."""
    columns = 10 if clip else 16
    context, module = _module(f"""
func.func @f(%a: memref<5x16xf32>, %bias: memref<10xf32>, %o: memref<{columns}xf32>) {{
  loop.nest (no = 2, k = 5 reduction, n = 8 vector) ins(%a[k, no * 8 + n] : memref<5x16xf32>,
      %bias[no * 8 + n] pad 0.5 : memref<10xf32>)
      outs(%o[no * 8 + n] init 0.0{clip} : memref<{columns}xf32>) {{
  ^bb0(%x: f32, %b: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    loop.yield %s : f32
  }} finish {{
  ^bb0(%x: f32, %b: f32, %acc: f32):
    %s = arith.addf %acc, %b : f32
    loop.yield %s : f32
  }}
  func.return
}}""")
    a = np.arange(80, dtype=np.float32).reshape(5, 16)
    bias = np.arange(10, dtype=np.float32)
    out = np.full(columns, np.nan, np.float32)
    run_function(context, module, "f", [a, bias, out])
    wanted = a.sum(0) + np.concatenate([bias, np.full(6, 0.5, np.float32)])
    np.testing.assert_array_equal(out, wanted[:columns])


@pytest.mark.parametrize("init", [" init 0.0", ""])
@pytest.mark.parametrize("vectors", [1, 2, 4])
def test_a_tile_of_several_vectors_a_row_is_stored_across(vectors: int, init: str) -> None:
    """Through a local array, which is also where its accumulators begin, of rows of whole registers."""
    columns = 4 * vectors
    context, module = _module(
        f"""
func.func @f(%a: memref<3x5xf32>, %b: memref<5x{columns}xf32>, %c: memref<{columns}x3xf32>) {{
  loop.nest (k = 5 reduction, m = 3 unroll, n = {columns} vector)
      ins(%a[m, k] : memref<3x5xf32>, %b[k, n] : memref<5x{columns}xf32>)
      outs(%c[n, m]{init} : memref<{columns}x3xf32>) {{
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  }}
  func.return
}}""",
        "x86-64",
    )
    rng = np.random.default_rng(vectors)
    a, b, c = (
        rng.integers(-4, 5, shape).astype(np.float32)
        for shape in ((3, 5), (5, columns), (columns, 3))
    )
    wanted = (a @ b).T + (0 if init else c)
    run_function(context, module, "f", [a, b, c])
    np.testing.assert_array_equal(c, wanted)
