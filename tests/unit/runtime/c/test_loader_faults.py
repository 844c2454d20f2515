"""Loaders in C that are faulty, and calls that fail: what is said, and that nothing is kept or races."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.artifact.status import Status
from inarch.core.errors import InarchError
from inarch.machine.compilers import find_compiler
from inarch.runtime.loaders import Loader
from inarch.runtime.loaders.native import VERSION
from inarch.testing.backend import faults as kit
from inarch.testing.backend.native_parts import read_apart
from inarch.testing.backend.samples import SkipCheck
from tests.unit.runtime.c.steps import (
    HERE,
    built,
    compiled_apart,
    inputs_of,
    is_mapped,
    programs,
)

OWNER = " (backend 'steps', from 'm.mlir:2:3')"
"""How the message of a call ends."""


def test_a_call_that_fails_says_why(runtime: Any, program: Path, steps: Path) -> None:
    """The loader's text is the message, in Python, by the address for bridges, and in C."""
    module = inarch.load(program, loaders=[steps])
    x, zeros = np.ones((2, 3), np.float32), np.array([[1, 1, 1], [1, 0, 1]], np.float32)
    with pytest.raises(InarchError) as error:
        module["f0"](x, zeros)
    assert str(error.value) == (
        f"f0: import 'steps_0' failed: steps_0: element 4 is divided by zero{OWNER}"
    )
    np.testing.assert_array_equal(module["f0"](x, x), x)
    (part,) = module.imports
    with pytest.raises(InarchError) as direct:
        part["steps_0"](x, zeros)
    assert str(direct.value) == "'steps_0' failed: steps_0: element 4 is divided by zero"
    status, opened = runtime.open(program, loaders=[steps])
    assert status == 0
    instance = runtime.instance(opened, "f0")
    for name, array in ((b"v0", x), (b"v1", zeros)):
        assert not runtime.functions.inarch_bind_input(
            instance, name, array.ctypes.data, array.nbytes
        )
    out = module["f0"].signature.outputs[0].name.encode()
    y = np.zeros_like(x)
    assert not runtime.functions.inarch_bind_output(instance, out, y.ctypes.data, y.nbytes)
    assert runtime.functions.inarch_run(instance) == Status.ARGUMENT
    assert runtime.message() == (
        f"{program}: error: f0: import 'steps_0' failed: steps_0: element 4 is divided by zero{OWNER}"
    )
    runtime.functions.inarch_instance_free(instance)
    runtime.close(opened)


AGAIN = "build it with the header of this Inarch"
FAULTS = {
    1: "loader 'LOADER': expected version 1 of inarch_loader.h, found version 0; " + AGAIN,
    2: "loader 'LOADER': expected version 1 of inarch_loader.h, found version 2; " + AGAIN,
    3: "loader 'LOADER': expected all fields of version 1 of inarch_loader.h, found one missing; "
    + AGAIN,
    4: "loader 'LOADER': expected all fields of version 1 of inarch_loader.h, found one missing; "
    + AGAIN,
    5: "loader 'LOADER': expected one that takes the host's memory, found one of the device type 2",
    6: "loader 'LOADER': expected one that reads 'steps', found one of 'leaps', 'bounds'",
    7: "[1]: error: loader 'steps' does not load it: steps of [1]: no",
    8: "[1]: error: loader 'steps' does not list its functions: no list",
    9: "[1]: error: loader 'steps' does not bind 'steps_0': no room for function 0",
    10: f"f0: import 'steps_0' failed: 3 arrays are too many{OWNER}",
    11: f"f0: import 'steps_0' failed with code 77{OWNER}",
    12: "[1]: error: expected 'steps_0' to take and give what the program gives it, found other arguments; "
    "compile the model again",
    13: "loader 'LOADER': expected the function 'inarch_loader_table', found none",
}
"""By the number in faulty_loader.c, what both runtimes say."""


def faulty(folder: Path, program: Path) -> list[tuple[Path, str]]:
    """Loaders with one fault each, and what is to be said of it."""
    found: list[tuple[Path, str]] = []
    for fault, message in FAULTS.items():
        source = HERE / "faulty_loader.c"
        loader = built(folder / f"fault{fault}.so", "-O0", f"-DFAULT={fault}", source=source)
        said = message.replace("LOADER", str(loader))
        said = f"{program}{said}" if said[0] == "[" else f"{program}: error: {said}"
        found.append((loader, said))
    return found


@pytest.mark.every_case(reason="each end of a process")
@pytest.mark.parametrize(
    ("fault", "how"),
    [
        (14, "is ended by SIGABRT, of 7 bytes that are damaged (number 1); expected a status"),
        pytest.param(
            15,
            "does not end within 5 s, of 7 bytes that are damaged (number 1); expected a status",
            marks=pytest.mark.slow,
        ),
        (
            16,
            "ends its process with status 5, of 7 bytes that are damaged (number 1); expected a status",
        ),
    ],
)
def test_damaged_parts_that_end_a_loader(
    fault: int, how: str, program: Path, steps: Path, tmp_path: Path
) -> None:
    """The kit for backends gives them to a loader in C in a process of its own."""
    (part,) = inarch.load(program, loaders=[steps]).imports
    data = part.save_to_bytes()
    parts = [data, data[:7], data]
    read_apart(steps, "steps", parts)
    source = HERE / "faulty_loader.c"
    loader = built(tmp_path / "trusting.so", f"-DFAULT={fault}", source=source)
    with pytest.raises(AssertionError) as caught:
        read_apart(loader, "steps", parts, 5.0)
    assert str(caught.value) == f"loader 'steps' ({loader}) {how}"


def test_faults_of_the_kit_are_put_into_loaders_in_c(
    program: Path, steps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but calls that fail, which is said."""
    (part,) = inarch.load(program, loaders=[steps]).imports
    never: Any = None

    def use(library: Path) -> None:
        def parts(_instance: object, _sample: object) -> list[tuple[Loader, Any]]:
            return [(Loader("steps", library=library), part)]

        monkeypatch.setattr(kit, "_parts", parts)

    use(steps)
    assert re.fullmatch(r"\d\d damaged parts", kit.damaged(never, never))
    with pytest.raises(SkipCheck, match="its loader is in C, and failing calls are put into"):
        kit.in_calls(never, never)
    source = HERE / "faulty_loader.c"
    use(built(tmp_path / "trusting.so", "-DFAULT=14", source=source))
    with pytest.raises(AssertionError, match=r"is ended by SIGABRT, of \d+ bytes that are damaged"):
        kit.damaged(never, never)


@pytest.mark.usefixtures("calls")
def test_faults_of_loaders(
    runtime: Any, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T8: each is refused in one line, in Python and in C, which then keep nothing of it."""
    log = tmp_path / "log"
    monkeypatch.setenv("LOADER_LOG", str(log))
    x, y = inputs_of(programs(7)[0], 0)
    assert VERSION == 1
    for loader, said in faulty(tmp_path, program):
        with pytest.raises(InarchError) as error:
            inarch.load(program, loaders=[loader])["f0"](x, y)
        line = error.value.line()
        assert said in (line, f"{program}: {line}")  # a call says no file in Python
        del error
        assert not is_mapped(loader)
        status, module = runtime.open(program, loaders=[loader])
        if status == 0:
            instance = runtime.instance(module, "f0")
            for port, array in ((b"v0", x), (b"v1", y)):
                runtime.functions.inarch_bind_input(instance, port, array.ctypes.data, array.nbytes)
            out = np.zeros_like(x)
            runtime.functions.inarch_bind_output(instance, b"out0", out.ctypes.data, out.nbytes)
            assert runtime.functions.inarch_run(instance) in (66, 77)
            runtime.functions.inarch_instance_free(instance)
            runtime.close(module)
        assert runtime.message() == said
        assert not is_mapped(loader)
    assert log.read_text() == "+-" * 10  # what lists, binds, runs or fits wrongly has a state


@pytest.mark.slow
def test_faults_under_sanitizers(
    program: Path, steps: Path, build: Callable[..., Path], tmp_path: Path
) -> None:
    """Nothing leaks, or is used when it is gone, whatever fails; and eight threads open, run and close."""
    faults = faulty(tmp_path, program)
    checks = ("-fsanitize=address,undefined", "-fno-sanitize-recover", "-O1", "-g1", "-rdynamic")
    harness = build(HERE / "loaders.c", [*find_compiler().command, "-std=c11"], *checks)
    done = subprocess.run(
        [str(harness), str(program), *(str(loader) for loader, _ in faults), str(steps)],
        capture_output=True,
        text=True,
        check=False,
        env={"ASAN_OPTIONS": "detect_leaks=1:color=never", "INARCH_NUM_THREADS": "2"},
    )
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr, lines[-2:]) == (0, "", ["0 ", "0 failures"])
    assert [line.partition(" ")[2] for line in lines[:-2]] == [said for _, said in faults]


@pytest.mark.slow
def test_eight_threads_under_the_thread_sanitizer(
    build: Callable[..., Path], tmp_path: Path
) -> None:
    """libinarch, the loader, and the code that calls it have the checks; eight open, run and close."""
    flags = ("-fsanitize=thread", "-O1", "-g1")
    command = find_compiler().command
    harness = build(HERE / "loaders.c", [*command, "-std=c11"], *flags, "-rdynamic")
    loader = built(tmp_path / "inarch-loader-steps.so", *flags)
    own = " ".join([*command, *flags, "-Wl,-z,undefs"])
    program = compiled_apart(tmp_path, {"CC": own})
    done = subprocess.run(
        [str(harness), str(program), str(loader)],
        capture_output=True,
        text=True,
        check=False,
        env={"TSAN_OPTIONS": "exitcode=99:color=never", "INARCH_NUM_THREADS": "3"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 \n0 failures\n", "")
