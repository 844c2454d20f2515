"""`inarch` on the command line: every command and option, and that it does what it says."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import inarch
from compilers import command_of
from inarch.artifact import Artifact
from inarch.core.npz import write_npz
from inarch.pipeline.default import default_pipeline
from inarch.tools.cli import Outcome, run

Array = np.ndarray[Any, Any]

COMMANDS = ("compile", "inspect", "list", "run")

X = np.arange(12, dtype=np.float32).reshape(1, 12) - 6


def model(batch: int | str = 1) -> onnx.ModelProto:
    """y = softmax(relu(x @ w + b)), z = the sum of w's columns; weights large enough for a side file."""
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Softmax", ["r"], ["y/out"]),
        helper.make_node("ReduceSum", ["h"], ["file"], keepdims=0),
    ]
    weights = {
        "w": rng.standard_normal((12, 20), np.float32),
        "b": rng.standard_normal(20, np.float32),
    }
    graph = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 12])],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("y/out", "file")],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(name="folder")
def fixture_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `m.onnx`, `dynamic.onnx` (dimension n), `x.npy` and `x.npz`."""
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(model().SerializeToString())
    Path("dynamic.onnx").write_bytes(model("n").SerializeToString())
    np.save("x.npy", X)
    np.savez("x.npz", x=X)
    return tmp_path


NOTES = re.compile(
    r"^(note: weights are not in .*|wrote .*|.*: random \(seed \d+\))\n", re.MULTILINE
)
"""What commands say besides; `test_cli_notes.py` has the exact texts."""


def inarch_(command: str) -> str:
    """What a command that succeeds prints; nothing but notes goes to the standard error."""
    outcome = run(command.split())
    assert (outcome.code, NOTES.sub("", outcome.err)) == (0, "")
    return outcome.out


def failure(command: str, code: int) -> str:
    """The one line that a command which leaves with `code` writes."""
    outcome = run(command.split())
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.count("\n") == 1
    return outcome.err.rstrip("\n")


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "inarch.tools.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


# Help


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command: str) -> None:
    outcome = run([command, "--help"])
    assert outcome.code == 0
    assert "\nexample" in outcome.out
    assert f"  inarch {command} " in outcome.out.partition("\nexample")[2]


def test_help_and_version() -> None:
    text = run(["--help"]).out
    for command in COMMANDS:
        assert f"\n    {command} " in text
    assert run(["--version"]) == Outcome(0, f"inarch {inarch.__version__}\n", "")


# compile


def test_compile(folder: Path) -> None:
    text = inarch_("compile m.onnx --target generic")
    assert text.startswith("m.inarch: m for generic, ")
    assert re.search(r" kernels \(microkernels: [a-z0-9-]+ \d.*\), \d\.\d KiB of weights, ", text)
    assert sorted(item.name for item in folder.iterdir()) == [
        "dynamic.onnx",
        "m.inarch",
        "m.onnx",
        "x.npy",
        "x.npz",
    ]
    assert inarch_("compile m.onnx -q") == ""


def test_compile_json(folder: Path) -> None:
    facts = json.loads(inarch_("compile m.onnx -o out.inarch --name net --target generic --json"))
    assert facts.pop("seconds") > 0
    assert facts.pop("kernels") > 1
    assert sum(facts.pop("microkernels").values()) > 0
    assert facts.pop("workspace_bytes") > 0
    weights = facts.pop("weights_bytes")
    assert weights % 64 == 0
    assert weights >= 12 * 20 * 4 + 20 * 4
    assert facts.pop("pipeline") == str(default_pipeline())
    assert facts.pop("passes") == {}
    assert facts.pop("host") == "c"
    assert facts.pop("target") == facts.pop("machine") == "generic"
    assert facts.pop("reused") == facts.pop("offloaded") == {}
    assert facts.pop("tuned") is None
    assert facts.pop("chosen") == {}
    assert facts == {"path": "out.inarch", "name": "net", "shipped_bytes": 0, "variants": []}
    assert (folder / "out.inarch").exists()


@pytest.mark.parametrize("options", ["--dim n=3", "--shape x=3x12"])
def test_dynamic_dimensions(folder: Path, options: str) -> None:
    inarch_(f"compile dynamic.onnx {options} -o d.inarch -q")
    assert inarch.load(folder / "d.inarch").signature.inputs[0].shape == (3, 12)


@pytest.mark.slow
def test_a_level_compiles_to_the_same_results(folder: Path) -> None:
    inarch_("compile m.onnx -q")
    inarch_("run m.inarch --input x.npy -o expected.npz -q")
    for level in ("graph", "loop", "kernel"):
        text = inarch_(f"compile m.onnx --emit={level}")
        assert inarch_(f"compile m.onnx --emit={level} -o {level}.mlir") == ""
        assert (folder / f"{level}.mlir").read_text() == text
        assert (folder / f"{level}.npz").exists()
        inarch_(f"run {level}.mlir --input x.npy --check expected.npz -q")
        inarch_(f"run m.inarch --check {level}.mlir -q")
    assert " loc(" in inarch_("compile m.onnx --emit=graph --print-debuginfo")
    for words in ("", " --emit=c"):
        assert failure(f"compile m.onnx{words} --print-debuginfo", 2) == (
            "error: --print-debuginfo: expected --emit=graph|loop|kernel beside it"
        )
    assert failure("compile m.onnx --emit=c --json", 2) == (
        "error: --json describes an artifact; it does not go with --emit"
    )


COMPILERS = {
    "gcc": ["-std=c11"],
    "clang": ["-std=c11"],
    "g++": ["-x", "c++"],
}


@pytest.mark.sampled(3, reason="each compiler, and both targets")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
def test_the_c_compiles_alone(folder: Path, compiler: str, target: str) -> None:
    inarch_(f"compile m.onnx --emit=c --target {target} -o m.c")
    flags = ["-Wall", "-Wextra", "-Werror", "-O1", "-c", "-o", "m.o"]
    if target != "generic":
        flags += ["-march=x86-64-v3"]
    done = subprocess.run(
        [command_of(compiler), *COMPILERS[compiler], *flags, "m.c"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_devices_are_written_to(folder: Path) -> None:
    before = Path(os.devnull).stat()
    inarch_(f"compile m.onnx --emit=c -o {os.devnull}")
    inarch_(f"compile m.onnx -q -o {os.devnull}")
    assert Path(os.devnull).stat().st_ino == before.st_ino
    text = process("compile", "m.onnx", "--emit=c", "-o", "/dev/stdout", cwd=folder).stdout
    assert text == inarch_("compile m.onnx --emit=c")


def test_a_link_keeps_pointing_where_it_did(folder: Path) -> None:
    (folder / "link.inarch").symlink_to("real.inarch")
    inarch_("compile m.onnx -q -o link.inarch")
    assert (folder / "link.inarch").readlink() == Path("real.inarch")
    assert inarch.load(folder / "real.inarch").name == "m"


def test_load_adds_a_pass_for_one_run(folder: Path) -> None:
    from inarch.passes import PASSES

    (folder / "my_pass.py").write_text(
        '"""Does nothing."""\n'
        "from xdsl.passes import ModulePass\n"
        "class Mine(ModulePass):\n"
        '    """Does nothing."""\n'
        '    name = "my-pass"\n'
        '    runs = "after prepare"\n'
        "    def apply(self, ctx, op):\n"
        "        pass\n"
        "PASS = Mine\n"
    )
    inarch_("compile m.onnx -q --load my_pass.py")
    assert "my-pass" not in PASSES
    assert failure("compile m.onnx --load nope.py", 2) == (
        "error: --load: expected a Python file, found 'nope.py'"
    )


COMMAND = """from inarch.tools.commands import Command
def add_arguments(parser):
    parser.add_argument("who")
def execute(arguments):
    print("hello", arguments.who)
    return 0
COMMAND = Command("Says hello.", "example: inarch hello you", add_arguments, execute)
"""


@pytest.mark.usefixtures("folder")
def test_a_command_is_loaded_before_it_is_named() -> None:
    Path("hello.py").write_text(COMMAND)
    assert inarch_("--load hello.py hello you") == inarch_("--load=hello.py hello you")
    assert inarch_("--load hello.py hello you") == "hello you\n"
    assert "Says hello." in inarch_("--load hello.py --help")
    assert failure("hello you", 2).startswith("error: no command 'hello'. Known: bench, ")
    assert failure("--load nope.py hello you", 2) == (
        "error: --load: expected a Python file, found 'nope.py'"
    )
    assert failure("--load", 2) == "error: --load: expected a file behind it; see 'inarch --help'"


# run


@pytest.mark.parametrize("given", ["x.npy", "x=x.npy", "x.npz"])
def test_run_with_inputs(folder: Path, given: str) -> None:
    expected = inarch.compile(folder / "m.onnx").run({"x": X})
    inarch_(f"run m.onnx --input {given} -o out.npz -q")
    with np.load(folder / "out.npz") as outputs:
        assert outputs.files == ["y/out", "file"]
        for name, array in expected.items():
            np.testing.assert_array_equal(outputs[name], array)


def test_run_says_what_came_out(folder: Path) -> None:
    inarch_("compile m.onnx -q")
    lines = inarch_("run m.inarch --repeat 3").splitlines()
    assert lines[0].startswith("y/out: float32[1, 20] [")
    assert lines[0].endswith("] ...")
    assert lines[1].startswith("file: float32[] [")
    assert lines[2].startswith("median of calls: ")
    assert inarch_("run m.inarch --seed 1") != inarch_("run m.inarch --seed 2")
    facts = json.loads(inarch_("run m.inarch --input x.npy --json --repeat 3"))
    assert facts["microseconds"] > 0
    result = inarch.load(folder / "m.inarch").run({"x": X})["y/out"]
    found = facts["outputs"]["y/out"]
    assert (found["dtype"], found["shape"]) == ("float32", [1, 20])
    assert (found["argmax"], found["max"]) == (int(result.argmax()), float(result.max()))


def test_run_verifies_when_asked(folder: Path) -> None:
    """Weights that somebody changed, who set the checksum right as well; a damaged file without asking."""
    inarch_("compile m.onnx -q --target generic")
    path = folder / "m.inarch"
    with Artifact.open(path) as artifact:
        start = artifact.manifest.weights_offset
    inarch_("run m.inarch --input x.npy -q --verify")
    data = bytearray(path.read_bytes())
    data[start] ^= 1
    path.write_bytes(data)
    found = run(["run", "m.inarch", "--input", "x.npy"])
    assert (found.code, found.err) == (
        1,
        "m.inarch: error: expected the bytes that were written, found others: a damaged file; copy it "
        "again, or compile the model again\n",
    )
    data[-8:] = b"%08x" % zlib.crc32(data[:-8])
    path.write_bytes(data)
    inarch_("run m.inarch --input x.npy -q")
    found = run(["run", "m.inarch", "--input", "x.npy", "--verify"])
    assert (found.code, found.err) == (
        1,
        "m.inarch: error: expected the weights of the manifest, found others: a damaged file\n",
    )
    found = run(["run", "m.onnx", "--verify"])
    assert (found.code, found.err) == (
        2,
        "error: --verify: expected an artifact, found the model 'm.onnx', which is compiled now; "
        "leave it out\n",
    )


def test_names_as_long_as_a_file_can_have(folder: Path) -> None:
    """Of the model's file, and of the graph in it, which is longer than any file's name."""
    name = "n" * 248
    shutil.copy(folder / "m.onnx", folder / f"{name}.onnx")
    inarch_(f"compile {name}.onnx -q --target generic")
    inarch_(f"run {name}.inarch --input x.npy -q")
    named = model()
    named.graph.name = "\u00e9" * 150 + "n" * 2000
    result = inarch.compile(named.SerializeToString(), target="generic").run({"x": X})
    np.testing.assert_array_equal(
        result["y/out"], inarch.load(folder / f"{name}.inarch").run({"x": X})["y/out"]
    )


@pytest.mark.usefixtures("folder")
def test_an_artifact_of_any_name() -> None:
    for name in ("plain", "m.bin"):
        inarch_(f"compile m.onnx -q -o {name}")
        inarch_(f"run {name} --input x.npy -q")


@pytest.mark.usefixtures("folder")
def test_check_in_all_forms() -> None:
    inarch_("compile m.onnx -q")
    inarch_("run m.inarch --input x.npy -q -o good.npz")
    for command in (
        "run m.onnx --input x.npy --check onnxruntime",
        "run m.inarch --input x.npy --check m.onnx",
        "run m.inarch --input x.npy --check good.npz",
        "run dynamic.onnx --dim n=1 --input x.npy --check onnxruntime",
        "run m.inarch --input x.npy --check dynamic.onnx",
    ):
        lines = inarch_(command).splitlines()
        assert lines[2].startswith("check y/out: agrees, largest difference ")
        assert lines[3].startswith("check file: agrees, largest difference ")
    facts = json.loads(inarch_("run m.inarch --input x.npy --check good.npz --json"))
    assert facts["check"] == {"y/out": 0.0, "file": 0.0}


@pytest.mark.usefixtures("folder")
def test_a_check_that_fails() -> None:
    inarch_("compile m.onnx -q")
    inarch_("run m.inarch --input x.npy -q -o good.npz")
    with np.load("good.npz") as file:
        good = {name: file[name] for name in file.files}
    wrong = good["y/out"].copy()
    wrong[0, 7] += 0.5
    relative = 0.5 / wrong.max()
    write_npz(Path("wrong.npz"), {**good, "y/out": wrong})
    check = "run m.inarch --input x.npy -q --check"
    assert failure(f"{check} wrong.npz", 1) == (
        f"error: --check: output 'y/out' differs by {relative:.2e} of its maximum (allowed: 1e-04): "
        f"element [0, 7] is {good['y/out'][0, 7]}, expected {wrong[0, 7]}"
    )
    assert failure(f"{check} wrong.npz --tolerance relative=0.001", 1) == (
        f"error: --check: output 'y/out': relative {relative:.3g} (allowed: relative=0.001): "
        f"element [0, 7] is {good['y/out'][0, 7]}, expected {wrong[0, 7]}"
    )
    inarch_(f"{check} wrong.npz --tolerance absolute=0.51")
    assert failure(f"{check} good.npz --tolerance stepz=1", 2).startswith(
        "error: no metric 'stepz' in --tolerance"
    )
    assert failure("run m.inarch --tolerance snr=20", 2) == (
        "error: --tolerance: expected --check REFERENCE beside it, found none"
    )
    write_npz(Path("shape.npz"), {**good, "y/out": wrong.ravel()})
    assert failure(f"{check} shape.npz", 1) == (
        "error: --check: output 'y/out': expected shape (20,), found (1, 20)"
    )
    np.savez("other.npz", other=wrong)
    assert failure(f"{check} other.npz", 1) == (
        "error: --check: the reference has no output 'y/out'"
    )
    wrong[0, 7] = np.nan
    write_npz(Path("nan.npz"), {**good, "y/out": wrong})
    assert failure(f"{check} nan.npz", 1).startswith(
        "error: --check: output 'y/out' differs by inf of its maximum (allowed: 1e-04): element [0, 7]"
    )


def test_a_check_of_what_is_not_finite(folder: Path) -> None:
    """Equal infinities and NaN agree; they do not hide what differs beside them."""
    text = (
        'func.func @main(%x: tensor<3xf32> {inarch.name = "x"}) '
        '-> (tensor<3xf32> {inarch.name = "y"}) {\n'
        "  %y = graph.relu %x : tensor<3xf32> -> tensor<3xf32>\n"
        "  func.return %y : tensor<3xf32>\n}\n"
    )
    (folder / "relu.mlir").write_text(text)
    np.save("odd.npy", np.array([np.nan, np.inf, 2], np.float32))
    np.savez("good.npz", y=np.array([np.nan, np.inf, 2], np.float32))
    np.savez("wrong.npz", y=np.array([np.nan, np.inf, 4], np.float32))
    inarch_("run relu.mlir --input odd.npy --check good.npz -q")
    assert failure("run relu.mlir --input odd.npy --check wrong.npz -q", 1) == (
        "error: --check: output 'y' differs by 5.00e-01 of its maximum (allowed: 1e-04): "
        "element [2] is 2.0, expected 4.0"
    )


# inspect, list


def test_inspect(folder: Path) -> None:
    inarch_("compile m.onnx -q --target generic --name net")
    lines = inarch_("inspect m.inarch").splitlines()
    assert lines[0] == "name       net"
    assert lines[1:3] == ["host       c", "target     generic"]
    assert "main(x: f32[1, 12]) -> (y/out: f32[1, 20], file: f32[])" in lines
    assert "checked" not in "".join(lines)
    assert inarch_("inspect m.inarch --check").splitlines()[-1] == (
        "checked    library, members and weights"
    )
    manifest = json.loads(inarch_("inspect m.inarch --json"))
    assert (manifest["inarch"], manifest["prefix"]) == (inarch.__version__, "net")
    assert (folder / "m.inarch").stat().st_size > manifest["weights_offset"]


def test_list_json() -> None:
    rows = json.loads(inarch_("list frontends --json"))
    names = [row["name"] for row in rows["frontends"]]
    assert names == sorted(names)
    assert {"mlir", "onnx"} <= set(names)
    assert all(row["summary"] and row["origin"] for row in rows["frontends"])


# The process


@pytest.mark.slow
def test_the_process_is_silent_without_a_terminal(folder: Path) -> None:
    done = process("compile", "m.onnx", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("m.inarch: m for ")
    done = process("compile", "nope.onnx", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "nope.onnx: error: expected an ONNX model, found no such file\n"


@pytest.mark.slow
def test_short_work_shows_nothing_on_a_terminal(folder: Path) -> None:
    inarch_("compile m.onnx -q")  # what follows is cached, and done in less than a second
    reader, terminal = pty.openpty()
    command = [sys.executable, "-m", "inarch.tools.cli", "compile", "m.onnx", "-q"]
    with subprocess.Popen(command, cwd=folder, stderr=terminal) as started:
        assert started.wait() == 0
    os.close(terminal)
    os.set_blocking(reader, False)
    try:
        assert os.read(reader, 1000) == b""
    except OSError:
        pass  # the other end is closed, and nothing was written
    finally:
        os.close(reader)


def test_a_reader_that_has_seen_enough(folder: Path) -> None:
    """As in `inarch compile m.onnx --emit=c | head -1`."""
    command = [sys.executable, "-m", "inarch.tools.cli", "compile", "m.onnx", "--emit=c"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdout.close()
        assert started.stderr.read() == b""
    assert started.returncode == 0


def test_a_full_disk_under_the_output(folder: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    command = [sys.executable, "-m", "inarch.tools.cli", "compile", "m.onnx", "--emit=c"]
    with full.open("w") as out:
        done = subprocess.run(
            command, cwd=folder, stdout=out, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (3, "error: [Errno 28] No space left on device\n")


def test_a_bug_of_ours_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("some\nthing")

    monkeypatch.setattr("inarch.driver.compiler._run", fail)
    assert failure("compile m.onnx", 70) == (
        r"error: internal error: KeyError: 'some\nthing'; "
        "please report it with the output of: inarch compile m.onnx --debug"
    )
    outcome = run(["compile", "m.onnx", "--debug"])
    assert outcome.code == 70
    assert outcome.err.startswith("Traceback (most recent call last):\n")
    assert sorted(item.name for item in folder.iterdir()) == [
        "dynamic.onnx",
        "m.onnx",
        "x.npy",
        "x.npz",
    ]
