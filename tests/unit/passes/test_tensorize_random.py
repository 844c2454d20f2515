"""K1: nests that are rewritten at random match as the plain ones do; whatever matches computes the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ArrayAttr, StringAttr

from effort import effort
from inarch.core.errors import InarchError
from inarch.core.plugins import Extensions, load_file
from inarch.dialects import new_context
from inarch.ir.target import DEMANDED
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.tensorize.tensorize import tensorize
from inarch.testing import execute, execute_compiled, random_inputs

TOYS = Path(__file__).parents[2] / "lit" / "passes" / "tensorize" / "Inputs"

Index = dict[str, int]
"""Iterator -> its coefficient; the constant is under ''."""


@dataclass(frozen=True)
class Nest:
    """A contraction of two operands: sizes of iterators, and the index of each operand, by dimension."""

    sizes: dict[str, int]
    reductions: frozenset[str]
    a: tuple[Index, ...]
    b: tuple[Index, ...]
    c: tuple[Index, ...]
    body: tuple[str, str] = ("arith.mulf {x}, {y}", "arith.addf {acc}, {p}")
    swapped: bool = False
    order: tuple[str, ...] = ()
    pad: bool = False

    def text(self) -> str:
        """The module."""
        order = self.order or tuple(self.sizes)
        runs = ", ".join(
            f"{name} = {self.sizes[name]}{' reduction' if name in self.reductions else ''}"
            for name in order
        )
        shapes = [self._shape(index) for index in (self.a, self.b, self.c)]
        kinds = [f"memref<{shape}xf32>" for shape in shapes]
        a, b, c = (", ".join(map(_said, index)) for index in (self.a, self.b, self.c))
        pad = " pad 0.0" if self.pad else ""
        product = self.body[0].format(
            x="%y" if self.swapped else "%x", y="%x" if self.swapped else "%y"
        )
        total = self.body[1].format(
            acc="%p" if self.swapped else "%acc", p="%acc" if self.swapped else "%p"
        )
        return f"""builtin.module {{
  func.func @main(%a: {kinds[0]}, %b: {kinds[1]}, %c: {kinds[2]} {{inarch.result}}) {{
    loop.nest ({runs})
        ins(%a[{a}]{pad} : {kinds[0]}, %b[{b}] : {kinds[1]})
        outs(%c[{c}] init 0.0 : {kinds[2]}) {{
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %p = {product} : f32
      %s = {total} : f32
      loop.yield %s : f32
    }}
    func.return
  }}
}}"""

    def _shape(self, index: tuple[Index, ...]) -> str:
        extents = [
            form.get("", 0) + sum(by * (self.sizes[i] - 1) for i, by in form.items() if i) + 1
            for form in index
        ]
        return "x".join(map(str, extents)) or "1"


def _said(form: Index) -> str:
    terms = [f"{i} * {by}" if by != 1 else i for i, by in form.items() if i and by]
    terms += [str(form[""])] if form.get("") else []
    return " + ".join(terms) or "0"


def _one(*names: str) -> tuple[Index, ...]:
    return tuple({name: 1} for name in names)


@st.composite
def contractions(draw: st.DrawFn) -> Nest:
    """A matrix product, a batch of them, or a convolution with its channels anywhere."""
    size = st.integers(2, 9)
    kind = draw(st.sampled_from(["matmul", "batch", "conv"]))
    m, n, k = draw(size), draw(size), draw(st.integers(2, 6))
    if kind == "matmul":
        return Nest(
            {"m": m, "n": n, "k": k}, frozenset("k"), _one("m", "k"), _one("k", "n"), _one("m", "n")
        )
    if kind == "batch":
        sizes = {"b": 3, "m": m, "n": n, "k": k}
        a, b, c = _one("b", "m", "k"), _one("b", "k", "n"), _one("b", "m", "n")
        return Nest(sizes, frozenset("k"), a, b, c)
    stride, dilation = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    sizes = {"o": n, "h": m, "w": 4, "i": k, "r": 3, "s": 2}
    a = ({"i": 1}, {"h": stride, "r": dilation}, {"w": stride, "s": dilation})
    return Nest(sizes, frozenset("irs"), a, _one("o", "i", "r", "s"), _one("o", "h", "w"))


def _split(nest: Nest, name: str, factor: int) -> Nest:
    """Iterator `name` as `outer * factor + inner`."""
    sizes = {i: n for i, n in nest.sizes.items() if i != name}
    sizes |= {f"{name}o": nest.sizes[name] // factor, f"{name}i": factor}

    def moved(index: tuple[Index, ...]) -> tuple[Index, ...]:
        return tuple(
            {i: by for i, by in form.items() if i != name}
            | ({f"{name}o": form[name] * factor, f"{name}i": form[name]} if name in form else {})
            for form in index
        )

    reductions = nest.reductions
    if name in reductions:
        reductions = (reductions - {name}) | {f"{name}o", f"{name}i"}
    return replace(
        nest,
        sizes=sizes,
        reductions=reductions,
        a=moved(nest.a),
        b=moved(nest.b),
        c=moved(nest.c),
    )


def _renamed(nest: Nest) -> Nest:
    names = {name: f"x{at}" for at, name in enumerate(nest.sizes)}

    def moved(index: tuple[Index, ...]) -> tuple[Index, ...]:
        return tuple({names.get(i, i): by for i, by in form.items()} for form in index)

    return replace(
        nest,
        sizes={names[i]: n for i, n in nest.sizes.items()},
        reductions=frozenset(names[i] for i in nest.reductions),
        a=moved(nest.a),
        b=moved(nest.b),
        c=moved(nest.c),
    )


@st.composite
def rewritten(draw: st.DrawFn) -> Nest:
    """A contraction after rewrites that keep its meaning."""
    nest = draw(contractions())
    for name, size in list(nest.sizes.items()):
        factors = [f for f in range(2, size) if size % f == 0]
        if factors and draw(st.booleans()):
            nest = _split(nest, name, draw(st.sampled_from(factors)))
    if draw(st.booleans()):
        unit = {"u": 1}
        nest = replace(
            nest, sizes={**nest.sizes, **unit}, a=({"u": 1}, *nest.a), c=(*nest.c, {"u": 1})
        )
    if draw(st.booleans()):
        nest = _renamed(nest)
    operands: dict[str, Any] = {
        field: tuple(draw(st.permutations(getattr(nest, field)))) for field in ("a", "b", "c")
    }
    order = tuple(draw(st.permutations(list(nest.sizes))))
    return replace(nest, order=order, swapped=draw(st.booleans()), **operands)


def _run(text: str, kernel: str) -> bool:
    """Whether `kernel` takes the nest of `text`; asserts that the result is the same, bit for bit."""
    with MICROKERNELS.scope():
        path = TOYS / f"{kernel.replace('-', '_')}.py"
        load_file(path, {"microkernel": cast("Extensions[object]", MICROKERNELS)})
        context = new_context()
        module = parse_module(context, text)
        verify_module(module)
        after = module.clone()
        after.attributes[DEMANDED] = ArrayAttr([StringAttr(kernel)])  # whatever it costs
        try:
            report = tensorize(after, [kernel])
        except InarchError as error:
            if "expected a nest that microkernel" not in str(error):
                raise
            return False
        verify_module(after)
        taken = report.nests[0].taken is not None
        if taken:
            generator = np.random.default_rng(0)
            inputs: list[Any] = []
            for one in random_inputs(module):
                shape: tuple[int, ...] = one.shape
                inputs.append(np.asarray(generator.integers(-4, 5, shape), one.dtype))
            (expected,) = execute(module, inputs, context)
            for run in (execute, execute_compiled):
                np.testing.assert_array_equal(run(after, inputs, context)[0], expected)
    return taken


@pytest.mark.parametrize("kernel", ["whole-gemm", "tile-gemm"])
@settings(max_examples=effort(2, 4), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(nest=rewritten())
def test_equivalent_nests_match(kernel: str, nest: Nest) -> None:
    """K1: order, splits, unit dimensions, operands' order, layouts and names make no difference."""
    assert _run(nest.text(), kernel), nest.text()


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(nest=rewritten(), data=st.data())
def test_other_bodies_never_match(nest: Nest, data: st.DataObject) -> None:
    """K1: a sum, a difference, a maximum in place of the product or of the sum is another meaning."""
    body = data.draw(
        st.sampled_from(
            [
                ("arith.addf {x}, {y}", "arith.addf {acc}, {p}"),
                ("arith.subf {x}, {y}", "arith.addf {acc}, {p}"),
                ("arith.mulf {x}, {x}", "arith.mulf {acc}, {p}"),
                ("arith.mulf {x}, {y}", "arith.maximumf {acc}, {p}"),
                ("arith.mulf {x}, {y}", "arith.subf {acc}, {p}"),
                ("arith.mulf {x}, %acc", "arith.addf {acc}, {p}"),
            ]
        )
    )
    assert not _run(replace(nest, body=body).text(), "whole-gemm")


@settings(max_examples=effort(5, 12), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(nest=rewritten(), data=st.data())
def test_what_matches_computes_the_same(nest: Nest, data: st.DataObject) -> None:
    """K1: with another coefficient, a shift, or an operand that no longer varies, no result is wrong."""
    field = data.draw(st.sampled_from(["a", "b"]))
    index = [dict(form) for form in getattr(nest, field)]
    form = data.draw(st.sampled_from(index))
    name = data.draw(st.sampled_from(sorted(form)))
    change = data.draw(st.sampled_from(["coefficient", "shift", "missing", "elsewhere"]))
    if change == "coefficient":
        form[name] += 1
    elif change == "shift":
        form[""] = 2
    elif change == "missing":
        del form[name]
    else:
        other = data.draw(st.sampled_from(sorted(nest.sizes)))
        form[other] = form.get(other, 0) + 1
    rewritten_operand: dict[str, Any] = {field: tuple(index)}
    changed = replace(nest, **rewritten_operand)
    kernel = data.draw(st.sampled_from(["whole-gemm", "tile-gemm"]))
    _run(changed.text(), kernel)


def test_reads_outside_of_a_buffer_never_match() -> None:
    """K1: zeros around a buffer are not in it."""
    nest = Nest(
        {"m": 4, "n": 5, "k": 3},
        frozenset("k"),
        ({"m": 1, "k": 1}, {"k": 1}),
        _one("k", "n"),
        _one("m", "n"),
        pad=True,
    )
    assert _run(nest.text(), "whole-gemm")  # never outside
    text = nest.text().replace("%a[m + k, k] pad", "%a[m + k + 1, k] pad")
    assert text != nest.text()
    assert not _run(text, "whole-gemm")
