"""The C interface of compiled models: `abi.c` by each compiler and under sanitizers, and as cffi sees it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import inarch
from compilers import command_of
from effort import effort
from inarch.artifact import Artifact
from inarch.artifact.index import dtype_number
from inarch.artifact.status import Effect, Status
from inarch.core.dtypes import DTYPES
from inarch.driver.compiler import build
from inarch.runtime.abi import ffi, libc
from inarch.tools.cli import run

MODEL = """
func.func private @outside(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<96x64xf32> {inarch.name = "x"}, %s: tensor<f32> {inarch.name = "s"})
    -> (tensor<96x8xf32> {inarch.name = "y"}, tensor<96x64xf32> {inarch.name = "z"}) {
  %v = graph.constant dense<1.0> : tensor<64x256xf32>
  %w = graph.constant dense<1.0> : tensor<256x8xf32>
  %0 = graph.matmul %x, %v : tensor<96x64xf32>, tensor<64x256xf32> -> tensor<96x256xf32>
  %1 = graph.relu %0 : tensor<96x256xf32> -> tensor<96x256xf32>
  %2 = graph.matmul %1, %w : tensor<96x256xf32>, tensor<256x8xf32> -> tensor<96x8xf32>
  %3 = graph.mul %x, %s : tensor<96x64xf32>, tensor<f32> -> tensor<96x64xf32>
  func.return %2, %3 : tensor<96x8xf32>, tensor<96x64xf32>
}
func.func @through(%x: tensor<4xf32> {inarch.name = "x"}) -> (tensor<4xf32> {inarch.name = "y"}) {
  %0 = graph.call @outside(%x) : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
HARNESS = Path(__file__).with_name("abi.c")
INCLUDE = Path(inarch.__file__).parent / "runtime" / "include"

BUILDS = {
    "gcc": ["gcc", "-std=gnu11", "-O0", "-Wall", "-Wextra", "-Werror"],
    "g++": ["g++", "-x", "c++", "-O0", "-Wall", "-Wextra", "-Werror"],
    "clang": ["clang", "-std=gnu11", "-O0", "-Wall", "-Wextra", "-Werror"],
    "address": [
        "gcc",
        "-std=gnu11",
        "-O0",
        "-g1",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ],
    "thread": ["gcc", "-std=gnu11", "-O0", "-g1", "-fsanitize=thread"],
}

DESCRIBED = """\
net abi 3, 73728 bytes of weights, 2 functions, imports outside
main workspace 98304
x 220 96 64, 24576 bytes, read
s 220, 4 bytes, read
y 220 96 8, 3072 bytes, written
z 220 96 64, 24576 bytes, written
through workspace 0
x 220 4, 16 bytes, read
y 220 4, 16 bytes, written
y 2: 96 8, z 2: 96 64
1
"""
REFUSED = """\
2 net: state_new: expected 1 imports, found 0
2 net: state_new: import 'outside' is not filled
2 net: state_new: expected 73728 bytes of weights, found 64
2 net: state_new: expected weights at a multiple of 64 bytes
1 net: expected sizeof(inarch_setup) in its first field, found 4
9 net: expected at most 96 bytes of inarch_setup, found 104 that say something; compile the model again
1 net: state_new: expected a place for the state, found a null pointer
2 net: set_weights: expected 73728 bytes of weights, found 60
1 net: set_stream: expected device type 1 (host memory), device 0 and no stream, found device type 2, \
device 0 and no stream
1 net: set_stream: expected device type 1 (host memory), device 0 and no stream, found device type 1, \
device 0 and a stream
10 net: expected a function from 0 to 1, found 2
1 main: expected 4 arguments (2 inputs, then 2 outputs), found 3
1 main: argument 3 (z): expected 24576 bytes from byte 0 on, found memory of 24575
1 main: argument 0 (x): expected 24576 bytes from byte 4 on, found memory of 24576
1 main: argument 1 (s): expected f32[], found f64[]
1 main: argument 0 (x): expected host memory, found device type 0
9 main: expected flags of this version, found 8; compile the model again
6 main: expected a number of threads from 0 on, found -1
1 main: workspace: expected at least 98304 bytes, found 64
1 main: workspace: expected an address that is a multiple of 64, found one that is not
1 main: argument 2 (y): expected data, found a null pointer
1 main: argument 2 (y): expected room for 2 sizes, found 1
1 main: argument 2 (y): expected room for 2 sizes, found 1
"""
MEMORY = """\
states 1, workspaces 1 of 1
outputs 1, z 96 64 of 5
3 main: argument 2 (y): no memory for 3072 bytes
3 net: no memory for a state
left 0 0 0, 0 bytes
"""
OWN = """\
8 12 24
77 import 'outside' failed with code 77
1
"""
LATER = """\
0 0 0
1 1 0 65536 7
9 main: the executor does not take the call
1 main: argument 0 (x): expected f32[96, 64], found f32[96]
1
0 2 77 import 'outside' failed with code 77
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model in C, which compiles alone."""
    path = tmp_path_factory.mktemp("abi") / "net.mlir"
    path.write_text(MODEL)
    out = path.with_suffix(".c")
    words = ["--emit=c", "--target=generic", "-q", "-o", str(out)]
    assert run(["compile", str(path), *words]).code == 0
    return out


@pytest.mark.parametrize("how", list(BUILDS))
def test_the_abi_from_c(source: Path, tmp_path: Path, how: str) -> None:
    """B6, B11: what a library says of itself and refuses; states of other weights, imports, memory and pools;
    weights that change under load; calls that are done later; streams."""
    family, *flags = BUILDS[how]
    command = [command_of(family), *flags]
    program = tmp_path / "abi"
    words = [
        *command,
        f"-I{INCLUDE}",
        str(source),
        str(HARNESS),
        "-o",
        str(program),
        "-lpthread",
        "-lm",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "cannot find" in done.stderr and "san" in done.stderr:
        pytest.skip(f"{command[0]} has no sanitizer here")
    assert (done.returncode, done.stderr) == (0, "")
    rounds = str(effort(25, 100))  # of swaps
    for what, expected in {
        "describe": DESCRIBED,
        "refuse": REFUSED,
        "memory": MEMORY,
        "own": OWN,
        "later": LATER,
        "swap": "2 released\n",
    }.items():
        found = subprocess.run(
            [str(program), what, rounds], capture_output=True, text=True, timeout=120, check=False
        )
        assert (found.stdout, found.stderr, found.returncode) == (expected, "", 0), what


def test_a_shared_library_says_what_its_manifest_says(source: Path) -> None:
    """B7: without a manifest, by the one symbol, as cffi has the structs of the header."""
    path = source.with_suffix(".inarch")
    build(source.with_suffix(".mlir"), path, target="generic")
    handle = libc().dlopen(bytes(path), 2)
    assert handle != ffi().NULL
    address = libc().dlsym(handle, b"net_library")
    library = ffi().cast("const inarch_library *(*)(void)", address)()
    with Artifact.open(path) as artifact:
        manifest = artifact.manifest

    def text(pointer: Any) -> str:
        return ffi().string(pointer).decode()

    assert library.size == ffi().sizeof("inarch_library")
    assert (library.function_size, library.port_size) == (
        ffi().sizeof("inarch_function"),
        ffi().sizeof("inarch_port"),
    )
    assert (text(library.name), text(library.target)) == (manifest.prefix, manifest.target)
    assert text(library.features).split() == sorted(manifest.features)
    assert text(library.weights_sha256) == manifest.weights.sha256
    assert library.weights_bytes == manifest.weights.nbytes
    assert [text(library.imports[i]) for i in range(library.import_count)] == [
        slot.name for slot in manifest.imports
    ]
    assert library.function_count == len(manifest.functions)
    for function, (name, signature) in zip(
        library.functions[0 : library.function_count], manifest.functions.items(), strict=True
    ):
        counts = (function.inputs, function.outputs, function.workspace_bytes)
        assert (text(function.name), *counts) == (
            name,
            len(signature.inputs),
            len(signature.outputs),
            signature.workspace_bytes,
        )
        effects = [Effect.READS] * function.inputs + [Effect.WRITES] * function.outputs
        ports = (*signature.inputs, *signature.outputs)
        for found, port, effect in zip(function.ports[0 : len(ports)], ports, effects, strict=True):
            assert text(found.name) == port.name
            assert found.dtype == dtype_number(port.dtype)
            assert tuple(found.shape[0 : found.rank] if found.rank else ()) == port.shape
            assert (found.bytes, found.effects, found.device_type) == (port.nbytes, effect, 1)
    assert library.check() == 0


def test_the_numbers_of_the_header_are_those_of_python() -> None:
    """B7: each of one kind has its counterpart, and no two are equal."""
    header = (INCLUDE / "inarch.h").read_text()
    sections = re.split(r"\n/\* ([^\n]*?) ?\*/\n(?=#define)", header)
    named = {
        title: {
            name: int(value.strip("()"), 0)
            for name, value in re.findall(r"^#define INARCH_(\w+) (\S+)", text, re.MULTILINE)
        }
        for title, text in zip(sections[1::2], sections[2::2], strict=True)
    }
    assert named["What functions return."] == {status.name: status.value for status in Status}
    dtypes = {name.upper(): dtype_number(dtype) for name, dtype in DTYPES.items()}
    assert named["Element types: DLPack's code * 256 + bits."] == dtypes
    assert named["inarch_port.effects"] == {effect.name: effect.value for effect in Effect}
    for title, numbers in named.items():
        if title.startswith("The values of DLDevice"):  # of two kinds
            continue
        assert len(set(numbers.values())) == len(numbers), title
