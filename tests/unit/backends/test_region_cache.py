"""What a backend made of a region is kept: made again where something of it changed, and only then."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

import inarch
from effort import effort
from inarch.backends import BACKENDS, Backend, Emission, EmitRequest, Option
from inarch.core.cache import default_cache
from inarch.core.code import digest_of_code, files_of
from inarch.core.states import is_settled, state_of
from inarch.driver.compiler import build
from inarch.driver.extensions import load_files
from inarch.driver.options import Options
from inarch.tools.cli import run

SIZE = 20
"""More than constants in the text have."""
MADE: list[str] = []
"""The symbols of which C was made."""


def emit(request: EmitRequest) -> Emission:
    parts = ['#include "inarch.h"\n']
    for function in request.functions:
        symbol = function.sym_name.data

        def make(function: Any = function, symbol: str = symbol) -> bytes:
            MADE.append(symbol)
            op = next(each for each in function.body.block.ops if each.name == "graph.mul")
            values = request.constant(op.operands[1])
            assert values is not None
            listed = ", ".join(f"{float(each) * request.options['gain']!r}f" for each in values)
            return (
                "int32_t SYMBOL(void *self, DLTensor *args, int32_t n)\n{\n"
                f"    static const float w[] = {{{listed}}};\n    (void)self, (void)n;\n"
                f"    for (int i = 0; i < {SIZE}; i++)\n"
                "        ((float *)args[1].data)[i] = w[i] * ((float *)args[0].data)[i];\n"
                "    return 0;\n}\n"
            ).encode()

        parts.append(request.cached(function, make, "form").decode().replace("SYMBOL", symbol))
    return Emission("c", request.names(), text="".join(parts))


SCALE = Backend(
    "scale",
    "products with constants",
    emit,
    ops=("mul",),
    options={"gain": Option("float", 1.0)},
)


@pytest.fixture(autouse=True)
def scale() -> Iterator[Backend]:
    """Of a version that the cache, which other tests use as well, has never seen."""
    with BACKENDS.scope():
        BACKENDS.register(backend := replace(SCALE, version=str(uuid4())))
        yield backend


def write(folder: Path, constants: list[int]) -> Path:
    """sin(sin(x * w0) * w1) ...; the constants of these seeds are in the side file, by their place."""
    kind = f"tensor<{SIZE}xf32>"
    lines = [f'func.func @main(%v0: {kind} {{inarch.name = "x"}}) -> {kind} {{']
    for at, _ in enumerate(constants):
        lines += [
            f"  %w{at} = graph.constant dense_resource<w{at}> : {kind}",
            f"  %m{at} = graph.mul %v{at}, %w{at} : {kind}, {kind} -> {kind}",
            f"  %v{at + 1} = graph.sin %m{at} : {kind} -> {kind}",
        ]
    (folder / "m.mlir").write_text(
        "\n".join([*lines, f"  func.return %v{len(constants)} : {kind}\n}}"])
    )
    np.savez(folder / "m.npz", **{f"w{at}": values(seed) for at, seed in enumerate(constants)})
    return folder / "m.mlir"


def values(seed: int) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, SIZE).astype(np.float32)


def compiled(
    folder: Path,
    constants: list[int],
    backend: str = "scale",
    gain: float = 1,
    target: str = "native",
) -> int:
    """Compiles it, compares with NumPy, and says how many regions were made."""
    MADE.clear()
    path = folder / "m.inarch"
    options = Options(backends=(backend,), require_offload=True, target=target)
    built = build(write(folder, constants), path, options=options)
    assert len(built.reused.get(backend.partition(":")[0], ())) == len(constants) - len(MADE)
    x = wanted = values(1000)
    for seed in constants:
        wanted = np.sin(wanted * values(seed) * np.float32(gain))
    np.testing.assert_allclose(inarch.load(path)(x), wanted, rtol=1e-4, atol=1e-6)
    return len(MADE)


def test_regions_that_changed_are_made_again(tmp_path: Path, scale: Backend) -> None:
    """T8: by its constants' bytes, the options, target and version; not by what a region is called."""
    draw = random.Random(3)
    constants = [draw.randrange(5) for _ in range(effort(3, 8))]
    assert compiled(tmp_path, constants) == len({*constants})
    assert compiled(tmp_path, constants) == 0
    known = {*constants}
    for _ in range(effort(1, 2)):  # regions come, go, move and change
        constants = [draw.randrange(12) for _ in range(draw.randint(1, effort(3, 9)))]
        assert compiled(tmp_path, constants) == len({*constants} - known)
        known |= {*constants}
    assert compiled(tmp_path, constants, "scale:gain=0.5", 0.5) == len({*constants})
    assert compiled(tmp_path, constants, "scale:gain=0.5", 0.5) == 0
    assert compiled(tmp_path, constants) == 0
    assert compiled(tmp_path, constants, target="generic") == len({*constants})
    BACKENDS.register(replace(scale, version=str(uuid4())))
    assert compiled(tmp_path, constants) == len({*constants})
    BACKENDS.register(replace(scale, version=""))
    assert [compiled(tmp_path, constants) for _ in range(2)] == [len(constants)] * 2
    BACKENDS.register(scale)
    assert compiled(tmp_path, constants) == 0
    words = ["compile", str(tmp_path / "m.mlir"), "--backend", "scale", "--target", "native", "-o"]
    said = run([*words, str(tmp_path / "m.inarch")])
    assert f"{len(constants)} of scale ({len(constants)} from the cache), " in said.out, said


def test_an_entry_that_is_damaged_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path / "cache"))
    # With an empty cache all that tests import would be read: what digests are of is tested below.
    monkeypatch.setattr("inarch.driver.offloaded.emission.digest_of_code", ",".join)
    assert compiled(tmp_path, [1]) == 1
    for path in default_cache().folder.rglob("*"):
        if path.is_file():
            content = bytearray(path.read_bytes())
            content[-1] ^= 1
            path.write_bytes(content)
    assert compiled(tmp_path, [1]) == 1


HELPED = """from math import prod
from inarch.offload.backend import Backend, Emission
from factor_of_test import FACTOR

CODE = '''#include "inarch.h"
int32_t {name}(void *self, DLTensor *args, int32_t n) {{
    (void)self, (void)n;
    for (int i = 0; i < 4; i++) ((float *)args[1].data)[i] = {factor} * ((float *)args[0].data)[i];
    return 0;
}}'''


def emit(request):
    text = ""
    for function in request.functions:
        found = request.cached(function, lambda: str(FACTOR).encode()).decode()
        text += CODE.format(name=function.sym_name.data, factor=found)
    return Emission("c", request.names(), text=text)


BACKEND = Backend("helped", "", emit, ops=["relu"], version="1")
"""


def test_a_helper_of_the_backend_is_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module, a package with data, what is imported later; not what lies beside it, Inarch and Python."""
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "helped.py").write_text(HELPED)
    kind = "tensor<4xf32>"
    (tmp_path / "m.mlir").write_text(
        f"func.func @main(%x: {kind}) -> {kind} {{\n  %0 = graph.relu %x : {kind} -> {kind}\n"
        f"  func.return %0 : {kind}\n}}\n"
    )
    ones = np.ones(4, np.float32)
    for factor in (2, 3):
        (tmp_path / "factor_of_test.py").write_text(f"FACTOR = {factor}\n")
        (tmp_path / f"beside{factor}.py").touch()
        with BACKENDS.scope():
            monkeypatch.delitem(sys.modules, "factor_of_test", raising=False)
            load_files([tmp_path / "helped.py"])
            module: Any = inarch.compile(tmp_path / "m.mlir", backends=["helped"])
        np.testing.assert_array_equal(module(ones), factor * ones)
    folder = tmp_path / "vendor_of_test" / "inner"
    folder.mkdir(parents=True)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "of_a_tool.py").touch()
    for name in ("__init__.py", "bk.py", "inner/table.json", "inner/__init__.py"):
        (folder.parent / name).write_text(
            "def late():\n    import factor_of_test, numpy, os, inarch\n"
        )
    found = [each for each in files_of(["vendor_of_test.bk"]) if tmp_path in each.parents]
    assert [str(each.relative_to(tmp_path)) for each in found] == [
        "factor_of_test.py",
        "vendor_of_test/__init__.py",
        "vendor_of_test/bk.py",
        "vendor_of_test/inner/__init__.py",
        "vendor_of_test/inner/table.json",
    ]
    assert [each.parent.name for each in files_of(["vendor_of_test"])].count("numpy") == 1
    while not all(is_settled(state_of(each)) for each in found):
        time.sleep(0.01)
    before = files_of(["vendor_of_test"])
    digest = digest_of_code(["vendor_of_test"])
    with monkeypatch.context() as patch:  # a large package is read once
        for each in ("ast.parse", "inarch.core.code.digest_of"):
            patch.delattr(each)
        assert files_of(["vendor_of_test"]) == before
        assert digest_of_code(["vendor_of_test"]) == digest
    (folder.parent / "bk.py").write_text("import json, cffi\n")
    assert {*files_of(["vendor_of_test"])} - {*before} != set()
    assert digest_of_code(["vendor_of_test"]) != digest
    ours = [each for each in files_of(["inarch.backends.cblas", "os"]) if "inarch" in each.parts]
    assert {each.parent.name for each in ours} == {"cblas"}
