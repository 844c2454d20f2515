"""What compilers make is kept by all that it is made of: nothing old serves, and nothing is made twice."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inarch.core.cache import Cache
from inarch.driver.compiler import build
from inarch.machine import toolchain
from inarch.machine.target import Target, parse
from inarch.machine.toolchain import Compiler, compile_library
from inarch.microkernel import Instance, Microkernel, instantiate
from inarch.runtime.module import load
from inarch.verification import Verdict, quick_check
from inarch.verification import record as _record
from inarch.verification.run import build as _build

pytestmark = pytest.mark.every_case(reason="each is the only one that sees some fault")


@dataclass(frozen=True)
class Build:
    """One call of `compile_library`, and what a compiler finds around it."""

    compiler: Compiler = field(default=Compiler(("/cc", "-a"), "gcc", "cc 1"))
    target: Target = field(default_factory=lambda: parse("x86-64"))
    units: tuple[tuple[str, str], ...] = (("a.c", "int a;"), ("b.c", "int b;"))
    flags: tuple[str, ...] = ()
    unit_flags: tuple[str, ...] = ()
    """Of a.c."""
    libraries: tuple[str, ...] = ()
    exports: str | None = None
    variable: str = ""
    header: str = ""
    """The text of a file that sources include."""


class Machine:
    """A compiler that only writes down what it is asked for; a cache of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._cache = Cache(folder / "cache")
        self._monkeypatch = monkeypatch
        self._header = ""
        self._ran: list[str] = []
        self.linked: list[str] = []
        """The objects of the last library, in order."""
        monkeypatch.setattr(toolchain, "run_compiler", self._run)

    def _run(self, command: Sequence[str], folder: Path, *_: object) -> tuple[int, str]:
        name = command[-1]
        expands = name == "out.i"
        if not expands:
            self._ran.append(name)
            self.linked = [Path(word).name for word in command if word.endswith(".o")]
        text = self._header if expands else f"{len(self._ran)} {command}"
        (folder / name).write_text(text)
        return 0, ""

    def made(self, build: Build) -> list[str]:
        """What the compiler is run for; `out.so` is written in any case."""
        self._ran.clear()
        self._header = build.header
        for name in ("LIBRARY_PATH", "CPATH"):
            self._monkeypatch.delenv(name, raising=False)
        if build.variable:
            self._monkeypatch.setenv(build.variable, "/somewhere")
        out = self._folder / "out.so"
        compile_library(
            dict(build.units),
            out,
            target=build.target,
            compiler=build.compiler,
            flags=build.flags,
            unit_flags={"a.c": build.unit_flags},
            libraries=build.libraries,
            exports=build.exports,
            jobs=1,
            cache=self._cache,
        )
        return sorted(self._ran)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


ALL, FIRST, LINK = ["a.o", "b.o", "out.so"], ["a.o", "out.so"], ["out.so"]
PLAIN = Build()
QUOTES = replace(PLAIN, units=(("a.c", '#include "h.h"'), ("b.c", "int b;")))
CHANGES: dict[str, tuple[Build, dict[str, Any], list[str]]] = {
    "the command": (PLAIN, {"compiler": Compiler(("/cc", "-b"), "gcc", "cc 1")}, ALL),
    "the version": (PLAIN, {"compiler": Compiler(("/cc", "-a"), "gcc", "cc 2")}, ALL),
    "the target": (PLAIN, {"target": parse("x86-64-v2")}, ALL),
    "the flags": (PLAIN, {"flags": ("-DX",)}, ALL),
    "the environment": (PLAIN, {"variable": "LIBRARY_PATH"}, ALL),
    "the flags of a unit": (PLAIN, {"unit_flags": ("-DX",)}, FIRST),
    "a source": (PLAIN, {"units": (("a.c", "long a;"), ("b.c", "int b;"))}, FIRST),
    "a unit's name": (PLAIN, {"units": (("c.c", "int a;"), ("b.c", "int b;"))}, ["c.o", "out.so"]),
    "what is exported": (PLAIN, {"exports": "net_*"}, LINK),
    "what it is linked with": (PLAIN, {"libraries": ("blas",)}, LINK),
    "a file in quotes": (QUOTES, {"header": "new"}, FIRST),
    "a file in a folder": (replace(PLAIN, flags=("-I/h",)), {"header": "new"}, ALL),
    "a file by an option": (replace(PLAIN, flags=("-include", "h")), {"header": "new"}, ALL),
    "a file of a unit": (replace(PLAIN, unit_flags=("-I/h",)), {"header": "new"}, FIRST),
    "a file on $CPATH": (replace(PLAIN, variable="CPATH"), {"header": "new"}, ALL),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_changes_is_made_anew(what: str, machine: Machine) -> None:
    build, change, made = CHANGES[what]
    assert machine.made(build) == ALL
    assert machine.made(build) == []
    assert machine.made(replace(build, **change)) == made
    assert machine.made(build) == []


def test_a_static_library_that_was_built_anew_is_linked_anew(
    tmp_path: Path, machine: Machine
) -> None:
    library = tmp_path / "lib.a"
    library.write_bytes(b"one")
    build = replace(PLAIN, libraries=(str(library),))
    assert machine.made(build) == ALL
    library.write_bytes(b"two")
    assert machine.made(build) == LINK


def test_the_order_of_units_is_none(machine: Machine) -> None:
    """Equal programs are equal files."""
    backwards = PLAIN.units[::-1]
    assert machine.made(replace(PLAIN, units=backwards, flags=("-DX",))) == ALL
    assert machine.linked == ["a.o", "b.o"]
    assert machine.made(PLAIN) == ALL
    assert machine.made(replace(PLAIN, units=backwards)) == []


def test_the_program_that_calls_kernels_is_of_its_compiler_and_its_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another build of a compiler, which says the same of itself, is another compiler."""
    ran: list[tuple[str, ...]] = []

    def run(command: Sequence[str], folder: Path, _timeout: float) -> tuple[int, str]:
        ran.append(tuple(command))
        (folder / "harness").write_text(str(command))
        return 0, ""

    kept = Cache(tmp_path / "cache")
    monkeypatch.setattr(_build, "default_cache", lambda: kept)
    monkeypatch.setattr(_build, "run_compiler", run)
    program = tmp_path / "cc"
    program.write_bytes(b"one")
    first = Compiler((str(program),), "gcc", "cc 1")

    def made(compiler: Compiler) -> int:
        """How many programs are compiled, in a new process."""
        _build._program_bytes.cache_clear()  # pyright: ignore[reportPrivateUsage]
        ran.clear()
        found = _build.tools(compiler, tmp_path)
        assert found.sanitized is not None
        assert "-fsanitize=address" in found.sanitized.read_text()
        assert "-fsanitize=address" not in found.guarded.read_text()
        return len(ran)

    assert [made(first), made(first)] == [2, 0]
    assert made(replace(first, version="cc 2")) == 2
    assert made(replace(first, command=(str(program), "-a"))) == 2
    assert made(first) == 0
    program.write_bytes(b"two")
    os.utime(program, (1, 1))
    assert made(first) == 2
    monkeypatch.setattr(_build, "_SOURCES", _build._SOURCES[:-1])  # pyright: ignore[reportPrivateUsage]
    assert made(first) == 2
    _build._program_bytes.cache_clear()  # pyright: ignore[reportPrivateUsage]


SCALE = Microkernel("for n in N: Y[n] = A[n] * 3", {"A": "f32", "Y": "f32"}, c="void scale() {}")
CC = Compiler(("/cc", "-a"), "gcc", "cc 1")
CHECKS: dict[str, dict[str, Any]] = {
    "the meaning": {"computes": "for n in N: Y[n] = A[n] * 4"},
    "the strides that are demanded": {"layout": {"A": (1,)}},
    "the alignment": {"align": {"A": 16}},
    "the types": {"dtypes": {"A": "i32", "Y": "i32"}},
    "the code": {"c": "void scale() { }"},
    "the target": {"target": parse("x86-64-v2")},
    "the sizes that are known": {"sizes": {"N": 8}},
    "the command of the compiler": {"compiler": replace(CC, command=("/cc", "-b"))},
    "the version of the compiler": {"compiler": replace(CC, version="cc 2")},
    "the machine": {"host": parse("generic")},
}


@pytest.mark.parametrize("what", CHECKS)
def test_a_check_is_kept_by_what_was_checked(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K7: a verdict is that of one kernel, as it is compiled here, and of one machine."""
    kept, checked = Cache(tmp_path), list[str]()

    def check(instance: Instance, **_more: object) -> Verdict:
        checked.append(instance.name)
        return Verdict(instance.name, "", ok=True)

    def compiled(instance: Instance, _compiler: Compiler, out: Path, _libraries: object) -> None:
        out.write_text(str(instance.kernel.c))

    def made(change: dict[str, Any]) -> int:
        """How often the kernel is checked."""
        own: dict[str, Any] = {"target": parse("x86-64"), "sizes": {}, "compiler": CC}
        own["host"] = parse("x86-64-v3")
        own |= {name: value for name, value in change.items() if name in own}
        rest = {name: value for name, value in change.items() if name not in own}
        monkeypatch.setattr(_record, "this_processor", lambda: own["host"])
        kernel = replace(SCALE, **rest)
        instance = instantiate(kernel, "scale", {}, target=own["target"], sizes=own["sizes"])
        checked.clear()
        assert quick_check(instance, compiler=own["compiler"], cache=kept).ok
        return len(checked)

    monkeypatch.setattr(_record, "verify", check)
    monkeypatch.setattr(_record, "guarded_library", compiled)
    assert [made({}), made({}), made(CHECKS[what]), made(CHECKS[what]), made({})] == [1, 0, 1, 0, 0]


@pytest.mark.parametrize("fault", ["lacks-feature", "timeout", "wrong-value"])
def test_what_may_be_otherwise_another_day_is_not_kept(
    fault: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, checked = Cache(tmp_path), list[str]()

    def check(instance: Instance, **_more: object) -> Verdict:
        checked.append(instance.name)
        return Verdict(instance.name, "", ok=False, fault=fault)

    def compiled(_instance: Instance, _compiler: Compiler, out: Path, _libraries: object) -> None:
        out.write_text("code")

    monkeypatch.setattr(_record, "verify", check)
    monkeypatch.setattr(_record, "guarded_library", compiled)
    instance = instantiate(SCALE, "scale", {}, target=parse("x86-64"))
    for _ in range(2):
        assert quick_check(instance, compiler=CC, cache=kept).fault == fault
    assert len(checked) == (1 if fault == "wrong-value" else 2)


PROGRAM = """
module attributes {{inarch.name = "{name}"}} {{
func.func @main({x}: tensor<{batch}x8xf32>, %t: tensor<16x8xf32>)
    -> (tensor<{batch}x8xf32>, tensor<16x8xf32>) {{
  %0 = graph.exp {x} : tensor<{batch}x8xf32> -> tensor<{batch}x8xf32> loc("of {name}")
  %1 = graph.exp %t : tensor<16x8xf32> -> tensor<16x8xf32> loc("table of {name}")
  func.return %0, %1 : tensor<{batch}x8xf32>, tensor<16x8xf32>
}}
}}
"""
"""One kernel is of the batch, one is not."""


def _compiled(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, name: str, batch: int, x: str = "%x"
) -> list[str]:
    """The units that the C compiler is run for; kernels by kind and size."""
    ran: list[str] = []
    run = toolchain.run_compiler

    def noting(command: Sequence[str], *rest: Any) -> tuple[int, str]:
        if "-c" in command:
            ran.append(Path(command[-1]).stem)
        return run(command, *rest)

    path = folder / f"{name}.mlir"
    path.write_text(PROGRAM.format(name=name, batch=batch, x=x))
    with monkeypatch.context() as patched:
        patched.setenv("INARCH_CACHE_DIR", str(folder / "cache"))
        patched.setattr(toolchain, "run_compiler", noting)
        build(path, folder / f"{name}.inarch", target="x86-64")
    return sorted(re.sub("^inarch_kernel_|_[0-9a-f]{8}$", "", unit) for unit in ran)


def test_another_model_compiles_no_kernel_that_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its name nor what it calls its values and ops is in a kernel.

    Nests without a microkernel share a unit, which is compiled again where one of them is another.
    """
    first = _compiled(tmp_path, monkeypatch, name="net", batch=2)
    assert first == ["abi", "model", "nests0", "tvm_ffi"]
    assert _compiled(tmp_path, monkeypatch, name="net", batch=2) == []
    assert _compiled(tmp_path, monkeypatch, name="other", batch=2, x="%image") == ["model"]
    assert _compiled(tmp_path, monkeypatch, name="net", batch=4) == ["model", "nests0"]


def test_models_that_share_kernels_run_in_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each library has its kernels for itself, and shows only what its model's name is before."""
    for name, batch in (("net", 2), ("other", 4)):
        _compiled(tmp_path, monkeypatch, name=name, batch=batch)
    modules = [load(tmp_path / f"{name}.inarch") for name in ("net", "other")]
    table = np.ones((16, 8), np.float32)
    for module, batch in zip(modules, (2, 4), strict=True):
        x = np.zeros((batch, 8), np.float32)
        outputs = module(x, table)
        np.testing.assert_allclose(outputs[0], np.ones((batch, 8)), rtol=1e-6)
        np.testing.assert_allclose(outputs[1], np.full((16, 8), np.e), rtol=1e-6)
    for name in ("net", "other"):
        listed = subprocess.run(
            ["nm", "-D", "--defined-only", str(tmp_path / f"{name}.inarch")],
            check=True,
            capture_output=True,
            text=True,
        )
        symbols = [line.split()[-1] for line in listed.stdout.splitlines()]
        assert symbols
        assert all(symbol.startswith((f"{name}_", "__tvm_ffi_")) for symbol in symbols)
