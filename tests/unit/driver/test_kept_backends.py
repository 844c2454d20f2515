"""Artifacts with parts of backends are kept: by instance, options, version, file, libraries and headers."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from inarch.backends import BACKENDS
from inarch.core.plugins import Origin
from inarch.driver.extensions import load_files
from inarch.driver.keep import kept, sources
from inarch.driver.keep.decisions import decisions
from inarch.driver.keep.kept import Entry, has_foreign
from inarch.driver.options import Options
from inarch.microkernel.table import MICROKERNELS
from inarch.tools.cli import run

NPU = """from inarch.offload.backend import Backend, Emission, Option

CODE = '''#include "inarch.h"
#include "scale.h"
int32_t {name}(void *self, DLTensor *args, int32_t n) {{
    (void)self, (void)n;
    for (int i = 0; i < 4; i++) ((float *)args[1].data)[i] = SCALE * {gain}f * ((float *)args[0].data)[i];
    return 0;
}}'''


def emit(request):
    (name,) = request.names()
    text = CODE.format(name=name, gain=request.options["gain"])
    return Emission("c", (name,), text=text, include_dirs=["HEADERS"])


BACKEND = Backend(
    name="npu",
    description="",
    emit=emit,
    ops=("mul",),
    version="VERSION",
    options={"gain": Option("float", 1.0)},
)
"""


TOY = Path(__file__).parents[2] / "lit" / "passes" / "tensorize" / "Inputs" / "tile_gemm.py"


class Npu:
    """A backend in a file, a header of its own, a model, and the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "npu.py"
        (folder / "headers").mkdir()
        self.write("1")
        self.scale(1)
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
        weights = numpy_helper.from_array(np.full(4, 2, np.float32), "w")
        node = helper.make_node("Mul", ["x", "w"], ["y"])
        graph = helper.make_graph([node], "g", values[:1], values[1:], [weights])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        onnx.save(model, str(folder / "m.onnx"))  # pyright: ignore[reportUnknownMemberType] - onnx's

    def write(self, version: str) -> None:
        text = NPU.replace("VERSION", version).replace("HEADERS", str(self.folder / "headers"))
        self.file.write_text(text)

    def scale(self, factor: int) -> None:
        (self.folder / "headers" / "scale.h").write_text(f"#define SCALE {factor}.f\n")

    def options(self, *backends: str) -> Options:
        return Options(target="x86-64", backends=backends or ("npu",))

    def is_kept(self, options: Options) -> bool:
        entry = Entry.of(self.folder / "m.onnx", options)
        return entry is not None and entry.restore(self.folder / "out.inarch") is not None

    def compile(self, options: Options) -> None:
        from inarch.dialects import new_context
        from inarch.driver.compiler import build

        time.sleep(0.06)  # after which a file that changes has another time
        model, context = self.folder / "m.onnx", new_context()
        entry = Entry.of(model, options)
        assert entry is not None
        entry.made(
            self.folder / "out.inarch",
            lambda path: build(model, path, options, context=context),
            context,
            "a",
        )


@pytest.fixture
def npu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Npu]:
    monkeypatch.setenv("INARCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "CHANGING_NS", -1)  # whoever edits Inarch tests it at once
    with BACKENDS.scope():
        yield Npu(tmp_path)


def test_an_artifact_with_a_backend_is_kept_by_all_that_it_depends_on(npu: Npu) -> None:
    """Options, instance, version, file and headers: with another one it is compiled again."""
    load_files([npu.file])
    plain = npu.options()
    npu.compile(plain)
    assert npu.is_kept(plain)
    (npu.folder / "out.inarch").unlink()
    assert npu.is_kept(plain)
    for other in (
        npu.options("npu:gain=2"),
        npu.options("big=npu"),
        npu.options("npu", "examplejson"),
        replace(plain, backend_options={"npu": {"gain": 2}}),
        replace(plain, keep=["mul=npu"]),
        replace(plain, give=["mul=npu"]),
        replace(plain, backends=()),
    ):
        assert not npu.is_kept(other)
    assert npu.is_kept(replace(plain, backends=["npu:gain=1"])), "the same instance"
    npu.scale(3)
    assert not npu.is_kept(plain)
    npu.compile(plain)
    assert npu.is_kept(plain)
    os.utime(npu.file)
    assert not npu.is_kept(plain)


def test_another_version_is_compiled_again_and_without_one_nothing_is_kept(npu: Npu) -> None:
    load_files([npu.file])
    npu.compile(npu.options())
    made = BACKENDS["npu"]
    with BACKENDS.scope():
        BACKENDS.register(replace(made, name="other", version="2"))
        assert not has_foreign()
        BACKENDS.register(replace(made, name="third", version=""))
        assert has_foreign()
        assert Entry.of(npu.folder / "m.onnx", npu.options("third")) is None
        assert Entry.of(npu.folder / "m.onnx", npu.options("missing")) is None
    npu.write("")
    with BACKENDS.scope():
        load_files([npu.file])
        assert Entry.of(npu.folder / "m.onnx", npu.options()) is None


def test_a_package_with_a_kernel_counts_by_its_files(
    npu: Npu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compilations are kept beside it, too: until a file of it changes, data too, comes or goes."""
    package = tmp_path / "kernels_of_test"
    package.mkdir()
    for name in ("__init__.py", "toy.py", "table.json"):
        (package / name).write_text("" if name != "toy.py" else TOY.read_text())
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    origin = Origin("kernels_of_test.toy", "MICROKERNEL", "entry point of test")
    monkeypatch.setattr(MICROKERNELS, "_others", {"tile-gemm": [origin]})
    monkeypatch.setattr(MICROKERNELS, "_known", {})
    assert has_foreign()
    assert not has_foreign(besides_kernels=True)
    plain = replace(npu.options(), backends=())

    def changed(*paths: Path) -> None:
        npu.compile(plain)
        assert npu.is_kept(plain)
        for path in paths:
            path.write_text("{}")
        assert not npu.is_kept(plain)

    before = decisions()
    assert before is not None
    changed(package / "table.json")
    after = decisions()
    assert after is not None
    assert after.sources != before.sources
    changed(package / "more.py")
    with MICROKERNELS.scope():
        (tmp_path / "loaded_gemm.py").write_text(TOY.read_text())
        load_files([tmp_path / "loaded_gemm.py"])
        assert has_foreign(besides_kernels=True)


def test_too_many_headers_are_not_looked_at(npu: Npu, monkeypatch: pytest.MonkeyPatch) -> None:
    load_files([npu.file])
    monkeypatch.setattr(kept, "MOST_NAMED", 0)
    npu.compile(npu.options())
    assert not npu.is_kept(npu.options())


def test_no_pass_is_not_the_default(npu: Npu) -> None:
    """An empty pipeline is one of no pass, in Python and in the commands."""
    assert len(Options(pipeline="").passes()) == 0
    assert Options(pipeline="").given() == {"pipeline": ""}
    code, _, err = run(
        ["compile", str(npu.folder / "m.onnx"), "-p", "", "-o", str(npu.folder / "a")]
    )
    assert code != 0
    assert err.endswith("run graph-to-loop first\n")
