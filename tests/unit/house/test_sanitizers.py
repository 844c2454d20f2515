"""Compiled programs under the sanitizers: nothing outside of buffers, nothing that C leaves undefined.

`benchmarks/sanitizers.py` counts the same over more programs.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from effort import effort
from inarch.backends.c.plan.linear import Loop
from inarch.core.errors import EnvironmentFault
from inarch.dialects import new_context
from inarch.ir.text import parse_module
from inarch.machine.target import parse
from inarch.machine.toolchain import compile_library
from inarch.testing.generate import inputs, programs
from inarch.testing.sanitize import MEMORY, RACES, Sanitized, caller, report, sanitized

TARGETS = [
    name for name in ("native", "x86-64-v3") if name == "native" or not parse(name).missing_here()
]
BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "sanitizers.py"

DENSE = """
func.func @main(%x: tensor<3x5xf32> {inarch.name = "x"}) -> (tensor<3x7xf32> {inarch.name = "y"}) {
  %w = graph.constant dense<WEIGHTS> : tensor<5x7xf32>
  %0 = graph.matmul %x, %w : tensor<3x5xf32>, tensor<5x7xf32> -> tensor<3x7xf32>
  %1 = graph.exp %0 : tensor<3x7xf32> -> tensor<3x7xf32>
  func.return %1 : tensor<3x7xf32>
}
""".replace("WEIGHTS", str([[row + column / 8 + 1 for column in range(7)] for row in range(5)]))


@pytest.fixture(name="executable", scope="module")
def fixture_executable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that calls libraries; without sanitizers here the test skips, and says why."""
    try:
        return caller(tmp_path_factory.mktemp("sanitize"))
    except EnvironmentFault as error:
        pytest.skip(error.line())


@pytest.fixture(name="dense", scope="module")
def fixture_dense(executable: Path) -> Sanitized:
    """A product with a weight and exp, for the CPU that is here."""
    context = new_context()
    out = executable.with_name("dense.so")
    return sanitized(context, parse_module(context, DENSE), out, "native")


X = [np.ones((3, 5), np.float32)]


@pytest.mark.parametrize("shift", [0, 1])
def test_a_sound_program_has_no_report(executable: Path, dense: Sanitized, shift: int) -> None:
    assert report(executable, dense, "main", X, shift=shift) == ""


def test_weights_that_are_4_bytes_short_are_reported(executable: Path, dense: Sanitized) -> None:
    """The checks are on in the generated code, on the buffer that has none of Python's slack."""
    used = dense.weights.rstrip(b"\0")
    assert used, "there are weights"
    short = replace(dense, weights=used[:-4])
    assert report(executable, short, "main", X).startswith("AddressSanitizer: heap-buffer-overflow")


def test_an_input_that_is_one_element_short_is_reported(executable: Path, dense: Sanitized) -> None:
    short = [X[0].reshape(-1)[:-1]]
    assert report(executable, dense, "main", short).startswith(
        "AddressSanitizer: heap-buffer-overflow"
    )


FAULTS = {
    "an output's end": ("((float *)b[1])[21] = 1;", "AddressSanitizer: heap-buffer-overflow"),
    "before the workspace": ("((volatile char *)s)[-1] = 1;", "AddressSanitizer: heap-buffer-overflow"),
    "a local's end": ("volatile float t[4]; t[n] = 1;", "index 4 out of bounds"),
    "signed overflow": ("volatile int m = 0x7fffffff; m = m + n;", "signed integer overflow"),
    "a misaligned vector": (
        "typedef float v4 __attribute__((vector_size(16))); *(volatile v4 *)b[0] = (v4){0};",
        "store to misaligned address",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_each_kind_of_fault_in_c_is_reported(
    fault: str, executable: Path, dense: Sanitized, tmp_path: Path
) -> None:
    """A library of ours with a statement that is wrong, built as programs are."""
    statement, expected = FAULTS[fault]
    entry = f"int32_t {dense.native.symbols['main']}(void *const *b, const void *w, void *s)"
    text = (
        f'#include <stdint.h>\n__attribute__((visibility("default"))) {entry};\n'
        f"{entry}\n{{\n  volatile int n = 4;\n  (void)b, (void)w, (void)s;\n  {statement}\n  return 0;\n}}\n"
    )
    broken = replace(dense, library=tmp_path / "fault.so")
    _library(text, broken.library)
    assert expected in report(executable, broken, "main", X, shift=1)


def test_a_status_that_is_not_0_is_reported(
    executable: Path, dense: Sanitized, tmp_path: Path
) -> None:
    """A call that computes nothing proves nothing."""
    entry = f"int32_t {dense.native.symbols['main']}(void *const *b, const void *w, void *s)"
    text = (
        f'#include <stdint.h>\n__attribute__((visibility("default"))) {entry};\n'
        f"{entry} {{ (void)b, (void)w, (void)s; return 3; }}\n"
    )
    failing = replace(dense, library=tmp_path / "status.so", weights=b"")
    _library(text, failing.library)
    assert report(executable, failing, "main", X) == "ended with status 3"


def _library(text: str, out: Path) -> None:
    """C that is not a program's, with the checks that programs get."""
    compile_library(
        {"model.c": text}, out, target=parse("native"), flags=MEMORY.flags, libraries=MEMORY.link
    )


def test_a_compiler_without_sanitizers_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that cannot link their run-time; the tests above then skip with this line."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs gcc or clang")
    fake = tmp_path / "gcc"
    fake.write_text(
        "#!/bin/sh\n"
        'case "$*" in *-fsanitize*) echo "ld: cannot find libasan" >&2; exit 1;; esac\n'
        f'exec {compiler} "$@"\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("CC", str(fake))
    with pytest.raises(EnvironmentFault) as caught:
        caller(tmp_path)
    assert caught.value.line() == (
        f"error: expected a compiler with -fsanitize=address,undefined, found '{fake}': "
        "ld: cannot find libasan; install its sanitizer libraries, or put another one in $CC"
    )


RACE = """
func.func @main(%x: memref<64xf32>, %y: memref<64xf32> {inarch.result}) {
  loop.nest (i = 64 parallel) ins(%x[i] : memref<64xf32>) outs(%y[i] : memref<64xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}
"""


@pytest.fixture(name="racing", scope="module")
def fixture_racing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that calls libraries, under ThreadSanitizer."""
    try:
        return caller(tmp_path_factory.mktemp("races"), RACES)
    except EnvironmentFault as error:
        pytest.skip(error.line())


def test_a_race_is_reported(racing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads do share the loop: where each one does also the iteration behind its own, that is seen."""
    context = new_context()
    sound = sanitized(
        context, parse_module(context, RACE), tmp_path / "sound.so", "native", checks=RACES
    )
    given = [np.ones(64, np.float32)]
    assert report(racing, sound, "main", given) == ""
    monkeypatch.setattr(Loop, "end", property(lambda _: "(end < 64 ? end + 1 : end)"))
    broken = sanitized(
        context, parse_module(context, RACE), tmp_path / "race.so", "native", checks=RACES
    )
    # A thread that comes late may find all in order by chance.
    said = (report(racing, broken, "main", given) for _ in range(60))
    assert any(text.startswith("ThreadSanitizer: data race") for text in said)


TRANSPOSE = """
func.func @main(%x: memref<37x10xf32>, %y: memref<10x37xf32> {inarch.result}) {
  loop.nest (i = 10ROWS, j = 37COLUMNS) ins(%x[j, i] : memref<37x10xf32>) outs(%y[i, j] : memref<10x37xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}
"""


@pytest.mark.parametrize("modes", [(" parallel", ""), ("", " parallel")], ids=["rows", "columns"])
def test_a_shared_transpose_has_no_race(
    racing: Path, tmp_path: Path, modes: tuple[str, str]
) -> None:
    """Blocks of four elements, of which the last one is moved back: it is of the thread of the one before."""
    text = TRANSPOSE.replace("ROWS", modes[0]).replace("COLUMNS", modes[1])
    context = new_context()
    module = parse_module(context, text)
    compiled = sanitized(context, module, tmp_path / "transpose.so", "native", checks=RACES)
    given = [np.ones((37, 10), np.float32)]
    assert [report(racing, compiled, "main", given) for _ in range(8)] == [""] * 8


@pytest.mark.parametrize("level", ["graph", "loop"])
def test_random_programs_have_no_race(racing: Path, tmp_path: Path, level: str) -> None:
    """Whatever three threads can share they do."""
    for program in programs(level, seed=17, count=effort(1, 4)):
        context, module = program.parse()
        arrays = {name: inputs(module, 3, function=name) for name in program.functions()}
        compiled = sanitized(
            context, module, tmp_path / f"{program.name}.so", "native", checks=RACES
        )
        for name, given in arrays.items():
            assert report(racing, compiled, name, given, shift=1) == "", program.name


def test_random_graphs_have_no_report(executable: Path, tmp_path: Path) -> None:
    for program in programs("graph", seed=3, count=effort(1, 2)):
        context, module = program.parse()
        arrays = {name: inputs(module, 3, function=name) for name in program.functions()}
        compiled = sanitized(context, module, tmp_path / f"{program.name}.so", "native")
        for name, given in arrays.items():
            assert report(executable, compiled, name, given, shift=1) == "", program.name


PICKS = """
func.func @main(%ids: memref<6xIxx>, %all: memref<2x6xIxx>, %t: memref<5x8xf32>, %u: memref<8x5xf32>,
    %y: memref<6x8xf32> {inarch.result}, %z: memref<6x8xf32> {inarch.result},
    %w: memref<8xf32> {inarch.result}) {
  loop.nest (i = 6, j = 8)
      ins(%ids[i] : memref<6xIxx>, %t[at(0), j] : memref<5x8xf32>)
      outs(%y[i, j] : memref<6x8xf32>) {
  ^bb0(%k: Ixx, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  loop.nest (i = 6, r = 2 reduction, j = 8)
      ins(%all[r, i] : memref<2x6xIxx>, %u[j, at(0)] : memref<8x5xf32>)
      outs(%z[i, j] init 0.0 : memref<6x8xf32>) {
  ^bb0(%k: Ixx, %x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    loop.yield %s : f32
  }
  loop.nest (r = 6 reduction, j = 8 vector)
      ins(%ids[r] : memref<6xIxx>, %t[at(0), j] : memref<5x8xf32>)
      outs(%w[j] init 0.0 : memref<8xf32>) {
  ^bb0(%k: Ixx, %x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    loop.yield %s : f32
  }
  func.return
}
"""


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_an_index_outside_reads_inside(
    executable: Path, tmp_path: Path, dtype: type[np.int32 | np.int64]
) -> None:
    """The extremes and those beside the ends: none leaves the table, and no sum of one overflows."""
    limits = np.iinfo(dtype)
    ids = np.array([limits.min, limits.max, -6, 5, -5, 4], dtype)
    context = new_context()
    module = parse_module(context, PICKS.replace("Ixx", f"i{limits.bits}"))
    compiled = sanitized(context, module, tmp_path / "picks.so", "native")
    given = [ids, np.stack([ids, ids[::-1]]), np.ones((5, 8), "f4"), np.ones((8, 5), "f4")]
    assert report(executable, compiled, "main", given) == ""


def benchmark() -> ModuleType:
    """`benchmarks/sanitizers.py`, which is a script and not part of the package."""
    spec = importlib.util.spec_from_file_location("sanitizers", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["sanitizers"] = module
    spec.loader.exec_module(module)
    return module


def test_the_command_refuses_a_target_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark().main(["--target", "x86-64-v9", "--programs", "0"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "",
        "error: no target 'x86-64-v9'; did you mean 'x86-64-v4'? "
        "Known: aarch64, generic, native, x86-64, x86-64-v2, x86-64-v3, x86-64-v4, "
        "x86-64-v4-on-v3; "
        "one of your own is a file: docs/extending.md, Target\n",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("--model", "lenet", "--programs", "12"),
        ("--model", "mobilenetv2", "--programs", "0", "--target", "native"),
        ("--model", "magika", "--programs", "0"),
    ],
    ids=["lenet and random graphs", "mobilenetv2", "magika"],
)
def test_networks_and_random_graphs_have_no_report(
    arguments: Sequence[str],
    executable: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the command that counts, on every target."""
    assert executable.is_file()
    monkeypatch.setattr(sys, "path", [str(BENCHMARK.parent / "models"), *sys.path])
    script = benchmark()
    if "magika" in arguments:
        fetch = importlib.import_module("fetch")
        try:
            fetch.fetch("magika")
        except fetch.FetchError as error:
            pytest.skip(str(error))
    status = script.main([*arguments, "--json", *(f"--target={name}" for name in TARGETS)])
    found = json.loads(capsys.readouterr().out)
    assert [one for one in found["of"] if one["reports"]] == []
    assert (status, found["reports"]) == (0, 0)
    assert found["calls"] >= 2 * len(TARGETS) * found["programs"] > 0
