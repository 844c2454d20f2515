"""Peers of a benchmark, and the numbers and pages of its results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast
from xml.etree import ElementTree as ET

import pytest

from inarch.benchmark.layers import (
    Gemm,
    Layer,
    parse_shape,
)
from inarch.benchmark.measure import Runner, measure_peer
from inarch.benchmark.peers import PEERS, Kernel, Peer
from inarch.benchmark.peers.process import PeerProcess
from inarch.benchmark.peers.torch import fastest_primitive
from inarch.benchmark.results import LayerResult, PeerResult, Results, Series, summary
from inarch.benchmark.roofline import html, svg
from inarch.core.errors import EnvironmentFault
from inarch.machine.target import parse
from inarch.tools.bench.layers import draw
from inarch.tools.cli import run

TINY = "8x6x6->8k3s1"
TARGET = "x86-64-v2" if not parse("x86-64-v2").missing_here() else "generic"
"""The plainest target of this machine: nothing here is about speed."""

BENCH = ["bench", "layers", "--rounds", "1", "--target", TARGET]


# ------------------------------------------------------------------------------------ peers


LOG = """onednn_verbose,v1,info,oneDNN v3.12.0 (commit ...)
onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:abcd::f0,,,1x64x56x56,0.01
onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx512_core,forward_inference,src:f32,,,mb1,0.25
onednn_verbose,v1,primitive,exec,cpu,convolution,brgconv:avx512_core,forward_inference,src,,,mb1,0.2
onednn_verbose,v1,primitive,create:cache_hit,cpu,convolution,brgconv:avx512_core,,src,,,mb1,0.001
unrelated, text
"""


def test_kernel_times_are_read_from_onednns_log() -> None:
    """The fastest execution of an operator; reorders and creations are not."""
    assert fastest_primitive(LOG) == Kernel(0.2e6, "brgconv:avx512_core")
    assert fastest_primitive("onednn_verbose,v1,info\n") is None


def test_a_peer_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K3: what is missing is said, in the table, the JSON and a note, and the rest is measured."""
    peer = Peer("no_such_package", "", PEERS["torch"].prepare, needs=("json",))
    assert peer.missing() == ["no_such_package"]

    def nothing_is_there(peer: Peer) -> list[str]:
        return [peer.package]

    monkeypatch.setattr(Peer, "missing", nothing_is_there)
    written = tmp_path / "found.json"
    done = run([*BENCH, "--shape", TINY, "--peers", "openvino", "--json", str(written)])
    assert done.code == 0, done.err
    assert "openvino: not installed (pip install openvino)" in done.out
    assert "note: peer 'openvino' is not installed (openvino)\n" in done.err
    found = json.loads(written.read_text())
    assert found["peers"]["openvino"]["installed"] is False
    assert found["peers"]["openvino"]["missing"] == ["openvino"]
    assert found["layers"][0]["peers"] == {}


@pytest.mark.parametrize("name", list(PEERS))
def test_a_peer_states_its_settings(name: str) -> None:
    assert PEERS[name].package == name
    assert "1 thread" in PEERS[name].settings


@pytest.mark.slow
def test_onnxruntime_computes_the_same_and_is_timed() -> None:
    """Through its process: call and kernel, of a convolution and of a product of two inputs."""
    if PEERS["onnxruntime"].missing():
        pytest.skip("onnxruntime is not installed")
    shapes = ["--shape", TINY, "--shape", "3x8x5x6"]
    done = run([*BENCH, *shapes, "--peers", "onnxruntime", "--json", "-"])
    found = json.loads(done.out)
    assert found["peers"]["onnxruntime"]["version"]
    for layer in found["layers"]:
        peer = layer["peers"]["onnxruntime"]
        assert peer["error"] == ""
        assert peer["call_ms"]["min"] > 0
        assert peer["implementation"] in ("Conv", "FusedConv", "MatMul")
        assert layer["ratios"]["onnxruntime"]["call"] > 0


def test_a_peer_that_dies_says_so() -> None:
    """Its process knows no such peer, and ends; the error is the peer's, not ours."""
    process = PeerProcess("no-such-peer")
    with pytest.raises(EnvironmentFault) as found:
        process.version()
    assert found.value.line() == "peer 'no-such-peer': error: its process ended with exit code 1"
    process.close()


def test_a_peer_that_fails_on_a_layer_keeps_the_others() -> None:
    """A failure is told, and the process goes on."""
    if PEERS["onnxruntime"].missing():
        pytest.skip("onnxruntime is not installed")
    process = PeerProcess("onnxruntime")
    with pytest.raises(EnvironmentFault, match="FileNotFoundError"):
        process.prepare_model(Path("none.onnx"), Path("none.npz"))
    assert process.prepare(parse_shape(TINY))["index"] == 0
    process.close()


@pytest.mark.parametrize(("profiled", "counted"), [(9.0, 5.0), (3.0, 3.0)])
def test_a_peers_kernel_is_no_slower_than_its_call(profiled: float, counted: float) -> None:
    """Profilers read the wall clock: on a busy machine a kernel would seem slower than all of its call."""
    found = PeerResult()

    class Process:
        def call_ns(self, index: int, count: int) -> float:
            return 5.0 + 0 * index * count

        def kernel(self, index: int, count: int) -> tuple[float, str]:
            return profiled, f"{index} {count}"

    measure_peer(Runner(cast("PeerProcess", Process()), 0, 2, found))
    assert (found.call.values, found.kernel.values) == ([5.0], [counted])
    assert found.implementation == "0 2"


# ------------------------------------------------------------------------------------ results


def result_of(name: str, kernel: float, peer: float | None, count: int = 1) -> LayerResult:
    """A layer of 100 operations that takes `kernel` ns, at a peak of 50 GFLOP/s."""
    layer: Layer = Gemm(name, 5, 10, 1, count=count)
    result = LayerResult("demo", layer, (), layer.flops)
    result.kernel = result.call = result.python = Series([kernel, kernel * 2])
    result.peak = Series([40.0, 50.0])
    result.peers["other"] = PeerResult(Series([] if peer is None else [peer]), Series([]))
    return result


def test_numbers_are_of_the_least_time_and_the_highest_peak() -> None:
    result = result_of("a", 4.0, 6.0)
    assert result.gflops == 25
    assert result.percent_of_peak == 50
    assert result.ratio("other", "call") == 1.5
    assert result.ratio("other", "kernel") is None
    assert result.best_ratio("call") == 1.5


def test_means_are_geometric_and_by_count() -> None:
    found = summary([result_of("a", 4.0, 8.0), result_of("b", 4.0, 2.0, count=3)], ["other"])
    assert found["ratios"]["call"]["other"] == {"geomean": 1.0, "weighted": 0.70711}
    assert found["ratios"]["kernel"]["other"] == {"geomean": None, "weighted": None}
    assert found["ratios"]["kernel_by_call"]["best"]["geomean"] == 1.0
    assert found["percent_of_peak"] == {"geomean": 50.0, "weighted": 50.0}
    assert found["sum_ms"]["inarch"]["call"] == pytest.approx(16e-6)


def demo(count: int) -> Results:
    """A run of many layers of like speed, whose labels would all stand at one place."""
    layers = [result_of(f"layer <{i}>", 4.0 + 0.01 * i, 3.0) for i in range(count)]
    for result in layers:
        result.peers["other"].kernel.values.append(3.9)
    machine = {"cpu": "CPU & Co", "caches": "L1 1 KiB", "compiler": "cc"}
    return Results("generic", machine, 1, layers, {}, 50.0, {"L1": 90.0, "DRAM": 5.0})


@pytest.mark.parametrize("count", [1, 23, 40])
def test_labels_of_the_picture_do_not_overlap(count: int) -> None:
    """Boxes of text, by a generous width of characters, are apart from each other."""
    root = ET.fromstring(svg(demo(count), "demo"))
    boxes: list[tuple[float, float, float, float, str]] = []
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        if "transform" in text.attrib or not text.text:
            continue
        small, title = text.get("class") == "number", text.get("class") == "title"
        width = len(text.text) * (6.2 if small else 9.0 if title else 6.6)
        anchor = {"middle": width / 2, "end": width}.get(text.get("text-anchor", ""), 0.0)
        left, base = float(text.attrib["x"]) - anchor, float(text.attrib["y"])
        boxes.append((left, base - 9, left + width, base + 1, text.text))
    width, height = (float(root.attrib[name]) for name in ("width", "height"))
    for index, (left, top, right, bottom, words) in enumerate(boxes):
        assert left >= 0, words
        assert top >= 0, words
        assert right <= width, words
        assert bottom <= height, words
        for other in boxes[:index]:
            apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
            assert apart, (words, other[4])
    assert "prefers-color-scheme: dark" in svg(demo(count), "demo")


def test_the_page_has_the_picture_and_the_table() -> None:
    page = html(demo(2), "a < b")
    assert "<svg " in page
    assert "a &lt; b" in page
    assert "layer &lt;1&gt;" in page


def test_each_set_has_its_picture(tmp_path: Path) -> None:
    results = demo(2)
    results.layers[1].set = "other"
    assert draw(tmp_path / "r.html", results, "") == {}
    assert (tmp_path / "r.html").read_text().count("<svg ") == 2
    drawn = draw(tmp_path / "r.svg", results, "")
    assert drawn == {"demo": tmp_path / "r-demo.svg", "other": tmp_path / "r-other.svg"}
    assert "Roofline: other" in drawn["other"].read_text()
