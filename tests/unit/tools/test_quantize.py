"""`inarch quantize`: what it writes, what it says of it, what it refuses; against NumPy and onnxruntime."""

# Onnx and onnxruntime are untyped:
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import inarch
from inarch.quantization.network import layers_of, showing
from inarch.quantization.samples import read_samples
from inarch.quantization.settings import Settings, make
from inarch.tools.cli import run

Array = np.ndarray[Any, Any]

CHANNELS = (3, 4, 8)
CLASSES = 5


def convolutions(*, batch: int | str = "N", opset: int = 17, loud: bool = False) -> onnx.ModelProto:
    """Two convolutions, each with a Relu, and a product; of `loud` one input channel's weights are large."""
    rng = np.random.default_rng(0)
    nodes: list[Any] = []
    constants: dict[str, Array] = {}
    last = "x"
    for number, (taken, given) in enumerate(pairwise(CHANNELS)):
        w = rng.standard_normal((given, taken, 3, 3)).astype(np.float32) / 5
        if loud and number == 1:
            w[:, 0] *= 300
        constants |= {f"w{number}": w, f"b{number}": rng.standard_normal(given).astype(np.float32)}
        operands = [last, f"w{number}", f"b{number}"]
        nodes.append(
            helper.make_node("Conv", operands, [f"c{number}"], name=f"conv{number}", pads=[1] * 4)
        )
        nodes.append(helper.make_node("Relu", [f"c{number}"], [f"r{number}"]))
        last = f"r{number}"
    nodes.append(helper.make_node("GlobalAveragePool", [last], ["p"], name="pool"))
    nodes.append(helper.make_node("Flatten", ["p"], ["f"], name="flat"))
    constants["wf"] = rng.standard_normal((CHANNELS[-1], CLASSES)).astype(np.float32)
    constants["bf"] = np.zeros(CLASSES, np.float32)
    nodes.append(helper.make_node("Gemm", ["f", "wf", "bf"], ["y"], name="classes"))
    graph = helper.make_graph(
        nodes,
        "convolutions",
        [helper.make_tensor_value_info("x", 1, [batch, CHANNELS[0], 6, 6])],
        [helper.make_tensor_value_info("y", 1, [batch, CLASSES])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def samples(count: int = 4) -> Array:
    return np.random.default_rng(1).standard_normal((count, CHANNELS[0], 6, 6)).astype(np.float32)


@pytest.fixture(autouse=True)
def fixture_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(convolutions(), "m.onnx")
    np.savez("data.npz", x=samples())


def plain(text: str) -> str:
    """With `N` for each number that is measured."""
    return re.sub(r" +-?\d+\.\d+", " N", text)


COMMAND = ("quantize", "m.onnx", "--calibrate", "data.npz", "--rounds", "1", "--threads", "1")


def test_what_it_says() -> None:
    code, out, err = run([*COMMAND])
    assert (code, err) == (0, "")
    head, *lines = plain(out).splitlines()
    assert head == (
        "m.onnx: 7 of 7 nodes in bytes (Conv 2, Relu 2, GlobalAveragePool 1, Flatten 1, Gemm 1)"
    )
    slower = [line for line in lines if line.startswith("  slower here")]
    assert slower in (
        [],
        ["  slower here: inarch compile --remarks=keep-integers says of which products, and why"],
    )
    lines = [line for line in lines if line not in slower]
    assert [re.sub(r" \(N\)$| \(\d\.\d+\)$", "", line) for line in lines[:2]] == [
        "  size: N kB, now N kB",
        "  time: N ms, now N ms",
    ]
    assert re.fullmatch(r"  output 'y': N dB, the largest is the same in \d of 4 rows", lines[2])
    assert lines[3] == "loses most, of 4 samples, alone and with all that was lost before:"
    names = [line.split()[0] for line in lines[4:-2]]
    assert sorted(names) == ["classes", "conv0", "conv1", "flat", "pool"]
    assert lines[-2:] == [f"  in floats again: --exclude {names[0]}", "m.int8.onnx: written"]


def test_the_settings_that_run_well_here() -> None:
    """QDQ, weights of i8 without a zero point and with a scale for each output, activations of ui8."""
    assert run([*COMMAND, "-q", "-o", "out.onnx"]) == (0, "", "")
    graph = onnx.load("out.onnx").graph
    assert {node.op_type for node in graph.node} == {
        "QuantizeLinear", "DequantizeLinear", "Conv", "GlobalAveragePool", "Flatten", "Gemm",
    }  # fmt: skip
    held = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    assert held["w0_quantized"].dtype == np.int8
    assert held["w0_scale"].shape == (CHANNELS[1],)
    assert not held["w0_zero_point"].any()
    assert held["x_zero_point"].dtype == np.uint8


def test_the_numbers_are_those_of_the_two_models() -> None:
    code, out, _ = run([*COMMAND, "--json"])
    assert code == 0
    told: dict[str, Any] = json.loads(out)
    before, after = (inarch.compile(name) for name in ("m.onnx", "m.int8.onnx"))
    pairs = [(before(x[None]), after(x[None])) for x in samples()]
    signal, noise = (sum(float(np.sum(each**2)) for each in many) for many in (
        [a.astype(np.float64) for a, _ in pairs], [b.astype(np.float64) - a for a, b in pairs],
    ))  # fmt: skip
    (end,) = told["outputs"]
    assert end["snr"] == pytest.approx(10 * np.log10(signal / noise), abs=0.01)
    assert end["top1"] == np.mean([a.argmax() == b.argmax() for a, b in pairs])
    assert (told["schema"], told["samples"], told["nodes"]) == ("inarch.quantize/1", 4, 7)
    assert told["bytes"]["quantized"] == Path("m.int8.onnx").stat().st_size
    alone = {each["node"]: each["snr_alone"] for each in told["layers"]}
    assert list(alone.values()) == sorted(alone.values())
    first = next(each for each in told["layers"] if each["node"] == "conv0")
    assert first["snr_alone"] == first["snr_within"], "nothing is lost before it"
    session: Any = onnxruntime.InferenceSession("m.int8.onnx", providers=["CPUExecutionProvider"])
    theirs = session.run(None, {"x": samples()[:1]})[0]
    np.testing.assert_allclose(theirs, pairs[0][1], atol=np.abs(theirs).max() / 50)


def test_the_layer_that_loses_most_and_without_it() -> None:
    """One input channel of conv1 is 300 times as loud: what the others say is lost in its scale."""
    onnx.save(convolutions(loud=True), "m.onnx")

    def told(*more: str) -> Any:
        code, out, _ = run([*COMMAND, "--json", *more])
        assert code == 0
        return json.loads(out)

    worst = told()["layers"][0]
    assert worst["node"] == "conv1"
    again = told("--exclude", "conv1")
    assert "conv1" not in [each["node"] for each in again["layers"]]
    assert again["quantized"]["Conv"] == 1


def test_only_these(tmp_path: Path) -> None:
    """A Relu whose operand is in bytes has nothing to do any more."""
    model = onnx.load("m.onnx")
    data = read_samples(Path("data.npz"), model, "--calibrate")
    made = make(model, data, Settings(only=["conv*"]), tmp_path, "m.onnx", None)
    assert made.nodes == ["conv0", "r0", "conv1", "r1"]


def test_each_layer_alone_is_of_the_float_models_values(tmp_path: Path) -> None:
    """Against the two models cut by hand: conv1 in bytes, of what conv0 makes in floats."""
    code, out, _ = run([*COMMAND, "--json"])
    assert code == 0
    found = {each["node"]: each["snr_alone"] for each in json.loads(out)["layers"]}
    model = onnx.load("m.onnx")
    data = read_samples(Path("data.npz"), model, "--calibrate")
    made = make(model, data, Settings(), tmp_path, "m.onnx", None)
    assert [each.value for each in layers_of(made)] == ["r0", "r1", "p", "f", "y"]
    floats = inarch.compile(showing(made.plain, ["r0", "r1"]))
    held = {one.name: numpy_helper.to_array(one) for one in made.quantized.graph.initializer}

    def rounded(x: Array, name: str) -> Array:
        scale, zero = held[f"{name}_scale"], held[f"{name}_zero_point"]
        return (np.clip(np.rint(x / scale) + zero, 0, 255) - zero) * scale

    w = held["w1_quantized"] * held["w1_scale"].reshape(-1, 1, 1, 1)
    bias = held["b1_quantized"] * held["b1_quantized_scale"]
    signal = noise = 0.0
    for x in samples():
        r0, r1 = floats.run({"x": x[None]}).values()
        image = np.pad(rounded(r0, "r0"), [(0, 0), (0, 0), (1, 1), (1, 1)])
        windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (2, 3))
        own = np.einsum("nchwij,ocij->nohw", windows, w) + bias.reshape(1, -1, 1, 1)
        own = rounded(np.maximum(own, 0), "r1")
        signal, noise = signal + float(np.sum(r1**2)), noise + float(np.sum((own - r1) ** 2))
    assert found["conv1"] == pytest.approx(10 * np.log10(signal / noise), abs=0.2)


def test_dynamic() -> None:
    """Products only; without samples the one that is compared is random, so that sizes have to be known."""
    command = ("quantize", "m.onnx", "--dynamic", "--rounds", "1", "--json")
    assert run([*command]) == (
        2, "", "error: --check: expected samples, as the model leaves sizes of 'x' open, found none\n",
    )  # fmt: skip
    onnx.save(convolutions(batch=1), "m.onnx")
    for more in ((), ("--check", "data.npz")):
        code, out, _ = run([*command, *more])
        assert code == 0
        told: dict[str, Any] = json.loads(out)
        assert told["quantized"] == {"Gemm": 1}
        assert told["samples"] == (4 if more else 1)
        assert told["layers"][0]["node"] == "classes"
    assert run([*command, "--exclude", "classes"]) == (
        1,
        "",
        "m.onnx: error: nothing was quantized: expected one of Attention, Gather, Gemm, LSTM, MatMul with "
        "constant weights\n",
    )


def test_samples_in_a_folder_and_an_older_operator_set() -> None:
    """Opset 11 has one scale of all weights only: the model is converted."""
    Path("many").mkdir()
    for number, x in enumerate(samples()):
        np.savez(f"many/{number}.npz", x=x[None].astype(np.float64))
    old = convolutions(opset=11)
    onnx.save(old, "m.onnx")
    code, out, _ = run(["quantize", "m.onnx", "--calibrate", "many", "--rounds", "1", "--json"])
    assert code == 0
    assert json.loads(out)["samples"] == 4


def test_products_of_two_activations_stay_floats() -> None:
    """Their operands may be in bytes; a transposed value is an output here, as all are, and multiplied."""
    np.savez("two.npz", x=np.random.default_rng(2).standard_normal((3, 1, 8, 8)).astype(np.float32))
    text = f"""<ir_version: 8, opset_import: [{OPSETS}]> g (float[1,8,8] x) => (float[1,8,8] y)
        {{ t = Transpose<perm=[0,2,1]>(x) p = MatMul(t, w) q = MatMul(p, t) y = MatMul(q, w) }}"""
    model = onnx.parser.parse_model(text)
    w = np.random.default_rng(3).standard_normal((8, 8)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(w, "w"))
    onnx.save(model, "two.onnx")
    code, out, _ = run(
        ["quantize", "two.onnx", "--calibrate", "two.npz", "--rounds", "1", "--json"]
    )
    assert code == 0
    told: dict[str, Any] = json.loads(out)
    assert told["quantized"] == {"MatMul": 2}
    assert sorted(each["node"] for each in told["layers"]) == ["p", "y"]


OPSETS = '"" : 17'
ERRORS: dict[str, tuple[list[str], int, str]] = {
    "neither": (
        ["m.onnx"],
        2,
        "expected --calibrate DATA.npz, samples by which ranges are found, or --dynamic; found neither",
    ),
    "both": (
        ["m.onnx", "--dynamic", "--calibrate", "data.npz"],
        2,
        "--calibrate: it does not go with --dynamic, which takes ranges at each call",
    ),
    "a text": (["m.mlir", "--dynamic"], 2, "expected a model in .onnx, found 'm.mlir'"),
    "a name": (
        ["m.onnx", "--calibrate", "data.npz", "--exclude", "conv9"],
        2,
        "--exclude: expected the name of a node, or a pattern, found 'conv9'; did you mean 'conv1'?",
    ),
    "no name": (
        ["m.onnx", "--calibrate", "data.npz", "--only", "/x/*"],
        2,
        "--only: expected the name of a node, or a pattern, found '/x/*'",
    ),
    "another array": (
        ["m.onnx", "--calibrate", "other.npz"],
        2,
        "--calibrate: expected an array 'x' in 'other.npz', found 'z'",
    ),
    "a shape": (
        ["m.onnx", "--calibrate", "shape.npz"],
        2,
        "--calibrate: expected samples of 'x' (?x3x6x6) along a first axis, found shape (4, 3, 6) in "
        "'shape.npz'",
    ),
    "a dtype": (
        ["m.onnx", "--calibrate", "dtype.npz"],
        2,
        "--calibrate: expected 'x' of float32, found int64",
    ),
    "none": (
        ["m.onnx", "--calibrate", "none.npz"],
        2,
        "--calibrate: expected as many samples of each input, found 0 of 'x'",
    ),
    "no files": (
        ["m.onnx", "--calibrate", "empty"],
        2,
        "--calibrate: expected .npz files in 'empty', found none",
    ),
    "samples of two shapes": (
        ["wide.onnx", "--calibrate", "two"],
        2,
        "--calibrate: expected samples of one shape, found 'x' of (1, 3) in 'two/0.npz' and of (1, 4) in "
        "'two/1.npz'",
    ),
    "an array alone": (
        ["m.onnx", "--calibrate", "x.npy"],
        2,
        "--calibrate: expected a .npz of inputs by name, found 'x.npy'",
    ),
    "nothing to quantize": (
        ["wide.onnx", "--calibrate", "wide.npz"],
        1,
        "nothing was quantized: expected one of Conv, Gemm, MatMul with constant weights",
    ),
}


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    arguments, wanted, message = ERRORS[name]
    np.savez("other.npz", z=samples())
    np.savez("shape.npz", x=samples()[..., 0])
    np.savez("dtype.npz", x=samples().astype(np.int64))
    np.savez("none.npz", x=samples()[:0])
    np.savez("wide.npz", x=np.ones((2, 3), np.float32))
    np.save("x.npy", samples())
    for folder in ("empty", "two"):
        Path(folder).mkdir()
    for number in range(2):
        np.savez(f"two/{number}.npz", x=np.ones((1, 3 + number), np.float32))
    text = f"<ir_version: 8, opset_import: [{OPSETS}]> g (float[1,W] x) => (float[1,W] y) {{ y = Exp(x) }}"
    onnx.save(onnx.parser.parse_model(text), "wide.onnx")
    where = "wide.onnx: " if wanted == 1 else ""
    assert run(["quantize", *arguments, "--rounds", "1"]) == (
        wanted,
        "",
        f"{where}error: {message}\n",
    )
    assert not list(Path().glob("*.int8.onnx")), "what fails writes nothing"


def test_without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert run([*COMMAND]) == (
        3,
        "",
        "error: the package onnxruntime is not installed; pip install 'inarch[quantize]'\n",
    )


def test_what_onnxruntime_raises_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        print("noise")
        raise ValueError("no such thing\nand more")

    monkeypatch.setattr("onnxruntime.quantization.quantize_static", broken)
    assert run([*COMMAND]) == (
        1,
        "",
        "m.onnx: error: onnxruntime cannot quantize the model: no such thing\n",
    )
