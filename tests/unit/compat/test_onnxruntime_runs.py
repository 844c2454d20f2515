"""Programs that import onnxruntime, run on Inarch unchanged: `python -m inarch.compat.onnxruntime`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from inarch.compat.onnxruntime.__main__ import main
from inarch.compat.onnxruntime.installed import FOLDER
from inarch.driver.keep.sources import running

PROGRAM = '''
"""Everything by which a program may find, name and ask for onnxruntime."""
import importlib.metadata
import importlib.util
import multiprocessing
import subprocess
import sys

import helper_of_mine
import onnxruntime as rt
import onnxruntime.capi.onnxruntime_pybind11_state as state
import onnxruntime.transformers.io_binding_helper
from onnxruntime import InferenceSession, SessionOptions
from onnxruntime.capi._pybind_state import get_available_providers
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, NoSuchFile


def who(_):
    import onnxruntime

    return onnxruntime.get_build_info().split()[0]


if __name__ == "__main__":
    assert rt.InferenceSession is InferenceSession
    assert rt.capi.onnxruntime_pybind11_state is state and state.Fail is Fail
    assert importlib.util.find_spec("onnxruntime") is not None
    assert importlib.metadata.version("onnxruntime") == rt.__version__
    assert get_available_providers() == ["CPUExecutionProvider"]
    try:
        InferenceSession("no.onnx", SessionOptions())
    except NoSuchFile as error:
        assert "no.onnx" in str(error)
    types = rt.transformers.io_binding_helper.TypeHelper
    assert types.ort_type_to_numpy_type("tensor(float)").__name__ == "float32"
    try:
        import onnxruntime.quantization
    except ModuleNotFoundError as error:
        assert "onnxruntime.quantization" in str(error)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (there,) = pool.map(who, [0])
    line = "import onnxruntime; print(onnxruntime.get_build_info().split()[0])"
    child = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    print(who(0), there, child.stdout.strip(), *sys.argv)
'''


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "helper_of_mine.py").write_text("")
    path = folder / "program.py"
    path.write_text(PROGRAM)
    return path


def run(*words: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


ENTRY = ("-m", "inarch.compat.onnxruntime")


def test_a_program_runs_unchanged(program: Path, tmp_path: Path) -> None:
    """Itself, and its children; with its arguments, and the folder of the script on the path."""
    done = run(*ENTRY, program, "a", "--b", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Inarch Inarch Inarch {program} a --b\n"


def test_a_module_runs_and_the_variable_does_the_same(program: Path) -> None:
    done = run(*ENTRY, "-m", "program", "x", cwd=program.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Inarch Inarch Inarch ")
    assert done.stdout.endswith("program.py x\n")
    line = (
        "import onnxruntime, sys; print(onnxruntime.get_build_info().split()[0], onnxruntime.capi)"
    )
    done = run("-c", line, cwd=program.parent, PYTHONPATH=str(FOLDER))
    assert done.stdout.startswith("Inarch ")


def test_install_takes_the_place_of_what_was_imported(tmp_path: Path) -> None:
    lines = (
        "import onnxruntime as before; import inarch.compat.onnxruntime as ours\n"
        "ours.install(); ours.install()\n"
        "import onnxruntime, importlib.metadata, os, sys\n"
        "assert before is not onnxruntime and onnxruntime.InferenceSession is ours.InferenceSession\n"
        "assert os.environ['PYTHONPATH'].count('compat') == sys.path.count(sys.path[0]) == 1\n"
        "assert importlib.metadata.version('onnxruntime') == ours.__version__\n"
    )
    done = run("-c", lines, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_asked_for_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == main(["--path"]) == 0
    found = capsys.readouterr().out
    assert "detect.py photo.jpg" in found
    assert found.endswith(f"\n{FOLDER}\n")
    for words, said in ([], "nothing"), (["-x", "a.py"], "'-x'"), (["--paths"], "'--paths'"):
        assert main(words) == 2
        line = f"error: expected a script, -m MODULE, -c CODE or -, found {said}; --help has examples\n"
        assert capsys.readouterr().err == line


SAYS = """
import pickle, sys
class Mine: pass
print(sys.argv, sys.path[0], __name__, sorted(vars()), sys.flags.optimize, sys.stdin.read())
print(globals().get("__file__"), type(__spec__).__name__, pickle.loads(pickle.dumps(Mine())).__class__)
print("before the end")
"""
LIKE_PYTHON: dict[str, tuple[list[str], list[str]]] = {
    "a script": ([], ["within/says.py", "a", "-m"]),
    "a link": ([], ["link.py"]),
    "a folder": ([], ["within"]),
    "a module": ([], ["-m", "within.says", "-c"]),
    "code": ([], ["-c", f"{SAYS}raise SystemExit(4)", "a"]),
    "input": ([], ["-", "a"]),
    "a traceback": ([], ["-c", "import sys\n1/0"]),
    "an error at the end": ([], ["-c", "raise SystemExit('a line')"]),
    "no file": ([], ["no.py"]),
    "no module": ([], ["-m", "no.such"]),
    "joined words": (["-Ou"], ["-mwithin.says"]),
}


@pytest.mark.every_case(reason="each is another way of Python to run something")
@pytest.mark.parametrize("name", LIKE_PYTHON)
def test_all_else_is_as_with_the_same_words_after_python(name: str, tmp_path: Path) -> None:
    options, words = LIKE_PYTHON[name]
    (tmp_path / "within").mkdir()
    for file in "says.py", "__main__.py", "__init__.py":
        (tmp_path / "within" / file).write_text("" if file == "__init__.py" else SAYS)
    (tmp_path / "link.py").symlink_to("within/says.py")
    given = "print(7)" if words[0] == "-" else "of input"
    mine, real = (
        subprocess.run(
            [sys.executable, *options, *entry, *words],
            cwd=tmp_path,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        for entry in (ENTRY, ())
    )
    assert (mine.returncode, mine.stdout, mine.stderr) == (
        real.returncode,
        real.stdout,
        real.stderr,
    )
    assert real.stdout or real.stderr


def test_an_interpreter_that_reads_no_path_is_refused(tmp_path: Path) -> None:
    """It would run the other onnxruntime."""
    done = run("-E", *ENTRY, "-c", "print('it ran')", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "error: expected Python to read PYTHONPATH, found one of its options -E and -I\n"
    )


def test_a_model_that_was_compiled_needs_no_compiler(tmp_path: Path) -> None:
    """Neither what is static nor sizes that were seen: the code comes from the cache."""
    if running() is None:
        pytest.skip("the files of Inarch have changed just now: nothing is kept")
    lines = (
        "import sys, numpy as np\n"
        "from inarch.compat import onnxruntime as rt\n"
        "for name in sys.argv[1:]:\n"
        "    session = rt.InferenceSession(name)\n"
        "    (found,) = session.run(None, {'x': np.array([[-1, 2]], np.float32)})\n"
        "    assert found.tolist() == [[0, 2]]\n"
        "    print('onnx' in sys.modules, 'xdsl' in sys.modules, 'inarch.backends' in sys.modules)\n"
    )
    names = ("static.onnx", "open.onnx")
    for name, sizes in zip(names, ([1, 2], ["n", 2]), strict=True):
        x, y = (helper.make_tensor_value_info(one, TensorProto.FLOAT, sizes) for one in "xy")
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        (tmp_path / name).write_bytes(model.SerializeToString())
    for said in (None, "False False False\nFalse True False\n"):
        done = run("-c", lines, *names, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert said in (None, done.stdout)
