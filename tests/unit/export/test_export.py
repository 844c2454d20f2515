"""`inarch export`: what it writes builds with a C compiler alone, and computes what the model means."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from compilers import command_of
from effort import SEED, effort
from inarch.artifact import Artifact
from inarch.artifact.manifest import Port
from inarch.core.dtypes import DTYPES
from inarch.core.errors import UnsupportedError, UsageError
from inarch.core.lazy import Array
from inarch.definitions.compare import compare
from inarch.driver.artifact.export import export
from inarch.machine.compilers import compiler_for
from inarch.machine.target import parse, this_processor
from inarch.testing.generate import GeneratedProgram, programs
from inarch.testing.generate.check.check import Case, case_of
from inarch.tools.cli import run

HERE = Path(__file__).parent
STRICT = "-Wall -Wextra -Werror"
QEMU = "qemu-aarch64-static"
CROSS = "aarch64-linux-gnu-gcc"
AARCH64 = pytest.param("aarch64", marks=pytest.mark.slow)


@dataclass(frozen=True)
class Machine:
    """A CPU that programs can be run on here: how."""

    target: str
    compiler: str
    runner: tuple[str, ...] = ()
    link: str = ""


def machine(target: str) -> Machine:
    """Skips where nothing here runs it."""
    if parse(target).architecture in ("generic", this_processor().architecture):
        if parse(target).missing_here():
            pytest.skip(f"this CPU lacks {', '.join(parse(target).missing_here())}")
        if shutil.which("cc") is None:
            pytest.skip("no cc here")
        return Machine(target, "cc")
    for needed in (CROSS, QEMU):
        if shutil.which(needed) is None:
            pytest.skip(f"no {needed} here: apt-get install gcc-aarch64-linux-gnu qemu-user-static")
    return Machine(target, CROSS, (QEMU,), "-static")


def make(folder: Path, machine: Machine, flags: str = f"-O1 {STRICT}", compiler: str = "") -> Path:
    """The program, built by the folder's Makefile without a warning."""
    if shutil.which("make") is None:
        pytest.skip("no make here")
    settings = [f"CC={compiler or machine.compiler}", f"CFLAGS={flags}", f"LDFLAGS={machine.link}"]
    done = subprocess.run(
        ["make", "-s", "-C", str(folder), *settings], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    (made,) = [path for path in (folder / "build").iterdir() if not path.suffix]
    return made


def run_files(
    program: Path,
    arrays: Sequence[Array],
    outputs: Sequence[Port],
    *,
    function: str | None = None,
    runner: Sequence[str] = (),
) -> list[Array]:
    """What the program writes for inputs in files; `function` where it has several."""
    given = [program.with_name(f"in{n}.bin") for n in range(len(arrays))]
    for path, array in zip(given, arrays, strict=True):
        path.write_bytes(np.ascontiguousarray(array).tobytes())
    made = [program.with_name(f"out{n}.bin") for n in range(len(outputs))]
    words = [*runner, program, *([function] if function else []), *given, *made]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [from_bytes(path.read_bytes(), port) for path, port in zip(made, outputs, strict=True)]


def from_bytes(data: bytes, port: Port) -> Array:
    found: Any = np.frombuffer(data, port.dtype.numpy)
    return found.reshape(port.shape)


def check_case(
    case: Case, program: Path, outputs: Mapping[str, Sequence[Port]], runner: Sequence[str] = ()
) -> None:
    """Every function of a program on the inputs of `case`; `outputs` has what each gives."""
    for name, arrays in case.arrays.items():
        several = name if len(outputs) > 1 else None
        found = run_files(program, arrays, outputs[name], function=several, runner=runner)
        compare(name, case.expected[name], found)


# ------------------------------------------------------------------------------------ models

MODEL = """
func.func @main(%x: tensor<5x640xf32> {inarch.name = "x"}) -> (tensor<5x640xf32> {inarch.name = "y"}) {
  %w = graph.constant dense<0.0078125> : tensor<640x640xf32>
  %0 = graph.matmul %x, %w : tensor<5x640xf32>, tensor<640x640xf32> -> tensor<5x640xf32>
  %1 = graph.exp %0 : tensor<5x640xf32> -> tensor<5x640xf32>
  func.return %1 : tensor<5x640xf32>
}
"""
"""Of more weights than are in text."""

ADD = """
func.func @main(%x: tensor<3x4xf32> {inarch.name = "x"}) -> (tensor<3x4xf32> {inarch.name = "y"}) {
  %0 = graph.add %x, %x : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
"""

SMALL = """
func.func @main(%x: tensor<3xf32> {inarch.name = "x"}) -> (tensor<3xf32> {inarch.name = "y"}) {
  %0 = graph.relu %x : tensor<3xf32> -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
"""


def written(text: str, folder: Path, name: str = "model") -> Path:
    path = folder / f"{name}.mlir"
    path.write_text(text)
    return path


def sample() -> tuple[Array, Array]:
    """An input of MODEL and its output, by NumPy in double precision."""
    x = (np.random.default_rng(1).standard_normal((5, 640)) / 8).astype(np.float32)
    return x, np.exp(x.astype(np.float64) @ np.full((640, 640), 0.0078125)).astype(np.float32)


PORT = Port("y", DTYPES["f32"], (5, 640))
COMPILERS = ["gcc", "g++", "clang"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MODEL, exported for this machine; not to be changed."""
    folder = tmp_path_factory.mktemp("export")
    export(written(MODEL, folder), folder / "c", name="net")
    return folder / "c"


# ------------------------------------------------------------------------------------ what it computes


@pytest.mark.parametrize("compiler", COMPILERS)
def test_each_compiler_builds_it_without_a_warning(
    compiler: str, exported: Path, tmp_path: Path
) -> None:
    """B6: g++ compiles it as C++."""
    folder = Path(shutil.copytree(exported, tmp_path / "c"))
    x, y = sample()
    program = make(folder, machine("native"), f"-O1 {STRICT}", command_of(compiler))
    (found,) = run_files(program, [x], [PORT])
    np.testing.assert_allclose(found, y, rtol=1e-5)
    missing = subprocess.run([str(program), "none", "out"], capture_output=True, text=True)  # noqa: PLW1510
    assert (missing.returncode, missing.stderr) == (
        1,
        "none: error: cannot be read; expected the numbers of 'x': f32[5, 640], 12800 bytes\n",
    )


def test_cmake_builds_a_library_for_programs_of_others(exported: Path, tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("no cmake here")
    (tmp_path / "main.c").write_text(
        "#include <net.h>\nint main(void) { return net_bind(net_weights, NET_WEIGHTS_BYTES, 0, 0); }\n"
    )
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.13)\nproject(app C)\nset(CMAKE_BUILD_TYPE Debug)\n"
        f"add_subdirectory({exported} net)\nadd_executable(app main.c)\n"
        "target_link_libraries(app net)\n"
    )
    for command in (["cmake", "-S", ".", "-B", "b"], ["cmake", "--build", "b"]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "b" / "app"], check=False).returncode == 0
    x, y = sample()
    (found,) = run_files(tmp_path / "b" / "net" / "net", [x], [PORT])
    np.testing.assert_allclose(found, y, rtol=1e-5)


def check_exported(program: GeneratedProgram, folder: Path, target: str, **how: Any) -> None:
    """A generated program, exported and run, against its definition."""
    case, here = case_of(program), machine(target)
    program.save(folder / "model.mlir")
    export(folder / "model.mlir", folder / "c", target=target, **how)
    listing = json.loads((folder / "c" / "inarch-export.json").read_text())
    outputs = {
        name: [Port(p["name"], DTYPES[p["dtype"]], tuple(p["shape"])) for p in each["outputs"]]
        for name, each in listing["functions"].items()
    }
    check_case(case, make(folder / "c", here), outputs, here.runner)


@pytest.mark.parametrize("freestanding", [False, True])
def test_random_programs(freestanding: bool, tmp_path: Path) -> None:
    """Several functions, all dtypes, sizes of 0: against NumPy."""
    for program in programs("graph", seed=5, count=effort(1, 2)):
        folder = tmp_path / str(program.index)
        folder.mkdir()
        check_exported(program, folder, "native", freestanding=freestanding)


@pytest.mark.fuzz
@pytest.mark.parametrize("freestanding", [False, True])
@pytest.mark.parametrize("target", ["native", AARCH64])
def test_more_random_programs(freestanding: bool, target: str, tmp_path: Path) -> None:
    for program in programs("graph", seed=SEED, count=3):
        folder = tmp_path / str(program.index)
        folder.mkdir()
        check_exported(program, folder, target, freestanding=freestanding)


# ------------------------------------------------------------------------------------ freestanding

BARE = """
func.func @main(%x: tensor<5x20xf32> {inarch.name = "x"}, %s: tensor<4xi64> {inarch.name = "s"})
    -> (tensor<5x30xf32> {inarch.name = "y"}, tensor<4xi64> {inarch.name = "t"}) {
  %w = graph.constant dense<0.0625> : tensor<20x30xf32>
  %0 = graph.matmul %x, %w : tensor<5x20xf32>, tensor<20x30xf32> -> tensor<5x30xf32>
  %1 = graph.tanh %0 : tensor<5x30xf32> -> tensor<5x30xf32>
  %2 = graph.add %1, %0 : tensor<5x30xf32>, tensor<5x30xf32> -> tensor<5x30xf32>
  %3 = graph.exp %2 : tensor<5x30xf32> -> tensor<5x30xf32>
  %4 = graph.add %s, %s : tensor<4xi64>, tensor<4xi64> -> tensor<4xi64>
  func.return %3, %4 : tensor<5x30xf32>, tensor<4xi64>
}
"""
TWICE = """
func.func @twice(%x: tensor<40x40xf32>) -> tensor<40x40xf32> {
  %0 = graph.matmul %x, %x : tensor<40x40xf32>, tensor<40x40xf32> -> tensor<40x40xf32>
  %1 = graph.matmul %0, %0 : tensor<40x40xf32>, tensor<40x40xf32> -> tensor<40x40xf32>
  func.return %1 : tensor<40x40xf32>
}
"""
CALLER = """
#include "model.h"
#include <stddef.h>
static float x[100], y[150];
static int64_t s[4], t[4];
unsigned char *const inputs[] = {(unsigned char *)x, (unsigned char *)s};
unsigned char *const outputs[] = {(unsigned char *)y, (unsigned char *)t};
const size_t input_bytes[] = {sizeof(x), sizeof(s)}, output_bytes[] = {sizeof(y), sizeof(t)};
const int input_count = 2, output_count = 2;
void invoke(void);
void invoke(void) { model_main(x, s, y, t); }
"""
BUILDING = ("Makefile", "CMakeLists.txt", "README.md")
CALLED = 64
"""Bytes of the stack that `invoke` takes itself."""


@pytest.mark.parametrize("target", ["native", AARCH64])
def test_without_an_operating_system(target: str, tmp_path: Path) -> None:
    """No libc is linked; the stack is what is said, or less."""
    here = machine(target)
    made = export(written(BARE, tmp_path), tmp_path / "c", target=target, freestanding=True)
    assert set(made.files) == {"model.c", "model.h", "main.c", *BUILDING}
    assert made.facts["library_functions"] == []
    text = (tmp_path / "c" / "model.c").read_text()
    assert re.findall(r"#include (.*)", text) == ["<stddef.h>", "<stdint.h>"]
    command = re.match(r"/\* .* Compiles alone: cc (.*) -c model.c \*/\n", text)
    assert command is not None
    (tmp_path / "caller.c").write_text(CALLER)
    flags = [*command[1].split(), "-Wall", "-Wextra", "-Werror", "-fno-stack-protector"]
    own = [str(tmp_path / "caller.c"), str(HERE / "bare.c"), f"-I{tmp_path / 'c'}"]
    own.append(str(tmp_path / "c" / "model.c"))
    # memcpy of bare.c is not to become a call of itself.
    compiler = compiler_for(parse(target))
    loops = ["-fno-tree-loop-distribute-patterns"] if compiler.kind == "gcc" else []
    link = [*loops, "-nostdlib", "-static"]
    subprocess.run(
        [*compiler.command, *flags, *link, *own, "-lgcc", "-o", str(tmp_path / "bare")],
        check=True,
    )
    rng = np.random.default_rng(3)
    x, s = rng.standard_normal((5, 20)).astype(np.float32), rng.integers(-99, 99, 4)
    done = subprocess.run(
        [*here.runner, tmp_path / "bare"],
        input=x.tobytes() + s.tobytes(),
        capture_output=True,
        check=True,
    )
    y = np.frombuffer(done.stdout[:600], np.float32).reshape(5, 30)
    product = x.astype(np.float64) @ np.full((20, 30), 0.0625)
    np.testing.assert_allclose(y, np.exp(np.tanh(product) + product), rtol=1e-5)
    assert np.array_equal(np.frombuffer(done.stdout[600:632], np.int64), 2 * s)
    touched, said = int.from_bytes(done.stdout[632:], "little"), made.facts["stack_bytes"]
    assert isinstance(said, int)
    assert 0 < touched <= said + CALLED
    assert any(re.search(rf"stack (at most )?{said} bytes", line) for line in made.says)


def test_what_freestanding_needs_is_said(tmp_path: Path) -> None:
    """An arena, functions of libm, and that nothing else is undefined."""
    text = BARE.replace("graph.exp", "graph.sin") + TWICE
    made = export(written(text, tmp_path), tmp_path / "c", target="generic", freestanding=True)
    assert made.facts["library_functions"] == ["sinf"]
    head = (tmp_path / "c" / "model.c").read_text().partition("#include")[0]
    assert "and of others sinf of libm." in " ".join(head.replace("\n * ", " ").split())
    assert f"weights  {made.facts['weights_bytes']} bytes" in head
    listing = json.loads((tmp_path / "c" / "inarch-export.json").read_text())
    needed = [one["workspace_bytes"] for one in listing["functions"].values()]
    assert min(needed) < max(needed)
    assert f"arena    {max(needed)} bytes" in head
    assert f"inarch_arena[{max(needed)}]" in (tmp_path / "c" / "model.c").read_text()
    make(tmp_path / "c", machine("generic"))
    symbols = subprocess.run(
        ["nm", "-u", tmp_path / "c" / "build" / "model.c.o"],
        capture_output=True,
        text=True,
        check=True,
    )
    undefined = set(symbols.stdout.replace("U ", "").split())
    assert undefined - {"memcpy", "memset", "memmove", "memcmp"} == {"sinf"}


def test_what_cannot_be_freestanding(tmp_path: Path) -> None:
    path = written(ADD, tmp_path)
    with pytest.raises(UnsupportedError) as error:
        export(path, tmp_path / "c", freestanding=True, backends=["ccompiler"])
    assert str(error.value) == (
        "'model' cannot be freestanding: backend 'ccompiler' emits C of its own, which may call anything; "
        "leave the backend out, or export without --freestanding"
    )
    assert not (tmp_path / "c").exists()


# ------------------------------------------------------------------------------------ folders


def refused(folder: Path, model: Path) -> str:
    """What `inarch export` says, which leaves the folder as it is."""
    before = sorted(folder.rglob("*"))
    done = run(["export", str(model), str(folder)])
    assert (done.code, done.out) == (2, "")
    assert sorted(folder.rglob("*")) == before
    return done.err.strip()


def test_folders_of_others_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, mine = written(SMALL, tmp_path), tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    expected = "expected a new folder, an empty one, or one that `inarch export` made, found"
    assert refused(mine, model) == (
        f"{mine}: error: {expected} 'notes.txt'; give another DIR, or move what is yours"
    )
    (mine / "notes.txt").rename(mine / "inarch-export.json")
    assert f"{expected} 'inarch-export.json'; " in refused(mine, model)
    file = tmp_path / "file"
    file.write_text("")
    assert refused(file, model) == (
        f"{file}: error: expected a folder, found a file; give another DIR"
    )
    monkeypatch.chdir(mine)
    assert refused(tmp_path, model) == (
        f"{tmp_path}: error: expected another folder than the one that this runs in; give one to make "
        "within it"
    )


def test_an_export_is_replaced_unless_it_was_changed(tmp_path: Path) -> None:
    model, folder = written(SMALL, tmp_path), tmp_path / "c"
    assert run(["export", str(model), str(folder), "-q"]).code == 0
    (folder / "build").mkdir()
    (folder / "build" / "old").write_text("")
    made = run(["export", str(model), str(folder), "--freestanding", "--json"])
    facts = json.loads(made.out)
    assert facts["files"] == ["model.c", "model.h", "main.c", *BUILDING]
    assert (facts["weights_bytes"], facts["functions"]["main"]["inputs"][0]["name"]) == (0, "x")
    assert sorted(one.name for one in folder.iterdir()) == sorted(
        [*facts["files"], "inarch-export.json"]
    )
    (folder / "main.c").write_text("mine")
    assert refused(folder, model) == (
        f"{folder}: error: expected what `inarch export` wrote, found 'main.c' changed since; give another "
        "DIR, or move what is yours"
    )


def test_what_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, folder = written(SMALL, tmp_path), tmp_path / "c"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("inarch.driver.artifact.export._replace", full)
    done = run(["export", str(model), str(folder)])
    assert (done.code, done.err) == (
        3,
        f"{folder}: error: cannot be written: No space left on device\n",
    )
    assert [one.name for one in tmp_path.iterdir()] == [model.name]
    with pytest.raises(UsageError) as error:
        export(model, folder, name="inarch")
    assert str(error.value) == "expected a name that does not begin with inarch, found 'inarch'"


def test_what_no_sources_can_bring_along(tmp_path: Path) -> None:
    model = written(ADD, tmp_path)
    done = run(["export", str(model), str(tmp_path / "c"), "--backend", "examplejson"])
    assert done.err == (
        "error: 'model' cannot be exported: backend 'examplejson' emits the format 'examplejson', which has "
        "no C; leave the backend out, or use `inarch compile`\n"
    )
    assert not (tmp_path / "c").exists()


def test_c_of_a_backend_is_a_file_beside(tmp_path: Path) -> None:
    export(written(ADD, tmp_path), tmp_path / "c", backends=["ccompiler"])
    program = make(tmp_path / "c", machine("native"))
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    (found,) = run_files(program, [x], [Port("y", DTYPES["f32"], (3, 4))])
    assert np.array_equal(found, 2 * x)
    assert str(tmp_path) not in (tmp_path / "c" / "Makefile").read_text()


# ------------------------------------------------------------------------------------ one file of C


def test_emitted_c_has_its_weights_beside_it(tmp_path: Path) -> None:
    """The text and FILE.bin are the whole program: bound and called by hand."""
    model, text = written(MODEL, tmp_path), tmp_path / "m.c"
    done = run(["compile", str(model), "--emit=c", "--name", "net", "-o", str(text)])
    assert (done.code, done.err) == (0, f"wrote {text} and {text.with_suffix('.bin')}\n")
    weights = text.with_suffix(".bin").read_bytes()
    first, second = text.read_text().splitlines()[:2]
    assert (
        f"Its weights, {len(weights)} bytes, are FILE.bin beside it; net_bind takes them" in second
    )
    flags = re.findall(r"cc (.*) FILE\.c -o FILE\.so (.*) \*/", first)[0]
    library = text.with_suffix(".so")
    subprocess.run(["cc", *flags[0].split(), text, "-o", library, *flags[1].split()], check=True)
    opened = ctypes.CDLL(str(library))
    memory = np.zeros(len(weights) + 64, np.uint8)
    start = -memory.ctypes.data % 64
    memory[start : start + len(weights)] = np.frombuffer(weights, np.uint8)
    bound = opened.net_bind(
        ctypes.c_void_p(memory.ctypes.data + start), ctypes.c_int64(len(weights)), None, 0
    )
    assert bound == 0
    x, y = sample()
    found = np.empty_like(y)
    buffers = (ctypes.c_void_p * 2)(x.ctypes.data, found.ctypes.data)
    assert opened.net_main_run(buffers, ctypes.c_void_p(memory.ctypes.data + start), None) == 0
    np.testing.assert_allclose(found, y, rtol=1e-5)
    done = run(["compile", str(model), "--emit=c", "-o", str(tmp_path / "m.bin")])
    assert done.err == (
        f"error: -o: expected another name than that of the constants, found '{tmp_path / 'm.bin'}'\n"
    )


# ------------------------------------------------------------------------------------ other machines


@pytest.mark.slow
def test_exported_for_another_machine(tmp_path: Path) -> None:
    here = machine("aarch64")
    export(written(MODEL, tmp_path), tmp_path / "c", target="aarch64", name="net")
    assert f"CC = {CROSS}\n" in (tmp_path / "c" / "Makefile").read_text()
    x, y = sample()
    program = make(tmp_path / "c", here)
    (found,) = run_files(program, [x], [PORT], runner=here.runner)
    np.testing.assert_allclose(found, y, rtol=1e-5)


@pytest.mark.slow
def test_an_artifact_for_another_machine_runs_there_without_python(tmp_path: Path) -> None:
    """libinarch and inarch-run are cross-compiled, too; the compiler is found by the target."""
    here = machine("aarch64")
    artifact = tmp_path / "net.inarch"
    done = run(
        ["compile", str(written(MODEL, tmp_path)), "--target", "aarch64", "-o", str(artifact)]
    )
    assert (done.code, done.err) == (0, "")
    with Artifact.open(artifact) as opened:
        assert bytes(opened.library[18:20]) == b"\xb7\x00"  # EM_AARCH64
    assert run(["config", "--install", str(tmp_path / "opt"), "--target", "aarch64"]).code == 0
    x, y = sample()
    np.save(tmp_path / "x.npy", x)
    command = [
        *here.runner, "-L", "/usr/aarch64-linux-gnu", tmp_path / "opt" / "bin" / "inarch-run", artifact,
        "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out",
    ]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    np.testing.assert_allclose(np.load(tmp_path / "out" / "y.npy"), y, rtol=1e-5)


@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang", "clang++"])
def test_artifacts_by_each_compiler(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B6: what gcc, g++ and clang build is opened and called, with arguments that are checked."""
    monkeypatch.setenv("CC", command_of(compiler))
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path / "cache"))
    module = inarch.compile(written(SMALL, tmp_path))
    assert np.array_equal(module(np.array([-1, 2, 3], np.float32)), [0, 2, 3])
    with pytest.raises(inarch.ArgumentError, match="expected f32"):
        module(np.array([-1, 2, 3]))


def test_the_readme_says_how_it_is_built_and_run(tmp_path: Path) -> None:
    """Ten lines; its commands are those that work."""
    export(written(SMALL, tmp_path), tmp_path / "c", target="generic")
    text = (tmp_path / "c" / "README.md").read_text()
    assert len(text.splitlines()) <= 16
    commands = re.findall(r"^    (make|build/\S+)(?: +(.*))?$", text, re.MULTILINE)
    assert commands[1] == ("build/model", "INPUT... OUTPUT...")
    ports = re.findall(r"(reads|writes) +(\w+): (\S+), (\d+) bytes", text)
    files: list[Path] = []
    for what, name, _, nbytes in ports:
        files.append(tmp_path / f"{what}.{name}")
        if what == "reads":
            files[-1].write_bytes(bytes(int(nbytes)))
    subprocess.run([commands[0][0], "-s"], cwd=tmp_path / "c", check=True)
    subprocess.run([commands[1][0], *files], cwd=tmp_path / "c", check=True)
    assert [path.stat().st_size for path in files] == [int(nbytes) for *_, nbytes in ports]
