"""Equal programs are equal files, wherever and whenever they were compiled, and say where they are from."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import helper

import inarch
from compilers import c_compilers
from effort import effort
from inarch.artifact import Artifact
from inarch.core.errors import UsageError
from inarch.machine.compilers import find_compiler
from inarch.microkernel.table import MICROKERNELS
from inarch.tools.cli import run

KERNEL = """/* inarch
computes = "for m in MR, n in NR, k in K: C[m, n] += A[m, k] * B[k, n]"
dtypes = {A = "f32", B = "f32", C = "f32"}
params = {MR = [1, 2], NR = [4, 8]}
layout = {A = ["*", 1], B = ["*", 1], C = ["*", 1]}
include_dirs = ["headers"]
cflags = ["-g"]
SPDX-License-Identifier: MIT
*/
#include "place.h"
void own_gemm(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0,
              int64_t B_1, int64_t C_0, int64_t C_1, int64_t K)
{
    for (int m = 0; m < MR; m++)
        for (int n = 0; n < NR; n++)
            for (int64_t k = 0; k < K; k++) C[m * C_0 + n] += A[m * A_0 + k] * B[k * B_0 + n];
    (void)A_1, (void)B_1, (void)C_1;
}
""".replace("SPDX-License-Identifier: MIT\n*/", "*/\n/* SPDX-License-Identifier: MIT */")
HEADER = "static const char place[] __attribute__((used)) = __FILE__;\n"
MODEL = """
func.func @main(%x: tensor<8x8xf32> {inarch.name = "x"}) -> (tensor<8x8xf32> {inarch.name = "y"}) {
  %w = graph.constant dense<0.5> : tensor<8x8xf32>
  %0 = graph.matmul %x, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %1 = graph.relu %0 : tensor<8x8xf32> -> tensor<8x8xf32>
  %2 = graph.add %1, %x : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %3 = graph.softmax %2 axis = 1 : tensor<8x8xf32> -> tensor<8x8xf32>
  func.return %3 : tensor<8x8xf32>
}
"""
LAYER = re.sub(r"  %[23] = .*\n", "", MODEL).replace("return %3", "return %1")
SCRIPT = """
import os, sys
from inarch.driver.compiler import build
from inarch.tools.extensions import load_files
from pathlib import Path
load_files([Path("own_gemm.c").absolute()])
jobs, compilers, names = int(sys.argv[1]), sys.argv[2].split(), sys.argv[3].split()
wishes = {
    "plain": {},
    "kernel": {"microkernels": ["own-gemm"]},
    "parts": {"backends": ["ccompiler", "examplejson"]},
}
for compiler in compilers:
    os.environ["CC"] = compiler
    for name in sorted(names, reverse=jobs > 1):
        build("model.mlir", f"{compiler}-{name}.inarch", jobs=jobs, target="x86-64-v2", **wishes[name])
"""


@pytest.mark.filterwarnings("ignore:microkernel 'own-gemm' was loaded and is used nowhere")
@pytest.mark.parametrize(
    ("model", "names"),
    [
        (LAYER, "kernel"),
        pytest.param(MODEL, "kernel parts plain", marks=pytest.mark.slow),
    ],
    ids=["layer", "model"],
)
def test_other_folders_caches_times_and_jobs_give_equal_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, names: str
) -> None:
    """Models with weights, parts of backends, and a kernel with headers and debug information.

    One is compiled in this process, one in a process that puts names in other places.
    """
    asked = c_compilers()[: effort(1, 2)]
    files: list[dict[str, bytes]] = []
    for seed, folder in enumerate((tmp_path / "a", tmp_path / "b" / "deeper"), 1):
        (folder / "headers").mkdir(parents=True)
        (folder / "own_gemm.c").write_text(KERNEL)
        (folder / "headers" / "place.h").write_text(HEADER)
        (folder / "model.mlir").write_text(model)
        words = [str(folder / "script.py"), str(seed), " ".join(asked), names]
        Path(words[0]).write_text(SCRIPT)
        monkeypatch.chdir(folder)
        monkeypatch.setenv("PYTHONHASHSEED", str(seed))
        monkeypatch.setenv("INARCH_CACHE_DIR", str(folder / "cache"))
        monkeypatch.setenv("HOME", str(folder))
        if seed == 1:
            monkeypatch.setattr(sys, "argv", words)
            with MICROKERNELS.scope():
                runpy.run_path(words[0])
        else:
            subprocess.run([sys.executable, "-W", "ignore", *words], check=True)
        files.append({path.name: path.read_bytes() for path in sorted(folder.glob("*.inarch"))})
    assert len(files[0]) == len(names.split()) * len(asked)
    assert files[0].keys() == files[1].keys()
    assert [name for name in files[0] if files[0][name] != files[1][name]] == []
    home = str(tmp_path).encode()
    assert [name for name, data in files[0].items() if home in data] == []
    kernel = tmp_path / "a" / f"{asked[0]}-kernel.inarch"
    with Artifact.open(kernel) as artifact:
        assert b"headers/place.h" in bytes(artifact.library)
        licenses = artifact.manifest.data["licenses"]
    assert licenses.keys() == {"Apache-2.0", "MIT"}
    assert all(name.startswith("microkernel 'own_gemm") for name in licenses["MIT"])


def onnx_model(path: Path) -> None:
    """relu, of opset 17, by a writer of that name; its weight is in a file beside it."""
    weight = onnx.numpy_helper.from_array(np.ones((2, 300), np.float32), "w")
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [value("x", 1, [2, 300])],
        [value("y", 1, [2, 300])],
        [weight],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 17)],
        producer_name="writer",
        producer_version="2.5",
    )
    cast("Any", onnx).save(
        model, path, save_as_external_data=True, location="w.bin", size_threshold=0
    )


def test_provenance_is_in_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Source, compiler, flags and what the user says; `inspect` shows it. No path of this machine."""
    monkeypatch.chdir(tmp_path)
    onnx_model(tmp_path / "m.onnx")
    command = "compile m.onnx -q --target generic --metadata team=vision --metadata"
    assert run([*command.split(), "note=a = b"]).code == 0
    shown = json.loads(run(["inspect", "m.inarch", "--json"]).out)
    assert shown["source"] == {
        "format": "onnx",
        "sha256": sha256((tmp_path / "m.onnx").read_bytes()).hexdigest(),
        "data_sha256": [sha256((tmp_path / "w.bin").read_bytes()).hexdigest()],
        "ir_version": helper.make_model(helper.make_graph([], "g", [], [])).ir_version,
        "opsets": {"ai.onnx": 17},
        "producer": "writer 2.5",
    }
    assert shown["metadata"] == {"note": "a = b", "team": "vision"}
    compiler = find_compiler()
    assert (shown["compiler"]["family"], shown["compiler"]["version"]) == (
        compiler.kind,
        compiler.version,
    )
    assert {"-O3", "-ffp-contract=off"} <= set(shown["compiler"]["flags"])
    assert shown["licenses"] == {"Apache-2.0": ["Inarch"]}
    assert shown["inarch"] == inarch.__version__
    assert str(tmp_path) not in json.dumps(shown)
    text = run(["inspect", "m.inarch"]).out
    digest = shown["source"]["sha256"]
    assert f"source     onnx, opset 17 of ai.onnx, by writer 2.5, SHA-256 {digest}, " in text
    assert f"compiler   {compiler.version}\n" in text
    assert "licenses   Apache-2.0 (Inarch)\n" in text
    assert "metadata   note = a = b\nmetadata   team = vision\n" in text


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"a": 1}, "metadata['a']: expected a string such as '1.2', found 1 (a int)"),
        ("a=b", "metadata: expected a dict such as {'author': 'me'}, found 'a=b' (a str)"),
        (
            {"a": "\ud800"},
            "metadata: expected text of whole characters, found 'a=\\ud800' (a str)",
        ),
    ],
)
def test_metadata_is_text_by_name(metadata: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(MODEL)
    with pytest.raises(UsageError) as caught:
        inarch.compile(path, metadata=metadata)  # pyright: ignore[reportArgumentType]
    assert caught.value.message == message
