"""benchmarks/ranking.py: what is chosen and its rivals are built, checked and measured in turn."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from inarch.benchmark.harness import Harness
from inarch.benchmark.layers import parse_shape
from inarch.benchmark.shapes import (
    MOST_FLOPS,
    Convolution,
    Product,
    Shape,
    arrays_of,
    draw,
    program_of,
    result_of,
)
from inarch.dialects import new_context
from inarch.machine.target import native
from inarch.testing import execute

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "ranking.py"


@pytest.fixture(scope="module")
def ranking() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("ranking", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ranking"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_shapes_are_drawn_of_every_kind() -> None:
    """Equal seeds draw equal shapes; fewer of them are the first ones; other seeds draw others."""
    shapes = draw(1, 200)
    assert len(set(shapes)) == 200
    assert draw(1, 30) == shapes[:30]
    assert len(set(shapes) & set(draw(2, 200))) < 5
    assert all(shape.flops <= MOST_FLOPS for shape in shapes)
    products = [shape for shape in shapes if isinstance(shape, Product)]
    convolutions = [shape for shape in shapes if isinstance(shape, Convolution)]
    assert min(len(products), len(convolutions)) > 80
    for letters in ("a", "b", "ab"):
        assert any(shape.transposed == letters for shape in products)
    assert sum(shape.batch > 1 for shape in products) > 10
    assert sum(shape.is_given for shape in shapes) > 50
    assert sum(shape.n % 8 > 0 for shape in products) > 20
    assert any(shape.m <= 4 for shape in products)
    assert any(1 < shape.groups < shape.channels for shape in convolutions)
    assert any(shape.groups == shape.channels > 1 for shape in convolutions)
    assert any(shape.stride > 1 for shape in convolutions)
    assert any(shape.dilation > 1 for shape in convolutions)


@pytest.mark.parametrize(
    "shape",
    [
        Product(5, 3, 7),
        Product(5, 3, 7, 2, "a", is_given=True),
        Product(4, 6, 2, transposed="ab"),
        Product(4, 6, 2, 3, "b"),
    ],
    ids=str,
)
def test_a_product_is_what_its_text_says(shape: Product) -> None:
    """A transposed operand lies as its transpose."""
    a, b = arrays_of(shape)
    context = new_context()
    given = [a, b] if shape.is_given else [a]
    (found,) = execute(program_of(shape, context), given, context)
    x = np.swapaxes(a, -1, -2) if "a" in shape.transposed else a
    y = np.swapaxes(b, -1, -2) if "b" in shape.transposed else b
    np.testing.assert_allclose(found, x @ y, rtol=1e-5, atol=1e-6)
    assert found.shape[-2:] == (shape.m, shape.n)


def test_texts_and_operations_of_shapes() -> None:
    """The text names all that differs."""
    assert str(Product(2, 3, 4)) == "2x3x4 B constant"
    assert str(Product(2, 3, 4, 5, "ab", is_given=True)) == (
        "5x2x3x4 B given, A transposed, B transposed"
    )
    assert Product(2, 3, 4, 5).flops == 2 * 2 * 3 * 4 * 5
    one = Convolution(8, 9, 11, 4, (3, 5), 2, 2, 4, is_given=True)
    assert str(one) == "8x9x11->4 3x5 stride 2 dilation 2 groups 4, weights given"
    assert one.flops == 2 * 4 * (5 * 6) * (2 * 15)
    assert one.operands() == ((1, 8, 9, 11), (4, 2, 3, 5))


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [Convolution(32, 9, 9, 32, (3, 3)), Product(20, 36, 24, is_given=True, transposed="b")],
    ids=str,
)
def test_rivals_of_a_small_shape_are_measured(ranking: ModuleType, shape: Shape) -> None:
    """Each way is another, is checked, and has a time; the nest without a kernel is one of them."""
    result = ranking.measure(shape, Harness(native()), 3, 1)
    assert len(set(result.ways)) == len(result.ways) == len(result.nanoseconds) >= 4
    assert ranking.PLAIN in result.ways[1:]
    assert all(value > 0 for value in result.nanoseconds)
    assert result.regret >= 1


def test_what_is_not_good_is_measured_again(
    ranking: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each way has its best time; a choice that is good at once is believed."""
    results = [
        ranking.Result("s", ("x", "y", "z"), (1.0, 2.0, 3.0), (130.0, 100.0, 150.0), 200),
        ranking.Result("s", ("x", "y"), (1.0, 2.0), (104.0, 110.0), 200),
    ]

    def measured(*_: object) -> object:
        return results.pop(0)

    monkeypatch.setattr(ranking, "_measured", measured)
    found = ranking.measure(None, None, 2, 1)
    assert found.nanoseconds == (104.0, 100.0, 150.0)
    assert found.ways == ("x", "y", "z")
    results.append(ranking.Result("s", ("x", "y"), (1.0, 2.0), (105.0, 100.0), 200))
    assert ranking.measure(None, None, 2, 1).nanoseconds == (105.0, 100.0)


def test_a_wrong_way_has_no_time(ranking: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error that names the way."""
    shape = Product(8, 16, 8)
    subject = ranking.Subject(shape, Harness(native()), 1)
    subject.check(shape)
    monkeypatch.setattr(ranking, "WHOLE", -1.0)
    with pytest.raises(
        Exception, match=r"^8x16x8 B constant: expected what NumPy makes, found \d\.\de[-+]\d+ of"
    ):
        subject.check(shape)


@pytest.mark.parametrize(
    "shape",
    [
        Product(5, 7, 9, batch=3, transposed="ab", is_given=True),
        Product(5, 7, 9, transposed="a"),
        Convolution(6, 9, 7, 8, (3, 5), 2, groups=2, is_given=True),
        Convolution(4, 9, 12, 20, (3, 1), 1, 2),
        Convolution(20, 8, 8, 20, (3, 3), groups=20),
    ],
    ids=str,
)
def test_results_are_what_the_op_means(shape: Shape) -> None:
    """The oracle of all ways agrees with the definition of the graph op."""
    context = new_context()
    module = program_of(shape, context)
    arrays = arrays_of(shape)
    (expected,) = execute(module, list(arrays if shape.is_given else arrays[:1]), context)
    np.testing.assert_allclose(result_of(shape), expected, rtol=0, atol=1e-5)


def test_inputs_of_a_blocked_layout_are_those_that_were_drawn(ranking: ModuleType) -> None:
    """86 channels become blocks of a vector, with a margin, and what is made of them is checked."""
    shape = Convolution(86, 12, 12, 86, (3, 3), groups=86)
    subject = ranking.Subject(shape, Harness(native()), 1)
    assert subject.buffers[0].ndim == 5
    subject.check(shape)
    total = np.abs(arrays_of(shape)[0]).sum(dtype=np.float64)
    assert np.abs(subject.buffers[0]).sum(dtype=np.float64) == pytest.approx(total)


def test_layers_are_shapes_too(ranking: ModuleType) -> None:
    """The sets of `inarch bench` can be ranked."""
    assert ranking.of_layer(parse_shape("64x56x56->64k3s2g64")) == Convolution(
        64, 56, 56, 64, (3, 3), 2, groups=64
    )
    assert ranking.of_layer(parse_shape("12x8x16x4")) == Product(8, 16, 4, 12, is_given=True)


def test_the_summary_counts_good_choices(ranking: ModuleType) -> None:
    """A choice 5 % slower than the best is good, one 6 % slower is not; none may be a quarter slower."""

    def result(name: str, chosen: float) -> object:
        return ranking.Result(name, ("x", "y"), (1.0, 2.0), (chosen, 100.0), 200)

    good = [result("a", 90.0), result("b", 104.9)]
    assert ranking.summary([*good, result("c", 106.0)]) == (
        "within 5 % of the best on 2 of 3 (66.7 %); beyond 1.25: 0; worst 1.060; geometric mean 1.036"
    )
    assert ranking.is_good(good)
    assert not ranking.is_good([*good, result("c", 106.0)])
    assert not ranking.is_good([*good * 50, result("c", 126.0)])
    assert str(good[0]) == " 1.000        0.1 us    2.2 GF/s  a: x"
    assert str(good[1]) == " 1.049        0.1 us    1.9 GF/s  b: x; 0.1 us by y"
