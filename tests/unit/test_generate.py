"""Generated programs keep their promises: they verify, round-trip, are repeatable, and shrink."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from inarch._xdsl import parse_module, print_module, store_of, verify_module
from inarch.dialects import new_context
from inarch.dialects._constants import constant_array, constant_attribute
from inarch.dialects.graph.constant import ConstantOp
from inarch.errors import EnvironmentFault, InarchError, UsageError
from inarch.frontends import read_model
from inarch.testing import round_trip
from inarch.testing.generate import (
    LEVELS,
    Program,
    graph_programs,
    inputs,
    kernel_programs,
    loop_programs,
    programs,
    remake,
    shrink,
)

STRATEGIES = {"graph": graph_programs, "loop": loop_programs, "kernel": kernel_programs}


def names(program: Program) -> list[str]:
    return [op.name for op in program.parse()[1].walk()]


@pytest.mark.parametrize("level", LEVELS)
def test_programs_verify_and_round_trip(level: str) -> None:
    for program in programs(level, seed=3, count=12):
        context, module = program.parse()
        verify_module(module)
        assert print_module(module) == program.text
        round_trip(module, context)


@pytest.mark.parametrize("level", LEVELS)
def test_a_seed_makes_the_same_program_again_alone_or_in_a_row(level: str) -> None:
    row = list(programs(level, seed=4, count=4))
    assert list(programs(level, seed=4, count=1, start=3)) == row[3:]
    assert len({program.text for program in row}) == 4
    assert next(programs(level, seed=5)).text != row[0].text


@pytest.mark.parametrize("level", LEVELS)
def test_the_record_of_decisions_makes_the_program_again(level: str) -> None:
    for program in programs(level, seed=6, count=5):
        assert remake(program, program.record) == program


@pytest.mark.parametrize("level", LEVELS)
def test_any_record_makes_a_program(level: str) -> None:
    first = next(programs(level, seed=7))
    generator = np.random.default_rng(0)
    for _ in range(10):
        record = tuple(
            (label, tuple(int(n) for n in generator.integers(0, 100, 40)))
            for label in ("head", "head", "step", "step", "step", "close")
        )
        verify_module(remake(first, record).parse()[1])


def test_shrinking_leaves_what_makes_it_fail() -> None:
    big = next(
        p
        for p in programs("graph", seed=8, large=True)
        if "graph.tanh" in p.text and len(p.text) > 3000
    )
    small = shrink(big, lambda p: "graph.tanh" in p.text, seconds=20, large=True)
    assert "graph.tanh" in small.text
    assert sum(name.startswith("graph.") for name in names(small)) <= 3
    assert small.index == big.index


@pytest.mark.parametrize("level", LEVELS)
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(data=st.data())
def test_strategies_draw_programs(level: str, data: st.DataObject) -> None:
    program = data.draw(STRATEGIES[level]())
    assert program.level == level
    verify_module(program.parse()[1])


def test_hypothesis_shrinks_to_a_program_that_can_be_printed() -> None:
    small = find(
        graph_programs(),
        lambda p: "graph.neg" in p.text,
        settings=settings(
            max_examples=200, deadline=None, database=None, phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip
    ops = [name for name in names(small) if name.startswith("graph.")]
    assert "graph.neg" in ops
    assert len(ops) <= 3
    assert str(small).startswith("builtin.module {\n  func.func @main(")


def test_without_hypothesis_strategies_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert next(programs("graph", seed=3)).functions() == ["main"]
    with pytest.raises(EnvironmentFault) as caught:
        loop_programs()
    assert caught.value.line() == (
        "error: strategies need hypothesis, which is not installed: pip install 'inarch[test]'"
    )


def test_an_unknown_level_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no level 'grap'; did you mean 'graph'"):
        programs("grap")


@pytest.mark.parametrize("level", LEVELS)
def test_inputs_fit_and_have_special_values(level: str) -> None:
    found: list[np.ndarray] = []
    for program in programs(level, seed=9, count=20):
        for function in program.functions():
            first, again = (inputs(program, 1, function=function) for _ in range(2))
            for left, right in zip(first, again, strict=True):
                np.testing.assert_array_equal(left, right)
            found += [array for array in first if array.dtype.kind == "f"]
    assert any(np.isnan(array).any() for array in found)
    assert any(np.isinf(array).any() for array in found)
    assert any((np.signbit(array) & (array == 0)).any() for array in found)


def test_a_program_is_saved_with_its_constants(tmp_path: object) -> None:
    from pathlib import Path

    program = next(p for p in programs("graph", seed=2) if p.constants)
    path = Path(str(tmp_path)) / "p.mlir"
    program.save(path)
    context = new_context()
    module = read_model(path, context)
    for op in module.walk():
        if isinstance(op, ConstantOp):
            constant_array(op.value, store_of(context))


# ------------------------------------------------------------------------------------ text


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_constants_that_are_not_finite_survive_their_text(dtype: str) -> None:
    """The printer writes them as their bits; the parser once read those as large numbers."""
    context = new_context()
    array = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-42, 1.5], dtype)
    for value in (array, np.full((2, 3), np.inf, dtype), np.array(-np.inf, dtype)):
        text = f"%0 = graph.constant {constant_attribute(value, store_of(context))}"
        module = parse_module(context, text)
        op = module.body.block.first_op
        assert isinstance(op, ConstantOp)
        np.testing.assert_array_equal(constant_array(op.value, store_of(context)), value)


@pytest.mark.parametrize("value", [4294967295.0, 16777219.0, -16777219.0, 1e30, 0.1])
def test_large_whole_numbers_survive_their_text(value: float) -> None:
    """The printer has bits for numbers of more than six digits without a point, also in properties."""
    text = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    text += f"  %0 = graph.clip %x low = {value!r} : tensor<2xf32> -> tensor<2xf32>\n"
    text += f"  %1 = graph.constant dense<[{value!r}, 1.0]> : tensor<2xf32>\n"
    text += "  func.return %0 : tensor<2xf32>\n}"
    context = new_context()
    module = parse_module(context, text.replace("e+30", ".0e+30"))
    again = parse_module(context, print_module(module))
    assert print_module(again) == print_module(module)
    for first, second in zip(module.walk(), again.walk(), strict=True):
        assert first.properties == second.properties


def test_too_many_bits_for_a_float_are_an_error() -> None:
    with pytest.raises(InarchError) as caught:
        parse_module(new_context(), "%0 = graph.constant dense<0x7f8000000> : tensor<f32>")
    assert caught.value.line() == "<text>:1:27: error: expected at most 8 hexadecimal digits"
