"""Numeric bounds of the verifiers: the last value that each accepts, and the first that it refuses.

A row is a program with a hole, values that are right there, and values that are not with the error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from inarch.core.dtypes import DTYPES
from inarch.core.errors import InarchError
from inarch.dialects.graph.composites.normalization import BatchNormOp, LayerNormOp
from inarch.dialects.graph.composites.softmax import LogSoftmaxOp, SoftmaxOp
from inarch.dialects.graph.elementwise.clip import ClipOp
from inarch.dialects.graph.gather import GatherOp
from inarch.dialects.graph.matmul import MatmulOp
from inarch.dialects.graph.op import GraphOp
from inarch.dialects.graph.reduce import ReduceMeanOp, ReduceSumOp
from inarch.dialects.graph.shape import (
    BroadcastToOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.graph.windows.pool import AvgPoolOp, MaxPoolOp
from inarch.driver.compiler import new_context
from inarch.ir.text import parse_module
from inarch.ir.types import mlir_type
from inarch.ir.verify import verify_module


def error_of(text: str) -> str | None:
    """The message with which a program is refused, without its place; None where it is accepted."""
    try:
        verify_module(parse_module(new_context(), text, "p.mlir"))
    except InarchError as error:
        return error.message
    return None


# ---------------------------------------------------------------------------------- loop


def nest(iterators: str, read: str, write: str, a: str = "8xf32", b: str = "8xf32") -> str:
    """A nest that copies %a[read] to %b[write]."""
    kind = a.rpartition("x")[2].split(",")[0]
    return f"""
func.func @main(%a: memref<{a}>, %b: memref<{b}>) {{
  loop.nest ({iterators}) ins(%a{read} : memref<{a}>) outs(%b{write} : memref<{b}>) {{
  ^bb0(%x: {kind}, %acc: {kind}):
    loop.yield %x : {kind}
  }}
  func.return
}}"""


def add(
    loops: str, a: str, b: str, size: str = "[8]", *, access: str = "update", one: bool = False
) -> str:
    """A kernel that adds row `a` of K elements to row `b` (or writes it there); `one`: of one buffer."""
    operands = ", ".join(
        f"#kernel.operand<{name} : f32 {way} rank 1 align 4>"
        for name, way in (("A", "read"), ("B", access))
    )
    sign, other = "+=" if access == "update" else "=", "%a" if one else "%b"
    return f"""
kernel.def @k computes "for k in K: B[k] {sign} A[k]" arguments [{operands}] needs [] source "x"
func.func @main(%a: memref<64xf32>, %b: memref<64xf32>) {{
  kernel.call @k {loops} (%a{a} strides [1], {other}{b} strides [1]) sizes {size}
    : memref<64xf32>, memref<64xf32>
  func.return
}}"""


Row = tuple[str, str, Sequence[object], Mapping[object, str]]
"""Its name, a program with `<N>` in it, numbers that are right there, and wrong ones with the error."""

LOOP: list[Row] = [
    (
        "C3, behind the end",
        nest("i = 4", "[i + <N>]", "[i]"),
        [0, 4],
        {5: "'loop.nest' C3: index i + 5 of dimension 0 runs from 5 to 8, outside a size of 8"},
    ),
    (
        "C3, before the begin",
        nest("i = 4", "[i * 2 - <N>]", "[i]"),
        [0],
        {
            1: "'loop.nest' C3: index i * 2 - 1 of dimension 0 runs from -1 to 5, outside a size of 8"
        },
    ),
    (
        "C3, backwards",
        nest("i = 4", "[-i + <N>]", "[i]"),
        [3, 7],
        {
            2: "'loop.nest' C3: index -i + 2 of dimension 0 runs from -1 to 2, outside a size of 8",
            8: "'loop.nest' C3: index -i + 8 of dimension 0 runs from 5 to 8, outside a size of 8",
        },
    ),
    (
        "C3, the trip count",
        nest("i = <N>", "[0]", "[i]"),
        [0, 1, 8],
        {9: "'loop.nest' C3: index i of dimension 0 runs from 0 to 8, outside a size of 8"},
    ),
    (
        "C3, two iterators in the second dimension",
        nest("i = 3, j = <N>", "[0, i * 2 + j]", "[i * 8 + j]", a="2x8xf32", b="32xf32"),
        [1, 4],
        {5: "'loop.nest' C3: index i * 2 + j of dimension 1 runs from 0 to 8, outside a size of 8"},
    ),
    ("C3, padded reads may be anywhere", nest("i = 4", "[i + <N>] pad 0.0", "[i]"), [-9, 0, 9], {}),
    ("C3, clipped writes too", nest("i = 4", "[i]", "[i + <N>] clip"), [-9, 0, 9], {}),
    ("C3, of no points", nest("i = 0", "[i + <N>]", "[i]"), [0, 99], {}),
    (
        "C4, two terms",
        nest("i = 3, j = <N>", "[i]", "[i * 2 + j]"),
        [1, 2],
        {3: "'loop.nest' C4: i * 2 + j writes one element twice"},
    ),
    (
        "C4, a step",
        nest("i = 2, j = 4", "[i]", "[i * <N> + j]", b="64xf32"),
        [4, 5],
        {3: "'loop.nest' C4: i * 3 + j writes one element twice"},
    ),
    (
        "C4, backwards",
        nest("i = 2, j = <N>", "[i]", "[i * 2 - j + 4]"),
        [1, 2],
        {3: "'loop.nest' C4: i * 2 - j + 4 writes one element twice"},
    ),
    (
        "C4, three terms",
        nest("i = 2, j = 3, k = <N>", "[i]", "[i * 6 + j * 2 + k]", b="64xf32"),
        [1, 2],
        {3: "'loop.nest' C4: i * 6 + j * 2 + k writes one element twice"},
    ),
    (
        "C4, a third term that reaches the first",
        nest("i = 2, j = <N>, k = 2", "[i]", "[i * 6 + j * 2 + k]", b="64xf32"),
        [1, 3],
        {4: "'loop.nest' C4: i * 6 + j * 2 + k writes one element twice"},
    ),
    (
        "C4, an iterator that is left out",
        nest("i = 4, j = <N>", "[i]", "[i]"),
        [0, 1],
        {2: "'loop.nest' C4: a write does not use the parallel iterator j"},
    ),
    (
        "C4, rows of the output in memory",
        nest("i = 4, j = 4", "[i, j]", "[i, j]", "4x4xf32", "4x4xf32, strided<[<N>, 1]>"),
        [4, 5],
        {
            3: "'loop.nest' C4: two elements of an output are one in memory: memref<4x4xf32, strided<[3, 1]>>"
        },
    ),
    (
        "C7, a pad of eight bits: those of either sign",
        nest("i = 4", "[i] pad <N>", "[i]", a="8xi8", b="8xi8"),
        [-128, 255],
        {
            -129: "expected a pad that i8 has, from -128 to 255, found -129",
            256: "expected a pad that i8 has, from -128 to 255, found 256",
            0.5: "expected a pad that i8 has, from -128 to 255, found 0.5",
        },
    ),
    (
        "C7, an init of a bool",
        nest("i = 4", "[i]", "[i] init <N>", a="8xi1", b="8xi1"),
        [0, 1],
        {
            2: "expected an init that i1 has, from 0 to 1, found 2",
            -1: "expected an init that i1 has, from 0 to 1, found -1",
        },
    ),
    (
        "kernel.call C1, sizes",
        add("", "[0]", "[0]", "[<N>]"),
        [0, 64],
        {-1: "'kernel.call' C1: expected sizes >= 0, found [-1]"},
    ),
    (
        "kernel.call C5, a parallel iterator that a written operand leaves out",
        add("for (i in <N>)", "[0]", "[0]"),
        [0, 1],
        {2: "'kernel.call' C5: operand B is written and does not use parallel iterator i"},
    ),
    (
        "kernel.call C5, a reduction that a written operand uses",
        add("for (i in <N> reduction)", "[0]", "[i * 8]"),
        [0, 1],
        {2: "'kernel.call' C5: operand B is written and uses reduction iterator i"},
    ),
    (
        "kernel.call C5, a reduction of what begins anew",
        add("for (i in <N> reduction)", "[i]", "[0]", access="write"),
        [0, 1],
        {2: "'kernel.call' C5: reduction i overwrites operand B, which the kernel begins anew"},
    ),
    (
        "kernel.call C6, behind the end",
        add("for (i in 3)", "[0]", "[i * 8 + <N>]"),
        [0, 40],
        {
            41: "'kernel.call' C6: operand B touches elements 41 to 64, outside of memref<64xf32>, "
            "which has 0 to 63"
        },
    ),
    (
        "kernel.call C6, before the begin",
        add("for (i in 3)", "[-i * 8 + <N>]", "[i * 8]"),
        [16],
        {
            15: "'kernel.call' C6: operand A touches elements -1 to 22, outside of memref<64xf32>, "
            "which has 0 to 63"
        },
    ),
    ("kernel.call C6, of no elements", add("for (i in 3)", "[i * 99]", "[i]", "[<N>]"), [0], {}),
    (
        "kernel.call C7, neighbours in one buffer",
        add("for (i in 2)", "[<N>]", "[i * 8 + 16]", one=True),
        [0, 8, 32],
        {
            9: "'kernel.call' C7: operand A touches elements 9 to 16 of the buffer in which operand B is "
            "written, 16 to 31",
            31: "'kernel.call' C7: operand A touches elements 31 to 38 of the buffer in which operand B is "
            "written, 16 to 31",
        },
    ),
    (
        "loop.for C1",
        """
func.func @main() {
  loop.for %i = 0 to 4 step <N> {
    loop.yield
  }
  func.return
}""",
        [1],
        {
            0: "'loop.for' C1: expected a step > 0, found 0",
            -1: "'loop.for' C1: expected a step > 0, found -1",
        },
    ),
    (
        "loop.alloc C1",
        "func.func @main() {\n  %0 = loop.alloc at <N> : memref<4xf32>\n  func.return\n}",
        [0, 64],
        {
            63: "'loop.alloc' C1: expected an offset that is a multiple of 64, found 63",
            -64: "'loop.alloc' C1: expected an offset that is a multiple of 64, found -64",
        },
    ),
    (
        "graph.layout C1",
        """
func.func @main(%x: tensor<1x8xf32, #graph.layout<block = [0, <N>], halo = [0, 0]>>) {
  func.return
}""",
        [0, 8],
        {-1: "C1: expected numbers >= 0, found block = [0, -1], halo = [0, 0]"},
    ),
]


@pytest.mark.parametrize("row", LOOP, ids=lambda row: row[0])
def test_programs(row: Row) -> None:
    _, template, right, wrong = row
    for value in right:
        assert error_of(template.replace("<N>", str(value))) is None, value
    for value, message in wrong.items():
        assert error_of(template.replace("<N>", str(value))) == message


# ---------------------------------------------------------------------------------- graph


def spatial(size: int) -> list[int]:
    return [1, 4, size]


WINDOW: dict[str, Any] = {"strides": [1], "pads": [0, 0], "dilations": [1]}
CONV: dict[str, Any] = {**WINDOW, "groups": 1}
POOL: dict[str, Any] = {**WINDOW, "window": [3]}
NORM: dict[str, Any] = {"axis": -1, "epsilon": 1e-5}

GraphRow = tuple[
    str,
    type[GraphOp],
    str,
    Mapping[str, Any],
    Sequence[tuple[list[list[int]], Mapping[str, Any]]],
    Sequence[tuple[list[list[int]], Mapping[str, Any], str]],
]
"""Its name, op, dtype, properties; shapes and properties that are right; those that are not."""

X3, W3 = [1, 4, 8], [6, 4, 3]


def pool_rows(pool: type[GraphOp]) -> list[GraphRow]:
    return [
        (
            f"{pool.name} C2 and C3",
            pool,
            "f32",
            POOL,
            [([X3], {}), ([X3], {"window": [1]})],
            [
                ([[4, 8]], {}, "C2: expected a rank of 3 or more, found shape (4, 8)"),
                ([X3], {"window": [0]}, "C3: expected 1 window sizes >= 1, found [0]"),
                ([X3], {"strides": [0]}, "C3: expected 1 strides >= 1, found [0]"),
                ([X3], {"dilations": [0]}, "C3: expected 1 dilations >= 1, found [0]"),
                ([X3], {"pads": [-1, 0]}, "C3: expected 2 pads >= 0, found [-1, 0]"),
            ],
        ),
        (
            f"{pool.name} C4 and C5",
            pool,
            "f32",
            POOL,
            [
                ([spatial(3)], {}),
                ([spatial(8)], {"pads": [2, 2]}),
                ([spatial(8)], {"pads": [4, 0], "dilations": [2]}),
            ],
            [
                (
                    [spatial(2)],
                    {},
                    "C4: expected 3 or more with padding in spatial dimension 0, found 2",
                ),
                (
                    [spatial(8)],
                    {"pads": [3, 2]},
                    "C5: expected elements of x in every window, found none in spatial dimension 0",
                ),
                (
                    [spatial(8)],
                    {"pads": [2, 3]},
                    "C5: expected elements of x in every window, found none in spatial dimension 0",
                ),
                (
                    [spatial(8)],
                    {"pads": [5, 0], "dilations": [2]},
                    "C5: expected elements of x in every window, found none in spatial dimension 0",
                ),
            ],
        ),
    ]


GRAPH: list[GraphRow] = [
    (
        "conv C2, the rank",
        ConvOp,
        "f32",
        CONV,
        [([X3, W3], {})],
        [
            (
                [[4, 8], [6, 4]],
                {},
                "C2: expected one rank of 3 or more, found shapes (4, 8) and (6, 4)",
            )
        ],
    ),
    (
        "conv C3",
        ConvOp,
        "f32",
        CONV,
        [([X3, W3], {}), ([X3, [6, 4, 1]], {})],
        [
            ([X3, [6, 4, 0]], {}, "C3: expected 1 window sizes >= 1, found [0]"),
            ([X3, W3], {"strides": [0]}, "C3: expected 1 strides >= 1, found [0]"),
            ([X3, W3], {"dilations": [0]}, "C3: expected 1 dilations >= 1, found [0]"),
            ([X3, W3], {"pads": [0, -1]}, "C3: expected 2 pads >= 0, found [0, -1]"),
            ([X3, W3], {"pads": [-1, 0]}, "C3: expected 2 pads >= 0, found [-1, 0]"),
        ],
    ),
    (
        "conv C4, groups",
        ConvOp,
        "f32",
        CONV,
        [([X3, [6, 2, 3]], {"groups": 2}), ([X3, W3], {"groups": 1})],
        [
            ([X3, W3], {"groups": 0}, "C4: "),
            ([X3, [6, 1, 3]], {"groups": 4}, "C4: "),
            ([X3, W3], {"groups": 2}, "C4: "),
        ],
    ),
    (
        "conv C6, the window",
        ConvOp,
        "f32",
        CONV,
        [
            ([spatial(3), W3], {}),
            ([spatial(2), W3], {"pads": [0, 1]}),
            ([spatial(5), W3], {"dilations": [2]}),
        ],
        [
            (
                [spatial(2), W3],
                {},
                "C6: expected 3 or more with padding in spatial dimension 0, found 2",
            ),
            (
                [spatial(1), W3],
                {"pads": [0, 1]},
                "C6: expected 3 or more with padding in spatial dimension 0, found 2",
            ),
            (
                [spatial(4), W3],
                {"dilations": [2]},
                "C6: expected 5 or more with padding in spatial dimension 0, found 4",
            ),
        ],
    ),
    *pool_rows(MaxPoolOp),
    *pool_rows(AvgPoolOp),
    (
        "reduce C1",
        ReduceSumOp,
        "f32",
        {},
        [([[2, 3]], {"axes": [0, 1]}), ([[2, 3]], {"axes": []})],
        [
            ([[2, 3]], {"axes": [2]}, "C1: expected ascending axes of rank 2, found [2]"),
            ([[2, 3]], {"axes": [-1]}, "C1: expected ascending axes of rank 2, found [-1]"),
            ([[2, 3]], {"axes": [0, 0]}, "C1: expected ascending axes of rank 2, found [0, 0]"),
            ([[2, 3]], {"axes": [1, 0]}, "C1: expected ascending axes of rank 2, found [1, 0]"),
        ],
    ),
    (
        "integer mean C3",
        ReduceMeanOp,
        "i32",
        {"axes": [1]},
        [([[2, 1]], {}), ([[0, 1]], {})],
        [([[2, 0]], {}, "C3: expected at least one element in an integer mean, found none")],
    ),
    *(
        (
            f"{op.name} C2",
            op,
            "f32",
            {},
            [([[2, 3]], {"axis": -2}), ([[2, 3]], {"axis": 1}), ([[]], {"axis": 0})],
            [
                ([[2, 3]], {"axis": -3}, "C2: "),
                ([[2, 3]], {"axis": 2}, "C2: "),
                ([[]], {"axis": 1}, "C2: "),
            ],
        )
        for op in (SoftmaxOp, LogSoftmaxOp)
    ),
    (
        "layer_norm C2 and C4",
        LayerNormOp,
        "f32",
        NORM,
        [([[2, 3], [3]], {}), ([[2, 3], [2, 3]], {"axis": -2}), ([[2, 3], [3]], {"epsilon": 0.0})],
        [
            ([[2, 3], [3]], {"axis": 2}, "C2: "),
            ([[2, 3], [3]], {"axis": -3}, "C2: "),
            (
                [[2, 3], [3]],
                {"epsilon": -1e-30},
                "C4: expected epsilon >= 0 and finite, found -1e-30",
            ),
            (
                [[2, 3], [3]],
                {"epsilon": float("inf")},
                "C4: expected epsilon >= 0 and finite, found inf",
            ),
        ],
    ),
    (
        "batch_norm C2 and C4",
        BatchNormOp,
        "f32",
        {"epsilon": 1e-5},
        [([[2, 3]] + [[3]] * 4, {}), ([[2, 3]] + [[3]] * 4, {"epsilon": 0.0})],
        [
            ([[3]] * 5, {}, "C2: expected x of rank 2 or more, found shape (3,)"),
            (
                [[2, 3]] + [[3]] * 4,
                {"epsilon": -1e-30},
                "C4: expected epsilon >= 0 and finite, found -1e-30",
            ),
        ],
    ),
    (
        "matmul C2 and C3",
        MatmulOp,
        "f32",
        {},
        [([[2, 3], [3, 2]], {}), ([[2, 0], [0, 2]], {})],
        [
            ([[3], [3, 2]], {}, "C2: expected shapes of rank 2 or more, found (3,) and (3, 2)"),
            ([[2, 3], [4, 2]], {}, "C3: expected 3 rows in the second operand, found 4"),
        ],
    ),
    (
        "reshape C1",
        ReshapeOp,
        "f32",
        {},
        [([[2, 3]], {"shape": [6]}), ([[0, 3]], {"shape": [0]})],
        [
            ([[2, 3]], {"shape": [7]}, "C1: "),
            ([[2, 3]], {"shape": [5]}, "C1: "),
            ([[2, 3]], {"shape": [-2, -3]}, "C1: "),
        ],
    ),
    (
        "broadcast_to C1",
        BroadcastToOp,
        "f32",
        {},
        [([[1, 3]], {"shape": [0, 3]}), ([[1, 3]], {"shape": [2, 3]})],
        [
            ([[1, 3]], {"shape": [-1, 3]}, "C1: shape (1, 3) does not broadcast to [-1, 3]"),
            ([[2, 3]], {"shape": [3, 3]}, "C1: shape (2, 3) does not broadcast to [3, 3]"),
        ],
    ),
    (
        "transpose C1",
        TransposeOp,
        "f32",
        {},
        [([[2, 3]], {"perm": [1, 0]})],
        [
            ([[2, 3]], {"perm": [1, 2]}, "C1: expected a permutation of 0 .. 1, found [1, 2]"),
            ([[2, 3]], {"perm": [0, -1]}, "C1: expected a permutation of 0 .. 1, found [0, -1]"),
            ([[2, 3]], {"perm": [1, 1]}, "C1: expected a permutation of 0 .. 1, found [1, 1]"),
        ],
    ),
    (
        "concat C2",
        ConcatOp,
        "f32",
        {},
        [([[2, 3]], {"axis": 0}), ([[2, 3]], {"axis": 1})],
        [
            ([[2, 3]], {"axis": 2}, "C2: expected an axis of rank 2, found 2"),
            ([[2, 3]], {"axis": -1}, "C2: expected an axis of rank 2, found -1"),
        ],
    ),
    (
        "slice C2 and C3",
        SliceOp,
        "f32",
        {"starts": [0], "sizes": [4], "steps": [1]},
        [
            ([[8]], {"starts": [4]}),
            ([[8]], {"sizes": [0], "starts": [99]}),
            ([[8]], {"starts": [7], "steps": [-2]}),
            ([[7]], {"starts": [6], "steps": [-2]}),
            ([[8]], {"steps": [2], "starts": [1]}),
        ],
        [
            ([[8]], {"starts": [5]}, "C3: elements 5 to 8 of dimension 0 are outside a size of 8"),
            (
                [[8]],
                {"starts": [-1]},
                "C3: elements -1 to 2 of dimension 0 are outside a size of 8",
            ),
            (
                [[8]],
                {"starts": [5], "steps": [-2]},
                "C3: elements 5 to -1 of dimension 0 are outside a size of 8",
            ),
            (
                [[8]],
                {"starts": [8], "steps": [-1]},
                "C3: elements 8 to 5 of dimension 0 are outside a size of 8",
            ),
            (
                [[8]],
                {"sizes": [-1]},
                "C2: expected sizes >= 0 and steps that are not 0, found [-1] and [1]",
            ),
            (
                [[8]],
                {"steps": [0]},
                "C2: expected sizes >= 0 and steps that are not 0, found [4] and [0]",
            ),
        ],
    ),
    *(
        (
            f"pad C1 and C2, {dtype}",
            PadOp,
            dtype,
            {"low": [0], "high": [0], "value": 0.0},
            [([[8]], {"value": float(low)}), ([[8]], {"value": float(high)})],
            [
                (
                    [[8]],
                    {"value": low - 1.0},
                    f"C2: expected a value of {dtype}, found {low - 1.0}",
                ),
                (
                    [[8]],
                    {"value": high + 1.0},
                    f"C2: expected a value of {dtype}, found {high + 1.0}",
                ),
                ([[8]], {"value": 0.5}, f"C2: expected a value of {dtype}, found 0.5"),
                (
                    [[8]],
                    {"low": [-1]},
                    "C1: expected 1 numbers >= 0 in low and in high, found [-1] and [0]",
                ),
                (
                    [[8]],
                    {"high": [-1]},
                    "C1: expected 1 numbers >= 0 in low and in high, found [0] and [-1]",
                ),
            ],
        )
        for dtype, low, high in (("i8", -128, 127), ("ui8", 0, 255), ("i16", -(2**15), 2**15 - 1))
    ),
    *(
        (
            f"clip C2 and C3, {dtype}",
            ClipOp,
            dtype,
            {},
            [([[8]], {"low": float(low), "high": float(high)})],
            [
                (
                    [[8]],
                    {"low": low - 1.0},
                    f"C3: expected a low that is a value of {dtype}, found {low - 1.0}",
                ),
                (
                    [[8]],
                    {"high": high + 1.0},
                    f"C3: expected a high that is a value of {dtype}, found {high + 1.0}",
                ),
                (
                    [[8]],
                    {"high": float("inf")},
                    "C2: expected a finite high, found inf; leave it out for none",
                ),
            ],
        )
        for dtype, low, high in (("i8", -128, 127), ("ui8", 0, 255))
    ),
]


def made(
    op: type[GraphOp], dtype: str, shapes: list[list[int]], properties: Mapping[str, Any]
) -> None:
    kind = mlir_type(DTYPES[dtype])
    block = Block(arg_types=[TensorType(kind, shape) for shape in shapes])
    op.make(*block.args, **properties)


@pytest.mark.parametrize("row", GRAPH, ids=lambda row: row[0])
def test_graph_ops(row: GraphRow) -> None:
    _, op, dtype, properties, right, wrong = row
    for shapes, changed in right:
        made(op, dtype, shapes, {**properties, **changed})
    for shapes, changed, message in wrong:
        with pytest.raises(VerifyException) as caught:
            made(op, dtype, shapes, {**properties, **changed})
        found = str(caught.value)
        # A row that ends in a label leaves the message, which has all values, to the lit test of the op.
        assert found == message or (message.endswith(": ") and found.startswith(message)), changed


@pytest.mark.parametrize(("axis", "fits"), [(0, True), (1, True), (2, False), (-1, False)])
def test_gather_axis(axis: int, fits: bool) -> None:
    block = Block(
        arg_types=[
            TensorType(mlir_type(DTYPES["f32"]), [2, 3]),
            TensorType(mlir_type(DTYPES["i64"]), [4]),
        ]
    )
    if fits:
        GatherOp.make(*block.args, axis=axis)
        return
    with pytest.raises(VerifyException) as caught:
        GatherOp.make(*block.args, axis=axis)
    assert str(caught.value) == f"C1: expected an axis of rank 2, found {axis}"
