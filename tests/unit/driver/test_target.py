"""Targets: names, what follows from them, and this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from inarch.backends.c import emit
from inarch.core.errors import UsageError
from inarch.core.plugins import load_file
from inarch.dialects import new_context
from inarch.driver.compiler import import_model, lower
from inarch.ir.text import parse_module
from inarch.machine import find, target
from inarch.machine.architecture import TARGETS, architectures
from inarch.machine.target import Processor, check_features, native, parse
from inarch.machine.toolchain import find_compiler
from inarch.tools import cli


@pytest.mark.parametrize(
    ("text", "vector_bytes", "registers", "architecture"),
    [
        ("x86-64", 16, 16, "x86-64"),
        ("x86-64-v2", 16, 16, "x86-64"),
        ("x86-64-v3", 32, 16, "x86-64"),
        ("x86-64-v4", 64, 32, "x86-64"),
        ("x86-64-v4+avx512vnni", 64, 32, "x86-64"),
        ("x86-64-v4-on-v3", 64, 32, "x86-64"),
        ("x86-64-v2+avx2", 16, 16, "x86-64"),
        ("x86-64-v2+avx2+fma", 32, 16, "x86-64"),
        ("aarch64", 16, 32, "aarch64"),
        ("aarch64+dotprod", 16, 32, "aarch64"),
        ("generic", 16, 16, "generic"),
    ],
)
def test_what_follows_from_a_name(
    text: str, vector_bytes: int, registers: int, architecture: str
) -> None:
    found = parse(text)
    assert str(found) == text
    assert parse(str(found)) == found
    assert (found.vector_bytes, found.vector_registers) == (vector_bytes, registers)
    assert found.architecture == architecture


def test_levels_grow() -> None:
    levels = [
        architectures()[name].levels[name]
        for name in ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
    ]
    for less, more in pairwise(levels):
        assert less < more


def test_names_are_canonical() -> None:
    assert str(parse("x86-64-v4+avx512f+avx2")) == "x86-64-v4"
    assert parse("x86-64-v3+avx512vnni+avx512f") == parse("x86-64-v3+avx512vnni")
    assert str(parse("x86-64-v4+avx512vnni+avx512bf16")) == "x86-64-v4+avx512bf16+avx512vnni"
    assert "avx512f" in parse("x86-64-v3+avx512vnni").features


def test_cflags() -> None:
    assert parse("generic").cflags() == []
    assert parse("x86-64-v3").cflags() == ["-march=x86-64-v3"]
    assert parse("aarch64+dotprod+fp16").cflags() == ["-march=armv8-a+dotprod+fp16"]
    assert parse("x86-64-v4+avx512vnni").cflags() == [
        "-march=x86-64-v4",
        "-mavx512vnni",
        "-mprefer-vector-width=512",
    ]


def test_unknown_level() -> None:
    with pytest.raises(UsageError) as caught:
        parse("x86-64-v5")
    assert str(caught.value) == (
        "no target 'x86-64-v5'; did you mean 'x86-64-v4'? "
        "Known: aarch64, generic, native, x86-64, x86-64-v2, x86-64-v3, x86-64-v4, x86-64-v4-on-v3; "
        "one of your own is a file: docs/extending.md, Target"
    )


def test_unknown_feature() -> None:
    with pytest.raises(UsageError) as caught:
        parse("aarch64+avx2")
    assert str(caught.value) == (
        "no feature 'avx2' in target 'aarch64'. Known: bf16, dotprod, fp16, i8mm, neon, sve, sve2"
    )


def test_native_runs_here() -> None:
    assert native().missing_here() == []
    assert parse("native") == native()
    assert parse("generic").missing_here() == []


def test_what_this_machine_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Processor("x86-64", parse("x86-64-v3").features)
    monkeypatch.setattr(target, "this_processor", lambda: host)
    assert native() == parse("x86-64-v3")
    assert parse("x86-64-v4").missing_here() == [
        "avx512bw",
        "avx512cd",
        "avx512dq",
        "avx512f",
        "avx512vl",
    ]
    assert parse("x86-64-v4-on-v3").missing_here() == []
    assert parse("aarch64").missing_here() == ["aarch64"]
    assert check_features(["avx2", "avx512vnni"]) == ["avx512vnni"]


def test_a_variable_makes_this_computer_one_of_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """INARCH_NATIVE: all computers with it make the same choices; it adds nothing that a CPU lacks."""
    own = Processor("x86-64", parse("x86-64-v3").features | {"avxvnni"})
    monkeypatch.setattr(target, "cpu", lambda: own)
    for limit, found in (
        ("", "x86-64-v3+avxvnni"),
        ("x86-64-v4", "x86-64-v3"),
        ("x86-64-v2", "x86-64-v2"),
        ("x86-64-v2+fma", "x86-64-v2+fma"),
        ("x86-64-v4-on-v3", "x86-64-v4-on-v3"),
        ("generic", "x86-64"),
    ):
        monkeypatch.setenv("INARCH_NATIVE", limit)
        assert str(native()) == found
    assert find.this_machine() is None
    for limit, error in (
        ("aarch64", "INARCH_NATIVE: expected a target of x86-64, found 'aarch64'; unset it, or name "
         "what this computer is to be at most"),
        ("v3", "INARCH_NATIVE: no target 'v3'. Known: aarch64, generic, native, x86-64, x86-64-v2, "
         "x86-64-v3, x86-64-v4, x86-64-v4-on-v3; one of your own is a file: docs/extending.md, Target"),
    ):  # fmt: skip
        monkeypatch.setenv("INARCH_NATIVE", limit)
        with pytest.raises(UsageError) as caught:
            native()
        assert str(caught.value) == error


SUMS_AND_PRODUCTS = """func.func @main(%x: tensor<33x70xf32>, %w: tensor<70x50xf32>) -> tensor<33xf32> {
  %0 = graph.matmul %x, %w : tensor<33x70xf32>, tensor<70x50xf32> -> tensor<33x50xf32>
  %1 = graph.softmax %0 axis = 1 : tensor<33x50xf32> -> tensor<33x50xf32>
  %2 = graph.reduce_max %1 axes = [1] : tensor<33x50xf32> -> tensor<33xf32>
  func.return %2 : tensor<33xf32>
}"""


def test_code_for_v4_is_the_same_on_v3() -> None:
    """All units of kernels and nests; what names the target and its features is another."""
    of: dict[str, dict[str, str]] = {}
    for name in ("x86-64-v4", "x86-64-v4-on-v3"):
        context = new_context()
        module = import_model(parse_module(context, SUMS_AND_PRODUCTS), context, target=name)
        lower(context, module, "kernel")
        units = emit(context, module).units
        of[name] = {unit: units[unit] for unit in units if unit not in ("abi.c", "model.c")}
    first, second = of.values()
    assert first == second
    assert "vector_size(64)" in "".join(first.values())


def test_a_cpu_between_two_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    features = parse("x86-64-v3").features | {"avxvnni"} - {"movbe"}
    monkeypatch.setattr(target, "this_processor", lambda: Processor("x86-64", features - {"movbe"}))
    assert native().level == "x86-64-v2"


@pytest.mark.parametrize("name", [name for name in architectures() if name.startswith("x86-64")])
def test_the_compiler_agrees_on_levels(name: str) -> None:
    """What a level's flags switch on is what the table says, by the compiler's own macros."""
    compiler = find_compiler()
    if native().architecture != "x86-64" or compiler.kind == "zig":
        pytest.skip("needs gcc or clang for x86-64")
    command = [*compiler.command, *parse(name).cflags(), "-dM", "-E", "-x", "c", "-"]
    macros = subprocess.run(command, input="", capture_output=True, text=True, check=True).stdout
    for feature in ("avx", "avx2", "fma", "f16c", "bmi2", "sse4.2", "avx512f", "avx512vl"):
        macro = f"#define __{feature.upper().replace('.', '_')}__ 1"
        assert (macro in macros) == (feature in parse(name).features), feature


OWN_CPU = """
from dataclasses import replace
from inarch.machine.targets.x86_64 import TARGET as X86_64

TARGET = replace(
    X86_64,
    levels={"my-cpu": X86_64.levels["x86-64-v3"] | {"avxvnni"}},
    machines=(),
    march={"my-cpu": "x86-64-v3"},
    flags=lambda march, extras, _: [f"-march={march}", "-mavxvnni", *(f"-m{x}" for x in extras)],
)
"""
RISCV = """
from inarch.machine.architecture import Architecture

TARGET = Architecture(
    family="riscv64",
    levels={"rv64gc": frozenset(), "rv64gcv": frozenset({"v"})},
    vector_bytes=lambda _: 16,
    vector_registers=lambda _: 32,
    flags=lambda march, extras, _: ["-march=" + "_".join((march, *extras))],
    machines=("riscv64",),
    features=frozenset({"zvfh"}),
)
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    """Two files that somebody else has written, loaded for the test."""
    with TARGETS.scope():
        for name, text in (("my_cpu", OWN_CPU), ("riscv", RISCV)):
            path = tmp_path / f"{name}.py"
            path.write_text(text)
            load_file(path, {"targets": TARGETS})  # pyright: ignore[reportArgumentType]
        yield tmp_path


@pytest.mark.usefixtures("own")
def test_a_cpu_of_ones_own_is_a_file() -> None:
    """N11: a level of a family that is known."""
    found = parse("my-cpu+avx512vnni")
    assert (found.architecture, found.vector_bytes) == ("x86-64", 64)
    assert found.cflags() == ["-march=x86-64-v3", "-mavxvnni", "-mavx512vnni"]
    assert {"avxvnni", "fma"} <= parse("my-cpu").features
    assert native().level != "my-cpu", "it is nobody's machine"


@pytest.mark.usefixtures("own")
def test_a_family_of_cpus_is_a_file() -> None:
    """N11: RISC-V, with its levels, features and flags."""
    found = parse("rv64gcv+zvfh")
    assert (found.architecture, found.features) == ("riscv64", {"v", "zvfh"})
    assert found.cflags() == ["-march=rv64gcv_zvfh"]
    assert parse("rv64gc").missing_here() == ["riscv64"]
    with pytest.raises(UsageError, match="no feature 'avx2' in target 'rv64gc'"):
        parse("rv64gc+avx2")


def test_a_level_that_two_files_have(own: Path) -> None:
    path = own / "again.py"
    path.write_text(RISCV)
    load_file(path, {"targets": TARGETS})  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError) as caught:
        parse("rv64gc")
    assert str(caught.value) == (
        f"target 'rv64gc' is defined twice: by {own / 'riscv.py'} and by {path}; remove or rename one"
    )


def test_a_program_is_compiled_for_a_cpu_of_ones_own(own: Path) -> None:
    (own / "m.mlir").write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = graph.relu %x : tensor<4xf32> -> tensor<4xf32>\n"
        "  func.return %0 : tensor<4xf32>\n}\n"
    )
    path, file = str(own / "m.mlir"), str(own / "my_cpu.py")
    shown = cli.run(["compile", path, f"--load={file}", "--target=my-cpu", "--emit=kernel", "-q"])
    assert (shown.code, 'inarch.target = "my-cpu"' in shown.out) == (0, True)
    wrong = cli.run(["compile", path, "--target=my-cpus", f"--load={file}", "-q"])
    assert (wrong.code, "no target 'my-cpus'; did you mean 'my-cpu'?" in wrong.err) == (2, True)
    listed = cli.run(["list", "targets", f"--load={file}"])
    assert "my-cpu" in listed.out
