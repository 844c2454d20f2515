"""`inarch bench layers`: sets of layers, our kernels of each, and the command."""

from __future__ import annotations

import importlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import onnx
import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

from inarch.benchmark.harness import Harness
from inarch.benchmark.layers import (
    LAYER_SETS,
    Conv,
    Gemm,
    Layer,
    from_json,
    parse_shape,
    read_layer_set,
    select,
    to_json,
)
from inarch.benchmark.report import BEGIN, END
from inarch.benchmark.results import SCHEMA
from inarch.benchmark.subject.arrays import arrays_of
from inarch.benchmark.subject.blocked import lower_blocked
from inarch.benchmark.subject.program import program_of
from inarch.benchmark.subject.steps import split_steps
from inarch.benchmark.subject.subject import compile_layer
from inarch.core.errors import EnvironmentFault, InarchError, UsageError
from inarch.core.lazy import Array
from inarch.dialects import new_context
from inarch.dialects.loop.control import CallOp
from inarch.driver.compiler import import_model, lower
from inarch.ir.text import parse_module
from inarch.machine.target import parse
from inarch.tools.bench.layers import relative
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


def test_a_set_of_a_file(tmp_path: Path) -> None:
    """Shapes with names, in JSON; what is wrong in it is refused with its place."""
    path = tmp_path / "mine.json"
    row = {"name": "a", "shape": "4x5x7->6k3s2g2", "count": 3, "activation": "none"}
    path.write_text(json.dumps({"description": "mine", "layers": [row]}))
    found = read_layer_set(path)
    assert found.layers == (Conv("a", 4, 5, 7, 6, 3, 2, 2, count=3, activation="none"),)
    path.write_text(json.dumps({"description": "mine", "layers": [{**row, "activation": "gelu"}]}))
    with pytest.raises(UsageError) as caught:
        read_layer_set(path)
    assert caught.value.line() == (
        f"{path}: error: layers[0].activation: expected 'relu' or 'relu6' or 'none', found 'gelu'"
    )


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
    assert (step.kernel, step.shared_iterations) == ("scf.if", 0)
    module.verify()


def test_operations_of_steps_are_those_of_their_reductions() -> None:
    """Of a microkernel, of its accumulating statement, at every point of the loops: [8, 5] by [5, 48]."""
    functions = "".join(
        f"""
func.func private @{name}(%a: memref<8x5xf32>, %b: memref<5x48xf32>, %c: memref<8x48xf32>) {{
  {"loop.for %i = 0 to 3 {" * is_repeated}
  loop.nest (m = 8{", k = 5 reduction" * is_sum}) ins(%a[m, {"k" if is_sum else "0"}] : memref<8x5xf32>)
      outs(%c[m, 0]{" init 0.0" * is_sum} : memref<8x48xf32>) {{
  ^bb0(%x: f32, %o: f32):
    {body}
  }}
  {"loop.yield }" * is_repeated}
  func.return
}}"""
        for name, is_repeated, is_sum, body in (
            ("sum", True, True, "%s = arith.addf %x, %o : f32 loop.yield %s : f32"),
            ("neg", False, False, "%s = arith.negf %x : f32 loop.yield %s : f32"),
            ("copy", True, False, "loop.yield %x : f32"),
        )
    )
    calls = "".join(
        f"loop.call @{name}(%a, %b, %c) : memref<8x5xf32>, memref<5x48xf32>, memref<8x48xf32>\n"
        for name in ("sum", "neg", "copy")
    )
    text = (
        MICROKERNEL_CALL.replace("  loop.call @kernel", f"  {calls}  loop.call @kernel") + functions
    )
    module = parse_module(new_context(), text)
    steps = split_steps(module)
    assert [(step.kernel, step.computes, step.flops) for step in steps] == [
        ("sum", True, 3 * 8 * 5),
        ("neg", True, 0),
        ("copy", False, 0),
        ("kernel", True, 2 * 8 * 5 * 48),
    ]
    for step in steps:  # each alone in its function
        (alone,) = (
            op
            for op in module.body.ops
            if isinstance(op, FuncOp) and op.sym_name == StringAttr(step.function)
        )
        (call,) = (op for op in alone.walk() if isinstance(op, CallOp))
        assert call.callee.root_reference.data == step.kernel


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


def test_the_sets_are_listed() -> None:
    done = run(["bench", "layers", "--list"])
    assert done.code == 0
    assert "resnet50: the 23 distinct convolutions" in done.out
    assert "  l1.c2                64x56x56->64k3s1             x3\n" in done.out
