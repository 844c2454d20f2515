"""The parts of the search: what each runs, in units of seconds to minutes, and how its output is read.

A part that is added to `PARTS` is run, counted and told; its units are found: files by their marks,
parsers, levels and backends by their tables, compilers by what this machine has.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from compilers import installed
from inarch.backends import BACKENDS
from inarch.fuzz import PARSERS
from inarch.machine.target import NATIVE, parse
from inarch.testing.generate import LEVELS
from soak_finds import loads, of_program
from soak_guided import ARTIFACT
from soak_guided import PYTHON as GUIDED
from soak_readers import (
    MUTANTS_S,
    broken,
    read_again,
    read_branches,
    read_instructions,
    read_mutants,
    read_onnx_graphs,
    read_parser,
    read_pytest,
    read_sanitizers,
    read_speed,
    read_suite,
    read_types,
)
from soak_tools import lacks
from soak_units import Done, Finding, Part, Result, Unit
from targets import STAND_IN, V4, here

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "tests" / "unit"

PROGRAMS = 160
"""Of one unit; large ones are a third of that."""
GUIDED_S = 300
"""Of one unit that is guided by coverage."""
CASES = {
    "arguments": 8_000, "mlir": 10_000, "onnx": 16_000, "tune": 24_000, "compiled": 240, "verify": 60,
    "examplejson": 64_000, "manifest": 40_000, "microkernel": 64_000, "target": 160_000,
}  # fmt: skip
"""Of one unit of a parser, which takes about a minute; of each other 24,000."""
COMPILES = {"compiled": 10_000, "verify": 1_000}
"""What is to be tried of parsers that compile what they read, to C and to code: 0.2 and 1 s each."""
FILES = 8
"""Test files that share a process."""
TARGETS = ("generic", "x86-64-v2", "x86-64-v3", STAND_IN, V4)
WIDE = ("backends", "dialects", "frontends", "passes")
"""Rooms whose tests compare what compiled code computes."""
CALLS = ("runtime", "computation")
"""Rooms whose tests call what is compiled, and look at how."""
WHEELS = ("test_wheel.py", "test_runtime_wheel.py")
QUICK = "not slow and not fuzz"
AS_THE_GATE = {"INARCH_SOAK": "", "INARCH_SEED": "0"}
"""What runs tests of the gate to see something else than what they find."""


# ------------------------------------------------------------------------------------ pytest


def _pytest(name: str, files: Sequence[Path], *options: str, missing: str = "") -> Unit:
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rfEs",
        "-p",
        "no:cacheprovider",
        "-n",
        "{jobs}",
    )
    return Unit(
        name, (*command, *options, *(str(file.relative_to(ROOT)) for file in files)), read_pytest, {}, missing
    )  # fmt: skip


def _files(pattern: str, *, without: Sequence[str] = WHEELS) -> list[Path]:
    """The test files whose text has it; bridges' have a part and an environment of their own."""
    every = sorted(UNIT.rglob("test_*.py"))
    return [
        path
        for path in every
        if path.name not in without
        and path.parent.name != "bridges"
        and re.search(pattern, path.read_text())
    ]


def _marked(mark: str) -> Iterator[Unit]:
    for file in _files(rf"\bmark\.{mark}\b"):
        yield _pytest(str(file.relative_to(UNIT)), [file], "-m", mark)


def _packs(files: Sequence[Path], *options: str) -> Iterator[Unit]:
    for start in range(0, len(files), FILES):
        pack = files[start : start + FILES]
        name = f"{pack[0].relative_to(UNIT)} +{len(pack) - 1}"
        yield _pytest(name, pack, "-m", QUICK, *options)


def _wide() -> Iterator[Unit]:
    """`native` is x86-64-v4, or its code on a CPU without AVX-512."""
    (target,) = here(V4) or [V4]
    missing = ", ".join(parse(target).missing_here())
    files = [path for path in _files("def test_") if path.parent.name in WIDE]
    for unit in _packs(files):
        yield replace(unit, variables={NATIVE: target}, missing=missing and f"no {missing}")


def _calls() -> Iterator[Unit]:
    """What has no C compiler, or a Python without a GIL, calls by cffi."""
    folders = [UNIT / name for name in CALLS]
    files = [path for path in _files("def test_") if {*path.parents} & {*folders}]
    for unit in _packs(files):
        yield replace(unit, variables={"INARCH_CALLS": "cffi"})


def _aarch64() -> Iterator[Unit]:
    has_zig = importlib.util.find_spec("ziglang") is not None
    missing = "" if has_zig else lacks("aarch64-linux-gnu-gcc", "qemu-aarch64-static")
    for file in _files(r"aarch64-linux-gnu|qemu-aarch64"):
        name = str(file.relative_to(UNIT))
        yield _pytest(
            name, [file], "-k", "aarch64 or zig or another", "--cases", "all", missing=missing
        )


def _wheel() -> Iterator[Unit]:
    for name in WHEELS:
        yield replace(_pytest(name, [UNIT / "house" / name]), variables=AS_THE_GATE)


# ------------------------------------------------------------------------------------ programs, parsers


def _here() -> list[str]:
    """The least and the greatest of the targets that this machine runs, and what it is itself."""
    able = [name for name in TARGETS if not parse(name).missing_here()]
    return list(dict.fromkeys([able[0], able[-1], "native"]))


def programs_unit(
    name: str,
    level: str,
    *options: str,
    variables: Mapping[str, str] = MappingProxyType({}),
    missing: str = "",
    aim: str = "",
) -> Unit:
    """Random programs against their definition."""
    spoken = "".join(f"{name}={value} " for name, value in variables.items())

    def read(done: Done) -> Result:
        said = loads(done.out)
        if said is None:
            return broken(done)
        again = f"{spoken}python -m inarch.testing.generate --check {level}"
        findings = [
            Finding(
                f"{one['kind']}: {one['level']} {one['target']}: {one['message']}",
                f"{again} --seed {one['seed']} --start {one['index']} --count 1 {' '.join(options)}",
                partial(of_program, done.run.found, one, options, variables),
            )
            for one in {one["index"]: one for one in reversed(said["findings"])}.values()
        ]  # of one program, what it is on the first target
        return Result(said["programs"], findings)

    targets = [word for target in _here() for word in ("--target", target)]
    count = str(PROGRAMS // 3 if "--large" in options else PROGRAMS)
    command = (
        sys.executable, "-m", "inarch.testing.generate", "--check", level, "--seed", "{seed}",
        "--count", count, "--rotate-targets", "--jobs", "{jobs}", "--out", "{folder}", "--json",
        *targets, *options,
    )  # fmt: skip
    return Unit(name, command, read, variables, missing, aim)


def _generate() -> Iterator[Unit]:
    for level in LEVELS:
        yield programs_unit(level, level, aim=level)
        yield programs_unit(f"{level} -O3", level, "--optimize", "3", aim=level)
        yield programs_unit(f"{level} large", level, "--large", aim=level)
    for name in BACKENDS:
        if BACKENDS.origin(name).source.startswith("inarch.backends."):
            status = BACKENDS[name].status()
            missing = "" if status == "ready" else f"backend '{name}' is not ready: {status}"
            yield programs_unit(
                f"graph for {name}", "graph", "--backend", name, missing=missing, aim="graph"
            )


def _compilers() -> Iterator[Unit]:
    for family in ("gcc", "clang"):
        compiler, missing = installed(family) or family, lacks(family)
        variables = {"CC": compiler}
        for level in LEVELS:
            yield programs_unit(f"{compiler} {level}", level, variables=variables, missing=missing)
        suite = (sys.executable, "tests/conformance/suite.py", "--families", "--jobs", "{jobs}")
        yield Unit(f"{compiler} onnx", suite, read_suite, variables, missing)


def _parsers() -> Iterator[Unit]:
    for name in sorted(PARSERS):
        command = (
            sys.executable, "-m", "inarch.fuzz", "--parser", name, "--seed", "{seed}",
            "--count", str(CASES.get(name, 24_000)), "--json", "--save", "{folder}",
        )  # fmt: skip
        yield Unit(name, command, read_parser, aim=name)


def _guided() -> Iterator[Unit]:
    for name in (*GUIDED, ARTIFACT):
        command = (
            sys.executable, "tests/soak/soak_guided.py", name, "--seconds", str(GUIDED_S), "--seed", "{seed}",
            "--save", "{folder}",
        )  # fmt: skip
        missing = lacks("clang", "libFuzzer") if name == ARTIFACT else lacks("atheris")
        yield Unit(name, command, read_parser, missing=missing)


def _exact() -> list[str]:
    """Options: every target that this machine runs, as bits are to be the same on each."""
    able = [name for name in (*TARGETS, "native") if not parse(name).missing_here()]
    return [word for name in able for word in ("--target", name)]


def _onnx_graphs() -> Iterator[Unit]:
    base = (sys.executable, "-m", "inarch.testing.onnx_graphs", "--json", "--out", "{folder}")
    for name, count, options in (
        ("definitions", 2000, ()),
        ("compiled", 150, ("--compiled",)),
        ("across", 300, ("--across",)),
        ("quantized operators", 120, ("--across", "--quantized", "operators", *_exact())),
        ("quantized networks", 60, ("--across", "--quantized", "network", *_exact())),
    ):
        seeded = ("--run", "{seed}", "--count", str(count))
        read = partial(read_onnx_graphs, options=options)
        yield Unit(name, (*base, *seeded, *options), read, aim="graphs")
    calls = "inarch.testing.onnxruntime_calls"
    command = (sys.executable, "-m", calls, "--json", "--run", "{seed}", "--count", "20")
    yield Unit("calls of onnxruntime", command, partial(read_onnx_graphs, module=calls))


# ------------------------------------------------------------------------------------ the others


def _sanitizers() -> Iterator[Unit]:
    base = (sys.executable, "benchmarks/sanitizers.py", "--seed", "{seed}", "--json")
    yield Unit("graphs", (*base, "--programs", "12", "--model", "none"), read_sanitizers)
    yield Unit("networks", (*base, "--programs", "0"), read_sanitizers)


def _speed() -> Iterator[Unit]:
    """The commit before against this tree, by turns; for AVX2 also where this computer has more."""
    for model in ("mlp", "lenet", "mobilenetv2", "resnet50", "bert_base"):
        for native in ("", "x86-64-v3"):
            command = (sys.executable, "benchmarks/before_after.py", "HEAD~1", "--models", model)
            yield Unit(
                f"{model} {native}".strip(),
                (*command, "--runs", "3", "--json"),
                read_speed,
                variables={NATIVE: native} if native else {},
            )


def _instructions() -> Iterator[Unit]:
    """A unit for each network, against the committed counts."""
    path = ROOT / "benchmarks" / "instructions.json"
    for model in json.loads(path.read_text())["counts"]:
        command = (sys.executable, "benchmarks/instructions.py", "--models", model, "--json")
        yield Unit(model, command, read_instructions)


def _conformance() -> Iterator[Unit]:
    for part in range(20):
        command = (
            sys.executable,
            "tests/conformance/suite.py",
            "--part",
            str(part),
            "--jobs",
            "{jobs}",
        )
        yield Unit(f"{part:02}", command, read_suite)


def _branches() -> Iterator[Unit]:
    missing = "" if shutil.which("gcc") and shutil.which("gcov") else "no gcc with gcov"
    command = (sys.executable, "tests/branches.py", "--least", "95")
    yield Unit("libinarch", command, read_branches, AS_THE_GATE, missing)


def _strict_types() -> Iterator[Unit]:
    checker = str(Path(sys.executable).with_name("basedpyright"))
    command = (checker, "--pythonpath", sys.executable, "--outputjson")
    yield Unit("basedpyright", command, read_types)


def _bridges() -> Iterator[Unit]:
    for file in sorted((UNIT / "bridges").glob("*.txt")):
        stamp = ROOT / ".venv-bridges" / file.stem / ".stamp"
        target = f"bridge-{file.stem}"
        missing = "" if stamp.exists() else "no environment of the framework: make bridges makes it"
        yield Unit(file.stem, ("make", "--no-print-directory", target), read_pytest, {}, missing)


def _mutants() -> Iterator[Unit]:
    run = (sys.executable, "tests/mutants/run.py", "--seconds", str(MUTANTS_S))
    command = (*run, "--seed", "{seed}", "--json")
    yield Unit("faults", (*command, "--all"), read_mutants, AS_THE_GATE, aim="faults")
    yield Unit("faults again", (*command, "--again"), read_again, AS_THE_GATE)
    yield Unit("rows", (*command, "--all", "--rows"), read_mutants, AS_THE_GATE, aim="faults")


PARTS = (
    Part("programs", "random programs against their definition", _generate,
         musts=dict.fromkeys(LEVELS, 10_000)),
    Part("gate", "what the gate runs, at length, with other seeds, for this machine's own CPU",
         lambda: _packs(_files("def test_"))),
    Part("wide", "what the gate runs, as code for x86-64-v4", _wide),
    Part("calls", "the runtime and computations, with calls by cffi", _calls),
    Part("parsers", "mutated files and texts", _parsers,
         musts={name: COMPILES.get(name, 1_000_000) for name in sorted(PARSERS)}),
    Part("guided", "fuzzing that is guided by coverage: Atheris, libFuzzer", _guided),
    Part("onnx-graphs", "random ONNX models: the evaluator's numbers, on three targets", _onnx_graphs,
         musts={"graphs": 5_000}),
    Part("slow", "tests that are marked slow: models, numerics at length", lambda: _marked("slow")),
    Part("conformance", "ONNX's own suite by twentieths", _conformance, is_seeded=False),
    Part("fuzz", "tests that are marked fuzz", lambda: _marked("fuzz")),
    Part("rest", "the cases of long tables that the gate leaves out",
         lambda: _packs(_files(r"\bparametrize\b"), "--cases", "rest")),
    Part("compilers", "random programs and ONNX by each C compiler", _compilers),
    Part("sanitizers", "networks and random graphs under sanitizers", _sanitizers),
    Part("speed", "networks against the commit before, by turns", _speed, is_seeded=False),
    Part("instructions", "what compiling and running cost, counted", _instructions, is_seeded=False),
    Part("aarch64", "code for aarch64, under qemu or by zig", _aarch64, is_seeded=False),
    Part("mutants", "small faults that the tests should see", _mutants, musts={"faults": 500},
         must_be_clean=0.9),
    Part("wheel", "the wheels, installed in a clean environment", _wheel, is_seeded=False),
    Part("branches", "branches of libinarch, by gcov (`make branches`)", _branches, is_seeded=False),
    Part("strict-types", "types by basedpyright (`make strict-types`)", _strict_types, is_seeded=False),
    Part("bridges", "bridges to frameworks (`make bridges`)", _bridges, is_seeded=False),
)  # fmt: skip
