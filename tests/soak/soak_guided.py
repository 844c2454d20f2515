"""Fuzzing that is guided by coverage: Atheris of parsers in Python, libFuzzer of the artifact's index in C.

    python tests/soak/soak_guided.py onnx --seconds 300 --seed 1 --save build/fuzz --json
    python tests/soak/soak_guided.py artifact --file tests/found/artifact-1-0.bin  # one input

Inputs that reached new code stay in `build/soak/guided`, from which the next run goes on. Prints what
`python -m inarch.fuzz --json` does. Exit codes: 0, nothing was found; 1, something was.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from compilers import installed
from inarch.machine.compilers import find_compiler
from inarch.runtime.c import INCLUDE, LIBS, sources

ROOT = Path(__file__).resolve().parents[2]
READER = ROOT / "tests" / "unit" / "runtime" / "c" / "parse.c"
ARTIFACT = "artifact"
PYTHON = ("onnx", "mlir")
"""Parsers of `inarch.fuzz`."""
CASE_S = 60
"""Of one input: it hangs."""
SANITIZED = ("-O1", "-g", "-fno-sanitize-recover=all")


def main(words: Sequence[str] | None = None) -> int:
    """The command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("parser", choices=(*PYTHON, ARTIFACT))
    add("--seconds", type=int, default=60)
    add("--seed", type=int, default=1)
    add("--save", type=Path, default=ROOT / "build" / "fuzz", help="folder of what is found")
    add("--file", type=Path, help="of artifact: read this one instead")
    add("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(words)
    if asked.file is not None:
        return _replay(asked.file)
    if asked.child:
        _guide(asked.parser, asked.save, _options(asked))
    return _run(asked)


def _options(asked: argparse.Namespace) -> list[str]:
    """Of libFuzzer, which Atheris is, too."""
    corpus = ROOT / "build" / "soak" / "guided" / asked.parser
    corpus.mkdir(parents=True, exist_ok=True)
    return [
        str(corpus), f"-max_total_time={asked.seconds}", f"-seed={asked.seed}", f"-timeout={CASE_S}",
        f"-artifact_prefix={asked.save}/", "-rss_limit_mb=3000", "-print_final_stats=1", "-verbosity=0",
    ]  # fmt: skip


def _run(asked: argparse.Namespace) -> int:
    asked.save.mkdir(parents=True, exist_ok=True)
    corpus, *options = _options(asked)
    with tempfile.TemporaryDirectory() as folder:
        if asked.parser == ARTIFACT:
            seeds, command = (
                _artifacts(),
                [str(_built(Path(folder), guided=True)), corpus, *options],
            )
        else:
            seeds, command = (
                _seeds(asked.parser),
                [sys.executable, __file__, asked.parser, "--child"],
            )
            command += [
                "--seconds",
                str(asked.seconds),
                "--seed",
                str(asked.seed),
                "--save",
                str(asked.save),
            ]
        for seed in seeds:
            Path(corpus, sha256(seed).hexdigest()[:20]).write_bytes(seed)
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
    count = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    faults = [json.loads(path.read_text()) for path in sorted(asked.save.glob("*.fault"))]
    faults += [
        _fault(path.name.partition("-")[0], _place(done.stderr), path, done.stderr[-4000:])
        for path in sorted(asked.save.iterdir())
        if re.match(r"(crash|timeout|oom|leak)-", path.name)
    ]
    if count is None and not faults:
        sys.stderr.write(done.stderr[-2000:])
        return 2
    said = {
        "parser": asked.parser,
        "seed": asked.seed,
        "count": int(count[1]) if count else 0,
        "faults": faults,
        "again": f"python tests/soak/soak_guided.py {asked.parser} --seconds {asked.seconds}",
    }
    sys.stdout.write(json.dumps(said) + "\n")
    return int(bool(faults))


def _fault(kind: str, place: str, path: Path, detail: str) -> dict[str, Any]:
    return {"kind": kind, "place": place, "cases": 1, "files": [str(path)], "detail": detail}


def _place(text: str) -> str:
    """The first line of ours in what a sanitizer, or a signal's handler, has printed."""
    found = re.search(r"(?:runtime/c|inarch)/([\w/]+\.(?:c|py))\D+(\d+)", text)
    return f"{found[1]}:{found[2]}" if found else "?"


# ------------------------------------------------------------------------------------ in Python


def _seeds(name: str) -> Sequence[bytes]:
    from inarch.fuzz import PARSERS

    return PARSERS[name].seeds()


def _guide(name: str, folder: Path, options: list[str]) -> None:
    """Runs Atheris, which ends the process; a fault is a file, and the search continues after it."""
    import atheris  # pyright: ignore[reportMissingImports, reportMissingModuleSource]

    guide: Any = atheris
    with guide.instrument_imports(include=["inarch", "frontends", "dialects", "xdsl.parser"]):
        from inarch.fuzz import PARSERS
        from inarch.fuzz.case import Finding, run_case

        parser = PARSERS[name]
    warnings.simplefilter("ignore")
    seeds, seen = list(parser.seeds()), set[tuple[str, str]]()

    def one(data: bytes) -> None:
        found = run_case(parser, data)
        if isinstance(found, Finding) and (found.kind, found.place) not in seen:
            seen.add((found.kind, found.place))
            path = folder / f"{found.kind}-of-{len(seen)}{parser.suffix}"
            path.write_bytes(data)
            said = _fault(found.kind, found.place, path, found.detail)
            path.with_suffix(".fault").write_text(json.dumps(said))

    mutate = parser.mutate

    def another(data: bytes, size: int, seed: int) -> bytes:
        assert mutate is not None, "it is asked for"
        return mutate(data, seeds, Random(seed))[:size]

    words = {"custom_mutator": another} if mutate is not None else {}
    guide.Setup([__file__, *options], one, **words)
    guide.Fuzz()


# ------------------------------------------------------------------------------------ in C


def _artifacts() -> list[bytes]:
    """One of several functions, and an index of each kind of entry."""
    from inarch.artifact import write_artifact

    port: dict[str, Any] = {"name": "p", "dtype": "f32", "shape": [2, 3]}
    function: dict[str, Any] = {
        "inputs": [port],
        "outputs": [port, {"name": "q", "dtype": "i64", "shape": []}],
    }
    manifest: dict[str, Any] = {
        "inarch": "0", "name": "m", "prefix": "m", "target": "generic", "features": ["a"],
        "imports": ["f", {"name": "g", **function}], "loaders": ["shared-library", "steps"],
        "functions": {"main": function, "other": {"inputs": [], "outputs": [port]}},
        "libraries": [{"path": "/a", "backend": "b", "package": ""}],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed"
        write_artifact(path, b"library", manifest, [(0, b"weights")], 7, {"modules/1": b"part"})
        return [path.read_bytes()]


def _built(folder: Path, *, guided: bool) -> Path:
    """The reader under sanitizers: a program of libFuzzer, or one of a file."""
    program = folder / "reader"
    how = (
        ("-fsanitize=fuzzer,address,undefined", "-DGUIDED")
        if guided
        else ("-fsanitize=address,undefined",)
    )
    compiler = [installed("clang") or "clang"] if guided else find_compiler().command
    command = [
        *compiler,
        *SANITIZED,
        *how,
        f"-I{INCLUDE}",
        f"-I{INCLUDE.parent / 'c'}",
        str(READER),
    ]
    subprocess.run([*command, *map(str, sources()), "-o", str(program), *LIBS], check=True)
    return program


def _replay(path: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([_built(Path(folder), guided=False), path], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
