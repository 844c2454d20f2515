"""Libraries that the code calls are found by name, wherever the artifact goes; two of one name stay apart."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.artifact import Artifact
from inarch.core.errors import EnvironmentFault
from inarch.dialects import new_context
from inarch.driver.compiler import build
from inarch.ir.text import parse_module
from inarch.machine.target import native
from inarch.machine.toolchain import compile_library

SCALE = """
__attribute__((visibility("default")))
void scale(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = FACTOR * x[i]; }
"""
X = np.arange(8, dtype=np.float32)


def made(folder: Path, factor: int, *, needs: Sequence[str] = (), **options: Any) -> Path:
    """An artifact in `folder`, and a library `libscale.so` of that SONAME in `folder/lib`, which it calls."""
    library = folder / "lib" / "libscale.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    source = {"scale.c": SCALE.replace("FACTOR", f"{factor}.0f")}
    compile_library(source, library, target=native(), libraries=["-Wl,-soname,libscale.so", *needs])
    text = f"""module attributes {{inarch.name = "net"}} {{
kernel.def @twice computes "for i in n: Y[i] = 2 * X[i]" arguments [
    #kernel.operand<X : f32 read rank 1 align 4>,
    #kernel.operand<Y : f32 write rank 1 align 4>] needs [] symbol "scale"
    call "scale({{X}}, {{Y}}, (int){{n}})" declare "void scale(const float *, float *, int);"
    library "{library}" link "reference"
func.func @main(%x: memref<8xf32> {{inarch.name = "x"}},
                %y: memref<8xf32> {{inarch.result, inarch.name = "y"}}) {{
  kernel.call @twice(%x[0] strides [1], %y[0] strides [1]) sizes [8] : memref<8xf32>, memref<8xf32>
  func.return
}}
}}"""
    context = new_context()
    module = parse_module(context, text, "p.mlir")
    return build(module, folder / "net.inarch", context=context, **options).path


def of_python(path: Path, **how: Any) -> float:
    """By what an artifact multiplies."""
    y: Any = inarch.load(path, **how)(X)
    assert (y / 2 % 1 == (X * y[1]) / 2 % 1).all()
    return float(y[1])


def of_c(runtime: Any, path: Path, flags: int = 0) -> float:
    module = runtime.opened(path, flags)
    instance, y = runtime.instance(module), np.empty_like(X)
    assert runtime.functions.inarch_bind_input(instance, b"x", X.ctypes.data, X.nbytes) == 0
    assert runtime.functions.inarch_bind_output(instance, b"y", y.ctypes.data, y.nbytes) == 0
    assert runtime.functions.inarch_run(instance) == 0, runtime.message()
    runtime.functions.inarch_instance_free(instance)
    runtime.close(module)
    return float(y[1])


def test_two_builds_of_one_soname_are_not_confused(tmp_path: Path, runtime: Any) -> None:
    """In one process, in Python and in C, each artifact calls its own."""
    paths = {factor: made(tmp_path / str(factor), factor) for factor in (2, 3)}
    assert [of_python(path) for path in paths.values()] == [2, 3]
    assert [of_c(runtime, path) for path in paths.values()] == [2, 3]


@pytest.mark.parametrize("relocatable", [False, True])
def test_an_artifact_moves_to_another_place(
    relocatable: bool, tmp_path: Path, runtime: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside it first (also behind a link), then in INARCH_LIBRARY_PATH, then where it was, then an error."""
    monkeypatch.delenv("INARCH_LIBRARY_PATH", raising=False)
    path = made(tmp_path / "home", 2, relocatable=relocatable)
    old = tmp_path / "home" / "lib" / "libscale.so"
    data = path.read_bytes()
    assert (os.fsencode(tmp_path) in data) is not relocatable
    away, other = tmp_path / "away", tmp_path / "other"
    away.mkdir()
    other.mkdir()
    moved = Path(shutil.move(path, away / "net.inarch"))
    if not relocatable:
        assert (of_python(moved), of_c(runtime, moved)) == (2, 2)
    shutil.move(old, other / "libscale.so")
    said = (
        f"{moved}: error: microkernel 'twice' calls '{'libscale.so' if relocatable else old}', which does "
        "not exist, nor does 'libscale.so' beside the artifact or in INARCH_LIBRARY_PATH; restore it, or "
        "recompile where it is"
    )
    with pytest.raises(EnvironmentFault) as caught:
        inarch.load(moved)
    assert caught.value.line() == said
    assert runtime.open(moved)[0] == 8
    assert runtime.message() == said
    monkeypatch.setenv("INARCH_LIBRARY_PATH", f"/no/such:{other}")
    assert (of_python(moved), of_c(runtime, moved, 2)) == (2, 2)
    shutil.copy(other / "libscale.so", away / "libscale.so")
    with Artifact.open(moved) as artifact:
        (library,) = artifact.manifest.libraries
        assert (library.name, bool(library.path)) == ("libscale.so", not relocatable)
    (tmp_path / "link.inarch").symlink_to(moved)
    monkeypatch.delenv("INARCH_LIBRARY_PATH")
    monkeypatch.chdir(away)
    for one in (moved, tmp_path / "link.inarch", Path("net.inarch")):
        assert (of_python(one), of_c(runtime, one)) == (2, 2)
    lines = Path("/proc/self/maps").read_text().splitlines()
    assert any(line.endswith(str(away / "libscale.so")) for line in lines)


def test_another_build_is_used_with_a_warning_and_refused_where_hashes_are_asked_for(
    tmp_path: Path, runtime: Any
) -> None:
    """C has nobody to warn: with INARCH_VERIFY it is an error."""
    path = made(tmp_path / "a", 2)
    made(tmp_path / "b", 3)
    beside = shutil.copy(tmp_path / "b" / "lib" / "libscale.so", path.with_name("libscale.so"))
    with pytest.warns(
        UserWarning, match=f"library '{beside}' changed since microkernel 'twice' was"
    ):
        assert of_python(path) == 3
    assert of_c(runtime, path) == 3
    assert runtime.open(path, 1 | 2)[0] == 7
    assert f"microkernel 'twice' calls '{beside}', expected it with SHA-256 " in runtime.message()
