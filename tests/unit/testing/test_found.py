"""What the search found stays mended; what is open is expected to fail, and is red once it passes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from inarch.dialects.graph.elementwise.unary import NegOp
from inarch.dialects.scalar import Scalar
from inarch.ir.text import print_module
from inarch.testing.generate import GeneratedProgram
from inarch.testing.generate.check.check import check_programs, write_case
from soak_finds import FOLDER, Find, finds, known, of_parser, of_program, plain, read, replay, same

TESTS = Path(__file__).parents[2]

MINUS = """builtin.module {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %c = graph.constant dense<1.0> : tensor<2xf32>
    %1 = graph.neg %c : tensor<2xf32> -> tensor<2xf32>
    %2 = graph.maximum %1, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %3 = graph.mul %1, %2 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    func.return %3 : tensor<2xf32>
  }
}
"""


@pytest.mark.every_case(reason="each is a fault that was there once")
@pytest.mark.parametrize("find", [find.mark() for find in finds()])
def test_a_find_stays_mended(find: Find) -> None:
    if missing := find.missing():
        pytest.skip(missing)
    code, said = replay(find)
    assert code == 0, f"{' '.join(find.command)}\n{said}"


def test_every_file_here_is_replayed() -> None:
    """A suffix that nobody reads would be a find that nobody replays."""
    others = {path.name for path in FOLDER.iterdir()} - {find.path.name for find in finds()}
    assert others == {"README.md"}


def planted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Find:
    """A lowering of `neg` that changes nothing: a program that differs, found, and written as a find."""
    program = GeneratedProgram("graph", MINUS, seed=3, index=17)

    def nothing(_: NegOp, x: Scalar) -> Scalar:
        return x

    monkeypatch.setattr(NegOp, "scalar", nothing)
    (found,) = check_programs([program], ["generic"])
    path = write_case(folder / "out", program, found)
    event = {**found.json(), "path": str(path)}
    return read(of_program(folder, event, ("--optimize", "1"), {}))


def test_a_program_that_differs_is_one_file_that_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = planted(tmp_path, monkeypatch)
    assert find.path.name == "graph-3-17.mlir"
    assert find.open == "not looked at yet"
    assert find.what.startswith("definition: ")
    code, said = replay(find)
    assert code == 1
    assert "by their references the ops give" in said
    monkeypatch.undo()
    assert replay(find) == (0, "")


def test_constants_and_inputs_are_in_the_file(tmp_path: Path) -> None:
    """Of a program that is not smaller, as the process died on it: it is made again by its seed."""
    event = {
        "kind": "crash",
        "level": "graph",
        "seed": 2,
        "index": 2,
        "target": "generic",
        "message": "m",
        "path": "",
    }
    find = read(of_program(tmp_path, event, ("--optimize", "3", "--large"), {"CC": "gcc -v"}))
    text = find.path.read_text()
    run = "CC='gcc -v' python -m inarch.testing.generate --file %s --start 2 --optimize 3 --target generic"
    assert text.startswith(f"// RUN: {run}\n// FOUND: crash: m\n// OPEN: not looked at yet\n")
    assert find.variables == {"CC": "gcc -v"}
    from inarch.testing.generate.program import read_program
    from inarch.testing.generate.public import programs

    program = next(programs("graph", 2, 1, start=2, large=True))
    again = read_program(find.path, 2)
    assert (again.text, again.constants) == (print_module(program.parse()[1]), program.constants)


def test_an_input_that_a_parser_fails_on_is_one_file(tmp_path: Path) -> None:
    """The shorter of two; the parser is in its name, and its command reads it."""
    files = [tmp_path / f"traceback-5-{case}.txt" for case in (8, 91)]
    for file, size in zip(files, (9, 4), strict=True):
        file.write_bytes(b"\xff" * size)
    path = of_parser(tmp_path / "found", "target", 5, {"files": [str(file) for file in files]})
    assert (path.name, path.read_bytes()) == ("target-5-91.open.bin", b"\xff" * 4)
    find = read(path)
    assert find.open == "a fault of the parser"
    assert replay(find) == (0, "refused\n")  # nothing is wrong with it: the mark below says so


@pytest.mark.slow
def test_once_it_passes_an_open_find_is_red(tmp_path: Path) -> None:
    """Of three finds, without a fault: the one that says OPEN fails, and says what to do."""
    found = tmp_path / "found"
    found.mkdir()
    run = "// RUN: python -m inarch.testing.generate --file %s\n"
    (found / "graph-1-1.mlir").write_text(f"{run}// OPEN: issue 7\n{MINUS}")
    (found / "graph-1-2.mlir").write_text(
        f"{run}// OPEN: issue 8\n{MINUS.replace('-> tensor', '-> tensr')}"
    )
    (found / "graph-1-3.mlir").write_text(run + MINUS)
    text = (
        "import pytest, pathlib\nfrom soak_finds import finds, replay\n"
        f"@pytest.mark.parametrize('find', [f.mark() for f in finds(pathlib.Path({str(found)!r}))])\n"
        "def test_it(find): assert replay(find)[0] == 0\n"
    )
    (tmp_path / "test_it.py").write_text(text)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS} {TESTS / 'soak'}\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
        ".",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed, 1 xfailed" in done.stdout, done.stdout
    assert "open: issue 7; where it passes, remove its line `// OPEN:`" in done.stdout


def test_a_find_without_a_command_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "graph-1-1.mlir"
    path.write_text(MINUS)
    with pytest.raises(
        ValueError, match=r"^graph-1-1.mlir: expected a line `// RUN: python -m MODULE"
    ):
        read(path)


def test_one_fault_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What differs by numbers, names and folders is one fault, until its file is mended."""
    texts = [
        f"differs: @main, output {n}: expected {n}.5, found {x}"
        for n, x in ((1, "nan"), (2, "inf"))
    ]
    assert same(texts[0]) == same(texts[1])
    assert plain("at /usr/lib/x/y.c:3\n  it") == "at y.c:3 it"
    find = planted(tmp_path, monkeypatch)
    ledger = [{"part": "programs", "findings": [{"what": texts[0], "file": find.path.name}]}]
    assert known(ledger, tmp_path) == {same(texts[1]): "graph-3-17.mlir"}
    find.path.write_text(find.path.read_text().replace("// OPEN:", "// WAS:"))
    assert known(ledger, tmp_path) == {}
