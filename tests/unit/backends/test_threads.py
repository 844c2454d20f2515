"""Threads that share loops: the same bits by any number, many callers, forks, and what is said wrongly."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Thread

import numpy as np
import onnx
import pytest

import inarch
from effort import effort
from inarch.core.errors import EnvironmentFault, UsageError
from inarch.machine.compilers import find_compiler
from inarch.runtime.threads import threads_here
from inarch.tools.cli import run

MODEL = """
func.func @main(%x: tensor<96x512xf32> {inarch.name = "x"}, %w: tensor<512x256xf32> {inarch.name = "w"})
    -> (tensor<96x256xf32> {inarch.name = "y"}) {
  %0 = graph.matmul %x, %w : tensor<96x512xf32>, tensor<512x256xf32> -> tensor<96x256xf32>
  %1 = graph.exp %0 : tensor<96x256xf32> -> tensor<96x256xf32>
  func.return %1 : tensor<96x256xf32>
}
"""
HARNESS = Path(__file__).with_name("threads.c")


@pytest.fixture(name="model", scope="module")
def fixture_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled for this machine: a product of two inputs and exp, both shared among threads."""
    source = tmp_path_factory.mktemp("threads") / "model.mlir"
    source.write_text(MODEL)
    path = source.with_suffix(".inarch")
    inarch.compile(source, name="shared").save(path)
    return path


def _inputs() -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    rng = np.random.default_rng(7)
    shapes = (96, 512), (512, 256)
    return [(rng.standard_normal(shape) / 16).astype(np.float32) for shape in shapes]


def _bits(result: object) -> bytes:
    assert isinstance(result, np.ndarray)
    return result.tobytes()


def test_the_bits_do_not_depend_on_the_number_of_threads(model: Path) -> None:
    """However it is said: for a call, at load, for a block."""
    x, w = _inputs()
    module = inarch.load(model)
    one = module(x, w, threads=1)
    wanted = np.exp(x.astype(np.float64) @ w)
    assert np.allclose(one, wanted, rtol=1e-5)
    for threads in (2, 3, 5, 7, 64, 1000000):
        assert _bits(module(x, w, threads=threads)) == _bits(one)
    assert _bits(inarch.load(model, threads=2)(x, w)) == _bits(one)
    assert _bits(inarch.load(model, threads=2).run({"x": x, "w": w})["y"]) == _bits(one)
    with inarch.threads(3):
        assert _bits(module(x, w)) == _bits(one)
        with inarch.threads(2), inarch.threads(None):
            assert threads_here() == 2
        assert threads_here() == 3
    assert threads_here() == 0


def test_eight_threads_call_and_load_at_once(model: Path) -> None:
    x, w = _inputs()
    expected = _bits(inarch.load(model)(x, w, threads=1))
    wrong: list[int] = []

    def call(number: int) -> None:
        for iteration in range(effort(8, 20)):
            module = inarch.load(model)
            if _bits(module(x, w, threads=1 + (number + iteration) % 4)) != expected:
                wrong.append(number)

    threads = [Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


NETWORK = (
    '<ir_version: 8, opset_import: ["" : 17]> network (float[40,2,24] x, float[1,64,24] w, '
    "float[1,64,16] r, float[4,256,32] q, float[4,32,256] k, float[4,256,32] v) => "
    "(float[40,1,2,16] y, float[4,256,32] z) { y = LSTM<hidden_size=16>(x, w, r) "
    "s = MatMul(q, k) p = Softmax<axis=-1>(s) z = MatMul(p, v) }"
)
"""A recurrence, whose loop keeps its states in place, and attention, in blocks that threads share."""
HAMMER = """
import os, sys, threading
import numpy as np
import inarch

path = sys.argv[1]
rng = np.random.default_rng(1)
shapes = dict(x=(40, 2, 24), w=(1, 64, 24), r=(1, 64, 16), q=(4, 256, 32), k=(4, 32, 256), v=(4, 256, 32))
feeds = {name: (rng.standard_normal(shape) / 8).astype("f4") for name, shape in shapes.items()}
shared = inarch.load(path)
bits = lambda found: [found[name].tobytes() for name in ("y", "z")]
expected = bits(shared.run(feeds, threads=1))
wrong = []

def call(number):
    for iteration in range(int(sys.argv[2])):  # one module of all, and one that comes and goes
        module = shared if (number + iteration) % 2 else inarch.load(path)
        if bits(module.run(feeds, threads=1 + (number + iteration) % 4)) != expected:
            wrong.append(number)
        del module

threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
for one in threads:
    one.start()
for _ in range(int(sys.argv[2]) - 1):
    child = os.fork()
    if child == 0:
        os._exit(0 if bits(shared.run(feeds, threads=3)) == expected else 3)
    assert os.waitpid(child, 0)[1] == 0, "a child is wrong"
for one in threads:
    one.join()
print("wrong" if wrong else "right")
"""


def test_a_recurrence_and_attention_by_eight_threads_while_others_load_and_fork(
    tmp_path: Path,
) -> None:
    """The same bits as by one thread, in the children too."""
    path = tmp_path / "network.inarch"
    inarch.compile(onnx.parser.parse_model(NETWORK)).save(path)
    done = subprocess.run(
        [sys.executable, "-c", HAMMER, str(path), str(effort(3, 6))],
        env={**os.environ, "INARCH_NUM_THREADS": "3"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2", 1 << 31])
def test_what_is_no_number_of_threads(model: Path, threads: object) -> None:
    module, (x, w) = inarch.load(model), _inputs()
    shown = f"'{threads}' (a str)" if threads == "2" else f"{threads} (a {type(threads).__name__})"
    message = f"threads: expected a whole number from 1 on, found {shown}"
    with pytest.raises(UsageError, match=re.escape(message)):
        module(x, w, threads=threads)
    with pytest.raises(UsageError, match=re.escape(message)):
        inarch.load(model, threads=threads)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match=re.escape(message)), inarch.threads(threads):
        pass


@pytest.mark.parametrize("threads", ["0", "-1", "two"])
@pytest.mark.parametrize("command", ["compile", "run", "bench", "explain"])
def test_commands_refuse_what_is_no_number_of_threads(
    model: Path, command: str, threads: str
) -> None:
    """Where the number is read: nothing is compiled, and nothing runs."""
    done = run([command, str(model), f"--threads={threads}"])
    assert (done.code, done.out, done.err) == (
        2,
        "",
        f"error: argument --threads: expected a whole number >= 1, found '{threads}'; "
        f"see 'inarch {command} --help'\n",
    )


def test_a_million_threads_are_as_many_as_there_may_be(model: Path, tmp_path: Path) -> None:
    """At most four for a processor, by the variable and compiled for so many; the bits are the same."""
    done = _in_a_process(model, "1000000")
    assert done.stderr == ""
    assert 0 < int(done.stdout) < 4 * len(os.sched_getaffinity(0))
    source, path = tmp_path / "model.mlir", tmp_path / "model.inarch"
    source.write_text(MODEL)
    assert run(["compile", str(source), "-q", "--threads=1000000", "-o", str(path)]).code == 0
    x, w = _inputs()
    many = inarch.load(path)
    assert _bits(many(x, w)) == _bits(many(x, w, threads=1))


CALL = """
import sys, numpy as np, inarch
module = inarch.load(sys.argv[1])
module(np.zeros((96, 512), np.float32), np.zeros((512, 256), np.float32))
print(len(__import__('os').listdir('/proc/self/task')) - 1)
"""


def _in_a_process(model: Path, said: str) -> subprocess.CompletedProcess[str]:
    """A call in a process of its own, which prints how many threads it has started."""
    return subprocess.run(
        [sys.executable, "-c", CALL, str(model)],
        env={**os.environ, "INARCH_NUM_THREADS": said, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.sampled(2, reason="a process each")
@pytest.mark.parametrize(("said", "started"), [("1", 0), ("2", 1), ("3", 2)])
def test_the_variable_says_how_many(model: Path, said: str, started: int) -> None:
    done = _in_a_process(model, said)
    assert (done.stdout, done.stderr) == (f"{started}\n", "")


AFFINITY = """
import os, sys, numpy as np, inarch
rng = np.random.default_rng(0)
x, w = rng.random((96, 512), np.float32), rng.random((512, 256), np.float32)
module = inarch.load(sys.argv[1])
before = np.asarray(module(x, w)).tobytes()
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
other = inarch.load(sys.argv[1])
for threads in (None, 1, 4, 2, 1, 3):
    given = {} if threads is None else {"threads": threads}
    assert np.asarray(module(x, w, **given)).tobytes() == before
    assert np.asarray(other(x, w, **given)).tobytes() == before
print("same")
"""


def test_one_core_of_many_and_counts_that_change_between_calls(model: Path) -> None:
    """Affinity may be taken from a process after its pool was started."""
    done = subprocess.run(
        [sys.executable, "-c", AFFINITY, str(model)], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("same\n", "")


LIMITS = """
import os, sys, numpy as np, inarch
early = sys.argv[2] == "early"
if early:
    import threadpoolctl
module = inarch.load(sys.argv[1], threads=3)
import threadpoolctl
x, w = np.zeros((96, 512), np.float32), np.zeros((512, 256), np.float32)
ours = lambda: [one["num_threads"] for one in threadpoolctl.threadpool_info() if one["user_api"] == "inarch"]
started = lambda: len(os.listdir("/proc/self/task")) - 1
assert ours() == [2], ours()
with threadpoolctl.threadpool_limits(1):
    assert ours() == [1], ours()
    module(x, w)
    with inarch.threads(2):
        module(x, w, threads=3)
    assert started() == 0, started()
    with threadpoolctl.threadpool_limits({"inarch": 2}):
        assert ours() == [2], ours()
    assert ours() == [1], ours()
with threadpoolctl.threadpool_limits({"openblas": 1}):
    assert ours() == [2], ours()
with threadpoolctl.threadpool_limits(2):
    module(x, w)
print(started(), ours())
"""


@pytest.mark.parametrize("when", ["early", "late"])
def test_threadpoolctl_sees_and_limits_the_threads(model: Path, when: str) -> None:
    """Whichever is imported first; a limit is one of all that is said, and gone behind its block."""
    pytest.importorskip("threadpoolctl", reason="threadpoolctl is not installed")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LIMITS, str(model), when],
        env={**os.environ, "INARCH_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("2 [2]\n", "")


@pytest.mark.sampled(2, reason="a process each")
@pytest.mark.parametrize("said", ["0", "-1", "two", "1.5"])
def test_a_variable_that_is_no_number(model: Path, said: str) -> None:
    done = _in_a_process(model, said)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "inarch.core.errors.InarchError: main: INARCH_NUM_THREADS: expected a number from 1 on, "
        f"found '{said}'"
    )


def test_compiled_for_one_thread_there_is_no_pool(tmp_path: Path) -> None:
    source = tmp_path / "alone.mlir"
    source.write_text(MODEL)
    assert "pthread" in _text(source)
    assert "pthread" not in _text(source, "--threads=1")
    assert "threads > 2 ? 2 : threads" in _text(source, "--threads=2")


# ------------------------------------------------------------------------------------ from C


def _text(source: Path, *options: str) -> str:
    """The C of a program, which compiles alone."""
    path = source.with_suffix(".c")
    assert run(["compile", str(source), "--emit=c", "-q", "-o", str(path), *options]).code == 0
    return path.read_text()


def _built(folder: Path, *flags: str) -> Path:
    """The harness of C with a program in it; skips where the compiler lacks what `flags` ask for."""
    source = folder / "model.mlir"
    source.write_text(MODEL)
    (folder / "shared.c").write_text(_text(source, "--name=shared"))
    compiler = find_compiler()
    march = ["-march=native"] if os.uname().machine == "x86_64" else []
    words = [*compiler.command, "-std=gnu11", "-O1", "-g", *march, *flags]
    files = [str(folder / "shared.c"), str(HARNESS), "-o", str(folder / "harness")]
    done = subprocess.run(
        [*words, *files, "-lpthread", "-lm"], capture_output=True, text=True, check=False
    )
    if done.returncode and flags:
        pytest.skip(EnvironmentFault(f"no {' '.join(flags)}: {done.stderr[-200:]}").line())
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "harness"


def _run(harness: Path, what: str, threads: int = 3) -> str:
    """What it prints; 0 threads: their number is not said."""
    done = subprocess.run(
        [
            str(harness),
            what,
            str(effort(4, 40)),
        ],  # iterations of each caller, and half as many forks
        env={**os.environ, "INARCH_NUM_THREADS": str(threads or "")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(name="harness", scope="module")
def fixture_harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(tmp_path_factory.mktemp("harness"))


def test_eight_threads_of_c_under_the_thread_sanitizer(tmp_path: Path) -> None:
    assert _run(_built(tmp_path, "-fsanitize=thread"), "hammer") == "right\n"


def test_eight_threads_while_others_fork(harness: Path) -> None:
    """A child has no workers, starts its own, and never waits for what is not there."""
    assert _run(harness, "fork") == "right\n"


def test_a_pool_that_cannot_start_threads_is_of_fewer(harness: Path) -> None:
    """No memory for a stack: the call is right, by those that there are."""
    assert _run(harness, "no-threads", threads=8) == "right, 0 started\n"


def test_the_quota_of_a_control_group_limits_the_threads(tmp_path: Path) -> None:
    """Of version 2 and of 1, of the process's own group and of those around it; it is rounded up."""
    groups, own = tmp_path / "groups", tmp_path / "self"
    flags = (f'-DINARCH_CGROUPS="{groups}"', f'-DINARCH_CGROUP_OF_SELF="{own}"')
    harness = _built(tmp_path, *flags)
    processors = len(os.sched_getaffinity(0))

    def count(said: str, files: dict[str, str]) -> int:
        shutil.rmtree(groups, ignore_errors=True)
        own.write_text(said)
        for name, text in files.items():
            (groups / name).parent.mkdir(parents=True, exist_ok=True)
            (groups / name).write_text(text)
        return int(_run(harness, "count", threads=0))

    old = {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}
    little = {"cpu/a/cpu.cfs_quota_us": "50000\n", "cpu/a/cpu.cfs_period_us": "100000\n"}
    most = count("0::/\n", {})
    assert most >= min(2, processors)
    assert count("0::/\n", {"cpu.max": "max 100000\n"}) == most
    assert count("0::/\n", {"cpu.max": "100000 100000\n"}) == 1
    assert count("0::/\n", {"cpu.max": "100001 100000\n"}) == min(2, processors)
    assert count("0::/a/b\n", {"a/b/cpu.max": "max 1\n", "a/cpu.max": "1000 100000\n"}) == 1
    assert count("0::/a/b\n", {"a/b/c/cpu.max": "1 1\n", "b/cpu.max": "1 1\n"}) == most
    assert count("2:cpuset:/a\n1:cpu,cpuacct:/\n", old | little) == most
    assert count("2:cpuset:/b\n1:cpu,cpuacct:/a/b\n", old | little) == 1


def test_an_application_brings_its_own_pool(harness: Path) -> None:
    assert _run(harness, "own-pool") == "right, loops of mine\n"


def test_a_loop_within_a_loop_is_run_by_who_asks(harness: Path) -> None:
    assert _run(harness, "nested") == "right\n"


def test_a_wrong_number_is_refused(harness: Path) -> None:
    assert _run(harness, "wrong-number") == (
        "6: shared_set_threads: expected a number from 0 on, found -1\n"
    )
