"""Modules of C source and of shared libraries that are no artifacts; the C that a module is of."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import inarch
from inarch.core.errors import EnvironmentFault, InarchError
from inarch.machine.compilers import find_compiler
from inarch.runtime import load_module
from inarch.runtime.c import INCLUDE
from inarch.runtime.loaders import LOADERS
from inarch.tools.cli import run

ADD = """
func.func @main(%x: tensor<3x4xf32> {inarch.name = "x"}) -> (tensor<3x4xf32> {inarch.name = "y"}) {
  %0 = graph.add %x, %x : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
"""
MATMUL = """
func.func @main(%x: tensor<2x640xf32> {inarch.name = "x"}) -> (tensor<2xSIZExf32> {inarch.name = "*/y"}) {
  %w = graph.constant dense<0.5> : tensor<640xSIZExf32>
  %0 = graph.matmul %x, %w : tensor<2x640xf32>, tensor<640xSIZExf32> -> tensor<2xSIZExf32>
  func.return %0 : tensor<2xSIZExf32>
}
"""
X = np.arange(12, dtype=np.float32).reshape(3, 4)
PORT = {"name": "x", "dtype": "f32", "shape": [3, 4]}
SAYS = {
    "functions": {
        "scale": {"symbol": "my_scale", "inputs": [PORT], "outputs": [{**PORT, "name": "y"}]}
    }
}
SCALE = """
#include <inarch.h>
int32_t my_scale(void *self, DLTensor *args, int32_t n)
{
    (void)self;
    if (n != 2) return 9;
    for (int i = 0; i < 12; i++) ((float *)args[1].data)[i] = FACTOR * ((float *)args[0].data)[i];
    return ((float *)args[0].data)[0] < 0 ? 7 : 0;
}
"""


def emitted(text: str, level: str, folder: Path) -> Path:
    """What `inarch compile --emit` writes."""
    (folder / "model.mlir").write_text(text)
    path = folder / "part.c"
    done = run(["compile", str(folder / "model.mlir"), f"--emit={level}", "-o", str(path)])
    assert done.code == 0, done.err
    return path


def library(path: Path, text: str) -> Path:
    source = path.with_suffix(".c")
    source.write_text(text)
    flags = ["-shared", "-fPIC", f"-I{INCLUDE}", str(source), "-o", str(path)]
    subprocess.run([*find_compiler().command, *flags], check=True)
    return path


def test_what_a_backend_emits_is_a_module(tmp_path: Path) -> None:
    """T8: compiled when it is loaded, with its signature; bytes and text round-trip."""
    path = emitted(ADD, "ccompiler", tmp_path)
    module = load_module(path, "c")
    assert str(module["ccompiler_0"]) == "ccompiler_0(in0: f32[3, 4]) -> (out0: f32[3, 4])"
    np.testing.assert_array_equal(module["ccompiler_0"](X), 2 * X)
    assert (module.type_key, module.get_source()) == ("c", path.read_text())
    again = LOADERS["c"].from_bytes(module.get_source("c").encode(), "again")
    np.testing.assert_array_equal(again["ccompiler_0"](X), 2 * X)
    module.save(tmp_path / "saved.c")
    np.testing.assert_array_equal(load_module(tmp_path / "saved.c")["ccompiler_0"](X), 2 * X)


@pytest.mark.parametrize("size", [3, 640], ids=["weights in the text", "weights beside it"])
def test_what_the_host_emits_is_a_module(size: int, tmp_path: Path) -> None:
    """T8: and what is made of it by hand is one, too, with what it says beside it."""
    path = emitted(MATMUL.replace("SIZE", str(size)), "c", tmp_path)
    module = load_module(path)
    x = np.ones((2, 640), np.float32)
    assert str(module["main"]) == f"main(x: f32[2, 640]) -> (*/y: f32[2, {size}])"
    np.testing.assert_allclose(module(x), 320.0)
    assert path.with_suffix(".bin").exists() == (size == 640)
    if size == 3:
        return
    with path.with_suffix(".bin").open("ab") as file:
        file.write(b"1")
    with pytest.raises(InarchError) as error:
        load_module(path)
    assert error.value.line() == (
        f"{path.with_suffix('.bin')}: error: expected 1638400 bytes of weights, found 1638401; write both "
        "again with `inarch compile --emit=c`"
    )
    path.with_suffix(".bin").unlink()
    with pytest.raises(EnvironmentFault) as missing:
        load_module(path)
    assert missing.value.line() == (
        f"{path}: error: expected its weights, 1638400 bytes, in '{path.with_suffix('.bin')}': No such file "
        "or directory"
    )


def test_a_module_gives_its_c(tmp_path: Path) -> None:
    """T8: of the host as of a backend, after saving and loading, and what it gives is the program again."""
    (tmp_path / "model.mlir").write_text(ADD)
    inarch.compile(tmp_path / "model.mlir", name="model").save(tmp_path / "m.inarch")
    module = inarch.load(tmp_path / "m.inarch")
    text = module.get_source("c")
    assert text == module.get_source() == emitted(ADD, "c", tmp_path).read_text()
    np.testing.assert_array_equal(LOADERS["c"].from_bytes(text.encode(), "again")(X), 2 * X)
    both = inarch.compile(tmp_path / "model.mlir", backends=["ccompiler"])
    assert "ccompiler_0_wrapper_" in both.get_source()
    joined = both.get_source("c").encode()
    np.testing.assert_array_equal(LOADERS["c"].from_bytes(joined, "joined")(X), 2 * X)


@pytest.mark.parametrize("where", ["beside", "within"])
def test_a_plain_library_is_a_module(where: str, tmp_path: Path) -> None:
    """T8: with arguments that are checked, its own codes, and another state of the file."""
    text = SCALE
    if where == "within":
        text += f"const char inarch_module[] = {json.dumps(json.dumps(SAYS))};\n"
    else:
        (tmp_path / "mine.json").write_text(json.dumps(SAYS))
    path = library(tmp_path / "mine.so", text.replace("FACTOR", "3"))
    module = load_module(path)
    np.testing.assert_array_equal(module["scale"](X), 3 * X)
    library(path, text.replace("FACTOR", "4"))
    np.testing.assert_array_equal(inarch.load(path, format="so")["scale"](x=X), 4 * X)
    np.testing.assert_array_equal(module["scale"](X), 3 * X)
    with pytest.raises(InarchError, match="'my_scale' failed with code 7"):
        module["scale"](X - 1)
    with pytest.raises(inarch.ArgumentError, match=r"argument 'x': expected f32\[3, 4\]"):
        module["scale"](X[:2])


@pytest.mark.parametrize("size", [3, 640], ids=["weights in the text", "weights beside it"])
def test_a_library_says_what_it_is_by_its_table(size: int, tmp_path: Path) -> None:
    """T8: what `cc -shared` makes of the host's C needs no description; one that it has is compared."""
    source = emitted(MATMUL.replace("SIZE", str(size)), "c", tmp_path)
    path = tmp_path / "part.so"
    flags = [
        "-shared",
        "-fPIC",
        "-O1",
        "-march=native",
        f"-I{INCLUDE}",
        str(source),
        "-o",
        str(path),
        "-lm",
    ]
    subprocess.run([*find_compiler().command, *flags], check=True)
    module = load_module(path)
    assert str(module["main"]) == f"main(x: f32[2, 640]) -> (*/y: f32[2, {size}])"
    np.testing.assert_allclose(module(np.ones((2, 640), np.float32)), 320.0)
    text = source.read_text().partition("/* inarch module ")[2].partition(" */")[0]
    said = json.loads(text)
    beside = path.with_suffix(".json")
    beside.write_text(json.dumps(said))
    np.testing.assert_allclose(load_module(path)(np.ones((2, 640), np.float32)), 320.0)

    def refused(change: object) -> str:
        beside.write_text(json.dumps(change))
        with pytest.raises(InarchError) as error:
            load_module(path)
        return error.value.line().removeprefix(f"{beside}: error: ")

    main = said["functions"]["main"]
    wrong = {**main, "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 64]}]}
    assert refused({**said, "functions": {"main": wrong}}) == (
        "functions.main.inputs: expected those of the library (f32[2, 640]), found (f32[2, 64])"
    )
    assert refused({**said, "functions": {"other": main}}) == (
        "expected functions of the library (main), found 'other'"
    )
    assert refused({**said, "prefix": "others"}) == (
        f"expected a description of the library's program '{said['prefix']}', found one of 'others'"
    )


def test_an_artifact_is_one_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(ADD)
    inarch.compile(tmp_path / "m.mlir").save(tmp_path / "m.so")
    np.testing.assert_array_equal(load_module(tmp_path / "m.so")(X), 2 * X)


def test_what_is_no_module(tmp_path: Path) -> None:
    path = tmp_path / "mine.so"

    def said(text: str, description: object = None) -> str:
        beside = path.with_suffix(".json")
        beside.unlink(missing_ok=True)
        if description is not None:
            beside.write_text(json.dumps(description))
        library(path, text.replace("FACTOR", "1"))
        with pytest.raises(InarchError) as error:
            load_module(path)
        return error.value.line().removeprefix(f"{tmp_path}/")

    assert said(SCALE) == (
        "mine.so: error: expected what its functions take, in 'mine.json' beside it or as `const char "
        "inarch_module[]` in it, found neither; docs/artifact.md has an example"
    )
    assert said(SCALE, []) == "mine.json: error: description: expected an object, found []"
    assert said(SCALE, {"functions": {"f": {"inputs": [{**PORT, "dtype": "f8"}]}}}) == (
        "mine.json: error: description: functions.f.inputs[0].dtype: expected one of f32, f64, i8, i16, i32, "
        "i64, ui8, ui16, ui32, ui64, i1, or of a file that was loaded, found 'f8'"
    )
    assert said("int x;\n", SAYS) == "mine.so: error: expected the function 'my_scale', found none"
    path.write_text("text")
    with pytest.raises(EnvironmentFault, match=r"mine\.so: cannot be opened: file too short"):
        load_module(path)


def test_c_that_is_no_module(tmp_path: Path) -> None:
    path = tmp_path / "mine.c"

    def said(text: str) -> str:
        path.write_text(text)
        with pytest.raises(InarchError) as error:
            load_module(path)
        return error.value.line().removeprefix(f"{path}").partition("; source, command")[0]

    assert said("int x;\n") == (
        ': error: expected what its functions take, as the comment `/* inarch module {"functions": ...} */`, '
        "found none; docs/artifact.md has an example"
    )
    assert said("\n/* inarch module {} */\n") == (
        ":2: error: description: functions: expected an object, found nothing"
    )
    described = f"/* inarch module {json.dumps(SAYS)} */\n"
    assert said(described + "int x\n").startswith(": error: does not compile: mine.c:")
