"""benchmarks/microkernels.py: members of a family are laid out, called, counted and ranked."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path
from types import ModuleType

import pytest

from inarch.machine.target import parse
from inarch.microkernel import instantiate
from inarch.microkernel.table import MICROKERNELS
from inarch.verification.subject import subject_of

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "microkernels.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_of_microkernels", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_operands_are_dense_and_work_is_counted() -> None:
    """What a layout demands, holds; a reduction's operations count, an epilogue's do not."""
    kernel = MICROKERNELS["depthwise-f32"]
    params = {"P": 2, "Q": 3, "VL": 4, "R": 3, "S": 3, "SH": 2, "SW": 2}
    instance = instantiate(kernel, "depthwise-f32", params, target=parse("generic"), init="zero")
    subject = subject_of(instance, {})
    assert subject.flops == 2 * 2 * 3 * 4 * 9
    assert subject.operands["A"].strides == (7 * 4, 4, 1)
    assert subject.operands["A"].elements == 5 * 7 * 4
    assert subject.operands["C"].strides == (12, 4, 1)
    assert subject.nbytes == 4 * (5 * 7 * 4 + 9 * 4 + 6 * 4)


def test_a_run(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["gemv-rows-f32", "--param", "NR=1,4", "--size", "K=64", "--target", "generic"]
    assert script.main([*arguments, "--rounds", "1", "--json", "--bytes", "1M"]) == 0
    found = json.loads(capsys.readouterr().out)
    one, four = found["members"]
    assert [one["params"], four["params"]] == [{"NR": 1}, {"NR": 4}]
    assert 0 < one["cycles"] < four["cycles"]
    assert one["predicted"] < four["predicted"]
    assert one["percent_of_peak"] == pytest.approx(100 * one["gflops"] / found["limits"]["gflops"])
    assert one["percent_of_read"] > 0


def test_a_run_with_an_epilogue_is_a_table(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["gemv-f32", "--param", "NV=1,2,3", "--size", "K=32", "--target", "generic"]
    finish = ["--finish", "max(C[v, l] + E0[v, l], 0)", "--init", "zero"]
    assert script.main([*arguments, *finish, "--rounds", "1"]) == 0
    first, head, *rows, last = capsys.readouterr().out.splitlines()
    assert first.startswith("peak ")
    assert head.split()[-1] == "member"
    assert {row.split("  ")[-1] for row in rows} == {f"NV={n} VL=4" for n in (1, 2, 3)}
    assert last.startswith("cost against cycles: rank correlation ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["gemv-f32", "--param", "NX=1"],
            "error: expected --param of NV, VL, found NX\n",
        ),
        (
            ["gemv-f32", "--target", "generic"],
            "error: expected --size K=NUMBER, found none\n",
        ),
        (
            ["gemv-f32", "--param", "NV=99", "--target", "generic"],
            "error: no member of 'gemv-f32' for generic has these parameters\n",
        ),
    ],
)
def test_what_is_wrong_is_said(
    script: ModuleType, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert script.main(arguments) == 2
    assert capsys.readouterr().err == message


def test_rank_correlation(script: ModuleType) -> None:
    """Spearman's: by order alone; ties share a rank."""
    assert script.rank_correlation([1, 2, 3], [10, 200, 3000]) == pytest.approx(1)
    assert script.rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert script.rank_correlation([1, 1, 2], [1, 2, 3]) == pytest.approx(math.sqrt(3) / 2)
    assert math.isnan(script.rank_correlation([1, 1, 1], [1, 2, 3]))
