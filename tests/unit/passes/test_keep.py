"""A schedule of its author's stays: a marked nest goes through a whole compilation as it is written."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import inarch
from inarch.core.errors import InarchError
from inarch.dialects import new_context
from inarch.dialects.loop.nest import NestOp
from inarch.driver.compiler import import_model, lower
from inarch.ir.text import parse_module, print_module
from inarch.testing import execute

PRODUCT = """func.func @main(%a: A, %b: B, %c: C {inarch.result}) FUNCTION{
  %t = loop.alloc : C
  loop.nest (mo = 4, no = 2, k = 24 reduction, mi = 4, ni = 16)
      ins(%a[mo * 4 + mi, k] : A, %b[k, no * 16 + ni] : B)
      outs(%t[mo * 4 + mi, no * 16 + ni] init 0.0 : C) attributes {NEST} {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %acc, %0 : f32
    loop.yield %1 : f32
  }
  loop.nest (m = 16, one = 1, n = 32) ins(%t[m, n] : C) outs(%c[m, n] : C) {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.constant 0.0 : f32
    %1 = arith.maximumf %x, %0 : f32
    loop.yield %1 : f32
  }
  func.return
}
"""
TYPES = {"A": "memref<16x24xf32>", "B": "memref<24x32xf32>", "C": "memref<16x32xf32>"}


def program(nest: str = "", function: str = "", module: str = "") -> str:
    text = PRODUCT.replace(" attributes {NEST}", f" attributes {{{nest}}}" if nest else "")
    for name, kind in TYPES.items():
        text = re.sub(rf"\b{name}\b", kind, text)
    text = text.replace("FUNCTION", f"attributes {{{function}}} " if function else "")
    return f"module attributes {{{module}}} {{\n{text}}}\n" if module else text


def lowered(text: str, **options: object) -> ModuleOp:
    context = new_context()
    module = import_model(parse_module(context, text), context, target="x86-64-v3", **options)  # pyright: ignore[reportArgumentType]
    lower(context, module, "kernel")
    return module


def iterators(module: ModuleOp) -> list[str]:
    return [
        " ".join(f"{name}{size}" for name, size in zip(op.names, op.sizes, strict=True))
        for op in module.walk()
        if isinstance(op, NestOp)
    ]


ORDER = "m = 16, n = 32, k = 24 reduction"
HAND = "mo4 no2 k24 mi4 ni16"


def test_without_a_mark_the_nest_is_scheduled_anew() -> None:
    assert HAND not in iterators(lowered(program()))


def test_a_marked_nest_stays_and_its_neighbours_do_not() -> None:
    found = iterators(lowered(program(nest="inarch.keep")))
    assert HAND in found
    assert "m16 one1 n32" not in found
    assert len(found) == 2


def test_a_marked_nest_takes_in_no_neighbour() -> None:
    """One that could: without the mark both are one nest before anything is scheduled."""
    plain = program(nest="NEST").replace("mo = 4, no = 2, k = 24 reduction, mi = 4, ni = 16", ORDER)
    plain = plain.replace("mo * 4 + mi", "m").replace("no * 16 + ni", "n")
    for mark, count in (("other", 1), ("inarch.keep", 2)):
        context = new_context()
        module = parse_module(context, plain.replace("NEST", mark))
        lower(context, module, "loop")
        assert len(iterators(module)) == count, mark


@pytest.mark.parametrize("where", ["function", "module"])
def test_a_mark_around_nests_is_one_of_each(where: str) -> None:
    assert iterators(lowered(program(**{where: "inarch.keep"}))) == [HAND, "m16 one1 n32"]


def test_a_kept_schedule_computes_what_it_means(tmp_path: Path) -> None:
    text = program(nest="inarch.keep")
    (tmp_path / "m.mlir").write_text(text)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, s).astype(np.float32) for s in ((16, 24), (24, 32)))
    (wanted,) = execute(text, [a, b])
    np.testing.assert_array_equal(inarch.compile(tmp_path / "m.mlir")(a, b), wanted)
    np.testing.assert_array_equal(wanted, np.maximum(a @ b, 0))


def test_a_program_that_was_lowered_goes_on_from_its_text() -> None:
    """What a compilation has scheduled, and is marked, is the same after another one."""
    once = print_module(lowered(program(nest="inarch.keep")))
    again = iterators(
        lowered(
            once.replace("builtin.module attributes {", "builtin.module attributes {inarch.keep, ")
        )
    )
    assert again == iterators(parse_module(new_context(), once))


def test_a_kernel_that_is_demanded_of_a_kept_nest_is_an_error() -> None:
    with pytest.raises(InarchError) as caught:
        lowered(program(function="inarch.keep"), microkernels=["gemm-f32"])
    assert "the nest's schedule is its author's (inarch.keep)" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            program().replace("func.return", "func.return {inarch.keep}"),
            "expected inarch.keep on a loop.nest, a loop.for, a function or a module, found it on "
            "'func.return'",
        ),
        (
            program(nest="inarch.keep = 1 : i64"),
            "expected inarch.keep without a value, found 1 : i64",
        ),
    ],
)
def test_a_mark_that_nothing_obeys_is_an_error(text: str, message: str) -> None:
    with pytest.raises(InarchError) as caught:
        lowered(text)
    assert message in str(caught.value)
