"""What `tensorize` copies of operands that come at run time, and what it leaves to the C compiler."""

from __future__ import annotations

import math

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from effort import effort
from inarch.benchmark.shapes import Convolution, Product, Shape, arrays_of, program_of
from inarch.dialects import new_context
from inarch.dialects.loop.nest import NestOp
from inarch.driver.compiler import import_model
from inarch.driver.options import Options
from inarch.ir.report.facts import facts_of
from inarch.ir.text import parse_module
from inarch.machine.find import find_machine
from inarch.machine.target import native
from inarch.machine.target import parse as parse_target
from inarch.passes.tensorize.report import KernelReport, NestReport
from inarch.passes.tensorize.unify.strided import strided_nest
from inarch.passes.tensorize.weigh.plain import plain_cycles
from inarch.pipeline.default import default_pipeline
from inarch.testing import execute_compiled

ON_TWO = pytest.mark.sampled(effort(2, 4), reason="each chooses by its own costs, in one way")
ON = [
    ("x86-64-v4", "zen4"),
    ("x86-64-v3", "zen4"),
    ("x86-64-v4", "golden-cove"),
    ("aarch64", "neoverse-n1"),
]


def nests(shape: Product, target: str, machine: str) -> tuple[NestReport, ...]:
    """What is said of the nests of a product and of what is copied for it."""
    context = new_context()
    wish = Options(target=target, machine=find_machine(machine))
    return reported(context, import_model(program_of(shape, context), context, wish))


def reported(context: Context, module: ModuleOp) -> tuple[NestReport, ...]:
    """What is said of the nests of a program."""
    for one in default_pipeline():
        one.apply(context, module)
        if one.name == "tensorize":
            break
    report = facts_of(context).take(KernelReport)
    assert report is not None
    return report.nests


def product(shape: Product, target: str, machine: str) -> NestReport:
    """What is said of the product, the nest of most points."""
    found = nests(shape, target, machine)
    return max(found, key=lambda nest: math.prod(int(n) for n in _sizes(nest)))


def _sizes(nest: NestReport) -> list[str]:
    return [part.split(" = ")[1].split()[0] for part in nest.iterators.split(", ") if " = " in part]


def copies(nest: NestReport) -> list[str]:
    """The operands that are copied at run time, of the way that is taken."""
    assert nest.taken is not None
    return [text.partition(":")[0] for text in nest.taken.copies]


@ON_TWO
@pytest.mark.parametrize(("target", "machine"), ON)
def test_large_matrices_are_packed(target: str, machine: str) -> None:
    """Rows 8 KiB apart share sets of every cache, and are a page each: no machine wants B where it is."""
    assert "B" in copies(product(Product(2048, 2048, 2048, is_given=True), target, machine))


@ON_TWO
@pytest.mark.parametrize(("target", "machine"), ON)
def test_no_copy_is_left_of_what_is_transposed(target: str, machine: str) -> None:
    """A large B is packed from where it is; by few rows, its own rows are multiplied."""
    for m, n, k in ((256, 256, 256), (300, 200, 250)):
        (only,) = nests(Product(m, n, k, transposed="b", is_given=True), target, machine)
        assert copies(only)[:1] == ["B"]
    (only,) = nests(Product(4, 200, 300, transposed="b", is_given=True), target, machine)
    assert only.taken is not None


@ON_TWO
@pytest.mark.parametrize(("target", "machine"), ON)
def test_small_matrices_stay_where_they_are(target: str, machine: str) -> None:
    """A copy of B would be read by two rows of tiles only."""
    assert copies(product(Product(24, 64, 48, is_given=True), target, machine)) == []


@ON_TWO
@pytest.mark.parametrize(("target", "machine"), ON)
def test_what_is_read_once_stays_where_it_is(target: str, machine: str) -> None:
    """Four rows by 36 MB: a copy would take longer than the product; ways without one must be planned."""
    assert "B" not in copies(product(Product(4, 3072, 2937, is_given=True), target, machine))


def test_what_a_constant_needs_is_not_copied_at_run_time() -> None:
    """It is packed when the program is compiled."""
    nest = product(Product(2048, 2048, 2048), "x86-64-v4", "zen4")
    assert nest.taken is not None
    assert "B" not in copies(nest) or "B" in nest.taken.packed


def test_a_constant_is_read_in_one_run() -> None:
    """conv-first-f32 could read B where it is, 64 numbers of each row of 1280; as laid out it is one run."""
    report = product(Product(4, 1280, 24), "x86-64-v4", "zen4")
    ways = [way for way in report.candidates if way.kernel == "conv-first-f32"]
    assert 1 in [way.params["S"] for way in ways]  # no stride of the rows is demanded
    assert all("B" in [text.partition(":")[0] for text in way.copies] for way in ways)


def test_few_terms_and_a_result_in_short_rows_are_left_to_the_c_compiler() -> None:
    """Kernels would copy a result of 3 columns, with 64 terms that pays; 8 are a shorter vector, in place."""
    short = product(Product(4416, 3, 4, transposed="a", is_given=True), "x86-64-v3", "zen4")
    assert short.taken is None
    assert short.misses["gemm-f32"].startswith("it would take ")
    longer = product(Product(4416, 3, 64, transposed="a", is_given=True), "x86-64-v4", "zen4")
    assert longer.taken is not None
    wider = product(Product(4416, 8, 4, transposed="a", is_given=True), "x86-64-v4", "zen4")
    assert copies(wider) == []


def plain(shape: Shape, target: str = "x86-64-v4") -> float:
    """Cycles of the product's nest without a kernel, with operands in the first-level cache, on Zen 4."""
    context = new_context()
    module = import_model(program_of(shape, context), context, Options(target=target))
    for one in default_pipeline().without("join-rows").until("tensorize"):
        if one.name != "tensorize":
            one.apply(context, module)
    nests = [op for op in module.walk() if isinstance(op, NestOp) and op.has_reduction]
    return plain_cycles(strided_nest(nests[0]), parse_target(target), find_machine("zen4"))


def test_what_nests_take_without_a_kernel() -> None:
    """Lanes are neighbouring outputs: rows are in registers, or else sums come and go."""
    stored = {"x86-64-v3": 1, "x86-64-v4": 2}
    """Cycles of a store of a vector."""
    for target, lanes in (("x86-64-v3", 8), ("x86-64-v4", 16)):
        row = 4 * lanes
        pace = stored[target] / 2
        short = plain(Product(1000, row, 2, is_given=True), target)
        assert short == 1000 * (2 * 4 * pace + 2 * 4 * stored[target])
        # Rows of 20 vectors and an element are in the cache: each store is one of 20, the element another.
        long = plain(Product(1000, 20 * lanes + 1, 9, is_given=True), target)
        assert long == 1000 * (9 + 2) * 21 * stored[target]
    zen4 = find_machine("zen4")
    # Two vectors are in registers for any number of terms, each of which waits for the one before.
    assert plain(Product(1000, 32, 64, is_given=True)) == 1000 * (64 * zen4.fma_latency + 8)
    # Three are not.
    assert plain(Product(1000, 48, 64, is_given=True)) == 1000 * (
        64 * (zen4.fma_latency + 2 * zen4.l1.latency) + 12
    )
    # No neighbours: numbers one after the other.
    assert plain(Product(1000, 1, 64, is_given=True)) == 1000 * 64 * zen4.fma_latency
    # Every second element: two loads of a vector, and two operations that bring them together.
    every_second = Convolution(4, 64, 64, 8, (3, 3), 2, is_given=True)
    assert plain(every_second, "generic") == 8 * 32 * (36 * 8 * 1.5 + 2 * 8)


@pytest.mark.parametrize(
    ("shape", "axis", "least", "taken"),
    [
        ((100000, 3), 0, 400_000, "tree"),
        ((20000, 12), 0, 180_000, "tree"),
        ((4096, 5), 0, 16_000, "tree"),
        ((2000, 7), 1, 7_000, "direct"),
    ],
)
def test_sums_of_narrow_rows_have_few_lanes_and_wait(
    shape: tuple[int, int], axis: int, least: int, taken: str
) -> None:
    """Sums of columns wait for the row before: many rows are done in parts. Rows of 7 are no vectors."""
    kind, result = (
        f"tensor<{'x'.join(map(str, each))}xf32>" for each in (shape, [shape[1 - axis]])
    )

    def reduced(attribute: str = "") -> tuple[NestReport, ...]:
        context = new_context()
        text = f"""func.func @main(%x: {kind}) -> {result} {{
          %y = graph.reduce_sum %x axes = [{axis}]{attribute} : {kind} -> {result}
          func.return %y : {result}
        }}"""
        wish = Options(target="x86-64-v3", machine=find_machine("zen3"))
        return reported(context, import_model(parse_module(context, text), context, wish))

    (only,) = reduced(' {inarch.algorithm = "direct"}')
    assert only.taken is None
    assert least <= only.cycles <= 2 * least
    assert len(reduced()) == (2 if taken == "tree" else 1)


@pytest.mark.sampled(effort(1, 2), reason="16 MiB, and NumPy's product of them")
@pytest.mark.parametrize("transposed", ["", "ab"])
def test_a_product_that_is_packed_at_run_time_is_numpys(transposed: str) -> None:
    """Rows and columns that no tile divides, and a B of 16 MiB."""
    shape = Product(131, 2050, 2048, transposed=transposed, is_given=True)
    if not transposed:
        assert "B" in copies(product(shape, "x86-64-v4", "zen4"))
    context = new_context()
    a, b = arrays_of(shape)
    module = import_model(program_of(shape, context), context, Options(target=str(native())))
    for one in default_pipeline():
        one.apply(context, module)
        if one.name == "tensorize":
            break
    (found,) = execute_compiled(module, [a, b], context)
    expected = (a.T if "a" in transposed else a) @ (b.T if "b" in transposed else b)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * np.abs(expected).max())
