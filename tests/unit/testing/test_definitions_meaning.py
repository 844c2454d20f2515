"""Definitions by themselves: what nests, views and kernels mean, and what has no meaning."""

from __future__ import annotations

import re

import numpy as np
import pytest

from inarch.core.errors import InarchError
from inarch.core.lazy import Array
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from inarch.testing import execute, expected_of, run_pass


def nest(head: str, body: str, arguments: str, inside: str = "") -> str:
    return (
        f"func.func @main({arguments}) {{\n{inside}  loop.nest {head} {{\n  {body}\n  }}\n"
        "  func.return\n}\n"
    )


COPY = "^body(%x: f32, %y: f32):\n    loop.yield %x : f32"
SUM = "^body(%x: f32, %y: f32):\n    %s = arith.addf %x, %y : f32\n    loop.yield %s : f32"


def test_a_window_with_a_pad_a_stride_and_a_start() -> None:
    """Outside of the buffer a read is the pad; without init the sum begins at what was there."""
    text = nest(
        "(i = 3, r = 3 reduction) ins(%a[i * 2 + r - 1] pad 10.0 : memref<5xf32>) "
        "outs(%b[i] : memref<3xf32>)",
        SUM,
        "%a: memref<5xf32>, %b: memref<3xf32>",
    )
    a = np.array([1, 2, 3, 4, 5], np.float32)
    (found,) = execute(text, [a])
    (start,) = execute(text, [np.zeros(5, np.float32)])
    np.testing.assert_allclose(found - start, [3, 9, 9], rtol=1e-5)  # pads are in both
    fresh = text.replace("%b[i] :", "%b[i] init 0.0 :")
    np.testing.assert_array_equal(execute(fresh, [a])[0], [13, 9, 19])


@pytest.mark.parametrize(
    ("predicate", "wanted"),
    [
        ("ord", [1, 0, 0, 0]),
        ("uno", [0, 1, 1, 1]),
        ("oeq", [1, 0, 0, 0]),
        ("une", [0, 1, 1, 1]),
        ("true", [1, 1, 1, 1]),
        ("false", [0, 0, 0, 0]),
    ],
)
def test_a_comparison_sees_a_nan_on_either_side(predicate: str, wanted: list[int]) -> None:
    """By its value, and by its bounds."""
    body = (
        "^body(%x: f32, %y: f32, %z: i1):\n"
        f"    %c = arith.cmpf {predicate}, %x, %y : f32\n    loop.yield %c : i1"
    )
    text = nest(
        "(i = 4) ins(%a[i] : memref<4xf32>, %b[i] : memref<4xf32>) outs(%r[i] : memref<4xi1>)",
        body,
        "%a: memref<4xf32>, %b: memref<4xf32>, %r: memref<4xi1> {inarch.result}",
    )
    inputs = [np.array([1, 1, np.nan, np.nan], "f4"), np.array([1, np.nan, 1, np.nan], "f4")]
    (found,) = execute(text, inputs)
    np.testing.assert_array_equal(found, np.array(wanted, bool))
    context = new_context()
    (expected,) = expected_of(context, parse_module(context, text), inputs)
    assert expected.accepts(found).all()
    assert not expected.accepts(~found).any()


def test_an_empty_output_is_a_program() -> None:
    """Its row-major strides are 0, and still no two elements are one: there are none."""
    text = nest(
        "(i = 2, j = 2, k = 0) ins(%a[i, j, k] : memref<2x2x0xf32>) outs(%b[i, j, k] : memref<2x2x0xf32>)",
        COPY,
        "%a: memref<2x2x0xf32>, %b: memref<2x2x0xf32>",
    )
    assert run_pass(text, "cse")
    (found,) = execute(text, [np.zeros((2, 2, 0), np.float32)])
    assert found.shape == (2, 2, 0)


def test_what_is_clipped_is_not_written() -> None:
    text = nest(
        "(i = 2, j = 4) ins(%a[i * 4 + j] pad 0.0 : memref<5xf32>) "
        "outs(%b[i * 4 + j] clip : memref<5xf32>)",
        COPY,
        "%a: memref<5xf32>, %b: memref<5xf32>",
    )
    a = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(execute(text, [a])[0], a)


def test_a_reduction_without_points_is_its_init() -> None:
    text = nest(
        "(i = 2, r = 0 reduction) ins(%a[i, r] : memref<2x0xf32>) outs(%b[i] init 7.0 : memref<2xf32>)",
        SUM,
        "%a: memref<2x0xf32>, %b: memref<2xf32>",
    )
    np.testing.assert_array_equal(execute(text, [np.zeros((2, 0), np.float32)])[0], [7, 7])


def test_a_scan_writes_what_finish_makes_of_each_step_and_goes_on_without_it() -> None:
    """Backwards; two accumulators, of which one reads what the other was; no point writes nothing."""
    text = """
func.func @main(%a: memref<3xi8>, %p: memref<3xi8>, %q: memref<3xi8> {inarch.result}) {
  loop.nest (k = 3 scan) ins(%a[-k + 2] : memref<3xi8>)
      outs(%p[k] init 100 : memref<3xi8>, %q[-k + 2] init 0 : memref<3xi8>) {
  ^body(%x: i8, %s: i8, %t: i8):
    %next = arith.addi %s, %x : i8
    %sum = arith.addi %t, %s : i8
    loop.yield %next, %sum : i8, i8
  } finish {
  ^last(%x: i8, %s: i8, %t: i8):
    %less = arith.subi %t, %x : i8
    loop.yield %t, %less : i8, i8
  }
  func.return
}""".replace("%p: memref<3xi8>,", "%p: memref<3xi8> {inarch.result},")
    a = np.array([1, 20, 30], np.int8)
    p, q = execute(text, [a])
    assert p.tolist() == [100, -26, 124]  # 100, 100 + 130, 230 + 150, of 8 bits
    assert q.tolist() == [123, -46, 70]  # 380 - 1, 230 - 20, 100 - 30
    empty = text.replace("k = 3 scan", "k = 0 scan")
    before = execute(empty, [a])
    assert [each.tolist() for each in execute(empty, [a * 0])] == [each.tolist() for each in before]


POINT = """
func.func @main(%y: memref<2x3xi64> {{inarch.result}}) {{
  loop.nest ({loops}) outs(%y[i, j] init 0 : memref<2x3xi64>) {{
  ^bb0(%acc: i64):
    %k = loop.point {place} : index
    %p = arith.index_cast %k : index to i64
    {step}
    loop.yield %s : i64
  }} finish {{
  ^bb0(%acc: i64):
    %k = loop.point i * 1000 - j * 100 : index
    %p = arith.index_cast %k : index to i64
    %s = arith.addi %acc, %p : i64
    loop.yield %s : i64
  }}
  func.return
}}"""
ADD = "%s = arith.addi %acc, %p : i64"
HORNER = "%t = arith.addi %acc, %acc : i64\n    %s = arith.addi %t, %p : i64"
"""Twice the accumulator, and the place: an order of its own."""


@pytest.mark.parametrize(
    ("loops", "place", "step"),
    [
        ("i = 2, j = 3", "i * 10 + j + 5", ADD),
        ("j = 3, i = 2", "i * 10 - j", ADD),
        ("i = 2, r = 4 reduction, j = 3, q = 2 reduction", "i * 10 + r * 2 - q + j", ADD),
        ("r = 1 reduction, i = 2, j = 3", "r * 9 + i + j * 2", ADD),
        ("r = 4 reduction, j = 3, q = 2 reduction, i = 2", "i * 10 + r * 2 - q + j", HORNER),
        ("i = 2, j = 3 scan", "i * 10 + j * 3", ADD),
        ("i = 2, r = 300000 reduction, j = 3", "r + i * 7 + j", ADD),
        ("i = 2, r = 0 reduction, j = 3", "r + i * 7 + j", ADD),
    ],
    ids=["map", "turned", "sum", "one", "order", "scan", "parts", "none"],
)
def test_a_point_is_where_the_nest_is(loops: str, place: str, step: str) -> None:
    """In any order of loops; at once, folded in parts, one by one, in a scan; in finish as well."""
    text = POINT.format(loops=loops, place=place, step=step)
    (found,) = execute(text, [])
    sizes = {name: int(size) for name, size in re.findall(r"(\w) = (\d+)", loops)}
    is_scan, is_horner = "scan" in loops, step is not ADD
    r, q = np.meshgrid(np.arange(sizes.get("r", 1)), np.arange(sizes.get("q", 1)), indexing="ij")
    for i in range(2):
        total = 0
        for j in range(3):
            terms = np.broadcast_to(eval(place, {"i": i, "j": j, "r": r, "q": q}), r.shape).ravel()
            total = total if is_scan else 0
            for term in terms if is_horner else [terms.sum()]:
                total = total * (2 if is_horner else 1) + int(term)
            assert found[i, j] == total + i * 1000 - j * 100


def test_two_reductions_of_one_term_do_not_see_each_other() -> None:
    text = """
func.func @main(%x: memref<3xf32>, %p: memref<f32> {inarch.result}, %s: memref<f32> {inarch.result}) {
  loop.nest (i = 3 reduction) ins(%x[i] : memref<3xf32>)
      outs(%p[] init 1.0 : memref<f32>, %s[] init 9.0 : memref<f32>) {
  ^bb0(%e: f32, %product: f32, %least: f32):
    %a = arith.mulf %product, %e : f32
    %b = arith.minimumf %least, %e : f32
    loop.yield %a, %b : f32, f32
  }
  func.return
}"""
    product, least = execute(text, [np.array([-4, 2, 3], np.float32)])
    assert (product, least) == (-24, -4)


def test_an_output_may_be_read_at_its_own_point() -> None:
    text = nest(
        "(i = 4) ins(%a[i] : memref<4xf32>) outs(%a[i] : memref<4xf32>)",
        "^body(%x: f32, %y: f32):\n    %s = arith.mulf %x, %y : f32\n    loop.yield %s : f32",
        "%a: memref<4xf32> {inarch.result}",
    )
    (found,) = execute(text, [])
    (twice,) = execute(text.replace("arith.mulf %x, %y", "arith.addf %x, %y"), [])
    np.testing.assert_allclose(found, np.square(twice / 2), rtol=1e-6)


def test_a_nest_whose_order_matters_has_no_meaning() -> None:
    text = nest(
        "(i = 3) ins(%v[i] : memref<3xf32, strided<[1], offset: 1>>) outs(%a[i] clip : memref<4xf32>)",
        COPY,
        "%a: memref<4xf32> {inarch.result}",
        "  %v = memref.subview %a[1] [3] [1] : memref<4xf32> to memref<3xf32, strided<[1], offset: 1>>\n",
    )
    with pytest.raises(InarchError) as caught:
        execute(text, [])
    assert str(caught.value) == (
        "<text>:3:3: 'loop.nest' has no meaning: point 0 reads what point 1 writes, and parallel points "
        "run in any order; write into another buffer"
    )


UNWRITTEN = """
func.func @main(%a: memref<4xf32>, %b: memref<4xf32> {inarch.result}) {
  %t = loop.alloc : memref<4xf32>
  loop.nest (i = LENGTH) ins(%a[i] : memref<4xf32>) outs(%t[i] : memref<4xf32>) {
  ^body(%x: f32, %y: f32):
    loop.yield %x : f32
  }
  loop.nest (i = 4) ins(%t[i] : memref<4xf32>) outs(%b[i] : memref<4xf32>) {
  ^body(%x: f32, %y: f32):
    RESULT
  }
  func.return
}
"""


def test_an_output_that_depends_on_memory_that_nothing_wrote_is_an_error() -> None:
    text = UNWRITTEN.replace("RESULT", "loop.yield %x : f32")
    a = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(execute(text.replace("LENGTH", "4"), [a])[0], a)
    with pytest.raises(InarchError) as caught:
        execute(text.replace("LENGTH", "3"), [a])
    assert str(caught.value) == (
        "<text>:8:3: 'loop.nest' reads elements of a loop.alloc that nothing has written, or another "
        "buffer of the workspace has written over, and output 0 of @main depends on them"
    )


def test_memory_that_nothing_wrote_may_be_read_where_nothing_depends_on_it() -> None:
    dropped = (
        "%f = arith.constant false\n    %z = arith.constant 0.0 : f32\n"
        "    %s = arith.select %f, %x, %z : f32\n    loop.yield %s : f32"
    )
    text = UNWRITTEN.replace("RESULT", dropped).replace("LENGTH", "3")
    assert not execute(text, [np.ones(4, np.float32)])[0].any()


TWO = """
func.func @main(%a: memref<16xf32>, %b: memref<16xf32> {inarch.result})
    attributes {inarch.workspace_bytes = 128 : i64} {
  %s = loop.alloc at 0 : memref<16xf32>
  %t = loop.alloc at OFFSET : memref<16xf32>
  loop.nest (i = 16) ins(%a[i] : memref<16xf32>) outs(%s[i] : memref<16xf32>) {
  ^body(%x: f32, %y: f32):
    loop.yield %x : f32
  }
  loop.nest (i = 16) ins(%a[i] : memref<16xf32>) outs(%t[i] : memref<16xf32>) {
  ^body(%x: f32, %y: f32):
    %n = arith.negf %x : f32
    loop.yield %n : f32
  }
  loop.nest (i = 16) ins(%s[i] : memref<16xf32>, %t[i] : memref<16xf32>) outs(%b[i] : memref<16xf32>) {
  ^body(%x: f32, %n: f32, %y: f32):
    %d = arith.subf %x, %n : f32
    loop.yield %d : f32
  }
  func.return
}
"""


def test_a_plan_in_which_lifetimes_overlap_shows() -> None:
    a = np.arange(16, dtype=np.float32)
    np.testing.assert_array_equal(execute(TWO.replace("OFFSET", "64"), [a])[0], 2 * a)
    with pytest.raises(InarchError, match="another buffer of the workspace has written over"):
        execute(TWO.replace("OFFSET", "0"), [a])
    with pytest.raises(InarchError) as caught:
        execute(TWO.replace("OFFSET", "128"), [a])
    assert str(caught.value) == (
        "<text>:5:3: 'loop.alloc' expected to end within 128 bytes of workspace, found 192"
    )


LOAD = """
func.func @main(%a: memref<4xi32>, %b: memref<4xi32> {inarch.result}) {
  loop.for %i = 0 to 4 {
    %j = memref.load %a[%i] : memref<4xi32>
    %k = arith.index_cast %j : i32 to index
    %x = memref.load %a[%k] : memref<4xi32>
    memref.store %x, %b[%i] : memref<4xi32>
    loop.yield
  }
  func.return
}
"""


def test_an_index_outside_of_its_buffer_is_an_error() -> None:
    (found,) = execute(LOAD, [np.array([3, 2, 1, 0], np.int32)])
    assert found.tolist() == [0, 1, 2, 3]
    for bad in (-1, 4):
        with pytest.raises(InarchError) as caught:
            execute(LOAD, [np.array([0, 1, 2, bad], np.int32)])
        assert str(caught.value) == (
            f"<text>:6:5: 'memref.load' expected an index from 0 to 3 in dimension 0, found {bad}"
        )


def test_a_kernel_does_what_its_meaning_says_and_its_source_is_not_looked_at() -> None:
    text = """
    kernel.def @k computes "for m in 2, n in 3, k in K: C[m, n] += A[m, k] * B[k, n]"
      arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>,
                 #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "not C"
    func.func @main(%a: memref<4x5xf32>, %b: memref<5x3xf32>, %c: memref<4x3xf32> {inarch.result}) {
      loop.nest (i = 4, j = 3) outs(%c[i, j] : memref<4x3xf32>) {
      ^body(%x: f32):
        %z = arith.constant 0.0 : f32
        loop.yield %z : f32
      }
      kernel.call @k for (i in 2) (%a[i * 10] strides [5, 1], %b[0] strides [3, 1],
        %c[i * 6] strides [3, 1]) sizes [5] : memref<4x5xf32>, memref<5x3xf32>, memref<4x3xf32>
      func.return
    }"""
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-4, 5, shape).astype(np.float32) for shape in ((4, 5), (5, 3)))
    np.testing.assert_array_equal(execute(text, [a, b])[0], a @ b)


def test_an_import_is_asked_of_the_caller() -> None:
    text = """
    func.func private @twice(tensor<2xf32>) -> tensor<2xf32>
    func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %b = graph.call @twice(%a) : tensor<2xf32> -> tensor<2xf32>
      func.return %b : tensor<2xf32>
    }"""
    a = np.ones(2, np.float32)

    def twice(x: Array) -> Array:
        return x * 2

    (found,) = execute(text, [a], imports={"twice": twice})
    np.testing.assert_array_equal(found, 2 * a)

    def fill(x: Array, out: Array) -> None:
        out[...] = x * 2

    (found,) = execute(run_pass(text, "graph-to-loop"), [a], imports={"twice": fill})
    np.testing.assert_array_equal(found, 2 * a)


@pytest.mark.parametrize(
    ("op", "a", "b", "wanted"),
    [
        ("divsi", -7, 2, -3),
        ("divsi", 5, 0, 0),
        ("divsi", -128, -1, -128),
        ("remsi", -7, 2, -1),
        ("remsi", 7, 0, 0),
        ("divui", -1, 2, 127),
        ("floordivsi", -7, 2, -4),
        ("ceildivsi", 7, 2, 4),
        ("shli", 1, 7, -128),
        ("shli", 1, 8, 0),
        ("shrsi", -1, 9, -1),
        ("shrui", -1, 4, 15),
        ("maxui", -1, 1, -1),
        ("muli", 127, 2, -2),
    ],
)
def test_integers_never_trap(op: str, a: int, b: int, wanted: int) -> None:
    text = nest(
        "(i = 1) ins(%a[i] : memref<1xi8>, %b[i] : memref<1xi8>) outs(%c[i] : memref<1xi8>)",
        f"^body(%x: i8, %y: i8, %z: i8):\n    %s = arith.{op} %x, %y : i8\n    loop.yield %s : i8",
        "%a: memref<1xi8>, %b: memref<1xi8>, %c: memref<1xi8>",
    )
    (found,) = execute(text, [np.array([a], np.int8), np.array([b], np.int8)])
    assert found.tolist() == [wanted], re.sub(r"\s+", " ", text)


def test_floats_become_integers_by_saturation() -> None:
    text = nest(
        "(i = 5) ins(%a[i] : memref<5xf32>) outs(%c[i] : memref<5xi8>)",
        "^body(%x: f32, %z: i8):\n    %s = arith.fptosi %x : f32 to i8\n    loop.yield %s : i8",
        "%a: memref<5xf32>, %c: memref<5xi8>",
    )
    a = np.array([-1e9, -1.9, np.nan, 1.9, np.inf], np.float32)
    assert execute(text, [a])[0].tolist() == [-128, -1, 0, 1, 127]
