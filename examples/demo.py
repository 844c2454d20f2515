"""Names the types of files with magika, a real model of Google's, compiled by Inarch.

    python examples/demo.py [FILE ...]

Without files: some of this repository's, chosen to be of many types. The model reads 1,024 bytes from a
file's beginning and 1,024 from its end (`magika` documents how: whitespace stripped, padded with 256)
and gives a probability to each of 214 types.
"""

# tests: slow (downloads the model)
from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import inarch
from inarch.machine.compilers import find_compiler
from inarch.runtime import c as library

ROOT = Path(__file__).parents[1]
FILES = (
    "passes/loop/schedule_nests.py",
    "runtime/include/inarch.h",
    "Makefile",
    "README.md",
    "pyproject.toml",
    "LICENSE",
    ".ci/run",
    "tests/lit/lit.cfg.py",
)
MADE = "a compiled model"
ROUNDS = 50


def _fetcher() -> ModuleType:
    """`benchmarks/models/fetch.py`, which is a script and not part of the package."""
    path = ROOT / "benchmarks" / "models" / "fetch.py"
    spec = importlib.util.spec_from_file_location("fetch", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fetch"] = module
    spec.loader.exec_module(module)
    return module


def features(data: bytes, config: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The model's input `[1, 2048]`: bytes of the beginning, then of the end, padded with 256."""
    head, tail, block = config["beg_size"], config["end_size"], config["block_size"]
    padding = config["padding_token"]
    first = list(data[:block].lstrip()[:head])
    last = list(data[-block:].rstrip()[-tail:])
    values = first + [padding] * (head - len(first)) + [padding] * (tail - len(last)) + last
    return np.array([values], np.int32)


def main(arguments: list[str]) -> int:
    fetch = _fetcher()
    print("magika 1.0.3: names a file's type from its bytes (95 nodes, 3 MB of weights)")
    model: Path = fetch.fetch("magika")
    config: dict[str, Any] = json.loads(fetch.companion("magika", "config").read_text())
    kinds: dict[str, Any] = json.loads(fetch.companion("magika", "content-types").read_text())
    start = time.perf_counter()
    module = inarch.compile(model, dims={"unk__214": 1})
    print(f"compiled to native code in {time.perf_counter() - start:.1f} s\n")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "magika.inarch"
        module.save(made)
        paths = [Path(a) for a in arguments] or [*(ROOT / name for name in FILES), model, made]
        print(f"{'file':<34} {'is':<38} {'probability':>11} {'microseconds':>13}")
        for path in paths:
            if not path.is_file():
                continue
            shown = {made: MADE, model: "the model itself, an .onnx file"}.get(path) or _shown(path)
            print(_row(module, shown, path.read_bytes(), config, kinds))
        _run_from_c(module, made, Path(folder), features(paths[0].read_bytes(), config))
    return 0


def _run_from_c(module: Any, model: Path, folder: Path, x: np.ndarray[Any, Any]) -> None:
    """The same file, opened by `examples/run_model.c`: a program that needs libc and nothing else."""
    try:
        compiler = find_compiler()
    except inarch.EnvironmentFault:
        print("\nno C compiler here: the same model is not run from C")
        return
    program, given, out = folder / "run_model", folder / "x.bin", folder / "y.bin"
    sources = [ROOT / "examples" / "run_model.c", *library.sources()]
    command = [*compiler.command, *library.FLAGS, f"-I{library.INCLUDE}", *map(str, sources)]
    subprocess.run([*command, *library.LIBS, "-o", str(program)], check=True)
    given.write_bytes(x.tobytes())
    subprocess.run([program, model, given, out], check=True)
    found = np.frombuffer(out.read_bytes(), np.float32)
    if not np.array_equal(found, np.asarray(module(x)).ravel()):
        raise SystemExit("the program in C computes something else")
    size = program.stat().st_size >> 10
    print(
        f"\nthe same from C, bit by bit, by a program of {size} KiB beside the model, without Python"
    )


def _row(module: Any, name: str, data: bytes, config: dict[str, Any], kinds: dict[str, Any]) -> str:
    x = features(data, config)
    probabilities = np.asarray(module(x))[0]
    times: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        module(x)
        times.append(time.perf_counter() - start)
    best = int(probabilities.argmax())
    label = config["target_labels_space"][best]
    described = kinds[label]["description"] or label
    microseconds = sorted(times)[ROUNDS // 2] * 1e6
    return f"{name:<34} {described:<38} {probabilities[best]:>10.1%} {microseconds:>13.0f}"


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
