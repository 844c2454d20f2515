"""Regions are measured on both sides where that is asked for: what is faster is used, kept, and said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.backends import BACKENDS, Backend, Emission, EmitRequest
from inarch.core.errors import InarchError
from inarch.driver import weighing
from inarch.tools.cli import run

TEXT = """func.func @main(%x: tensor<400x300xf32>) -> tensor<400x300xf32> {
  %c = graph.constant dense<CONSTANT> : tensor<300xf32>
  %0 = graph.tanh %x : tensor<400x300xf32> -> tensor<400x300xf32>
  %1 = graph.add %0, %c : tensor<400x300xf32>, tensor<300xf32> -> tensor<400x300xf32>
  %2 = graph.neg %1 : tensor<400x300xf32> -> tensor<400x300xf32>
  %3 = graph.relu %2 : tensor<400x300xf32> -> tensor<400x300xf32>
  func.return %3 : tensor<400x300xf32>
}
"""
BODIES = {
    "tanh": "y[0] = x[0];",
    "relu": "for (volatile int spin = 0; spin < 1000000; spin++); "
    "for (int i = 0; i < 120000; i++) y[i] = x[i] < 0.f ? 0.f : x[i];",
}
"""A device that is fast at tanh (nobody looks at what it computes) and slow at relu."""
EMITTED: list[str] = []


def emit(request: EmitRequest) -> Emission:
    parts = ['#include "inarch.h"']
    for function in request.functions:
        name = next(
            each.name.removeprefix("graph.")
            for each in function.body.block.ops
            if each.name != "graph.constant"
        )
        EMITTED.append(name)
        parts.append(
            f"int32_t {function.sym_name.data}(void *self, DLTensor *args, int32_t n) {{ "
            f"(void)self; (void)n; const float *x = args[0].data; float *y = args[1].data; "
            f"{BODIES[name]} return 0; }}"
        )
    return Emission("c", request.names(), text="\n".join(parts))


DEVICE = Backend("device", "for tests", emit, ops=("tanh", "add", "relu"))


def free(_: object) -> float:
    return 0.0


@pytest.fixture(autouse=True)
def device() -> Iterator[Backend]:
    EMITTED.clear()
    with BACKENDS.scope():
        BACKENDS.register(DEVICE)
        yield DEVICE


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(
        "INARCH_CACHE_DIR", str(tmp_path / "of-this-test")
    )  # nothing is measured yet
    # With an empty cache all that tests import would be read: what digests are of is tested elsewhere.
    monkeypatch.setattr("inarch.driver.offloaded.emission.digest_of_code", ",".join)
    path = tmp_path / "m.mlir"
    numbers = np.arange(300, dtype=np.float32)
    path.write_text(TEXT.replace("CONSTANT", str(numbers.tolist())))
    return path


def explained(model: Path, *more: str) -> dict[str, Any]:
    code, out, err = run(["explain", str(model), "--backend", "device", "--json", *more])
    assert code == 0, err
    return json.loads(out)


def test_what_is_slow_on_the_device_stays_with_the_host(model: Path) -> None:
    """Without a cost the backend keeps all; measured, the slow one goes back."""
    assert [one["region"] for one in explained(model)["traffic"]] == ["device_0", "device_1"]
    assert EMITTED == []
    report = explained(model, "--measure-regions")
    assert EMITTED == ["tanh", "relu"]
    relu = report["ops"][3]
    assert relu["owner"] == "host"
    assert relu["reasons"]["device"].endswith("(measured)")
    assert report["decided"][0]["what"] == "cost"
    for one in report["traffic"]:
        assert one["source"] == "measured"
        assert 0 < one["seconds"] <= one["host_seconds"] < 1


def test_by_hand_wins_over_what_was_measured(model: Path) -> None:
    """The slow one is compiled for the device; the program computes the same."""
    BACKENDS.register(replace(DEVICE, ops=("relu",)))
    module = inarch.compile(
        str(model), backends=["device"], measure_regions=True, give=["relu=device"]
    )
    assert EMITTED == ["relu"] * 2  # measured, then compiled
    x = np.linspace(-3, 1, 120000, dtype=np.float32).reshape(400, 300)
    text = model.read_text()
    c = np.array(json.loads(text[text.index("dense<") + 6 : text.index("> : tensor<300")]))
    expected = np.maximum(-(np.tanh(x) + c.astype(np.float32)), 0)
    np.testing.assert_allclose(module(x), expected, rtol=1e-5, atol=1e-6)


def test_what_was_measured_is_kept_by_region_and_version(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another constant or version it is measured again."""
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(weighing, "running", lambda: "files")
    first = explained(model, "--measure-regions")
    assert EMITTED == ["tanh", "relu"]
    assert explained(model, "--measure-regions") == first
    assert EMITTED == ["tanh", "relu"]
    BACKENDS.register(replace(DEVICE, version="2"))
    explained(model, "--measure-regions")
    assert EMITTED == ["tanh", "relu"] * 2
    model.write_text(model.read_text().replace("dense<[", "dense<[1"))
    explained(model, "--measure-regions")
    assert EMITTED == ["tanh", "relu"] * 2 + ["tanh"]


def test_where_it_cannot_be_measured_the_estimate_counts_and_it_is_said(model: Path) -> None:
    def broken(_: EmitRequest) -> Emission:
        raise InarchError("no such device")

    wrong: list[tuple[dict[str, Any], str]] = [
        ({"status": lambda: "no device: install npu-driver"}, "no device: install npu-driver"),
        ({"emit": broken}, "backend 'device': no such device"),
    ]
    said = ""
    for fields, said in wrong:
        BACKENDS.register(replace(DEVICE, cost=free, **fields))
        report = explained(model, "--measure-regions")
        assert {one["source"] for one in report["traffic"]} == {f"estimated; not measured: {said}"}
        assert {one["seconds"] for one in report["traffic"]} == {0.0}
    out = run(["explain", str(model), "--backend", "device", "--regions", "--measure-regions"])[1]
    assert f"seconds of a call: estimated; not measured: {said}\n" in out
