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

import inarch
from inarch.diagnosis.verify import VerifyOptions, verify_model
from inarch.dialects import new_context
from inarch.driver.artifact.export import export
from inarch.driver.compiler import import_model, lower
from inarch.driver.extensions import load_files
from inarch.driver.keep.records import Record, compiler_name, write_records
from inarch.ir.report.facts import facts_of
from inarch.machine.find import cpu_name
from inarch.passes.lower.algorithm import ALGORITHMS
from inarch.passes.tuned import Tuned
from inarch.tools import cli
from tests.unit.passes.algorithms import (
    DIRECT,
    FAULTY,
    TARGET,
    Array,
    allowed,
    chain,
    model,
    taken,
    written,
)


def test_the_numerics_say_what_is_chosen_by_cost(tmp_path: Path) -> None:
    """K16: of many channels Winograd's are cheaper; a lesser bound is proved of F(2x2) alone."""
    path = model(tmp_path, (1, 64, 28, 28), 64, (1, 1, 1, 1), 0)
    assert taken(path, numerics="strict") == {"conv": ["direct"]}
    assert taken(path) == {"conv": ["winograd-2x2", "direct"]}
    assert taken(path, numerics="fast")["conv"][0] == "winograd-4x4"
    assert taken(path, algorithms=["conv=winograd-2x2", "con*=direct"])["conv"][0] == "direct"
    assert taken(path, algorithms=["conv=conv-winograd-4x4"])["conv"][0] == "winograd-4x4"
    few = model(tmp_path, (1, 24, 28, 28), 24, (1, 1, 1, 1), 0)
    assert taken(few) == {"conv": ["direct"]}, "of 24 channels the bound is above direct's"


def _in_the_ir(path: Path) -> dict[str, Any]:
    said = r'\1 {inarch.algorithm = "winograd-2x2"} :'
    written(path, re.sub(r"(groups = 1) :", said, path.read_text()))
    return {}


@pytest.mark.parametrize("wrong", [0.0, np.inf, np.nan])
def test_weights_that_have_no_bound_are_direct(wrong: float, tmp_path: Path) -> None:
    """And `strict` is direct, whatever the bound is: F(2x2) overflows with weights of 0, direct does not."""
    path = model(tmp_path, (1, 64, 28, 28), 64, (1, 1, 1, 1), 0)
    assert taken(path)["conv"][0] != "direct"
    _change_weights(
        path, lambda w: np.where(np.arange(w.size).reshape(w.shape) >= 5 * (wrong != 0), wrong, w)
    )
    for numerics in ("bounded", "strict"):
        assert taken(path, numerics=numerics)["conv"][0] == "direct"


WAYS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "option": lambda _: {"algorithms": ["conv=winograd-2x2"]},
    "schedule": lambda path: {
        "schedule": written(path.with_suffix(".schedule"), "algorithm conv winograd-2x2")
    },
    "attribute": _in_the_ir,
}


@pytest.mark.parametrize(("way", "channels"), [*product(WAYS, [16]), ("option", 17)])
def test_a_named_algorithm_gets_the_layout_that_it_asks_for(
    way: str, channels: int, tmp_path: Path
) -> None:
    """Of few channels rows are cheaper, of 17 a third of a block is empty: both are direct otherwise."""
    path = model(tmp_path, (1, channels, 12, 9), 20, (1, 1, 1, 1), 0)
    assert taken(path) == {"conv": ["direct"]}
    x = np.random.default_rng(1).standard_normal((1, channels, 12, 9)).astype("f4")
    usual = inarch.compile(path, target=TARGET)(x)
    settings = WAYS[way](path)
    assert taken(path, **settings)["conv"][0] == "winograd-2x2"
    np.testing.assert_allclose(
        inarch.compile(path, target=TARGET, **settings)(x), usual, rtol=1e-4, atol=1e-4
    )


def test_an_algorithm_of_rows_gets_rows(tmp_path: Path) -> None:
    """Of 64 channels blocks are cheaper; direct's own nest says that it wants none."""
    path = model(tmp_path, (1, 64, 6, 6), 40, (1, 1, 1, 1), 0)
    own = written(
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
    path, file = model(tmp_path, (1, 32, 6, 6), 40, (1, 1, 1, 1), 0), tmp_path / "r.json"
    own = written(tmp_path / "conv_own.py", FAULTY.format(lower=DIRECT, refuses="None"))
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
    path = model(tmp_path, (1, 512, 14, 14), 512, (1, 1, 1, 1), 0)
    assert taken(path, numerics="fast") == {"conv": ["winograd-2x2", "direct"]}
    asked = taken(path, algorithms=["conv=winograd-4x4"])
    assert asked["conv"][0] == "winograd-4x4"


def test_weights_of_several_sizes_are_direct_unless_asked_otherwise(tmp_path: Path) -> None:
    """A first row of 1e6 beside rows of 1e-6: tiles mix what direct keeps apart."""
    path = model(tmp_path, (1, 64, 28, 28), 64, (1, 1, 1, 1), 0)
    _change_weights(path, lambda w: w * np.array([1e6, 1e-6, 1e-6], "f4")[:, None])
    assert taken(path) == {"conv": ["direct"]}
    assert taken(path, algorithms=["conv=winograd-2x2"])["conv"][0] == "winograd-2x2"


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
    assert allowed(path, image, name).accepts(found).all()
    direct = allowed(path, image, "direct")
    if spoiled == "rows of several sizes" or (name, spoiled) == ("winograd-4x4", "infinities"):
        assert not direct.accepts(found).all()


def test_verify_judges_by_the_bound_of_the_algorithm(tmp_path: Path) -> None:
    """Tiles that read an infinity are NaN."""
    path, image = _spoiled(tmp_path, "infinities")
    wish = {"target": TARGET, "algorithms": ["conv=winograd-4x4"]}
    verdict = verify_model(path, VerifyOptions(keywords=wish, inputs={"x": image}))
    assert verdict.is_right, verdict


def _spoiled(folder: Path, kind: str) -> tuple[Path, Array]:
    """A convolution that does not read its last row, and an image."""
    path = model(folder, (1, 32, 7, 7), 32, (1, 1, 1, 1), 0)
    _change_weights(path, lambda w: w * np.array([1, 1, 0], "f4")[:, None])
    return path, SPOILED[kind](np.random.default_rng(0).standard_normal((1, 32, 7, 7)).astype("f4"))


def test_a_page_and_json_have_what_was_weighed(tmp_path: Path) -> None:
    path = model(tmp_path, (1, 64, 28, 28), 64, (1, 1, 1, 1), 0)
    page = tmp_path / "page.html"
    done = cli.run(f"explain {path} --target {TARGET} --html {page} --json".split())
    (every,) = [one["algorithms"] for one in json.loads(done.out)["algorithms"]]
    assert next(one for one in every if one["name"] == "direct")["cycles"] > 0
    (refused,) = [one for one in every if one["name"] == "winograd-4x4"]
    assert refused["refused"] == "expected numerics 'fast' for it"
    assert (refused["numerics"], refused["cycles"] > 0, refused["workspace"] > 0) == (
        "fast",
        True,
        True,
    )
    (idle,) = [one for one in every if one["name"] == "gemm"]
    assert (idle["cycles"], idle["workspace"], idle["constants"]) == (None, None, None)
    data = re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert data is not None
    boxes = {box["location"]: box["algorithms"] for box in json.loads(data[1]).values()}
    taken, winograd, *_, other = boxes["conv"]
    assert taken == "conv: winograd-2x2"
    assert re.match(
        r"winograd-2x2: .* cycles .* MiB of scratch, greatest error at most 0.9", winograd
    )
    assert re.match(
        r"winograd-4x4: expected numerics 'fast' for it, .* cycles \(0.\d+ of direct\), .* MiB of scratch, "
        "greatest error at most 8.00 of",
        other,
    )
    assert not any(lines for where, lines in boxes.items() if where != "conv")


def test_an_export_says_what_it_has(tmp_path: Path) -> None:
    path = model(tmp_path, (1, 32, 6, 6), 32, (1, 1, 1, 1), 0)
    export(path, tmp_path / "c", target=TARGET, algorithms=["conv=winograd-2x2"])
    listing = json.loads((tmp_path / "c" / "inarch-export.json").read_text())
    assert listing["numerics"] == {"policy": "bounded", "algorithms": {"winograd-2x2": 1}}


def test_layers_by_pattern_on_the_command_line_and_in_a_schedule(tmp_path: Path) -> None:
    """What is asked for by hand comes behind the schedule, and counts."""
    path, schedule = chain(tmp_path), tmp_path / "chain.schedule"
    asked = ["layer1/*=winograd-2x2", "*/0/conv=direct"]
    found = {where: names[0] for where, names in taken(path, algorithms=asked).items()}
    assert [*found.values()] == ["direct", "winograd-2x2", "direct"]
    assert [*found] == ["layer1/0/conv", "layer1/1/conv", "layer2/0/conv"]
    schedule.write_text('# layers\nalgorithm conv direct; algorithm "layer1/*" conv-winograd-4x4\n')
    found = taken(path, algorithms=["layer1/1/*=winograd-2x2"], schedule=schedule)
    assert [one[0] for one in found.values()] == ["winograd-4x4", "winograd-2x2", "direct"]
