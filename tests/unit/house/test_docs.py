"""The documentation runs: doctests, examples/*.py, and the code blocks of every Markdown file.

The blocks of a document run in order, in one temporary folder with links to `benchmarks`,
`examples` and `tests`; each is a process of its own, and may use files of earlier ones.
- `sh` runs under `bash -euo pipefail`, `python` under Python; both must succeed;
- `console`: lines after `$ ` are commands, the lines below them their output; `...` fits anything;
- other languages are for reading.
`cc` is the compiler that Inarch finds, where the machine has none of that name; `inarch` and `inarch-opt`
are forks of one process (`warm.py`).

A comment on the line before a block changes what is done: `<!-- not run: REASON -->`, and
`<!-- file: NAME -->`, which writes the block into a file. An example that needs minutes or the
network has a line `# tests: slow (REASON)`. Of the documents README runs in the gate, the others are slow.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest

import inarch.meaning
from inarch.core.scratch import scratch
from inarch.machine.compilers import find_compiler

ROOT = Path(__file__).parents[3]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLES = sorted(ROOT.glob("examples/*.py"))
WARM = Path(__file__).with_name("warm.py")
LINKED = ("benchmarks", "examples", "tests")
FOR_READING = {"text", "mlir", "c", "cpp", "json", "toml", "mermaid"}
DOCTEST_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
LIMIT_S = 1200


@pytest.fixture(autouse=True)
def fixture_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of the environment that runs the tests are found first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    monkeypatch.setenv("PATH", path)


# ------------------------------------------------------------------------------------ doctests


def _modules() -> list[str]:
    """Every module of `inarch`, from the files, through the links."""
    names: list[str] = []
    for folder, folders, files in os.walk(ROOT / "inarch", followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        parts = Path(folder).relative_to(ROOT).parts
        stems = [file[:-3] for file in files if file.endswith(".py") and file != "__main__.py"]
        names += [".".join((*parts, stem)).removesuffix(".__init__") for stem in stems]
    return sorted(names)


def _has_examples(name: str) -> bool:
    place = ROOT.joinpath(*name.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return ">>> " in file.read_text()


def test_every_module_can_be_imported() -> None:
    assert len([import_module(name) for name in _modules()]) > 100


@pytest.mark.every_case(reason="each module has its own")
@pytest.mark.parametrize("name", [name for name in _modules() if _has_examples(name)])
def test_doctests(name: str) -> None:
    module = import_module(name)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=DOCTEST_FLAGS)
    for case in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        runner.run(case, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


# ------------------------------------------------------------------------------------ examples


def _file(path: Path) -> object:
    is_slow = re.search(r"^# tests: slow \(.+\)$", path.read_text(), re.MULTILINE)
    if path.suffix == ".md":
        is_slow = path.name != "README.md"
    name = str(path.relative_to(ROOT))
    return pytest.param(path, id=name, marks=[pytest.mark.slow] if is_slow else [])


@pytest.mark.parametrize("path", [_file(path) for path in EXAMPLES])
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    assert '"""' in path.read_text().partition("\n")[0], "its first line says what it shows"
    done = _run([sys.executable, "-W", "error", str(path)], tmp_path)
    assert done.returncode == 0, done.stdout


# ------------------------------------------------------------------------------------ Markdown


@dataclass(frozen=True)
class Block:
    """One fenced block, the line it starts at, and what the comment before it asks for."""

    language: str
    text: str
    line: int
    wish: str
    value: str


FENCE = re.compile(
    r"^(?:<!-- (?P<wish>[a-z ]+): (?P<value>[^\n]+?) -->\n)?"
    r"```(?P<language>[a-z]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a document, in order."""
    return [
        Block(
            match["language"],
            match["text"],
            text.count("\n", 0, match.start("text")) + 1,
            match["wish"] or "",
            match["value"] or "",
        )
        for match in FENCE.finditer(text)
    ]


def run_block(block: Block, folder: Path) -> str | None:
    """What is wrong with `block` when it is run in `folder`, or None."""
    match block.wish, block.language:
        case "file", _:
            (folder / block.value).write_text(block.text)
            problem = None
        case "", "sh":
            problem = _run_program(block, ["bash", "-euo", "pipefail", "-c"], folder)
        case "", "python":
            problem = _run_program(block, [sys.executable, "-W", "error", "-c"], folder)
        case "", "console":
            problem = _run_session(block, folder)
        case "not run", language if language:
            problem = None
        case "", language if language in FOR_READING:
            problem = None
        case "", language:
            problem = f"expected a block of a known language, found '{language}'"
        case wish, _:
            problem = f"expected 'not run' or 'file' in the comment, found '{wish}'"
    return problem and f"line {block.line}: {problem}"


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def _run_program(block: Block, command: list[str], folder: Path) -> str | None:
    done = _run([*command, block.text], folder)
    if done.returncode == 0:
        return None
    return f"exit code {done.returncode}:\n{block.text}\n{done.stdout}"


def _run_session(block: Block, folder: Path) -> str | None:
    """Runs each `$ command` and compares what it prints with what stands below it."""
    if not block.text.startswith("$ "):
        return "expected '$ ' at the start of a console block"
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        done = _run(["bash", "-uo", "pipefail", "-c", command], folder)
        if not doctest.OutputChecker().check_output(expected, done.stdout, DOCTEST_FLAGS):
            return f"$ {command}\nexpected:\n{expected}\nfound:\n{done.stdout}"
    return None


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`inarch` and `inarch-opt` that start fast. A socket's path must be short."""
    with scratch("inarch-docs-") as made:
        server = subprocess.Popen([sys.executable, WARM, made], stdout=subprocess.PIPE)
        assert server.stdout is not None
        try:
            assert server.stdout.readline() == b"ready\n"
            monkeypatch.setenv("PATH", os.pathsep.join([str(made), os.environ.get("PATH", "")]))
            yield
        finally:
            server.kill()
            server.communicate()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with links to what documents may refer to."""
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    if shutil.which("cc") is None:
        path = tmp_path / "bin" / "cc"
        path.parent.mkdir()
        path.write_text(f'#!/bin/sh\nexec {shlex.join(find_compiler().command)} "$@"\n')
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ.get('PATH', '')}")
    return tmp_path


@pytest.mark.usefixtures("commands")
@pytest.mark.every_case(reason="each document is its own")
@pytest.mark.parametrize("path", [_file(path) for path in DOCUMENTS])
def test_a_document_runs(path: Path, folder: Path) -> None:
    text = path.read_text()
    blocks = blocks_of(text)
    assert len(blocks) * 2 == len(re.findall(r"^```", text, re.MULTILINE)), "an unclosed block"
    for block in blocks:
        problem = run_block(block, folder)
        assert problem is None, f"{path.name}, {problem}"


LOCAL_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def _anchors(path: Path) -> set[str]:
    """Those of its headings: small letters, dashes for blanks, no punctuation."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.every_case(reason="each document is its own")
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_links_to_what_is_there(path: Path) -> None:
    """T18: files, and headings in them."""
    for to, anchor in LOCAL_LINK.findall(path.read_text()):
        target = path.parent / to if to else path
        assert target.exists(), to
        assert not anchor or anchor in _anchors(target), f"{to}#{anchor}"


TABLES = sorted(ROOT.glob("docs/tables/*.md"))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_a_table_says_what_writes_it(path: Path) -> None:
    """The program is there, writes the page by its name, and has its first lines."""
    title, said, *_ = path.read_text().split("\n\n")
    (program,) = re.findall(r"^Written by `\S*python (\S+\.py)", said)
    text = (ROOT / program).read_text()
    assert path.stem in text
    assert title in text


def test_the_grammar_is_that_of_the_parser() -> None:
    """And what stands below it parses."""
    blocks = blocks_of((ROOT / "docs" / "microkernels.md").read_text())
    (grammar,) = [block.text for block in blocks if block.text.startswith("meaning ")]
    assert textwrap.indent(grammar, "    ") in (inarch.meaning.__doc__ or "")
    document = (ROOT / "docs" / "microkernels.md").read_text()
    examples = re.findall(r"^\| .+ \| `(for .+)` \|$", document, re.MULTILINE)
    assert len(examples) == 5
    for example in examples:
        inarch.meaning.parse(example)


# ------------------------------------------------------------------------------------ the runner


def _document(language: str, text: str, before: str = "") -> Block:
    (block,) = blocks_of(f"Words.\n\n{before}```{language}\n{text}```\nMore.\n")
    return block


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("sh", "true\n"),
        ("sh", "test -d benchmarks && test -d tests\n"),
        ("python", "import inarch\nassert inarch.__version__\n"),
        ("console", "$ echo a; echo b\na\nb\n$ false\n"),
        ("console", "$ seq 9\n1\n...\n9\n"),
        ("mlir", "anything\n"),
    ],
)
def test_a_right_block_passes(language: str, text: str, folder: Path) -> None:
    assert run_block(_document(language, text), folder) is None


@pytest.mark.parametrize(
    ("language", "text", "problem"),
    [
        ("sh", "false\ntrue\n", "line 4: exit code 1"),
        ("sh", "false | true\n", "line 4: exit code 1"),
        ("python", "1 / 0\n", "ZeroDivisionError"),
        ("console", "$ echo a\nb\n", "line 4: $ echo a\nexpected:\nb\n\nfound:\na\n"),
        ("console", "echo a\n", "expected '$ '"),
        ("", "text\n", "expected a block of a known language, found ''"),
        ("pyhton", "1\n", "expected a block of a known language, found 'pyhton'"),
    ],
)
def test_a_wrong_block_fails(language: str, text: str, problem: str, folder: Path) -> None:
    assert problem in str(run_block(_document(language, text), folder))


def test_comments_belong_to_the_block_below_them() -> None:
    text = "<!-- file: a.py -->\n```python\n```\n<!-- file: b.mlir -->\n```mlir\n```\n```sh\n```\n"
    assert [block.value for block in blocks_of(text)] == ["a.py", "b.mlir", ""]


def test_a_comment_before_a_block_changes_what_is_done(folder: Path) -> None:
    assert run_block(_document("sh", "false\n", "<!-- not run: it fails -->\n"), folder) is None
    assert run_block(_document("mlir", "x\n", "<!-- file: a.mlir -->\n"), folder) is None
    assert (folder / "a.mlir").read_text() == "x\n"
    problem = run_block(_document("sh", "true\n", "<!-- nto run: typing -->\n"), folder)
    assert problem == "line 5: expected 'not run' or 'file' in the comment, found 'nto run'"
