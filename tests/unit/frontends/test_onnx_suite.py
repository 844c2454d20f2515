"""ONNX's own backend tests: few that cover each operator with each attribute's values, by definition.

They are imported and evaluated by the ops' NumPy references, in seconds; `tests/conformance/suite.py`
compiles and runs all of them, and its own parts are tested here.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.backend.test.runner import Runner

from effort import SOAK
from inarch.core.errors import UnsupportedError
from inarch.dialects import new_context
from inarch.frontends import Sizes
from inarch.frontends.onnx import import_onnx
from inarch.frontends.onnx.control import CONTROL
from inarch.frontends.onnx.ops import converters
from inarch.testing import execute
from inarch.testing.results import results_by_name

FOLDER = Path(__file__).parents[2] / "conformance"
POOLS = ("averagepool", "lppool", "maxpool")
"""Modules of onnx whose cases take three quarters of the time to make: left out in the gate."""
PARTS = 3
"""Of the cover: each takes a second."""


@pytest.fixture(scope="module", autouse=True)
def modules() -> Iterator[None]:
    """What is beside `suite.py` is found as when that is run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))  # pyright: ignore[reportUnknownMemberType]
        for name in () if SOAK else POOLS:
            patch.setitem(sys.modules, f"onnx.backend.test.case.node.{name}", ModuleType(name))
        yield


def module(name: str) -> Any:
    """A module of tests/conformance; they are untyped here."""
    found: ModuleType = __import__(name)
    return found


class Evaluated:
    """A model as what its graph ops are documented to compute; called as a `Module` is."""

    def __init__(self, model: onnx.ModelProto, sizes: Sizes) -> None:
        self._context = new_context()
        self._module = import_onnx(model, self._context, sizes)

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        found = execute(self._module, list(feeds.values()), self._context)
        return results_by_name(self._module, found)


class EvaluatedRep:
    """The backend without a compiler."""

    def __init__(self, model: onnx.ModelProto) -> None:
        constants = {proto.name for proto in model.graph.initializer}
        self._model = model
        self._inputs = [info.name for info in model.graph.input if info.name not in constants]
        self._deciding: list[str] = []

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        arrays = {name: np.asarray(value) for name, value in zip(self._inputs, inputs, strict=True)}
        values = {name: arrays[name] for name in self._deciding}
        rest = {name: array for name, array in arrays.items() if name not in values}
        shapes = {name: array.shape for name, array in rest.items()}
        try:
            found = Evaluated(self._model, Sizes(shapes=shapes, values=values))
        except UnsupportedError as error:
            if not error.deciding:
                raise
            self._deciding += error.deciding
            return self.run(inputs)
        return list(found.run(rest).values())


def problem(case: Any) -> str | None:
    """What is wrong with a case, evaluated; None where nothing is."""
    try:
        rep = EvaluatedRep(case.model())
        for inputs, expected in case.data():
            found = [np.asarray(array) for array in rep.run(inputs)]
            Runner.assert_similar_outputs(expected, found, case.test.rtol, case.test.atol)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this case's
        return f"{case.name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return None


@pytest.fixture(scope="module")
def cases() -> dict[str, Any]:
    """Those of this version of onnx that the gate says Inarch does, but whole networks."""
    suite = module("suite")
    must = suite.expected()
    known = [c for c in suite.cases() if c.name in must and c.category != "real-light"]
    return {case.name: case for case in known if case.opset() >= suite.FIRST_OPSET}


@pytest.fixture(scope="module")
def chosen(cases: dict[str, Any]) -> list[str]:
    """Names of the cover."""
    return module("cover").cover({name: case.model() for name, case in cases.items()})


@pytest.mark.parametrize("part", range(PARTS))
def test_each_operator_and_attribute_value_means_what_onnx_says(
    cases: dict[str, Any], chosen: list[str], part: int
) -> None:
    """Parts are in one file, so in one process: making the cases takes as long as to evaluate the cover's."""
    assert 200 < len(chosen) < 500
    mine = chosen[part::PARTS]
    problems = [found for name in mine if (found := problem(cases[name])) is not None]
    assert "\n".join(problems) == ""


@pytest.mark.fuzz
def test_every_case_means_what_onnx_says(cases: dict[str, Any]) -> None:
    problems = [found for case in cases.values() if (found := problem(case)) is not None]
    assert "\n".join(problems) == ""


def test_the_cover_holds_every_feature(cases: dict[str, Any]) -> None:
    cover = module("cover")
    models = {name: case.model() for name, case in cases.items() if "resize" in name}
    features = {name: cover.features(model) for name, model in models.items()}
    everything = set[tuple[str, ...]]().union(*features.values())
    for name, value in (
        ("nearest_mode", "round_prefer_ceil"),
        ("nearest_mode", "round_prefer_floor"),  # the default, which no model says
        ("keep_aspect_ratio_policy", "not_smaller"),
        ("keep_aspect_ratio_policy", "not_larger"),
        ("exclude_outside", "1"),
    ):
        assert ("Resize", name, value) in everything
    chosen = cover.cover(models)
    assert set[tuple[str, ...]]().union(*(features[name] for name in chosen)) == everything
    assert len(chosen) < len(models)
    assert chosen == cover.cover(dict(reversed(models.items())))


# ------------------------------------------------------------------------------------ the runner


def parse(nodes: str, inputs: str) -> onnx.ModelProto:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => (float[n] y) {{ {nodes} }}'
    return onnx.parser.parse_model(text)


def case_of(model: onnx.ModelProto, inputs: list[Any], outputs: list[Any]) -> Any:
    suite = module("suite")
    test = suite.TestCase("test_it", "it", None, None, model, [(inputs, outputs)], "node", 1e-3, 0)
    return suite.Case("test_it", "node", test)


def test_only_what_the_product_does_is_a_pass() -> None:
    """A model that gets its axes at run time is compiled for each value: told apart."""
    suite = module("suite")
    x = np.array([[1.0, 2.0]], np.float32)
    plain = parse("y = Neg(x)", "float[1,2] x")
    assert suite.run(case_of(plain, [x], [-x])).kind == "pass"
    assert suite.run(case_of(plain, [x], [x])).kind == "wrong"
    axes = parse("y = ReduceSum<keepdims=0>(x, a)", "float[1,2] x, int64[1] a")
    outcome = suite.run(case_of(axes, [x, np.array([1])], [x.sum(1)]))
    assert (outcome.kind, outcome.reason) == ("sized", "by the values of a")
    multinomial = parse("y = Multinomial(x)", "float[1,1] x")
    assert suite.run(case_of(multinomial, [x], [x])).kind == "unsupported"
    assert suite.run(case_of(parse("y = Neg(z)", "float[1,2] x"), [x], [x])).kind == "error"


def test_the_gate_takes_what_is_expected() -> None:
    """Less, and more: what nobody wrote down, nobody would miss."""
    suite = module("suite")
    case = case_of(parse("y = Neg(x)", "float[1] x"), [], [])
    kinds = ("pass", "sized", "unsupported", "wrong", "error", "crash", "timeout")
    for must in ("pass", "sized", "unsupported"):
        listed = {} if must == "unsupported" else {"test_it": must}
        good = [k for k in kinds if not suite.is_bad(case, suite.Outcome(k), listed)]
        assert good == [must]


def test_the_page_has_every_operator() -> None:
    """Its numbers are what `make conformance` compares."""
    page = (FOLDER.parents[1] / "docs" / "tables" / "operators.md").read_text()
    rows: set[str] = set()
    for section in page.split("\n## ")[1:]:
        domain, *lines = section.splitlines()
        names = [line.split("|")[1].strip() for line in lines if " own |" in line]
        rows |= {name if domain == "ai.onnx" else f"{domain}.{name}" for name in names}
    assert rows == {*converters(), *CONTROL}


def test_the_networks_of_the_package_are_cases(cases: dict[str, Any]) -> None:
    suite = module("suite")
    light = {case.name: case for case in suite.cases() if case.category == "real-light"}
    assert len(light) == 9
    assert len(cases) > 1000
    ((inputs, outputs),) = light["test_squeezenet"].data()
    assert [array.shape for array in inputs] == [(1, 3, 224, 224)]
    assert [array.shape for array in outputs] == [(1, 1000, 1, 1)]


def test_parts_are_a_twentieth_each(cases: dict[str, Any]) -> None:
    suite = module("suite")
    counts = [0] * suite.PARTS
    for case in cases.values():
        counts[suite.part_of(case)] += 1
    assert min(counts) > len(cases) / suite.PARTS * 0.7


def test_few_cases_hold_each_family_of_operators(cases: dict[str, Any]) -> None:
    """Whatever the order of the cases: the gate compiles the same ones on each machine."""
    suite, cover = module("suite"), module("cover")
    must = suite.expected()
    chosen, without = suite.of_each_family(list(cases.values()), must)
    assert 40 <= len(chosen) <= 80
    held = [cover.families(case.model()) for case in chosen]
    everything = set[str]().union(*(cover.families(case.model()) for case in cases.values()))
    assert set[str]().union(*held) == everything
    assert {"Loop", "Scan", "window.conv", "matmul.matmul"} <= everything
    assert everything | without == set(cover.family_of_operator().values())
    assert not everything & without
    again, _ = suite.of_each_family(list(reversed(cases.values())), must)
    assert [case.name for case in again] == [case.name for case in chosen]


def job(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 5:
        time.sleep(3600)
    return number * number


def test_one_that_dies_costs_only_itself() -> None:
    pool = module("pool")
    found = dict(pool.run_all(job, [0, 1, 2, 3, 4, 6, 7, 8], 2, 900.0))
    assert found.pop(3) == pool.Lost("crash", "the process died: SIGKILL")
    assert found == {number: number * number for number in (0, 1, 2, 4, 6, 7, 8)}
    assert sys.modules["pool"] is pool


def test_one_that_hangs_is_ended_and_the_next_begins() -> None:
    """Nothing but what hangs: on a busy machine any other could miss the limit, too."""
    pool = module("pool")
    found = list(pool.run_all(job, [5, 5], 1, 0.1))
    assert found == [(5, pool.Lost("timeout", "ended after 0.1 s"))] * 2
