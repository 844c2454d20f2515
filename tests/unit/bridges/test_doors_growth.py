"""Nothing grows at any door over 100,000 calls, right or refused ones (B10); forks after a call.

In the gate there are fewer calls.

A door that is not in the environment skips, and says so: `make bridges` runs this file in each of them.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import inarch
from effort import effort
from tests.unit.bridges.test_doors import MESSAGES, MODEL, Door, torch

CALLS = effort(40_000, 100_000)
ONE_IN = 20
"""So many calls are refused."""
ROOM_KIB = CALLS * 14 // 1024
"""Less than 14 bytes a call: the smallest object of Python has 16; a framework's pools grow by 200 KiB."""

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self"),
    pytest.mark.every_case(reason="each door has memory of its own"),
]


def held() -> tuple[int, int, int]:
    """KiB of memory, descriptors, mappings."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    maps = Path("/proc/self/maps").read_text().count("\n")
    return (
        pages * resource.getpagesize() // 1024,
        len(list(Path("/proc/self/fd").iterdir())),
        maps,
    )


def door_of(name: str, folder: Path, own: str) -> Door:
    (folder / "m.mlir").write_text(MODEL)
    module = inarch.compile(folder / "m.mlir")
    # The name of an operator of PyTorch is taken for good.
    return torch(module, folder, own) if name == "torch" else MESSAGES[name][0](module, folder)


@pytest.mark.filterwarnings("ignore:os.fork")  # of JAX, where it is imported
@pytest.mark.parametrize("name", [name for name in MESSAGES if name != "jax"])
def test_a_child_of_a_fork_calls_as_well(name: str, tmp_path: Path) -> None:
    """After its parent's first call; JAX says itself that its children may hang."""
    door = door_of(name, tmp_path, "forked")
    x, y = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    s = np.array(2, np.float32)
    door.call(x, s, y)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        y[...] = 0
        door.call(x, s, y)
        os._exit(int(y.tolist() != [[2, 2, 2], [2, 2, 2]]))
    assert os.waitpid(child, 0)[1] == 0
    y[...] = 0
    door.call(x, s, y)
    assert y.tolist() == [[2, 2, 2], [2, 2, 2]]


@pytest.mark.parametrize("name", MESSAGES)
def test_nothing_grows(name: str, tmp_path: Path) -> None:
    """Memory within `ROOM_KIB` after a tenth of the calls; no descriptor; no mapping but those of arenas."""
    door = door_of(name, tmp_path, "growing")
    x, y = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    s, wrong = np.array(2, np.float32), x.astype(np.int32)

    def work(count: int) -> None:
        for number in range(count):
            if number % ONE_IN:
                door.call(x, s, y)
                continue
            with pytest.raises(door.raises):
                door.call(wrong, s, y)

    work(CALLS // 10)
    before = held()
    work(CALLS)
    after = held()
    assert y.tolist() == [[2, 2, 2], [2, 2, 2]]
    assert after[0] - before[0] < ROOM_KIB
    assert after[1] == before[1]
    assert after[2] - before[2] <= 2
