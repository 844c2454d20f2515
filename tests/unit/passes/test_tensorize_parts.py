"""K1: a reduction that is cut into ragged parts begins once and is finished once, wherever it is summed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inarch.core.plugins import Extensions, load_file
from inarch.dialects import new_context
from inarch.dialects.kernel.call import CallOp
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.microkernel.table import MICROKERNELS
from inarch.passes.tensorize.tensorize import tensorize
from inarch.testing import execute

KERNEL = '''"""A product of whole tiles: what is left of every axis needs members of its own."""

from inarch.microkernel import Instance, Microkernel, prototype


def _cycles(instance: Instance) -> float:
    rows, columns, depth = (instance.params[name] for name in ("MR", "NR", "KR"))
    return rows * columns * depth / 8 + rows * columns / 4 + depth + 1


def _generate(instance: Instance) -> str:
    begin = "0" if instance.init == "zero" else "C[m * C_0 + n * C_1]"
    end = "sum > 0 ? sum : 0" if instance.finish is not None else "sum"
    params = "".join(f"enum {{ {name} = {value} }};\\n" for name, value in instance.params.items())
    body = f"""    for (int64_t m = 0; m < MR; m++)
        for (int64_t n = 0; n < NR; n++) {{
            float sum = {begin};
            for (int64_t k = 0; k < KR; k++)
                sum += A[m * A_0 + k * A_1] * B[k * B_0 + n * B_1];
            C[m * C_0 + n * C_1] = {end};
        }}
"""
    return prototype(instance) + "\\n{\\n" + params + body + "}\\n"


MICROKERNEL = Microkernel(
    computes="for m in MR, n in NR, k in KR: C[m, n] += A[m, k] * B[k, n]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={"MR": ROWS, "NR": (1, 4), "KR": PARTS},
    layout=LAYOUT,
    inits=INITS,
    epilogue=EPILOGUE,
    cost=_cycles,
    generate=_generate,
)
'''
FINISHES = {
    "none": "",
    "relu": "%z = arith.constant 0.0 : f32\n      %t = arith.maximumf %acc, %z : f32",
    "residual": "%t = arith.subf %r, %acc : f32",
}


@dataclass(frozen=True)
class Case:
    """`c = finish(init + a @ b)` by a kernel of certain parts and variants."""

    sizes: tuple[int, int, int]
    init: float | None = 0.0
    finish: str = "none"
    parts: tuple[int, ...] = (2, 3, 5)
    rows: tuple[int, ...] = (1, 2, 3)
    layout: str = "{}"
    inits: tuple[str, ...] = ("accumulate",)
    epilogue: tuple[str, ...] = ()

    def kernel(self) -> str:
        """The file that declares it."""
        text = KERNEL.replace("PARTS", repr(self.parts)).replace("LAYOUT", self.layout)
        text = text.replace("ROWS", repr(self.rows))
        return text.replace("INITS", repr(self.inits)).replace("EPILOGUE", repr(self.epilogue))

    def text(self) -> str:
        """The nest."""
        m, n, k = self.sizes
        c = f"memref<{m}x{n}xf32>"
        init = "" if self.init is None else f" init {self.init}"
        finish = ""
        if self.finish != "none":
            arguments = "%x: f32, %y: f32, %r: f32, %acc: f32"
            finish = f""" finish {{
    ^bb0({arguments}):
      {FINISHES[self.finish]}
      loop.yield %t : f32
    }}"""
        return f"""builtin.module {{
  func.func @main(%a: memref<{m}x{k}xf32>, %b: memref<{k}x{n}xf32>, %d: {c}, %e: {c},
      %c: {c} {{inarch.result}}) {{
    loop.nest (m = {m}, n = {n}) ins(%e[m, n] : {c}) outs(%c[m, n] : {c}) {{
    ^bb0(%x: f32, %o: f32):
      loop.yield %x : f32
    }}
    loop.nest (m = {m}, n = {n}, k = {k} reduction) ins(%a[m, k] : memref<{m}x{k}xf32>,
        %b[k, n] : memref<{k}x{n}xf32>, %d[m, n] : {c}) outs(%c[m, n]{init} : {c}) {{
    ^bb0(%x: f32, %y: f32, %r: f32, %acc: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %p : f32
      loop.yield %s : f32
    }}{finish}
    func.return
  }}
}}"""

    def expected(self, a: Any, b: Any, d: Any, e: Any) -> Any:
        """In integers, so that the order of sums makes no difference."""
        total = a @ b + (e if self.init is None else self.init)
        if self.finish == "relu":
            return np.maximum(total, 0)
        return d - total if self.finish == "residual" else total


def calls_of(case: Case, folder: Path) -> int:
    """Checks the result against NumPy; the number of `kernel.call`s, 0 where the kernel does not fit."""
    path = folder / "parts.py"
    path.write_text(case.kernel())
    m, n, k = case.sizes
    with MICROKERNELS.scope():
        load_file(path, {"microkernel": cast("Extensions[object]", MICROKERNELS)})
        context = new_context()
        module = parse_module(context, case.text())
        verify_module(module)
        tensorize(module, ["parts"])
        verify_module(module)
        calls = [op for op in module.walk() if isinstance(op, CallOp)]
        generator = np.random.default_rng(0)
        shapes = ((m, k), (k, n), (m, n), (m, n))
        inputs = [generator.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
        (found,) = execute(module, inputs, context)
    np.testing.assert_array_equal(found, case.expected(*inputs))
    return len(calls)


COPIED = '{"C": (1, "*")}'
"""A demand that C does not meet: the kernel writes temporaries."""
RAGGED = (3, 4, 11)
"""Five and five points of the reduction, and one: the last by the member for one, where there is one."""


@pytest.mark.parametrize("layout", ["{}", COPIED], ids=["in place", "through a temporary"])
@pytest.mark.parametrize("finish", FINISHES)
@pytest.mark.parametrize("init", [0.0, 2.0, None])
def test_ragged_parts_of_a_reduction_add_up(
    init: float | None, finish: str, layout: str, tmp_path: Path
) -> None:
    """None begins anew, none overwrites the others, and what follows the sum is done to all of it."""
    case = Case(
        RAGGED,
        init,
        finish,
        (1, 5),
        layout=layout,
        inits=("zero", "accumulate"),
        epilogue=("relu",),
    )
    assert calls_of(case, tmp_path) == 2


def test_parts_of_several_tiles_have_a_temporary_each(tmp_path: Path) -> None:
    """Rows in threes and a last one, columns in fours and ones: each has its own begin and end."""
    case = Case((7, 6, 11), 2.0, "residual", (1, 5), layout=COPIED)
    assert calls_of(case, tmp_path) == 8


def test_a_tile_beyond_the_edge_is_summed_in_parts_too(tmp_path: Path) -> None:
    """Five rows by twos: the last tile goes through a temporary, the others are finished in place."""
    case = Case((5, 4, 11), 2.0, "relu", (1, 5), (2,), epilogue=("relu",))
    assert calls_of(case, tmp_path) == 4
    assert calls_of(replace(case, sizes=(5, 4, 10)), tmp_path) == 2


def test_parts_that_want_the_output_elsewhere_are_refused(tmp_path: Path) -> None:
    """A layout that depends on the part: what one has summed is not where the other goes on."""
    case = Case((3, 1, 7), parts=(2, 5), layout='{"C": ("KR", 1)}')
    assert calls_of(case, tmp_path) == 0
    assert calls_of(replace(case, parts=(7,)), tmp_path) == 1


cases = st.builds(
    Case,
    st.tuples(st.integers(1, 8), st.integers(1, 9), st.integers(1, 23)),
    st.sampled_from([0.0, 2.0, None]),
    st.sampled_from(list(FINISHES)),
    st.sampled_from([(1, 5), (2, 3, 5), (1, 2, 7), (4,), (1, 3, 11)]),
    st.sampled_from([(1, 2, 3), (2,), (3, 1)]),
    st.sampled_from(["{}", COPIED, '{"C": ("KR", 1)}']),
    st.sampled_from([("accumulate",), ("zero", "accumulate"), ("zero",)]),
    st.sampled_from([(), ("relu",)]),
)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(case=cases)
def test_any_cut_computes_the_product(case: Case, tmp_path: Path) -> None:
    """Cut x init x finish x in place or through a temporary x variants of the kernel."""
    calls_of(case, tmp_path)
