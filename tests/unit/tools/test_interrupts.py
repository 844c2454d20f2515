"""Ctrl-C and `kill`: a command ends soon, in one word, and leaves nothing behind: no file, no process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from inarch.core.cache import Cache
from inarch.core.scratch import sweep
from inarch.driver.keep.records import read_records
from inarch.machine.target import parse
from inarch.machine.toolchain import CompilerError, compile_library

MODEL = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = graph.neg %x : tensor<2xf32> -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""


PRODUCT = """
func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %w = graph.constant dense<1.0> : tensor<64x64xf32>
  %y = graph.matmul %x, %w : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
  func.return %y : tensor<8x64xf32>
}
"""


def slow_compiler(folder: Path, started: Path) -> str:
    """A program that calls itself gcc, and adds a line to `started` before it takes ten minutes.

    The line has its number and its arguments. It refuses what is called bad, but not before there is one.
    """
    path = folder / "cc"
    path.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "gcc that takes its time" && exit\n'
        f'case "$*" in *bad*) while [ ! -e {started} ]; do :; done; exit 1;; esac\n'
        f'touch $TMPDIR/ccXXXX.s\necho "$$ $*" >> {started}\nexec sleep 600\n'
    )
    path.chmod(0o700)
    return str(path)


def compilers(started: Path) -> dict[int, str]:
    """The numbers of those that have started, and their arguments."""
    lines = started.read_text().splitlines() if started.exists() else []
    return {int(number): words for number, _, words in (line.partition(" ") for line in lines)}


def wait_for_both(started: Path, process: subprocess.Popen[str]) -> None:
    """Until compilers of the model and of its calls are at work."""
    while {"calls.c" in words for words in compilers(started).values()} != {True, False}:
        assert process.poll() is None
        time.sleep(0.01)


def is_running(number: int) -> bool:
    """Whether a process is there and no mere entry in the system's table."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_interrupted_while_c_is_compiled(tmp_path: Path) -> None:
    """By a signal and, at once, another: it is said once, and the clean-up goes on."""
    for name in ("work", "temporary"):
        (tmp_path / name).mkdir()
    (tmp_path / "work" / "m.mlir").write_text(MODEL)
    started = tmp_path / "started"
    environment = {
        **os.environ,
        "CC": slow_compiler(tmp_path, started),
        "TMPDIR": str(tmp_path / "temporary"),
        "INARCH_CACHE_DIR": str(tmp_path / "cache"),
        "INARCH_CALLS": "",
    }
    command = [sys.executable, "-m", "inarch.tools.cli", "compile", "m.mlir", "-q"]
    with subprocess.Popen(
        command, cwd=tmp_path / "work", env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for_both(started, process)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate()
    assert (process.returncode, said) == (143, "interrupted by SIGTERM\n")
    assert [words for number, words in compilers(started).items() if is_running(number)] == []
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["m.mlir"]
    assert list((tmp_path / "temporary").iterdir()) == []
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert not any(b"\x7fELF" in path.read_bytes() for path in kept)  # decisions may be, whole


@pytest.mark.parametrize(
    "number",
    [signal.SIGKILL, signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)],
)
def test_a_job_of_tuning_ends_with_its_tuner(number: int, tmp_path: Path) -> None:
    """And so do the compilers of the job; nothing of it stays."""
    for name in ("work", "temporary"):
        (tmp_path / name).mkdir()
    (tmp_path / "work" / "m.mlir").write_text(PRODUCT)
    started = tmp_path / "started"
    environment = {
        **os.environ,
        "CC": slow_compiler(tmp_path, started),
        "TMPDIR": str(tmp_path / "temporary"),
        "INARCH_CACHE_DIR": str(tmp_path / "cache"),
    }
    command = [sys.executable, "-m", "inarch.tools.cli", "tune", "m.mlir", "-o", "r.json"]
    with subprocess.Popen(
        command, cwd=tmp_path / "work", env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        while not compilers(started):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        process.communicate()
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    until = time.monotonic() + 5
    while [*filter(is_running, compilers(started))] or [*(tmp_path / "temporary").iterdir()]:
        assert time.monotonic() < until, [*(tmp_path / "temporary").rglob("*")]
        time.sleep(0.05)
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["m.mlir"]


_TUNE = """
import json, os, random, signal, sys, threading, time
from pathlib import Path
from inarch.driver.keep import records
from inarch.driver.options import Options
from inarch.tools import cli
from inarch.tools.commands import tune as command
from inarch.tools.start import guarded
from inarch.tuning import files, queue, space
from inarch.tuning.job import Result

places = [each for one in space.spaces_of(Path("m.mlir"), Options(), 3, {}) for each in one.places]
measured = []

def measure(job):
    time.sleep(0.02)
    times = tuple(dict.fromkeys(places, random.random()) for _ in job.variants)
    return Result(job.key, "", "cpu", "gcc", times, ("",) * len(times))

def end_at(module, name, call, number):
    def count(*given, calls=[], plain=getattr(module, name), **named):
        calls.append(0)
        if len(calls) == call:
            end(number)
        return plain(*given, **named)
    setattr(module, name, count)

def keep(path, found, plain=records.append_records):
    plain(path, found)
    measured.extend(one.seconds for one in found)

sent = []

def end(number):
    sent.append(number)
    os.kill(os.getpid(), number)

def tune(path, number, moment):
    queue.measure, records.append_records = measure, keep
    if isinstance(moment, float):
        threading.Timer(moment, end, (number,)).start()
    else:
        name, call = moment
        owners = {"measure": queue, "files_of": files, "spaces_of": space, "_tell": command}
        end_at(owners.get(name, records), name, call, number)
    sys.argv = ["inarch", "tune", "m.mlir", "-o", path, "--budget", "10m"]
    code, is_sent = guarded(cli.main), bool(sent)
    signal.signal(number, signal.SIG_IGN)
    Path(path + ".said").write_text(json.dumps([code, is_sent, measured]))
    sys.stdout.flush()
    os._exit(code)

for at, (number, moment) in enumerate(json.loads(sys.argv[1])):
    if (child := os.fork()) == 0:
        tune(f"{at}.json", number, moment)
    os.waitpid(child, 0)
"""


_MOMENTS = [
    (number, moment)
    for moment, numbers in {
        ("files_of", 1): [signal.SIGTERM],
        ("spaces_of", 1): [signal.SIGINT],
        ("measure", 3): [signal.SIGINT, signal.SIGTERM],
        ("append_records", 2): [signal.SIGTERM],
        ("_tell", 1): [signal.SIGINT],
    }.items()
    for number in numbers
]


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param(_MOMENTS, id="each"),
        pytest.param(
            [
                (number, (one + 1) / 20)
                for one in range(20)
                for number in (signal.SIGINT, signal.SIGTERM)
            ],
            id="any",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_an_interrupted_tuner_says_so_at_every_moment(
    moments: list[tuple[int, object]], tmp_path: Path
) -> None:
    """By the exit code 128 + the signal's number, as a shell has it; the file has all records so far."""
    (tmp_path / "m.mlir").write_text(PRODUCT)
    done = subprocess.run(
        [sys.executable, "-c", _TUNE, json.dumps(moments)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    kept: dict[str, int] = {}
    interrupted = 0
    for said in tmp_path.glob("*.said"):
        path = said.with_suffix("")
        records = read_records(path) if path.exists() else []
        code, is_sent, measured = json.loads(said.read_text())
        number = moments[int(path.stem)][0]
        assert code == (128 + number if is_sent else 0), done.stderr
        interrupted += is_sent
        is_ended = bool(records) and all(one.is_sure for one in records)
        assert is_ended or {*measured} <= {one.seconds for one in records}
        kept[path.name] = len(records)
    assert len(kept) == len(moments), done.stderr
    assert done.stderr.count("interrupted") == interrupted > len(moments) // 3
    assert any(kept.values())
    others = {one.name for one in tmp_path.iterdir()} - {*kept, *(f"{one}.said" for one in kept)}
    assert others == {"m.mlir"}


_IN_SCRATCH = """
import sys, time
from pathlib import Path
from inarch.core.scratch import scratch
with scratch("inarch-any-", Path(sys.argv[1])) as folder:
    (folder / "part").write_text("a")
    print(folder, flush=True)
    time.sleep(600)
"""


def test_folders_of_killed_processes_go_at_the_next_start(tmp_path: Path) -> None:
    """Not those in which somebody works, and nothing of a like name that is not ours."""
    command = [sys.executable, "-c", _IN_SCRATCH, str(tmp_path)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as dead,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as alive,
    ):
        assert dead.stdout is not None
        assert alive.stdout is not None
        left, held = (Path(one.stdout.readline().strip()) for one in (dead, alive) if one.stdout)
        dead.kill()
        dead.wait()
        own = tmp_path / "inarch-any-of-mine"
        own.mkdir()
        sweep(tmp_path)
        assert left.is_dir()  # it is too young
        for one in (left, held, own):
            os.utime(one, (0, 0))
        sweep(tmp_path)
        assert {*tmp_path.iterdir()} == {held, own}
        alive.kill()


_IN_C = """
import ctypes, os, signal, threading
from inarch.tools import start

start._PATIENCE_SECONDS = 0.1
mutex = ctypes.create_string_buffer(64)

def wait_for_ever():
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
    for _ in range(2):
        ctypes.CDLL(None).pthread_mutex_lock(mutex)

raise SystemExit(start.guarded(wait_for_ever))
"""


_TO_ANOTHER_THREAD = """
import signal, threading
from inarch.tools.start import guarded

def wait_for_ever():
    other = threading.Thread(target=threading.Event().wait, daemon=True)
    other.start()
    threading.Timer(0.1, signal.pthread_kill, (other.ident, signal.SIGTERM)).start()
    threading.Event().wait()

raise SystemExit(guarded(wait_for_ever))
"""


_NOT_PASSED_ON = """
import os, signal
from inarch.tools.start import guarded

def work():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except KeyboardInterrupt:
        return 0

raise SystemExit(guarded(work))
"""


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        (_TO_ANOTHER_THREAD, 143, "interrupted by SIGTERM\n"),
        (_NOT_PASSED_ON, 143, "interrupted by SIGTERM\n"),
        (_IN_C, 143, ""),
        (_IN_C.replace("SIGTERM", "SIGHUP"), 129, ""),
        ("from inarch.tools.start import guarded\nraise SystemExit(guarded(lambda: 7))", 7, ""),
        (
            "import os, signal\nfrom inarch.tools.start import guarded\n"
            "raise SystemExit(guarded(lambda: os.kill(os.getpid(), signal.SIGINT)))",
            130,
            "interrupted\n",
        ),
    ],
)
def test_the_end_of_a_process(code: str, status: int, said: str) -> None:
    """Also where its main thread is in C, which hears of nothing."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.returncode, done.stderr) == (status, said)


def test_a_unit_that_is_refused_stops_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    monkeypatch.setenv("CC", slow_compiler(tmp_path, started))
    begin = time.monotonic()
    with pytest.raises(CompilerError, match=r"refused 'bad\.c'"):
        compile_library(
            {"good.c": "", "bad.c": ""},
            tmp_path / "out.so",
            target=parse("generic"),
            jobs=2,
            cache=Cache(tmp_path / "cache"),
        )
    assert time.monotonic() - begin < 300
    assert not any(map(is_running, compilers(started)))
