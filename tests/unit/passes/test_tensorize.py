"""K1: matrix products and convolutions of all kinds reach microkernels, and equal NumPy bit for bit."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from effort import effort
from inarch.core.errors import InarchError
from inarch.core.plugins import Extensions, load_file
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from inarch.ir.verify import verify_module
from inarch.meaning import elements, parse
from inarch.microkernel.table import MICROKERNELS
from inarch.passes import PASSES
from inarch.passes.tensorize.report import KernelReport
from inarch.passes.tensorize.tensorize import tensorize
from inarch.passes.tensorize.unify.strides import Solution, solve
from inarch.testing import execute, execute_compiled, random_inputs

TOYS = Path(__file__).parents[2] / "lit" / "passes" / "tensorize" / "Inputs"

LOWER = (
    "graph-to-loop",
    "drop-unit-iterators",
    "fuse-nests",
    "materialize-padding",
    "split-padding",
)

Array = np.ndarray[Any, Any]


@contextmanager
def toys(*names: str) -> Generator[None]:
    """The toy kernels of these names (`tile-gemm`) are in the table."""
    with MICROKERNELS.scope():
        for name in names:
            path = TOYS / f"{name.replace('-', '_')}.py"
            load_file(path, {"microkernel": cast("Extensions[object]", MICROKERNELS)})
        yield


def integers(module: ModuleOp, seed: int) -> list[Array]:
    """Inputs whose sums of products are exact in f32."""
    generator = np.random.default_rng(seed)
    found: list[Array] = []
    for one in random_inputs(module, 0):
        shape: tuple[int, ...] = one.shape
        found.append(np.asarray(generator.integers(-4, 5, shape), one.dtype))
    return found


def check(text: str, *kernels: str, taken: bool = True, seed: int = 0) -> KernelReport:
    """Tensorizes `text` by the toys of these names; the results are equal bit for bit.

    With `taken`, some nest must have become calls; without, none.
    """
    with toys(*kernels):
        context = new_context()
        module = parse_module(context, text)
        verify_module(module)
        after = module.clone()
        if "loop.nest" not in text:
            for name in LOWER:
                PASSES[name]().apply(context, after)
        if taken and len(kernels) == 1:  # whatever it costs
            after.attributes["inarch.microkernels"] = ArrayAttr([StringAttr(kernels[0])])
        report = tensorize(after, kernels)
        verify_module(after)
        assert any(nest.taken is not None for nest in report.nests) == taken, str(report)
        inputs = integers(module, seed)
        # An output without init holds random floats at first: both in one order, so both compiled.
        run = execute_compiled if "loop.nest" in text else execute
        expected = run(module, inputs, context)
        found = execute_compiled(after, inputs, context)
        by_meaning = execute(after, inputs, context)
    for left, right, meant in zip(expected, found, by_meaning, strict=True):
        np.testing.assert_array_equal(right, left)
        np.testing.assert_allclose(meant, left, rtol=1e-5, atol=1e-5)
    return report


def nest(
    iterators: Sequence[tuple[str, int, str]],
    reads: Sequence[tuple[str, str]],
    write: tuple[str, str],
    body: Sequence[str],
    *,
    element: str = "f32",
    init: str | None = "0.0",
) -> str:
    """A module of one nest: `(name, size, "" or "reduction")`, `(index, shape)` of each operand.

    In the body the elements are `%e0`, `%e1` ..., and `%acc`; it ends in loop.yield.
    """
    runs = ", ".join(f"{name} = {size} {kind}".rstrip() for name, size, kind in iterators)
    kinds = [f"memref<{shape}x{element}>" for _, shape in reads]
    out = f"memref<{write[1]}x{element}>"
    ins = ", ".join(f"%i{at}[{index}] : {kinds[at]}" for at, (index, _) in enumerate(reads))
    arguments = ", ".join(f"%i{at}: {kind}" for at, kind in enumerate(kinds))
    elements = ", ".join(f"%e{at}: {element}" for at in range(len(reads)))
    start = "" if init is None else f" init {init}"
    lines = "\n".join(f"      {line}" for line in body)
    return f"""builtin.module {{
  func.func @main({arguments}, %out: {out} {{inarch.result}}) {{
    loop.nest ({runs}) ins({ins}) outs(%out[{write[0]}]{start} : {out}) {{
    ^bb0({elements}, %acc: {element}):
{lines}
    }}
    func.return
  }}
}}"""


PRODUCT = (
    "%p = arith.mulf %e0, %e1 : f32",
    "%s = arith.addf %acc, %p : f32",
    "loop.yield %s : f32",
)


def matmul(m: int, n: int, k: int) -> str:
    a, b, c = f"tensor<{m}x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<{m}x{n}xf32>"
    return f"""func.func @main(%a: {a}, %b: {b}) -> {c} {{
  %0 = graph.matmul %a, %b : {a}, {b} -> {c}
  func.return %0 : {c}
}}"""


def conv(
    x: tuple[int, ...],
    w: tuple[int, ...],
    *,
    stride: int = 1,
    pad: int = 0,
    dilation: int = 1,
    groups: int = 1,
) -> str:
    spatial = [
        (size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
        for size, kernel in zip(x[2:], w[2:], strict=True)
    ]
    kinds = [f"tensor<{'x'.join(map(str, each))}xf32>" for each in (x, w, (x[0], w[0], *spatial))]
    window = (
        f"strides = [{stride}, {stride}] pads = {[pad] * 4} dilations = [{dilation}, {dilation}]"
    )
    return f"""func.func @main(%x: {kinds[0]}, %w: {kinds[1]}) -> {kinds[2]} {{
  %0 = graph.conv %x, %w {window} groups = {groups} : {kinds[0]}, {kinds[1]} -> {kinds[2]}
  func.return %0 : {kinds[2]}
}}"""


@settings(max_examples=effort(4, 10), deadline=None)
@given(m=st.integers(1, 11), n=st.integers(2, 20), k=st.integers(1, 7))
def test_matmuls_with_remainders(m: int, n: int, k: int) -> None:
    """K1: rows that remain have members of their own, columns that remain run on padded copies."""
    check(matmul(m, n, k), "tile-gemm")


@pytest.mark.parametrize("kernel", ["tile-gemm", "whole-gemm", "finish-gemm"])
def test_batched_and_broadcast(kernel: str) -> None:
    """K1: batch dimensions become loops around the call."""
    text = """func.func @main(%a: tensor<2x3x5x6xf32>, %b: tensor<3x6x9xf32>) -> tensor<2x3x5x9xf32> {
  %0 = graph.matmul %a, %b : tensor<2x3x5x6xf32>, tensor<3x6x9xf32> -> tensor<2x3x5x9xf32>
  func.return %0 : tensor<2x3x5x9xf32>
}"""
    report = check(text, kernel)
    assert report.nests[0].taken is not None


@pytest.mark.sampled(effort(2, 6), reason="each layout of each operand")
@pytest.mark.parametrize("kernel", ["tile-gemm", "whole-gemm"])
@pytest.mark.parametrize("a", [("m, k", "6x5"), ("k, m", "5x6")])
@pytest.mark.parametrize("b", [("k, n", "5x10"), ("n, k", "10x5")])
@pytest.mark.parametrize("c", [("m, n", "6x10"), ("n, m", "10x6")])
def test_transposed(
    kernel: str, a: tuple[str, str], b: tuple[str, str], c: tuple[str, str]
) -> None:
    """K1: a transposed operand has other strides; a demanded layout is a copy, not a miss."""
    iterators = [("m", 6, ""), ("n", 10, ""), ("k", 5, "reduction")]
    check(nest(iterators, [a, b], c, PRODUCT), kernel)


@pytest.mark.sampled(effort(3, 6), reason="each kernel and each form")
@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        ((1, 3, 6, 7), (8, 3, 1, 1), {}),
        ((2, 3, 7, 7), (5, 3, 3, 3), {"pad": 1}),
        ((1, 4, 9, 8), (6, 4, 3, 2), {"stride": 2, "pad": 1}),
        ((1, 2, 9, 9), (4, 2, 3, 3), {"dilation": 2, "pad": 2}),
        ((1, 3, 11, 11), (9, 3, 3, 3), {"stride": 3, "dilation": 2}),
        ((1, 6, 6, 6), (8, 3, 3, 3), {"groups": 2, "pad": 1}),
        ((2, 3, 5, 5), (16, 3, 1, 1), {"stride": 2}),
    ],
)
@pytest.mark.parametrize("kernel", ["tile-conv", "tile-gemm", "whole-gemm"])
def test_convolutions(
    kernel: str, x: tuple[int, ...], w: tuple[int, ...], options: dict[str, int]
) -> None:
    """K1: any stride, dilation, padding and groups; a convolution is a contraction with strides."""
    check(conv(x, w, **options), kernel)


def test_depthwise() -> None:
    """K1: a depthwise convolution whose channels are innermost, 19 of them by 8."""
    iterators = [
        ("h", 3, ""),
        ("w", 4, ""),
        ("c", 19, ""),
        ("r", 3, "reduction"),
        ("s", 3, "reduction"),
    ]
    reads = [("h * 2 + r, w + s, c", "7x6x19"), ("r, s, c", "3x3x19")]
    check(nest(iterators, reads, ("h, w, c", "3x4x19"), PRODUCT), "tile-depthwise")


def test_dilations_and_strides_within_an_index() -> None:
    """The sizes SW and DW of `q * SW + s * DW` are solved for."""
    element = next(
        iter(elements(parse("for q in Q, s in S: Y[q] += X[q * SW + s * DW]").statements[0].value))
    )
    found = solve(element.indices, {"q": 20, "s": 30}, {})
    assert found == Solution((10,), {"SW": 2, "DW": 3})
    assert solve(element.indices, {"q": 20, "s": 30}, {"SW": 3}) is None
    assert solve(element.indices, {"q": 21, "s": 7}, {"SW": 3}) == Solution(
        (7,), {"SW": 3, "DW": 1}
    )
    check(conv((1, 2, 9, 14), (8, 2, 3, 3), stride=2, dilation=3), "tile-conv")


@pytest.mark.sampled(effort(3, 8), reason="each kernel and each beginning")
@pytest.mark.parametrize("init", ["zero", None, "1.5"])
@pytest.mark.parametrize("kernel", ["tile-gemm", "whole-gemm", "finish-gemm"])
def test_inits(kernel: str, init: str | None) -> None:
    """Zero is a variant or a fill, another number a fill; without init the kernel adds to the output."""
    iterators = [("m", 5, ""), ("n", 9, ""), ("k", 3, "reduction")]
    start = "0.0" if init == "zero" else init
    text = nest(iterators, [("m, k", "5x3"), ("k, n", "3x9")], ("m, n", "5x9"), PRODUCT, init=start)
    check(text, kernel)


FINISH = """
func.func @main(%a: tensor<6x5xf32>, %b: tensor<5x10xf32>,
                %bias: tensor<10xf32>, %r: tensor<6x10xf32>) -> tensor<6x10xf32> {
  %0 = graph.matmul %a, %b : tensor<6x5xf32>, tensor<5x10xf32> -> tensor<6x10xf32>
  %1 = graph.add %0, %bias : tensor<6x10xf32>, tensor<10xf32> -> tensor<6x10xf32>
  %2 = graph.mul %1, %r : tensor<6x10xf32>, tensor<6x10xf32> -> tensor<6x10xf32>
  %3 = graph.relu %2 : tensor<6x10xf32> -> tensor<6x10xf32>
  func.return %3 : tensor<6x10xf32>
}"""


@pytest.mark.parametrize("kernel", ["finish-gemm", "tile-gemm", "whole-gemm"])
def test_finish(kernel: str) -> None:
    """Bias, residual and relu go into a kernel with such an epilogue, else into a nest after it."""
    check(FINISH, kernel)


def test_finish_is_absorbed() -> None:
    """With an epilogue for all of it, nothing but the call is left."""
    with toys("finish-gemm"):
        context = new_context()
        module = parse_module(context, FINISH)
        for name in ("graph-to-loop", "fuse-nests"):
            PASSES[name]().apply(context, module)
        tensorize(module, ["finish-gemm"])
    names = [op.name for op in module.walk()]
    assert "loop.nest" not in names
    assert "kernel.call" in names
    assert "relu(" in str(module)


def test_integers() -> None:
    """i8 products with sums in i32: the casts of the body are those of the meaning."""
    text = """builtin.module {
  func.func @main(%a: memref<5x6xi8>, %b: memref<6x7xi8>, %c: memref<5x7xi32> {inarch.result}) {
    loop.nest (m = 5, n = 7, k = 6 reduction)
        ins(%b[k, n] : memref<6x7xi8>, %a[m, k] : memref<5x6xi8>)
        outs(%c[m, n] init 0 : memref<5x7xi32>) {
    ^bb0(%e0: i8, %e1: i8, %acc: i32):
      %x = arith.extsi %e0 : i8 to i32
      %y = arith.extsi %e1 : i8 to i32
      %p = arith.muli %x, %y : i32
      %s = arith.addi %p, %acc : i32
      loop.yield %s : i32
    }
    func.return
  }
}"""
    check(text, "int8-gemm")
    check(text.replace("extsi %e0", "extui %e0"), "int8-gemm", taken=False)


def test_maximum() -> None:
    """Another operator, another dtype, and reductions that the meaning does not have as loops around."""
    body = ("%m = arith.maximumf %e0, %acc : f64", "loop.yield %m : f64")
    iterators = [("i", 7, ""), ("r", 3, "reduction"), ("s", 2, "reduction")]
    text = nest(iterators, [("i * 2 + r, s", "15x3")], ("i", "7"), body, element="f64", init="-inf")
    check(text, "tile-max")


def product_of(arguments: str, left: str, right: str, sizes: str, kind: str) -> str:
    """A nest of a matrix product in `loop`, of operands as given, into `%c`."""
    return f"""builtin.module {{
  func.func @main({arguments}, %c: {kind} {{inarch.result}}) {{
    loop.nest ({sizes} reduction) ins({left}, {right}) outs(%c[m, n] init 0.0 : {kind}) {{
    ^bb0(%e0: f32, %e1: f32, %acc: f32):
      %p = arith.mulf %e0, %e1 : f32
      %s = arith.addf %acc, %p : f32
      loop.yield %s : f32
    }}
    func.return
  }}
}}"""


def test_one_operand_twice() -> None:
    """A product of a matrix with its transpose, in which both are one buffer."""
    a = "memref<5x4xf32>"
    sizes = "m = 3, n = 5, k = 4"
    text = product_of(f"%a: {a}", f"%a[m, k] : {a}", f"%a[n, k] : {a}", sizes, "memref<3x5xf32>")
    check(text, "whole-gemm")


def test_nests_in_place_are_left() -> None:
    """A kernel may assume that what it writes overlaps nothing else."""
    a, sizes = "memref<4x4xf32>", "m = 4, n = 4, k = 4"
    text = product_of(f"%a: {a}", f"%a[m, k] : {a}", f"%c[k, n] : {a}", sizes, a)
    with toys("whole-gemm"):
        report = tensorize(parse_module(new_context(), text), ["whole-gemm"])
    assert report.nests[0].misses == {"whole-gemm": "c is the buffer that the nest writes"}


# ------------------------------------------------------------------------------------ reports


def _report(text: str, *kernels: str) -> str:
    with toys(*kernels):
        report = tensorize(parse_module(new_context(), text), kernels)
    (nest_report,) = report.nests
    return nest_report.misses[kernels[0]]


def _product(**changes: object) -> str:
    iterators = [("m", 4, ""), ("n", 8, ""), ("k", 3, "reduction")]
    given = {
        "iterators": iterators,
        "reads": [("m, k", "4x3"), ("k, n", "3x8")],
        "write": ("m, n", "4x8"),
        "body": PRODUCT,
        **changes,
    }
    return nest(**given)  # pyright: ignore[reportArgumentType]


def test_the_first_difference_is_said() -> None:
    """K1: a miss says what differs, in the terms of the nest and of the meaning."""
    sum_of_both = ("%p = arith.addf %e0, %e1 : f32", *PRODUCT[1:])
    assert _report(_product(body=sum_of_both), "tile-gemm") == (
        "the body differs: expected A[m, k] * B[k, n], found i0 + i1"
    )
    largest = (PRODUCT[0], "%s = arith.maximumf %acc, %p : f32", PRODUCT[2])
    assert _report(_product(body=largest), "tile-gemm") == (
        "the body is out = max(out, i0 * i1), the meaning C[m, n] += A[m, k] * B[k, n]"
    )
    doubles = tuple(line.replace("f32", "f64") for line in PRODUCT)
    assert _report(_product(body=doubles, element="f64"), "tile-gemm") == (
        "the output out has dtype f64, C[m, n] is f32"
    )
    reads = [("m, k", "4x3"), ("k, n", "3x8")]
    text = _product(reads=reads).replace(
        "%i0[m, k] : memref<4x3xf32>", "%i0[m - 1, k] pad 0.0 : memref<4x3xf32>"
    )
    assert _report(text, "tile-gemm") == (
        "i0 is read outside of its buffer (pad); materialize-padding makes a padded copy"
    )


def test_a_demanded_kernel_must_match() -> None:
    """K1: a kernel that was asked for by name and takes nothing is an error that says why."""
    product = matmul(4, 8, 3)
    text = f'builtin.module attributes {{inarch.microkernels = ["tile-max"]}} {{ {product} }}'
    context = new_context()
    with toys("tile-max"):
        module = parse_module(context, text)
        PASSES["graph-to-loop"]().apply(context, module)
        with pytest.raises(InarchError) as error:
            tensorize(module, [])
    assert str(error.value).endswith(
        ": expected a nest that microkernel 'tile-max' does, found none; of the nest (m = 4, "
        "n = 8, k = 3 reduction): the output out has dtype f32, Y[i] is f64"
    )


def test_a_broken_kernel_is_reported_and_the_others_go_on(tmp_path: Path) -> None:
    """A bad kernel is no error but where it is demanded."""
    text = """
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %0 = graph.matmul %a, %b : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  func.return %0 : tensor<4x16xf32>
}
"""
    bad = tmp_path / "bad.c"
    bad.write_text('/* inarch\ncomputes = "for m in"\ndtypes = {C = "f32"}\n*/\n')
    message = f"{bad}:2:21: expected a size (a number or a name), found the end"
    with toys("tile-gemm"):
        load_file(bad, {"microkernel": cast("Extensions[object]", MICROKERNELS)})
        context = new_context()
        module = parse_module(context, text)
        for name in LOWER:
            PASSES[name]().apply(context, module)
        demanded = module.clone()
        demanded.attributes["inarch.microkernels"] = ArrayAttr([StringAttr("bad")])
        with pytest.raises(InarchError) as raised:
            tensorize(demanded, ("tile-gemm",))
        report = tensorize(module, ("bad", "tile-gemm"))
    assert str(raised.value) == message
    assert report.unusable == {"bad": message}
    assert f"no kernel bad: {message}" in str(report)
    assert report.taken_by("tile-gemm")


def test_reductions_that_are_not_whole_tiles() -> None:
    """K1: what would make it match is said, too."""
    with MICROKERNELS.scope():
        context = new_context()
        module = parse_module(context, _product())
        report = tensorize(module, _variant("in_fours", "k in K:", "k in 4:"))
    assert report.nests[0].misses == {
        "in-fours": "3 points of k are not whole tiles of 4; a member for what remains, or a size that "
        "the call gives, would take them"
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Row 1 of A is 3 elements away from row 0.
        ("layout={", 'align={"A": 16}, layout={'),
        ("layout={", 'align={"C": 64}, layout={'),
        ('layout={"B": ("NR", 1)', 'layout={"A": (1, "*"), "B": ("NR", 1)'),
        ('layout={"B": ("NR", 1)', 'layout={"A": (64, 1), "B": ("NR", 1)'),
        ("k in K: C", "k in 1: C"),
    ],
)
def test_demands(old: str, new: str) -> None:
    """Alignment, another order, gaps, and one step of the reduction a call: copies, or loops around."""
    with MICROKERNELS.scope():
        context = new_context()
        module = parse_module(context, _product())
        after = module.clone()
        report = tensorize(after, _variant("demanding", old, new))
        verify_module(after)
        inputs = integers(module, 0)
        (expected,) = execute(module, inputs, context)
        (found,) = execute_compiled(after, inputs, context)
    assert report.nests[0].taken is not None
    np.testing.assert_array_equal(found, expected)


def _variant(name: str, old: str, new: str) -> list[str]:
    """tile-gemm with another text, in the table under `name`."""
    source = (TOYS / "tile_gemm.py").read_text().replace("tile_gemm", name)
    assert old in source
    source = source.replace(old, new)
    if fixed := re.search(r"k in (\d)", source):
        source = source.replace(", int64_t K)", ")").replace("k < K", f"k < {fixed[1]}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.py"
        path.write_text(source)
        load_file(path, {"microkernel": cast("Extensions[object]", MICROKERNELS)})
    return [name.replace("_", "-")]


@pytest.mark.sampled(effort(2, 5), reason="each window once")
@pytest.mark.parametrize(
    "window",
    [
        "c, 3 - p + r, q + s",
        "c, 5 - p - r, q + s",
        "c, 5 - p - r, 6 - q - s",
        "c, r, q + s",
        "c, 6 - p * 2 + r * 2, q + s",
    ],
)
@pytest.mark.parametrize("kernel", ["tile-conv", "whole-gemm"])
def test_windows_that_run_backwards(window: str, kernel: str) -> None:
    """K1: steps of windows are sizes, 1 or more, whichever way the image is read."""
    iterators = [("oc", 8, ""), ("p", 4, ""), ("q", 5, "")]
    reductions = [("c", 2, "reduction"), ("r", 3, "reduction"), ("s", 3, "reduction")]
    reads = [(window, "2x12x7"), ("oc, c, r, s", "8x2x3x3")]
    check(nest([*iterators, *reductions], reads, ("oc, p, q", "8x4x5"), PRODUCT), kernel)


def test_a_symbol_that_is_taken() -> None:
    """A function of the program may be called like a kernel's instance."""
    text = _product().replace("@main", "@tile_gemm_MR4_NR8")
    check(text, "tile-gemm")
