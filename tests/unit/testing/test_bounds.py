"""Bounds hold for every legal order and precision, and are near enough to catch what is wrong."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith, math

from inarch.core.lazy import Array
from inarch.core.scalars.functions import FUNCTIONS
from inarch.definitions.bounded import Bounded
from inarch.definitions.elements import bits, copy_sign, fold
from inarch.definitions.execute import as_module
from inarch.dialects import new_context
from inarch.dialects.loop.scalar import RemfOp
from inarch.testing import Expected, check_semantics, execute, expected_of, random_inputs, run_pass


def of(*values: float, dtype: str = "float32") -> Bounded:
    return Bounded.exact(np.array(values, dtype))


def expected(text: str, seed: int = 0) -> tuple[Expected, list[Array]]:
    context, module = as_module(text, new_context())
    inputs = random_inputs(module, seed)
    return expected_of(context, module, inputs)[0], inputs


def test_every_order_of_a_sum_is_within_its_bound() -> None:
    generator = np.random.default_rng(0)
    numbers = (
        generator.standard_normal((100, 64)) * 10.0 ** generator.integers(-6, 7, (100, 64))
    ).astype(np.float32)
    whole = Bounded.exact(numbers).sum((1,))
    for _ in range(20):
        order = generator.permutation(64)
        total = np.zeros(100, np.float32)
        for column in order:
            total = total + numbers[:, column]
        assert np.all(np.abs(total - whole.value) <= whole.total)
    pairs = numbers[:, ::2] + numbers[:, 1::2]
    assert np.all(np.abs(pairs.sum(axis=1) - whole.value) <= whole.total)


def test_a_factor_may_be_distributed_and_a_product_contracted() -> None:
    """(a - b) * c, a * c - b * c and its FMA, where a and b are near each other."""
    generator = np.random.default_rng(1)
    a = generator.standard_normal(1000).astype(np.float32)
    b = (a * (1 + generator.standard_normal(1000) * 1e-6)).astype(np.float32)
    c = generator.standard_normal(1000).astype(np.float32)
    wide = Bounded.exact(a).add(Bounded.exact(b), -1).multiply(Bounded.exact(c))
    fused = (a.astype(np.float64) * c - (b * c).astype(np.float64)).astype(np.float32)
    for found in ((a - b) * c, a * c - b * c, fused):
        assert np.all(np.abs(found - wide.value) <= wide.total)
    assert np.any(np.abs(a * c - b * c - wide.value) > 1e-6 * np.abs(wide.value))


def test_a_sum_in_parts_is_one_sum() -> None:
    """Large nests are evaluated in parts: small terms behind a large one are all lost, in each part."""
    numbers = np.full(144, 0.97, np.float32)
    numbers[0] = 2.0**25
    start, total = of(0.0), np.float32(0)
    for part in numbers.reshape(8, 18):
        start = fold("arith.addf", of(*part), (0,), Bounded.add, start)
    for number in numbers:
        total += number
    assert abs(total - start.value[0]) > 100
    assert abs(total - start.value[0]) <= start.total[0]


@pytest.mark.parametrize("unit", [-3, 3])
def test_a_few_units_beyond_the_bound_are_a_fault(unit: int) -> None:
    """The bound of one product is one rounding: what is further away is caught."""
    wanted, (a, b) = expected(
        "func.func @f(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {\n"
        "  %c = graph.mul %a, %b : tensor<64xf32>, tensor<64xf32> -> tensor<64xf32>\n"
        "  func.return %c : tensor<64xf32>\n}\n"
    )
    right = a * b
    assert np.all(wanted.accepts(right))
    wrong = right.copy()
    wrong[17] += unit * np.spacing(np.abs(right[17]))
    assert np.flatnonzero(~wanted.accepts(wrong)).tolist() == [17]


@np.errstate(all="ignore")
def test_denormals_infinities_and_nan() -> None:
    tiny = of(1e-30).multiply(of(1e-15))
    assert tiny.total[0] >= 2.0**-149 / 2
    huge = of(3e38).multiply(of(10.0))
    assert (huge.value[0], huge.total[0]) == (np.inf, 0)
    edge = of(3.4028234e38).add(of(1e31))
    assert edge.total[0] == np.inf  # rounds to the largest number, or not, by the order
    missing = of(np.inf).add(of(np.inf), -1)
    assert np.isnan(missing.value[0])
    assert missing.total[0] == 0
    assert of(np.nan).extreme(of(1.0), np.maximum).total[0] == 0
    unsure = of(1.0).add(of(1.0), -1).add(of(1e-9)).multiply(of(np.inf))
    assert unsure.total[0] == np.inf  # the sign of a sum near 0 is not known


@np.errstate(all="ignore")
def test_quotients_by_numbers_whose_reciprocal_is_an_infinity() -> None:
    """1 / 2.8e-309 is beyond f64; 2.8e-309 / 2.8e-309 is 1, and 0 / 2.8e-309 is 0."""
    least = 2.8e-309
    found = of(least, 0.0, 1.0, dtype="float64").divide(of(least, least, least, dtype="float64"))
    assert found.value.tolist() == [1.0, 0.0, np.inf]
    assert np.all(found.total <= 1e-15)
    rounded = of(1.0, dtype="float64").divide(of(3.0, dtype="float64"))
    near = rounded.divide(of(1e-309, dtype="float64"))
    assert near.value[0] == np.inf
    unsure = of(least, dtype="float64").divide(rounded.multiply(of(1e-309, dtype="float64")))
    assert unsure.total[0] == np.inf  # so few bits say nothing


@np.errstate(all="ignore")
def test_what_a_zero_divides_is_settled_only_where_its_sign_is() -> None:
    """(1/3 + 1/3 + 1/3 - 1) / 0 may be NaN or either infinity; (1/3) / 0 and 0 / 0 may not."""
    third = of(1.0).divide(of(3.0))
    nearly = third.add(third).add(third).add(of(1.0), -1)
    assert nearly.divide(of(0.0)).total[0] == np.inf
    for value, expected in ((third, np.inf), (of(0.0), np.nan)):
        found = value.divide(of(0.0))
        assert found.total[0] == 0
        np.testing.assert_array_equal(found.value, [expected])


def test_the_bits_of_a_nan_are_not_defined() -> None:
    found = bits(of(np.nan, 1.0), np.dtype(np.int32))
    assert isinstance(found, Bounded)
    assert found.total.tolist() == [np.inf, 0.0]
    assert found.value[1] == 0x3F800000
    patterns = np.array([0x7F800001, 0x7FC00000, 0x3F800000], np.uint32).view(np.int32)
    made = bits(Bounded.exact(patterns), np.dtype(np.float32))
    assert made.total.tolist() == [np.inf, 0.0, 0.0], "signalling, quiet, 1.0"
    signed = copy_sign(of(2.0, 2.0, np.nan), of(np.nan, -3.0, -3.0))
    assert signed.total[0] == np.inf
    assert signed.total[1] < 1e-40
    assert signed.value[1] == -2
    assert signed.total[2] == 0, "a NaN is a NaN"


def test_jumps_within_the_interval_are_allowed_and_others_are_not() -> None:
    third = of(1.0).divide(of(3.0)).multiply(of(3.0))
    floor = third.apply(np.floor, 0)
    assert floor.total[0] >= 1  # 1, or 0 for what is a little less
    assert of(2.5).apply(np.floor, 0).total[0] == 0
    unknown = third.compare(of(1.0), np.less)
    assert unknown.error[0] == np.inf
    chosen = unknown.choose(of(10.0), of(20.0))
    assert chosen.total[0] >= 10
    assert third.compare(of(1.1), np.less).error[0] == 0
    assert third.to_whole(lambda x: np.trunc(x).astype(np.int32)).error[0] >= 1


def test_integers_are_exact() -> None:
    made = Expected(np.array([3], np.int8), np.array([3], np.int8), np.zeros(1))
    assert made.accepts(np.array([3], np.int8)).all()
    assert not made.accepts(np.array([4], np.int8)).any()


LAYERS = {
    "conv": (
        "func.func @f(%x: tensor<1x16x9x9xf32>, %w: tensor<8x16x3x3xf32>) -> tensor<1x8x7x7xf32> {\n"
        "  %y = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : "
        "tensor<1x16x9x9xf32>, tensor<8x16x3x3xf32> -> tensor<1x8x7x7xf32>\n"
        "  func.return %y : tensor<1x8x7x7xf32>\n}\n",
        160,
    ),
    "softmax": (
        "func.func @f(%x: tensor<32x50xf32>) -> tensor<32x50xf32> {\n"
        "  %y = graph.softmax %x axis = 1 : tensor<32x50xf32> -> tensor<32x50xf32>\n"
        "  func.return %y : tensor<32x50xf32>\n}\n",
        100,
    ),
    "layer_norm": (
        "func.func @f(%x: tensor<32x50xf32>, %s: tensor<50xf32>) -> tensor<32x50xf32> {\n"
        "  %y = graph.layer_norm %x, %s axis = 1 epsilon = 1.0e-05 : tensor<32x50xf32>, tensor<50xf32> "
        "-> tensor<32x50xf32>\n  func.return %y : tensor<32x50xf32>\n}\n",
        350,
    ),
    "gelu": (
        "func.func @f(%x: tensor<2000xf32>) -> tensor<2000xf32> {\n"
        '  %y = graph.gelu %x approximate = "none" : tensor<2000xf32> -> tensor<2000xf32>\n'
        "  func.return %y : tensor<2000xf32>\n}\n",
        12,
    ),
}
"""Layer -> its program, and how many times the worst error that was seen the worst bound may be."""


def tightness(text: str) -> float:
    """The largest bound by the largest error of the program, lowered, in the order in which it is written."""
    wanted, inputs = expected(text)
    context, module = as_module(run_pass(text, "decompose-composites,graph-to-loop"), None)
    (found,) = execute(module, inputs, context)
    error = np.abs(found.astype(np.float64) - wanted.center)
    assert np.all(error <= wanted.bound)
    return float(wanted.bound.max() / error.max())


@pytest.mark.parametrize("layer", LAYERS)
def test_bounds_are_not_much_wider_than_what_is_seen(layer: str) -> None:
    text, most = LAYERS[layer]
    assert 1 <= tightness(text) <= most


@pytest.mark.parametrize("layer", LAYERS)
def test_a_wrong_constant_or_term_is_seen(layer: str) -> None:
    """A relative error of 1/1000 in the result is more than rounding in each of these layers."""
    text, _ = LAYERS[layer]
    wanted, _ = expected(text)
    assert not np.all(wanted.accepts((wanted.value * np.float32(1.001)).astype(np.float32)))


def test_what_the_references_and_the_lowering_say_must_agree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from inarch.dialects.graph.elementwise.unary import ReluOp

    def reference(_: ReluOp, x: Array) -> Array:
        return np.abs(x)

    monkeypatch.setattr(ReluOp, "reference", reference)
    text = (
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>\n  func.return %y : tensor<4xf32>\n}\n"
    )
    with pytest.raises(AssertionError) as caught:
        check_semantics(text, text, inputs=[np.array([1, -2, 3, 4], np.float32)])
    assert str(caught.value) == (
        "function @f, output 0, index (1,): by their references the ops give 2.0, lowered to loops 0.0, "
        "allowed 0"
    )


@np.errstate(all="ignore")
def test_an_infinity_beside_numbers_that_may_overflow_is_not_settled() -> None:
    for numbers, bound in (((np.inf, -3e38, -3e38), np.inf), ((np.inf, -3e38, 1.0), 0.0)):
        assert of(*numbers).sum((0,)).total == bound


@pytest.mark.parametrize(
    ("factors", "start"), [([1.096] * 64, 1e-40), ([1e-30, 1e20, 1e30], 1e-12), ([2.0] * 9, 3.0)]
)
@np.errstate(all="ignore")
def test_products_in_any_order_are_within_their_bound(factors: list[float], start: float) -> None:
    """From a denormal on bits are lost, which the other factors make larger."""
    numbers = np.array(factors, np.float32)
    found = fold("arith.mulf", Bounded.exact(numbers[:, None]), [0], Bounded.multiply, of(start))
    assert isinstance(found, Bounded)
    for order in (numbers, numbers[::-1]):
        total = np.float32(start)
        for factor in order:
            total = total * factor
        whole = np.float32(start) * np.multiply.reduce(order)
        for each in (total, whole):
            assert abs(float(each) - found.value[0]) <= found.total[0]
    assert found.total[0] <= 0.01 * found.value[0] or start == 1e-12


@pytest.mark.parametrize(
    ("factors", "value", "bound"),
    [
        ([0.0, 3e-30, 3e-30, 3e20], 0.0, 0.0),
        ([0.0, 3e30, 3e30], 0.0, np.inf),
        ([np.inf, 0.0, 3e30], np.nan, 0.0),
        ([np.inf, 3e-30, 3e-30], np.inf, np.inf),
        ([np.nan, 3e30, 3e-30, 3e30], np.nan, 0.0),
        ([np.inf, -2.0, 3e30], -np.inf, 0.0),
    ],
)
@np.errstate(all="ignore")
def test_products_with_zero_infinity_or_nan(
    factors: list[float], value: float, bound: float
) -> None:
    """Doubtful is what the order decides: whether something is an infinity, or 0, when it meets the other."""
    numbers = np.array(factors, np.float32)[:, None]
    found = fold("arith.mulf", Bounded.exact(numbers), [0], Bounded.multiply, of(1.0))
    np.testing.assert_array_equal(found.value, [value])
    np.testing.assert_allclose(found.total, [bound], atol=1e-44)


@np.errstate(all="ignore")
def test_what_no_function_is_defined_for_is_nan() -> None:
    """The log of -1/3 is NaN, however that is rounded; the arc sine of 3 +- 9 may be a number."""
    third = of(-1.0).divide(of(3.0))
    assert third.apply(np.log, 2).total[0] == 0
    near = Bounded.near(np.array([3.0], np.float32), np.array([9.0]))
    assert near.apply(np.arcsin, 2).total[0] == np.inf


@np.errstate(all="ignore")
def test_a_mean_whose_sum_is_too_large_may_be_an_infinity() -> None:
    """A way to compute it that divides first has it right; both are."""
    text = """func.func @main(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x1x1xf32> {
  %y = graph.avg_pool %x window = [2, 2] strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1]
    : tensor<1x1x2x2xf32> -> tensor<1x1x1x1xf32>
  func.return %y : tensor<1x1x1x1xf32>
}"""
    context, module = as_module(text, new_context())
    (found,) = expected_of(context, module, [np.full((1, 1, 2, 2), 2e38, np.float32)])
    for value in (np.inf, 2e38):
        assert found.accepts(np.full((1, 1, 1, 1), value, np.float32)).all()


def test_rows_of_functions_say_how_they_run() -> None:
    """Bounds rely on it: a function is monotone between `iterations`, or its slope is at most 1."""
    x = np.linspace(-20, 20, 4001)
    ops: dict[str, Any] = {
        op.name: op for op in (*arith.Arith.operations, *math.Math.operations, RemfOp)
    }
    for row in FUNCTIONS.values():
        for name in filter(None, (row.floats, row.signed, row.unsigned)):
            assert len(ops[name].get_irdl_definition().operands) == row.arity, row.name
        if row.arity != 1 or not row.floats or row.period:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            y = row.compute(x)
        steps = np.diff(y)
        if row.slope_below_one:
            assert np.all(np.abs(steps) <= np.diff(x) * (1 + 1e-9)), row.name
            continue
        for low, high in pairwise((-np.inf, *row.turning_points, np.inf)):
            here = steps[(low <= x[:-1] + 1e-9) & (x[1:] - 1e-9 <= high) & np.isfinite(steps)]
            assert np.all(here >= 0) or np.all(here <= 0), row.name
