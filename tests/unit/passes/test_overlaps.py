"""C8 of nests and C7 of kernel calls: what is accepted touches no element at two points, by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from xdsl.dialects.builtin import MemRefType, ModuleOp, f32
from xdsl.ir import Block, Region
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import VerifyException

import inarch
from effort import effort
from inarch.dialects.loop.access import IteratorAttr, ReadAttr, WriteAttr, typed
from inarch.dialects.loop.buffer import AllocOp, ReshapeOp
from inarch.dialects.loop.footprint import Form, are_disjoint, place_of
from inarch.dialects.loop.nest import NestOp, YieldOp
from inarch.driver.compiler import new_context
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module


def elements(form: Form) -> set[int]:
    points = itertools.product(*(range(size) for size in form.sizes))
    pairs = ((p, form.coefficients) for p in points)
    return {form.constant + sum(c * x for c, x in zip(cs, p, strict=True)) for p, cs in pairs}


small = st.integers(1, 4)


@st.composite
def forms(draw: st.DrawFn) -> Form:
    rank = draw(st.integers(0, 3))
    coefficients = draw(st.tuples(*[st.sampled_from([-8, -4, -3, -1, 0, 1, 2, 3, 4, 8])] * rank))
    return Form(
        coefficients, draw(st.tuples(*[st.integers(0, 4)] * rank)), draw(st.integers(-9, 9))
    )


@given(forms(), forms())
@settings(max_examples=effort(80, 200), deadline=None)
def test_what_is_called_disjoint_has_no_element_in_common(a: Form, b: Form) -> None:
    if are_disjoint(a, b):
        assert not elements(a) & elements(b)
    assert not are_disjoint(a, a) or a.is_empty


@pytest.mark.parametrize(
    ("a", "b", "apart"),
    [
        (Form((1,), (4,), 0), Form((1,), (4,), 4), True),  # ranges, the first that does not touch
        (Form((1,), (4,), 0), Form((1,), (4,), 3), False),
        (Form((2,), (8,), 0), Form((2,), (8,), 1), True),  # even and odd
        (
            Form((392, 112, 16, 1), (8, 3, 3, 8), 0),
            Form((392, 112, 16, 1), (8, 3, 3, 8), 8),
            True,
        ),  # odd rows
        (Form((2,), (8,), 0), Form((2,), (8,), 2), False),
        (Form((8, 1), (4, 4), 0), Form((8, 1), (4, 4), 4), True),  # halves of rows of 8
        (Form((8, 1), (4, 5), 0), Form((8, 1), (4, 4), 4), False),
        (
            Form((8, 1), (4, 4), 0),
            Form((8, 1), (4, 4), 5),
            False,
        ),  # its last one is in the next row
        (Form((1,), (0,), 0), Form((1,), (4,), 0), True),  # of nothing
    ],
)
def test_the_last_that_is_apart_and_the_first_that_meets(a: Form, b: Form, apart: bool) -> None:
    assert are_disjoint(a, b) is apart
    assert are_disjoint(b, a) is apart
    assert bool(elements(a) & elements(b)) is not apart


# ---------------------------------------------------------------------------------- nests


@st.composite
def nests(draw: st.DrawFn) -> NestOp:
    """A nest that reads and writes one buffer, each as rows or flat, sometimes padded and clipped."""
    rows, columns = draw(small), draw(small)
    buffer = AllocOp(MemRefType(f32, [rows, columns])).buffer
    flat = ReshapeOp(buffer, MemRefType(f32, [rows * columns])).result
    sizes = draw(st.lists(small, min_size=1, max_size=3))
    reduces = draw(st.booleans())
    iterators = [
        IteratorAttr.get(f"i{n}", size, "reduction" if reduces and n == 0 else "parallel")
        for n, size in enumerate(sizes)
    ]

    def index(rank: int) -> AffineMap:
        factors = st.sampled_from([0, 0, 1, 1, 2, -1, columns])
        terms = [[draw(factors) for _ in sizes] for _ in range(rank)]
        exprs: list[AffineExpr] = []
        for row in terms:
            total = AffineExpr.constant(draw(st.integers(-1, 3)))
            for dim, factor in enumerate(row):
                total = total + AffineExpr.dimension(dim) * factor
            exprs.append(total)
        return AffineMap(len(sizes), 0, tuple(exprs))

    source, target = (buffer if draw(st.booleans()) else flat for _ in range(2))
    read, write = (index(len(value.type.get_shape())) for value in (source, target))
    if draw(st.integers(0, 2)) == 0 and source is target:
        read = write
    zero = typed(0.0, f32)
    block = Block(arg_types=[f32, f32])
    block.add_op(YieldOp(block.args[0]))
    return NestOp(
        iterators,
        [source],
        [ReadAttr.get(read, zero if draw(st.booleans()) else None)],
        [target],
        [WriteAttr.get(write, clip=draw(st.booleans()))],
        Region(block),
    )


def touched(nest: NestOp, index: AffineMap, value: object) -> Iterator[tuple[tuple[int, ...], int]]:
    """Each point of the parallel iterators, and an element that is touched there."""
    place = place_of(value)  # pyright: ignore[reportArgumentType] - a buffer
    parallel = [n for n, it in enumerate(nest.iterators) if not it.is_reduction]
    for point in itertools.product(*(range(size) for size in nest.sizes)):
        at = index.eval(point, [])
        if all(0 <= i < size for i, size in zip(at, place.shape, strict=True)):
            own = tuple(point[n] for n in parallel)
            yield own, place.offset + sum(i * s for i, s in zip(at, place.strides, strict=True))


def test_no_accepted_nest_reads_what_another_point_writes() -> None:
    """And some are in place."""
    overlapping, count = 0, effort(100, 300)

    @given(nests())
    @settings(max_examples=count, deadline=None)
    def each(nest: NestOp) -> None:
        nonlocal overlapping
        try:
            nest.verify_()
        except VerifyException:
            return
        writers = {e: p for p, e in touched(nest, nest.write_map(0), nest.outs[0])}
        for point, element in touched(nest, nest.read_map(0), nest.ins[0]):
            assert writers.get(element, point) == point
            overlapping += element in writers

    each()
    assert overlapping > count // 15


# ---------------------------------------------------------------------------------- values


def compiled(text: str) -> inarch.Module:
    context = new_context()
    module: ModuleOp = parse_module(context, text, "p.mlir")
    verify_module(module)
    return inarch.compile(module, context=context)


IN_PLACE = """
func.func @main(%x: memref<6x5xf32>, %y: memref<6xf32> {inarch.result},
                %t: memref<5x6xf32> {inarch.result}) {
  loop.nest (i = 6, k = 5 reduction) ins(%x[i, k] : memref<6x5xf32>) outs(%y[i] init 0.0 : memref<6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    loop.yield %s : f32
  }
  loop.nest (LOOPS) ins(%x[i, k] : memref<6x5xf32>, %y[i] : memref<6xf32>)
    outs(%y[i] init 0.0 : memref<6xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    loop.yield %s : f32
  } finish {
  ^bb1(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %o, %b : f32
    loop.yield %s : f32
  }
  loop.nest (k = 5, i = 6) ins(%x[i, k] : memref<6x5xf32>) outs(%t[k, i] : memref<5x6xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  %e = memref.subview %t[0, 0] [5, 3] [1, 2]
    : memref<5x6xf32> to memref<5x3xf32, strided<[6, 2]>>
  %d = memref.subview %t[0, 1] [5, 3] [1, 2]
    : memref<5x6xf32> to memref<5x3xf32, strided<[6, 2], offset: 1>>
  loop.nest (k = 5, i = 3) ins(%e[-k + 4, i] : memref<5x3xf32, strided<[6, 2]>>)
    outs(%d[k, i] : memref<5x3xf32, strided<[6, 2], offset: 1>>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}
"""


@pytest.mark.parametrize("loops", ["i = 6, k = 5 reduction", "k = 5 reduction, i = 6 unroll"])
def test_what_is_accepted_in_place_means_what_it_says(loops: str) -> None:
    """A reduction that reads what its output held before, and odd columns that are made of even ones."""
    x = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
    y, t = compiled(IN_PLACE.replace("LOOPS", loops))(x)
    before = x.sum(1)
    np.testing.assert_allclose(y, (x * before[:, None]).sum(1) + before, rtol=1e-5)
    expected = x.T.copy()
    expected[:, 1::2] = expected[::-1, 0::2]
    np.testing.assert_array_equal(t, expected)


def test_arguments_of_a_function_are_different_memory() -> None:
    """By contract: the compiled function refuses arrays that overlap, so the verifier need not."""
    text = """
func.func @main(%a: memref<4x4xf32>, %b: memref<4x4xf32> {inarch.result}) {
  loop.nest (i = 4, j = 4) ins(%a[j, i] : memref<4x4xf32>) outs(%b[i, j] : memref<4x4xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}
"""
    array = np.zeros((4, 4), np.float32)
    with pytest.raises(inarch.InarchError, match=r"expected memory of its own"):
        compiled(text)(array, out=array)
