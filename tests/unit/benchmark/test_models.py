"""`inarch bench` of a model: measured against peers, and by kernel."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from inarch.benchmark.peers import PEERS
from inarch.machine.target import parse
from inarch.tools.cli import run

TARGET = "x86-64-v2" if not parse("x86-64-v2").missing_here() else "generic"
"""The plainest target of this machine: nothing here is about speed."""

BENCH = ["bench", "layers", "--rounds", "1", "--target", TARGET]


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


def test_several_targets_and_threads_are_measured_in_iteration(model: Path) -> None:
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
    for option in ("--target=generic", "--peers=onnxruntime", "--profile", "--measure-regions"):
        done = run(["bench", artifact, option])
        name = option.partition("=")[0]
        assert done.err == f"error: {name}: it is for a model; '{artifact}' is compiled\n"


def test_a_profile_says_which_loops_threads_share(tmp_path: Path) -> None:
    """As many iterations as `explain` says, beside the kernel; on one thread there are none."""
    path = tmp_path / "product.mlir"
    t = "tensor<96x512xf32>, tensor<512x256xf32> -> tensor<96x256xf32>"
    path.write_text(
        "func.func @main(%x: tensor<96x512xf32>, %w: tensor<512x256xf32>) -> tensor<96x256xf32> {\n"
        f"  %0 = graph.matmul %x, %w : {t}\n  func.return %0 : tensor<96x256xf32>\n}}\n"
    )
    command = ["bench", str(path), "--rounds", "1", "--target", TARGET, "--profile"]
    found = json.loads(run([*command, "--json", "-"]).out)
    told = json.loads(run(["explain", str(path), "--target", TARGET, "--json"]).out)
    iterations = {one["iterations"] for one in told["threads"] if one["loop"]}
    assert iterations
    assert {
        step["shared_iterations"] for step in found["steps"] if step["shared_iterations"]
    } == iterations
    lines = run(command).out.splitlines()
    step = next(each for each in found["steps"] if each["shared_iterations"])
    assert any(f" {step['shared_iterations']}  {step['kernel']}" in line for line in lines)
    shared = json.loads(run([*command, "--threads", "2", "--json", "-"]).out)
    assert shared["threads"] == 2
    kernels = [(step["kernel"], step["shared_iterations"]) for step in found["steps"]]
    assert [(step["kernel"], step["shared_iterations"]) for step in shared["steps"]] == kernels
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
    assert all(step["shared_iterations"] == 0 for step in found["steps"]), "it has no work to share"
    assert "iterations: of the loop that threads share in a call; -: none." in done.out
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
