"""Algorithms that are wrong, and what users cannot ask for: refused, or blamed by file and op (K16)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import inarch
from inarch.core.errors import InarchError, PluginError
from inarch.dialects import new_context
from inarch.driver.extensions import load_files
from inarch.passes.lower.algorithm import ALGORITHMS, several
from inarch.passes.schedule.apply_schedule import ApplySchedulePass
from inarch.tools import cli
from tests.unit.passes.algorithms import (
    DIRECT,
    FAULTY,
    OUTSIDE,
    TARGET,
    allowed,
    chain,
    model,
    written,
)


def test_what_an_algorithm_breaks_is_blamed_on_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong coefficient, by a place; a bound of errors that is too small, by a schedule."""
    monkeypatch.chdir(tmp_path)
    path = model(tmp_path, (1, 32, 6, 6), 32, (1, 1, 1, 1), 0)
    wrong = written(tmp_path / "conv_wrong.py", OUTSIDE)
    given = f"verify {path} --target {TARGET} --load {wrong}"
    done = cli.run(f"{given} --algorithm con?=wrong".split())
    assert done.code == 1
    assert f"by graph.conv at conv: pass 'graph-to-loop', algorithm 'wrong' [{wrong}]" in done.out
    assert "reproduce: python" in done.out  # whose program has the place
    lie = "Bound(1e-6, by_element=True)"
    wrong.write_text(FAULTY.format(lower=DIRECT, refuses="None").replace("Bound(1.0)", lie))
    written(Path("s.schedule"), "algorithm conv wrong")
    done = cli.run(f"{given} --schedule s.schedule".split())
    assert (
        "by graph.conv at conv: a declared bound of errors below the rounding of its nests, "
        f"algorithm 'wrong' [{wrong}]"
    ) in done.out
    done = cli.run(f"{given} --algorithm conv=gemm".split())
    assert (done.code, "does not apply to 'graph.conv'" in done.err) == (2, True)


FAULTS = {
    "raises": ("raise KeyError('x')", "None", "raises KeyError: 'x' (conv_bad.py:17)"),
    "ends": ("raise SystemExit(3)", "None", "raises SystemExit: 3 (conv_bad.py:17)"),
    "outside": (
        "write(builder, op, op.out, 6, lambda h: h + 1)",
        "None",
        "makes a wrong op: C3: index h + 1 of dimension 2 runs from 1 to 6, outside a size of 6",
    ),
    "asks": ("pass", "1 / 0", "raises ZeroDivisionError: division by zero (conv_bad.py:19)"),
    "refuses": ("pass", "False", "refuses by False; expected a reason, or None"),
    "no reason": ("pass", "''", "refuses by ''; expected a reason, or None"),
    "an error": (
        "from inarch.core.errors import UsageError; raise UsageError('no blocks')",
        "None",
        "does not refuse what it cannot lower: no blocks",
    ),
    "nothing": ("pass", "None", "leaves a result unwritten; expected a nest that writes it"),
    "shape": (
        "builder.buffers[op.out] = builder.buffers[op.x]",
        "None",
        "gives shape (1, 32, 6, 6); expected (1, 40, 6, 6)",
    ),
    "dtype": (
        "builder.buffers[op.out] = builder.alloc(f64, (1, 40, 6, 6))",
        "None",
        "gives elements of f64; expected f32",
    ),
    "itself": (
        "lower_op(op, builder, 'bad')",
        "None",
        "lowers to itself; expected nests",
    ),
    "half": (
        "write(builder, op, op.out, 3, lambda h: h); kept = builder.buffers.pop(op.out); "
        "write(builder, op, op.out, 6, lambda h: h); builder.buffers[op.out] = kept",
        "None",
        "leaves 720 of 1440 elements of the result unwritten, the first one at [0, 0, 3, 0, 0]; "
        "expected nests that write all of it",
    ),
    "row": (
        "write(builder, op, op.out, 4, lambda h: h * -1 + 5); write(builder, op, op.out, 4, lambda h: h + 1)",
        "None",
        "leaves 240 of 1440 elements of the result unwritten, the first one at [0, 0, 0, 0, 0]; "
        "expected nests that write all of it",
    ),
    "operand": (
        "write(builder, op, op.out, 6, lambda h: h); write(builder, op, op.w, 3, lambda h: h)",
        "None",
        "writes to operand 1; expected to write its result, and buffers of its own",
    ),
}


@pytest.mark.every_case(reason="each is a fault of its own")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_algorithm_is_named(fault: str, tmp_path: Path) -> None:
    path = model(tmp_path, (1, 32, 6, 6), 40, (1, 1, 1, 1), 0)
    code, refuses, message = FAULTS[fault]
    bad = tmp_path / "conv_bad.py"
    bad.write_text(FAULTY.format(lower=code, refuses=refuses))
    target = "generic" if fault == "outside" else TARGET  # without blocks, which clip
    given = f"compile {path} --target {target} --load {bad} --algorithm conv=bad --emit=loop"
    done = cli.run(given.split())
    assert done.err == f"conv: error: algorithm 'bad' [{bad}] of 'graph.conv' {message}\n"


def test_a_lie_about_a_bound_is_found(tmp_path: Path) -> None:
    """Direct's own numbers, of which a small part of its error is claimed: as `inarch verify` judges them."""
    path = model(tmp_path, (1, 64, 6, 6), 40, (1, 1, 1, 1), 0)
    bad = tmp_path / "conv_bad.py"
    text = FAULTY.format(lower=DIRECT, refuses="None")
    bad.write_text(text.replace("Bound(1.0)", "Bound(1e-4)"))
    image = np.random.default_rng(0).standard_normal((1, 64, 6, 6)).astype("f4")
    with ALGORITHMS.scope():
        load_files([bad])
        found = inarch.compile(path, target=TARGET, algorithms=["conv=bad"])(image)
        own = allowed(path, image, "bad")
    assert not own.accepts(found).all()


NO_NUMBERS = {
    "Bound('1')": "has the bound Bound(ratio='1', is_statistical=False, by_element=False, about=''); "
    "expected a Bound of a ratio >= 0",
    "Bound(1.0), error=lambda op, given: 'x'": "raises ValueError: could not convert string to float: 'x'",
    "Bound(1.0), error=lambda op, given: [1.0]": "has an error of shape (1,); expected (1, 8, 6, 6)",
}


@pytest.mark.parametrize("bound", NO_NUMBERS)
def test_bounds_that_are_no_numbers(bound: str, tmp_path: Path) -> None:
    path = model(tmp_path, (1, 8, 6, 6), 8, (1, 1, 1, 1), 0)
    text = FAULTY.format(lower=DIRECT, refuses="None").replace("Bound(1.0)", bound)
    bad = written(tmp_path / "conv_bad.py", text)
    with ALGORITHMS.scope():
        load_files([bad])
        with pytest.raises(PluginError) as caught:
            allowed(path, np.zeros((1, 8, 6, 6), "f4"), "bad")
    said = f"algorithm 'bad' [{bad}] of 'graph.conv' {NO_NUMBERS[bound]}"
    assert caught.value.message.startswith(said)


@pytest.mark.parametrize("refuses", ["None", "{}['x']"])
def test_a_faulty_algorithm_that_nobody_named_is_left_out(refuses: str, tmp_path: Path) -> None:
    """It is said once, and `explain` offers no option for it."""
    path = model(tmp_path, (1, 32, 6, 6), 40, (1, 1, 1, 1), 0)
    bad = tmp_path / "conv_bad.py"
    bad.write_text(FAULTY.format(lower="raise KeyError('x')", refuses=refuses))
    done = cli.run(f"explain {path} --target {TARGET} --load {bad}".split())
    line = 17 if refuses == "None" else 19
    said = f"algorithm 'bad' [{bad}] of 'graph.conv' raises KeyError: 'x' (conv_bad.py:{line})"
    assert done.err == f"conv: warning: {said}; it is not taken\n"
    assert f"    bad: {said}\n" in done.out


def test_of_several_targets_an_algorithm_by_name_is_for_one_or_more(tmp_path: Path) -> None:
    """Each target has its counts; what none has is an error."""
    path = model(tmp_path, (1, 32, 6, 6), 32, (1, 1, 1, 1), 0)
    given = f"compile {path} --target generic,{TARGET} -o {tmp_path}/m.inarch --algorithm"
    done = cli.run(f"{given} conv=winograd-2x2".split())
    assert done.err == (
        "conv: warning: algorithm 'conv=winograd-2x2' does not apply to 'graph.conv': expected channels in "
        "blocks, in x and in the result, which target 'generic' never has, as nothing is known of its "
        "vectors; name another --target; for generic others are chosen\n"
    )
    said = cli.run(["inspect", f"{tmp_path}/m.inarch"]).out.splitlines()
    numerics = [line for line in said if line.startswith("numerics")]
    assert numerics == [
        f"numerics   bounded, winograd-2x2 of 1 op ({TARGET})",
        "numerics   bounded (generic)",
    ]
    done = cli.run(f"{given} relu=winograd-2x2".split())
    assert (done.code, done.err) == (
        2,
        "error: algorithm 'relu=winograd-2x2': 'graph.relu' has one; "
        f"expected an op that has several ({several()}), or a glob on where it comes from (layer1/*)\n",
    )


IN_SCHEDULES = {
    'algorithm "layer3/*" direct': "s.schedule:1:11: error: 'algorithm \"layer3/*\" direct': it selects no ",
    "# a\nalgorithm cnv direct": "s.schedule:2:11: error: 'algorithm cnv direct': it selects no op; did you "
    "mean 'conv'? Expected an op that has several",
    "algorithm relu direct": "s.schedule:1:11: error: 'algorithm relu direct': 'graph.relu' has one",
    "algorithm conv direct; algorithm conv winograd-3x3": "s.schedule:1:39: error: no algorithm "
    "'winograd-3x3' in 'graph.conv'; did you mean 'winograd-",
    'at "layer1/0/con": unroll n': "s.schedule:1:1: error: no nest or loop 'layer1/0/con'; did you mean",
    "at @man[1]: unroll n": "s.schedule:1:1: error: no function 'man'; did you mean 'main'",
    "at @main[1]: unrol n": "s.schedule:1:14: error: no step 'unrol'; did you mean 'unroll'",
    "at @main[1]: use-kernel gem-f32": "s.schedule:1:14: error: use-kernel at @main[1]: no microkernel 'gem",
    'algorithm "layer1/0/*" gemm': "s.schedule:1:24: error: 'algorithm \"layer1/0/*\" gemm' does not apply "
    "to 'graph.conv' at layer1/0/conv: expected windows of several taps and a stride above 1",
    'algorithm "layer1"': "s.schedule:1:11: error: expected an algorithm, found the end of the step",
    "algorithm conv direct 3": "s.schedule:1:23: error: expected the end of the line, found '3'",
    'at "layer1/0/conv": algorithm direct': "s.schedule:1:21: error: expected 'algorithm' before",
}


@pytest.mark.parametrize("text", IN_SCHEDULES)
def test_what_a_schedule_cannot_ask_for(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    chain(tmp_path)
    Path("s.schedule").write_text(text)
    done = cli.run(
        f"compile chain.mlir --target {TARGET} --emit=loop --schedule s.schedule".split()
    )
    assert done.err.startswith(IN_SCHEDULES[text])


@pytest.mark.parametrize(
    "where", ['at "layer1/1/conv": unroll n', 'at "layer1/1/conv"[2]: unroll oc']
)
def test_a_schedule_says_whose_nests_it_found(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several ones, and such as have none of the op's own iterators."""
    monkeypatch.chdir(tmp_path)
    chain(tmp_path)
    written(Path("s.schedule"), f"algorithm conv winograd-2x2; {where}")
    done = cli.run(
        f"compile chain.mlir --target {TARGET} --emit=loop --schedule s.schedule".split()
    )
    assert done.err.startswith("s.schedule:1:"), done.err
    assert done.err.endswith(
        "; its nests are those of algorithm 'winograd-2x2', the op's own is there with: "
        'algorithm "layer1/1/conv" direct\n'
    )


def test_a_schedule_of_loops_comes_too_late_for_algorithms(tmp_path: Path) -> None:
    file = tmp_path / "s.schedule"
    file.write_text("algorithm conv direct")
    with pytest.raises(InarchError) as caught:
        ApplySchedulePass(str(file)).apply(new_context(), ModuleOp([]))
    assert caught.value.line() == (
        f"{file}:1:11: error: expected algorithms to be chosen before there are loops, found "
        "'algorithm conv direct'; "
        'give the schedule to the compilation (--schedule), or say inarch.algorithms = ["conv=direct"] in '
        "the program"
    )


REFUSED = {
    "conv=winograd-3x3": "conv: error: no algorithm 'winograd-3x3' in 'graph.conv'; did you mean 'winograd-",
    "cnv=direct": "error: algorithm 'cnv=direct': it selects no op; did you mean 'conv'? Expected an op that",
    "relu=direct": "error: algorithm 'relu=direct': 'graph.relu' has one; expected an op that has several",
    "conv": "error: expected OP-OR-GLOB=ALGORITHM, found 'conv'",
    "conv=winograd-4x4": "conv: error: algorithm 'conv=winograd-4x4' does not apply to 'graph.conv': "
    "expected 32 channels or more, found 16",
}


RUN_TIME = """
func.func @main(%x: tensor<1x33x6x6xf32>, %w: tensor<20x33x3x3xf32>) -> tensor<1x20x6x6xf32> {
  %0 = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 :
    tensor<1x33x6x6xf32>, tensor<20x33x3x3xf32> -> tensor<1x20x6x6xf32> loc("conv")
  func.return %0 : tensor<1x20x6x6xf32>
}
"""


def test_weights_of_run_time_whose_channels_fill_no_block(tmp_path: Path) -> None:
    """The layout that the algorithm asks for is out of reach: that is the reason, not the layout."""
    path = written(tmp_path / "m.mlir", RUN_TIME)
    given = f"compile {path} --target {TARGET} --algorithm conv=winograd-2x2 --emit=loop"
    assert cli.run(given.split()).err == (
        "conv: error: algorithm 'conv=winograd-2x2' does not apply to 'graph.conv': expected constant "
        "weights, or whole blocks of 8 channels, found weights that are arguments, of 33 and 20\n"
    )


@pytest.mark.parametrize("asked", REFUSED)
def test_what_cannot_be_asked_for(asked: str, tmp_path: Path) -> None:
    path = model(tmp_path, (1, 16, 6, 6), 32, (1, 1, 1, 1), 0)
    done = cli.run(f"compile {path} --target {TARGET} --algorithm {asked} --emit=loop".split())
    assert done.err.startswith(REFUSED[asked])
    assert done.code == 2


def test_a_policy_that_there_is_not(tmp_path: Path) -> None:
    path = model(tmp_path, (1, 8, 6, 6), 8, (1, 1, 1, 1), 0)
    with pytest.raises(InarchError, match="no numerics 'fsat'; did you mean 'fast'"):
        inarch.compile(path, numerics="fsat")
