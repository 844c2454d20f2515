"""The wheel `inarch-runtime`: it runs artifacts with NumPy and cffi alone, and says what it lacks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from inarch.driver.compiler import build
from inarch.runtime.installed import check_alone

ROOT = Path(__file__).parents[3]
if not (ROOT / "wheels").is_dir():
    pytest.skip("a clone has the projects of the wheels", allow_module_level=True)

MODEL = """
func.func private @twice(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32> {inarch.name = "x"}) -> (tensor<4xf32> {inarch.name = "y"}) {
  %c = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = graph.call @twice(%x) : tensor<4xf32> -> tensor<4xf32>
  %1 = graph.add %0, %c : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %2 = graph.exp %1 : tensor<4xf32> -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
"""
"""`add` is ExampleJSON's; `twice` is filled at load."""

PLAIN = """
func.func @main(%x: tensor<4xf32> {inarch.name = "x"}) -> (tensor<4xf32> {inarch.name = "y"}) {
  %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""

SCRIPT = """
import pickle, sys
import numpy as np
import inarch

x = np.array([-1, 0, 1, 2], np.float32)
plain = inarch.load("plain.inarch", verify=True)
assert plain(x).tolist() == [0, 0, 1, 2]
out = np.empty(4, np.float32)
call = plain.bind(x, out=out)
call()
assert out.tolist() == [0, 0, 1, 2]
assert pickle.loads(pickle.dumps(plain))(x).tolist() == [0, 0, 1, 2]
assert plain.run({"x": x})["y"].tolist() == [0, 0, 1, 2]
assert "plain_main" in plain.get_source("c")

def twice(a, b):
    np.multiply(a, 2, out=b)

assert inarch.load("parts.inarch", imports={"twice": twice}).imports[0].type_key == "examplejson"
parts = inarch.load("parts.inarch", imports={"twice": twice})
np.testing.assert_allclose(parts(x), np.exp(2 * x + [1, 2, 3, 4]), rtol=1e-6)
assert not {"xdsl", "onnx", "shtab"} & set(sys.modules)
for name in ("compile", "compute"):
    try:
        getattr(inarch, name)
    except inarch.EnvironmentFault as error:
        print(error)
"""


def _models(folder: Path) -> None:
    for name, text in (("parts", MODEL), ("plain", PLAIN)):
        (folder / f"{name}.mlir").write_text(text)
    build(folder / "plain.mlir", folder / "plain.inarch")
    build(
        folder / "parts.mlir",
        folder / "parts.inarch",
        backends=("examplejson",),
        keep=("exp=examplejson",),
    )


def _run(command: list[str], folder: Path, code: int = 0) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=folder, env=kept, text=True, check=False, capture_output=True
    )
    assert done.returncode == code, f"{' '.join(command)}: {done.returncode}\n{done.stderr[-5000:]}"
    return done.stdout + done.stderr


BUILD = (sys.executable, "-m", "build", "--wheel", "--no-isolation")
NEEDS = "needs the compiler, which is not installed here; pip install inarch\n"

COMMANDS = (
    (["run", "plain.inarch", "--seed", "1", "-o", "out.npz"], 0, ""),
    (["run", "plain.inarch", "-q", "--check", "out.npz", "--seed", "1"], 0, ""),
    (["run", "parts.inarch"], 1, "imports 'twice'"),
    (["run", "parts.inarch", "--load", "more.py", "-q"], 1, "imports 'twice'"),
    (["inspect", "parts.inarch", "--check"], 0, "checked library, members and weights"),
    (["diff", "plain.inarch", "plain.inarch"], 0, ""),
    (["extract", "plain.inarch", "parts", "-q"], 0, ""),
    (["config", "--libs"], 0, "-l"),
    (["--help"], 0, f"(command 'compile' {NEEDS[:-1]})"),
    (["compile", "plain.mlir"], 3, f"error: command 'compile' {NEEDS}"),
    (["run", "plain.mlir"], 3, f"error: inarch run plain.mlir {NEEDS}"),
    (["run", "plain.inarch", "--check", "plain.mlir"], 3, f"--check plain.mlir {NEEDS}"),
    (["explain", "plain.mlir"], 3, NEEDS),
    (["list", "passes"], 3, NEEDS),
    (["bench", "plain.mlir"], 3, NEEDS),
    (["verify", "plain.mlir"], 3, NEEDS),
)
"""Arguments, exit code, what is said."""


def _check_commands(inarch: list[str], folder: Path) -> None:
    (folder / "more.py").write_text(
        '"""A command."""\nfrom inarch.tools.commands import Command\n'
        'COMMAND = Command("d", "e", print, print)\n'
    )
    for arguments, code, said in COMMANDS:
        text = _run([*inarch, *arguments], folder, code)
        assert said in " ".join(text.split()) + "\n", (arguments, text)
        if code:
            assert len(text.splitlines()) == 1, (arguments, text)


def test_its_sources_are_those_of_the_tree() -> None:
    """Links, which a copy of the repository may have made files of: the wheel would be empty."""
    for name, target in (("inarch", ROOT / "inarch"), ("LICENSE", ROOT / "LICENSE")):
        assert (ROOT / "wheels" / "runtime" / name).resolve() == target.resolve()


@pytest.mark.slow
def test_installed_alone_it_runs_artifacts(tmp_path: Path) -> None:
    """Built, installed with what it asks for, and used: plain programs, ExampleJSON's regions, commands."""
    _run(
        [*BUILD, "--outdir", str(tmp_path), str(_copied(tmp_path / "tree"))],
        tmp_path,
    )
    (wheel,) = tmp_path.glob("inarch_runtime-*.whl")
    assert wheel.stat().st_size < 1 << 20
    names = zipfile.ZipFile(wheel).namelist()
    folders = {
        name.split("/")[1] for name in names if name.count("/") > 1 and "dist-info" not in name
    }
    assert folders == {"artifact", "core", "machine", "runtime", "tools"}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {"inarch/runtime/include/inarch.h", "inarch/py.typed"} <= {*names}
    _run([sys.executable, "-m", "venv", "--without-pip", "venv"], tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "-q", "--python", str(python), "install"]
    _run([*pip, "-c", str(ROOT / "constraints.txt"), str(wheel)], tmp_path)
    listed = "import importlib.metadata as m; print(sorted(d.name for d in m.distributions()))"
    assert _run([str(python), "-c", listed], tmp_path) == (
        "['cffi', 'inarch-runtime', 'numpy', 'pycparser']\n"
    )
    _models(tmp_path)
    assert _run([str(python), "-c", SCRIPT], tmp_path) == (
        f"inarch.compile {NEEDS}inarch.compute {NEEDS}"
    )
    _check_commands([str(python.parent / "inarch")], tmp_path)
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (site / "inarch-0.2.0.dist-info").mkdir()
    for command in (
        [str(python.parent / "inarch"), "run", "plain.inarch", "-q"],
        [str(python), "-c", "import inarch; inarch.load('plain.inarch'); inarch.Module"],
    ):
        said = _run(command, tmp_path)
        assert said.count(f"inarch and inarch-runtime are both installed in '{site}', which ") == 1


def test_two_distributions_in_one_environment_are_a_warning(tmp_path: Path) -> None:
    """Whichever came last; either of them alone, and others of such names, are none."""
    for name in ("inarch_runtime-0.2.0.dist-info", "inarch_runtime", "inarch_more-1.dist-info"):
        (tmp_path / name).mkdir()
    (tmp_path / "inarch-1.txt").touch()
    check_alone(tmp_path)
    alone = tmp_path / "alone"
    (alone / "inarch-0.2.0.dev0.dist-info").mkdir(parents=True)
    check_alone(alone)
    both = Path(shutil.copytree(tmp_path, tmp_path / "both"))
    (both / "inarch-0.2.0.dev0.dist-info").mkdir()
    with pytest.warns(UserWarning, match="both installed") as caught:
        check_alone(both)
    assert [str(each.message) for each in caught] == [
        f"inarch and inarch-runtime are both installed in '{both}', which have the same files: what came "
        "last is what runs; pip uninstall both, and install the one that you need"
    ]
    check_alone(both)  # once


def _copied(folder: Path) -> Path:
    """The tree, for a build leaves `build/` and `*.egg-info` behind; the project of the wheel in it."""
    ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "Output")
    shutil.copytree(ROOT, folder, symlinks=True, ignore=ignored)
    return folder / "wheels" / "runtime"


_ONLY = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        top, *rest = name.split(".")
        if top in ("xdsl", "onnx", "shtab") or (
            top == "inarch" and rest
            and rest[0] not in ("artifact", "core", "machine", "runtime", "tools")
        ):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
sys.meta_path.insert(0, Absent())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: (
    None if name in ("xdsl", "inarch.driver") else found(name, package)
)
"""


def test_without_the_compiler_one_line_says_so(tmp_path: Path) -> None:
    """What the wheel leaves out is hidden here; the slow test installs it."""
    (tmp_path / "plain.mlir").write_text(PLAIN)
    build(tmp_path / "plain.mlir", tmp_path / "plain.inarch")
    asked = [case for case in COMMANDS if case[0][1:2] != ["parts.inarch"]]
    script = tmp_path / "all.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"  # this tree's, not what is installed
        + _ONLY
        + "import json\nfrom inarch.tools.cli import run\n"
        + f"for case in {[case[0] for case in asked]!r}:\n"
        + "    done = run(case)\n"
        + "    print(json.dumps([done.code, done.out + done.err]))\n"
    )
    lines = _run([sys.executable, str(script)], tmp_path).splitlines()
    for (arguments, code, said), line in zip(asked, lines, strict=True):
        found, text = json.loads(line)
        assert (found, said in " ".join(text.split()) + "\n") == (code, True), (arguments, text)
