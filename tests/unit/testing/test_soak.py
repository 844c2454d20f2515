"""The search: it goes on where it was stopped, takes the next seeds, and writes a find once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from branches import SOURCES, reasons, unexplained
from compilers import installed
from inarch.backends import BACKENDS
from soak import main
from soak_finds import finds, replay, write_new
from soak_ledger import Home, add_line, lines_of, next_seed
from soak_parts import PARTS, programs_unit
from soak_readers import (
    read_again,
    read_branches,
    read_instructions,
    read_mutants,
    read_parser,
    read_pytest,
    read_suite,
    read_types,
)
from soak_tools import Tool, lacks
from soak_tools import main as install
from soak_units import Done, Finding, Part, Result, Run, Unit

TESTS = Path(__file__).parents[2]

SAY = "import os; print(*(os.environ.get(f'INARCH_{name}') for name in ('SEED', 'SOAK', 'NATIVE')))"


def unit(
    name: str, read: Callable[[Done], Result] | None = None, missing: str = "", native: str = ""
) -> Unit:
    def count(done: Done) -> Result:
        assert done.out.split() == [str(done.run.seed), "1", native or "None"]
        return Result(cases=3)

    own = {"INARCH_NATIVE": native} if native else {}
    return Unit(name, (sys.executable, "-c", SAY), read or count, own, missing)


def part(name: str, *units: Unit, is_seeded: bool = True) -> Part:
    return Part(name, f"what {name} is", lambda: units, is_seeded)


def search(home: Home, parts: Sequence[Part], *options: str) -> int:
    """As many units as fit into no time: one."""
    return main(["--minutes", "0", *options], parts, home)


def ran(home: Home) -> list[tuple[str, str, int | None]]:
    lines = [line for line in lines_of(home.ledger) if "skipped" not in line]
    return [(line["part"], line["unit"], line["seeds"] and line["seeds"][0]) for line in lines]


def test_each_run_goes_on_behind_the_last_with_the_next_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts in turn, of each its units in turn; what another machine has run is behind, too."""
    monkeypatch.setenv("INARCH_NATIVE", "x86-64-v3")  # the gate's, not the search's
    home = Home(tmp_path)
    home.ledger.parent.mkdir()
    other = {
        "part": "a",
        "unit": "x",
        "seeds": [7, 9],
        "cases": 1,
        "findings": [],
        "cpu": "c",
        "cpu_s": 0,
    }
    home.ledger.write_text(json.dumps(other))  # and no end of the line
    parts = [
        part("a", unit("1"), unit("2")),
        part("b", unit("1", native="generic"), is_seeded=False),
    ]
    for _ in range(4):
        assert search(home, parts) == 0
    assert ran(home)[1:] == [("a", "1", 10), ("b", "1", None), ("a", "2", 11), ("b", "1", None)]
    assert search(home, parts, "--part", "a") == 0
    assert ran(home)[-1] == ("a", "1", 12)


def test_what_was_killed_is_run_again_and_nothing_else(tmp_path: Path) -> None:
    """By kill -9; what it had started goes with it."""
    marker = tmp_path / "began"
    waits = (
        f"import os, pathlib, time; p = pathlib.Path({str(marker)!r}); q = p.with_suffix('.new')\n"
    )
    waits += "if not p.exists(): q.write_text(str(os.getpid())); q.rename(p); time.sleep(3600)"
    script = tmp_path / "run.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(TESTS / 'soak')!r})\n"
        "from pathlib import Path\nfrom soak import main\nfrom soak_ledger import Home\n"
        "from soak_units import Part, Result, Unit\n"
        "def unit(name, code): return Unit(name, (sys.executable, '-c', code), lambda done: Result(1))\n"
        f"units = [unit('1', ''), unit('2', {waits!r}), unit('3', '')]\n"
        "parts = [Part('a', '', lambda: units)]\n"
        f"sys.exit(main(sys.argv[1:], parts, Home(Path({str(tmp_path)!r}))))\n"
    )
    command = [sys.executable, str(script), "--minutes"]
    home = Home(tmp_path)
    with subprocess.Popen([*command, "60"], stdout=subprocess.DEVNULL) as process:
        while not marker.exists():
            assert process.poll() is None, "it ended by itself"
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    child = int(marker.read_text())
    while (
        Path(f"/proc/{child}").exists()
        and Path(f"/proc/{child}/stat").read_text().split()[2] != "Z"
    ):
        time.sleep(0.01)
    assert ran(home) == [("a", "1", 1)]
    said = subprocess.run([*command, "0"], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [
        "[  0.0 min left] a 2: 1 cases, 0 findings, 0 s of CPU",
        "0 findings",
    ]
    assert ran(home) == [("a", "1", 1), ("a", "2", 2)]


def test_a_find_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two of one fault in a unit, another one in the next: one file, told each time."""
    home = Home(tmp_path)

    def read(done: Done) -> Result:
        def keep(number: int) -> Path:
            path = done.run.found / f"npz-{done.run.seed}-{number}.open.bin"
            return write_new(path, b"input")

        said = (f"npz: traceback at {tmp_path}/x.py:{n}" for n in range(2))
        return Result(
            5, [Finding(one, "its command", lambda n=n: keep(n)) for n, one in enumerate(said)]
        )

    parts = [part("a", unit("1", read))]
    assert search(home, parts) == 1
    assert search(home, parts) == 1
    assert [path.name for path in home.found.iterdir()] == ["npz-1-0.open.bin"]
    lines = lines_of(home.ledger)
    assert [[one["file"] for one in line["findings"]] for line in lines] == [
        ["npz-1-0.open.bin"] * 2
    ] * 2
    assert lines[0]["findings"][1]["what"] == "npz: traceback at x.py:1"
    assert "2 findings:\n  npz: traceback at x.py:0\n    its command\n" in capsys.readouterr().out
    home.found.joinpath("npz-1-0.open.bin").rename(home.found / "npz-1-0.bin")  # mended: it is back
    assert search(home, parts) == 1
    assert sorted(path.name for path in home.found.iterdir()) == ["npz-1-0.bin", "npz-3-0.open.bin"]


def test_what_this_machine_lacks_is_told_and_in_the_ledger_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(tmp_path)
    no = "no clang"
    parts = [
        part("a", unit("1", missing=no), unit("2"), unit("3", missing=no)),
        part("b", unit("1", missing=no)),
    ]
    for _ in range(2):
        assert search(home, parts) == 0
        said = capsys.readouterr().out
        assert "left out: a 1, 3: no clang\nleft out: b 1: no clang\n" in said
    lines = lines_of(home.ledger)
    assert [(one["unit"], one["skipped"]) for one in lines if "skipped" in one] == [
        ("1, 3", no),
        ("1", no),
    ]
    assert ran(home) == [("a", "2", 1), ("a", "2", 2)]
    assert search(home, [parts[1]]) == 0  # nothing to do, and no end without it


def test_a_unit_that_finds_that_it_cannot_run_is_passed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    parts = [part("a", unit("1", lambda _: Result(skipped="no network")), unit("2"))]
    assert [search(home, parts) for _ in range(3)] == [0, 0, 0]
    assert ran(home) == [("a", "2", 1)]
    (line,) = (line for line in lines_of(home.ledger) if "skipped" in line)
    assert (line["unit"], line["skipped"], line["seeds"]) == ("1", "no network", None)


def test_one_clone_has_one_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = Home(tmp_path)

    def read(_: Done) -> Result:
        assert search(home, parts) == 2
        return Result(1)

    parts = [part("a", unit("1", read))]
    assert search(home, parts) == 0
    assert (
        capsys.readouterr().err
        == "error: expected no other search in this clone, found one that runs\n"
    )


def test_the_report_sums_the_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seeds are counted once; half a line, or a mark of a merge, is told and left out."""
    home = Home(tmp_path)
    parts = [part("a", unit("1"), unit("2", missing="no qemu")), part("b", unit("1"))]
    for _ in range(3):
        search(home, parts)
    home.ledger.write_text(home.ledger.read_text() + "<<<<<<< ours\n" + '{"part": "a", "un')
    capsys.readouterr()
    assert main(["--report", "--json"], parts, home) == 0
    said = capsys.readouterr()
    first, second = json.loads(said.out)
    assert (first["part"], first["units"], first["cases"], first["seeds"], first["findings"]) == (
        "a",
        2,
        6,
        2,
        0,
    )
    assert first["left_out"] == {"2": "no qemu"}
    assert (second["part"], second["units"], second["seeds"]) == ("b", 1, 1)
    assert said.err.count("expected a line of the search, found") == 2
    assert main(["--report", "--part", "a"], parts, home) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == ["part", "a", "left"]
    assert next_seed("a", lines_of(home.ledger)) == 3


def test_a_part_that_is_old_or_has_never_run_is_red(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the commits since, by its date where history has lost that. Cases are counted by aim."""

    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = subprocess.run(["git", *who, *words], cwd=tmp_path, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def commit(count: int) -> str:
        day, tree = "2026-01-02T00:00:00Z", git("write-tree")
        for _ in range(count):  # without the files of `git commit`, which take the time
            parent = ["-p", "HEAD"] if git("for-each-ref") else []
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("GIT_COMMITTER_DATE", day)
                patch.setenv("GIT_AUTHOR_DATE", day)
                git("update-ref", "HEAD", git("commit-tree", "-m", "c", *parent, tree))
        return git("rev-parse", "--short=12", "HEAD")

    git("init", "-q")
    home, first = Home(tmp_path), commit(1)
    line: dict[str, Any] = {
        "cpu": "c",
        "seeds": None,
        "cases": 8,
        "cpu_s": 1,
        "findings": [],
        "unit": "1",
    }
    ran = {"old": ("2026-01-01 09:00", first + "+"), "lost": ("2026-01-01 09:00", "0123456789ab")}
    for name, (date, head) in ran.items():
        add_line(home.ledger, {**line, "part": name, "date": date, "commit": head})
    aims = [replace(unit(name), aim="x") for name in "12"]
    old = Part("old", "", lambda: aims, musts={"x": 32}, must_be_clean=0.9)
    parts = [old, part("lost", unit("1")), part("never", unit("1"))]
    commit(99)
    assert main(["--report", "--part", "old", "--part", "lost"], parts, home) == 0
    found = [{"what": "survived: a x"}, {"what": "survived: b x"}]
    late = {**line, "part": "old", "date": "2026-01-01 08:00", "commit": "f" * 12}
    add_line(home.ledger, {**late, "findings": found})
    add_line(home.ledger, {**late, "unit": "again", "mended": ["a"]})
    commit(2)
    capsys.readouterr()
    assert main(["--report"], parts, home) == 1
    said = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in said[1:4]] == ["RED"] * 3
    assert said[4:] == [
        "must: old x: 16 of 32 cases, 94 % of them without a finding, of 90 %",
        "RED: old ran 101 commits ago, expected at most 100 commits ago: make soak PART=old",
        "RED: lost ran 102 commits ago, expected at most 100 commits ago: make soak PART=lost",
        "RED: never ran never, expected at most 100 commits ago: make soak PART=never",
    ]
    assert main(["--report", "--json"], parts, home) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [(row["is_red"], row["age"]) for row in rows] == [(True, 101), (True, 102), (True, None)]
    assert search(home, [parts[2]]) == 0  # it runs, and is red no more
    assert main(["--report", "--part", "never"], parts, home) == 0


def test_no_line_names_this_machine(tmp_path: Path) -> None:
    home = Home(tmp_path)

    def read(_: Done) -> Result:
        return Result(1, [Finding(f"{tmp_path}/a/b.py: no such file '{Path.home()}/x/y'", "again")])

    assert search(home, [part("a", unit("1", read))]) == 1
    text = home.ledger.read_text()
    assert str(tmp_path) not in text
    assert os.uname().nodename not in text
    (line,) = lines_of(home.ledger)
    assert line["findings"] == [{"what": "b.py: no such file 'y'"}]
    assert set(line) == {
        "date", "commit", "cpu", "part", "unit", "seeds", "cases", "findings", "cpu_s"
    }  # fmt: skip


# ------------------------------------------------------------------------------------ what is read


def done(tmp_path: Path, out: str, code: int = 0, err: str = "") -> Done:
    return Done(code, out, err, Run(4, 1, tmp_path, tmp_path))


def test_what_tools_say_is_read(tmp_path: Path) -> None:
    text = (
        "FAILED tests/unit/a/test_b.py::test_c[1-x y] - AssertionError: 3\n"
        "ERROR tests/unit/a/test_d.py::test_e - no\n"
        "1 failed, 12 passed, 2 skipped, 1 xfailed, 1 error in 3.1s\n"
    )
    found = read_pytest(done(tmp_path, text, 1))
    assert found.cases == 15
    assert [one.what for one in found.findings] == [
        "tests/unit/a/test_b.py::test_c[1-x y]: AssertionError: 3",
        "tests/unit/a/test_d.py::test_e: no",
    ]
    assert found.findings[0].again.endswith(
        "INARCH_SEED=4 .venv/bin/python -m pytest 'tests/unit/a/test_b.py::test_c[1-x y]'"
    )
    skipped = "SKIPPED [2] tests/unit/a/test_b.py:3: no zig\n2 skipped in 1s\n"
    assert read_pytest(done(tmp_path, skipped)).skipped == "no zig"
    assert read_pytest(done(tmp_path, "no tests ran in 1s\n", 5)).findings == []
    assert read_pytest(done(tmp_path, "", -1, "no end after 3600 s")).findings[0].what == (
        "pytest left with -1: no end after 3600 s"
    )
    counts = "50 of 58 (86.2 %): 42 pass, 8 sized; 1 wrong; 1 bad; 3 s"
    suite = f"wrong       test_x  differs\nonnx 1.23.2: {counts}\n"
    assert read_suite(done(tmp_path, suite, 1)).findings == [
        Finding("wrong test_x: differs", "python tests/conformance/suite.py '^test_x$'")
    ]
    assert read_suite(done(tmp_path, suite.partition("\n")[2])).cases == 58
    assert read_parser(done(tmp_path, "", 1, "Traceback\nKeyError: 3")).findings[0].what == (
        "it left with 1: KeyError: 3"
    )
    counted = json.dumps({"ratios": {"lenet run": 1.021, "lenet compile": 0.9}, "most": 1.02})
    assert read_instructions(done(tmp_path, counted, 1)).findings == [
        Finding(
            "lenet run takes 1.021 of its instructions",
            "python benchmarks/instructions.py --models lenet",
        )
    ]
    nothing = "error: expected perf, and a kernel that counts for users, or valgrind"
    assert read_instructions(done(tmp_path, "", 1, nothing)).skipped == nothing
    outcomes = [
        {"verdict": verdict, "id": name, "key": "a/b.py::f negate: x -> not x"}
        for name, verdict in (("1", "seen"), ("2", "survived"), ("3", "not tried"), ("4", "gone"))
    ]
    tried = done(tmp_path, json.dumps(outcomes), 1)
    assert [read_mutants(tried).cases, read_mutants(tried).mended] == [2, []]
    (survivor,) = read_mutants(tried).findings
    assert survivor.what == "survived: 2 a/b.py::f negate: x -> not x"
    assert read_again(tried).mended == ["1", "4"]
    assert read_mutants(done(tmp_path, "", 2, "no table")).skipped == "no table"
    counts = "a.c:3: 1 not taken because two\nall          1 of    2,  50.0 %\n"
    assert read_branches(done(tmp_path, counts)) == Result(2)
    (few,) = read_branches(done(tmp_path, counts, 1)).findings
    assert few.what == "50.0 % of branches are taken, or a test failed"
    (line,) = read_branches(done(tmp_path, f"a.c:4: 2 not taken: if (x) {{\n{counts}", 1)).findings
    assert line.what == "a.c:4: 2 not taken: if (x) {"
    told = {
        "file": f"{TESTS}/soak.py",
        "range": {"start": {"line": 4}},
        "severity": "error",
        "message": "two\nlines",
        "rule": "reportA",
    }
    read = {"summary": {"filesAnalyzed": 9}, "generalDiagnostics": [told]}
    (wrong,) = read_types(done(tmp_path, json.dumps(read), 1)).findings
    assert wrong.what == "tests/soak.py:5: two (reportA)"
    assert read_types(done(tmp_path, json.dumps({**read, "generalDiagnostics": []}))) == Result(9)
    assert (
        read_types(done(tmp_path, "", 3, "no node")).findings[0].what == "it left with 3: no node"
    )


def test_each_branch_that_is_not_taken_has_a_reason() -> None:
    """One without is a finding, as is a reason of branches that are taken."""
    said = {("sha256.c", 1): "no CPU has it"}
    no, yes = {("sha256.c", 1, 0): True, ("sha256.c", 1, 1): False}, {("sha256.c", 1, 0): True}
    assert [unexplained(no, said), unexplained(yes, {})] == [[], []]
    text = "not taken: /* SHA-256 (FIPS 180-4), for those who ask to have a file verified. */"
    assert unexplained(no, {}) == [f"sha256.c:1: 1 {text}"]
    assert unexplained(yes, said) == [f"sha256.c:1: a reason, and none {text}"]
    assert all((SOURCES / name).is_file() for name, _ in reasons())


def test_each_part_has_units_of_its_own_names(tmp_path: Path) -> None:
    """And each finds what it runs: a file that is renamed is no empty part."""
    assert len({part.name for part in PARTS}) == len(PARTS)
    for each in PARTS:
        units = list(each.units())
        assert units, each.name
        assert len({one.name for one in units}) == len(units), each.name
        for one in units:
            words = one.words(Run(3, 2, tmp_path, tmp_path))
            assert not any("{" in word for word in words)
            files = [word for word in words if word.startswith(("tests/", "benchmarks/"))]
            assert all((TESTS.parent / file).is_file() for file in files)


# ------------------------------------------------------------------------------------ planted faults

PARSER = """
import os
from inarch.core.errors import InarchError
from inarch.fuzz import Parser

def check(data):
    match data[:1]:
        case b"a": raise InarchError("expected no a", where="fuzz:1:1")
        case b"b": raise KeyError("b")
        case b"c": os.abort()

PARSER = Parser(lambda: [b"a"], check, mutate=lambda data, seeds, rng: rng.choice([b"a", b"b", b"c"]))
"""


@pytest.mark.slow
def test_a_parser_that_dies_is_found_kept_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback and an abort: a file each, which fails again, until the parser is mended."""
    module = tmp_path / "planted_fuzz.py"
    module.write_text(PARSER)
    about = tmp_path / "planted_fuzz-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: planted-fuzz\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[inarch.fuzz.parsers]\nplanted = planted_fuzz\n")
    monkeypatch.setenv("INARCH_PLUGINS", "all")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    home = Home(tmp_path)
    command = (
        sys.executable,
        "-m",
        "inarch.fuzz",
        "--parser",
        "planted",
        "--seed",
        "{seed}",
        "--count",
        "9",
    )
    parts = [
        part("parsers", Unit("planted", (*command, "--json", "--save", "{folder}"), read_parser))
    ]
    assert search(home, parts) == 1
    found = finds(home.found)
    assert {find.path.read_bytes() for find in found} == {b"b", b"c"}
    assert all(find.open for find in found)
    assert sorted(replay(find)[0] for find in found) == [-signal.SIGABRT, 1]
    assert search(home, parts) == 1
    assert finds(home.found) == found  # the same two faults
    module.write_text(
        PARSER.replace('KeyError("b")', 'InarchError("expected no b", where="x")').replace(
            "os.abort()", "return"
        )
    )
    assert [replay(find)[0] for find in found] == [0, 0]


@pytest.mark.slow
def test_a_backend_that_computes_something_else_is_found_kept_and_replayed(
    wrong_relu: Path, tmp_path: Path
) -> None:
    """Its smaller program is one file, with the command that shows it."""
    home = Home(tmp_path)
    options = (
        "--load",
        str(wrong_relu),
        "--backend",
        "wrong-relu",
        "--count",
        "8",
        "--shrink",
        "1",
    )
    parts = [part("programs", programs_unit("planted", "graph", *options))]
    assert search(home, parts) == 1
    (find,) = (find for find in finds(home.found) if find.what.startswith("differs: @"))
    index = find.path.stem.split("-")[2]
    assert find.command[3:9] == ("--file", str(find.path), "--start", index, *options[:2])
    with BACKENDS.scope():
        assert replay(find)[0] == 1
    wrong_relu.write_text(wrong_relu.read_text().replace("x[i] < 1.f", "x[i] < 0.f"))
    with BACKENDS.scope():
        assert replay(find) == (0, "")


def test_each_compiler_that_is_installed_has_its_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that the gate does not try, in which this process is."""
    command = tmp_path / "clang"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    installed.cache_clear()
    (part,) = (part for part in PARTS if part.name == "compilers")
    units = [unit for unit in part.units() if unit.name.startswith("clang ")]
    installed.cache_clear()
    assert units
    assert not any(unit.missing for unit in units)


def test_tools_that_are_missing_are_named_and_installed_as_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Others print the one line to run; present tools are listed, and nothing runs for them."""
    made = tmp_path / "made"
    apt = tmp_path / "apt-get"
    apt.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/said\n[ "$1" = update ] || touch {made}\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    here = Tool("a", "part a", lambda: "/a", "package-a")
    missing = Tool("b", "part b", lambda: str(made) if made.exists() else None, "package-b")
    assert install([here, missing], is_root=False) == 1
    said = capsys.readouterr().out
    assert "run as root: apt-get update && apt-get install -y package-b\n" in said
    assert not (tmp_path / "said").exists()
    for _ in range(2):
        assert install([here, missing], is_root=True) == 0
    assert (tmp_path / "said").read_text() == "update\ninstall -y package-b\n"
    rows = [row.split()[:2] for row in capsys.readouterr().out.splitlines()]
    assert rows == [["a", "/a"], ["b", str(made)]] * 2
    monkeypatch.setattr("soak_tools.TOOLS", [here, replace(missing, find=lambda: None)])
    assert lacks("a", "b") == "no b: make soak-tools"
    assert lacks("a") == ""
