"""A separately installed package adds one of every kind; what is broken or gone harms nothing else.

`tests/plugin` is installed as pip does it, into a folder of its own (N10, N14, T17).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PLUGIN = ROOT / "tests" / "plugin"

pytestmark = pytest.mark.slow

GROUPS = sorted(
    found[2] or found[1]
    for folder in ("inarch", "dialects", "frontends", "passes", "backends", "runtime", "tools")
    for path in (ROOT / folder).rglob("*.py")
    for found in re.finditer(
        r'\] = Extensions\(\s*"([\w.]+)"(?:[^()]*?entry_group="([\w.]+)")?', path.read_text()
    )
)
"""Of entry points: every kind of thing that a package can bring."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the installed package; built from a copy: a build leaves files behind."""
    copy = tmp_path_factory.mktemp("source") / "plugin"
    shutil.copytree(PLUGIN, copy, ignore=shutil.ignore_patterns("__pycache__"))
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*pip, "--target", str(folder), str(copy)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def _python(*argv: str, at: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Python in a process that finds the packages in `site`, and sees warnings."""
    path = os.pathsep.join([str(site), str(ROOT)])
    return subprocess.run(
        [sys.executable, *argv],
        cwd=at,
        env={**os.environ, "PYTHONPATH": path, "INARCH_PLUGINS": "all"},
        capture_output=True,
        text=True,
        check=False,
    )


def _inarch(*argv: str, at: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return _python("-m", "inarch.tools.cli", *argv, at=at, site=site)


def _right(done: subprocess.CompletedProcess[str]) -> str:
    noise = [line for line in done.stderr.splitlines() if not line.endswith(": random (seed 0)")]
    assert (done.returncode, noise) == (0, []), done.stderr + done.stdout
    return done.stdout


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    path = tmp_path / "model.chain"
    path.write_text("2x3 square abs square\n")
    return path


# ------------------------------------------------------------------------------------ one of every kind


def test_everything_is_listed_with_its_origin(installed: Path, tmp_path: Path) -> None:
    """N14: found when it is asked for, though Inarch was installed without it."""
    listed = json.loads(_right(_inarch("list", "--json", at=tmp_path, site=installed)))
    for kind, name in (
        ("dialects", "power"),
        ("passes", "drop-abs-of-square"),
        ("backends", "squarer"),
        ("loaders", "squarer"),
        ("frontends", "chain"),
        ("microkernels", "outer-product"),
    ):
        (row,) = [row for row in listed[kind] if row["name"] == name]
        assert row["origin"] == "entry point of inarch-example-plugin"
        assert "BROKEN" not in row["summary"]


def test_its_microkernel_does_what_it_says(installed: Path, tmp_path: Path) -> None:
    """K13: a C file of the package, by the name of its entry point."""
    command = ("verify-kernel", "outer-product", "--quick")
    assert "3 of 3 instances pass" in _right(_inarch(*command, at=tmp_path, site=installed))


def test_the_pass_and_the_dialect_serve_inarch_opt(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "a.mlir").write_text(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %0 = power.square %x : tensor<2xf32> -> tensor<2xf32>\n"
        "  %1 = graph.abs %0 : tensor<2xf32> -> tensor<2xf32>\n"
        "  func.return %1 : tensor<2xf32>\n}\n"
    )
    tool = "import sys; from inarch.tools.opt import main; sys.exit(main())"
    command = ("-c", tool, "a.mlir", "-p", "drop-abs-of-square")
    out = _right(_python(*command, at=tmp_path, site=installed))
    assert "power.square" in out
    assert "graph.abs" not in out


def test_a_model_of_its_frontend_is_compiled_offloaded_and_run(
    installed: Path, chain: Path
) -> None:
    """Frontend, dialect, backend and loader at once; what is not offloaded runs on the host (N12)."""
    at = chain.parent
    made = _inarch("compile", chain.name, "--backend", "squarer", at=at, site=installed)
    _right(made)
    out = _right(_inarch("run", "model.inarch", "--check", chain.name, at=at, site=installed))
    assert "check y: agrees" in out
    explained = _right(
        _inarch("explain", chain.name, "--backend", "squarer", at=at, site=installed)
    )
    assert "squarer: 2 of 3 ops, 2 regions" in explained


def test_the_host_compiles_its_op_by_its_nest(installed: Path, chain: Path) -> None:
    out = _right(_inarch("run", chain.name, "--check", chain.name, at=chain.parent, site=installed))
    assert "check y: agrees" in out


def test_its_onnx_operator_is_read(installed: Path, tmp_path: Path) -> None:
    script = (
        "import numpy as np, inarch\n"
        "from onnx import TensorProto as T, helper as h\n"
        "x, y = (h.make_tensor_value_info(n, T.FLOAT, [3]) for n in 'xy')\n"
        "node = h.make_node('Square', ['x'], ['y'], domain='com.example')\n"
        "sets = [h.make_opsetid('', 18), h.make_opsetid('com.example', 1)]\n"
        "model = h.make_model(h.make_graph([node], 'g', [x], [y]), opset_imports=sets)\n"
        "print(inarch.compile(model)(np.array([1, 2, 3], np.float32)))\n"
    )
    assert _right(_python("-c", script, at=tmp_path, site=installed)) == "[1. 4. 9.]\n"


def test_the_tests_of_inarch_do_not_see_it(installed: Path) -> None:
    """Lists of what there is would differ with what else is in the environment."""
    lit = ("tests/lit/tools/inarch-list.mlir", "tests/lit/frontends/mlir-errors.test")
    unit = (
        "tests/unit/frontends/test_onnx_ops.py::test_every_converter_has_a_case",
        "-p",
        "no:cacheprovider",
    )
    tool = "from lit.main import main; main()"
    for command in (("-c", tool, "-q", *lit), ("-m", "pytest", "-q", *unit)):
        done = _python(*command, at=ROOT, site=installed)
        assert done.returncode == 0, done.stdout + done.stderr


# ------------------------------------------------------------------------------------ gone or broken


def test_without_the_package_its_artifact_says_which_loader_is_missing(
    installed: Path, chain: Path, tmp_path: Path
) -> None:
    """T15: the loaders that there are."""
    at = chain.parent
    _right(_inarch("compile", chain.name, "--backend", "squarer", at=at, site=installed))
    empty = tmp_path / "empty"
    empty.mkdir()
    done = _inarch("run", "model.inarch", at=at, site=empty)
    assert done.returncode == 1
    assert "'squarer'" in done.stderr
    assert "examplejson" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A distribution whose things of every kind fail to be imported."""
    site = tmp_path / "site"
    info = site / "bad_day-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "bad_day.py").write_text("raise ValueError('bad day')\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad-day\nVersion: 1.0\n")
    lines = [line for group in GROUPS for line in (f"[{group}]", "bad-day = bad_day")]
    (info / "entry_points.txt").write_text("\n".join([*lines, ""]))
    return site


def test_a_broken_package_harms_nothing_else(broken: Path, tmp_path: Path) -> None:
    """N10: everything but its own names works, and is listed."""
    model = str(ROOT / "tests" / "lit" / "tools" / "inarch-explain.mlir")
    at = tmp_path
    listed = json.loads(_right(_inarch("list", "--json", at=at, site=broken)))
    assert len(listed) >= len(GROUPS)
    for kind in listed.keys() - {"targets"}:
        rows = {row["name"]: row["summary"] for row in listed[kind]}
        assert rows.pop("bad-day").startswith("BROKEN: ")
        assert not [name for name, summary in rows.items() if "BROKEN" in summary]
    run = ("run", model, "--backend", "examplejson", "--check", model)
    done = _inarch(*run, at=at, site=broken)
    assert (done.returncode, "check y: agrees" in done.stdout) == (0, True)
    # Every microkernel that is installed is tried, so that one says what is wrong with it.
    warned = {
        f"warning: microkernel {BAD_DAY}; compiled without this kernel",
        f"warning: template {BAD_DAY}; compiled without it",
        f"warning: lowering {BAD_DAY}; its rules are unknown",
        f"warning: definitions {BAD_DAY}; its ops have no definition",
        PASS_WARNING,
    }
    assert {line for line in done.stderr.splitlines() if line.startswith("warning")} == warned


BAD_DAY = "'bad-day' (entry point of bad-day) cannot be imported: ValueError: bad day"
PASS_WARNING = f"warning: pass {BAD_DAY}; it does not run"
"""Whatever compiles says so: the pass may have wanted a place."""


def _errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What is written as an error, without that warning."""
    return [line for line in done.stderr.splitlines() if line != PASS_WARNING]


def test_a_broken_backend_is_an_error_when_it_is_named(broken: Path, tmp_path: Path) -> None:
    model = str(ROOT / "tests" / "lit" / "tools" / "inarch-explain.mlir")
    done = _inarch("run", model, "--backend", "bad-day", at=tmp_path, site=broken)
    assert (done.returncode, _errors(done)) == (1, [f"error: backend {BAD_DAY}"])


def test_a_broken_frontend_is_named_when_none_other_fits(broken: Path, tmp_path: Path) -> None:
    done = _inarch("compile", "model.chain", at=tmp_path, site=broken)
    assert done.returncode == 2
    assert _errors(done) == [
        "error: expected a model that ends in one of .mlir, .onnx; found 'model.chain' "
        f"(frontend {BAD_DAY})"
    ]


def test_broken_onnx_operators_are_a_warning(broken: Path, tmp_path: Path) -> None:
    script = (
        "import warnings\n"
        "from inarch.frontends.onnx.ops import converters\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    assert 'Conv' in converters()\n"
        "print(*[str(one.message) for one in seen])\n"
    )
    out = _right(_python("-c", script, at=tmp_path, site=broken))
    assert out.strip() == f"converters {BAD_DAY}; its operators are unknown"


@pytest.mark.parametrize("gone", ["examplejson", "ccompiler", "cblas"])
def test_without_a_backends_folder_the_others_work(gone: str, tmp_path: Path) -> None:
    """N10: removing one backend breaks no other."""
    copy = tmp_path / "tree"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "tests", "*.egg-info")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=ignored)
    shutil.rmtree(copy / "backends" / gone)
    model = tmp_path / "model.mlir"
    model.write_text((ROOT / "tests" / "lit" / "tools" / "inarch-explain.mlir").read_text())

    def inarch(*argv: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        return subprocess.run(
            [sys.executable, "-m", "inarch.tools.cli", *argv],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    listed = json.loads(_right(inarch("list", "backends", "--json")))["backends"]
    names = {row["name"] for row in listed}
    assert gone not in names
    assert not [row for row in listed if "BROKEN" in row["summary"]]
    for other in {"examplejson", "ccompiler"} - {gone}:
        out = _right(inarch("run", str(model), "--backend", other, "--check", str(model)))
        assert "check y: agrees" in out
    done = inarch("run", str(model), "--backend", gone)
    assert done.returncode == 2
    assert f"error: no backend '{gone}'" in done.stderr


SQUARES = """func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = power.square %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.exp %0 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
"""


def test_the_kit_tries_the_backend_of_the_package(installed: Path, tmp_path: Path) -> None:
    """As a vendor runs it, with a program of theirs: random ones have no `power.square`."""
    (tmp_path / "squares.mlir").write_text(SQUARES)
    words = ["squarer", "--program", "squares.mlir", "--count", "1"]
    done = _python("-m", "inarch.testing.backend", *words, at=tmp_path, site=installed)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed  squarer: program squares.mlir: has power.square\n" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("0 of 9 checks failed")
