"""Hosts: a second one, the example of docs/extending.md, compiles, is loaded, checked and blamed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import inarch
from effort import effort
from inarch.artifact import Artifact
from inarch.artifact.manifest import parse as parse_manifest
from inarch.backends import HOSTS
from inarch.core.errors import InarchError, UsageError
from inarch.core.plugins import load_file
from inarch.definitions.expected import expected_of
from inarch.dialects import new_context
from inarch.driver.compiler import build
from inarch.driver.extensions import kinds
from inarch.driver.host import find_host
from inarch.ir.context import store_of
from inarch.ir.text import parse_module
from inarch.runtime.tensor import Array
from inarch.testing import check_compiled, execute_compiled, run_pass
from inarch.testing.generate import GeneratedProgram, inputs, programs
from inarch.tools.cli import run

GUIDE = Path(__file__).parents[3] / "docs" / "extending.md"
"""The file `interpreter.py` is an example in it."""

NET = """
func.func @main(%x: tensor<2x3x8x8xf32> {inarch.name = "x"}) -> (tensor<2x5xf32> {inarch.name = "y"}) {
  %w = graph.constant dense<WINDOWS> : tensor<4x3x3x3xf32>
  %v = graph.constant dense<WEIGHTS> : tensor<4x5xf32>
  %0 = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1
    : tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<2x4x8x8xf32>
  %1 = graph.relu %0 : tensor<2x4x8x8xf32> -> tensor<2x4x8x8xf32>
  %2 = graph.reduce_max %1 axes = [2, 3] : tensor<2x4x8x8xf32> -> tensor<2x4xf32>
  %3 = graph.matmul %2, %v : tensor<2x4xf32>, tensor<4x5xf32> -> tensor<2x5xf32>
  %4 = graph.softmax %3 axis = 1 : tensor<2x5xf32> -> tensor<2x5xf32>
  func.return %4 : tensor<2x5xf32>
}
"""
TEXT = """func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = graph.relu %x : tensor<6xf32> -> tensor<6xf32>
  %1 = graph.mul %0, %x : tensor<6xf32>, tensor<6xf32> -> tensor<6xf32>
  %2 = graph.exp %1 : tensor<6xf32> -> tensor<6xf32>
  func.return %2 : tensor<6xf32>
}
"""
X = np.linspace(-2, 2, 6, dtype=np.float32)


@pytest.fixture(name="source")
def fixture_source() -> str:
    """The file of the guide."""
    (found,) = re.findall(
        r"^<!-- file: interpreter.py -->\n```python\n(.*?)^```$",
        GUIDE.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    return found


@pytest.fixture(name="folder", autouse=True)
def fixture_folder(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Has the host in a file that is loaded, and a model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "interpreter.py").write_text(source)
    (tmp_path / "m.mlir").write_text(TEXT)
    with ExitStack() as stack:
        for table in kinds().values():
            stack.enter_context(table.scope())
        load_file(tmp_path / "interpreter.py", kinds())
        yield tmp_path


def refused(line: str) -> str:
    """What a command line that fails prints."""
    done = run(line.split())
    assert done.code != 0, done.out
    return done.err.strip().splitlines()[-1]


def net() -> str:
    """A network with weights of different values."""
    windows = np.random.default_rng(1).standard_normal((4, 3, 3, 3)).round(2)
    weights = np.random.default_rng(2).standard_normal((4, 5)).round(2)
    return NET.replace("WINDOWS", str(windows.tolist())).replace("WEIGHTS", str(weights.tolist()))


# ---------------------------------------------------------------------------------- a second host


def test_a_network_is_compiled_and_loaded(folder: Path) -> None:
    """The same numbers as by the host that makes C, from a file that has no library in it."""
    (folder / "net.mlir").write_text(net())
    x = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype(np.float32)
    built = build("net.mlir", "net.inarch", host="interpreter")
    assert (built.host, built.target, built.name) == ("interpreter", "generic", "net")
    found = inarch.load("net.inarch")(x)
    wanted = inarch.compile("net.mlir", target="generic")(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert inarch.compile("net.mlir", host="interpreter").type_key == "interpreter"
    with Artifact.open("net.inarch") as artifact:
        assert len(artifact.library) == 0
        assert artifact.manifest.host == "interpreter"


def test_an_artifact_says_who_made_it() -> None:
    build("m.mlir", "c.inarch", target="generic")
    with Artifact.open("c.inarch") as artifact:
        data = dict(artifact.manifest.data)
    assert data.pop("host") == "c"
    assert parse_manifest(data, "old").host == "c"  # of the time when there was no other
    with pytest.raises(InarchError, match=r"manifest.json: host: expected a string, found 3"):
        parse_manifest({**data, "host": 3}, "wrong")


def test_where_its_loader_is_not_the_file_is_refused() -> None:
    build("m.mlir", "m.inarch", host="interpreter")
    done = subprocess.run(
        [sys.executable, "-m", "inarch", "run", "m.inarch"],
        env={**os.environ, "INARCH_PLUGINS": "none"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == (
        "m.inarch: error: expected formats of the loaders c, examplejson, shared-library, so, found "
        "'interpreter'\n"
    )


@pytest.mark.filterwarnings("ignore:backend 'examplejson' was asked for and got nothing")
@pytest.mark.parametrize("backend", ["", "examplejson"])
def test_random_programs_are_what_they_mean(backend: str) -> None:
    """Also where parts of them are those of a backend, which the host calls."""
    taken = 0
    count = effort(3, 6)
    for program in programs("graph", seed=5, count=count):
        taken += _check(program, backend)
    assert taken >= count // 2 or not backend


def _check(program: GeneratedProgram, backend: str) -> int:
    context, module = program.parse()
    store = store_of(context)
    kept = {key: store.get(key) for key in store.keys()}  # noqa: SIM118 - no mapping
    cases = {name: inputs(module, 3, function=name) for name in program.functions()}
    wanted = {name: expected_of(context, module, each, name) for name, each in cases.items()}
    for key, data in kept.items():
        store.set(key, data)
    loaded = inarch.compile(
        module,
        context=context,
        host="interpreter",
        backends=[backend] if backend else [],
    )
    for name, arrays in cases.items():
        found: Array | tuple[Array, ...] = loaded[name](*arrays)
        every = found if isinstance(found, tuple) else (found,)
        for array, expected in zip(every, wanted[name], strict=True):
            assert expected.accepts(array).all(), (program.name, name)
    return len(loaded.imports)


def test_the_commands_take_it() -> None:
    load = "--load interpreter.py --host interpreter"
    assert "check out0: agrees" in run(f"run m.mlir {load} --check m.mlir".split()).out
    assert run(f"verify m.mlir {load}".split()).out.startswith("right: 3 values of 3 ops")
    assert run(f"compile m.mlir {load} -q --verify-semantics=1".split()).code == 0
    assert "host       interpreter" in run(["inspect", "m.inarch"]).out
    assert run(["run", "m.inarch", "--load", "interpreter.py", "--check", "m.mlir", "-q"]).code == 0
    assert "host interpreter, target generic" in run(
        f"bench m.mlir {load} --peers none --rounds 1".split()
    ).out  # fmt: skip
    text = run(["compile", "m.mlir", "--load", "interpreter.py", "--emit=interpreter"]).out
    assert text == run(f"compile m.mlir {load} --emit=loop".split()).out
    assert "kernel.call" not in text
    assert (
        "interpreter  Runs loops in NumPy" in run(["list", "hosts", "--load", "interpreter.py"]).out
    )


def test_its_pipeline_is_what_it_lowers_by() -> None:
    printed = run(
        [
            "compile",
            "m.mlir",
            "-q",
            "--load",
            "interpreter.py",
            "--host",
            "interpreter",
            "--dump-pass-pipeline",
        ]
    )
    assert "fuse-nests" in printed.err
    assert "schedule-nests" not in printed.err


def test_functions_are_checked_as_it_runs_them() -> None:
    lowered = run_pass(TEXT, "graph-to-loop")
    (found,) = execute_compiled(lowered, [X], host="interpreter")
    np.testing.assert_allclose(found, np.exp(np.maximum(X, 0) * X), rtol=1e-6)
    check_compiled(lowered, host="interpreter")


# ---------------------------------------------------------------------------------- a wrong one


def _load(folder: Path, source: str, name: str = "wrong") -> None:
    path = folder / f"{name}.py"
    path.write_text(source.replace('"interpreter"', f'"{name}"'))
    load_file(path, kinds())


def test_one_that_computes_something_else_is_found(folder: Path, source: str) -> None:
    _load(folder, source.replace("result.view(", "1.5 * result.view("))
    with pytest.raises(AssertionError, match=r"function @main, compiled, output 0, index"):
        check_compiled(run_pass(TEXT, "graph-to-loop"), host="wrong")
    found = run(["verify", "m.mlir", "--load", "wrong.py", "--host", "wrong", "-o", "fault"])
    assert found.code == 1
    assert "by graph.relu at m.mlir:2:3: compiled function 'main'" in found.out
    assert "'host': 'wrong'" in (folder / "fault" / "reproduce.py").read_text()
    message = refused("compile m.mlir --load wrong.py --host wrong --verify-semantics=0")
    assert "the compiled library does not do what its program means: function @main" in message


BROKEN = {
    "no Host": (
        "HOST = Host(",
        "HOST = dict(",
        "error: host 'wrong' [wrong.py]: expected HOST to be a Host, found dict",
    ),
    "emit raises": (
        "    return Program(",
        "    return {}['text'] or Program(",
        "error: host 'wrong' [wrong.py] raises KeyError: 'text' (wrong.py:24)",
    ),
    "no program": (
        "    return Program(",
        "    return list(",
        "error: host 'wrong' [wrong.py] raises TypeError: list expected at most 1 argument, got 2 "
        "(wrong.py:24)",
    ),
    "text for a program": (
        '    return Program(module.attributes["inarch.name"].data, print_module(module))',
        "    return print_module(module)",
        "error: host 'wrong' [wrong.py]: expected emit to return a Program, found str",
    ),
    "no file": (
        "    write_artifact(",
        "    return None\n    write_artifact(",
        "error: host 'wrong' [wrong.py]: expected build to write wrong.inarch, found none",
    ),
    "another's file": (
        '    manifest = request.manifest("interpreter", program.name, entries)',
        '    manifest = {**request.manifest("wrong", program.name, entries), "host": "c"}',
        "error: host 'wrong' [wrong.py]: expected the artifact to say host 'wrong', found 'c'; begin its "
        "manifest with BuildRequest.manifest",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_what_a_host_does_wrong_is_its_error(fault: str, folder: Path, source: str) -> None:
    right, wrong, message = BROKEN[fault]
    assert right in source
    path = folder / "wrong.py"
    path.write_text(source.replace(right, wrong).replace('"interpreter"', '"wrong"'))
    said = refused("compile m.mlir --load wrong.py --host wrong -o wrong.inarch")
    assert said == message
    assert not (folder / "wrong.inarch").exists()


def test_what_it_cannot_do_is_refused() -> None:
    load = "--load interpreter.py --host interpreter"
    assert refused("run m.mlir --load interpreter.py --host interprete") == (
        "error: no host 'interprete'; did you mean 'interpreter'? Known: c, interpreter. To register one, "
        "give its file with --load FILE.py, put it into backends/, or install it with an entry point of the "
        "group inarch.hosts"
    )
    assert refused(f"run m.mlir {load} --target x86-64-v3") == (
        "error: host 'interpreter' has no code for 'x86-64-v3': leave --target out"
    )
    assert refused(f"run m.mlir {load} --microkernel gemm-f32").startswith(
        "error: expected the pass 'tensorize' in the pipeline, where microkernels are asked for, found "
    )
    assert refused(f"explain m.mlir {load}").startswith(
        "error: host 'interpreter' takes no microkernels: expected the pass 'tensorize' in its pipeline"
    )
    for line in (f"bench m.mlir {load} --profile", f"bench layers {load} --layer l3.c2"):
        assert refused(line) == (
            "error: expected a host that makes machine code, found 'interpreter'; take one of: c"
        )
    assert refused("compile m.mlir --load interpreter.py --emit=interpreter --host c") == (
        "error: --emit: expected 'c', the host that --host names, found the host 'interpreter'"
    )
    assert refused(f"run m.mlir {load} --backend interpreter") == (
        "error: 'interpreter' is a host, not a backend: it compiles whatever no backend takes; leave it out, "
        "or write --host interpreter (in Python: host='interpreter')"
    )
    build("m.mlir", "m.inarch")
    assert refused("run m.inarch --host c") == (
        "error: --host: 'm.inarch' is compiled already; give it to `inarch compile`"
    )


def test_a_target_in_the_program_that_it_has_no_code_for_is_refused() -> None:
    context = new_context()
    module = parse_module(context, f'module attributes {{inarch.target = "aarch64"}} {{\n{TEXT}}}')
    with pytest.raises(UsageError, match="host 'interpreter' has no code for 'aarch64'"):
        inarch.compile(module, context=context, host="interpreter")


def test_c_of_a_backend_that_it_cannot_link_is_refused(folder: Path) -> None:
    """With whose it is, and from where in the model; the host `c` takes it."""
    message = refused("compile m.mlir --load interpreter.py --host interpreter --backend ccompiler")
    assert message == (
        "error: backend 'ccompiler' [inarch.backends.ccompiler] on @ccompiler_0 (from 'm.mlir:3:3'): host "
        "'interpreter' links no C; leave the backend out, or compile with --host c"
    )
    assert not (folder / "m.inarch").exists()
    assert run(["compile", "m.mlir", "--backend", "ccompiler", "-q"]).code == 0


def test_ours_is_found_like_any_other() -> None:
    assert find_host("c") is HOSTS["c"]
    with pytest.raises(UsageError, match=r"host: expected a string such as 'c', found 3"):
        inarch.compile("m.mlir", host=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match=r"no host 'd'. Known: c, interpreter. To register one"):
        inarch.compile("m.mlir", host="d")
