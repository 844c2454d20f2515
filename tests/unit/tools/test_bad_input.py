"""What is wrong outside: one clear line, the right exit code, and no file half written.

At the level of the command line; the same causes have tests of their own where they are found
(`test_onnx_errors`, `test_artifact`, `test_runtime`, `test_toolchain`, `test_cache`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import inarch
from effort import effort
from inarch.core.errors import ArgumentError
from inarch.tools.cli import run

Array = np.ndarray[Any, Any]

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


def model(
    kind: str = "Mul", shape: tuple[int | str, ...] = (2, 3), *, external: bool = False
) -> onnx.ModelProto:
    """y = x * w, or another node of two operands called `work`."""
    weight = numpy_helper.from_array(np.full((2, 3), 2, np.float32), "w")
    if external:
        weight.ClearField("raw_data")
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="weights.bin")
    graph = helper.make_graph(
        [helper.make_node(kind, ["x", "w"], ["y"], name="work")],
        "model",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [weight],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(name="folder", autouse=True)
def fixture_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with the sound model `m.onnx` and `x.npy`."""
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(model().SerializeToString())
    np.save("x.npy", X)
    return tmp_path


def failure(command: str, code: int) -> str:
    """The one line that a command which leaves with `code` writes; it makes and changes no file."""
    before = _contents()
    outcome = run(command.split())
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.endswith("\n")
    assert outcome.err.count("\n") == 1
    assert _contents() == before
    return outcome.err.rstrip("\n")


def _contents() -> dict[Path, bytes | None]:
    every = sorted(Path().rglob("*"))
    return {path: path.read_bytes() if path.is_file() else None for path in every}


# Models


def test_truncated_models() -> None:
    """Cut anywhere, a model is refused (a prefix may be a model; then it lacks something)."""
    data = Path("m.onnx").read_bytes()
    lines = set[str]()
    for size in range(0, len(data) - 1, 7):
        Path("cut.onnx").write_bytes(data[:size])
        lines.add(failure("compile cut.onnx", 1))
    assert "cut.onnx: error: expected an ONNX model, found an empty file" in lines
    assert all(line.startswith("cut.onnx: ") for line in lines)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "an empty file"),
        (b"# A model\n", "text"),
        (b"\x7fEL\x02\x01\x01", "a truncated or damaged file (a field with the number 15)"),
        (
            b"\x7fELF\x02\x01\x01",
            "a shared library or an artifact; inarch.load and 'inarch run' take artifacts",
        ),
    ],
)
def test_what_is_no_model(content: bytes, found: str) -> None:
    Path("bad.onnx").write_bytes(content)
    line = failure("compile bad.onnx", 1)
    if found.startswith("a truncated"):
        assert line.startswith("bad.onnx: error: expected an ONNX model, found a truncated or ")
        return
    assert line == f"bad.onnx: error: expected an ONNX model, found {found}"


def test_models_that_are_not_there(folder: Path) -> None:
    (folder / "dir.onnx").mkdir()
    Path("m.tflite").write_bytes(b"x")
    assert failure("compile nope.onnx", 1) == (
        "nope.onnx: error: expected an ONNX model, found no such file"
    )
    assert failure("compile dir.onnx", 1) == (
        "dir.onnx: error: expected an ONNX model, found a folder"
    )
    assert failure("compile nope.mlir", 1) == (
        "nope.mlir: error: expected MLIR text; No such file or directory"
    )
    assert failure("compile m.tflite", 2) == (
        "error: expected a model that ends in one of .mlir, .onnx; found 'm.tflite'; "
        "export it to ONNX, with python -m tf2onnx.convert --tflite m.tflite --output model.onnx"
    )
    assert failure("compile m.PT", 2) == (
        "error: expected a model that ends in one of .mlir, .onnx; found 'm.PT'; "
        "export it to ONNX, with torch.onnx.export"
    )
    assert failure("compile m.gguf", 2) == (
        "error: expected a model that ends in one of .mlir, .onnx; found 'm.gguf'"
    )


def test_an_unsupported_operator() -> None:
    Path("bad.onnx").write_bytes(model("StringConcat").SerializeToString())
    line = failure("compile bad.onnx", 1)
    assert line.startswith("bad.onnx: error: ")
    assert "StringConcat" in line
    assert "work" in line


def test_an_unbound_dimension() -> None:
    Path("open.onnx").write_bytes(model(shape=("n", 3)).SerializeToString())
    assert failure("compile open.onnx", 1) == (
        "open.onnx: error: dimension 'n' of input 'x' is not bound; "
        "bind it with --dim n=1, or make an artifact of several sizes with "
        "`inarch compile --specialize n=1,8` (unbound: n)"
    )
    assert failure("compile open.onnx --dim m=1", 2) == (
        "error: no dimension 'm' in open.onnx. Known: n"
    )
    assert failure("compile open.onnx --dim n", 2) == (
        "error: --dim: expected NAME=VALUE with a whole number, found 'n'"
    )
    assert failure("compile open.onnx --dim n=-1", 2) == (
        "error: --dim: expected NAME=VALUE with a whole number, found 'n=-1'"
    )
    assert failure("compile open.onnx --shape x=2by3", 2) == (
        "error: --shape: expected INPUT=1x3x224x224, found 'x=2by3'"
    )
    assert failure("compile open.onnx --shape x=2x4", 2) == (
        "error: input 'x': expected shape nx3, found [2, 4]"
    )


def test_a_missing_external_data_file(folder: Path) -> None:
    Path("outside.onnx").write_bytes(model(external=True).SerializeToString())
    line = failure("compile outside.onnx", 1)
    assert line.startswith("outside.onnx: ")
    assert "weights.bin" in line
    assert "no such file" in line
    (folder / "weights.bin").write_bytes(b"too short")
    line = failure("compile outside.onnx", 1)
    assert "weights.bin" in line


def test_text_without_its_constants() -> None:
    Path("m.mlir").write_text(
        "func.func @main() -> tensor<20xf32> {\n"
        "  %w = graph.constant dense_resource<w> : tensor<20xf32>\n"
        "  func.return %w : tensor<20xf32>\n}\n"
    )
    assert failure("compile m.mlir", 1) == (
        "error: constant 'w' has no data: expected it in the store; "
        "read the text with its side file: FILE.npz beside FILE.mlir, or --resources"
    )
    Path("m.npz").write_bytes(b"PK\x03\x04 damaged")
    assert failure("compile m.mlir", 1) == (
        "m.npz: error: expected arrays in a .npy or .npz file: File is not a zip file"
    )
    np.savez("m.npz", w=np.zeros(19, np.float32))
    assert failure("compile m.mlir", 1) == (
        "error: constant 'w': expected 80 bytes of tensor<20xf32>, found 76"
    )
    Path("m.mlir").write_text(Path("m.mlir").read_text().replace("f32", "i1"))
    np.savez("m.npz", w=np.full(20, 2, np.uint8))
    assert failure("compile m.mlir", 1) == (
        "error: constant 'w': expected bools of 0 or 1, found a byte of 2"
    )


def test_text_that_is_wrong() -> None:
    Path("m.mlir").write_text("func.func @main( {\n")
    assert failure("compile m.mlir", 1).startswith("m.mlir:1:")
    Path("m.mlir").write_bytes(b"\xff\xfe\x00")
    assert failure("compile m.mlir", 1) == ("m.mlir: error: expected MLIR text; it is not UTF-8")


# Outputs

UNWRITABLE = {
    "nowhere/out": "No such file or directory",
    "m.onnx/out": "Not a directory",
    "dir": "Is a directory",
    "/proc/out": "No such file or directory",
}


@pytest.mark.parametrize("path", UNWRITABLE)
@pytest.mark.parametrize("command", ["compile m.onnx", "compile m.onnx --emit=c", "run m.onnx"])
def test_an_output_that_cannot_be_written(command: str, path: str, folder: Path) -> None:
    (folder / "dir").mkdir()
    assert failure(f"{command} -o {path}", 3) == f"error: cannot write '{path}': {UNWRITABLE[path]}"


def test_it_is_found_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_late(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("inarch.driver.compiler.import_model", too_late)
    failure("compile m.onnx -o nowhere/out", 3)
    failure("compile m.onnx -o nowhere/out --emit=loop", 3)
    failure("run m.onnx -o nowhere/out", 3)


def test_the_model_is_not_overwritten(folder: Path) -> None:
    (folder / "link").symlink_to("m.onnx")
    for name in ("m.onnx", "./m.onnx", "link"):
        assert failure(f"compile m.onnx -o {name}", 2) == (
            f"error: -o: expected another file than the model, found '{Path(name)}'"
        )


def test_a_full_disk_leaves_the_old_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["compile", "m.onnx", "-q", "-o", "out"]).code == 0

    replace = Path.replace

    def full(path: Path, to: Path) -> Path:
        if to.name == "out":
            raise OSError(28, "No space left on device")
        return replace(path, to)

    monkeypatch.setattr("pathlib.Path.replace", full)
    assert failure("compile m.onnx -q -o out", 3) == (
        "error: cannot write 'out': No space left on device"
    )


def test_a_cache_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """One warning; the program is compiled all the same."""
    cache = Path("m.onnx").absolute() / "cache"
    monkeypatch.setenv("INARCH_CACHE_DIR", str(cache))
    outcome = run(["compile", "m.onnx", "-q"])
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == (
        f"warning: the cache folder '{cache}' cannot be used (Not a directory); "
        "everything is built anew; set INARCH_CACHE_DIR to a folder of yours\n"
    )
    np.testing.assert_array_equal(inarch.load("m.inarch")(X), 2 * X)


# C compilers


def compiler(folder: Path, script: str) -> str:
    """A program that calls itself gcc and then does what `script` says."""
    path = folder / "cc"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "gcc 99" && exit 0\n{script}\n')
    path.chmod(0o700)
    return str(path)


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")

    def none(_: str) -> None:
        return None

    monkeypatch.setattr("inarch.machine.compilers.find_spec", none)
    assert failure("compile m.onnx", 3) == (
        "error: no C compiler: looked for $CC, gcc, clang, clang-19, zig; "
        "install gcc or `pip install inarch[zig]`"
    )
    monkeypatch.setenv("CC", "/nonexistent/cc -m64")
    assert failure("compile m.onnx", 3) == (
        "error: $CC is '/nonexistent/cc -m64', which is not a C compiler that can be run; "
        "unset or correct it"
    )


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ('echo "x.c:3:1: error: no such luck" >&2; exit 1', "x.c:3:1: error: no such luck"),
        ("exit 7", "exit status 7"),
        ("kill -9 $$", "killed by SIGKILL"),
    ],
)
def test_a_compiler_that_fails(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    script: str,
    found: str,
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("INARCH_CACHE_DIR", str(cache))
    monkeypatch.setenv("CC", compiler(folder, script))
    line = failure("compile m.onnx --target generic", 3)
    # Two units are compiled at once: what the message names is one of at most two.
    (kept,) = [kept for kept in (cache / "failed").iterdir() if line.endswith(f" are in {kept}")]
    (source,) = kept.glob("*.c")
    assert line == (
        f"error: the compiler 'cc' refused '{source.name}': {found}; "
        f"source, command and output are in {kept}"
    )
    assert source.read_text().startswith("/* ")
    assert str(folder / "cc") in (kept / "log.txt").read_text()


# Artifacts


def test_what_is_no_artifact() -> None:
    Path("a.inarch").write_bytes(b"#!/bin/sh\n")
    for command in ("run a.inarch", "inspect a.inarch"):
        assert failure(command, 1) == (
            "a.inarch: error: expected an Inarch artifact, found a file that starts with b'#!/b'"
        )
    for command in ("run nope.inarch", "inspect nope.inarch"):
        assert failure(command, 1) == (
            "nope.inarch: error: expected an Inarch artifact, found no such file"
        )


def test_a_damaged_artifact() -> None:
    """Cut or with one bit flipped: refused, or (in padding, or weights that are not checked) right."""
    assert run(["compile", "m.onnx", "-q", "-o", "good.inarch", "--target=generic"]).code == 0
    data = Path("good.inarch").read_bytes()
    for size in range(0, len(data), len(data) // effort(15, 40)):
        Path("a.inarch").write_bytes(data[:size])
        assert failure("run a.inarch", 1).startswith("a.inarch: error: ")
    expected = run(["run", "good.inarch"])
    refused = 0
    count = effort(24, 60)
    for place in range(0, len(data), len(data) // count):
        Path("a.inarch").write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        outcome = run(["inspect", "a.inarch", "--check"])
        if outcome.code == 0:
            assert run(["run", "a.inarch"]) == expected
            continue
        refused += 1
        assert (outcome.code, outcome.out) == (1, "")
        assert outcome.err.startswith("a.inarch: error: ")
        assert outcome.err.count("\n") == 1
    assert refused > count // 6


def test_a_cpu_that_lacks_what_the_artifact_needs() -> None:
    assert run(["compile", "m.onnx", "-q", "--target=aarch64", "--emit=c", "-o", "m.c"]).code == 0
    assert failure("compile m.onnx --target=x87", 2) == (
        "error: no target 'x87'. "
        "Known: aarch64, generic, native, x86-64, x86-64-v2, x86-64-v3, x86-64-v4, "
        "x86-64-v4-on-v3; "
        "one of your own is a file: docs/extending.md, Target"
    )


# Options and files of `inarch run`


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--seed -1",
            "argument --seed: expected a whole number >= 0, found '-1'; see 'inarch run --help'",
        ),
        (
            "--repeat x",
            "argument --repeat: expected a whole number >= 0, found 'x'; see 'inarch run --help'",
        ),
        ("--function mian", "no function 'mian' in module 'm'; did you mean 'main'? Known: main"),
        (
            "--target generic",
            "--target: 'm.inarch' is compiled already; give it to `inarch compile`",
        ),
        ("--name n", "--name: 'm.inarch' is compiled already; give it to `inarch compile`"),
        ("--dim n=1", "--dim: 'm.inarch' is compiled already; give it to `inarch compile`"),
        ("--shape x=2x3", "--shape: 'm.inarch' is compiled already; give it to `inarch compile`"),
        (
            "--no-measure",
            "--no-measure: 'm.inarch' is compiled already; give it to `inarch compile`",
        ),
        (
            "--check onnxruntime",
            "--check onnxruntime: expected to run a model in .onnx, found 'm.inarch'",
        ),
        (
            "--check x.tflite",
            "expected a model that ends in one of .mlir, .onnx; found 'x.tflite'; "
            "export it to ONNX, with python -m tf2onnx.convert --tflite x.tflite --output model.onnx",
        ),
        ("--input z=x.npy", "--input: no input 'z'; the inputs are: x"),
        (
            "--input zz=1",
            "--input: expected [NAME=]FILE with arrays in a .npy or .npz file, found 'zz=1': '1': "
            "No such file or directory",
        ),
        ("--input x.npy --input x.npy", "--input: 'x.npy' is one array more than there are inputs"),
    ],
)
def test_options_of_run(options: str, message: str) -> None:
    assert run(["compile", "m.onnx", "-q"]).code == 0
    assert failure(f"run m.inarch {options}", 2) == f"error: {message}"


@pytest.mark.parametrize(("option", "form"), [("--input", "[NAME=]FILE"), ("--check", "FILE.npz")])
def test_arrays_that_cannot_be_read(option: str, form: str) -> None:
    assert run(["compile", "m.onnx", "-q"]).code == 0
    objects = np.array([{}], object)
    np.savez("objects.npz", y=objects)
    Path("damaged.npz").write_bytes(b"PK\x03\x04 damaged")
    Path("empty.npz").write_bytes(b"")
    reasons = {
        "nope.npz": "No such file or directory",
        "objects.npz": "damaged, or not of NumPy",
        "damaged.npz": "File is not a zip file",
        "empty.npz": "No data left in file",
    }
    for name, reason in reasons.items():
        assert failure(f"run m.inarch {option} {name}", 2) == (
            f"error: {option}: expected {form} with arrays in a .npy or .npz file, found '{name}': {reason}"
        )


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (X.astype(np.float64), "found f64[2, 3]; convert it with x.astype(np.float32)"),
        (
            X.T.copy(),
            "found f32[3, 2]; where its axes are in another order: np.ascontiguousarray(x.transpose(1, 0))",
        ),
        (X.astype(">f4"), "found the other byte order; convert it with x.astype(np.float32)"),
    ],
)
def test_an_input_that_does_not_fit(array: Array, found: str) -> None:
    np.save("bad.npy", array)
    message = f"main: argument 'x': expected f32[2, 3], {found}"
    assert failure("run m.onnx --input bad.npy", 1) == f"error: {message}"
    with pytest.raises(ArgumentError) as caught:
        inarch.compile("m.onnx")(array)
    assert str(caught.value) == message


def test_arguments_of_a_compiled_model() -> None:
    """The checks of `test_runtime`, on a program of ours instead of one written by hand."""
    module = inarch.compile("m.onnx")
    fixed = X.copy()
    fixed.flags.writeable = False
    np.testing.assert_array_equal(module(fixed), 2 * X)
    wide = np.zeros((2, 6), np.float32)
    out = np.zeros((2, 3), np.float32)
    cases = {
        "main: argument 'x': expected f32[2, 3] in row-major order, found strides (24, 8); "
        "use np.ascontiguousarray(x)": lambda: module(wide[:, ::2]),
        "main: output 'y': expected an array that can be written, found a read-only one": (
            lambda: module(X, out=fixed)
        ),
        "main: output 'y': expected memory of its own, found that of input 'x'": (
            lambda: module(out, out=out)
        ),
        "main: expected 1 argument (x: f32[2, 3]), found 0": module,
    }
    for message, call in cases.items():
        with pytest.raises(ArgumentError) as caught:
            call()
        assert str(caught.value) == message
