"""inarch-run beside `inarch run`: the same lists, files and exit codes; `inarch config`, which makes it."""

from __future__ import annotations

import io
import shlex
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.runtime.c import FLAGS, INCLUDE, LIBS, sources
from inarch.tools.cli import run

MODEL = """
func.func @main(%x: tensor<2x3xf32> {inarch.name = "x"}, %n: tensor<3xi16> {inarch.name = "a/n"},
                %b: tensor<i1> {inarch.name = "b"})
    -> (tensor<2x3xf32> {inarch.name = "y"}, tensor<3xi16> {inarch.name = "a/m"},
        tensor<i1> {inarch.name = "c"}) {
  %0 = graph.neg %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.neg %n : tensor<3xi16> -> tensor<3xi16>
  %2 = graph.logical_not %b : tensor<i1> -> tensor<i1>
  func.return %0, %1, %2 : tensor<2x3xf32>, tensor<3xi16>, tensor<i1>
}
"""
X = np.array([[1.5, -2, 3], [0, 0.25, 1e9]], np.float32)
N, B = np.array([-7, 8, 32767], np.int16), np.array(True)


@pytest.fixture(scope="module")
def negation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("negation") / "negation.mlir"
    source.write_text(MODEL)
    path = source.with_suffix(".inarch")
    inarch.compile(source, name="negation").save(path)
    return path


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    """Options that give all three, one by name."""
    for name, array in (("x", X), ("n", N), ("b", B)):
        np.save(tmp_path / f"{name}.npy", array)
    files = f"{tmp_path}/x.npy", f"a/n={tmp_path}/n.npy", f"{tmp_path}/b.npy"
    return [word for file in files for word in ("--input", file)]


def called(tool: Path, *words: object) -> tuple[int, str, str]:
    command = [str(tool), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env={}, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_it_lists_what_python_lists(tool: Path, negation: Path) -> None:
    function = str(inarch.load(negation).get_function("main"))
    assert called(tool, negation, "--list") == (0, f"{function}\n", "")


def test_inputs_come_and_outputs_go_as_numpy_writes_them(
    tool: Path, negation: Path, inputs: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    code, shown, said = called(
        tool, negation, *inputs, f"--output-dir={out}", "--verify", "--threads", "1"
    )
    assert (code, said) == (0, "")
    assert shown == (
        "y: float32[2, 3] [-1.5, 2, -3, -0, -0.25, -1e+09]\n"
        "a/m: int16[3] [7, -8, -32767]\n"
        "c: bool[] [False]\n"
    )
    assert sorted(path.name for path in out.iterdir()) == ["a_m.npy", "c.npy", "y.npy"]
    for name, array in (("y", -X), ("a_m", -N), ("c", ~B)):
        buffer = io.BytesIO()
        np.save(buffer, array)
        assert (out / f"{name}.npy").read_bytes() == buffer.getvalue()


def test_random_inputs_are_those_of_the_seed(tool: Path, negation: Path, tmp_path: Path) -> None:
    outputs: list[Any] = []
    for seed in (0, 0, 1):
        code, _, said = called(tool, negation, "--seed", seed, "--output-dir", tmp_path)
        assert (code, said) == (0, f"x, a/n, b: random (seed {seed})\n")
        outputs.append(np.load(tmp_path / "y.npy"))
        numbers = -np.load(tmp_path / "a_m.npy")
        assert ((numbers >= 0) & (numbers < 2)).all()
    assert (outputs[0] == outputs[1]).all()
    assert (outputs[0] != outputs[2]).all()
    assert np.abs(outputs[0]).max() <= 6


def test_random_indices_are_in_a_table_of_two_rows(tool: Path, tmp_path: Path) -> None:
    """BERT's token_type_ids: a call with indices outside of their table is an error."""
    onnx = pytest.importorskip("onnx")
    text = """<ir_version: 8, opset_import: ["" : 13]>
m (int64[64] ids) => (float[64,1] y) <float[2,1] w = {1, 2}> { y = Gather(w, ids) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    inarch.compile(tmp_path / "m.onnx").save(tmp_path / "m.inarch")
    assert run(["run", str(tmp_path / "m.onnx"), "-q"]).code == 0
    assert called(tool, tmp_path / "m.inarch", "-q") == (0, "", "")


def test_times_are_those_of_n_calls(tool: Path, negation: Path) -> None:
    code, shown, _ = called(tool, negation, "--repeat", 5)
    assert code == 0
    first, *_, last = shown.splitlines()
    assert first.startswith("opened in ")
    assert last.startswith("median of calls: ")
    assert called(tool, negation, "-q") == (0, "", "")


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_both_versions_of_the_format(
    tool: Path, negation: Path, tmp_path: Path, version: tuple[int, int]
) -> None:
    path = tmp_path / "n.npy"
    with path.open("wb") as file:
        np.lib.format.write_array(file, N, version=version)
    code, shown, _ = called(tool, negation, "--input", f"a/n={path}")
    assert (code, shown.splitlines()[1]) == (0, "a/m: int16[3] [7, -8, -32767]")


ADVICE = "np.save(FILE, np.ascontiguousarray(x)) writes what is read"
WRONG_ARRAYS: list[tuple[Any, str]] = [
    (np.asfortranarray(X), "expected an array in row-major order, found another order"),
    (X.astype(">f4"), "expected an array of little-endian numbers or bools, found '>f4'"),
    (X.astype("c8"), "expected an array of little-endian numbers or bools, found '<c8'"),
    (b"hello world, this is none", "expected a .npy file, found another"),
    (
        b"\x93NUMPY\x03\x00" + bytes(90),
        "expected version 1 or 2 of the format, found another version",
    ),
    (b"", "expected a .npy file, found another"),
]


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(("array", "message"), WRONG_ARRAYS)
def test_files_that_are_refused(
    tool: Path, negation: Path, tmp_path: Path, array: Any, message: str
) -> None:
    path = tmp_path / "x.npy"
    if isinstance(array, bytes):
        path.write_bytes(array)
    else:
        np.save(path, array)
    expected = f"{path}: error: --input: {message}; {ADVICE}\n"
    assert called(tool, negation, "--input", path) == (2, "", expected)


def test_a_file_that_is_cut(tool: Path, negation: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, X)
    path.write_bytes(path.read_bytes()[:-1])
    expected = f"{path}: error: --input: expected 24 bytes of data, found 23; {ADVICE}\n"
    assert called(tool, negation, "--input", path) == (2, "", expected)


def test_an_array_that_does_not_fit(tool: Path, negation: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    for array, found in ((X.T.copy(), "f32[3, 2]"), (X.astype(np.float64), "f64[2, 3]")):
        np.save(path, array)
        expected = f"error: main: argument 'x': expected f32[2, 3], found {found}\n"
        assert called(tool, negation, "--input", path) == (1, "", expected)


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "error: expected an artifact, found none; inarch-run --help"),
        (["m", "n"], "error: expected one artifact, found 'm' and 'n'"),
        (
            ["m", "--frobnicate"],
            "error: unknown option '--frobnicate'; inarch-run --help lists them",
        ),
        (["m", "--threads", "0"], "error: --threads: expected a whole number from 1 on, found '0'"),
        (["m", "--repeat=x"], "error: --repeat: expected a whole number from 1 on, found 'x'"),
        (["m", "--seed"], "error: --seed: expected a value, found none"),
        (["m", "--seed", "-1"], "error: --seed: expected a whole number from 0 on, found '-1'"),
    ],
)
def test_commands_that_are_refused(tool: Path, words: list[str], message: str) -> None:
    assert called(tool, *words) == (2, "", f"{message}\n")


def test_names_that_there_are_not(tool: Path, negation: Path, tmp_path: Path) -> None:
    missing = tmp_path / "no.inarch"
    expected = f"{missing}: error: expected an Inarch artifact, found no such file\n"
    assert called(tool, missing) == (1, "", expected)
    expected = f"{negation}: error: no function 'f'; the first is 'main'\n"
    assert called(tool, negation, "--function", "f") == (2, "", expected)
    expected = "error: --input: no input 'q'; the first is 'x'\n"
    assert called(tool, negation, "--input", "q=file.npy") == (2, "", expected)
    expected = f"{missing}: error: --input: cannot be read: No such file or directory\n"
    assert called(tool, negation, "--input", missing) == (2, "", expected)
    code, _, said = called(tool, negation, "-q", "--output-dir", missing / "folder")
    assert (code, said) == (
        3,
        f"error: cannot make '{missing}/folder': No such file or directory\n",
    )
    code, shown, _ = called(tool, "--help")
    assert (code, shown.splitlines()[0]) == (0, "usage: inarch-run [options] MODEL")


def test_config_prints_what_a_compiler_takes() -> None:
    words = shlex.split(run(["config", "--cflags", "--sources", "--libs"]).out)
    assert words == [*FLAGS, f"-I{INCLUDE}", *map(str, sources()), *LIBS]
    assert all(Path(word).is_file() for word in words if word.endswith(".c"))
    assert Path(run(["config", "--include"]).out.strip(), "inarch.hpp").is_file()
    nothing = run(["config"])
    assert (nothing.code, nothing.err) == (
        2,
        "error: config: expected --cflags, --sources, --libs, --include or --install, found none\n",
    )


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = run(["config", "--install", str(tmp_path / "file")])
    expected = f"error: cannot write '{tmp_path}/file/include/inarch.h': Not a directory\n"
    assert (outcome.code, outcome.err) == (3, expected)
