"""Children of a fork load, call and compile, whatever other threads were doing: nothing hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import inarch
from effort import effort
from tests.unit.runtime.c.conftest import MODEL

SCRIPT = """
import os, secrets, signal, sys, threading, time
import numpy as np
import inarch

path, forks, what = sys.argv[1], int(sys.argv[2]), sys.argv[3]
stop = False

def load():
    return inarch.load(path), 64

def compiled():
    n = 2 + secrets.randbelow(5_000)  # what is compiled has not been before
    kind = f"tensor<96x{n}xf32>"
    with open(f"{n}.mlir", "w") as file:
        file.write(
            f"func.func @main(%x: {kind}) -> {kind} {{\\n"
            "%c = graph.constant dense<8.0> : tensor<f32>\\n"
            f"%0 = graph.mul %x, %c : {kind}, tensor<f32> -> {kind}\\n"
            f"%1 = graph.exp %0 : {kind} -> {kind}\\nfunc.return %1 : {kind}\\n}}"
        )
    return inarch.compile(f"{n}.mlir", target="generic"), n

def work():
    while not stop:
        globals()[what]()

if what == "compiled":  # what Python locks when it is first used stays locked
    compiled()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
hung = wrong = 0
for _ in range(forks):
    time.sleep(0.002)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        module, n = globals()[what]()
        right = abs(float(module(np.ones((96, n), np.float32))[3, 1]) / np.exp(8) - 1) < 1e-5
        os._exit(0 if right else 1)
    status = os.waitpid(child, 0)[1]
    hung += os.WIFSIGNALED(status)
    wrong += os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0
    if hung:
        break
stop = True
for thread in threads:
    thread.join()
print(hung, "hung", wrong, "wrong")
"""


def forks(folder: Path, count: int, what: str) -> tuple[str, str]:
    """What a process says that forks so often beside two threads, and what it complains of."""
    (folder / "m.mlir").write_text(MODEL)
    path = folder / "m.inarch"
    if what == "load" and not path.exists():
        inarch.compile(folder / "m.mlir").save(path)
    command = [sys.executable, "-c", SCRIPT, str(path), str(count), what]
    own = {**os.environ, "INARCH_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        command, cwd=folder, env=own, capture_output=True, text=True, check=False, timeout=300
    )
    return done.stdout, done.stderr


def test_forks_while_threads_load(tmp_path: Path) -> None:
    """From the first import on: the first forks are in the middle of the first loads."""
    for count in (3, 3, effort(20, 40)):
        assert forks(tmp_path, count, "load") == ("0 hung 0 wrong\n", "")


@pytest.mark.slow
def test_many_forks_while_threads_load(tmp_path: Path) -> None:
    assert forks(tmp_path, 500, "load") == ("0 hung 0 wrong\n", "")


def test_forks_while_threads_compile(tmp_path: Path) -> None:
    """The child compiles, too; what its parent's threads hold is free."""
    assert forks(tmp_path, effort(3, 30), "compiled") == ("0 hung 0 wrong\n", "")


def test_forks_while_threads_make_locks(tmp_path: Path) -> None:
    """Each computation has a lock of its own; several threads fork at once."""
    script = """
import os, signal, sys, threading
import inarch

def forks():
    for _ in range(60):
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            inarch.compute(TEXT)
            os._exit(0)
        statuses.append(os.waitpid(child, 0)[1])

def work():
    kept = []
    while not stop:
        kept.append(inarch.compute(TEXT))
        del kept[:-50]

TEXT = "for i in N: C[i] = A[i]"
statuses, stop = [], False
inarch.compute(TEXT)
sys.setswitchinterval(1e-5)  # threads take turns in the middle of everything
workers = [threading.Thread(target=work) for _ in range(2)]
forking = [threading.Thread(target=forks) for _ in range(3)]
for thread in workers + forking:
    thread.start()
for thread in forking:
    thread.join()
stop = True
for thread in workers:
    thread.join()
print(len(statuses), "forks", sum(map(bool, statuses)), "wrong")
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("180 forks 0 wrong\n", "")
