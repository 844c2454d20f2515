"""Programs with libinarch: the examples by every compiler, under sanitizers, many threads, mutated files."""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import inarch
from compilers import command_of, found
from effort import effort
from inarch.artifact import Artifact, write_artifact
from inarch.artifact.index import TAIL
from inarch.core.dtypes import DTYPES
from inarch.fuzz.mutate import mutated
from inarch.machine.compilers import find_compiler

ROOT = Path(__file__).parents[4]
HERE = Path(__file__).parent
Build = Callable[..., Path]
X_BYTES, Y_BYTES = 96 * 64 * 4, 96 * 256 * 4
MOST_BYTES = 200 << 10
"""Of the example's program."""
OPTIMIZED = f"-O{effort(1, 2)}"


def compilers() -> list[list[str]]:
    """The C compilers of this machine, as commands; g++ takes C for C++."""
    known = [
        ["gcc", "-std=c11"],
        ["clang", "-std=c11"],
        ["g++", "-std=c++17", "-x", "c++"],
    ]
    here = [[command, *flags] for family, *flags in known if (command := found(family))]
    return here or [[*find_compiler().command, "-std=c11"]]


def run_program(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """In an environment that has no Python."""
    return subprocess.run(
        [str(word) for word in command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def sample(shared_model: Path, tmp_path: Path) -> tuple[Path, bytes]:
    """A file of an input, and the output that Python computes."""
    x = (np.random.default_rng(5).standard_normal((96, 64)) / 16).astype(np.float32)
    path = tmp_path / "x.bin"
    path.write_bytes(x.tobytes())
    return path, np.asarray(inarch.load(shared_model)(x)).tobytes()


def check_example(program: Path, model: Path, sample: tuple[Path, bytes]) -> None:
    given, expected = sample
    out = given.with_name("y.bin")
    done = run_program(program, model, given, out)
    assert (done.returncode, done.stderr) == (0, "")
    assert out.read_bytes() == expected
    done = run_program(program, given, given, out)
    wrong = f"{given}: error: expected an Inarch artifact, found a file of another kind\n"
    assert (done.returncode, done.stderr) == (1, wrong)


@pytest.mark.parametrize("command", compilers(), ids=lambda command: command[0])
def test_the_example_by_each_compiler(
    build: Build, command: list[str], shared_model: Path, sample: tuple[Path, bytes]
) -> None:
    program = build(ROOT / "examples" / "run_model.c", command, OPTIMIZED)
    check_example(program, shared_model, sample)
    assert program.stat().st_size < MOST_BYTES


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_example_in_cpp(
    compiler: str, shared_model: Path, sample: tuple[Path, bytes], tmp_path: Path, tool: Path
) -> None:
    command = command_of(compiler)
    opt, program = tool.parents[1], tmp_path / "example"
    strict = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-Wpedantic"]
    where = [f"-I{opt}/include", f"-L{opt}/lib", "-linarch", "-ldl", "-lpthread"]
    example = str(ROOT / "examples" / "run_model.cpp")
    subprocess.run([command, *strict, example, *where, "-o", str(program)], check=True)
    check_example(program, shared_model, sample)


SANITIZERS = ["-g1", "-O1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"]


def test_the_example_under_address_and_undefined_behaviour_sanitizers(
    build: Build, shared_model: Path, sample: tuple[Path, bytes]
) -> None:
    flags = [*SANITIZERS, "-fsanitize=address,undefined"]
    program = build(ROOT / "examples" / "run_model.c", compilers()[0], *flags)
    check_example(program, shared_model, sample)


@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_eight_threads_open_run_and_close(build: Build, shared_model: Path, sanitizer: str) -> None:
    command = compilers()[0]
    program = build(HERE / "stress.c", command, *SANITIZERS, f"-fsanitize={sanitizer}")
    done = run_program(program, shared_model, X_BYTES, Y_BYTES, 8, effort(5, 15))
    assert (done.returncode, done.stdout) == (0, "0 failures\n"), done.stderr


# ------------------------------------------------------------------------------------ mutated files


def described(folder: Path, rng: Random) -> tuple[bytes, int, int]:
    """An artifact of a random signature, and where its index is."""
    ports = [
        {"name": f"p{i}", "dtype": rng.choice(list(DTYPES)), "shape": [rng.randrange(5)] * (i % 4)}
        for i in range(rng.randrange(1, 6))
    ]
    formats = ["steps"] * rng.randrange(3)
    manifest: dict[str, Any] = {
        "inarch": "0",
        "name": "m",
        "prefix": "m",
        "target": "generic",
        "features": [],
        "imports": ["f", {"name": "g", "inputs": ports, "outputs": ports}] * rng.randrange(2),
        "loaders": ["shared-library", *formats],
        "functions": {
            "main": {"inputs": ports, "outputs": ports},
            "other": {"inputs": [], "outputs": ports},
        },
        "libraries": [{"path": "/a", "backend": "b", "package": ""}] * rng.randrange(2),
    }
    path = folder / "seed"
    members = {f"modules/{number}": b"part" for number, _ in enumerate(formats, 1)}
    write_artifact(path, b"library", manifest, [(0, b"weights")], 7, members)
    data = path.read_bytes()
    tail = TAIL.search(data)
    assert tail is not None
    return data, int(tail[1], 16), int(tail[2], 16)


def mutate(data: bytes, start: int, count: int, rng: Random) -> bytes:
    """Another index, or another tail; sizes as well as bytes."""
    index, tail = bytearray(data[start : start + count]), data[-65:]
    kind = rng.randrange(4)
    if kind == 0:
        index = bytearray(mutated(bytes(index), [bytes(index)], [], rng))
    elif kind == 1:
        at = rng.randrange(16, len(index))
        number = rng.choice([0, 1, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 46, 1 << 63, (1 << 64) - 1])
        index[at : at + 8] = struct.pack("<Q", number)[: min(8, len(index) - at)]
    elif kind == 2:
        del index[rng.randrange(16, len(index)) :]
    else:
        tail = mutated(tail, [tail], [], rng)
    # Near the end, so that what reads behind it leaves the file.
    return bytes(index) + re.sub(
        rb"index [0-9a-f]{16} [0-9a-f]{8}", b"index %016x %08x" % (0, len(index)), tail, count=1
    )


def test_mutated_indexes_never_crash(build: Build, tmp_path: Path) -> None:
    """2,000 files under sanitizers, in the gate 500: each is read, or refused with one line."""
    flags = [*SANITIZERS, "-fsanitize=address,undefined"]
    program = build(HERE / "parse.c", compilers()[0], *flags)
    rng = Random(20)
    files: list[bytes] = []
    for _ in range(20):
        data, start, count = described(tmp_path, rng)
        files += [data, *(mutate(data, start, count, rng) for _ in range(effort(24, 99)))]
    paths = [tmp_path / str(number) for number in range(len(files))]
    for path, content in zip(paths, files, strict=True):
        path.write_bytes(content)
    done = run_program(program, *paths)
    assert done.returncode == 0, done.stdout + done.stderr
    read = int(done.stdout.split()[0])
    assert 20 <= read < len(files) * 3 // 4


def test_whole_artifacts_with_a_flipped_byte_are_refused(
    build: Build, shared_model: Path, sample: tuple[Path, bytes], tmp_path: Path
) -> None:
    """Wherever it is: the checksum sees it before anything is run."""
    program = build(ROOT / "examples" / "run_model.c", compilers()[0], OPTIMIZED)
    data = bytearray(shared_model.read_bytes())
    rng = Random(21)
    with Artifact.open(shared_model) as artifact:
        places = [
            0,
            artifact.manifest.library.nbytes,
            artifact.manifest.weights_offset,
            len(data) - 1,
        ]
    for at in places + [rng.randrange(len(data)) for _ in range(effort(12, 30))]:
        data[at] ^= 0x10
        path = tmp_path / "flipped.inarch"
        path.write_bytes(data)
        done = run_program(program, path, sample[0], tmp_path / "y.bin")
        assert done.returncode == 1
        assert re.fullmatch(rf"{path}: error: expected .*\n", done.stderr)
        data[at] ^= 0x10
