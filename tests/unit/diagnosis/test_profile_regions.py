"""`inarch bench --profile --backend`: time and bytes of each region, and a trace that Perfetto opens."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine import MODEL, installed

from inarch.tools.cli import run

SLOW_S = 0.02


def test_time_and_bytes_of_regions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A region that sleeps is seen to take that long; events are complete, in order, and of their tracks."""
    monkeypatch.chdir(tmp_path)
    Path("model.mlir").write_text(MODEL)

    def sleeps(symbol: str, _: list[Any], rightly: Callable[[], None]) -> None:
        rightly()
        time.sleep(SLOW_S if symbol == "npu_1" else 0)

    with installed() as engine:
        engine.around = sleeps
        words = ["bench", "model.mlir", "--profile", "--backend", "npu", "--rounds", "2"]
        outcome = run([*words, "--trace", "trace.json", "--json", "-"])
        text = run(words).out
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["schema"] == "inarch.bench.regions/1"
    steps = {step["kernel"]: step for step in found["steps"]}
    owners = {name: step["owner"] for name, step in steps.items()}
    assert [name for name, owner in owners.items() if owner == "npu"] == [
        f"npu_{n}" for n in range(4)
    ]
    assert set(owners.values()) == {"npu", "host"}
    one = steps["npu_1"]
    sizes = (one["bytes_in"], one["bytes_out"], one["bytes_resident"], one["ops"])
    assert sizes == (96, 96, 0, 3)
    times = {name: step["ms"]["min"] for name, step in steps.items()}
    assert max(times, key=lambda name: times[name]) == "npu_1"
    events = json.loads(Path("trace.json").read_text())["traceEvents"]
    names = {(e["name"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M"}
    assert names == {
        ("process_name", 0): "model.mlir",
        ("thread_name", 0): "host",
        ("thread_name", 1): "npu",
    }
    spans = [event for event in events if event["ph"] == "X"]
    assert [s["name"] for s in spans if s["tid"] == 1] == [f"npu_{n}" for n in range(4)]
    assert all(s["pid"] == 1 and s["dur"] >= 0 for s in spans)
    ends = [s["ts"] + s["dur"] for s in spans]
    assert all(end <= after["ts"] for end, after in zip(ends, spans[1:], strict=False))
    (slow,) = [s for s in spans if s["name"] == "npu_1"]
    assert slow["dur"] >= SLOW_S * 1e6
    assert slow["args"] == {
        "where": "model.mlir:4:3",
        "bytes_in": 96,
        "bytes_out": 96,
        "bytes_resident": 0,
        "ops": 3,
    }
    assert "528 bytes across boundaries a call" in text
    assert "npu_1 [npu]  model.mlir:4:3" in text.splitlines()[5]


def test_options_that_do_not_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line each; and the trace of a model without backends."""
    monkeypatch.chdir(tmp_path)
    Path("model.mlir").write_text(MODEL)
    for words, option in (
        (["--trace", "t.json"], "trace"),
        (["--backend", "cblas"], "backend"),
    ):
        outcome = run(["bench", "model.mlir", *words])
        assert outcome == (2, "", f"error: --{option}: it goes with --profile\n")
    outcome = run(["bench", "model.mlir", "--profile", "--rounds", "1", "--trace", "t.json", "-q"])
    assert outcome.code == 0, outcome.err
    spans = [e for e in json.loads(Path("t.json").read_text())["traceEvents"] if e["ph"] == "X"]
    assert spans
    assert {span["tid"] for span in spans} == {0}
    assert spans[0]["ts"] == 0
