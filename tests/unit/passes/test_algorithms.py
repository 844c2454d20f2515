"""Several algorithms of one op: chosen, asked for, refused, blamed (K16)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import inarch
from inarch.core.errors import InarchError
from inarch.definitions.compare import Expected
from inarch.diagnosis.allowed import DIRECTLY, expected_values
from inarch.diagnosis.slices import cut, steps
from inarch.diagnosis.verify import VerifyOptions, verify_model
from inarch.dialects import new_context
from inarch.driver.artifact.export import export
from inarch.driver.compiler import import_model, lower
from inarch.driver.extensions import load_files
from inarch.driver.keep.records import Record, compiler_name, write_records
from inarch.driver.options import Options
from inarch.ir.report.facts import facts_of
from inarch.machine.find import cpu_name
from inarch.passes.graph.choose_algorithm import Algorithms
from inarch.passes.lower.algorithm import ALGORITHMS
from inarch.passes.schedule.apply_schedule import ApplySchedulePass
from inarch.passes.tuned import Tuned
from inarch.tools import cli

TARGET = "x86-64-v3"
Array = np.ndarray[Any, np.dtype[np.float32]]


def _model(
    folder: Path, x: tuple[int, ...], outputs: int, pads: tuple[int, ...], seed: int
) -> Path:
    """Blocks of channels around a convolution of 3x3 windows with a bias, followed by a ReLU."""
    rng = np.random.default_rng(seed)
    batch, channels, height, width = x
    shape = (height + pads[0] + pads[2] - 2, width + pads[1] + pads[3] - 2)
    image = "x".join(map(str, x))
    result = f"{batch}x{outputs}x{shape[0]}x{shape[1]}"
    weights = rng.standard_normal((outputs, channels, 3, 3)) * np.sqrt(2 / 9 / channels)
    path = folder / "m.mlir"
    path.write_text(f"""
func.func @main(%x: tensor<{image}xf32>) -> tensor<{result}xf32> {{
  %w = graph.constant dense_resource<w> : tensor<{outputs}x{channels}x3x3xf32>
  %b = graph.constant dense_resource<b> : tensor<{outputs}xf32>
  %0 = graph.conv %x, %w bias %b strides = [1, 1] pads = {list(pads)} dilations = [1, 1] groups = 1 :
    tensor<{image}xf32>, tensor<{outputs}x{channels}x3x3xf32>, tensor<{outputs}xf32> ->
    tensor<{result}xf32> loc("conv")
  %1 = graph.relu %0 : tensor<{result}xf32> -> tensor<{result}xf32>
  func.return %1 : tensor<{result}xf32>
}}
""")
    bias = rng.standard_normal(outputs)
    np.savez(path.with_suffix(".npz"), w=weights.astype("f4"), b=bias.astype("f4"))
    return path


def _taken(path: Path, **settings: Any) -> dict[str, list[str]]:
    """The algorithms by location: the chosen one, then the others that the policy allows."""
    options = Options.of(None, {"target": TARGET, **settings})  # pyright: ignore[reportArgumentType]
    context = new_context()
    module = import_model(path, context, options)
    lower(context, module, "loop", pipeline=options.passes())
    report = facts_of(context).get(Algorithms)
    assert report is not None, "the pass has run"
    return {where: [one.name for one in every if not one.refused] for where, every in report.found}


def test_the_numerics_say_what_is_chosen_by_cost(tmp_path: Path) -> None:
    """K16: of many channels Winograd's are cheaper; a lesser bound is proved of F(2x2) alone."""
    path = _model(tmp_path, (1, 64, 28, 28), 64, (1, 1, 1, 1), 0)
    assert _taken(path, numerics="strict") == {"conv": ["direct"]}
    assert _taken(path) == {"conv": ["winograd-2x2", "direct"]}
    assert _taken(path, numerics="fast")["conv"][0] == "winograd-4x4"
    assert _taken(path, algorithms=["conv=winograd-2x2", "con*=direct"])["conv"][0] == "direct"
    assert _taken(path, algorithms=["conv=conv-winograd-4x4"])["conv"][0] == "winograd-4x4"
    few = _model(tmp_path, (1, 24, 28, 28), 24, (1, 1, 1, 1), 0)
    assert _taken(few) == {"conv": ["direct"]}, "of 24 channels the bound is above direct's"


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def _in_the_ir(path: Path) -> dict[str, Any]:
    said = r'\1 {inarch.algorithm = "winograd-2x2"} :'
    _written(path, re.sub(r"(groups = 1) :", said, path.read_text()))
    return {}


@pytest.mark.parametrize("wrong", [0.0, np.inf, np.nan])
def test_weights_that_have_no_bound_are_direct(wrong: float, tmp_path: Path) -> None:
    """And `strict` is direct, whatever the bound is: F(2x2) overflows with weights of 0, direct does not."""
    path = _model(tmp_path, (1, 64, 28, 28), 64, (1, 1, 1, 1), 0)
    assert _taken(path)["conv"][0] != "direct"
    _change_weights(
        path, lambda w: np.where(np.arange(w.size).reshape(w.shape) >= 5 * (wrong != 0), wrong, w)
    )
    for numerics in ("bounded", "strict"):
        assert _taken(path, numerics=numerics)["conv"][0] == "direct"


WAYS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "option": lambda _: {"algorithms": ["conv=winograd-2x2"]},
    "schedule": lambda path: {
        "schedule": _written(path.with_suffix(".schedule"), "algorithm conv winograd-2x2")
    },
    "attribute": _in_the_ir,
}


@pytest.mark.parametrize(("way", "channels"), [*product(WAYS, [16]), ("option", 17)])
def test_a_named_algorithm_gets_the_layout_that_it_asks_for(
    way: str, channels: int, tmp_path: Path
) -> None:
    """Of few channels rows are cheaper, of 17 a third of a block is empty: both are direct otherwise."""
    path = _model(tmp_path, (1, channels, 12, 9), 20, (1, 1, 1, 1), 0)
    assert _taken(path) == {"conv": ["direct"]}
    x = np.random.default_rng(1).standard_normal((1, channels, 12, 9)).astype("f4")
    usual = inarch.compile(path, target=TARGET)(x)
    settings = WAYS[way](path)
    assert _taken(path, **settings)["conv"][0] == "winograd-2x2"
    np.testing.assert_allclose(
        inarch.compile(path, target=TARGET, **settings)(x), usual, rtol=1e-4, atol=1e-4
    )


def test_an_algorithm_of_rows_gets_rows(tmp_path: Path) -> None:
    """Of 64 channels blocks are cheaper; direct's own nest says that it wants none."""
    path = _model(tmp_path, (1, 64, 6, 6), 40, (1, 1, 1, 1), 0)
    own = _written(
        tmp_path / "conv_own.py",
        FAULTY.format(lower=DIRECT, refuses="None").replace("1.0))", '1.0), layout="rows")'),
    )
    given = f"compile {path} --target {TARGET} --load {own} --emit=loop"
    assert "x8xf32" in cli.run(given.split()).out
    rows = cli.run(f"{given} --algorithm conv=own".split())
    assert (rows.code, "x8xf32" in rows.out) == (0, False)
    own.write_text(own.read_text().replace('"rows"', '"row"'))
    wrong = cli.run(f"{given} --algorithm conv=own".split())
    assert wrong.err.startswith(
        "error: no layout 'row' in algorithm 'conv-own'; did you mean 'rows'?"
    )


def test_a_record_is_of_one_state_of_the_code_of_an_algorithm(tmp_path: Path) -> None:
    """As of kernels: where the author's file has changed the record is told of, and not taken."""
    path, file = _model(tmp_path, (1, 32, 6, 6), 40, (1, 1, 1, 1), 0), tmp_path / "r.json"
    own = _written(tmp_path / "conv_own.py", FAULTY.format(lower=DIRECT, refuses="None"))
    context, tuned = new_context(), Tuned({})
    facts_of(context).put(tuned)
    with ALGORITHMS.scope():
        load_files([own])
        lower(context, import_model(path, context, target=TARGET), "loop")
    (point,) = [one for one in tuned.points.values() if one.by == "choose-algorithm"]
    way = point.way("own")
    here = cpu_name(), compiler_name()
    record = Record(point.address, *here, way.kernel, way.identity, way.way, 1e-6, 2e-6, 1)
    write_records(file, [record])
    given = f"explain {path} --target {TARGET} --load {own} --records {file}"
    assert "  conv: own\n" in cli.run(given.split()).out
    own.write_text(own.read_text() + "# faster\n")
    done = cli.run(given.split())
    assert "  conv: direct\n" in done.out
    assert done.err == (
        f"{file}: warning: 1 of its records is not used: choice 'own' of pass 'choose-algorithm' has changed "
        "since; tune again\n"
    )


def test_the_growth_of_constants_is_limited(tmp_path: Path) -> None:
    """F(4x4)'s 37.7 MB for 9.4 MB are over it, F(2x2)'s 16.8 MB are not; both may be asked for."""
    path = _model(tmp_path, (1, 512, 14, 14), 512, (1, 1, 1, 1), 0)
    assert _taken(path, numerics="fast") == {"conv": ["winograd-2x2", "direct"]}
    asked = _taken(path, algorithms=["conv=winograd-4x4"])
    assert asked["conv"][0] == "winograd-4x4"


def test_weights_of_several_sizes_are_direct_unless_asked_otherwise(tmp_path: Path) -> None:
    """A first row of 1e6 beside rows of 1e-6: tiles mix what direct keeps apart."""
    path = _model(tmp_path, (1, 64, 28, 28), 64, (1, 1, 1, 1), 0)
    _change_weights(path, lambda w: w * np.array([1e6, 1e-6, 1e-6], "f4")[:, None])
    assert _taken(path) == {"conv": ["direct"]}
    assert _taken(path, algorithms=["conv=winograd-2x2"])["conv"][0] == "winograd-2x2"


def _change_weights(path: Path, change: Callable[[Array], Array]) -> None:
    held = dict(np.load(path.with_suffix(".npz")))
    np.savez(path.with_suffix(".npz"), w=change(held["w"]).astype("f4"), b=held["b"])


def _spread(x: Array) -> Array:
    """Rows of sizes from 1e-24 to 1e24."""
    return x * (10.0 ** np.linspace(-24, 24, x.shape[2])).astype("f4")[:, None]


def _infinite(x: Array) -> Array:
    x[0, 3, 2, 3], x[0, 7, 5, 0], x[0, 1, 6, 6] = np.inf, -np.inf, np.nan
    return x


SPOILED: dict[str, Callable[[Array], Array]] = {
    "rows of several sizes": _spread,
    "infinities": _infinite,
    "denormal": lambda x: x * np.float32(1e-40),
    "near the largest": lambda x: np.sign(x) * np.float32(3e37),
}


@pytest.mark.parametrize("spoiled", SPOILED)
@pytest.mark.parametrize("name", ["winograd-2x2", "winograd-4x4"])
def test_each_element_is_within_the_bound_of_the_algorithm(
    name: str, spoiled: str, tmp_path: Path
) -> None:
    """Also of elements that are small beside their neighbours, which are not within direct's."""
    path, image = _spoiled(tmp_path, spoiled)
    found = inarch.compile(path, target=TARGET, algorithms=[f"conv={name}"])(image)
    assert _allowed(path, image, name).accepts(found).all()
    direct = _allowed(path, image, "direct")
    if spoiled == "rows of several sizes" or (name, spoiled) == ("winograd-4x4", "infinities"):
        assert not direct.accepts(found).all()


def test_verify_judges_by_the_bound_of_the_algorithm(tmp_path: Path) -> None:
    """Tiles that read an infinity are NaN."""
    path, image = _spoiled(tmp_path, "infinities")
    wish = {"target": TARGET, "algorithms": ["conv=winograd-4x4"]}
    verdict = verify_model(path, VerifyOptions(keywords=wish, inputs={"x": image}))
    assert verdict.is_right, verdict


def _allowed(path: Path, image: Array, name: str) -> Expected:
    """What the judge of `inarch verify` says of a convolution's result by an algorithm."""
    context = new_context()
    module = import_model(path, context)
    whole = cut(module, steps(module), every_value=True)
    taken = {"conv": frozenset({name})} if name != "direct" else DIRECTLY
    *_, own = expected_values(whole, context, dict.fromkeys(whole.takes, image), taken).values()
    return own


def _spoiled(folder: Path, kind: str) -> tuple[Path, Array]:
    """A convolution that does not read its last row, and an image."""
    path = _model(folder, (1, 32, 7, 7), 32, (1, 1, 1, 1), 0)
    _change_weights(path, lambda w: w * np.array([1, 1, 0], "f4")[:, None])
    return path, SPOILED[kind](np.random.default_rng(0).standard_normal((1, 32, 7, 7)).astype("f4"))


OUTSIDE = """
from dataclasses import replace
from fractions import Fraction
from inarch.passes.lower.winograd.nests import algorithm
from inarch.passes.lower.winograd.points import Winograd

class Wrong(Winograd):
    @property
    def inputs(self):
        first, *rest = super().inputs
        return (tuple(one * Fraction(101, 100) for one in first), *rest)

POINTS = (Fraction(0), Fraction(1), Fraction(-1))
ALGORITHM = algorithm(Wrong(2, POINTS), 16, "", "")
"""


def test_a_wrong_coefficient_is_blamed_on_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = _model(tmp_path, (1, 32, 6, 6), 32, (1, 1, 1, 1), 0)
    wrong = tmp_path / "conv_wrong.py"
    wrong.write_text(OUTSIDE)
    given = f"verify {path} --target {TARGET} --load {wrong} --algorithm conv=wrong"
    done = cli.run(given.split())
    assert done.code == 1
    assert f"by graph.conv at conv: pass 'graph-to-loop', algorithm 'wrong' [{wrong}]" in done.out
    Path("s.schedule").write_text("algorithm conv wrong")
    done = cli.run(f"verify {path} --target {TARGET} --load {wrong} --schedule s.schedule".split())
    assert f"by graph.conv at conv: pass 'graph-to-loop', algorithm 'wrong' [{wrong}]" in done.out


FAULTY = """
from inarch.dialects.graph.op import shape_of, tensor_dtype
from inarch.dialects.graph.windows.conv import ConvOp
from inarch.dialects.nest_spec import NestBuilder, same
from inarch.ir.types import f64
from inarch.passes.lower.algorithm import Algorithm, Bound
from inarch.passes.lower.graph_to_loop import lower_op

def write(builder, op, value, rows, at):
    nest = NestBuilder()
    c, h, w = nest.parallel("c", shape_of(value)[1]), nest.parallel("h", rows), nest.parallel("w", 6)
    spec = nest.spec([(0, 0, 0, 0)], (0, c, at(h), w), same)
    dtype = tensor_dtype(value)
    builder.nest(spec, [builder.buffers[op.x]], [dtype], builder.result(value), dtype)

def lower(op, builder):
    {lower}

ALGORITHM = Algorithm(ConvOp, lambda op: {refuses}, lower, lambda op, known: Bound(1.0))
"""
DIRECT = (
    "builder.nest(op.nest(), [builder.buffers[x] for x in op.operands], "
    "[tensor_dtype(x) for x in op.operands], builder.result(op.out), tensor_dtype(op.out))"
)
"""The op's own nest."""
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
    path = _model(tmp_path, (1, 32, 6, 6), 40, (1, 1, 1, 1), 0)
    code, refuses, message = FAULTS[fault]
    bad = tmp_path / "conv_bad.py"
    bad.write_text(FAULTY.format(lower=code, refuses=refuses))
    target = "generic" if fault == "outside" else TARGET  # without blocks, which clip
    given = f"compile {path} --target {target} --load {bad} --algorithm conv=bad --emit=loop"
    done = cli.run(given.split())
    assert done.err == f"conv: error: algorithm 'bad' [{bad}] of 'graph.conv' {message}\n"


@pytest.mark.parametrize("bound", ["Bound(1e-4, by_element=True)", "Bound(1e-4)"])
def test_a_lie_about_a_bound_is_found(bound: str, tmp_path: Path) -> None:
    """Direct's own numbers, of which a small part of its error is claimed: as `inarch verify` judges them."""
    path = _model(tmp_path, (1, 64, 6, 6), 40, (1, 1, 1, 1), 0)
    bad = tmp_path / "conv_bad.py"
    text = FAULTY.format(
        lower=DIRECT,
        refuses="None",
    )
    bad.write_text(text.replace("Bound(1.0)", bound))
    image = np.random.default_rng(0).standard_normal((1, 64, 6, 6)).astype("f4")
    with ALGORITHMS.scope():
        load_files([bad])
        found = inarch.compile(path, target=TARGET, algorithms=["conv=bad"])(image)
        own = _allowed(path, image, "bad")
    assert not own.accepts(found).all()


@pytest.mark.parametrize("refuses", ["None", "{}['x']"])
def test_a_faulty_algorithm_that_nobody_named_is_left_out(refuses: str, tmp_path: Path) -> None:
    """It is said once, and `explain` offers no option for it."""
    path = _model(tmp_path, (1, 32, 6, 6), 40, (1, 1, 1, 1), 0)
    bad = tmp_path / "conv_bad.py"
    bad.write_text(FAULTY.format(lower="raise KeyError('x')", refuses=refuses))
    done = cli.run(f"explain {path} --target {TARGET} --load {bad}".split())
    line = 17 if refuses == "None" else 19
    said = f"algorithm 'bad' [{bad}] of 'graph.conv' raises KeyError: 'x' (conv_bad.py:{line})"
    assert done.err == f"conv: warning: {said}; it is not taken\n"
    assert f"    bad: {said}\n" in done.out


def test_of_several_targets_an_algorithm_by_name_is_for_one_or_more(tmp_path: Path) -> None:
    """Each target has its counts; what none has is an error."""
    path = _model(tmp_path, (1, 32, 6, 6), 32, (1, 1, 1, 1), 0)
    given = f"compile {path} --target generic,{TARGET} -o {tmp_path}/m.inarch --algorithm"
    done = cli.run(f"{given} conv=winograd-2x2".split())
    assert done.err == (
        "conv: warning: algorithm 'conv=winograd-2x2' does not apply to 'graph.conv': expected channels in "
        "blocks, in x and in the result; for generic others are chosen\n"
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
        "expected an op that has several (conv, reduce-max, reduce-mean, reduce-min, reduce-sum), or a glob "
        "on where it comes from (layer1/*)\n",
    )


def test_a_page_and_json_have_what_was_weighed(tmp_path: Path) -> None:
    path = _model(tmp_path, (1, 64, 28, 28), 64, (1, 1, 1, 1), 0)
    page = tmp_path / "page.html"
    done = cli.run(f"explain {path} --target {TARGET} --html {page} --json".split())
    (every,) = [one["algorithms"] for one in json.loads(done.out)["algorithms"]]
    assert next(one for one in every if one["name"] == "direct")["cycles"] > 0
    (refused,) = [one for one in every if one["name"] == "winograd-4x4"]
    assert refused["refused"] == "expected numerics 'fast' for it"
    data = re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert data is not None
    boxes = {box["location"]: box["algorithms"] for box in json.loads(data[1]).values()}
    taken, winograd, *_, other = boxes["conv"]
    assert taken == "conv: winograd-2x2"
    assert re.match(
        r"winograd-2x2: .* cycles .* MiB of scratch, greatest error at most 0.9", winograd
    )
    assert other.startswith(
        "winograd-4x4: expected numerics 'fast' for it, greatest error at most 8.00 of"
    )
    assert not any(lines for where, lines in boxes.items() if where != "conv")


def test_an_export_says_what_it_has(tmp_path: Path) -> None:
    path = _model(tmp_path, (1, 32, 6, 6), 32, (1, 1, 1, 1), 0)
    export(path, tmp_path / "c", target=TARGET, algorithms=["conv=winograd-2x2"])
    listing = json.loads((tmp_path / "c" / "inarch-export.json").read_text())
    assert listing["numerics"] == {"policy": "bounded", "algorithms": {"winograd-2x2": 1}}


CHAIN = """
func.func @main(%x: tensor<1x64x9x9xf32>) -> tensor<1x64x9x9xf32> {
  %w = graph.constant dense<0.5> : tensor<64x64x3x3xf32>
  CONV %x, %w ROW loc("layer1/0/conv")
  %1 = graph.relu %0 : tensor<1x64x9x9xf32> -> tensor<1x64x9x9xf32> loc("layer1/0/relu")
  CONV %1, %w ROW loc("layer1/1/conv")
  CONV %2, %w ROW loc("layer2/0/conv")
  func.return %3 : tensor<1x64x9x9xf32>
}
"""


def _chain(folder: Path) -> Path:
    """Three convolutions in two layers."""
    row = "strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x64x9x9xf32>, "
    row += "tensor<64x64x3x3xf32> -> tensor<1x64x9x9xf32>"
    text = CHAIN.replace("ROW", row)
    for number in (0, 2, 3):
        text = text.replace("CONV", f"%{number} = graph.conv", 1)
    path = folder / "chain.mlir"
    path.write_text(text)
    return path


def test_layers_by_pattern_on_the_command_line_and_in_a_schedule(tmp_path: Path) -> None:
    """What is asked for by hand comes behind the schedule, and counts."""
    path, schedule = _chain(tmp_path), tmp_path / "chain.schedule"
    asked = ["layer1/*=winograd-2x2", "*/0/conv=direct"]
    found = {where: names[0] for where, names in _taken(path, algorithms=asked).items()}
    assert [*found.values()] == ["direct", "winograd-2x2", "direct"]
    assert [*found] == ["layer1/0/conv", "layer1/1/conv", "layer2/0/conv"]
    schedule.write_text('# layers\nalgorithm conv direct; algorithm "layer1/*" conv-winograd-4x4\n')
    found = _taken(path, algorithms=["layer1/1/*=winograd-2x2"], schedule=schedule)
    assert [one[0] for one in found.values()] == ["winograd-4x4", "winograd-2x2", "direct"]


IN_SCHEDULES = {
    'algorithm "layer3/*" direct': "s.schedule:1:11: error: algorithm 'layer3/*=direct': it selects no op; ",
    "# a\nalgorithm cnv direct": "s.schedule:2:11: error: algorithm 'cnv=direct': it selects no op; did you "
    "mean 'conv'? Expected an op that has several",
    "algorithm relu direct": "s.schedule:1:11: error: algorithm 'relu=direct': 'graph.relu' has one",
    "algorithm conv direct; algorithm conv winograd-3x3": "s.schedule:1:39: error: no algorithm "
    "'winograd-3x3' in 'graph.conv'; did you mean 'winograd-",
    'at "layer1/0/con": unroll n': "s.schedule:1:1: error: no nest or loop 'layer1/0/con'; did you mean",
    "at @man[1]: unroll n": "s.schedule:1:1: error: no function 'man'; did you mean 'main'",
    "at @main[1]: unrol n": "s.schedule:1:14: error: no step 'unrol'; did you mean 'unroll'",
    "at @main[1]: use-kernel gem-f32": "s.schedule:1:14: error: use-kernel at @main[1]: no microkernel 'gem",
    'algorithm "layer1"': "s.schedule:1:11: error: expected an algorithm, found the end of the step",
    "algorithm conv direct 3": "s.schedule:1:23: error: expected the end of the line, found '3'",
    'at "layer1/0/conv": algorithm direct': "s.schedule:1:21: error: expected 'algorithm' before",
}


@pytest.mark.parametrize("text", IN_SCHEDULES)
def test_what_a_schedule_cannot_ask_for(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _chain(tmp_path)
    Path("s.schedule").write_text(text)
    done = cli.run(["compile", "chain.mlir", "--emit=loop", "--schedule", "s.schedule"])
    assert done.err.startswith(IN_SCHEDULES[text])


def test_a_schedule_of_loops_comes_too_late_for_algorithms(tmp_path: Path) -> None:
    file = tmp_path / "s.schedule"
    file.write_text("algorithm conv direct")
    with pytest.raises(InarchError) as caught:
        ApplySchedulePass(str(file)).apply(new_context(), ModuleOp([]))
    assert caught.value.line() == (
        f"{file}:1:11: error: expected algorithms to be chosen before there are loops, found 'conv=direct'; "
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


@pytest.mark.parametrize("asked", REFUSED)
def test_what_cannot_be_asked_for(asked: str, tmp_path: Path) -> None:
    path = _model(tmp_path, (1, 16, 6, 6), 32, (1, 1, 1, 1), 0)
    done = cli.run(f"compile {path} --target {TARGET} --algorithm {asked} --emit=loop".split())
    assert done.err.startswith(REFUSED[asked])
    assert done.code == 2


def test_a_policy_that_there_is_not(tmp_path: Path) -> None:
    path = _model(tmp_path, (1, 8, 6, 6), 8, (1, 1, 1, 1), 0)
    with pytest.raises(InarchError, match="no numerics 'fsat'; did you mean 'fast'"):
        inarch.compile(path, numerics="fsat")
