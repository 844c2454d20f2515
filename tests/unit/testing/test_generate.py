"""Generated programs keep their promises: they verify, round-trip, are repeatable, and shrink."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from effort import effort
from inarch.backends import BACKENDS
from inarch.core.errors import EnvironmentFault, InarchError, UsageError
from inarch.core.lazy import Array
from inarch.dialects import new_context
from inarch.dialects.graph import DIALECT as GRAPH
from inarch.dialects.graph.constant import ConstantOp
from inarch.dialects.graph.elementwise.unary import NegOp
from inarch.dialects.scalar import Scalar
from inarch.frontends import read_model
from inarch.ir.context import store_of
from inarch.ir.payload.constants import constant_array, constant_attribute
from inarch.ir.text import parse_module, print_module
from inarch.ir.verify import verify_module
from inarch.machine.target import this_processor
from inarch.testing import round_trip
from inarch.testing.generate import (
    LEVELS,
    GeneratedProgram,
    graph_programs,
    inputs,
    kernel_programs,
    loop_programs,
    programs,
    remake,
    shrink,
)
from inarch.testing.generate.__main__ import main as command
from inarch.testing.generate.check import worker
from inarch.testing.generate.check.check import check_programs
from inarch.testing.generate.check.driver import check
from inarch.testing.generate.check.worker import Job
from inarch.testing.generate.graph.recipes import BY_BACKENDS, graph_recipes

STRATEGIES = {"graph": graph_programs, "loop": loop_programs, "kernel": kernel_programs}


def names(program: GeneratedProgram) -> list[str]:
    return [op.name for op in program.parse()[1].walk()]


@pytest.mark.parametrize("level", LEVELS)
def test_programs_verify_and_round_trip(level: str) -> None:
    for program in programs(level, seed=3, count=3):
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
    for _ in range(5):
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
@settings(
    max_examples=3,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    database=None,
)
@given(data=st.data())
def test_strategies_draw_programs(level: str, data: st.DataObject) -> None:
    program = data.draw(STRATEGIES[level]())
    assert program.level == level
    verify_module(program.parse()[1])


def test_hypothesis_shrinks_to_a_program_that_can_be_printed() -> None:
    small = find(
        graph_programs(),
        lambda p: "func.return" in p.text,
        settings=settings(
            max_examples=5,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
    assert [name for name in names(small) if name.startswith("graph.")] == ["graph.add"]
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
    found: list[Array] = []
    for program in programs(level, seed=13, count=effort(12, 40)):
        for function in program.functions():
            first, again = (inputs(program, 1, function=function) for _ in range(2))
            for left, right in zip(first, again, strict=True):
                np.testing.assert_array_equal(left, right)
            found += [array for array in first if array.dtype.kind == "f"]
    assert any(np.isnan(array).any() for array in found)
    assert any(np.isinf(array).any() for array in found)
    assert any((np.signbit(array) & (array == 0)).any() for array in found)


def test_a_program_is_saved_with_its_constants(tmp_path: Path) -> None:
    program = next(p for p in programs("graph", seed=2) if p.constants)
    path = tmp_path / "p.mlir"
    program.save(path)
    context = new_context()
    module = read_model(path, context)
    for op in module.walk():
        if isinstance(op, ConstantOp):
            constant_array(op.value, store_of(context))


def test_every_op_of_graph_is_generated() -> None:
    """A new op of a known family has a recipe by being there; another one needs one in `_recipes.OWN`."""
    missing = {op.name for op in GRAPH.operations} - {op.name for op in graph_recipes()}
    assert missing == set(BY_BACKENDS)


# ------------------------------------------------------------------------------------ checks


def test_a_lowering_that_differs_from_the_reference_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a lowering of `neg` that changes nothing, reference and lowering of a program differ."""
    program = GeneratedProgram("graph", ZERO_MINUS)
    assert check_programs([program], ["generic"]) == []

    def nothing(_: NegOp, x: Scalar) -> Scalar:
        return x

    monkeypatch.setattr(NegOp, "scalar", nothing)
    (found,) = check_programs([program], ["generic"])
    assert (found.kind, found.level, found.target) == ("definition", "graph", "")
    assert "by their references the ops give -1.0" in found.message


ZERO_MINUS = """builtin.module {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %c = graph.constant dense<1.0> : tensor<2xf32>
    %1 = graph.neg %c : tensor<2xf32> -> tensor<2xf32>
    %2 = graph.maximum %1, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %3 = graph.mul %1, %1 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %4 = graph.mul %3, %1 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    func.return %4 : tensor<2xf32>
  }
}
"""


def test_several_programs_are_one_library() -> None:
    """Names, handles and kernels of one do not meet those of another."""
    some = [next(programs(level, seed=3, count=1)) for level in LEVELS]
    assert check_programs([*some, *some], ["generic"]) == []


def test_each_library_is_for_the_next_target() -> None:
    job = Job("loop", 0, 0, 40, 10, ("a", "b", "c"), (), "", 0, False, False)
    assert job.targets_of(10) == ("a", "b", "c")
    rotate_targets = replace(job, rotate_targets=True)
    assert [rotate_targets.targets_of(start) for start in range(0, 40, 10)] == [
        ("a",),
        ("b",),
        ("c",),
        ("a",),
    ]


def test_a_crash_is_a_finding_and_the_rest_goes_on(tmp_path: Path) -> None:
    """The worker dies at once: its options are not those of a job."""
    job = Job("nothing", 0, 0, 1, 1, ("generic",), ("-O1",), str(tmp_path), 0, False, False)
    outcome = check(job)
    assert [one["kind"] for one in outcome.findings] == ["crash"]
    assert outcome.done == 1
    assert "no level 'nothing'" in outcome.findings[0]["message"]


def test_a_program_that_does_not_survive_its_text_is_a_finding_with_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its text and its constants are written, without the inputs that it has none of."""
    broken = GeneratedProgram("graph", "builtin.module {", {"c": bytes(4)}, seed=1)

    def made(*_: object, **__: object) -> list[GeneratedProgram]:
        return [broken]

    monkeypatch.setattr(worker, "programs", made)
    worker.work(Job("graph", 1, 0, 1, 1, ("generic",), ("-O1",), str(tmp_path), 0, False, False))
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (found,) = (event for event in events if event["event"] == "finding")
    assert (found["kind"], found["index"]) == ("definition", 0)
    assert Path(found["path"]).read_text() == broken.text
    assert {path.name for path in tmp_path.iterdir()} == {
        "graph-1-0-definition.mlir",
        "graph-1-0-definition.npz",
    }
    assert events[-1] == {"event": "done", "index": 1, "count": 1}


@pytest.mark.slow
def test_the_command_compares_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--check", "graph", "--seed", "3", "--count", "3", "--backend", "examplejson"]
    assert command([*arguments, "--out", str(tmp_path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["programs"], said["targets"], said["findings"]) == (3, ["generic"], [])
    assert said["backends"] == ["examplejson"]
    assert 1 <= said["taken"] <= 3


@pytest.mark.slow
def test_the_fault_of_a_loaded_backend_is_found(
    wrong_relu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its relu gives 0 below 1, in programs that are made of its ops."""
    backend = ["--load", str(wrong_relu), "--backend", "wrong-relu", "--out", str(tmp_path)]
    with BACKENDS.scope():
        status = command(["--check", "graph", "--count", "10", "--shrink", "0", *backend])
    said = capsys.readouterr().out.splitlines()
    assert status == 1
    assert any(line.startswith("differs: graph seed 0 program ") for line in said)
    assert any(line.startswith("wrong-relu: parts of ") for line in said)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["loop", "--backend", "cblas"], "--backend: expected --check graph, found --check loop"),
        (["graph", "--backend", "cblass"], "no backend 'cblass'; did you mean 'cblas'?"),
    ],
)
def test_backends_that_cannot_be_are_a_usage_error(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["--check", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_command_shows_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["--show", "loop", "--seed", "4", "--start", "2", "--count", "1"]) == 0
    program = next(programs("loop", 4, 1, start=2))
    assert capsys.readouterr().out == f"// loop-4-2\n{program.text}\n"


def test_a_target_that_this_machine_does_not_run_is_a_usage_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = "aarch64" if this_processor().architecture != "aarch64" else "x86-64-v3"
    assert command(["--check", "graph", "--target", other]) == 2
    assert f"expected a target that this machine runs, found {other}" in capsys.readouterr().err


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
