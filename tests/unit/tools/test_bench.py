"""`inarch bench layers`: what is measured, what the numbers are of, and what is written."""

from __future__ import annotations

import importlib
import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as ET

import numpy as np
import onnx
import pytest
from xdsl.dialects.func import FuncOp

from inarch.benchmark.harness import Harness
from inarch.benchmark.layers import (
    LAYER_SETS,
    Conv,
    Gemm,
    Layer,
    from_json,
    parse_shape,
    select,
    to_json,
)
from inarch.benchmark.measure import Runner, measure_peer
from inarch.benchmark.peers import PEERS, Kernel, Peer
from inarch.benchmark.peers.process import PeerProcess
from inarch.benchmark.peers.torch import fastest_primitive
from inarch.benchmark.report import BEGIN, END
from inarch.benchmark.results import SCHEMA, LayerResult, PeerResult, Results, Series, summary
from inarch.benchmark.roofline import html, svg
from inarch.benchmark.subject.arrays import arrays_of
from inarch.benchmark.subject.blocked import lower_blocked
from inarch.benchmark.subject.program import program_of
from inarch.benchmark.subject.steps import split_steps
from inarch.benchmark.subject.subject import compile_layer
from inarch.core.errors import EnvironmentFault, InarchError, UsageError
from inarch.core.lazy import Array
from inarch.dialects import new_context
from inarch.driver.compiler import import_model, lower
from inarch.ir.text import parse_module
from inarch.machine.target import parse
from inarch.tools.bench.layers import draw, relative
from inarch.tools.cli import run

MODELS = Path(__file__).parents[3] / "benchmarks" / "models"
TINY = "8x6x6->8k3s1"
TARGET = "x86-64-v2" if not parse("x86-64-v2").missing_here() else "generic"
"""The plainest target of this machine: nothing here is about speed."""

EXAMPLES = Path(__file__).parents[3] / "examples" / "microkernels"
ROOTS = """/* inarch
computes = "for n in N: C[n] = sqrt(A[n])"
dtypes = {A = "f32", C = "f32"}
*/
void roots(const float *A, float *C, int64_t A_0, int64_t C_0, int64_t N)
{
    for (int64_t n = 0; n < N; n++) C[n * C_0] = __builtin_sqrtf(A[n * A_0]);
}
"""
BENCH = ["bench", "layers", "--rounds", "1", "--target", TARGET]


# ------------------------------------------------------------------------------------ sets


def convolutions(name: str, monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[int, ...]]:
    """Channels, height, width, outputs, window, stride and groups of each Conv of a model, counted."""
    monkeypatch.syspath_prepend(str(MODELS))  # pyright: ignore[reportUnknownMemberType] - untyped
    model: onnx.ModelProto = onnx.shape_inference.infer_shapes(
        importlib.import_module(name).build()
    )
    graph = model.graph
    infos = [*graph.input, *graph.value_info]
    shapes = {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in infos}
    weights = {w.name: list(w.dims) for w in graph.initializer}
    found: Counter[tuple[int, ...]] = Counter()
    for node in graph.node:
        if node.op_type != "Conv":
            continue
        attributes: dict[str, Any] = {
            a.name: onnx.helper.get_attribute_value(a) for a in node.attribute
        }
        outputs, _, window, _ = weights[node.input[1]]
        assert attributes["pads"] == [window // 2] * 4
        stride, groups = attributes["strides"][0], attributes["group"]
        found[*shapes[node.input[0]][1:], outputs, window, stride, groups] += 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "distinct"), [("resnet50", 23), ("mobilenetv2", 30)])
def test_a_set_is_the_convolutions_of_its_network(
    name: str, distinct: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K3: the named layer shapes are those of the model that the benchmarks generate, each as often."""
    listed: Counter[tuple[int, ...]] = Counter()
    for layer in LAYER_SETS[name].layers:
        assert isinstance(layer, Conv)
        shape = (layer.channels, layer.height, layer.width, layer.outputs)
        listed[*shape, layer.window, layer.stride, layer.groups] = layer.count
    assert len(listed) == len(LAYER_SETS[name].layers) == distinct
    assert listed == convolutions(name, monkeypatch)


@pytest.mark.parametrize("name", list(LAYER_SETS))
def test_a_set_describes_itself(name: str) -> None:
    layers = LAYER_SETS[name].layers
    assert LAYER_SETS[name].description
    assert len({layer.name for layer in layers}) == len(layers)
    for layer in layers:
        again = parse_shape(layer.shape)
        assert (again.flops, again.output_shape) == (layer.flops, layer.output_shape)
        assert from_json(json.loads(json.dumps(to_json(layer)))) == layer


def test_the_operations_of_resnet50_are_known() -> None:
    """8.2 GFLOP in its convolutions, as often published."""
    total = sum(layer.flops * layer.count for layer in LAYER_SETS["resnet50"].layers)
    assert total == pytest.approx(8.17e9, rel=0.01)


def test_sizes_of_a_layer() -> None:
    layer = parse_shape("4x5x7->6k3s2g2")
    assert layer.output_shape == (1, 6, 3, 4)
    assert layer.flops == 2 * 6 * 3 * 4 * 2 * 9
    assert layer.bytes == 4 * (4 * 5 * 7 + 6 * (2 * 9 + 1) + 6 * 3 * 4)
    assert parse_shape("3x4x5x6") == Gemm("3x4x5x6", 4, 5, 6, batch=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["resnet5"], "no layer set 'resnet5'; did you mean 'resnet50'? Known: bert, gemm, "),
        (["resnet50", "--layer", "l1.c9"], "no layer 'l1.c9' in resnet50; did you mean 'l1.c3'? "),
        (["--layer", "ffn.upp"], "no layer 'ffn.upp'; did you mean 'ffn.up'? Nearest of 61: "),
        (
            ["--shape", "64x56"],
            "--shape: expected a convolution CxHxW->OkWINDOW[sSTRIDE][gGROUPS] ",
        ),
        (
            ["--shape", "8x6x6->8k2"],
            "of an odd window, or a product [BATCHx]MxNxK, found '8x6x6->8k2'",
        ),
        (["--shape", "8x6x6->9k3g2"], "found '8x6x6->9k3g2'"),
        (["--shape", "0x6x6"], "found '0x6x6'"),
        (["--peers", "torhc"], "no peer 'torhc'; did you mean 'torch'? Known: "),
        (["--rounds", "0"], "--rounds: expected a whole number >= 1, found '0'"),
        (["--picture", "a.pdf"], "--picture: expected a file .svg or .html, found 'a.pdf'"),
        (["--markdown", "none.md"], "--markdown: 'none.md': No such file or directory"),
        (["gem", "--list"], "no layer set 'gem'; did you mean 'gemm'?"),
    ],
)
def test_a_wrong_command_line_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(["bench", "layers", *arguments])
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_selection_is_by_set_and_name() -> None:
    assert [layer.name for _, layer in select(["resnet50"], ["l1.c2", "conv1"])] == [
        "conv1",
        "l1.c2",
    ]
    assert {name for name, _ in select([], ["conv1"])} == {"resnet50", "mobilenetv2"}
    assert [name for name, _ in select([], [], [TINY])] == ["shapes"]
    assert len(select([])) == 23


# ------------------------------------------------------------------------------------ ours


@pytest.fixture(scope="module", name="harness")
def fixture_harness() -> Harness:
    return Harness(parse(TARGET))


SHAPES = [TINY, "8x6x6->8k3s2g8", "3x9x9->5k7s2", "6x4x4->16k1", "12x20x7", "3x8x5x6"]


@pytest.mark.sampled(1, reason="each is compiled by the same lines")
@pytest.mark.parametrize("shape", SHAPES)
def test_every_kind_of_layer_is_compiled_and_right(shape: str, harness: Harness) -> None:
    """`compile_layer` itself compares with NumPy; the three ways to call it run."""
    layer = parse_shape(shape)
    subject = compile_layer(layer, harness)
    assert any(step.computes for step in subject.steps)
    assert subject.executed_flops > 0
    assert subject.call_ns(1) > 0
    assert subject.python_ns(1) > 0
    assert len(subject.steps_ns(1)) == len(subject.steps)


def test_steps_alone_make_what_the_whole_makes(harness: Harness) -> None:
    """Run one after the other, the steps of a layer write its output: none is missing or changed."""
    subject = compile_layer(parse_shape(TINY), harness)
    expected = subject.run().copy()
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(subject.run_steps(), expected, rtol=1e-4, atol=1e-4)


def test_kernels_alone_work_on_blocked_channels(harness: Harness) -> None:
    """As in a network: relayouts are not among the kernels; a pointwise convolution copies nothing."""
    if harness.target.architecture == "generic":
        pytest.skip("channels are not blocked for a target of unknown vectors")
    context = new_context()
    layer = parse_shape("16x6x6->16k1")
    program = program_of(layer, arrays_of(layer), context)
    module = import_model(program, context, target=TARGET)
    lower_blocked(context, module)
    functions = {op.sym_name.data: op for op in module.body.ops if isinstance(op, FuncOp)}
    assert {"before", "after", "main"} <= set(functions)
    lanes = harness.target.vector_bytes // 4
    blocked = f"memref<1x{16 // lanes}x6x6x{lanes}xf32>"
    assert [str(kind) for kind in functions["main"].function_type.inputs] == [blocked] * 2
    subject = compile_layer(layer, harness)
    assert all(step.computes for step in subject.steps)


def test_a_wrong_result_is_not_measured(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(layer: Layer, *_: object) -> Array:
        return np.full(layer.output_shape, 9.0, np.float32)

    monkeypatch.setattr("inarch.benchmark.subject.subject.reference", wrong)
    with pytest.raises(InarchError, match=r"layer '12x20x7' \(12x20x7\): expected NumPy's result"):
        compile_layer(parse_shape("12x20x7"), harness)


@pytest.mark.parametrize("shape", SHAPES)
def test_operations_are_those_that_the_loops_execute(shape: str) -> None:
    """Never fewer than the nominal ones where nothing is left out; more where tiles run over an edge."""
    layer = parse_shape(shape)
    context = new_context()
    module = import_model(program_of(layer, arrays_of(layer), context), context, target="generic")
    lower(context, module, "kernel")
    steps = split_steps(module)
    assert all(step.flops == 0 for step in steps if not step.computes)
    executed = sum(step.flops for step in steps)
    if isinstance(layer, Gemm) or layer.window == 1:
        assert layer.flops <= executed < 2 * layer.flops
    assert executed > layer.flops / 2


MICROKERNEL_CALL = """
kernel.def @gemm computes "for m in 4, n in 16: C[m, n] = 0; for k in K: C[m, n] += A[m, k] * B[k, n]; \
C[m, n] = max(C[m, n], 0)" arguments [#kernel.operand<C : f32 write rank 2 align 4>,
  #kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>
] needs [] source "void gemm(void);\\0A"
func.func private @kernel(%a: memref<8x5xf32>, %b: memref<5x48xf32>, %c: memref<8x48xf32>) {
  kernel.call @gemm for (i in 2, j in 3) (%c[i * 192 + j * 16] strides [48, 1],
    %a[i * 20] strides [5, 1], %b[j * 16] strides [48, 1]) sizes [5]
    : memref<8x48xf32>, memref<8x5xf32>, memref<5x48xf32>
  func.return
}
func.func @main(%a: memref<8x5xf32>, %b: memref<5x48xf32>, %c: memref<8x48xf32> {inarch.result}) {
  loop.call @kernel(%a, %b, %c) : memref<8x5xf32>, memref<5x48xf32>, memref<8x48xf32>
  func.return
}
"""


def test_what_a_step_reads_is_no_step() -> None:
    """A choice by an input is one, with what it is chosen by."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]> g (bool c, float[4] x) => (float[4] y) {
          y = If (c) <then_branch = a () => (float[4] p) { p = Relu(x) },
                      else_branch = b () => (float[4] q) { q = Exp(x) }>
        }"""
    )
    context = new_context()
    module = import_model(model, context, target="generic")
    lower(context, module, "kernel")
    (step,) = split_steps(module)
    assert step.kernel == "scf.if"
    module.verify()


def test_operations_of_a_microkernel_are_those_of_its_meaning() -> None:
    """Its accumulating statement, at every point of the loops: [8, 5] by [5, 48]."""
    (step,) = split_steps(parse_module(new_context(), MICROKERNEL_CALL))
    assert (step.kernel, step.computes, step.flops) == ("kernel", True, 2 * 8 * 5 * 48)


def test_a_machine_without_the_features_says_so() -> None:
    here = parse("native").architecture
    with pytest.raises(
        EnvironmentFault, match=r"the target .* needs .*, which this machine has not"
    ):
        Harness(parse("x86-64-v3" if here == "aarch64" else "aarch64"))


def test_the_peak_is_a_speed_and_bandwidths_fall(harness: Harness) -> None:
    peaks = [harness.peak_gflops(0.3) for _ in range(3)]
    assert min(peaks) > 0.1
    assert max(peaks) < 10_000
    assert harness.triad_gbps(16 << 10, 0.2) > 0


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


# ------------------------------------------------------------------------------------ the command


def test_the_command_measures_and_writes(tmp_path: Path) -> None:
    """K3: a table, JSON of a stated schema, a picture, and the results in a document."""
    document = tmp_path / "page.md"
    document.write_text(f"Before.\n{BEGIN}\nold\n{END}\nAfter.\n")
    picture = tmp_path / "pictures" / "roofline.svg"
    picture.parent.mkdir()
    done = run(
        [
            *(*BENCH, "--shape", TINY, "--shape", "12x20x7", "--peers", "none"),
            *("--json", str(tmp_path / "out.json"), "--picture", str(picture)),
            *("--markdown", str(document)),
        ]
    )
    assert done.code == 0, done.err
    assert re.search(
        rf"^{re.escape(TINY)} +{re.escape(TINY)} +1( +[\d.]+){{5}}$", done.out, re.MULTILINE
    )
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["schema"] == SCHEMA == "inarch.bench.layers/1"
    assert (found["threads"], found["rounds"], found["target"]) == (1, 1, TARGET)
    assert set(found["bandwidths_gbps"]) >= {"DRAM"}
    first, second = found["layers"]
    assert (first["name"], second["shape"]) == (TINY, "12x20x7")
    assert first["nominal_flops"] == 2 * 8 * 36 * 72
    for layer in found["layers"]:
        assert layer["kernel_ms"]["min"] <= layer["kernel_ms"]["median"]
        assert layer["call_ms"]["min"] > 0
        assert layer["python_ms"]["min"] > 0
        assert layer["executed_flops"] == sum(step["executed_flops"] for step in layer["steps"])
        speed = layer["executed_flops"] / layer["kernel_ms"]["min"] * 1e-6
        assert layer["executed_gflops"] == pytest.approx(speed, rel=1e-3)
        part = 100 * layer["executed_gflops"] / layer["peak_gflops"]
        assert layer["percent_of_peak"] == pytest.approx(part, rel=1e-3)
        assert min(step["ms"]["min"] for step in layer["steps"]) > 0
    assert ET.fromstring(picture.read_text()).tag.endswith("svg")
    text = document.read_text()
    assert text.startswith(f"Before.\n{BEGIN}\n")
    assert text.endswith(f"{END}\nAfter.\n")
    assert "old" not in text
    assert "(pictures/roofline.svg)" in text
    assert f"inarch bench layers --shape '{TINY}' --shape 12x20x7 --peers none" in text


def test_a_layer_by_microkernels_of_ones_own(tmp_path: Path) -> None:
    """K3: each is demanded, and measured beside ours, which does not use it; what does nothing says so."""
    roots = tmp_path / "roots.c"
    roots.write_text(ROOTS)
    tile = EXAMPLES / "gemm_tile.c"
    kernels = ["--load", str(tile), "--load", str(roots), "--microkernel", "gemm-tile"]
    done = run(
        [
            *(*BENCH, "--shape", "12x20x7", "--peers", "none", *kernels, "--microkernel", "roots"),
            *("--json", str(tmp_path / "out.json")),
        ]
    )
    assert (done.code, done.err) == (0, "")
    (layer,) = json.loads((tmp_path / "out.json").read_text())["layers"]
    assert not any(step["kernel"].startswith("gemm_tile") for step in layer["steps"])
    own = layer["peers"]["gemm-tile"]
    assert own["kernel_ms"]["min"] > 0
    assert own["call_ms"]["min"] > 0
    assert (
        "expected a nest that microkernel 'roots' does, found none"
        in layer["peers"]["roots"]["error"]
    )
    assert "gemm-tile kernel" in done.out


def test_a_document_without_its_markers_is_left_alone(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("Nothing.\n")
    done = run([*BENCH, "--shape", TINY, "--markdown", str(document)])
    assert done.code == 2
    assert done.err.startswith("error: --markdown: expected the lines '<!-- made by inarch bench")
    assert document.read_text() == "Nothing.\n"


def test_a_picture_beside_the_document_is_asked_for(tmp_path: Path) -> None:
    document = tmp_path / "docs" / "page.md"
    document.parent.mkdir()
    document.write_text(f"{BEGIN}\n{END}\n")
    with pytest.raises(UsageError, match="--picture: expected a file in the folder of"):
        relative(tmp_path / "roofline.svg", document)
    assert relative(tmp_path / "docs" / "a" / "b.svg", document) == "a/b.svg"


def test_each_set_has_its_picture(tmp_path: Path) -> None:
    results = demo(2)
    results.layers[1].set = "other"
    assert draw(tmp_path / "r.html", results, "") == {}
    assert (tmp_path / "r.html").read_text().count("<svg ") == 2
    drawn = draw(tmp_path / "r.svg", results, "")
    assert drawn == {"demo": tmp_path / "r-demo.svg", "other": tmp_path / "r-other.svg"}
    assert "Roofline: other" in drawn["other"].read_text()


def test_the_sets_are_listed() -> None:
    done = run(["bench", "layers", "--list"])
    assert done.code == 0
    assert "resnet50: the 23 distinct convolutions" in done.out
    assert "  l1.c2                64x56x56->64k3s1             x3\n" in done.out


# ------------------------------------------------------------------------------------ models


@pytest.fixture(name="model")
def fixture_model(tmp_path: Path) -> Path:
    """y = x @ w of a symbolic batch."""
    w = onnx.numpy_helper.from_array(np.ones((3, 5), np.float32), "w")
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    x, y = (
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", size])
        for name, size in (("x", 3), ("y", 5))
    )
    graph = onnx.helper.make_graph([node], "tiny", [x], [y], [w])
    opset = onnx.helper.make_opsetid("", 17)
    model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8)
    path = tmp_path / "tiny.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_a_model_is_measured_against_onnxruntime(model: Path) -> None:
    command = ["bench", str(model), "--dim", "batch=4", "--rounds", "2", "--target", TARGET]
    done = run([*command, "--peers", "onnxruntime", "--json", "-"])
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["schema"], found["model"]) == ("inarch.bench.model/1", "tiny.onnx")
    assert found["call_ms"]["min"] > 0
    peer = found["peers"]["onnxruntime"]
    assert peer["error"] == ""
    assert peer["installed"] is (not PEERS["onnxruntime"].missing())
    if peer["installed"]:
        assert peer["ratio"] == pytest.approx(
            peer["call_ms"]["min"] / found["call_ms"]["min"], rel=1e-3
        )
    by_two = json.loads(
        run([*command, "--threads", "2", "--peers", "onnxruntime", "--json", "-"]).out
    )
    assert (found["threads"], by_two["threads"]) == (1, 2)
    assert by_two["call_ms"]["min"] > 0
    assert by_two["peers"]["onnxruntime"]["error"] == ""
    alone = run([*command, "--peers", "torch,none"])
    assert re.search(r"^inarch +[\d.]+ +[\d.]+$", alone.out, re.MULTILINE)


def test_several_targets_and_threads_are_measured_in_turn(model: Path) -> None:
    """A row each, as far as this computer can run them; a profile is of one."""
    other = {"aarch64": "x86-64"}.get(TARGET, "aarch64")
    command = ["bench", str(model), "--dim", "batch=4", "--rounds", "1", "--peers", "none"]
    several = [*command, "--target", f"{TARGET},generic,{other}", "--threads", "1,2"]
    done = run(several)
    assert done.code == 0, done.err
    rows = re.findall(r"^(\S+) +(\d) +[\d.]+$", done.out, re.MULTILINE)
    assert rows == [(name, n) for n in "12" for name in (TARGET, "generic")]
    assert f"\n{other}: not measured: it lacks {other}\n" in done.out
    found = json.loads(run([*several, "--json", "-"]).out)
    assert (found["schema"], list(found["skipped"])) == ("inarch.bench.models/1", [other])
    assert [(one["target"], one["threads"]) for one in found["runs"]] == [
        (name, int(n)) for name, n in rows
    ]
    done = run(
        [
            *command,
            "--target",
            f"{other},{other}+sve" if other == "aarch64" else f"{other},x86-64-v2",
        ]
    )
    assert done.err.startswith(
        f"error: --target: expected one that this computer can run, found {other}, "
    )
    done = run([*several, "--profile"])
    assert done.err == "error: --target: expected one with --profile, found 3\n"
    done = run([*command, "--threads", "1,0"])
    assert "argument --threads: expected a whole number >= 1, found '0'" in done.err


def test_results_of_computed_size_are_compared_with_those_of_peers(tmp_path: Path) -> None:
    """A peer gives as much as counts."""
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[3,40] x) => (int64[n,2] y) '
    made = onnx.parser.parse_model(text + "{ r = Relu(x) z = NonZero(r) y = Transpose(z) }")
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    done = run(
        ["bench", f"{tmp_path}/m.onnx", "--rounds", "1", "--peers", "onnxruntime", "--json", "-"]
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)["peers"]["onnxruntime"]["error"] == ""


def test_an_artifact_is_measured_as_it_is(model: Path) -> None:
    """Of several sizes the first, or the one that is asked for; what compiles a model is refused."""
    artifact = str(model.with_suffix(".inarch"))
    sizes = ["--specialize", "batch=2,3", "--target", TARGET]
    assert run(["compile", str(model), *sizes, "-q", "-o", artifact]).code == 0
    for more in ([], ["--dim", "batch=3"], ["--threads", "1,2"]):
        done = run(["bench", artifact, "--rounds", "1", "--json", "-", *more])
        assert done.code == 0, done.err
        found = json.loads(done.out)
        one = found.get("runs", [found])[-1]
        assert (one["model"], one["peers"]) == ("tiny.inarch", {})
        assert one["call_ms"]["min"] > 0
        assert one["target"].startswith(TARGET)
    bare = shutil.copy(artifact, model.with_suffix(""))
    assert run(["bench", str(bare), "--rounds", "1", "--peers", "none", "-q"]).code == 0
    done = run(["bench", artifact, "--dim", "batch=4"])
    assert done.err == (
        f"error: --dim: expected sizes that '{artifact}' is compiled for (batch=2; batch=3)\n"
    )
    for option in ("--target=generic", "--peers=onnxruntime", "--profile", "--shape=x=2x3"):
        done = run(["bench", artifact, option])
        name = option.partition("=")[0]
        assert done.err == f"error: {name}: it is for a model; '{artifact}' is compiled\n"


def test_a_profile_says_which_loops_threads_share(tmp_path: Path) -> None:
    """As many turns as `explain` says, beside the kernel; on one thread there are none."""
    path = tmp_path / "product.mlir"
    t = "tensor<96x512xf32>, tensor<512x256xf32> -> tensor<96x256xf32>"
    path.write_text(
        "func.func @main(%x: tensor<96x512xf32>, %w: tensor<512x256xf32>) -> tensor<96x256xf32> {\n"
        f"  %0 = graph.matmul %x, %w : {t}\n  func.return %0 : tensor<96x256xf32>\n}}\n"
    )
    command = ["bench", str(path), "--rounds", "1", "--target", TARGET, "--profile"]
    found = json.loads(run([*command, "--json", "-"]).out)
    told = json.loads(run(["explain", str(path), "--target", TARGET, "--json"]).out)
    turns = {one["turns"] for one in told["threads"] if one["loop"]}
    assert turns
    assert {step["shared_turns"] for step in found["steps"] if step["shared_turns"]} == turns
    lines = run(command).out.splitlines()
    step = next(each for each in found["steps"] if each["shared_turns"])
    assert any(f" {step['shared_turns']}  {step['kernel']}" in line for line in lines)
    shared = json.loads(run([*command, "--threads", "2", "--json", "-"]).out)
    assert shared["threads"] == 2
    kernels = [(step["kernel"], step["shared_turns"]) for step in found["steps"]]
    assert [(step["kernel"], step["shared_turns"]) for step in shared["steps"]] == kernels
    assert "2 threads, 1 rounds" in run([*command, "--threads", "2"]).out


@pytest.mark.parametrize("more", [[], ["--profile"]])
def test_a_schedule_is_what_is_measured(model: Path, tmp_path: Path, more: list[str]) -> None:
    """Also that it fails as it does for `inarch compile`."""
    (tmp_path / "mine.schedule").write_text('at "nowhere": vectorize k\n')
    command = ["bench", str(model), "--dim", "batch=4", "--rounds", "1", "--peers", "none", *more]
    done = run([*command, "--schedule", str(tmp_path / "mine.schedule")])
    where = f"{tmp_path / 'mine.schedule'}:1:1"
    assert done.err == f"{where}: error: no nest or loop 'nowhere'. Known: y\n"
    (tmp_path / "mine.schedule").write_text("")
    done = run([*command, "--schedule", str(tmp_path / "mine.schedule")])
    assert done.code == 0, done.err


def test_a_profile_has_every_kernel(model: Path) -> None:
    """Of a whole model: each step once a round, the executed operations, and where it comes from."""
    command = [
        "bench",
        str(model),
        "--dim",
        "batch=4",
        "--rounds",
        "2",
        "--target",
        TARGET,
        "--profile",
    ]
    found = json.loads(run([*command, "--json", "-"]).out)
    assert found["schema"] == "inarch.bench.profile/1"
    assert sum(step["executed_flops"] for step in found["steps"]) >= 2 * 4 * 3 * 5
    assert found["total_ms"] == pytest.approx(
        sum(step["ms"]["min"] for step in found["steps"]), rel=1e-3
    )
    done = run(command)
    assert done.code == 0, done.err
    assert f"{len(found['steps'])} kernels, " in done.out
    assert all(step["kernel"] in done.out for step in found["steps"])
    assert all(step["shared_turns"] == 0 for step in found["steps"]), "it has no work to share"
    assert "turns: of the loop that threads share in a call; -: none." in done.out
    wrong = run([*BENCH, "--profile"])
    assert wrong.err == "error: --profile: it is for a model; layers list their steps with --json\n"
    wrong = run([*BENCH, "--threads", "2"])
    assert wrong.err == "error: --threads: it is for a model; layers are measured on one thread\n"
    wrong = run([*BENCH, "--schedule", "mine.schedule"])
    assert wrong.err == "error: --schedule: it is for a model\n"
    wrong = run([*BENCH, "--numerics", "fast"])
    assert wrong.err == "error: --algorithm, --numerics: they are for a model\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["layer"], "error: expected 'layers' or the file of a model, found 'layer'\n"),
        (["tiny.onnx", "conv1"], "error: SET: it is for layers; 'tiny.onnx' is a model\n"),
        (
            ["tiny.onnx", "--markdown", "a.md"],
            "error: --markdown: it is for layers; 'tiny.onnx' is a ",
        ),
        (
            ["tiny.onnx", "--dim", "batch"],
            "error: --dim: expected NAME=VALUE with a whole number, ",
        ),
        (["tiny.onnx", "--peers", "tor"], "error: no peer 'tor'; did you mean 'torch'? Known: "),
    ],
)
def test_a_wrong_command_line_for_a_model(
    arguments: list[str], message: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model.parent)
    done = run(["bench", *arguments])
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(message)
