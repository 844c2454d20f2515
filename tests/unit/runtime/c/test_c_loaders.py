"""Loaders in C: random regions of a backend that is not C, by libinarch and from Python; how it is found."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.artifact import Artifact
from inarch.artifact.status import Status
from inarch.core.errors import InarchError, UsageError
from inarch.driver.extensions import load_files
from inarch.offload.backend import BACKENDS
from inarch.runtime.loaders import LOADERS
from inarch.runtime.loaders.native import NativeRegion
from inarch.tools.cli import run
from tests.unit.runtime.c.steps import (
    EXAMPLE,
    FUNCTIONS,
    HERE,
    built,
    compiled,
    computed,
    inputs_of,
    is_mapped,
    programs,
    text_of,
)

CROSS, QEMU = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"


def test_random_regions_run_without_python(runtime: Any, program: Path, steps: Path) -> None:
    """T8, B7: from Python and from C, as NumPy and the loader in Python compute them."""
    module = inarch.load(program, loaders=[steps])
    with BACKENDS.scope(), LOADERS.scope():
        load_files([EXAMPLE / "steps.py"])
        in_python = inarch.load(program)
    regions = [one for part in module.imports for one in part.functions.values()]
    assert len(regions) >= FUNCTIONS
    assert all(isinstance(one, NativeRegion) for one in regions)
    status, opened = runtime.open(program, loaders=[steps])
    assert status == 0, runtime.message()
    for number, one in enumerate(programs(7)):
        function, inputs = module[f"f{number}"], inputs_of(one, number)
        assert function.c_entry is not None
        assert in_python[f"f{number}"].c_entry is None
        results = {n: np.zeros(one[0], np.float32) for n in range(len(one[3]))}
        function(*inputs, out=list(results.values()))
        instance = runtime.instance(opened, f"f{number}")
        of_c = [np.full(one[0], np.nan, np.float32) for _ in results]
        for at, array in enumerate(inputs):
            name = f"v{at}".encode()
            assert not runtime.functions.inarch_bind_input(
                instance, name, array.ctypes.data, array.nbytes
            )
        for port, array in zip(function.signature.outputs, of_c, strict=True):
            assert not runtime.functions.inarch_bind_output(
                instance, port.name.encode(), array.ctypes.data, array.nbytes
            )
        assert runtime.functions.inarch_run(instance) == 0, runtime.message()
        runtime.functions.inarch_instance_free(instance)
        with_python = [np.zeros_like(each) for each in of_c]
        in_python[f"f{number}"](*inputs, out=with_python)
        for found, c, python, wanted in zip(
            results.values(), of_c, with_python, computed(one, inputs), strict=True
        ):
            assert found.tobytes() == c.tobytes()
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
            np.testing.assert_allclose(found, python, rtol=1e-5)
    runtime.close(opened)


def test_where_a_loader_is_found(
    runtime: Any, program: Path, steps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its path, beside the artifact, in INARCH_LIBRARY_PATH, at `Loader.library`; else which is not."""
    lonely = tmp_path / "m.inarch"
    lonely.write_bytes(program.read_bytes())
    one = inputs_of(programs(7)[0], 0)

    def is_right(**how: Any) -> bool:
        status, opened = runtime.open(lonely)
        runtime.close(opened if status == 0 else None)
        return np.allclose(inarch.load(lonely, **how)["f0"](*one), one[0] / one[1]) and status == 0

    with pytest.raises(InarchError) as error:
        inarch.load(lonely)
    assert error.value.line() == (
        f"{lonely}: error: expected formats of the loaders {', '.join(sorted(LOADERS))}, found 'steps'"
    )
    assert runtime.open(lonely)[0] == Status.UNSUPPORTED
    assert runtime.message() == (
        f"{lonely}: error: expected a loader in C of the format 'steps', found no "
        "'inarch-loader-steps.so' beside the artifact or in INARCH_LIBRARY_PATH, and none that is given; run "
        "it from Python, or compile the model without that backend"
    )
    monkeypatch.setenv("INARCH_LIBRARY_PATH", f"/none:{steps.parent}")
    assert is_right()
    monkeypatch.delenv("INARCH_LIBRARY_PATH")
    (tmp_path / "inarch-loader-steps.so").write_bytes(steps.read_bytes())
    assert is_right()
    (tmp_path / "inarch-loader-steps.so").write_text("text")
    with pytest.raises(
        InarchError, match=r"inarch-loader-steps\.so' cannot be opened: .*: file too short"
    ):
        inarch.load(lonely)
    assert runtime.open(lonely)[0] == Status.UNREADABLE
    (tmp_path / "inarch-loader-steps.so").unlink()
    (tmp_path / "steps.py").write_text(
        "from pathlib import Path\nfrom inarch.runtime.loaders import Loader\n"
        f"LOADER = Loader('steps', library=Path({str(steps)!r}))\n"
    )
    with BACKENDS.scope(), LOADERS.scope():
        load_files([tmp_path / "steps.py"])
        found = inarch.load(lonely)["f0"](*one)
        np.testing.assert_allclose(found, one[0] / one[1])
        with Artifact.open(lonely) as artifact:
            text = artifact.member("modules/1")
        alone = LOADERS["steps"].from_bytes(text, "alone")
        assert (alone.get_source(), alone.save_to_bytes()) == (text.decode(), text)
        with pytest.raises(InarchError) as refused:
            LOADERS["steps"].from_bytes(b"function f inputs 1 shape 2\nadd 0 1\n", "bad")
        assert refused.value.line() == (
            "bad: error: loader 'steps' does not load it: line 2: expected a value before it, found '1'"
        )


def test_modules_share_and_leave(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One state for a file, as one library; both are gone with the last function, and are made again."""
    # Failures of other tests may keep theirs.
    steps = built(tmp_path / "own.so", "-O0", source=HERE / "faulty_loader.c")
    log = tmp_path / "log"
    monkeypatch.setenv("LOADER_LOG", str(log))
    for _ in range(3):
        module = inarch.load(program, loaders=[steps])
        again = inarch.load(program, loaders=[steps])
        assert module["f0"].address == again["f0"].address
        function = module["f0"]
        del module, again
        one = inputs_of(programs(7)[0], 0)
        np.testing.assert_allclose(function(*one), one[0] / one[1])
        assert is_mapped(steps)
        assert log.read_text() == "+"
        del function
        assert not is_mapped(steps)
        assert log.read_text() == "+-"
        log.unlink()
    sent = pickle.loads(pickle.dumps(inarch.load(program, loaders=[steps])))
    assert sent["f0"].c_entry is not None


def test_threads_call_and_reload(program: Path, steps: Path) -> None:
    module = inarch.load(program, loaders=[steps])
    one = inputs_of(programs(7)[0], 0)
    wrong: list[object] = []

    def work() -> None:
        for iteration in range(20):
            used = module if iteration % 2 else inarch.load(program, loaders=[steps])
            if not np.allclose(used["f0"](*one), one[0] / one[1]):
                wrong.append(iteration)
            try:
                used["f0"](one[0], np.zeros_like(one[0]))
            except InarchError as error:
                if "element 0 is divided by zero" not in str(error):
                    wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_inarch_run_with_nothing_installed(
    tool: Path, program: Path, steps: Path, tmp_path: Path
) -> None:
    """B7: from a folder with the artifact and the loader alone, and no environment."""
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "m.inarch").write_bytes(program.read_bytes())
    one = inputs_of(programs(7)[0], 3)
    for number, array in enumerate(one):
        np.save(bare / f"v{number}.npy", array)
    words = [
        str(tool),
        "m.inarch",
        "--function",
        "f0",
        "--output-dir",
        "out",
    ]
    words += ["--input", "v0.npy", "--input", "v1.npy", "-q"]

    def said(*more: str) -> tuple[int, str]:
        done = subprocess.run(
            [*words, *more], cwd=bare, env={}, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr

    code, message = said()
    assert code != 0
    assert "expected a loader in C of the format 'steps'" in message
    (bare / "mine.so").write_bytes(steps.read_bytes())
    assert said("--loader", "mine.so", "--verify") == (0, "")
    (bare / "mine.so").rename(bare / "inarch-loader-steps.so")
    assert said() == (0, "")
    (found,) = (bare / "out").iterdir()
    np.testing.assert_allclose(np.load(found), one[0] / one[1], rtol=1e-6)
    arrays = ["--input", f"{bare}/v0.npy", "--input", f"{bare}/v1.npy"]
    done = run(
        ["run", f"{bare}/m.inarch", "--function", "f0", "-q", "-o", f"{bare}/o.npz", *arrays]
    )
    assert done.code == 0, done.err
    assert np.load(bare / "o.npz")[found.stem].tobytes() == np.load(found).tobytes()


@pytest.mark.slow
def test_another_cpu(tmp_path: Path) -> None:
    """B7: artifact, loader and inarch-run for aarch64, under qemu: results, and a fault."""
    for needed in (CROSS, QEMU):
        if shutil.which(needed) is None:
            pytest.skip(f"no {needed} here: apt-get install gcc-aarch64-linux-gnu qemu-user-static")
    program = compiled(tmp_path, "--target", "aarch64")
    assert run(["config", "--install", str(tmp_path / "opt"), "--target", "aarch64"]).code == 0
    built(tmp_path / "inarch-loader-steps.so", "-O2", compiler=[CROSS])
    command = [QEMU, "-L", "/usr/aarch64-linux-gnu", str(tmp_path / "opt" / "bin" / "inarch-run")]

    def ran(number: int, arrays: list[Any]) -> subprocess.CompletedProcess[str]:
        words = [*command, str(program), "--function", f"f{number}", "-q"]
        words += ["--output-dir", str(tmp_path / f"out{number}")]
        for at, array in enumerate(arrays):
            np.save(tmp_path / f"v{at}.npy", array)
            words += ["--input", str(tmp_path / f"v{at}.npy")]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    for number, one in enumerate(programs(7)):
        inputs = inputs_of(one, number)
        done = ran(number, inputs)
        assert (done.returncode, done.stderr) == (0, "")
        found = sorted((tmp_path / f"out{number}").iterdir())
        for path, wanted in zip(found, computed(one, inputs), strict=True):
            np.testing.assert_allclose(np.load(path), wanted, rtol=1e-5)
    x = inputs_of(programs(7)[0], 0)[0]
    done = ran(0, [x, 0 * x])
    assert (done.returncode, done.stderr) == (
        int(Status.ARGUMENT),
        f"{program}: error: f0: import 'steps_0' failed: steps_0: element 0 is divided by zero "
        "(backend 'steps', from 'm.mlir:2:3')\n",
    )


def test_loaders_are_of_artifacts(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(text_of(0, programs(7)[0]))
    done = run(["run", str(tmp_path / "m.mlir"), "--loader", "x.so"])
    assert done.err == (
        f"error: --loader: expected an artifact, found the model '{tmp_path / 'm.mlir'}', which is "
        "compiled now; leave it out\n"
    )
    assert done.code == UsageError.exit_code
