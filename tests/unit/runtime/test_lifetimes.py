"""How long libraries and weights stay in memory: as long as somebody holds them, and no longer."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np
import pytest

from effort import effort
from inarch.artifact import Artifact
from inarch.core.errors import InarchError
from inarch.machine.target import parse
from inarch.machine.toolchain import compile_library
from inarch.runtime.loaders import LOADERS
from inarch.runtime.loaders import imports as _imports
from inarch.runtime.module import Module, load
from inarch.runtime.native import NativeFunction

Array = np.ndarray[Any, Any]
MakeProgram = Callable[..., Path]

X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = np.array([1, 2, 3, 4], np.float32)
BIAS = np.array([1, 2, 3], np.float32)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self")


def mappings(path: Path) -> int:
    """How often the file is mapped into this process."""
    gc.collect()
    return sum(str(path) in line for line in Path("/proc/self/maps").read_text().splitlines())


def descriptors() -> int:
    gc.collect()  # what earlier tests left in cycles
    return len(list(Path("/proc/self/fd").iterdir()))


def times(factor: float) -> Callable[[Array, Array], None]:
    def function(x: Array, y: Array) -> None:
        np.multiply(x, factor, out=y)

    return function


@pytest.fixture
def importer(make_program: MakeProgram, tmp_path: Path) -> Path:
    """A program whose `through` calls the import `twice`."""
    return make_program(tmp_path / "importer.inarch", imports=["twice"])


# Who holds a library


def test_a_module_has_no_descriptor_and_leaves_nothing(
    make_program: MakeProgram, tmp_path: Path
) -> None:
    path = make_program(tmp_path / "a.inarch")
    before = descriptors()
    module = load(path)
    np.testing.assert_array_equal(module(X, X), X + X + BIAS)
    assert descriptors() == before
    assert mappings(path) > 1  # the code, and the whole file
    del module
    assert mappings(path) == 0
    assert descriptors() == before


def test_a_function_holds_its_library(make_program: MakeProgram, tmp_path: Path) -> None:
    path = make_program(tmp_path / "a.inarch")
    main = load(path)["main"]
    assert mappings(path) > 1
    np.testing.assert_array_equal(main(X, X), X + X + BIAS)
    del main
    assert mappings(path) == 0


def test_an_array_of_the_weights_holds_them_alone(
    make_program: MakeProgram, tmp_path: Path
) -> None:
    path = make_program(tmp_path / "a.inarch", bias=(7, 8, 9))
    module = load(path)
    with Artifact.open(path) as artifact:
        weights = np.frombuffer(artifact.weights, np.float32)[1:]
    del module, artifact
    assert mappings(path) == 1
    np.testing.assert_array_equal(weights, [8, 9])
    assert not weights.flags.writeable
    del weights
    assert mappings(path) == 0


def test_an_array_that_an_import_keeps_holds_the_library(importer: Path) -> None:
    kept: list[Array] = []

    def keep(x: Array, y: Array) -> None:
        y[:] = x
        kept.append(x[1:])

    module = load(importer, imports={"twice": keep})
    module["through"](Y)
    del module
    assert mappings(importer) > 1
    np.testing.assert_array_equal(kept.pop(), Y[1:])
    del keep
    assert mappings(importer) == 0


def test_a_call_holds_the_library_that_it_runs_in(importer: Path) -> None:
    """The last reference goes while the code runs; closing it then would be a crash."""
    held: list[Module] = []

    def drop(x: Array, y: Array) -> None:
        held.clear()
        assert mappings(importer) > 1
        y[:] = x * 5

    held.append(load(importer, imports={"twice": drop}))
    np.testing.assert_array_equal(held[0]["through"](Y), Y * 5)
    assert mappings(importer) == 0


def test_a_module_that_failed_to_load_leaves_nothing(
    make_program: MakeProgram, tmp_path: Path
) -> None:
    path = make_program(tmp_path / "a.inarch", abi=7)
    before = descriptors()
    for _ in range(3):
        with pytest.raises(Exception, match="ABI version"):
            load(path)
    assert (mappings(path), descriptors()) == (0, before)


def test_threads_that_load_call_and_drop(make_program: MakeProgram, tmp_path: Path) -> None:
    paths = [make_program(tmp_path / f"{n}.inarch", bias=(n, n, n)) for n in range(3)]
    start = threading.Barrier(8)

    def work(number: int) -> None:
        start.wait()
        for iteration in range(effort(12, 40)):
            bias = (number + iteration) % 3
            result = load(paths[bias])(X, X)
            np.testing.assert_array_equal(result, X + X + bias)

    before = descriptors()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert [mappings(path) for path in paths] == [0, 0, 0]
    assert descriptors() == before


_AT_THE_END = """
import sys, threading, time
import numpy as np
from inarch.runtime.module import load
running = threading.Event()
def slow(x, y):
    y[:] = x
    running.set()
    time.sleep(0.2)
module = load(sys.argv[1], imports={"twice": slow})
function = module["through"]
def work():
    while True:
        function(np.zeros(4, np.float32))
threading.Thread(target=work, daemon=True).start()
running.wait()
"""


def test_the_end_of_the_process_closes_nothing(importer: Path) -> None:
    """A thread may be in the code then."""
    command = [sys.executable, "-W", "error", "-c", _AT_THE_END, str(importer)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")


_STILL_OPEN = """
import atexit
import sys
from pathlib import Path

def say():
    lines = Path("/proc/self/maps").read_text().splitlines()
    print([line.split()[1] for line in lines if sys.argv[1] in line and "x" in line.split()[1]])

atexit.register(say)  # what is registered first runs last
from inarch.runtime.module import load
module = load(sys.argv[1], imports={"twice": print})
"""


def test_code_is_in_memory_to_the_very_end(importer: Path) -> None:
    command = [sys.executable, "-c", _STILL_OPEN, str(importer)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stdout) == (0, "['r-xp']\n")


# One library for several modules


def test_modules_with_imports_of_their_own_share_a_library(importer: Path) -> None:
    modules = [load(importer, imports={"twice": times(n)}) for n in range(8)]
    assert {int(module["binds"].run({})["count"]) for module in modules} == {1}
    assert mappings(Path("inarch-lib-")) == 0  # the folder of copies

    def work(number: int) -> None:
        for _ in range(50):
            np.testing.assert_array_equal(modules[number]["through"](Y), Y * number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_a_module_within_a_call_of_another_of_the_same_library(importer: Path) -> None:
    inner = load(importer, imports={"twice": times(3)})

    def outer(x: Array, y: Array) -> None:
        y[:] = np.asarray(inner["through"](x)) + 1
        with pytest.raises(Exception, match=r"^through: import 'twice' failed: ValueError: no$"):
            failing["through"](x)

    def fail(_x: Array, _y: Array) -> None:
        raise ValueError("no")

    failing = load(importer, imports={"twice": fail})
    module = load(importer, imports={"twice": outer})
    np.testing.assert_array_equal(module["through"](Y), Y * 3 + 1)


def test_after_a_call_within_a_call_the_outer_one_is_running_again(importer: Path) -> None:
    """It may call its import once more."""
    running = _imports._Running  # pyright: ignore[reportPrivateUsage]
    unused: Any = None
    with running(unused, unused) as outer:
        np.testing.assert_array_equal(
            load(importer, imports={"twice": times(2)})["through"](Y), Y * 2
        )
        assert _imports._THREAD.running is outer  # pyright: ignore[reportPrivateUsage]
    assert _imports._THREAD.running is None  # pyright: ignore[reportPrivateUsage]


_NATIVE = """
#include <stdint.h>
typedef struct { int32_t device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct { void *data; DLDevice device; int32_t ndim; DLDataType dtype;
                 int64_t *shape; int64_t *strides; uint64_t byte_offset; } DLTensor;
#define API __attribute__((visibility("default")))
API int32_t by2(void *self, DLTensor *args, int32_t n) {
  for (int i = 0; i < 4; ++i) ((float *)args[1].data)[i] = 2 * ((float *)args[0].data)[i];
  return (void)self, n - 2;
}
API int32_t shapes(void *self, DLTensor *args, int32_t n) {
  return (void)self, (void)n, 100 * args[0].shape[0] + 10 * args[1].shape[0] + args[2].strides[0];
}
API int32_t by3(void *self, DLTensor *args, int32_t n) {
  for (int i = 0; i < 4; ++i) ((float *)args[1].data)[i] = 3 * ((float *)args[0].data)[i];
  return (void)self, n - 2;
}
"""


def test_functions_of_c_are_bound_to_a_library_of_their_own(importer: Path, tmp_path: Path) -> None:
    """They are called without Python, so that nothing asks for which module; and are held while used."""
    native = tmp_path / "native.so"
    compile_library({"native.c": _NATIVE}, native, target=parse("generic"))
    before = descriptors()
    functions = {n: NativeFunction.open(native, f"by{n}") for n in (2, 3)}
    modules = {n: load(importer, imports={"twice": functions[n]}) for n in (2, 3)}
    again = load(importer, imports={"twice": NativeFunction.open(native, "by2")})
    python = load(importer, imports={"twice": times(5)})
    with pytest.raises(InarchError, match=r"^'by2' failed with code 1$"):
        functions[2](Y, Y.copy(), Y)
    with pytest.raises(InarchError, match=r"^'shapes' failed with code 342$"):
        NativeFunction.open(native, "shapes")(np.zeros(3), np.zeros(4), np.zeros(6)[::2])
    del functions
    assert mappings(native) > 0
    for module, factor in ((modules[2], 2), (modules[3], 3), (again, 2), (python, 5)):
        np.testing.assert_array_equal(module["through"](Y), Y * factor)
    counts = [module["binds"].run({})["count"] for module in (*modules.values(), again, python)]
    assert [int(count) for count in counts] == [1, 1, 1, 1]
    del modules, again, python, module
    imports = {"twice": NativeFunction.open(native, "by2")}
    entry = load(importer, imports=imports)[
        "through"
    ].c_entry  # bridges keep neither module nor function
    del imports
    assert entry is not None
    assert mappings(native) > 0
    del entry
    assert (mappings(importer), mappings(native), descriptors()) == (0, 0, before)


# Which file it is


def damaged(path: Path, good: Path) -> Path:
    """`good` with other weights, and nothing else changed: the manifest says what it said."""
    data = bytearray(good.read_bytes())
    start = data.index(pack("3f", *BIAS))
    data[start : start + 12] = pack("3f", *-BIAS)
    path.write_bytes(data)
    return path


_TWO_FILES = """
import sys
import numpy as np
from inarch.runtime.module import load
x = np.zeros((2, 3), np.float32)
bad = load(sys.argv[1], check=False)
good = load(sys.argv[2], verify=True)
print(bad(x, x)[0].tolist(), good(x, x)[0].tolist())
"""


def test_a_file_that_changed_since_it_was_checked_is_not_opened(
    make_program: MakeProgram, tmp_path: Path
) -> None:
    """What runs is a copy of what was mapped then."""
    path = make_program(tmp_path / "a.inarch")
    with Artifact.open(path) as artifact:
        os.utime(path)
        module = LOADERS["shared-library"].from_artifact(artifact, {})
        # In memory, or else in a folder of its own.
        assert mappings(Path("/memfd:library.so")) + mappings(Path("inarch-lib-")) > 0
    np.testing.assert_array_equal(module(X, X), X + X + BIAS)


def test_a_verified_file_never_runs_the_weights_of_a_damaged_one(
    make_program: MakeProgram, tmp_path: Path
) -> None:
    """In a process that has loaded nothing before."""
    good = make_program(tmp_path / "good.inarch")
    bad = damaged(tmp_path / "bad.inarch", good)
    command = [sys.executable, "-c", _TWO_FILES, str(bad), str(good)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[-1.0, -2.0, -3.0] [1.0, 2.0, 3.0]\n", "")


def test_a_verified_load_takes_no_entry_that_was_not_verified(
    make_program: MakeProgram, tmp_path: Path
) -> None:
    bad = damaged(tmp_path / "bad.inarch", make_program(tmp_path / "good.inarch"))
    unchecked = load(bad, check=False)
    for _ in range(2):
        with pytest.raises(Exception, match="expected the weights of the manifest"):
            load(bad, check=False, verify=True)
    with pytest.raises(Exception, match="a damaged file"):
        load(bad)
    np.testing.assert_array_equal(unchecked(X, X), X + X - BIAS)


def test_a_file_that_is_changed_in_place_is_another_one(
    make_program: MakeProgram, tmp_path: Path
) -> None:
    """Not to be done to a program in use; that it is found at the next load is all there is to promise."""
    path = make_program(tmp_path / "a.inarch")
    load(path)
    heavier = make_program(tmp_path / "b.inarch", bias=(10, 20, 30)).read_bytes()
    with path.open("r+b") as file:
        file.write(heavier)
    np.testing.assert_array_equal(load(path)(X, X), X + X + BIAS * 10)


# Nothing grows


def state() -> tuple[int, int, int]:
    """Descriptors, mappings, resident bytes."""
    gc.collect()
    maps = len(Path("/proc/self/maps").read_text().splitlines())
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return descriptors(), maps, pages * os.sysconf("SC_PAGESIZE")


def grown(work: Callable[[int], None], count: int) -> tuple[int, int, int]:
    """What `count` iterations add to what a tenth of them had left."""
    for number in range(count // 10):
        work(number)
    before = state()
    for number in range(count // 10, count):
        work(number)
    after = state()
    return after[0] - before[0], after[1] - before[1], after[2] - before[2]


COUNTS = [
    pytest.param(effort(25, 60), id="some"),
    pytest.param(1000, id="all", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("count", COUNTS)
def test_loading_distinct_programs_is_flat(
    make_program: MakeProgram, tmp_path: Path, count: int
) -> None:
    def work(number: int) -> None:
        path = make_program(tmp_path / "a.inarch", bias=(number, 0, 0), weights_bytes=1 << 18)
        assert np.asarray(load(path)(X, X))[0, 0] == number

    opened, mapped, resident = grown(work, count)
    # Less is what earlier tests held, and what the garbage collector found meanwhile. What a leak adds, it
    # adds each time; an arena of the allocator, as other memory of this process, comes once.
    assert opened <= 0
    assert mapped <= 0 or grown(work, count)[1] <= 0
    assert resident <= 2 << 20 or grown(work, count)[2] <= 2 << 20


@pytest.mark.parametrize("count", COUNTS)
def test_loading_one_program_with_submodules_and_callbacks_is_flat(
    make_program: MakeProgram, tmp_path: Path, count: int
) -> None:
    """Also while a module of it is held, so that its library stays open."""
    path = make_program(
        tmp_path / "a.inarch",
        imports=["twice", "examplejson_0"],
        loaders=["shared-library", "examplejson"],
        members={"modules/1": b"subgraph_0\n  input 0 4\n  add 1 inputs: 0 0 shape: 4\n"},
    )
    held: list[Module] = []

    def work(number: int) -> None:
        module = load(path, imports={"twice": times(number)})
        np.testing.assert_array_equal(module["through"](Y), Y * number)
        if number % 100 == 0:
            held[:] = [module]
        if number % 100 == 50:
            held.clear()

    opened, mapped, resident = grown(work, count)
    assert opened == 0
    assert abs(mapped) < 20  # whether one is held in the end
    # What a leak adds, it adds each time; other memory of this process comes once.
    assert resident <= 2 << 20 or grown(work, count)[2] <= 2 << 20


@pytest.mark.slow
def test_what_the_benchmark_of_loads_does_is_flat() -> None:
    """Distinct files, one again and again, a hundred at once, calls: nothing of it is left."""
    script = Path(__file__).parents[3] / "benchmarks" / "loads.py"
    command = [sys.executable, str(script), "--count", "200", "--held", "100", "--calls", "50000"]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    assert all("+0 descriptors   +0 mappings" in line for line in lines)
