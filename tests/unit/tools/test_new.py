"""`inarch new` (N15, N4, N14): what it writes works as it is, from an empty directory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from inarch.tools.cli import run


def _new(*argv: str) -> tuple[int, str]:
    code, out, err = run(["new", *argv])
    return code, err or out


def _shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env={**kept, "PATH": path, "INARCH_PLUGINS": "all"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "c"])
def test_a_new_backend_works_as_it_is(form: str, tmp_path: Path) -> None:
    """Every command that `inarch new` prints, in processes as a newcomer would run them (N15)."""
    made = _shell(f"inarch new backend my-npu --format {form}", tmp_path)
    assert made.returncode == 0, made.stdout
    commands = [line[2:] for line in made.stdout.splitlines() if line.startswith("  ")]
    assert commands[0] == "cd my_npu"
    done = _shell("\n".join(commands), tmp_path)
    assert done.returncode == 0, done.stdout
    assert len(commands) <= 6, "a newcomer is done in a minute"
    written = [path.name for path in (tmp_path / "my_npu").iterdir() if path.is_file()]
    assert len(written) <= 6, written
    assert "check y: agrees" in done.stdout
    assert "my-npu: 3 of 4 ops, 2 regions" in done.stdout
    assert "1 passed" in done.stdout
    assert "Passed: 1 (100.00%)" in done.stdout


@pytest.mark.slow
def test_its_tests_fail_when_the_backend_is_wrong(tmp_path: Path) -> None:
    """The scaffold's own tests are tests: a wrong product is found by both (N15)."""
    folder = tmp_path / "my_npu"
    assert _new("backend", "my-npu", "--directory", str(folder))[0] == 0
    module = folder / "my_npu.py"
    wrong = module.read_text().replace("a * b + c", "a * b - c")
    assert wrong != module.read_text()
    module.write_text(wrong)
    assert "1 failed" in _shell("python -m pytest . || true", folder).stdout
    assert "Failed: 1 (100.00%)" in _shell("lit . || true", folder).stdout


@pytest.mark.slow
def test_a_backend_that_takes_nothing_fails_its_tests(tmp_path: Path) -> None:
    folder = tmp_path / "my_npu"
    assert _new("backend", "my-npu", "--directory", str(folder))[0] == 0
    module = folder / "my_npu.py"
    module.write_text(module.read_text().replace('dtype == "f32"', 'dtype == "f64"'))
    done = _shell("python -m pytest . || true", folder)
    assert "1 failed" in done.stdout
    assert "takes f32, found f32" in done.stdout, "the reason is in the error"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["c", pytest.param("py", marks=pytest.mark.slow)])
def test_a_new_microkernel_works_as_it_is(form: str, tmp_path: Path) -> None:
    """K2: one file is a kernel; every member of the family is checked by the commands printed."""
    made = _shell(f"inarch new microkernel my-gemm --format {form}", tmp_path)
    assert made.returncode == 0, made.stdout
    commands = [line[2:] for line in made.stdout.splitlines() if line.startswith("  ")]
    assert commands[0] == "cd my_gemm"
    done = _shell("\n".join(commands), tmp_path)
    assert done.returncode == 0, done.stdout
    passed, total = re.findall(r"^(\d+) of (\d+) instances pass", done.stdout, re.MULTILINE)[0]
    assert passed == total
    assert int(total) > 4
    assert "check y: agrees" in done.stdout
    assert "1 passed" in done.stdout


@pytest.mark.slow
def test_an_installed_microkernel_needs_no_load(tmp_path: Path) -> None:
    """K13: the layout of `inarch new` is that of a distribution, with a C file as entry point."""
    made = _shell("inarch new microkernel my-gemm", tmp_path)
    assert made.returncode == 0, made.stdout
    pip = "python -m pip install -q --no-deps --no-build-isolation --target"
    script = f"""
{pip} site ./my_gemm
rm -r my_gemm
export PYTHONPATH=$PWD/site
inarch list microkernels
inarch verify-kernel my-gemm --param MR=2 --param NR=4 --quick
"""
    done = _shell(script, tmp_path)
    assert done.returncode == 0, done.stdout
    assert "[entry point of inarch-my-gemm]" in done.stdout
    assert "2 of 2 instances pass" in done.stdout


def test_the_documented_layout_is_what_is_written(tmp_path: Path) -> None:
    """K13: docs/microkernels.md shows the layout of a distribution."""
    document = (Path(__file__).parents[3] / "docs" / "microkernels.md").read_text()
    block = document.partition("```text\nbegin/\n")[2].partition("```")[0]
    shown = set(re.findall(r"^ +(\w+\.\w+)(?= |$)", block, re.MULTILINE))
    assert _new("microkernel", "my-gemm", "--directory", str(tmp_path / "begin"))[0] == 0
    written = {path.name for path in (tmp_path / "begin").rglob("*") if path.is_file()}
    assert shown == written - {"README.md"}
    points = (tmp_path / "begin" / "pyproject.toml").read_text().splitlines()
    assert [
        line in points
        for line in (
            '[project.entry-points."inarch.microkernels"]',
            'my-gemm = "my_gemm_kernels.my_gemm"',
        )
    ] == [True, True]


@pytest.mark.slow
def test_a_microkernel_that_is_wrong_fails_its_test(tmp_path: Path) -> None:
    folder = tmp_path / "my_gemm"
    assert _new("microkernel", "my-gemm", "--directory", str(folder))[0] == 0
    file = folder / "my_gemm_kernels" / "my_gemm.c"
    file.write_text(file.read_text().replace("k < K;", "k + 1 < K;"))
    done = _shell(
        "inarch verify-kernel --load my_gemm_kernels/my_gemm.c --quick || echo no", folder
    )
    assert done.stdout.endswith("no\n")
    assert "0 of " in done.stdout


def test_a_format_is_of_its_kind(tmp_path: Path) -> None:
    found = _new("microkernel", "my-gemm", "--format", "text", "--directory", str(tmp_path))
    assert found == (2, "error: --format: expected c or py for a microkernel, found text\n")
    found = _new("algorithm", "mine", "--format", "c", "--directory", str(tmp_path))
    assert found == (2, "error: --format: it is of other kinds, found algorithm\n")
    found = _new("pass", "mine", "--op", "conv", "--directory", str(tmp_path))
    assert found == (2, "error: --op: it is of an algorithm, found pass\n")


def test_a_new_pass_works_as_it_is(tmp_path: Path) -> None:
    made = _shell("inarch new pass fold-twice", tmp_path)
    assert made.returncode == 0, made.stdout
    done = _shell(
        "cd fold_twice && inarch-opt fold-twice.mlir --load fold_twice.py -p fold-twice && lit .",
        tmp_path,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("graph.relu") == 1


def test_a_new_host_works_as_it_is(tmp_path: Path) -> None:
    """What `inarch new` prints, and that a fault of it is seen by the second command."""
    folder = tmp_path / "here"
    code, text = _new("host", "my-machine", "--directory", str(folder))
    assert code == 0, text
    first, verify, test = [line[2:] for line in text.splitlines() if line.startswith("  ")][1:]
    assert (first.split()[:2], test) == (["inarch", "run"], "python -m pytest .")

    def tool(command: str) -> tuple[int, str]:
        words = [str(folder / word) if "my_machine." in word else word for word in command.split()]
        code, out, err = run(words[1:])
        return code, out + err

    code, said = tool(first)
    assert (code, "check y: agrees" in said) == (0, True), said
    code, said = tool(verify)
    assert (code, "right: 4 values of 4 ops, and the outputs as compiled\n" in said) == (0, True), (
        said
    )
    done = _shell(test, folder)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout
    host = folder / "my_machine.py"
    host.write_text(host.read_text().replace("= result.view(", "= -result.view("))
    code, said = tool(f"{verify} -o {tmp_path / 'found'}")
    assert (code, "graph.mul" in said) == (1, True), said


@pytest.mark.parametrize("op", ["conv", pytest.param("matmul", marks=pytest.mark.slow)])
def test_a_new_algorithm_works_as_it_is(op: str, tmp_path: Path) -> None:
    """K16: what `inarch new` prints; a fault of it is seen by its test, and named."""
    folder = tmp_path / "here"
    code, text = _new("algorithm", "mine", "--op", op, "--directory", str(folder))
    assert code == 0, text
    explain, verify, test = [line[2:] for line in text.splitlines() if line.startswith("  ")][1:]

    def tool(command: str) -> tuple[int, str]:
        words = [str(folder / word) if "_mine." in word else word for word in command.split()]
        code, out, err = run(words[1:])
        return code, out + err

    assert "    mine: " in tool(explain)[1]
    assert tool(verify) == (0, "right: 1 value of 1 op, and the outputs as compiled\n")
    if op == "conv":
        done = _shell(test, folder)
        assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout
    file = folder / f"{op}_mine.py"
    file.write_text(file.read_text().replace("at, same)", "at, lambda one: -one)"))
    code, said = tool(f"{verify} -o {tmp_path / 'found'}")
    assert (code, f"algorithm 'mine' [{file}]" in said) == (1, True), said


def test_a_new_algorithm_of_any_op_that_is_lowered(tmp_path: Path) -> None:
    """Its program is drawn; what it begins with is the op's own lowering."""
    code, text = _new("algorithm", "mine", "--op", "topk", "--directory", str(tmp_path))
    assert code == 0, text
    given = f"{tmp_path}/topk_mine.mlir --load {tmp_path}/topk_mine.py"
    assert "  mine: " in run(f"explain {given}".split()).out
    found = run(f"verify {given} --algorithm topk=mine".split())
    assert (found.code, found.out.startswith("right: 2 values of 1 op")) == (0, True), found
    for op, why in {
        "softmax": "--op: expected an op that is lowered by itself, found softmax: it is decomposed before "
        "algorithms are chosen\n",
        "composite": "--op: expected an op that is lowered by itself, found composite: it has no ",
        "while": "--op: expected an op that is a program alone, found while: begin with --op conv, and put "
        "its class and a program of yours in\n",
        "topp": "no op 'topp' in --op; did you mean 'topk'?",
    }.items():
        code, text = _new("algorithm", "mine", "--op", op, "--directory", str(tmp_path / op))
        assert code == 2
        assert text.startswith(f"error: {why}")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "test_my_npu.py").write_text("mine")
    code, text = _new("backend", "my-npu", "--directory", str(folder))
    assert (code, text) == (
        2,
        f"error: '{folder / 'test_my_npu.py'}' exists; nothing was written. Give another --directory\n",
    )
    assert [path.name for path in folder.iterdir()] == ["test_my_npu.py"]


TAKEN = [
    (
        "algorithm",
        "winograd-2x2",
        "algorithm 'conv-winograd-2x2' exists (inarch.passes.lower.algorithms.conv_winograd_2x2); "
        "choose another name, such as 'my-winograd-2x2'",
    ),
    (
        "backend",
        "examplejson",
        "backend 'examplejson' exists (inarch.backends.examplejson); "
        "choose another name, such as 'my-examplejson'",
    ),
    (
        "backend",
        "shared-library",
        "loader 'shared-library' exists (inarch.runtime.loaders.shared_library); "
        "choose another name, such as 'my-shared-library'",
    ),
    (
        "host",
        "c",
        "host 'c' exists (inarch.backends.c); choose another name, such as 'my-c'",
    ),
    (
        "host",
        "cblas",
        "backend 'cblas' exists (inarch.backends.cblas); choose another name, such as 'my-cblas'",
    ),
    (
        "microkernel",
        "gemm-f32",
        "microkernel 'gemm-f32' exists (inarch.backends.c.microkernels.gemm_f32); "
        "choose another name, such as 'my-gemm-f32'",
    ),
    (
        "pass",
        "fold-constants",
        "pass 'fold-constants' exists (inarch.passes.graph.fold_constants); "
        "choose another name, such as 'my-fold-constants'",
    ),
    (
        "backend",
        "numpy",
        "'numpy' is a Python module, which numpy.py would hide; "
        "choose another name, such as 'my-numpy'",
    ),
    (
        "backend",
        "sys",
        "'sys' is a Python module, which sys.py would hide; choose another name, such as 'my-sys'",
    ),
    (
        "backend",
        "My_NPU",
        "expected a name of small letters, digits and dashes, found 'My_NPU'; 'my-npu' would do",
    ),
    (
        "pass",
        "2",
        "expected a name of small letters, digits and dashes, found '2'; 'my-pass' would do",
    ),
]


@pytest.mark.parametrize(("kind", "name", "message"), TAKEN)
def test_a_name_that_is_taken_or_malformed_is_refused(
    kind: str, name: str, message: str, tmp_path: Path
) -> None:
    """N10: one name, one thing."""
    assert _new(kind, name, "--directory", str(tmp_path)) == (2, f"error: {message}\n")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_kind_is_refused() -> None:
    code, text = _new("backedn", "x")
    assert code == 2
    assert "argument kind: invalid choice: 'backedn'" in text


def test_the_smallest_backend_of_the_documentation_is_at_most_40_lines() -> None:
    """N4: a list of ops and `emit`. `test_docs` runs it: offloaded, verified, explained."""
    text = (Path(__file__).parents[3] / "docs" / "backends.md").read_text()
    file = text.partition("<!-- file: clamp.py -->\n```python\n")[2].partition("```")[0]
    assert "BACKEND = Backend(" in file
    assert len([line for line in file.splitlines() if line.strip()]) <= 40
