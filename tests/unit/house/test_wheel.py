"""The wheel: it holds every module of the tree, and works without it and in a clean environment.

Not every builder follows the links `inarch/dialects -> ../dialects`; one that does not drops the
folders without a word; hence this test.
"""

# onnxruntime is untyped:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

ROOT = Path(__file__).parents[3]

OF_THE_TREE = (
    "test_docs",
    "test_extensions",
    "test_layers",
    "test_layout",
    "test_mutants",
    "test_onnx_models",  # its scripts of benchmarks/ download with pip, which the clean venv lacks
    "test_release",
    "test_wheel",
)
"""Tests of the repository, not of the package."""

BESIDE = ("tests", "examples", "benchmarks", "docs")
"""What tests may read; copied next to them, without `inarch/`, so that only the wheel can be imported."""

ROOMS = (
    "driver/test_machine.py",
    "driver/test_compiler.py",
    "driver/test_pipeline.py",
    "frontends/test_onnx_import.py",
    "house",
    "runtime",
    "tools",
)
"""Of the tests, those that read files of the package (descriptions of machines, C, headers, templates), start
its programs, or find what is installed: what may differ in a wheel that has the modules of the tree."""

DATA = (".h", ".hpp", ".c", ".json", ".html", ".tmpl", ".toml", ".typed")


def _run(command: list[str], folder: Path) -> str:
    # Neither the repository nor the user's packages may be found by another way than the wheel.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command,
        cwd=folder,
        env=kept,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout[-20_000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the tree: a build leaves `build/` and `*.egg-info` behind.

    By the setuptools that is here: no network is asked.
    """
    copy = tmp_path_factory.mktemp("tree") / "inarch"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "Output")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=ignored)
    made = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(made)]
    _run([*command, str(copy)], made)
    (found,) = made.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a clean environment in which the wheel, with its dependencies, is installed."""
    folder = tmp_path_factory.mktemp("venv")
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], folder)
    made = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "-q", "--python", str(made), "install"]
    pip += ["-c", str(ROOT / "constraints.txt")]
    _run([*pip, f"{wheel}[onnx,test,cblas,sign]", "pytest-xdist", "onnxruntime"], folder)
    return made


def _tree() -> set[str]:
    """Every module and data file of `inarch`, through the links, as the wheel should name it."""
    found: set[str] = set()
    for folder, folders, files in os.walk(ROOT / "inarch", followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        here = Path(folder).relative_to(ROOT)
        found |= {str(here / name) for name in files if name.endswith((".py", *DATA))}
    return found


def test_the_wheel_holds_what_the_tree_holds(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    packed = {name for name in names if ".dist-info/" not in name}
    tree = _tree()
    assert packed - tree == set()
    assert tree - packed == set()
    assert {"inarch/dialects/graph/matmul.py", "inarch/runtime/include/inarch.h"} <= packed


def test_the_wheel_brings_the_commands_and_the_licence(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (points,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
    text = archive.read(points).decode()
    assert "inarch = inarch.tools.start:inarch" in text
    assert "inarch-opt = inarch.tools.start:inarch_opt" in text
    assert any(name.endswith("licenses/LICENSE") for name in archive.namelist())


EVERYTHING = """
import sys, zipfile
wheel, model, place = sys.argv[1:4]
sys.path[:0] = [place]
sys.path += sys.argv[4:]
from importlib import import_module
names = [name.removesuffix(".py") for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")]
names = [name.removesuffix("/__init__").replace("/", ".") for name in names]
names = [name for name in names if not name.endswith("__main__")]
for name in names:
    file = import_module(name).__file__
    assert file.startswith(place), file
import numpy as np, inarch
inarch.compile(model).save(place + "/model.inarch")
np.save(place + "/y.npy", inarch.load(place + "/model.inarch")(np.load(place + "/x.npy")))
print(len(names))
"""
"""Without `site`, whose files would put the tree on the path: what is installed beside it comes last."""


def test_all_of_the_wheel_is_imported_and_a_network_runs(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LeNet, compiled and run by what the wheel has, in a process that cannot see the tree."""
    place, model = tmp_path / "unpacked", tmp_path / "lenet.onnx"
    zipfile.ZipFile(wheel).extractall(place)
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "models"))
    model.write_bytes(import_module("lenet").build(batch=1).SerializeToString())
    session: Any = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    x = np.random.default_rng(0).standard_normal(given.shape).astype(np.float32)
    np.save(place / "x.npy", x)
    beside = [path for path in sys.path if Path(path).name == "site-packages"]
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", EVERYTHING]
    said = _run([*command, str(wheel), str(model), str(place), *beside], tmp_path)
    assert int(said) == sum(name.endswith(".py") for name in _tree() - _mains())
    (wanted,) = session.run(None, {given.name: x})
    np.testing.assert_allclose(np.load(place / "y.npy"), wanted, rtol=1e-4, atol=1e-5)


def _mains() -> set[str]:
    return {name for name in _tree() if name.endswith("__main__.py")}


@pytest.mark.slow
def test_the_installed_package_is_the_wheel(python: Path, tmp_path: Path) -> None:
    script = "import inarch, inarch.passes; print(inarch.__file__); print(inarch.passes.__file__)"
    places = _run([str(python), "-c", script], tmp_path).split()
    assert all(str(python.parents[1]) in place for place in places)
    version = _run([str(python.parent / "inarch"), "--version"], tmp_path)
    assert version.startswith("inarch ")
    listed = _run([str(python.parent / "inarch-opt"), "--list-passes"], tmp_path)
    assert "fold-constants" in listed


@pytest.mark.slow
def test_the_unit_tests_pass_against_the_wheel(python: Path, tmp_path: Path) -> None:
    """Of these rooms, all but those of the tree, one case of each; beside them there is no `inarch/`."""
    ignored = shutil.ignore_patterns("__pycache__", "Output")
    for name in BESIDE:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    left_out = [f"--ignore-glob=tests/unit/*/{name}.py" for name in OF_THE_TREE]
    command = [str(python), "-m", "pytest", "-q", "-n", str(os.cpu_count() or 1), *left_out]
    rooms = [f"tests/unit/{name}" for name in ROOMS]
    output = _run([*command, "--cases", "few", "-m", "not slow and not fuzz", *rooms], tmp_path)
    assert " passed" in output
    assert " failed" not in output
