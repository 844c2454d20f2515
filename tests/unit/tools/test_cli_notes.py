"""What `inarch` says besides its output, what it refuses to overwrite, and what it runs without."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from inarch.core.npz import write_npz
from inarch.tools.cli import run

MODEL = """\
func.func @main(%x: tensor<2x3xf32> {inarch.name = "x"}) -> (tensor<2x3xf32> {inarch.name = "y"}) {
  %w = graph.constant dense_resource<w> : tensor<2x3xf32>
  %y = graph.sub %x, %w : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""
W = np.ones((2, 3), np.float32)
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(name="folder", autouse=True)
def fixture_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `net-1.mlir`, its constants and `x.npy`."""
    monkeypatch.chdir(tmp_path)
    Path("net-1.mlir").write_text(MODEL)
    write_npz(Path("net-1.npz"), {"w": W})
    np.save("x.npy", X)
    return tmp_path


def test_text_without_its_weights() -> None:
    code, out, err = run(["compile", "net-1.mlir", "--emit=graph"])
    note = "note: weights are not in the text; use -o FILE.mlir to write FILE.npz beside it\n"
    assert (code, err) == (0, note)
    assert run(["compile", "net-1.mlir", "--emit=graph", "-o", "-"]) == (0, out, note)
    assert run(["compile", "net-1.mlir", "--emit=graph", "-q"]) == (0, out, "")
    assert run(["compile", "net-1.mlir", "--emit=c"])[2] == ""
    assert not Path("-").exists()


def test_what_was_written() -> None:
    assert run(["compile", "net-1.mlir", "--emit=graph", "-o", "g.mlir"]) == (
        0,
        "",
        "wrote g.mlir and g.npz\n",
    )
    assert run(["compile", "net-1.mlir", "--emit=c", "-o", "g.c"]) == (0, "", "wrote g.c\n")
    # Its own side file may be written again.
    assert run(["compile", "net-1.mlir", "--emit=loop", "-o", "g.mlir"]).code == 0


def test_somebody_elses_arrays_are_not_overwritten() -> None:
    np.savez("data.npz", x=X)
    before = Path("data.npz").read_bytes()
    assert run(["compile", "net-1.mlir", "--emit=graph", "-o", "data.mlir"]) == (
        2,
        "",
        "error: 'data.npz' exists and is no side file that Inarch wrote; the constants would "
        "overwrite it: choose another name, or remove it\n",
    )
    assert Path("data.npz").read_bytes() == before
    assert not Path("data.mlir").exists()
    assert run(["compile", "net-1.mlir", "--emit=graph", "-o", "data.npz"]) == (
        2,
        "",
        "error: -o: expected another name than that of the constants, found 'data.npz'\n",
    )
    assert Path("data.npz").read_bytes() == before


def test_an_artifact_is_no_text() -> None:
    assert run(["compile", "net-1.mlir", "-o", "-"]) == (
        2,
        "",
        "error: -o: expected a file, found '-'; only text goes to the terminal\n",
    )


def test_a_program_is_called_as_its_file() -> None:
    _, out, _ = run(["compile", "net-1.mlir"])
    assert out.startswith("net-1.inarch: net_1 for ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compil"], "error: no command 'compil'; did you mean 'compile'? Known: "),
        (
            ["compile", "net-1.mlir", "--dim", "n=1", "--dim", "n=2"],
            "error: --dim: 'n' is given twice: 1 and 2\n",
        ),
        (
            ["compile", "net-1.mlir", "--shape", "x=2x3", "--shape", "x=3x2"],
            "error: --shape: 'x' is given twice: (2, 3) and (3, 2)\n",
        ),
        (["run", "net-1.mlir", "--input", ""], "error: --input: expected a file, found ''\n"),
        (["run", "net-1.mlir", "--input", "x="], "error: --input: expected a file, found 'x='\n"),
    ],
)
def test_wrong_command_lines(arguments: list[str], message: str) -> None:
    code, out, err = run(arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(message)


def test_nothing_to_compile() -> None:
    Path("empty.mlir").write_text("builtin.module {\n}\n")
    assert run(["compile", "empty.mlir"]) == (
        1,
        "",
        "empty.mlir:1:1: error: no public function to compile: expected a func.func such as @main "
        "that is not private\n",
    )


def test_the_only_function_is_suggested() -> None:
    Path("net-1.mlir").write_text(MODEL.replace("@main", "@infer"))
    run(["compile", "net-1.mlir"])
    assert run(["run", "net-1.inarch"]) == (
        2,
        "",
        "error: no function 'main' in module 'net_1'; add --function infer\n",
    )
    assert run(["run", "net-1.inarch", "--function", "infer", "-q"]) == (0, "", "")


def test_random_inputs_are_named() -> None:
    code, out, err = run(["run", "net-1.mlir", "--seed", "3"])
    assert (code, err) == (0, "x: random (seed 3)\n")
    assert run(["run", "net-1.mlir", "--seed", "3", "-q"]) == (0, "", "")
    assert out.startswith("y: float32[2, 3] [")


def test_a_files_order_of_elements_does_not_matter() -> None:
    np.save("f.npy", np.asfortranarray(X))
    expected = (0, "y: float32[2, 3] [-1.,  0.,  1.,  2.,  3.,  4.]\n", "")
    assert run(["run", "net-1.mlir", "--input", "x.npy"]) == expected
    assert run(["run", "net-1.mlir", "--input", "f.npy"]) == expected
    np.save("d.npy", X.astype(np.float64))
    assert run(["run", "net-1.mlir", "--input", "d.npy"]).err == (
        "error: main: argument 'x': expected f32[2, 3], found f64[2, 3]; "
        "convert it with x.astype(np.float32)\n"
    )


def test_json_has_no_nan() -> None:
    values = X.copy()
    values[0, 0], values[1, 2] = np.nan, np.inf
    np.save("nan.npy", values)
    _, out, _ = run(["run", "net-1.mlir", "--input", "nan.npy", "--json"])

    def refuse(text: str) -> None:
        raise AssertionError(text)

    facts = json.loads(out, parse_constant=refuse)["outputs"]["y"]
    assert (facts["min"], facts["max"], facts["mean"]) == (None, None, None)


WITHOUT_COMPILER = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("xdsl", "onnx", "rich", "onnxruntime"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
from inarch.tools.cli import run

outcome = run(sys.argv[1:])
sys.stdout.write(outcome.out)
sys.stderr.write(outcome.err)
sys.exit(outcome.code)
"""


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (["run", "net-1.inarch", "--input", "x.npy"], "y: float32[2, 3] [-1.,  0.,  1.,"),
        (["inspect", "net-1.inarch"], "name       net_1\n"),
        (["--help"], "usage: inarch "),
    ],
)
def test_an_artifact_needs_no_compiler(arguments: list[str], start: str) -> None:
    run(["compile", "net-1.mlir"])
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_COMPILER, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(start)


def test_warnings_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from inarch.core import cache

    monkeypatch.setenv("INARCH_CACHE_DIR", "/dev/null/cache")
    cache._open_cache.cache_clear()  # pyright: ignore[reportPrivateUsage]
    code, _, err = run(["compile", "net-1.mlir"])
    assert (code, err) == (
        0,
        "warning: the cache folder '/dev/null/cache' cannot be used (Not a directory); "
        "everything is built anew; set INARCH_CACHE_DIR to a folder of yours\n",
    )
