"""What was compiled once is there again as long as nothing has changed, and never when something has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.context import Context

from inarch.core import states
from inarch.core.cache import Cache
from inarch.dialects import new_context
from inarch.driver.built import Built
from inarch.driver.compiler import build
from inarch.driver.keep import kept, sources
from inarch.driver.keep.kept import Entry, Found
from inarch.driver.options import KEYED, ONLY_HOW, Options
from inarch.frontends import FilesRead
from inarch.ir.report.facts import facts_of
from inarch.machine import compilers

SETTLED = 0.06
"""Seconds after which a file that changes has another time."""


def _save(path: Path, factor: float, *, external: bool = False) -> None:
    """`y = x * factor`, of 512 elements."""
    node = helper.make_node("Mul", ["x", "w"], ["y"], name="scale")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [512]) for name in "xy"]
    weights = numpy_helper.from_array(np.full(512, factor, np.float32), "w")
    graph = helper.make_graph([node], "g", values[:1], values[1:], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.save(  # pyright: ignore[reportUnknownMemberType] - onnx's signature
        model, str(path), save_as_external_data=external, location="w.bin", size_threshold=0
    )


def _pretended(model: Path, output: Path, options: Options, context: Context) -> Built:
    """Compiles a model that is in one file, in no time."""
    output.write_bytes(b"\x7fELF" + repr(options).encode() + model.read_bytes())
    facts_of(context).put(FilesRead({}))
    return Built(output, "model", "c", "x86-64", "generic", 2, 1, 0, {}, {"b": 1, "a": 2}, {})


class Kept:
    """Commands in a folder: `compile` says whether the compiler ran."""

    def __init__(self, folder: Path) -> None:
        self.model = folder / "model.onnx"
        self.output = folder / "out.inarch"
        self.options = Options(target="x86-64")
        self.cache = folder / "cache"
        self.build: Callable[..., Built] = _pretended

    def compile(self, told: str | None = None, meanwhile: Callable[[], object] = bool) -> bool:
        """As the command does; `told` is a warning of the compilation, `meanwhile` happens during it."""
        time.sleep(SETTLED)
        entry = Entry.of(self.model, self.options)
        if entry is not None and entry.restore(self.output) is not None:
            return False
        context = new_context()

        def make(path: Path) -> Built:
            built = self.build(self.model, path, self.options, context=context)
            meanwhile()
            if told is not None:
                warnings.warn(told, stacklevel=1)
            return built

        if entry is None:
            make(self.output)
        else:
            found = entry.made(self.output, make, context, "a,b")
            assert (found.built.path, found.pipeline) == (self.output, "a,b")
        return True

    def entries(self) -> list[Path]:
        """The files of the cache."""
        return [path for path in self.cache.rglob("*") if path.is_file()]

    def artifact(self) -> Path:
        """The file of the cache that has the output in it."""
        content = self.output.read_bytes()
        return next(path for path in self.entries() if path.read_bytes().endswith(content))


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """A model, compiled once."""
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "CHANGING_NS", -1)  # whoever edits Inarch tests it at once
    _save(tmp_path / "model.onnx", 2)
    found = Kept(tmp_path)
    assert found.compile()
    return found


def test_what_is_unchanged_is_not_compiled_again(commands: Kept) -> None:
    before = commands.output.stat()
    content = commands.output.read_bytes()
    assert not commands.compile()
    assert commands.output.stat().st_ino == before.st_ino, "it is there already"
    commands.output.unlink()
    assert not commands.compile()
    assert commands.output.read_bytes() == content
    commands.output.write_bytes(content[:-1])
    assert not commands.compile()
    assert commands.output.read_bytes() == content


def test_what_was_told_is_told_again(commands: Kept) -> None:
    entry = Entry.of(commands.model, commands.options)
    assert entry is not None
    again = entry.restore(commands.output)
    assert again is not None
    built = _pretended(commands.model, commands.output, commands.options, new_context())
    assert again == Found(built, "a,b")
    assert json.dumps(again.built.microkernels) == json.dumps(built.microkernels), "in order"


CHANGES: dict[str, dict[str, Any]] = {
    "shapes": {"shapes": {"x": [512]}},
    "dims": {"dims": {"batch": 1}},
    "values": {"values": {"x": 1}},
    "specialize": {"specialize": {"batch": [1]}},
    "target": {"target": "x86-64-v2"},
    "name": {"name": "other"},
    "microkernels": {"microkernels": ["gemm-f32"]},
    "checked": {"checked": True},
    "threads": {"threads": 1},
    "pipeline": {"pipeline": "compile"},
    "places": {"places": {"dce": "after prepare"}},
    "metadata": {"metadata": {"release": "1"}},
    "backends": {"backends": ["examplejson"]},
    "backend_options": {"backend_options": {"ccompiler": {"prefix": "b"}}},
    "require_offload": {"require_offload": True},
    "give": {"give": ["mul=examplejson"]},
    "keep": {"keep": ["mul=*"]},
    "fallback": {"fallback": "host"},
}


def _said(name: str, value: Any) -> dict[str, Any]:
    return {name: value}


@pytest.mark.parametrize("name", [each.name for each in fields(Options)])
def test_each_option_is_part_of_the_key_or_nothing_is_kept(commands: Kept, name: str) -> None:
    if name in KEYED:
        changed = replace(commands.options, **CHANGES[name])
        entry = Entry.of(commands.model, changed)
        assert entry is not None
        assert entry.restore(commands.output) is None
        return
    if name in ONLY_HOW:  # it makes the same
        entry = Entry.of(commands.model, replace(commands.options, **_said(name, 1)))
        assert entry is not None
        assert entry.restore(commands.output) is not None
        return
    values = {
        "verify_semantics": 0,
    }
    assert (
        Entry.of(commands.model, replace(commands.options, **_said(name, values.get(name, True))))
        is None
    )


def test_all_of_a_value_is_part_of_the_key(commands: Kept) -> None:
    """Its dtype, its shape, and each number: arrays print the first and the last ones only."""
    keys: list[Entry] = []
    many = np.zeros(5000, np.int64)
    other = many.copy()
    other[2500] = 1
    for value in (many, other, many.astype(np.int32), many.reshape(50, 100)):
        entry = Entry.of(commands.model, replace(commands.options, values={"x": value}))
        assert entry is not None
        keys.append(entry)
    assert len({entry.key for entry in keys}) == 4


def test_a_changed_model_is_compiled(commands: Kept) -> None:
    first = commands.output.read_bytes()
    times = commands.model.stat()
    _save(commands.model, 3)
    os.utime(commands.model, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert commands.compile()
    assert commands.output.read_bytes() != first
    _save(commands.model, 2)
    assert not commands.compile(), "the first one is known still"
    assert commands.output.read_bytes() == first


def test_changed_external_data_is_read(commands: Kept) -> None:
    commands.build = build
    _save(commands.model, 2, external=True)
    assert commands.compile()
    assert not commands.compile()
    data = commands.model.with_name("w.bin")
    times = data.stat()
    data.write_bytes(np.full(512, 5, np.float32).tobytes())
    os.utime(data, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert commands.compile()
    data.unlink()
    entry = Entry.of(commands.model, commands.options)
    assert entry is not None
    assert entry.restore(commands.output) is None


@pytest.mark.parametrize("variable", ["INARCH_MAX_NODES", "LD_LIBRARY_PATH", "SOURCE_DATE_EPOCH"])
def test_variables_are_part_of_the_key(
    commands: Kept, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1000")
    assert commands.compile()
    assert not commands.compile()


def test_with_folders_of_headers_nothing_is_kept(
    commands: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CPATH", "/nowhere")
    assert Entry.of(commands.model, commands.options) is None


def test_another_compiler_compiles(
    commands: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compilers.find_compiler()
    script = tmp_path / "cc"
    script.write_text(f'#!/bin/sh\nexec {" ".join(found.command)} "$@"\n')
    script.chmod(0o700)
    monkeypatch.setenv("CC", str(script))
    assert commands.compile()
    assert not commands.compile()
    script.write_text(script.read_text() + "# of another day\n")
    assert commands.compile()


def test_a_new_package_may_bring_anything(
    commands: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    (folder / "output.txt").write_text("as scripts write beside themselves")
    assert not commands.compile()
    for name in ("plugin", "another"):
        (folder / f"{name}.dist-info").mkdir()
        assert commands.compile()
        assert not commands.compile()


def test_code_that_ran_is_part_of_the_entry(commands: Kept, tmp_path: Path) -> None:
    helper = tmp_path / "helper.py"
    helper.write_text("a = 1\n")
    module = type(sys)("helper")
    module.__file__ = str(helper)
    sys.modules["helper_of_test_kept"] = module
    try:
        _save(commands.model, 4)
        assert commands.compile()
        assert not commands.compile()
        helper.write_text("a = 2\n")
        assert commands.compile()
    finally:
        del sys.modules["helper_of_test_kept"]


def test_our_own_files_are_part_of_the_key(commands: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    key, _ = kept.sources()
    monkeypatch.setattr(kept, "sources", lambda: (f"{key} after an edit", True))
    assert commands.compile()


def test_while_our_own_files_are_edited_nothing_is_kept(
    commands: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "CHANGING_NS", 1 << 62)
    assert Entry.of(commands.model, commands.options) is None


def test_our_own_files_are_all_found() -> None:
    import inarch

    root = Path(inarch.__file__).parent
    before, _ = kept.sources()
    for path in (
        root / "passes" / "tensorize" / "tensorize.py",
        root / "runtime" / "include" / "inarch.h",
    ):
        times = path.stat()
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
        try:
            assert kept.sources()[0] != before, path
        finally:
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert kept.sources()[0] == before


def test_things_of_other_packages_are_not_kept(
    commands: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    def foreign(**_: bool) -> bool:
        return True

    monkeypatch.setattr(kept, "has_foreign", foreign)
    _save(commands.model, 6)
    assert commands.compile()
    assert commands.compile()


def test_after_a_warning_it_is_given_again(commands: Kept) -> None:
    _save(commands.model, 6)
    for _ in range(2):
        with pytest.warns(UserWarning, match="slow"):
            assert commands.compile(told="slow")


def test_a_model_that_changes_meanwhile_is_not_kept(commands: Kept) -> None:
    _save(commands.model, 7)
    assert commands.compile(meanwhile=lambda: _save(commands.model, 8))
    _save(commands.model, 7)
    assert commands.compile()


def test_a_model_of_this_moment_is_not_kept(
    commands: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "_TICK_NS", 1 << 62)
    assert Entry.of(commands.model, commands.options) is None


def test_two_compilations_may_write_to_one_output(commands: Kept) -> None:
    _save(commands.model, 9)
    assert commands.compile(meanwhile=lambda: commands.output.write_bytes(b"of another process"))
    content = commands.output.read_bytes()
    commands.output.unlink()
    assert not commands.compile()
    assert commands.output.read_bytes() == content
    assert content[:4] == b"\x7fELF"


def test_a_damaged_entry_is_made_again(commands: Kept) -> None:
    content = commands.output.read_bytes()
    entries = commands.entries()
    assert len(entries) >= 3, "the model's digest, the record, the artifact"
    for entry in entries:
        whole = entry.read_bytes()
        for damaged in (b"", whole[:40], whole[:-1], bytes([*whole[:-1], whole[-1] ^ 1])):
            entry.write_bytes(damaged)
            commands.output.unlink()
            commands.compile()
            assert commands.output.read_bytes() == content


def test_a_swapped_entry_is_not_taken(commands: Kept) -> None:
    first = commands.output.read_bytes()
    one = commands.artifact()
    _save(commands.model, 3)
    assert commands.compile()
    commands.artifact().write_bytes(one.read_bytes())
    second = commands.output.read_bytes()
    commands.output.unlink()
    assert commands.compile()
    assert commands.output.read_bytes() == second != first


def test_what_is_large_for_the_cache_is_not_kept(tmp_path: Path) -> None:
    cache, file = Cache(tmp_path / "cache", 4000), tmp_path / "file"
    file.write_bytes(bytes(1001))
    assert not cache.put_file("ab", file)
    file.write_bytes(bytes(1000))
    assert cache.put_file("ab", file)
    assert cache.get("ab") == bytes(1000)
    assert cache.get_file("ab", tmp_path / "again")
    assert not cache.get_file("cd", tmp_path / "again")
    for number in range(10):
        assert cache.put_file(f"{number:02}", file)
    kept_bytes = sum(path.stat().st_size for path in cache.folder.rglob("*") if path.is_file())
    assert kept_bytes <= 4000


@pytest.mark.every_case(reason="each is a way to ask for another thing than the file")
@pytest.mark.parametrize(
    ("more", "is_kept"),
    [
        ([], True),
        pytest.param(["--timing"], False, marks=pytest.mark.slow),
        pytest.param(["--verify-each"], False, marks=pytest.mark.slow),
    ],
)
def test_the_command(commands: Kept, more: list[str], is_kept: bool) -> None:
    """In a process of its own; what is kept needs no xDSL, which takes most of its time."""
    program = (
        "import sys; from inarch.tools.cli import main; from inarch.driver.keep import sources\n"
        "sources.CHANGING_NS = -1; code = main()\n"
        "print('xdsl' in sys.modules, code, file=sys.stderr)"
    )
    arguments = ["compile", str(commands.model), "-o", str(commands.output), "--json", *more]
    time.sleep(SETTLED)
    told: list[dict[str, Any]] = []
    ran: list[str] = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-P", "-c", program, *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
        told.append({**json.loads(done.stdout), "seconds": 0})
        ran.append(done.stderr.splitlines()[-1])
    assert told[0] == told[1]
    assert ran == ["True 0", "False 0" if is_kept else "True 0"]
