"""Kernels made to measure: what they compute, for any dtype and body, and where they are taken."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import partial, reduce
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import inarch
from effort import effort, seeds
from inarch.backends.c.templates import columns, packed, rows
from inarch.driver.extensions import load_files
from inarch.machine.target import Target, native, parse
from inarch.meaning import Apply, Element, Expression, Number
from inarch.microkernel import (
    Microkernel,
    check,
    instance_source,
    instantiate,
    members,
    prototype,
)
from inarch.microkernel.table import TEMPLATES
from inarch.microkernel.template import Axis, Make, Operand, Template, Workload
from inarch.testing import check_semantics, run_pass
from inarch.verification import verify


def _e(name: str) -> Element:
    return Element(name, ())


def _a(function: str, *arguments: Expression) -> Expression:
    return Apply(function, arguments)


_CENTRED = _a("sub", _e("A0"), _e("A1"))
BODIES: list[tuple[str, Expression, Expression | None]] = [
    ("add", _a("mul", _e("A0"), _e("A1")), None),
    ("add", _e("A0"), _a("div", _e("C"), Number(7.0))),
    ("add", _a("mul", _CENTRED, _CENTRED), _a("add", _e("C"), _e("A2"))),
    ("add", _a("div", _e("A0"), _e("A1")), None),
    ("max", _e("A0"), _a("relu", _e("C"))),
    ("max", _a("abs", _e("A0")), _a("neg", _e("C"))),
    ("min", _a("add", _e("A0"), _e("A1")), _a("min", _e("C"), _e("A2"))),
]
FLOATS: list[tuple[str, Expression, Expression | None]] = [
    ("mul", _e("A0"), None),
    ("add", _a("exp", _e("A0")), None),
    ("add", _a("log1p", _a("expm1", _e("A0"))), None),
    ("add", _a("abs", _e("A0")), _a("sqrt", _e("C"))),
]
DTYPES = ("f32", "f64", "i8", "i16", "i32", "i64")


def _workload(seed: int) -> Workload:
    """A random one: rows, columns, and two reductions, the last of them contiguous or not."""
    choose = random.Random(seed)
    dtype = DTYPES[seed % len(DTYPES)]
    operator, update, finish = choose.choice(BODIES + FLOATS if dtype[0] == "f" else BODIES)
    sizes = (choose.choice([5, 9, 16]), choose.choice([3, 16, 37]), 3, choose.choice([7, 20, 70]))
    _, n, k, c = sizes
    strides = {
        "mk": (k * c, 0, c, 1),
        "kn": (0, 1, c * n, n),
        "mkn": (k * c * n, 1, c * n, n),
        "nk": (0, k * c, c, 1),
        "mn": (n, 1, 0, 0),
        "m": (1, 0, 0, 0),
        "n": (0, 1, 0, 0),
    }
    first, second = choose.choice(
        [("mk", "kn"), ("mk", "nk"), ("mkn", "n"), ("mkn", "kn"), ("mk", "m")]
    )
    operands = {
        "A0": Operand(dtype, strides[first], is_constant=False),
        "A1": Operand(dtype, strides[second], is_constant=False),
        "A2": Operand(dtype, strides[choose.choice(["mn", "n"])], is_constant=False),
        "C": Operand(dtype, strides["mn"], is_constant=False),
    }
    axes = tuple(Axis(size, at > 1) for at, size in enumerate(sizes))
    init = choose.choice([None, 0.0, 1.0, -3.0])
    return Workload(axes, operands, "C", operator, update, init, finish)


def _packed(seed: int) -> Workload:
    """A random product by weights of a few bits: rows, outputs, blocks, words of a block."""
    choose = random.Random(seed)
    bits, zero = choose.choice((2, 4, 8)), choose.choice((None, "f32", "i8"))
    per, (m, n, b, d) = (
        32 // bits,
        (choose.choice((1, 3, 9)), choose.choice((16, 37, 70)), 3, choose.choice((1, 2))),
    )
    less: Expression = Number(float(1 << (bits - 1)))
    if zero is not None:
        less = _e("A2") if zero == "f32" else _a("f32", _e("A2"))
    terms: list[Expression] = []
    for at in range(per):
        word = _a("shift_right", _e("A0"), Number(float(bits * at))) if at else _e("A0")
        field = _a("f32", _a("and", word, Number(float((1 << bits) - 1))))
        terms.append(_a("mul", _e(f"A{3 + at}"), _a("sub", field, less)))
    update = _a("mul", reduce(partial(_a, "add"), terms), _e("A1"))
    by_block, constant = (0, b, 1, 0), choose.choice((True, False))
    operands = {
        "A0": Operand("i32", (0, b * d, d, 1), is_constant=constant),
        "A1": Operand("f32", by_block, is_constant=constant),
        **({} if zero is None else {"A2": Operand(zero, by_block, is_constant=constant)}),
        **{
            f"A{3 + at}": Operand("f32", (b * d * per, 0, d * per, per), is_constant=False)
            for at in range(per)
        },
        "C": Operand("f32", (n, 1, 0, 0), is_constant=False),
    }
    axes = tuple(Axis(size, at > 1) for at, size in enumerate((m, n, b, d)))
    finish = choose.choice((None, _a("relu", _e("C"))))
    return Workload(axes, operands, "C", "add", update, choose.choice((None, 0.0)), finish)


@pytest.mark.sampled(effort(1, 6), reason="each is compiled and run in processes of its own")
@pytest.mark.parametrize("target", ["native", "x86-64-v3", "generic"])
@pytest.mark.parametrize("seed", range(12))
def test_packed_weights_are_taken_apart_as_they_are_meant(seed: int, target: str) -> None:
    kernel = packed.make(_packed(seed), parse(target))
    assert kernel is not None
    choices = members(kernel, parse(target))
    choice = random.Random(seed).choice(choices)
    verdict = verify(instantiate(kernel, "made", choice, target=parse(target)))
    assert verdict.ok, f"{kernel.computes}: {verdict.line()}"


def test_the_template_of_packed_weights_takes_no_other_fields() -> None:
    whole = _packed(1)
    assert isinstance(whole.update, Apply)
    wide = {**whole.operands, "A0": replace(whole.operands["A0"], dtype="i64")}
    for other in (
        replace(whole, operator="mul"),
        replace(whole, operands=wide),
        replace(whole, update=whole.update.arguments[0]),
        replace(whole, update=_without(whole.update, "shift_right")),
        replace(
            whole,
            operands={**whole.operands, "C": replace(whole.operands["C"], strides=(1, 9, 0, 0))},
        ),
    ):
        assert packed.make(other, native()) is None
    assert packed.make(whole, native()) is not None


def _without(expression: Expression, function: str) -> Expression:
    """An expression with the first argument in place of a function of several."""
    if not isinstance(expression, Apply):
        return expression
    if expression.function == function:
        return expression.arguments[0]
    return Apply(
        expression.function, tuple(_without(each, function) for each in expression.arguments)
    )


def _made(seed: int, target: Target) -> list[Microkernel]:
    kernels = [template.make(_workload(seed), target) for template in TEMPLATES.values()]
    return [kernel for kernel in kernels if kernel is not None]


@pytest.mark.sampled(effort(1, 6), reason="each is compiled and run in processes of its own")
@pytest.mark.parametrize("seed", range(36))
def test_what_templates_make_computes_what_it_says(seed: int) -> None:
    target = native()
    for kernel in _made(seed, target):
        choice = random.Random(seed).choice(members(kernel, target))
        verdict = verify(instantiate(kernel, "made", choice, target=target))
        assert verdict.ok, f"{kernel.computes}: {verdict.line()}"


@pytest.mark.parametrize("target", ["generic", "x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_templates_make_sound_kernels_for_every_target(target: str) -> None:
    count, chosen = 0, seeds(20, 60)
    for seed in chosen:
        for kernel in _made(seed, parse(target)):
            check(kernel, "made")
            for member in members(kernel, parse(target))[:3]:
                instance = instantiate(kernel, "made", member, target=parse(target))
                assert prototype(instance).removeprefix("void ").split("(")[0] in instance_source(
                    instance
                )
            count += 1
    assert count > len(chosen)


def _program(dtype: str, shape: str, op: str, result: str) -> str:
    x, y = f"tensor<{shape}x{dtype}>", f"tensor<{result}x{dtype}>"
    return f"""func.func @main(%x: {x}) -> {y} {{
  %0 = {op} : {x} -> {y}
  func.return %0 : {y}
}}"""


@pytest.mark.sampled(effort(4, 8), reason="each axis, most ops and dtypes")
@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        *product(("sum", "max", "min", "prod"), ("f32", "f64", "i32", "i64", "i8")),
        *product(("mean",), ("f32", "f64")),
    ],
)
@pytest.mark.parametrize(("axis", "shape"), [(1, "7x37"), (0, "37x21"), (1, "3x5x9")])
def test_a_reduction_is_done_by_a_kernel_made_for_it(
    op: str, dtype: str, axis: int, shape: str
) -> None:
    kept = "x".join(n for at, n in enumerate(shape.split("x")) if at != axis)
    text = _program(dtype, shape, f"graph.reduce_{op} %x axes = [{axis}] keepdims = false", kept)
    pipeline = "graph-to-loop,drop-unit-iterators,fuse-nests,tensorize"
    assert "kernel.call @" in run_pass(text, pipeline)
    check_semantics(text, pipeline=pipeline, compiled=True)


@pytest.mark.sampled(effort(3, 8), reason="each op, each axis, each shape")
@pytest.mark.parametrize("shape", [(7, 37), (5, 3)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("op", "sign"), [("max", -1.0), ("min", 1.0)])
def test_an_extreme_begins_with_none(
    op: str, sign: float, axis: int, shape: tuple[int, int]
) -> None:
    """The largest of negative numbers is no 0, and not the smallest of positive ones."""
    from inarch.dialects import new_context
    from inarch.ir.text import parse_module

    height, width = shape
    left = width if axis == 0 else height
    reduce = f"graph.reduce_{op} %x axes = [{axis}] keepdims = false"
    context, text = new_context(), _program("f32", f"{height}x{width}", reduce, str(left))
    given = (1 + np.random.default_rng(0).random(shape, np.float32)) * np.float32(sign)
    found = inarch.compile(parse_module(context, text), context=context)(given)
    np.testing.assert_array_equal(found, getattr(given, op)(axis=axis))


@pytest.mark.parametrize(("make", "strides"), [(rows.make, (64, 1)), (columns.make, (1, 64))])
def test_a_product_is_added_with_one_rounding(make: Make, strides: tuple[int, int]) -> None:
    """On lanes, and on numbers that are left over; one that is rounded before is not."""
    target, of_squares = parse("x86-64-v3"), _a("mul", _e("A0"), _e("A0"))
    for update, is_fused in ((of_squares, True), (_a("rounded", of_squares), False)):
        operands = {
            "A0": Operand("f32", strides, is_constant=False),
            "C": Operand("f32", (1, 0), is_constant=False),
        }
        axes = (Axis(64, False), Axis(64, True))
        kernel = make(Workload(axes, operands, "C", "add", update, 0.0, None), target)
        assert kernel is not None
        text = instance_source(instantiate(kernel, "it", members(kernel, target)[0], target=target))
        for call in (r"INARCH_FMA_V8F32", r"\w+_fma_f32"):
            assert (re.search(rf"[cs]_0\w* = {call}\(", text) is not None) == is_fused


def test_equal_rows_have_equal_sums_whatever_is_left_over() -> None:
    """Seven rows: four at once, then what remains; each in the same order."""
    text = _program("f32", "7x1003", "graph.reduce_sum %x axes = [1] keepdims = false", "7")
    from inarch.dialects import new_context
    from inarch.ir.text import parse_module

    context = new_context()
    run = inarch.compile(parse_module(context, text), context=context)
    row = np.random.default_rng(0).standard_normal(1003).astype(np.float32) * 1e3
    found = np.asarray(run(np.tile(row, (7, 1))))
    np.testing.assert_array_equal(found, np.repeat(found[:1], 7))


def test_the_kernels_of_the_table_come_first() -> None:
    """A product of f32 is `gemm-f32`'s, one of f64 gets a kernel of its own."""
    for dtype, name in (("f32", "gemm_f32"), ("f64", "columns_")):
        a, b, c = (f"tensor<{shape}x{dtype}>" for shape in ("64x48", "48x32", "64x32"))
        text = f"""builtin.module attributes {{inarch.target = "x86-64-v3"}} {{
func.func @main(%a: {a}, %b: {b}) -> {c} {{
  %0 = graph.matmul %a, %b : {a}, {b} -> {c}
  func.return %0 : {c}
}}
}}"""
        assert f"kernel.call @{name}" in run_pass(text, "graph-to-loop,tensorize")


@pytest.mark.parametrize("template", [columns.TEMPLATE, rows.TEMPLATE])
def test_what_no_vector_helps_is_left_alone(template: Template) -> None:
    """One column, one term; and an operand that would be copied in another order for nothing."""
    one = (Axis(8, False), Axis(1, True))
    lonely = {"A0": Operand("f32", (2, 0), False), "C": Operand("f32", (2, 0), False)}
    assert (
        template.make(Workload(one, lonely, "C", "add", _e("A0"), 0.0, None), parse("x86-64-v3"))
        is None
    )
    strided = {"A0": Operand("f32", (2, 3), False), "C": Operand("f32", (1, 0), False)}
    two = (Axis(8, False), Axis(8, True))
    assert (
        template.make(Workload(two, strided, "C", "add", _e("A0"), 0.0, None), parse("x86-64-v3"))
        is None
    )


def compiled_with(template: str, folder: Path, warning: str) -> None:
    """A sum of rows, compiled where a template makes what `rows` does with `template` for its last line."""
    file, model = folder / "own.py", folder / "m.mlir"
    file.write_text(
        "from dataclasses import replace\n"
        "from inarch.backends.c.templates import rows\n"
        "from inarch.microkernel.template import Template\n"
        "def make(workload, target):\n"
        "    kernel = rows.make(workload, target)\n"
        f"    {template}\n"
        "TEMPLATE = Template(make)\n"
    )
    text = _program("f32", "7x100", "graph.reduce_sum %x axes = [1] keepdims = false", "7")
    model.write_text(text)
    with TEMPLATES.scope():
        load_files([file])
        with pytest.warns(match=warning) as warned:
            run = inarch.compile(model)
    assert len(warned) == 1
    np.testing.assert_array_equal(run(np.ones((7, 100), np.float32)), np.full(7, 100))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "return kernel and replace(kernel, dtypes={'X': 'f32'})",
            "expected dtypes of operands C, A0",
        ),
        ("return kernel.absent", "AttributeError: 'Microkernel' object has no attribute 'absent'"),
    ],
)
def test_a_template_that_fails_is_said_and_left_out(line: str, said: str, tmp_path: Path) -> None:
    compiled_with(line, tmp_path, f"template 'own' fails: .*{said}.*; compiled without")


def test_what_a_template_from_outside_makes_is_checked(tmp_path: Path) -> None:
    """As a kernel from outside is: one that computes something else is a warning, and is not used."""
    line = (
        "return kernel and replace(kernel, cost=1.0, generate=lambda instance: "
        "kernel.generate(instance).replace('k + 1 <= K', 'k + 2 <= K'))"
    )
    compiled_with(
        line, tmp_path, r"own.py: microkernel 'own-\w+' .*wrong-value.*; compiled without"
    )


def test_an_operator_of_unsigned_numbers_is_no_meaning_s() -> None:
    """The smallest of bytes that the nest takes as unsigned is not that of signed ones."""
    check_semantics(
        """func.func @main(%x: memref<4x40xi8>, %y: memref<4xi8> {inarch.result}) {
  loop.nest (i = 4, r = 40 reduction) ins(%x[i, r] : memref<4x40xi8>) outs(%y[i] init 100 : memref<4xi8>) {
  ^bb0(%e: i8, %acc: i8):
    %0 = arith.minui %acc, %e : i8
    loop.yield %0 : i8
  }
  func.return
}""",
        pipeline="tensorize",
    )


@pytest.mark.parametrize("number", [(1 << 63) - 1, (1 << 53) + 1, -(1 << 63) + 1])
def test_numbers_that_no_double_holds_are_no_meaning_s(number: int) -> None:
    """Each bit of an i64 counts, in what is summed up as in what follows."""
    check_semantics(
        f"""func.func @main(%x: memref<4x40xi64>, %y: memref<4xi64> {{inarch.result}}) {{
  loop.nest (i = 4, r = 40 reduction) ins(%x[i, r] : memref<4x40xi64>) outs(%y[i] init 0 : memref<4xi64>) {{
  ^bb0(%e: i64, %acc: i64):
    %c = arith.constant {number} : i64
    %0 = arith.muli %e, %c : i64
    %1 = arith.addi %acc, %0 : i64
    loop.yield %1 : i64
  }} finish {{
  ^bb0(%e: i64, %sum: i64):
    %c = arith.constant {number} : i64
    %0 = arith.muli %sum, %c : i64
    %1 = arith.maxsi %sum, %0 : i64
    loop.yield %1 : i64
  }}
  func.return
}}""",
        pipeline="tensorize",
    )
