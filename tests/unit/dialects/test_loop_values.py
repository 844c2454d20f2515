"""Passes on `loop` keep the values of programs that the random ones do not make: in place, padded, clipped."""

# ruff: noqa: E501 - a program reads better with its lines unbroken

from __future__ import annotations

import itertools
import math
import re

import pytest

from inarch.core.lazy import np
from inarch.dialects import new_context
from inarch.dialects.loop.access import number_of
from inarch.dialects.loop.buffer import AllocOp, ConstantOp
from inarch.dialects.loop.memory import buffer_shape
from inarch.ir.context import store_of
from inarch.ir.text import parse_module
from inarch.passes import PASSES
from inarch.testing import check_semantics, execute, run_pass

pytestmark = pytest.mark.every_case(reason="each is the only one that sees some fault")


def nest(
    iterators: str, ins: str, outs: str, *, expr: str = "", finish: str = "", arity: int = 1
) -> str:
    """A nest of f32; `%r` is the result of `expr`, over elements `%e0`, `%e1` ... and the accumulator `%o`."""
    arguments = ", ".join([*(f"%e{i}: f32" for i in range(arity)), "%o: f32"])
    reads = f" ins({ins})" if ins else ""
    result = "%r" if expr else "%e0"
    tail = f" finish {{\n  ^bb0({arguments}):\n    {finish}\n    loop.yield %r : f32\n  }}"
    return f"""  loop.nest ({iterators}){reads} outs({outs}) {{
  ^bb0({arguments}):
    {expr}
    loop.yield {result} : f32
  }}{tail if finish else ""}
"""


def main(body: str, *, x: str = "8", results: dict[str, str] | None = None) -> str:
    """A function of %x whose results are named buffers."""
    outs = {"a": "8"} if results is None else results
    arguments = [f"%x: memref<{x}xf32>"]
    arguments += [f"%{name}: memref<{shape}xf32> {{inarch.result}}" for name, shape in outs.items()]
    return f"func.func @main({', '.join(arguments)}) {{\n{body}  func.return\n}}"


M8, M4 = "memref<8xf32>", "memref<4xf32>"
NEG, DOUBLE = "%r = arith.negf %e0 : f32", "%r = arith.addf %e0, %e0 : f32"
SUM = "%r = arith.addf %e0, %o : f32"
NEG_OUT = "%r = arith.negf %o : f32"
A_IS_X = nest("i = 8", f"%x[i] : {M8}", f"%a[i] : {M8}")
T = f"  %t = loop.alloc : {M8}\n"

IN_PLACE = {
    "the consumer writes what the producer reads in the other order": main(
        A_IS_X
        + T
        + nest("i = 8", f"%a[-i + 7] : {M8}", f"%t[i] : {M8}")
        + nest("i = 8", f"%t[i] : {M8}", f"%a[i] : {M8}", expr=NEG)
    ),
    "the same through a view": main(
        A_IS_X
        + T
        + "  %v = loop.reshape %a : memref<8xf32> to memref<2x4xf32>\n"
        + nest("i = 8", f"%a[-i + 7] : {M8}", f"%t[i] : {M8}")
        + nest("i = 2, j = 4", f"%t[i * 4 + j] : {M8}", "%v[i, j] : memref<2x4xf32>", expr=NEG)
    ),
    "the finish of a sum would write what it reads": main(
        A_IS_X
        + T
        + nest(
            "i = 8, k = 8 reduction", f"%a[k] : {M8}", f"%t[i] init 0.0 : {M8}", expr=SUM
        )
        + nest("i = 8", f"%t[i] : {M8}", f"%a[i] : {M8}", expr=NEG)
    ),
    "another nest writes what the producer read": main(
        A_IS_X
        + T
        + nest("i = 8", f"%a[i] : {M8}", f"%t[i] : {M8}")
        + nest("i = 8", "", f"%a[i] : {M8}", expr=NEG_OUT, arity=0)
        + nest("i = 8", f"%t[i] : {M8}", f"%y[i] : {M8}", expr=DOUBLE),
        results={"a": "8", "y": "8"},
    ),
    "a loop writes what the producer read": main(
        A_IS_X
        + T
        + nest("i = 8", f"%a[i] : {M8}", f"%t[i] : {M8}")
        + """  loop.for %i = 0 to 8 {
    %u = memref.load %t[%i] : memref<8xf32>
    %w = arith.negf %u : f32
    memref.store %w, %a[%i] : memref<8xf32>
    loop.yield
  }
"""
        + nest("i = 8", f"%t[i] : {M8}", f"%y[i] : {M8}", expr=DOUBLE),
        results={"a": "8", "y": "8"},
    ),
    "a padded copy of what changed since": main(
        A_IS_X
        + nest("i = 8, k = 3 reduction", f"%a[i + k - 1] pad 0.0 : {M8}", f"%y[i] init 0.0 : {M8}", expr=SUM)
        + nest("i = 8", "", f"%a[i] : {M8}", expr=NEG_OUT, arity=0)
        + nest("i = 8, k = 3 reduction", f"%a[i + k - 1] pad 0.0 : {M8}", f"%z[i] init 0.0 : {M8}", expr=SUM),
        results={"a": "8", "y": "8", "z": "8"},
    ),
}  # fmt: skip
PASSES_IN_PLACE = (
    "fuse-nests",
    "materialize-padding",
    "materialize-padding{all=true},split-padding",
)


@pytest.mark.parametrize("pipeline", PASSES_IN_PLACE)
@pytest.mark.parametrize("name", IN_PLACE)
def test_values_updated_in_place_stay_right(name: str, pipeline: str) -> None:
    check_semantics(IN_PLACE[name], pipeline=pipeline)


P8 = "  %p = loop.alloc : memref<8x8xf32>\n"
FUSED = {
    "a producer that is read with another value outside": main(
        T
        + nest("i = 8", f"%x[i] : {M8}", f"%t[i] : {M8}", expr="%r = math.exp %e0 : f32")
        + nest("i = 8", f"%t[i - 1] pad 0.0 : {M8}", f"%a[i] : {M8}", expr=DOUBLE)
    ),
    "a sum of which only the first half is read": main(
        T
        + nest("i = 8, k = 8 reduction", f"%x[i * 8 + k] : {M8}".replace("8xf32", "64xf32"),
               f"%t[i] init 0.0 : {M8}", expr=SUM)
        + nest("i = 4", f"%t[i] : {M8}", f"%a[i] : {M4}", expr=NEG),
        x="64", results={"a": "4"},
    ),
    "a sum that is read backwards": main(
        T
        + nest("i = 8, k = 8 reduction", "%x[i * 8 + k] : memref<64xf32>", f"%t[i] init 0.0 : {M8}", expr=SUM)
        + nest("i = 8", f"%t[-i + 7] : {M8}", f"%a[i] : {M8}", expr=NEG),
        x="64",
    ),
    "the diagonal of sums": main(
        P8
        + nest("i = 8, j = 8, k = 2 reduction", "%x[i * 16 + j * 2 + k] : memref<128xf32>",
               "%p[i, j] init 0.0 : memref<8x8xf32>", expr=SUM)
        + nest("i = 8", "%p[i, i] : memref<8x8xf32>", f"%a[i] : {M8}", expr=NEG),
        x="128",
    ),
    "sums that are added to themselves elsewhere": main(
        T
        + nest("i = 8, k = 8 reduction", "%x[i * 8 + k] : memref<64xf32>", f"%t[i] init 0.0 : {M8}", expr=SUM)
        + nest("i = 8", f"%t[i] : {M8}, %t[-i + 7] : {M8}",
            f"%a[i] : {M8}", expr="%r = arith.subf %e0, %e1 : f32", arity=2),
        x="64",
    ),
    "an average, whose finish divides before the next op adds": main(
        T
        + nest("i = 8, k = 8 reduction", "%x[i * 8 + k] : memref<64xf32>", f"%t[i] init 0.0 : {M8}",
               expr=SUM, finish="%r = arith.mulf %o, %o : f32")
        + nest("i = 8", f"%t[i] : {M8}, %x[i] : memref<64xf32>", f"%a[i] : {M8}",
               expr="%r = arith.subf %e1, %e0 : f32", arity=2),
        x="64",
    ),
    "a producer that is read at two places": main(
        T
        + nest("i = 8", f"%x[i] : {M8}", f"%t[i] : {M8}", expr="%r = math.exp %e0 : f32")
        + nest(
            "i = 4",
            f"%t[i] : {M8}, %t[-i + 7] : {M8}",
            f"%a[i] : {M4}",
            expr="%r = arith.subf %e0, %e1 : f32",
            arity=2,
        ),
        results={"a": "4"},
    ),
    "neighbours of one buffer": main(
        T
        + nest("i = 8", "%x[i + 1] : memref<9xf32>", f"%t[i] : {M8}", expr="%r = math.exp %e0 : f32")
        + nest(
            "i = 8",
            f"%t[i] : {M8}, %x[i] : memref<9xf32>",
            f"%a[i] : {M8}",
            expr="%r = arith.subf %e0, %e1 : f32",
            arity=2,
        ),
        x="9",
    ),
    "a result that adds to what it holds": main(
        A_IS_X
        + T
        + nest("i = 8", f"%x[i] : {M8}", f"%t[i] : {M8}", expr=NEG)
        + nest("i = 8", f"%t[i] : {M8}", f"%a[i] : {M8}", expr="%r = arith.mulf %e0, %o : f32")
    ),
    "a sum that the next op clips": main(
        T
        + nest("i = 8, k = 8 reduction", "%x[i * 8 + k] : memref<64xf32>", f"%t[i] init 0.0 : {M8}", expr=SUM)
        + nest("i = 8", f"%t[i] : {M8}", "%a[i] clip : memref<6xf32>", expr=NEG),
        x="64", results={"a": "6"},
    ),
    "a sum that is read beside itself": main(
        "  %t = loop.alloc : memref<8x1xf32>\n"
        + nest("i = 8, k = 8 reduction", "%x[i * 8 + k] : memref<64xf32>", "%t[i, 0] init 0.0 : memref<8x1xf32>", expr=SUM)
        + nest("i = 8", "%t[i, 1] pad 2.0 : memref<8x1xf32>", f"%a[i] : {M8}", expr=NEG),
        x="64",
    ),
    "a sum with a finish that computes what it adds up": main(
        T
        + nest("i = 8", f"%x[i] : {M8}", f"%t[i] : {M8}", expr="%r = math.exp %e0 : f32")
        + nest("i = 1, k = 8 reduction", f"%t[k] : {M8}", "%a[i] init 0.0 : memref<1xf32>", expr=SUM, finish=NEG_OUT),
        results={"a": "1"},
    ),
    "a producer of points with a finish": main(
        T
        + nest("i = 8", f"%x[i] : {M8}", f"%t[i] : {M8}", expr="%r = math.exp %e0 : f32", finish=NEG_OUT)
        + nest("i = 8", f"%t[i] : {M8}", f"%a[i] : {M8}", expr=DOUBLE),
    ),
    "a consumer of points with a finish": main(
        T
        + nest("i = 8, k = 8 reduction", "%x[i * 8 + k] : memref<64xf32>", f"%t[i] init 0.0 : {M8}", expr=SUM)
        + nest("i = 8", f"%t[i] : {M8}", f"%a[i] : {M8}", expr=DOUBLE, finish=NEG_OUT),
        x="64",
    ),
    "a sum that is multiplied with what the result holds": main(
        nest("i = 8", "%x[i] : memref<64xf32>", f"%a[i] : {M8}")
        + T
        + nest("i = 8, k = 8 reduction", "%x[i * 8 + k] : memref<64xf32>", f"%t[i] init 0.0 : {M8}", expr=SUM)
        + nest("i = 8", f"%t[i] : {M8}", f"%a[i] : {M8}", expr="%r = arith.mulf %e0, %o : f32"),
        x="64",
    ),
    "a buffer that is changed in place and not read again": main(
        A_IS_X
        + T
        + nest("i = 8", f"%x[i] : {M8}", f"%t[i] : {M8}", expr=NEG)
        + nest("i = 8", f"%t[i] : {M8}", f"%t[i] : {M8}", expr=DOUBLE)
    ),
    "a producer in a loop": main(
        T
        + "  loop.for %i = 0 to 2 {\n"
        + nest("i = 8", f"%x[i] : {M8}", f"%t[i] : {M8}", expr=NEG)
        + "    loop.yield\n  }\n"
        + nest("i = 8", f"%t[i] : {M8}", f"%a[i] : {M8}", expr=DOUBLE)
    ),
    "one element that is read with two pads": main(
        T
        + nest("i = 8", f"%x[i - 1] pad 1.0 : {M8}", f"%t[i] : {M8}", expr="%r = math.exp %e0 : f32")
        + nest("i = 8", f"%t[i] : {M8}, %x[i - 1] pad 2.0 : {M8}", f"%a[i] : {M8}",
               expr="%r = arith.subf %e0, %e1 : f32", arity=2),
    ),
    "a producer in columns that is read in rows": main(
        P8
        + nest("i = 8, j = 8", "%x[i * 8 + j] : memref<64xf32>", "%p[j, i] : memref<8x8xf32>", expr=NEG)
        + nest("i = 8, j = 8", "%p[i, j] : memref<8x8xf32>", "%a[i, j] : memref<8x8xf32>", expr=DOUBLE),
        x="64", results={"a": "8x8"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUSED)
def test_fuse_nests_keeps_the_values_of(name: str) -> None:
    check_semantics(FUSED[name], pipeline="fuse-nests")


def test_a_producer_is_computed_no_more_often_than_it_was() -> None:
    """At each of its points once, though a consumer reads two at each of its own."""
    text = main(
        T
        + nest("i = 8", f"%x[i] : {M8}", f"%t[i] : {M8}", expr="%r = math.exp %e0 : f32")
        + nest(
            "i = 8",
            f"%t[i] : {M8}, %t[-i + 7] : {M8}",
            f"%a[i] : {M8}",
            expr="%r = arith.subf %e0, %e1 : f32",
            arity=2,
        )
    )
    assert "loop.alloc" in run_pass(text, "fuse-nests")


def test_two_reads_of_one_scalar_constant_are_folded_but_the_padded_one_is_not() -> None:
    text = """func.func @main(%x: memref<3xf32>, %y: memref<3xf32> {inarch.result}) {
  %c = loop.constant dense<3.0> : tensor<1xf32> : memref<1xf32>
  loop.nest (i = 3) ins(%x[i] : memref<3xf32>, %c[i - 1] pad 0.5 : memref<1xf32>, %c[0] : memref<1xf32>) outs(%y[i] : memref<3xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %d : f32
    loop.yield %1 : f32
  }
  func.return
}"""
    check_semantics(text, pipeline="fold-scalars")
    found = run_pass(text, "fold-scalars")
    assert "pad 0.5" in found
    assert "arith.constant 3.0" in found


def test_a_padded_scalar_that_is_all_that_a_nest_reads_stays() -> None:
    text = """func.func @main(%y: memref<3xf32> {inarch.result}) {
  %c = loop.constant dense<3.0> : tensor<1xf32> : memref<1xf32>
  loop.nest (i = 3) ins(%c[i - 1] pad 0.0 : memref<1xf32>) outs(%y[i] : memref<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}"""
    check_semantics(text, pipeline="fold-scalars")


def test_scalars_of_a_finish_and_of_two_places_keep_theirs() -> None:
    """Two constants: removing the first argument must not shift what the second stands for."""
    text = """func.func @main(%x: memref<3xf32>, %y: memref<3xf32> {inarch.result}) {
  %c = loop.constant dense<3.0> : tensor<1xf32> : memref<1xf32>
  %d = loop.constant dense<7.0> : tensor<1xf32> : memref<1xf32>
  loop.nest (i = 3) ins(%c[0] : memref<1xf32>, %x[i] : memref<3xf32>, %d[0] : memref<1xf32>) outs(%y[i] : memref<3xf32>) {
  ^bb0(%a: f32, %b: f32, %e: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.subf %0, %e : f32
    loop.yield %1 : f32
  } finish {
  ^bb0(%a: f32, %b: f32, %e: f32, %o: f32):
    %0 = arith.divf %o, %e : f32
    %1 = arith.subf %0, %a : f32
    loop.yield %1 : f32
  }
  func.return
}"""
    check_semantics(text, pipeline="fold-scalars")
    assert "loop.constant" not in run_pass(text, "fold-scalars")


def test_packs_of_one_constant_by_other_maps_and_shapes_are_other_constants() -> None:
    text = """func.func @main(%x: memref<4xf32>, %y: memref<4xf32> {inarch.result}, %z: memref<4xf32> {inarch.result}, %u: memref<4xf32> {inarch.result}) {
  %w = loop.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> : memref<2x2xf32>
  %p = loop.alloc : memref<2x2xf32>
  kernel.pack %w[i, j] to %p[i, j] : memref<2x2xf32>, memref<2x2xf32>
  %q = loop.alloc : memref<2x2xf32>
  kernel.pack %w[j, i] to %q[i, j] : memref<2x2xf32>, memref<2x2xf32>
  %v = loop.reshape %w : memref<2x2xf32> to memref<4xf32>
  %s = loop.alloc : memref<2x2xf32>
  kernel.pack %v[i + j] to %s[i, j] : memref<4xf32>, memref<2x2xf32>
  loop.nest (i = 2, j = 2) ins(%x[i * 2 + j] : memref<4xf32>, %p[i, j] : memref<2x2xf32>, %q[i, j] : memref<2x2xf32>, %s[i, j] : memref<2x2xf32>) outs(%y[i * 2 + j] : memref<4xf32>, %z[i * 2 + j] : memref<4xf32>, %u[i * 2 + j] : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %o: f32, %o1: f32, %o2: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.mulf %a, %c : f32
    %2 = arith.mulf %a, %d : f32
    loop.yield %0, %1, %2 : f32, f32, f32
  }
  func.return
}"""
    check_semantics(text, pipeline="fold-packs")
    assert "kernel.pack" not in run_pass(text, "fold-packs")


def test_packs_of_views_of_other_shapes_are_other_constants() -> None:
    """Both views have two dimensions, and one map reads them."""
    text = """func.func @main(%y: memref<2x2xf32> {inarch.result}, %z: memref<2x2xf32> {inarch.result}) {
  %w = loop.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32> : memref<6xf32>
  %a = loop.reshape %w : memref<6xf32> to memref<2x3xf32>
  %b = loop.reshape %w : memref<6xf32> to memref<3x2xf32>
  %p = loop.alloc : memref<2x2xf32>
  kernel.pack %a[i, j] to %p[i, j] : memref<2x3xf32>, memref<2x2xf32>
  %q = loop.alloc : memref<2x2xf32>
  kernel.pack %b[i, j] to %q[i, j] : memref<3x2xf32>, memref<2x2xf32>
  loop.nest (i = 2, j = 2) ins(%p[i, j] : memref<2x2xf32>, %q[i, j] : memref<2x2xf32>) outs(%y[i, j] : memref<2x2xf32>, %z[i, j] : memref<2x2xf32>) {
  ^bb0(%c: f32, %d: f32, %o: f32, %o1: f32):
    loop.yield %c, %d : f32, f32
  }
  func.return
}"""
    check_semantics(text, pipeline="fold-packs")
    assert "kernel.pack" not in run_pass(text, "fold-packs")


def test_a_packed_constant_that_others_read_keeps_its_bytes() -> None:
    context = new_context()
    text = """func.func @main(%y: memref<32xf32> {inarch.result}, %z: memref<32xf32> {inarch.result}) {
  %w = loop.constant dense_resource<w> : tensor<32xf32> : memref<32xf32>
  %v = loop.constant dense_resource<w> : tensor<32xf32> : memref<32xf32>
  %p = loop.alloc : memref<32xf32>
  kernel.pack %w[-i + 31] to %p[i] : memref<32xf32>, memref<32xf32>
  loop.nest (i = 32) ins(%p[i] : memref<32xf32>, %v[i] : memref<32xf32>) outs(%y[i] : memref<32xf32>, %z[i] : memref<32xf32>) {
  ^bb0(%c: f32, %d: f32, %o: f32, %o1: f32):
    loop.yield %c, %d : f32, f32
  }
  func.return
}"""
    numbers = np.arange(32, dtype=np.float32)
    store_of(context).set("w", numbers.tobytes())
    module = parse_module(context, text)
    PASSES["fold-packs"]().apply(context, module)
    packed, plain = execute(module, [], context)
    np.testing.assert_array_equal(packed, numbers[::-1])
    np.testing.assert_array_equal(plain, numbers)


def test_a_pack_into_a_part_of_a_buffer_or_of_a_variable_stays() -> None:
    text = """func.func @main(%x: memref<4xf32>, %y: memref<4xf32> {inarch.result}) {
  %p = loop.alloc : memref<4xf32>
  kernel.pack %x[-i + 3] to %p[i] : memref<4xf32>, memref<4xf32>
  loop.nest (i = 4) ins(%p[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}"""
    check_semantics(text, pipeline="fold-packs")
    assert "kernel.pack" in run_pass(text, "fold-packs")


# ------------------------------------------------------------------------------------ padding


def window(
    size: int, taps: int, *, stride: int = 1, low: int = 1, points: int, pad: str = "0.0"
) -> str:
    """Sums over windows that reach over both edges."""
    return main(
        nest(
            f"i = {points}, k = {taps} reduction",
            f"%x[i * {stride} + k - {low}] pad {pad} : memref<{size}xf32>",
            f"%a[i] init 0.0 : memref<{points}xf32>",
            expr=SUM,
        ),
        x=str(size),
        results={"a": str(points)},
    )


@pytest.mark.parametrize(
    "text",
    [
        window(8, 3, points=8),
        window(8, 3, points=8, pad="2.0"),
        window(8, 3, stride=2, points=4),
        window(5, 4, stride=3, low=3, points=4),
        window(3, 9, low=4, points=3),
        window(8, 1, stride=5, low=2, points=3),
    ],
)
def test_padded_windows_are_read_from_a_copy_with_the_pad_around(text: str) -> None:
    pipeline = "materialize-padding,split-padding"
    check_semantics(text, pipeline=pipeline)
    assert " pad " not in run_pass(text, pipeline)


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("start", [-4, -3, -1, 0, 1])
def test_copies_of_every_offset_and_step_are_cut_where_the_padding_begins(
    step: int, start: int
) -> None:
    sign = f"- {-start}" if start < 0 else f"+ {start}"
    index = f"i * {step} {sign}" if step > 1 else f"i {sign}"
    text = main(nest("i = 8", f"%x[{index}] pad 0.5 : memref<6xf32>", f"%a[i] : {M8}"), x="6")
    check_semantics(text, pipeline="split-padding")
    assert " pad " not in run_pass(text, "split-padding")


@pytest.mark.parametrize("index", ["-i + 6", "i + j", "2", "9"])
def test_copies_with_other_indices_keep_their_values(index: str) -> None:
    text = main(
        nest("i = 4, j = 2", f"%x[{index}] pad 0.5 : memref<6xf32>", "%a[i, j] : memref<4x2xf32>"),
        x="6",
        results={"a": "4x2"},
    )
    check_semantics(text, pipeline="split-padding")


def test_borders_of_a_nest_that_adds_are_added_once() -> None:
    """Also at the corners, where the borders of two dimensions meet."""
    text = main(
        nest("i = 4, j = 4", "%x[i * 4 + j] : memref<16xf32>", "%a[i, j] : memref<4x4xf32>")
        + nest(
            "i = 4, j = 4",
            "%b[i - 1, j + 1] pad 3.0 : memref<4x4xf32>",
            "%a[i, j] : memref<4x4xf32>",
            expr=SUM,
        ),
        x="16",
        results={"a": "4x4"},
    ).replace("(%x: memref<16xf32>", "(%x: memref<16xf32>, %b: memref<4x4xf32>")
    check_semantics(text, pipeline="split-padding")
    assert " pad " not in run_pass(text, "split-padding")


def test_copies_of_equal_windows_are_shared_unless_the_pad_differs() -> None:
    one = "%x[i + k - 1] pad {} : memref<8xf32>"
    text = main(
        "".join(
            nest("i = 8, k = 3 reduction", one.format(pad), f"%{name}[i] init 0.0 : {M8}", expr=SUM)
            for name, pad in (("a", "0.0"), ("b", "-0.0"), ("c", "1.0"), ("d", "0.0"))
        ),
        results=dict.fromkeys("abcd", "8"),
    )
    check_semantics(text, pipeline="materialize-padding")
    assert run_pass(text, "materialize-padding").count("loop.alloc") == 3


# ------------------------------------------------------------------------------------ contractions

MUL_ADD = "%p = arith.mulf %e0, %e1 : f32\n    %r = arith.addf %o, %p : f32"
CONTRACTIONS = {
    "columns in the middle of the output": nest(
        "m = 5, n = 6, k = 3 reduction",
        "%x[m, k] : memref<5x3xf32>, %w[k, n] : memref<3x6xf32>",
        "%a[m, n + 1] init 0.0 : memref<5x9xf32>",
        expr=MUL_ADD,
        arity=2,
    ),
    "columns of groups side by side": nest(
        "g = 2, m = 5, n = 6, k = 3 reduction",
        "%x[m, k] : memref<5x3xf32>, %w[k, n] : memref<3x6xf32>",
        "%a[m, g * 6 + n] init 0.0 : memref<5x12xf32>",
        expr=MUL_ADD,
        arity=2,
    ),
    "a sum that goes on": nest(
        "m = 5, n = 6, k = 3 reduction",
        "%x[m, k] : memref<5x3xf32>, %w[k, n] : memref<3x6xf32>",
        "%a[m, n] : memref<5x6xf32>",
        expr=MUL_ADD,
        arity=2,
    ),
    "a sum of products less a number": nest(
        "m = 5, n = 6, k = 3 reduction",
        "%x[m, k] : memref<5x3xf32>, %w[k, n] : memref<3x6xf32>",
        "%a[m, n] init 0.0 : memref<5x6xf32>",
        expr="%p = arith.mulf %e0, %e1 : f32\n    %q = arith.addf %o, %p : f32\n    %r = arith.negf %q : f32",
        arity=2,
    ),
    "a second factor of gaps": nest(
        "m = 5, n = 8, k = 3 reduction",
        "%x[m, k] : memref<5x3xf32>, %w[k, n * 2] : memref<3x16xf32>",
        "%a[m, n] init 0.0 : memref<5x8xf32>",
        expr=MUL_ADD,
        arity=2,
    ),
    "a second factor in the other order": nest(
        "m = 5, n = 8, k = 3 reduction",
        "%x[m, k] : memref<5x3xf32>, %w[n, k] : memref<8x3xf32>",
        "%a[m, n] init 0.0 : memref<5x8xf32>",
        expr=MUL_ADD,
        arity=2,
    ),
    "rows that no tile divides, with a bias and a residual": nest(
        "m = 23, n = 37, k = 4 reduction",
        "%x[m, k] : memref<23x4xf32>, %w[k, n] : memref<4x37xf32>, %b[n] : memref<37xf32>, "
        "%c[m, n] : memref<23x37xf32>",
        "%a[m, n] init 0.5 : memref<23x37xf32>",
        expr=MUL_ADD,
        finish="%q = arith.addf %o, %e2 : f32\n    %r = arith.mulf %q, %e3 : f32",
        arity=4,
    ),
}


@pytest.mark.parametrize("target", ["generic", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("name", CONTRACTIONS)
def test_a_contraction_by_a_kernel_made_for_it_keeps_the_values_of(name: str, target: str) -> None:
    """The kernels of a target can be checked on any machine, by what they mean."""
    text = CONTRACTIONS[name]
    operands = dict(re.findall(r"%(x|w|b|c|a)\[[^]]*\][^:]*: memref<([0-9x]+)xf32>", text))
    out = operands.pop("a")
    arguments = [f"%{each}: memref<{shape}xf32>" for each, shape in operands.items()]
    begin = nest(
        ", ".join(f"i{axis} = {size}" for axis, size in enumerate(out.split("x"))),
        f"%s[{', '.join(f'i{axis}' for axis in range(out.count('x') + 1))}] : memref<{out}xf32>",
        f"%a[{', '.join(f'i{axis}' for axis in range(out.count('x') + 1))}] : memref<{out}xf32>",
    )
    program = f"""builtin.module attributes {{inarch.target = "{target}"}} {{
func.func @main({", ".join(arguments)}, %s: memref<{out}xf32>, %a: memref<{out}xf32> {{inarch.result}}) {{
{begin}{text}  func.return
}}
}}"""
    check_semantics(program, pipeline="tensorize{kernels=columns,rows},schedule-nests")


@pytest.mark.parametrize(
    ("is_in_place", "init"), [(False, " init 0.0"), (True, " init 0.0"), (False, "")]
)
def test_taps_of_a_sum_that_adds_to_its_own_output_are_not_dropped(
    init: str, *, is_in_place: bool
) -> None:
    """The first part would begin the sum in the buffer whose old value the last one adds, or all go on from."""
    zero = "%r = arith.constant 0.0 : f32"
    residual = "%a" if is_in_place else "%x"
    text = main(
        "  %h = loop.alloc : memref<10x4xf32>\n"
        "  %w = loop.constant dense<[0.5, 2.0, -1.0]> : tensor<3xf32> : memref<3xf32>\n"
        + nest("i = 1, j = 4", "", "%h[i, j] : memref<10x4xf32>", expr=zero, arity=0)
        + nest("i = 1, j = 4", "", "%h[i + 9, j] : memref<10x4xf32>", expr=zero, arity=0)
        + nest("i = 8, j = 4", "%x[i, j] : memref<8x4xf32>", "%h[i + 1, j] : memref<10x4xf32>")
        + nest("i = 8, j = 4", "%x[i, j] : memref<8x4xf32>", "%a[i, j] : memref<8x4xf32>")
        + nest(
            "i = 8, j = 4, k = 3 reduction",
            f"%h[i + k, j] : memref<10x4xf32>, %w[k] : memref<3xf32>, {residual}[i, j] : memref<8x4xf32>",
            f"%a[i, j]{init} : memref<8x4xf32>",
            expr=MUL_ADD,
            finish="%r = arith.addf %o, %e2 : f32",
            arity=3,
        ),
        x="8x4",
        results={"a": "8x4"},
    )
    pipeline = "drop-padding-taps{least=0}"
    check_semantics(text, pipeline=pipeline)
    is_same = run_pass(text, pipeline).count("loop.nest") == text.count("loop.nest")
    assert is_same == (is_in_place or not init)


# ------------------------------------------------------------------------------------ memory


def test_plan_memory_takes_views_for_the_memory_of_their_buffer() -> None:
    """A subview's reader needs the buffer: another one of the time between must not share its place."""
    text = """func.func @main(%x: memref<16xf32>, %y: memref<8xf32> {inarch.result}) {
  %a = loop.alloc : memref<16xf32>
  loop.nest (i = 16) ins(%x[i] : memref<16xf32>) outs(%a[i] : memref<16xf32>) {
  ^bb0(%e: f32, %o: f32):
    loop.yield %e : f32
  }
  %v = memref.subview %a[4] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 4>>
  %b = loop.alloc : memref<16xf32>
  loop.nest (i = 16) outs(%b[i] : memref<16xf32>) {
  ^bb0(%o: f32):
    %c = arith.constant 7.0 : f32
    loop.yield %c : f32
  }
  loop.nest (i = 8) ins(%v[i] : memref<8xf32, strided<[1], offset: 4>>, %b[i] : memref<16xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%e: f32, %f: f32, %o: f32):
    %r = arith.addf %e, %f : f32
    loop.yield %r : f32
  }
  func.return
}"""
    context = new_context()
    module = parse_module(context, text)
    PASSES["plan-memory"]().apply(context, module)
    offsets = [
        number_of(op.offset)
        for op in module.walk()
        if isinstance(op, AllocOp) and op.offset is not None
    ]
    assert set(offsets) == {0, 64}
    x = np.arange(16, dtype=np.float32)
    check_semantics(text, pipeline="plan-memory", inputs=[x])


def test_one_number_for_all_of_a_constant_is_another_constant_in_each_size() -> None:
    """The bytes of a splat are those of one element: of 8 and of 32 elements they need other places."""
    context = new_context()
    text = """func.func @main(%y: memref<8xf32> {inarch.result}, %z: memref<32xf32> {inarch.result}) {
  %v = loop.constant dense_resource<w> : tensor<8xf32> : memref<8xf32>
  %u = loop.constant dense<9.0> : tensor<8xf32> : memref<8xf32>
  %w = loop.constant dense_resource<w> : tensor<32xf32> : memref<32xf32>
  loop.nest (i = 8) ins(%v[i] : memref<8xf32>, %u[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%c: f32, %d: f32, %o: f32):
    %r = arith.addf %c, %d : f32
    loop.yield %r : f32
  }
  loop.nest (i = 32) ins(%w[i] : memref<32xf32>) outs(%z[i] : memref<32xf32>) {
  ^bb0(%c: f32, %o: f32):
    loop.yield %c : f32
  }
  func.return
}"""
    store_of(context).set("w", np.float32(5).tobytes())
    module = parse_module(context, text)
    PASSES["plan-memory"]().apply(context, module)
    places = [
        (number_of(op.offset), math.prod(buffer_shape(op.buffer)) * 4)
        for op in module.walk()
        if isinstance(op, ConstantOp) and op.offset is not None
    ]
    assert len(places) == 3
    ends = [(int(begin or 0), int(begin or 0) + size) for begin, size in places]
    assert all(a[1] <= b[0] or b[1] <= a[0] for a, b in itertools.combinations(ends, 2)), ends


def test_plan_memory_keeps_the_buffers_of_all_views_that_an_op_reads() -> None:
    text = """func.func @main(%x: memref<16xf32>, %y: memref<4x4xf32> {inarch.result}) {
  %a = loop.alloc : memref<16xf32>
  loop.nest (i = 16) ins(%x[i] : memref<16xf32>) outs(%a[i] : memref<16xf32>) {
  ^bb0(%e: f32, %o: f32):
    loop.yield %e : f32
  }
  %b = loop.alloc : memref<16xf32>
  loop.nest (i = 16) ins(%x[-i + 15] : memref<16xf32>) outs(%b[i] : memref<16xf32>) {
  ^bb0(%e: f32, %o: f32):
    loop.yield %e : f32
  }
  %v = loop.reshape %a : memref<16xf32> to memref<4x4xf32>
  %w = loop.reshape %b : memref<16xf32> to memref<4x4xf32>
  %c = loop.alloc : memref<16xf32>
  loop.nest (i = 16) outs(%c[i] : memref<16xf32>) {
  ^bb0(%o: f32):
    %n = arith.constant 7.0 : f32
    loop.yield %n : f32
  }
  loop.nest (i = 4, j = 4) ins(%v[i, j] : memref<4x4xf32>, %w[i, j] : memref<4x4xf32>, %c[i * 4 + j] : memref<16xf32>) outs(%y[i, j] : memref<4x4xf32>) {
  ^bb0(%e: f32, %f: f32, %g: f32, %o: f32):
    %p = arith.mulf %e, %f : f32
    %r = arith.addf %p, %g : f32
    loop.yield %r : f32
  }
  func.return
}"""
    context = new_context()
    module = parse_module(context, text)
    PASSES["plan-memory"]().apply(context, module)
    offsets = [
        number_of(op.offset)
        for op in module.walk()
        if isinstance(op, AllocOp) and op.offset is not None
    ]
    assert len(set(offsets)) == 3


def test_a_producer_that_only_a_finish_reads_is_computed_there() -> None:
    """Once for each element, not for each term of the sum."""
    text = main(
        T
        + nest("i = 8", f"%b[i] : {M8}", f"%t[i] : {M8}", expr="%r = math.exp %e0 : f32")
        + nest(
            "i = 8, k = 8 reduction",
            f"%x[i * 8 + k] : memref<64xf32>, %t[i] : {M8}",
            f"%a[i] init 0.0 : {M8}",
            expr=SUM,
            finish="%r = arith.mulf %o, %e1 : f32",
            arity=2,
        ),
        x="64",
    ).replace("(%x: memref<64xf32>", f"(%x: memref<64xf32>, %b: {M8}")
    check_semantics(text, pipeline="fuse-nests")
    assert "loop.alloc" not in run_pass(text, "fuse-nests")


def test_a_loop_that_becomes_a_kernel_takes_what_it_reads_before_what_it_writes() -> None:
    text = f"""func.func @main(%a: {M8} {{inarch.result}}, %b: {M8}, %c: {M8} {{inarch.result}}) {{
  loop.for %i = 0 to 8 {{
    %n = arith.constant 1.0 : f32
    memref.store %n, %a[%i] : {M8}
    %u = memref.load %b[%i] : {M8}
    memref.store %u, %c[%i] : {M8}
    loop.yield
  }}
  func.return
}}"""
    check_semantics(text, pipeline="outline-nests")
    assert "(%b, %a, %c)" in run_pass(text, "outline-nests")


@pytest.mark.parametrize(
    ("stride", "dilation", "parts"), [(1, 2, 2), (2, 2, 1), (2, 4, 2), (4, 2, 1)]
)
def test_windows_are_split_into_as_many_parts_as_share_no_taps(
    stride: int, dilation: int, parts: int
) -> None:
    """The dilation by what it has in common with the stride."""
    rows = 3 * stride + 2 * dilation + 1
    text = f"""func.func @main(%x: memref<{rows}x8xf32>, %w: memref<3x8xf32>, %y: memref<4x8xf32> {{inarch.result}}) {{
  loop.nest (p = 4, c = 8, r = 3 reduction) ins(%x[p * {stride} + r * {dilation}, c] : memref<{rows}x8xf32>, %w[r, c] : memref<3x8xf32>) outs(%y[p, c] init 0.0 : memref<4x8xf32>) {{
  ^bb0(%e0: f32, %e1: f32, %o: f32):
    {MUL_ADD}
    loop.yield %r : f32
  }}
  func.return
}}""".replace(" * 1 ", " ")
    check_semantics(text, pipeline="split-dilation")
    assert run_pass(text, "split-dilation").count("loop.nest") == parts


def test_a_pad_of_the_integer_0_stays_a_pad() -> None:
    text = """func.func @main(%x: memref<4xi32>, %y: memref<1x6xi32> {inarch.result}) {
  loop.nest (n = 1, i = 6) ins(%x[i - 1] pad 0 : memref<4xi32>) outs(%y[n, i] : memref<1x6xi32>) {
  ^bb0(%e: i32, %o: i32):
    loop.yield %e : i32
  }
  func.return
}"""
    check_semantics(text, pipeline="drop-unit-iterators")
    assert "pad 0" in run_pass(text, "drop-unit-iterators")
