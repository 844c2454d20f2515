"""C compilers: which one is taken, what is built, and what is said when it fails."""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tracemalloc
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from inarch.core.cache import Cache
from inarch.core.errors import EnvironmentFault
from inarch.machine import toolchain
from inarch.machine.compilers import OUTPUT_BYTES
from inarch.machine.target import native, parse
from inarch.machine.toolchain import (
    Compiler,
    CompilerError,
    compile_library,
    find_compiler,
    run_compiler,
)

API = '__attribute__((visibility("default"))) '
UNITS = {
    "model.c": f"int helper(int); {API}int answer(void) {{ return helper(41); }}",
    "kernel_0.c": "int helper(int x) { return x + 1; }",
}


def call(path: Path) -> int:
    return ctypes.CDLL(str(path)).answer()


def exported(path: Path) -> set[str]:
    library = ctypes.CDLL(str(path))
    return {name for name in ("answer", "helper") if hasattr(library, name)}


def script(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_units_become_one_library(tmp_path: Path, cache: Cache) -> None:
    seen: list[tuple[int, int]] = []
    compile_library(
        UNITS,
        tmp_path / "a.so",
        target=native(),
        cache=cache,
        progress=lambda done, total, _name: seen.append((done, total)),
    )
    assert call(tmp_path / "a.so") == 42
    assert exported(tmp_path / "a.so") == {"answer"}
    assert seen == [(1, 2), (2, 2)]


def test_equal_input_gives_an_equal_library(tmp_path: Path) -> None:
    for name in ("a", "b"):
        compile_library(
            UNITS, tmp_path / f"{name}.so", target=native(), cache=Cache(tmp_path / name)
        )
    assert (tmp_path / "a.so").read_bytes() == (tmp_path / "b.so").read_bytes()


def test_only_what_changed_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path / "cache")
    find_compiler()
    compile_library(UNITS, tmp_path / "a.so", target=native(), cache=cache)
    commands: list[str] = []
    run = toolchain.run_compiler

    def spy(command: list[str], *rest: Any) -> tuple[int, str]:
        commands.append(command[-1])
        return run(command, *rest)

    monkeypatch.setattr(toolchain, "run_compiler", spy)
    compile_library(UNITS, tmp_path / "b.so", target=native(), cache=cache)
    assert commands == []
    changed = {**UNITS, "kernel_0.c": "int helper(int x) { return x + 2; }"}
    compile_library(changed, tmp_path / "c.so", target=native(), cache=cache)
    assert commands == ["kernel_0.o", "out.so"]
    assert (call(tmp_path / "b.so"), call(tmp_path / "c.so")) == (42, 43)


def test_included_files_are_part_of_the_key(tmp_path: Path, cache: Cache) -> None:
    source = {"a.c": f'#include "value.h"\n{API}int answer(void) {{ return VALUE; }}'}
    found: list[int] = []
    for value in (1, 2):
        (tmp_path / "value.h").write_text(f"#define VALUE {value}")
        out = tmp_path / f"{value}.so"
        compile_library(source, out, target=native(), cache=cache, flags=[f"-I{tmp_path}"])
        found.append(call(out))
    assert found == [1, 2]


def test_a_library_by_path(tmp_path: Path, cache: Cache) -> None:
    compile_library(
        {"h.c": f"{API}int helper(int x) {{ return x + 7; }}"},
        tmp_path / "libhelper.so",
        target=native(),
        cache=cache,
    )
    compile_library(
        {"model.c": UNITS["model.c"]},
        tmp_path / "a.so",
        target=native(),
        cache=cache,
        libraries=[str(tmp_path / "libhelper.so")],
    )
    assert call(tmp_path / "a.so") == 48


def test_two_libraries_of_one_name_do_not_replace_each_other(tmp_path: Path, cache: Cache) -> None:
    """The dynamic loader knows libraries by the names that they give themselves (SONAME)."""
    for version, shift in (("one", 1), ("two", 2)):
        folder = tmp_path / version
        folder.mkdir()
        source = folder / "helper.c"
        source.write_text(f"int helper(int x) {{ return x + {shift}; }}")
        command = [*find_compiler().command, "-shared", "-fPIC", "-Wl,-soname,libhelper.so"]
        subprocess.run([*command, source, "-o", folder / "libhelper.so"], check=True)
        compile_library(
            {"model.c": UNITS["model.c"]},
            folder / "a.so",
            target=native(),
            cache=cache,
            libraries=[str(folder / "libhelper.so")],
        )
    assert (call(tmp_path / "one" / "a.so"), call(tmp_path / "two" / "a.so")) == (42, 43)


def test_libm_and_threads_are_there(tmp_path: Path, cache: Cache) -> None:
    source = (
        "#include <math.h>\n#include <pthread.h>\nstatic pthread_once_t once; static void f(void) {}\n"
        f"{API}int answer(void) {{ pthread_once(&once, f); return (int)exp(0.0); }}"
    )
    compile_library({"a.c": source}, tmp_path / "a.so", target=native(), cache=cache)
    assert call(tmp_path / "a.so") == 1


def test_a_refused_unit(tmp_path: Path, cache: Cache) -> None:
    with pytest.raises(CompilerError) as caught:
        compile_library(
            {"good.c": "int x;", "bad.c": "int f(void) { return undeclared; }"},
            tmp_path / "a.so",
            target=native(),
            cache=cache,
        )
    error = caught.value
    assert error.exit_code == 3
    kind = find_compiler().kind
    assert error.message.startswith(f"{kind} refused 'bad.c': bad.c:1:22: error: ")
    assert error.message.endswith(f"; source, command and output are in {error.folder}")
    assert error.line().count("\n") == 0
    assert (error.folder / "bad.c").read_text() == "int f(void) { return undeclared; }"
    assert "undeclared" in (error.folder / "log.txt").read_text()
    assert not (tmp_path / "a.so").exists()


def test_an_undefined_symbol_is_an_error_at_link_time(tmp_path: Path, cache: Cache) -> None:
    with pytest.raises(CompilerError, match=r"cannot link: .*(undefined).*helper"):
        compile_library(
            {"model.c": UNITS["model.c"]}, tmp_path / "a.so", target=native(), cache=cache
        )


def test_a_compiler_that_hangs_is_stopped(tmp_path: Path, cache: Cache) -> None:
    slow = Compiler((script(tmp_path, "slow", "sleep 60"),), "gcc", "slow")
    with pytest.raises(
        CompilerError, match=r"'slow' refused 'a\.c': error: stopped after 0\.2 s; "
    ):
        compile_library(
            {"a.c": "int x;"},
            tmp_path / "a.so",
            target=native(),
            compiler=slow,
            cache=cache,
            timeout=0.2,
        )


def test_a_full_disk_is_no_fault_of_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the compiler meets it or we do."""
    says = "echo 'a.c:1: fatal error: cannot write: No space left on device'; exit 1"
    full = Compiler((script(tmp_path, "full", says),), "gcc", "full")
    expected = (
        f"cannot write in the temporary folder '{tempfile.gettempdir()}': No space left on device; "
        "make room, or set TMPDIR to another folder"
    )
    arguments: Any = {"target": native(), "compiler": full, "cache": Cache(tmp_path / "cache")}
    with pytest.raises(EnvironmentFault) as caught:
        compile_library({"a.c": "int x;"}, tmp_path / "a.so", **arguments)
    assert caught.value.message == expected

    def write(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", write)
    with pytest.raises(EnvironmentFault) as caught:
        compile_library({"a.c": "int x;"}, tmp_path / "a.so", **arguments)
    assert caught.value.message == expected
    assert not (tmp_path / "a.so").exists()
    assert not list(tmp_path.rglob("log.txt"))


def test_a_log_that_the_cache_has_no_room_for_is_kept_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copy

    def full(source: Path, to: Path) -> object:
        if to.is_relative_to(tmp_path / "cache"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return copy(source, to)

    monkeypatch.setattr(shutil, "copy", full)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(CompilerError, match=r"refused 'bad\.c'") as caught:
        compile_library(
            {"bad.c": "x"}, tmp_path / "a.so", target=native(), cache=Cache(tmp_path / "cache")
        )
    assert caught.value.folder.parent == tmp_path
    assert (caught.value.folder / "bad.c").read_text() == "x"


def test_a_compiler_that_dies(tmp_path: Path, cache: Cache) -> None:
    dying = Compiler((script(tmp_path, "dying", "kill -SEGV $$"),), "gcc", "dying")
    with pytest.raises(CompilerError, match=r"'dying' refused 'a\.c': killed by SIGSEGV; "):
        compile_library(
            {"a.c": "int x;"}, tmp_path / "a.so", target=native(), compiler=dying, cache=cache
        )


def test_a_compiler_that_vanished(tmp_path: Path, cache: Cache) -> None:
    gone = Compiler((str(tmp_path / "gone"),), "gcc", "gone")
    with pytest.raises(EnvironmentFault) as caught:
        compile_library(
            {"a.c": "int x;"}, tmp_path / "a.so", target=native(), compiler=gone, cache=cache
        )
    assert str(caught.value) == (
        f"the C compiler '{tmp_path}/gone' cannot be run: No such file or directory"
    )


def test_cc_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = script(tmp_path, "own", "echo 'clang version 99'")
    monkeypatch.setenv("CC", f"{own} -Wall")
    assert find_compiler() == Compiler((own, "-Wall"), "clang", "clang version 99")


def test_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "")
    found: list[str] = []
    for name in ("zig", "clang-19", "clang", "gcc"):
        folder = tmp_path / f"with-{name}"
        folder.mkdir()
        for other in ("zig", "clang-19", "clang", "gcc")[: len(found) + 1]:
            script(folder, other, f"echo '{other} 1.0'")
        monkeypatch.setenv("PATH", str(folder))
        found.append(Path(find_compiler().command[0]).name)
    assert found == ["zig", "clang-19", "clang", "gcc"]


def test_a_cc_that_hangs_is_said_to_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = script(tmp_path, "slow-cc", "sleep 60")
    monkeypatch.setenv("CC", str(slow))
    monkeypatch.setattr("inarch.machine.compilers._PROBE_SECONDS", 0.2)
    with pytest.raises(EnvironmentFault) as caught:
        find_compiler()
    assert caught.value.line() == (
        f"error: $CC is '{slow}', which hangs: `{slow} --version` did not end within 0.2 s; "
        "unset or correct it"
    )


def test_a_compiler_that_hangs_is_passed_over_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path, "gcc", "exec /bin/sleep 60")
    monkeypatch.setenv("CC", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("inarch.machine.compilers._PROBE_SECONDS", 0.2)

    def no_package(_name: str) -> None:
        return None

    monkeypatch.setattr("inarch.machine.compilers.find_spec", no_package)
    with pytest.raises(EnvironmentFault) as caught:
        find_compiler()
    assert caught.value.line().endswith(
        f"install gcc or `pip install inarch[zig]`; `{tmp_path}/gcc --version` did not end within 0.2 s"
    )


def test_a_compiler_speaks_one_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its messages are parsed."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    own = script(tmp_path, "own", 'echo "$LC_ALL"')
    assert run_compiler([own], tmp_path, 60.0) == (0, "C\n")


def test_output_without_end_is_bounded_while_it_is_read(tmp_path: Path) -> None:
    code = "for _ in range(64): print(end='x' * (1 << 20))"
    tracemalloc.start()
    try:
        status, output = run_compiler([sys.executable, "-c", code], tmp_path, 60.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (status, len(output)) == (0, OUTPUT_BYTES + len(f"\n[cut after {OUTPUT_BYTES} bytes]"))
    assert output.endswith(f"x\n[cut after {OUTPUT_BYTES} bytes]")
    assert peak < 8 << 20


def test_a_long_line_is_cut_in_the_message(tmp_path: Path, cache: Cache) -> None:
    own = script(
        tmp_path, "loud", "head -c 500000 /dev/zero | tr '\\0' x; echo ' error: no'; exit 1"
    )
    compiler = Compiler((own,), "gcc", "loud 1")
    with pytest.raises(CompilerError) as caught:
        compile_library(
            {"a.c": "int a;"},
            tmp_path / "out.so",
            target=parse("generic"),
            compiler=compiler,
            cache=cache,
        )
    assert len(caught.value.reason) <= 300
    assert caught.value.reason.startswith("xxx")
    assert caught.value.reason.endswith("xxx error: no")
    assert len(caught.value.log()) > 500_000


def test_another_build_of_the_compiler_is_another_compiler(tmp_path: Path, cache: Cache) -> None:
    """Though it says the same of itself and lies at the same place."""
    real = find_compiler()
    compiler = Compiler((str(tmp_path / "own"),), real.kind, real.version)
    values: list[int] = []
    for value in (1, 22):
        script(tmp_path, "own", f'exec {shlex.join(real.command)} -DVALUE={value} "$@"')
        out = tmp_path / f"{value}.so"
        source = f"{API} int a(void) {{ return VALUE; }}\n"
        compile_library(
            {"a.c": source}, out, target=parse("generic"), compiler=compiler, cache=cache
        )
        values.append(ctypes.CDLL(str(out)).a())
    assert values == [1, 22]


@pytest.mark.parametrize("name", ["n" * 250, "\u00e9" * 200, "n" * 5000])
def test_a_unit_may_have_a_long_name(tmp_path: Path, cache: Cache, name: str) -> None:
    """Longer than files' names can be; two that begin alike stay two."""
    units = {
        f"{name}_{value}.c": f"{API} int f{value}(void) {{ return {value}; }}\n" for value in (1, 2)
    }
    out = tmp_path / "out.so"
    compile_library(units, out, target=parse("generic"), cache=cache)
    library = ctypes.CDLL(str(out))
    assert (library.f1(), library.f2()) == (1, 2)


def test_a_wrong_cc_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    with pytest.raises(EnvironmentFault) as caught:
        find_compiler()
    assert str(caught.value) == (
        "$CC is 'no-such-compiler -O2', which is not a C compiler that can be run; "
        "unset or correct it"
    )


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("inarch.machine.compilers.find_spec", dict[str, object]().get)
    with pytest.raises(EnvironmentFault) as caught:
        find_compiler()
    assert caught.value.line() == (
        "error: no C compiler: looked for $CC, gcc, clang, clang-19, zig; "
        "install gcc or `pip install inarch[zig]`"
    )


def test_flags_in_the_words_of_zig() -> None:
    zig = Compiler(("zig", "cc"), "zig", "1")
    assert zig.cflags(parse("generic")) == ["-mcpu=baseline"]
    assert zig.cflags(parse("x86-64-v4+avx512vnni")) == [
        "-mcpu=x86_64_v4+avx512vnni",
        "-mprefer-vector-width=512",
    ]
    assert zig.cflags(parse("x86-64-v4-on-v3")) == ["-mcpu=x86_64_v3"]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ziglang") is None, reason="needs the package ziglang")
def test_ziglang_serves_where_there_is_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CC", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    with caplog.at_level(logging.WARNING, "inarch"):
        compile_library(UNITS, tmp_path / "a.so", target=native(), cache=Cache(tmp_path / "cache"))
    assert call(tmp_path / "a.so") == 42
    assert exported(tmp_path / "a.so") == {"answer"}
    assert find_compiler().command == (sys.executable, "-m", "ziglang", "cc")
    assert caplog.messages == [
        "no C compiler found; using the package ziglang (its first run takes a while)"
    ]


def test_a_stopped_compiler_leaves_no_child(tmp_path: Path) -> None:
    marker = f"{60 + os.getpid() / 1e7:.7f}"
    toolchain.run_compiler(["/bin/sh", "-c", f"sleep {marker} & wait"], tmp_path, 0.2)
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert f"sleep {marker}" not in running.stdout.splitlines()


def test_a_compiler_that_writes_nothing_is_named(tmp_path: Path, cache: Cache) -> None:
    lazy = Compiler((script(tmp_path, "lazy", "exit 0"),), "gcc", "lazy")
    with pytest.raises(CompilerError) as error:
        compile_library(
            {"a.c": ""}, tmp_path / "a.so", target=parse("generic"), compiler=lazy, cache=cache
        )
    assert str(error.value) == (
        "the compiler 'lazy' wrote no output for 'a.c': expected 'a.o'; "
        f"source, command and output are in {error.value.folder}"
    )


def test_a_compiler_for_another_machine_gets_advice(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    plain = Compiler((script(tmp_path, "gcc", "echo error: bad switch; exit 1"),), "gcc", "gcc")
    with pytest.raises(CompilerError) as error:
        compile_library(
            {"a.c": ""}, tmp_path / "a.so", target=parse("aarch64"), compiler=plain, cache=cache
        )
    assert str(error.value) == (
        "gcc refused 'a.c': error: bad switch; for the target aarch64 on x86_64, install "
        "aarch64-linux-gnu-gcc, or put another cross compiler in $CC; "
        f"source, command and output are in {error.value.folder}"
    )


def test_a_variable_that_no_shell_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "gcc 'unterminated")
    with pytest.raises(EnvironmentFault) as error:
        find_compiler()
    assert str(error.value) == (
        "$CC is 'gcc 'unterminated', which is no command line: no closing quotation; "
        "unset or correct it"
    )
