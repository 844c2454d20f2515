"""K1, K8: what a kernel demands of strides holds in every call: exact ones, least ones, none negative."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import inarch
from effort import effort
from inarch.core.errors import InarchError
from inarch.core.plugins import Extensions, load_file
from inarch.dialects import new_context
from inarch.dialects.kernel.call import CallOp
from inarch.driver.compiler import build
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.machine.target import parse
from inarch.microkernel import (
    AtLeast,
    KnownDemand,
    Microkernel,
    demands,
    instantiate,
    known_demand,
)
from inarch.microkernel import check as check_kernel
from inarch.microkernel.table import MICROKERNELS
from inarch.passes import PASSES
from inarch.passes.tensorize.tensorize import tensorize
from inarch.passes.tensorize.weigh.layouts import dense_layout
from inarch.testing import execute, execute_compiled
from inarch.verification import verify_family
from inarch.verification.cases.strides import ARRANGEMENTS, arrange
from inarch.verification.subject import subject_of

Array = np.ndarray[Any, Any]

INPUTS = Path(__file__).parents[2] / "lit" / "passes" / "tensorize" / "Inputs"
EXAMPLES = Path(__file__).parents[3] / "examples" / "microkernels"
GENERIC = parse("generic")

BLAS = Microkernel(
    computes="for m in M, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={"NR": (4, 8)},
    layout={"A": (">= K", 1), "B": (">= NR", 1), "C": (">= 2 * NR", 1)},
    symbol="blas",
)

PICKY = """/* inarch
computes = "for m in M, n in N, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
layout = {A = [">= K", 1], B = [">= N", 1], C = [">= N", 1]}
*/
void picky(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0,
           int64_t B_1, int64_t C_0, int64_t C_1, int64_t M, int64_t N, int64_t K)
{
    if (A_0 < K || B_0 < N || C_0 < N || A_1 != 1 || B_1 != 1 || C_1 != 1)
        return; /* as OpenBLAS does */
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++)
            for (int64_t k = 0; k < K; k++)
                C[m * C_0 + n] += A[m * A_0 + k] * B[k * B_0 + n];
}
"""
"""A BLAS that looks at its leading dimensions, and computes nothing where they are too short."""

FORWARD = """/* inarch
computes = "for m in M, n in N, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
*/
void picky(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0,
           int64_t B_1, int64_t C_0, int64_t C_1, int64_t M, int64_t N, int64_t K)
{
    if (A_0 < 0 || A_1 < 0 || B_0 < 0 || B_1 < 0 || C_0 < 0 || C_1 < 0)
        return;
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++)
            for (int64_t k = 0; k < K; k++)
                C[m * C_0 + n * C_1] += A[m * A_0 + k * A_1] * B[k * B_0 + n * B_1];
}
"""


@dataclass(frozen=True)
class Sum:
    """A nest that sums products of two operands; each has its index, and its shape."""

    iterators: tuple[tuple[str, int, str], ...]
    reads: tuple[tuple[str, str], tuple[str, str]]
    write: tuple[str, str]

    def function(self, name: str) -> str:
        """As a function of a program."""
        runs = ", ".join(f"{name} = {size} {kind}".rstrip() for name, size, kind in self.iterators)
        kinds = [f"memref<{shape}xf32>" for _, shape in self.reads]
        out = f"memref<{self.write[1]}xf32>"
        pairs = enumerate(zip(self.reads, kinds, strict=True))
        ins = ", ".join(f"%i{at}[{index}] : {kind}" for at, ((index, _), kind) in pairs)
        return f"""
  func.func @{name}(%i0: {kinds[0]}, %i1: {kinds[1]}, %out: {out} {{inarch.result}}) {{
    loop.nest ({runs}) ins({ins}) outs(%out[{self.write[0]}] init 0.0 : {out}) {{
    ^bb0(%e0: f32, %e1: f32, %acc: f32):
      %p = arith.mulf %e0, %e1 : f32
      %s = arith.addf %acc, %p : f32
      loop.yield %s : f32
    }}
    func.return
  }}"""

    def inputs(self) -> list[Array]:
        """Small integers, whose sums are exact in f32."""
        random = np.random.default_rng(0)
        shapes = [[int(size) for size in shape.split("x")] for _, shape in self.reads]
        return [random.integers(-4, 5, shape).astype(np.float32) for shape in shapes]

    def by_numpy(self) -> Array:
        """The result, from the definition."""
        names = [name for name, _, _ in self.iterators]
        grids = dict(zip(names, np.indices([size for _, size, _ in self.iterators]), strict=True))
        places = [eval(f"({index},)", {}, grids) for index, _ in (*self.reads, self.write)]
        a, b = (one[place] for one, place in zip(self.inputs(), places[:2], strict=True))
        found = np.zeros([int(size) for size in self.write[1].split("x")], np.float32)
        np.add.at(found, places[2], a * b)
        return found


def equal_numpy(sums: Mapping[str, Sum], kernel: str, folder: Path) -> None:
    """Compiled with `kernel`, which does all of them, each is what NumPy makes of it."""
    functions = {f"f{at}": one for at, one in enumerate(sums.values())}
    text = "\n".join(one.function(name) for name, one in functions.items())
    context = new_context()
    module = parse_module(context, f"builtin.module {{{text}\n}}")
    report = tensorize(module.clone(), [kernel])
    assert len(report.taken_by(kernel)) == len(sums), str(report)
    build(module, folder / "net.inarch", context=context, microkernels=[kernel])
    loaded = inarch.load(folder / "net.inarch")
    wrong = [
        said
        for said, (name, one) in zip(sums, functions.items(), strict=True)
        if not np.array_equal(np.asarray(loaded[name](*one.inputs())), one.by_numpy())
    ]
    assert wrong == []


MATMUL = (("m", 6, ""), ("n", 10, ""), ("k", 5, "reduction"))
ROWS = (("m", 6, ""), ("n", 10, ""), ("s", 3, "reduction"), ("i", 4, "reduction"))
A, B, C = ("m, k", "6x5"), ("k, n", "5x10"), ("m, n", "6x10")

CHANNELS = Sum(ROWS, (("m + s, i", "8x4"), ("s, i, n", "3x4x10")), C)
"""Windows of four channels: s and i together are k, whose rows of 12 begin 4 after each other."""

BACKWARDS = {
    "rows backwards": Sum(MATMUL, (("5 - m, k", "6x5"), B), C),
    "reduction backwards": Sum(MATMUL, (("m, 4 - k", "6x5"), ("4 - k, n", "5x10")), C),
    "columns backwards": Sum(MATMUL, (A, ("k, 9 - n", "5x10")), C),
    "result backwards": Sum(MATMUL, (A, B), ("5 - m, n", "6x10")),
    "windows backwards": Sum(MATMUL, (("9 - m - k", "10"), B), C),
}
SUMS = BACKWARDS | {
    "product": Sum(MATMUL, (A, B), C),
    "windows of one channel": Sum(MATMUL, (("m + k", "10"), B), C),
    "windows of four channels": CHANNELS,
    "columns that overlap": Sum(MATMUL, (A, ("k + n", "14")), C),
    "one row for all": Sum(MATMUL, (("k", "5"), B), C),
    "one column for all": Sum(MATMUL, (A, ("k", "5")), C),
    "one row": Sum((("m", 1, ""), *MATMUL[1:]), (("m, k", "1x5"), B), ("m, n", "1x10")),
    "one column": Sum((MATMUL[0], ("n", 1, ""), MATMUL[2]), (A, ("k, n", "5x1")), ("m, n", "6x1")),
    "parts of larger ones": Sum(MATMUL, (("m, k + 2", "6x9"), ("k, n", "5x13")), C),
}


# ------------------------------------------------------------------------------- declaration


def test_a_least_stride_is_declared_of_parameters_and_sizes() -> None:
    instance = instantiate(BLAS, "blas", {"NR": 8}, target=GENERIC)
    found = demands(instance)
    assert found == {"A": (AtLeast("K"), 1), "B": (AtLeast(8), 1), "C": (AtLeast(16), 1)}
    assert [known_demand(each, {"K": 5}) for each in (*found["A"], *found["C"], None, "2 * K")] == [
        AtLeast(5), 1, AtLeast(16), 1, None, 10,
    ]  # fmt: skip
    product = replace(BLAS, layout={"A": (">=K * NR + 1", "*")})
    instance = instantiate(product, "blas", {"NR": 4}, target=GENERIC)
    assert known_demand(demands(instance)["A"][0], {"K": 3}) == AtLeast(13)


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(
    ("stride", "message"),
    [
        (">= Q", "layout 'Q': no name 'Q'. Known: K, M, NR"),
        (">= K K", "expected a formula, found 'K K' (invalid syntax)"),
        (">= *", "expected a formula, found '*' (invalid syntax)"),
        *(
            (
                wrong,
                "expected a stride of operand A in layout: a number, '*', an expression of parameters "
                f"and sizes, or '>=' and one, found '{wrong}'",
            )
            for wrong in (">=", "> K", "<= K", "K >= 2", " >= K", "== K")
        ),
        *(
            (
                wrong,
                "expected strides of 0 or more of operand A in layout, found -1; what runs backwards is "
                "packed",
            )
            for wrong in (-1, "-1", ">= -1", ">= 1 - 2")
        ),
    ],
)
def test_what_is_no_stride_is_named(stride: int | str, message: str) -> None:
    with pytest.raises(InarchError) as raised:
        check_kernel(replace(BLAS, layout={"A": (stride, 1)}), "blas")
    assert str(raised.value) == f"microkernel 'blas': {message}"


# ------------------------------------------------------------------------------- strides

SHAPES = st.integers(1, 4).flatmap(
    lambda rank: st.tuples(
        st.lists(st.integers(1, 5), min_size=rank, max_size=rank),
        st.lists(
            st.one_of(st.none(), st.integers(0, 30).map(AtLeast)), min_size=rank, max_size=rank
        ),
        st.booleans(),
    )
)


def _demanded(given: tuple[list[int], list[KnownDemand], bool]) -> tuple[list[int], Any]:
    """With or without the demand that the last dimension is contiguous."""
    shape, demanded, is_contiguous = given
    return shape, [*demanded[:-1], 1] if is_contiguous else demanded


def _places(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    grids = np.indices(shape).reshape(len(shape), -1)
    return (np.array(strides) @ grids).tolist()


def _hold(strides: Sequence[int], demanded: Sequence[KnownDemand]) -> bool:
    pairs = zip(strides, demanded, strict=True)
    return all(
        stride >= wanted.least if isinstance(wanted, AtLeast) else wanted in (None, stride)
        for stride, wanted in pairs
    )


@given(SHAPES)
def test_a_packed_operand_has_the_strides_that_are_demanded(
    given: tuple[list[int], list[KnownDemand], bool],
) -> None:
    shape, demanded = _demanded(given)
    layout = dense_layout(shape, demanded, 1)
    assert layout is not None
    assert _hold(layout.strides, demanded)
    places = _places(shape, layout.strides)
    assert len(set(places)) == math.prod(shape)
    assert max(places) < layout.elements


@given(SHAPES, st.sampled_from(ARRANGEMENTS), st.integers(0, 99))
def test_a_case_has_the_strides_that_are_demanded(
    given: tuple[list[int], list[KnownDemand], bool], arrangement: Any, seed: int
) -> None:
    shape, demanded = _demanded(given)
    strides = arrange(shape, demanded, arrangement, np.random.default_rng(seed))
    assert _hold(strides, demanded)
    if arrangement != "overlapping":
        assert len(set(_places(shape, strides))) == math.prod(shape)


@pytest.mark.parametrize(
    ("shape", "demanded", "strides", "elements"),
    [
        ((4, 5), (AtLeast(5), 1), (5, 1), 20),
        ((4, 5), (AtLeast(7), 1), (7, 1), 28),
        ((1, 5), (AtLeast(7), 1), (7, 1), 5),
        ((2, 4, 5), (None, AtLeast(5), 1), (20, 5, 1), 40),
        # Another order spares the gaps.
        ((2, 4, 5), (None, AtLeast(6), 1), (5, 10, 1), 40),
        ((4, 8), (None, AtLeast(4)), (1, 4), 32),
        ((4, 8), (AtLeast(1), AtLeast(6)), (1, 6), 48),
        ((3, 4, 5), (AtLeast(21), None, 1), (25, 5, 1), 75),
    ],
)
def test_a_packed_operand_is_as_small_as_it_can_be(
    shape: Sequence[int], demanded: Sequence[KnownDemand], strides: Sequence[int], elements: int
) -> None:
    layout = dense_layout(shape, demanded, 1)
    assert layout is not None
    assert (layout.strides, layout.elements) == (strides, elements)


def test_a_benchmark_lays_operands_out_as_demanded() -> None:
    instance = instantiate(BLAS, "blas", {"NR": 8}, target=GENERIC)
    subject = subject_of(instance, {"M": 3, "K": 5})
    found = {name: operand.strides for name, operand in subject.operands.items()}
    assert found == {"A": (5, 1), "B": (8, 1), "C": (16, 1)}


# ------------------------------------------------------------------------------- calls


@pytest.fixture
def scope() -> Iterator[None]:
    with MICROKERNELS.scope():
        yield


def _load(text: str, folder: Path) -> str:
    path = folder / "picky.c"
    path.write_text(text)
    return _load_file(path)


def _load_file(path: Path) -> str:
    load_file(path, {"microkernel": cast("Extensions[object]", MICROKERNELS)})
    return path.stem.replace("_", "-")


def some(sums: dict[str, Sum]) -> dict[str, Sum]:
    """In the gate every fourth: all of them are functions of one program."""
    return dict(list(sums.items())[:: effort(4, 1)])


@pytest.mark.usefixtures("scope")
def test_a_kernel_that_checks_its_strides_is_right(tmp_path: Path) -> None:
    """K1: a call that it would refuse gives a wrong result."""
    equal_numpy(some(SUMS), _load(PICKY, tmp_path), tmp_path)


SINGLE_ROWS = (
    PICKY.replace("for m in M,", "for m in MR,")
    .replace("layout =", "params = {MR = [4, 1]}\nlayout =")
    .replace("int64_t M, ", "")
    .replace("m < M", "m < MR")
)
"""The same for four rows at once, or one."""


@pytest.mark.usefixtures("scope")
def test_a_single_row_has_the_stride_that_is_demanded(tmp_path: Path) -> None:
    """A library checks the leading dimension of one row, too: here of the one that four rows leave over."""
    five = (("m", 5, ""), *MATMUL[1:])
    sums = {
        "windows of one channel": Sum(five, (("m + k", "9"), B), ("m, n", "5x10")),
        "product": Sum(five, (("m, k", "5x5"), B), ("m, n", "5x10")),
    }
    equal_numpy(sums, _load(SINGLE_ROWS, tmp_path), tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("scope")
def test_sgemm_of_openblas_is_right(tmp_path: Path) -> None:
    """K1: OpenBLAS complains and computes nothing where a leading dimension is too short."""
    pytest.importorskip("scipy_openblas32")
    equal_numpy(SUMS, _load_file(EXAMPLES / "sgemm_openblas.py"), tmp_path)


@pytest.mark.slow  # in the gate test_verification.py checks the same function
@pytest.mark.usefixtures("scope")
def test_sgemm_of_openblas_passes_its_check() -> None:
    pytest.importorskip("scipy_openblas32")
    name = _load_file(EXAMPLES / "sgemm_openblas.py")
    (verdict,) = verify_family(MICROKERNELS[name], name, parse("native"))
    assert verdict.ok, verdict.line()


@pytest.mark.usefixtures("scope")
def test_a_convolution_of_overlapping_rows_is_right(tmp_path: Path) -> None:
    """K1: from a graph, and mirrored: a slice of negative step joins the convolution that reads it."""
    text = """func.func @main(%x: tensor<1x1x1x12xf32>, %w: tensor<8x1x1x3xf32>) -> tensor<1x8x1x10xf32> {
  %0 = graph.slice %x starts = [0, 0, 0, 11] sizes = [1, 1, 1, 12] steps = [1, 1, 1, -1]
    : tensor<1x1x1x12xf32> -> tensor<1x1x1x12xf32>
  %1 = graph.conv %0, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1
    : tensor<1x1x1x12xf32>, tensor<8x1x1x3xf32> -> tensor<1x8x1x10xf32>
  func.return %1 : tensor<1x8x1x10xf32>
}"""
    context = new_context()
    kernel = _load(PICKY, tmp_path)
    path = tmp_path / "net.inarch"
    build(parse_module(context, text), path, context=context, microkernels=[kernel])
    random = np.random.default_rng(0)
    x, w = (random.integers(-4, 5, s).astype(np.float32) for s in ((1, 1, 1, 12), (8, 1, 1, 3)))
    windows = np.lib.stride_tricks.sliding_window_view(x[0, 0, 0, ::-1], 3)
    found = np.asarray(inarch.load(path)(x, w))
    np.testing.assert_array_equal(found[0, :, 0], w[:, 0, 0] @ windows.T)


@pytest.mark.parametrize(
    ("old", "new", "copies"),
    [
        ("", "", ("A: stride 4 of dimension 0, 12 or more is demanded",)),
        (">= K", ">= K * 2", ("A: stride 4 of dimension 0, 24 or more is demanded",)),
        ('[">= N', '[">= 10', ("A: stride 4 of dimension 0, 12 or more is demanded",)),
        (
            'C = [">= N',
            'C = [">= 3 + 2 * N',
            (
                "A: stride 4 of dimension 0, 12 or more is demanded",
                "C: stride 10 of dimension 0, 23 or more is demanded",
            ),
        ),
    ],
)
@pytest.mark.usefixtures("scope")
def test_what_is_packed_is_right_and_reported(
    old: str, new: str, copies: tuple[str, ...], tmp_path: Path
) -> None:
    """K1: strides may have to be longer than any row is."""
    kernel = _load(PICKY.replace(old, new) if old else PICKY, tmp_path)
    module = parse_module(new_context(), f"builtin.module {{{CHANNELS.function('main')}}}")
    (found,) = tensorize(module, [kernel]).nests
    assert found.taken is not None
    assert found.taken.copies == copies
    np.testing.assert_array_equal(
        execute_compiled(module, CHANNELS.inputs())[0], CHANNELS.by_numpy()
    )


@pytest.mark.usefixtures("scope")
def test_without_the_demand_rows_overlap(tmp_path: Path) -> None:
    """The result is wrong then, so the tests above can fail; checking finds it before it is used."""
    kernel = _load(PICKY.replace(">= K", "*"), tmp_path)
    module = parse_module(new_context(), f"builtin.module {{{CHANNELS.function('main')}}}")
    (found,) = tensorize(module, [kernel]).nests
    assert found.taken is not None
    assert found.taken.copies == ()
    assert not np.any(execute_compiled(module, CHANNELS.inputs())[0])
    (verdict,) = verify_family(MICROKERNELS[kernel], kernel, GENERIC, quick=True)
    assert verdict.fault == "wrong-value"


@pytest.mark.usefixtures("scope")
def test_no_stride_is_negative(tmp_path: Path) -> None:
    """K1: `"*"` is 0 or more; what runs backwards is packed."""
    equal_numpy(some(BACKWARDS), _load(FORWARD, tmp_path), tmp_path)


# ------------------------------------------------------------------------------- epilogues

FINISH = """
func.func @main(%a: tensor<6x5xf32>, %b: tensor<5x10xf32>, %r: tensor<RESIDUALxf32>) -> tensor<6x10xf32> {
  %0 = graph.matmul %a, %b : tensor<6x5xf32>, tensor<5x10xf32> -> tensor<6x10xf32>
  %1 = graph.slice %r starts = [START, 0] sizes = [RESIDUAL] steps = [STEP, 1]
    : tensor<RESIDUALxf32> -> tensor<RESIDUALxf32>
  %2 = graph.add %0, %1 : tensor<6x10xf32>, tensor<RESIDUALxf32> -> tensor<6x10xf32>
  func.return %2 : tensor<6x10xf32>
}"""


@pytest.mark.sampled(effort(4, 8), reason="each layout, each epilogue")
@pytest.mark.parametrize("layout", ["", 'layout={"C": (">= N", 1)},', 'layout={"C": (16, 1)},'])
@pytest.mark.parametrize(("residual", "step"), [((6, 10), 1), ((6, 1), 1), ((6, 10), -1)])
@pytest.mark.usefixtures("scope")
def test_what_an_epilogue_reads(
    layout: str, residual: tuple[int, int], step: int, tmp_path: Path
) -> None:
    """Also with no negative stride; a least one is the output's alone: a column has stride 1."""
    rows, columns = residual
    text = FINISH.replace("sizes = [RESIDUAL]", f"sizes = [{rows}, {columns}]")
    text = text.replace("RESIDUAL", f"{rows}x{columns}").replace("STEP", str(step))
    text = text.replace("START", str(0 if step > 0 else rows - 1))
    path = tmp_path / "finish_gemm.py"
    source = (INPUTS / "finish_gemm.py").read_text()
    path.write_text(source.replace("    inits=", f"    {layout}inits="))
    kernel = _load_file(path)
    context = new_context()
    module = parse_module(context, text)
    for name in ("simplify-graph", "graph-to-loop", "fuse-nests"):
        PASSES[name]().apply(context, module)
    (found,) = tensorize(module, [kernel]).nests
    assert found.taken is not None
    calls = [op for op in module.walk() if isinstance(op, CallOp)]
    strides = [s for op in calls for at in range(len(op.arguments)) for s in op.strides_of(at)]
    assert min(strides) >= 0
    assert all(len(op.arguments) == 4 for op in calls) == (step > 0 and "16" not in layout)
    random = np.random.default_rng(0)
    a, b, r = (random.integers(-4, 5, s).astype(np.float32) for s in ((6, 5), (5, 10), residual))
    np.testing.assert_array_equal(
        execute_compiled(module, [a, b, r], context)[0], a @ b + r[::step]
    )


BLOCKS = '''"""Two vectors of outputs; nothing compiles it here."""

from inarch.microkernel import Instance, Microkernel, prototype


def _generate(instance: Instance) -> str:
    return prototype(instance) + " {}"


MICROKERNEL = Microkernel(
    computes="for m in MR, v in NV, l in VL, k in K: C[m, v, l] += A[m, k] * B[k, v, l]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={"MR": (2,), "NV": (2,), "VL": (4,)},
    layout={"C": LAYOUT},
    inits=("zero", "accumulate"),
    epilogue=("add",),
    generate=_generate,
    cost=1,
)
'''
ADDED = """func.func @main(%a: memref<4x3xf32>, %b: memref<3x8xf32>, %r: memref<64xf32>,
                     %c: memref<4x8xf32> {inarch.result}) {
  loop.nest (i = 4, j = 8, q = 3 reduction)
      ins(%a[i, q] : memref<4x3xf32>, %b[q, j] : memref<3x8xf32>, %r[INDEX : memref<64xf32>)
      outs(%c[i, j] init 0.0 : memref<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %e: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    loop.yield %s : f32
  } finish {
  ^bb0(%x: f32, %y: f32, %e: f32, %o: f32):
    %s = arith.addf %o, %e : f32
    loop.yield %s : f32
  }
  func.return
}"""


@pytest.mark.parametrize(
    ("layout", "index", "is_absorbed"),
    [
        ('("*", "*", 1)', "i * 8 + j]", True),
        ('("*", "*", 1)', "i * 20 + j] pad 0.5", False),
        ('("*", "*", 1)', "i * 16 + j * 2]", False),
        ('("*", "*", 1)', "i]", True),
        ('("*", "VL", "*")', "i * 16 + j]", True),
        ('("*", "VL", "*")', "i * 16 + j * 2]", False),
        ('(8, "*", "*")', "i * 8 + j * 2]", True),
        ('(8, "*", "*")', "i * 9 + j]", False),
    ],
)
@pytest.mark.every_case(reason="each is the only one that sees some fault")
@pytest.mark.usefixtures("scope")
def test_what_an_epilogue_reads_lies_as_the_output_must(
    layout: str, index: str, is_absorbed: bool, tmp_path: Path
) -> None:
    """K1: also along the vectors, which stand outside of the lanes on their axis; else a nest comes after."""
    path = tmp_path / "blocks.py"
    path.write_text(BLOCKS.replace("LAYOUT", layout))
    context = new_context()
    module = parse_module(context, ADDED.replace("INDEX", index))
    random = np.random.default_rng(0)
    arrays = [random.integers(-4, 5, s).astype(np.float32) for s in ((4, 3), (3, 8), (64,))]
    expected = execute(module, arrays, context)
    (found,) = tensorize(module, [_load_file(path)]).nests
    assert found.taken is not None
    verify_module(module)
    calls = [op for op in module.walk() if isinstance(op, CallOp)]
    assert all((len(op.arguments) == 4) == is_absorbed for op in calls)
    np.testing.assert_array_equal(execute(module, arrays, context)[0], expected[0])


LAST = """func.func @main(%a: memref<4x3xT>, %b: memref<3x8xT>, %c: memref<4x8xT> {inarch.result}) {
  loop.nest (i = 4, j = 8, q = 3 reduction)
      ins(%a[i, q] : memref<4x3xT>, %b[q, j] : memref<3x8xT>) outs(%c[i, j] init 0 : memref<4x8xT>) {
  ^bb0(%x: T, %y: T, %o: T):
    %p = arith.mulS %x, %y : T
    %s = arith.addS %o, %p : T
    loop.yield %s : T
  } finish {
  ^bb0(%x: T, %y: T, %o: T):
    %n = arith.constant NUMBER : T
    %s = arith.OP %o, %n : T
    loop.yield %s : T
  }
  func.return
}"""


@pytest.mark.parametrize(
    ("dtype", "op", "number", "epilogue", "is_absorbed"),
    [
        ("i32", "maxsi", "-3", "max", True),
        ("i32", "maxui", "-3", "max", False),
        ("f32", "maximumf", "0.0", "relu", True),
        ("f32", "maximumf", "-0.0", "relu", False),
        ("f32", "minimumf", "0.0", "relu", False),
    ],
)
@pytest.mark.every_case(reason="each is the only one that sees some fault")
@pytest.mark.usefixtures("scope")
def test_what_an_epilogue_says_is_what_the_nest_does(
    dtype: str, op: str, number: str, epilogue: str, is_absorbed: bool, tmp_path: Path
) -> None:
    """It has no unsigned maximum; `relu` is a maximum with 0, which is not -0; else a nest comes after."""
    path = tmp_path / "blocks.py"
    source = BLOCKS.replace("LAYOUT", "{}").replace('layout={"C": {}}', "layout={}")
    path.write_text(source.replace('("add",)', f'("{epilogue}",)').replace('"f32"', f'"{dtype}"'))
    text = LAST.replace("OP", op).replace("NUMBER", number).replace("S %", f"{dtype[0]} %")
    context = new_context()
    module = parse_module(context, re.sub(r"\bT\b|(?<=x)T\b", dtype, text))
    random = np.random.default_rng(0)
    kind = np.float32 if dtype == "f32" else np.int32
    arrays = [random.integers(-4, 5, s).astype(kind) for s in ((4, 3), (3, 8))]
    expected = execute(module, arrays, context)
    (found,) = tensorize(module, [_load_file(path)]).nests
    assert found.taken is not None
    verify_module(module)
    names = [op.name for op in module.walk()]
    assert ("loop.nest" not in names) == is_absorbed
    assert execute(module, arrays, context)[0].tobytes() == expected[0].tobytes()
